"""A mass operator on spectral elements: values at the nodes of every element are interpolated to quadrature
points along each of its three axes, weighted there, and gathered back. One small matrix is shared by all."""

from timeit import timeit

import numpy as np

import tilewright as tw

ELEMENTS, NODES, POINTS = 1_000, 9, 10


def along(product, b, u):
    """B (points, nodes) applied along the three last axes of u (elements, nodes, nodes, nodes): each time a
    batch of products that share B, without a transposition of u."""
    u = product(b, u.reshape(len(u), u.shape[1], -1)).reshape(len(u), b.shape[0], *u.shape[2:])
    u = product(b, u)  # the batch has two axes here
    flat = product(u.reshape(len(u), -1, u.shape[3]), b.T)
    return flat.reshape(*u.shape[:3], b.shape[0])


def mass(product, b, w, u):
    """B^T W B u, with B along all axes."""
    return along(product, b.T, w * along(product, b, u))


def compare(library, b, w, u, wait=lambda: None):
    """Whether both give the same, and how long an application takes by each."""
    made, right = mass(tw.matmul, b, w, u), mass(library, b, w, u)
    print("right:", bool(abs(made - right).max() <= 1e-12 * abs(right).max()))
    for name, product in {"tw.matmul": tw.matmul, "library's": library}.items():
        seconds = min(timeit(lambda p=product: (mass(p, b, w, u), wait()), number=1) for _ in range(5))
        print(f"{name:9} {1e6 * seconds:9.1f} us for {len(u)} elements")


# Lagrange's polynomials of equidistant nodes at Gauss points, from two matrices of Legendre's.
points, weights = np.polynomial.legendre.leggauss(POINTS)
nodes = np.linspace(-1, 1, NODES)
legendre = np.polynomial.legendre.legvander
rng = np.random.default_rng(0)
b = legendre(points, NODES - 1) @ np.linalg.inv(legendre(nodes, NODES - 1))
w = np.einsum("i,j,k->ijk", weights, weights, weights)
# The integral of 1 over an element is its volume.
print("volume 8:", np.allclose(mass(tw.matmul, b, w, np.ones((1, NODES, NODES, NODES))).sum(), 8))

print(f"{ELEMENTS} elements in this process's memory")
compare(np.matmul, b, w, rng.standard_normal((ELEMENTS, NODES, NODES, NODES)))

try:
    import torch
except ImportError:
    torch = None
if torch is None or not torch.cuda.is_available():
    print("On a GPU it needs PyTorch and an NVIDIA GPU; there is no such pair here.")
else:
    print("on", torch.cuda.get_device_name())
    on_gpu = [torch.tensor(x, device="cuda") for x in (b, w)]
    u = torch.randn(50 * ELEMENTS, NODES, NODES, NODES, dtype=torch.float64, device="cuda")
    compare(torch.matmul, *on_gpu, u, torch.cuda.synchronize)
