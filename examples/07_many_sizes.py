"""Many small products of different sizes: one call, on a GPU one launch."""

from timeit import timeit

import numpy as np

import tilewright as tw

try:
    import torch
except ImportError:
    torch = None

rng = np.random.default_rng(0)
sizes = rng.choice([5, 12, 31], (200, 3))
a = [rng.standard_normal((m, k)) for m, _, k in sizes]
b = [rng.standard_normal((k, n)) for _, n, k in sizes]
c = tw.gemm_grouped(a, b)
print("right:", all(np.allclose(z, x @ y) for x, y, z in zip(a, b, c, strict=True)))

# Matrices of one size that lie anywhere: here in the order of another list.
order = rng.permutation(50)
stack = rng.standard_normal((50, 8, 8))
d = tw.gemm_batched([stack[i] for i in order], list(stack))
print("scattered:", all(np.allclose(z, stack[i] @ y) for i, y, z in zip(order, stack, d, strict=True)))

if torch is None or not torch.cuda.is_available():
    print("The rest needs PyTorch and an NVIDIA GPU; there is no such pair here.")
else:
    a, b = ([torch.as_tensor(x, device="cuda") for x in some] for some in (a, b))
    plan = tw.plan_grouped(a, b)
    print(plan)
    c = plan.run()
    print("on the GPU:", all(torch.allclose(z, x @ y) for x, y, z in zip(a, b, c, strict=True)))
    for name, call in (
        ("plan", plan.run),
        ("tw.gemm_grouped", lambda: tw.gemm_grouped(a, b)),
        ("a loop of torch.matmul", lambda: [torch.matmul(x, y) for x, y in zip(a, b, strict=True)]),
    ):
        call()
        torch.cuda.synchronize()
        seconds = timeit(lambda call=call: (call(), torch.cuda.synchronize()), number=50) / 50
        print(f"{name:22} {seconds * 1e6:8.1f} us for {len(a)} products")
