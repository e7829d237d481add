"""One product of two stacks of small matrices, with NumPy's own rules."""

import numpy as np

import tilewright as tw

rng = np.random.default_rng(0)
a = rng.standard_normal((100_000, 8, 8))
b = rng.standard_normal((100_000, 8, 8))

c = tw.matmul(a, b)
print("largest difference to numpy.matmul:", np.abs(c - np.matmul(a, b)).max())

# Stacks broadcast, types are promoted, strides may be any: one matrix for all of b, in single precision.
transposed = rng.standard_normal((8, 8)).astype(np.float32).T
d = tw.matmul(transposed, b)
print(d.shape, d.dtype, "right:", np.allclose(d, transposed @ b))

# An output of your own saves the allocation.
tw.matmul(a, b, out=d)
print("the same:", np.array_equal(c, d))
