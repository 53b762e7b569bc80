"""C as a second road: a Program as source that a person reads and a C compiler compiles.

Read text.py first: `source(program)`; then backends/codegen/, whose table says what each kernel
computes for one element; then the forms: elementwise, reductions, products, scores, moving,
chain. compiler.py compiles, keeps and loads; verify.py tries what was compiled before it is used.
"""
