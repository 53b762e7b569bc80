"""The data sets: images, texts, and points. The modules of tutor/data make batches of them.

mnist, fashion_mnist     images of 28 x 28, from files
digits                   images of the same form, which tutor draws itself
corpus                   Shakespeare, from a file
sentences                a text of known entropy, from a grammar
toy, made_up             points, tales and names that tutor makes itself
"""
