"""Products as operators of PyTorch: gradients, a compiled function, a whole program served by one line."""

import sys

try:
    import torch

    import tilewright.torch as tt
except ImportError:
    print("needs PyTorch; it is not here.")
    sys.exit()

torch.manual_seed(0)
a = torch.randn(2000, 8, 8, dtype=torch.float64, requires_grad=True)
b = torch.randn(2000, 8, 8, dtype=torch.float64, requires_grad=True)


def same(one, other):
    """Whether two tensors are the same but for rounding."""
    return bool((one - other).abs().max() <= 1e-12 * other.abs().max())


# The operator has gradients of every order; the backward pass is two more of its calls.
product = tt.matmul(a, b)
gradients = torch.autograd.grad(product.square().sum(), (a, b))
wanted = torch.autograd.grad((a @ b).square().sum(), (a, b))
print("right:", same(product, a @ b), "gradients:", all(map(same, gradients, wanted)))

# The tracer takes it into its graph, for batches of any size.
traced = torch.compile(lambda x, y: tt.matmul(x, y).sin(), fullgraph=True, dynamic=True, backend="eager")
print("compiled:", all(same(traced(a[:n], b[:n]), (a[:n] @ b[:n]).sin()) for n in (500, 700)))


def program(x, y):
    """Somebody else's program, which knows nothing of Tilewright."""
    for _ in range(10):
        x = torch.einsum("bij,bjk->bik", x, y) / 3 + x
    return x


# While this is on, PyTorch's own batched products are served where that is expected to be faster.
plain = program(a, b)
with tt.enable():
    served = program(a, b)
print("served alike:", same(served, plain))
print(tt.report())
