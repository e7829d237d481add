"""One checkout's side, a process of its own: ``{"prepare": case}``, ``{"sample": {}}``, one object a line.

It is run by its path, with the checkout that it measures first on ``PYTHONPATH``, so it imports nothing of
``bench``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw

SAMPLE_SECONDS = 3e-3
"""A sample is at least this long, so that reading the clock does not show."""


def arrays(case: dict[str, Any], seed: int = 1) -> tuple[Any, Any, Any]:
    """Random operands, and where the result goes, on the device of the case."""
    rng = np.random.default_rng(seed)
    stack = (case["batch"],) if case["batch"] else ()
    first = () if case["shared"] else stack
    shape_a, shape_b = (*first, case["m"], case["k"]), (*stack, case["k"], case["n"])
    shape_c = (*stack, case["m"], case["n"])
    if case["device"] == "cuda":
        import torch

        kind = getattr(torch, case["dtype"])
        torch.manual_seed(seed)
        a, b = (torch.randn(shape, device="cuda", dtype=kind) for shape in (shape_a, shape_b))
        return a, b, torch.zeros(shape_c, device="cuda", dtype=kind)
    a, b = (_random(rng, shape, case["dtype"]) for shape in (shape_a, shape_b))
    return a, b, _placed(shape_c, np.dtype(case["dtype"]), case["offset"])


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """Random numbers, one block of them repeated, which is quick and nowhere constant."""
    made = np.empty(shape, dtype)
    flat = made.reshape(-1).view(made.real.dtype)
    block = rng.uniform(-1, 1, min(flat.size, 1 << 16)).astype(flat.dtype)
    for start in range(0, flat.size, block.size):
        part = flat[start : start + block.size]
        part[:] = block[: part.size]
    return made


def _placed(shape: tuple[int, ...], dtype: np.dtype[Any], offset: int) -> Any:
    """Zeros that start ``offset`` bytes behind a cache line."""
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(size + 128, np.uint8)
    start = -raw.ctypes.data % 64 + offset
    return raw[start : start + size].view(dtype).reshape(shape)


def statement(case: dict[str, Any]) -> Callable[[], Any]:
    """The call that a case is, without arguments."""
    a, b, out = arrays(case)
    kind = case["kind"]
    if kind == "matmul":
        return lambda: tw.matmul(a, b)
    if kind == "into":
        return lambda: tw.matmul(a, b, out)
    if kind == "plan":
        plan = tw.plan(a, b, out=out)
        return lambda: plan(a, b, out=out)
    if kind == "update":
        return lambda: tw.gemm(a, b, out, beta=1, out=out)
    if case["device"] == "cuda":
        import torch

        return lambda: torch.matmul(a, b, out=out)
    return lambda: np.matmul(a, b, out=out)


class Worker:
    """The present case, with as many calls in a sample as fill its time."""

    def prepare(self, **case: Any) -> dict[str, Any]:
        """Make the operands, call once, and find how many calls a sample needs."""
        self.run: Callable[[], Any] = lambda: None
        self.wait: Callable[[], Any] = lambda: None
        self.run = statement(case)
        if case["device"] == "cuda":
            import torch

            self.wait = torch.cuda.synchronize
        self.calls = 1
        for _ in range(3):
            seconds = self._timed()
        while seconds < SAMPLE_SECONDS:
            self.calls = max(self.calls + 1, int(self.calls * 1.2 * SAMPLE_SECONDS / seconds))
            seconds = self._timed()
        return {"calls": self.calls}

    def sample(self) -> dict[str, Any]:
        """Seconds of one call, the wait for a GPU shared by all calls of the sample."""
        self.run()
        return {"seconds": self._timed() / self.calls}

    def _timed(self) -> float:
        run = self.run
        self.wait()
        start = time.perf_counter()
        for _ in range(self.calls):
            run()
        self.wait()
        return time.perf_counter() - start


def main() -> None:
    """Serve until the input ends."""
    if hasattr(os, "sched_setaffinity") and "--one-core" in sys.argv:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        tw.set_threads(1)
    # Whatever a library prints goes to stderr; the protocol keeps the real stdout for itself.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    worker = Worker()
    for line in sys.stdin:
        ((action, arguments),) = json.loads(line).items()
        try:
            reply = getattr(worker, action)(**arguments)
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=out)


if __name__ == "__main__":
    main()
