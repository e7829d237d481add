"""Kernels of one's own on a GPU: batched Cholesky factors, and the small inverse of a Kalman filter."""

from pathlib import Path

import numpy as np

import tilewright as tw

SOURCE = Path(__file__).parent / "kernels" / "cholesky.cu"
PARAMETERS = {
    "LANES": [8, 1, 2, 4, 16, 32],
    "MATRICES": [16, 4, 8, 32, 64, 128],
    "BROADCAST": [0, 1],
    "STAGED": [1, 0],
    "WIDE": [1, 2, 4],
}
RULES = {
    "warps": "LANES * MATRICES % 32 == 0 and LANES * MATRICES <= 512",
    "lanes": "LANES < 2 * N",
    "wide": "WIDE == 1 or N % WIDE == 0",
    "registers": "(N + LANES - 1) // LANES * N <= 150",
    "nobody-to-tell": "BROADCAST == 0 or LANES > 1",
}
LAUNCH = {
    "grid": "ceil_div(batch, MATRICES)",
    "block": "LANES * MATRICES",
    # Stages with rows an odd step apart, and two columns of L.
    "shared": "4 * MATRICES * (STAGED * N * (N // 2 * 2 + 1) + BROADCAST * 2 * ceil_div(N, LANES) * LANES)",
}


def covariances(random, batch, N):
    made = random.standard_normal((batch, N, 2 * N), np.float32)
    return {"a": made @ made.swapaxes(1, 2) / (2 * N) + 0.1 * np.eye(N, dtype=np.float32)}


def factors(a):
    return np.linalg.cholesky(a.astype(np.float64))


def solutions(a, b):
    return np.linalg.solve(a.astype(np.float64), b.astype(np.float64))


cholesky = tw.Stencil(
    "cholesky",
    SOURCE,
    PARAMETERS,
    [
        tw.Input("a", "float32", ("batch", "N", "N")),
        tw.Output("l", "float32", ("batch", "N", "N")),
        tw.Scalar("count", "int64", "batch"),
    ],
    rules=RULES,
    launch=LAUNCH,
    reference=factors,
    inputs=covariances,
    batch="batch",
    compiled=["N"],
    flops="batch * N * N * N / 3",
)
solve = tw.Stencil(
    "solve",
    SOURCE,
    PARAMETERS,
    [
        tw.Input("a", "float32", ("batch", "N", "N")),
        tw.Input("b", "float32", ("batch", "N", "M")),
        tw.Output("x", "float32", ("batch", "N", "M")),
        tw.Scalar("count", "int64", "batch"),
    ],
    rules=RULES,
    launch=LAUNCH,
    reference=solutions,
    inputs=covariances,
    batch="batch",
    compiled=["N", "M"],
    tolerance=1e-3,
)


def main() -> None:
    for kernel, sizes in (
        (cholesky, {"batch": 100_000, "N": 16}),
        (solve, {"batch": 100_000, "N": 6, "M": 3}),
    ):
        space = kernel.space(sizes)
        print(f"{kernel.definition.name}: {space.count()} configs of {space.size}")
        try:
            facts = kernel.facts(sizes, device="h200")
            print(f"compiled: {facts['registers']} registers, spills: {facts['spills']}")
        except tw.DeviceError as error:
            print("not compiled:", error)
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("needs PyTorch and an NVIDIA GPU; there is no such pair here.")
        return
    made = torch.randn(100_000, 16, 32, device="cuda")
    a = made @ made.mT / 32 + 0.1 * torch.eye(16, device="cuda")
    result = cholesky.tune({"batch": 100_000, "N": 16}, budget=10)
    print(f"{result.tried} tries in {result.seconds:.1f} s: {result.statuses}")
    print(cholesky.explain({"batch": 100_000, "N": 16}))
    print("right:", torch.allclose(cholesky(a), torch.linalg.cholesky_ex(a)[0], atol=1e-4))


# Functions of this file go to child processes by value: that needs cloudpickle.
if __name__ == "__main__":
    main()
