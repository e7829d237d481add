"""A kernel of one's own on a GPU: a transposition, with its launch and a rule as functions."""

from pathlib import Path

import numpy as np

import tilewright as tw


def launch(rows, columns, TILE, HIGH):
    return {"grid": (-(-columns // TILE), -(-rows // TILE)), "block": (TILE, HIGH)}


def threads(TILE, HIGH):
    """A block is whole warps, and a thread has something to do."""
    return TILE % HIGH == 0 and TILE * HIGH % 32 == 0


transpose = tw.Stencil(
    "transpose",
    Path(__file__).parent / "kernels" / "transpose.cu",
    {"TILE": [32, 16, 64], "HIGH": [8, 4, 16, 32], "GAP": [1, 0]},
    [
        tw.Input("x", "float32", ("rows", "columns")),
        tw.Output("y", "float32", ("columns", "rows")),
        tw.Scalar("height", "int32", "rows"),
        tw.Scalar("width", "int32", "columns"),
    ],
    rules=[threads],
    launch=launch,
    reference=lambda x: np.ascontiguousarray(x.T),
    cases=[{"rows": 100, "columns": 33}, {"rows": 1, "columns": 257}],
)


def main() -> None:
    sizes = {"rows": 8192, "columns": 8192}
    print(f"{transpose.space(sizes).count()} configs")
    try:
        print("spills:", transpose.facts(sizes, device="h200")["spills"])
    except tw.DeviceError as error:
        print("not compiled:", error)
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("needs PyTorch and an NVIDIA GPU; there is no such pair here.")
        return
    result = transpose.tune(sizes, effort="exhaustive")
    print(f"{result.tried} tries in {result.seconds:.1f} s: {result.statuses}")
    print(transpose.explain(sizes))
    x = torch.randn(8192, 8192, device="cuda")
    print("right:", torch.equal(transpose(x), x.T))


# Functions of this file go to child processes by value: that needs cloudpickle.
if __name__ == "__main__":
    main()
