"""The same calls on an NVIDIA GPU: tensors in, tensors out, on the caller's stream and in a CUDA graph."""

from timeit import timeit

import tilewright as tw

try:
    import torch
except ImportError:
    torch = None


def main() -> None:
    if torch is None or not torch.cuda.is_available():
        print("This example needs PyTorch and an NVIDIA GPU; there is no such pair here.")
        return
    a, b = torch.randn(2, 1000, 33, 33, device="cuda")
    right = torch.matmul(a.double(), b.double())
    print(tw.explain(a, b))
    print("right:", torch.allclose(tw.matmul(a, b).double(), right, rtol=1e-4, atol=1e-4))

    # alpha * a^T b + beta * c in place, planned once.
    c = torch.randn(1000, 33, 33, device="cuda")
    want = 0.5 * torch.matmul(a.mT.double(), b.double()) + 2 * c.double()
    product = tw.plan(a, b, c, alpha=0.5, beta=2, trans_a="t", out=c)
    product(a, b, c, out=c)
    print("in place:", torch.allclose(c.double(), want, rtol=1e-4, atol=1e-4), "copies:", product.copies)

    # A call made before may be recorded: it waits for nothing and takes no memory beside the result.
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        d = tw.matmul(a, b)
    a.mul_(2)
    graph.replay()
    print("replayed:", torch.allclose(d.double(), 2 * right, rtol=1e-4, atol=1e-4))

    out = torch.empty_like(a)
    product = tw.plan(a, b, out=out)
    for name, call in (
        ("plan", lambda: product(a, b, out=out)),
        ("tw.matmul", lambda: tw.matmul(a, b)),
        ("torch.matmul", lambda: torch.matmul(a, b)),
    ):
        call()
        torch.cuda.synchronize()
        seconds = timeit(lambda call=call: (call(), torch.cuda.synchronize()), number=200) / 200
        print(f"{name:12} {seconds * 1e6:6.1f} us for a batch of 1000")


if __name__ == "__main__":
    main()
