"""A call that is planned once and made many times: the time of a small call is mostly its planning."""

from timeit import timeit

import numpy as np

import tilewright as tw

rng = np.random.default_rng(0)
a, b = rng.standard_normal((2, 100, 4, 4))
c = np.empty_like(a)

product = tw.plan(a, b, out=c)
print(product)
print("kernel:", product.plan.stencil, "from:", product.plan.origin, "copies:", product.copies)

for name, call in (
    ("plan", lambda: product(a, b, out=c)),
    ("tw.matmul", lambda: tw.matmul(a, b)),
    ("np.matmul", lambda: np.matmul(a, b)),
):
    call()
    print(f"{name:10} {timeit(call, number=2000) / 2000 * 1e6:6.1f} us a call of 100 products")

# Other arrays of the same shapes, and even other shapes, may be given; the latter are planned on the way.
x = rng.standard_normal((7, 4, 4))
print("right:", np.allclose(product(x, x), x @ x))
