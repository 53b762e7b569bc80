"""C as a second road: a Program as source that a person can read and a C compiler can compile.

Read text.py first: `source(program)`; then backends/codegen/, whose table defines what each kernel
computes for one element; then the forms: elementwise, reductions, products, scores, moving,
chain. compiler.py compiles, caches and loads; verify.py tests the compiled code before it is used.
"""
