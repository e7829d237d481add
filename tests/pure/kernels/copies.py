"""A kernel of one's own that copies, in C and for a GPU, and with some parts changed."""

from __future__ import annotations

from typing import Any

import tilewright as tw
from tilewright.targets.cuda import capability

H200 = capability.named("h200")
COPY = "void copy(const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] = x[i]; }"


def same(x: Any) -> Any:
    return x.copy()


def kernel(**changes: Any) -> tw.Stencil:
    """A copy in C, with some parts changed."""
    parts: dict[str, Any] = {
        "parameters": {"STEP": [1, 2, 4], "DEEP": [0, 1]},
        "arguments": [
            tw.Input("x", "float32", ("n",)),
            tw.Output("y", "float32", ("n",)),
            tw.Scalar("count", "int64", "n"),
        ],
        "reference": same,
        "language": "c",
    }
    return tw.Stencil("copy", COPY, **{**parts, **changes})


def gpu(**changes: Any) -> tw.Stencil:
    """The same for a GPU."""
    launch = {"grid": "ceil_div(n, THREADS)", "block": "THREADS", "shared": "SHARED"}
    parameters = {"THREADS": [256, 1024, 2048], "SHARED": [0, 1 << 20]}
    return kernel(**{"language": "cuda", "launch": launch, "parameters": parameters, **changes})
