"""How near cost models come to the best kernel of products alone; what the command does says ``__main__``.

``tries``     the nouns: a config of a stencil for a product, and a product with all that is tried of it
``draws``     what is tried: products by chance, and what a tuner would propose for one
``workers``   what is done in processes beside: plans, programs of other products, compilers
``timing``    the child that measures
``run``       all products, with compilers ahead of the GPU
``judged``    the lines of a product
``summary``   lines in short
"""
