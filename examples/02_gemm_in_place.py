"""alpha * op(a) @ op(b) + beta * c, in place, as in BLAS."""

import numpy as np

import tilewright as tw

rng = np.random.default_rng(0)
shape = (20_000, 5, 5)
a, b, c = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for _ in range(3))

# "n" as it is, "t" transposed, "c" conjugate transposed.
right = 0.5 * a.conj().swapaxes(1, 2) @ b + 2j * c
out = tw.gemm(a, b, c, alpha=0.5, beta=2j, trans_a="c", out=c)
print("in place:", out is c, "right:", np.allclose(c, right))

# With beta 0 the old c is not read, whatever it holds.
c[...] = np.nan
tw.gemm(a, b, trans_b="t", out=c)
print("clean:", np.isfinite(c).all(), "right:", np.allclose(c, a @ b.swapaxes(1, 2)))
