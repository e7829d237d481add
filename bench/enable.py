"""What ``tilewright.torch.enable()`` does to PyTorch's products: ``python -m bench.enable FILE``, on a GPU.

Three parts, each a line of the file for each of its cases; the first line says on what all of it ran.

    toll      microseconds that the host spends on a call that the GPU is done with at once: PyTorch's own,
              the direct call, those of ``tilewright.torch``, and PyTorch's under ``enable``
    training  forward and backward of (batch, n, n) products by PyTorch, by ``tilewright.torch.matmul``, by
              its operator, and by PyTorch's ``matmul`` and ``bmm`` and by ours under ``enable``; ``alone``
              without PyTorch's own thread for the backward pass
    drawn     calls drawn at random (batch, extents, strides, types, with a gradient or not) without and with
              ``enable``, in turns; ``gain`` is the first time over the second

Times are of the host's clock over some calls that end with the GPU done, so whoever takes longer, host or
GPU, is what is seen, as by a program that makes one call after the other. Medians of ``ROUNDS`` turns.
``gpu_us`` are by the clock of a GPU that is behind the host; ``runs`` says what the call was decided to run.
Lines of single products are points for ``bench.classes``, too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import tilewright as tw
from bench import lines
from tilewright.planning import dispatch, neighbours

ROUNDS = 7
SPAN = 1.5e-3
"""Seconds of a turn, of ``LEAST`` to ``MOST_CALLS`` calls."""
LEAST, MOST_CALLS = 8, 150
EXTENTS = (1, 2, 3, 4, 6, 8, 9, 12, 16, 24, 32, 48, 64, 100)
BUSY = 2_500_000
"""Clocks for which the GPU sleeps before its own clock is read: more than a millisecond."""
TRAINED = (
    (100_000, 8, "float32"),
    (100_000, 4, "float32"),
    (50_000, 16, "float32"),
    (100_000, 8, "float64"),
    (50_000, 8, "complex64"),
    (10_000, 32, "float32"),
)
"""Batch, order and type of the products of ``training``."""
MOST = 96 << 20
"""Bytes of A, B and C of a drawn call at most."""
Run = Callable[[], object]


def turns(torch: Any, runs: Mapping[str, tuple[bool, Run]]) -> dict[str, float]:
    """Microseconds of one call of each, in turns; True: under ``enable``, which stays on for the turn."""
    samples: dict[str, list[float]] = {name: [] for name in runs}
    repeats = dict.fromkeys(runs, LEAST)
    for number in range(ROUNDS + 1):
        for name, (served, run) in runs.items():
            with enabled() if served else nullcontext():
                # The first may decide, and the second finds what that left in the caches.
                for _ in range(2):
                    run()
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for _ in range(repeats[name]):
                    run()
                torch.cuda.synchronize()
                seconds = (time.perf_counter() - begin) / repeats[name]
                repeats[name] = min(MOST_CALLS, max(LEAST, int(SPAN / seconds)))
                if number:
                    samples[name].append(seconds * 1e6)
    return {name: round(statistics.median(found), 3) for name, found in samples.items()}


@contextmanager
def enabled() -> Iterator[None]:
    """``enable`` for a turn. What was decided is kept from turn to turn, as in a program."""
    from tilewright.torch.switch import SERVING

    SERVING.on(forget=False)
    try:
        yield
    finally:
        SERVING.off()


def tolls(torch: Any) -> Iterator[lines.Line]:
    """What the host spends on a call."""
    import tilewright.torch as tt

    for batch, n in ((2, 3), (1000, 4), (20000, 4), (3000, 8), (300, 32), (20, 200)):
        a, b = (torch.randn(batch, n, n, device="cuda") for _ in range(2))
        out = torch.empty_like(a)
        runs: dict[str, tuple[bool, Run]] = {
            "torch": (False, partial(torch.bmm, a, b)),
            "torch_out": (False, partial(torch.bmm, a, b, out=out)),
            "direct": (False, partial(tw.matmul, a, b)),
            "direct_out": (False, partial(tw.matmul, a, b, out)),
            "door": (False, partial(tt.matmul, a, b)),
            "operator": (False, partial(torch.ops.tilewright.matmul, a, b)),
            "enabled": (True, partial(torch.bmm, a, b)),
            "enabled_out": (True, partial(torch.bmm, a, b, out=out)),
        }
        yield {"part": "toll", "batch": batch, "n": n, "us": turns(torch, runs)}
    large = torch.randn(300, 300, device="cuda")
    times = turns(
        torch,
        {
            "torch": (False, partial(torch.mm, large, large)),
            "passed": (True, partial(torch.mm, large, large)),
        },
    )
    yield {"part": "toll", "batch": 1, "n": 300, "us": times}
    a, b, c = (torch.randn(3000, 8, 8, device="cuda") for _ in range(3))
    add = partial(torch.baddbmm, c, a, b)
    times = turns(torch, {"torch": (False, add), "enabled": (True, add)})
    yield {"part": "toll", "call": "baddbmm", "batch": 3000, "n": 8, "us": times}


def trained(torch: Any, multiply: Callable[[Any, Any], Any], a: Any, b: Any, seed: Any) -> None:
    """One step: the product and the gradients of both operands."""
    torch.autograd.grad(multiply(a, b), (a, b), seed)


def summed(torch: Any, a: Any, b: Any) -> None:
    """One step of a loss that is the sum of the product, whose gradient is one number repeated."""
    total = torch.matmul(a, b).sum()
    torch.autograd.grad(total, (a, b), torch.ones_like(total))


def operands(torch: Any, batch: int, n: int, name: str) -> tuple[Any, Any, Any]:
    """Two operands that want a gradient, and that of their product."""
    dtype = getattr(torch, name)
    a, b = (torch.randn(batch, n, n, device="cuda", dtype=dtype).requires_grad_() for _ in range(2))
    return a, b, torch.randn_like(a)


def alone(torch: Any, run: Run) -> Run:
    """The same without PyTorch's own thread for the backward pass."""

    def made() -> None:
        with torch.autograd.set_multithreading_enabled(False):
            run()

    return made


def on_device(torch: Any, run: Run, served: bool = False) -> float:
    """Microseconds of one call by the clock of the GPU, which is kept busy until the host is ahead of it."""
    samples = []
    with enabled() if served else nullcontext():
        run()
        samples = [_on_device(torch, run) for _ in range(5)]
    return float(round(statistics.median(samples), 3))


def _on_device(torch: Any, run: Run) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(BUSY)
    begin.record()
    for _ in range(5):
        run()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end) / 5 * 1e3)


def training(torch: Any) -> Iterator[lines.Line]:
    """Forward and backward."""
    import tilewright.torch as tt

    for case in TRAINED:
        a, b, seed = operands(torch, *case)
        matmul = partial(trained, torch, torch.matmul, a, b, seed)
        bmm = partial(trained, torch, torch.bmm, a, b, seed)
        door = partial(trained, torch, tt.matmul, a, b, seed)
        runs: dict[str, tuple[bool, Run]] = {
            "torch": (False, matmul),
            "torch_alone": (False, alone(torch, matmul)),
            "door": (False, door),
            "operator": (False, partial(trained, torch, torch.ops.tilewright.matmul, a, b, seed)),
            "enabled": (True, matmul),
            "enabled_alone": (True, alone(torch, matmul)),
            "enabled_bmm": (True, bmm),
            "enabled_door": (True, door),
            "torch_sum": (False, partial(summed, torch, a, b)),
            "enabled_sum": (True, partial(summed, torch, a, b)),
        }
        times = turns(torch, runs)
        line = {"part": "training", **dict(zip(("batch", "n", "type"), case, strict=True)), "us": times}
        on_gpu = {"torch": on_device(torch, matmul), "door": on_device(torch, door)}
        on_gpu["enabled"] = on_device(torch, matmul, True)
        gains = {name: round(times["torch"] / times[name], 3) for name in ("door", "enabled", "enabled_door")}
        gains["gpu"] = round(on_gpu["torch"] / on_gpu["enabled"], 3)
        yield line | {"gpu_us": on_gpu} | {"gains": gains}


def drawn(torch: Any, draw: random.Random) -> tuple[lines.Line, Run]:
    """A call at random, and what it is."""
    dtype = draw.choice(
        (torch.float32, torch.float64, torch.complex64, torch.complex128, torch.float16, torch.bfloat16)
    )
    m, n, k = (draw.choice(EXTENTS) for _ in range(3))
    size = torch.empty((), dtype=dtype).element_size()
    most = max(1, MOST // (size * (m * k + k * n + m * n)))
    batch = min(most, int(10 ** draw.uniform(0, 6)))
    kind = draw.choice(
        ("matmul", "matmul", "shared", "transposed", "strided", "einsum", "baddbmm", "gradient")
    )

    def made(*shape: int) -> Any:
        return torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype)

    a, b = made(batch, m, k), made(batch, k, n)
    run: Run = lambda: torch.matmul(a, b)  # noqa: E731
    if kind == "shared":
        one = made(k, n)
        run = lambda: torch.matmul(a, one)  # noqa: E731
    elif kind == "transposed":
        x, y = made(batch, k, m).mT, made(batch, n, k).mH
        run = lambda: torch.matmul(x, y)  # noqa: E731
    elif kind == "strided":
        x = made(batch, m, k + 3)[..., :k]
        run = lambda: torch.matmul(x, b)  # noqa: E731
    elif kind == "einsum":
        y = made(batch, n, k)
        run = lambda: torch.einsum("bij,bkj->bki", a, y)  # noqa: E731
    elif kind == "baddbmm":
        c = made(batch, m, n)
        run = lambda: torch.baddbmm(c, a, b, beta=0.5, alpha=2)  # noqa: E731
    elif kind == "gradient":
        seed = made(batch, m, n)
        a.requires_grad_()
        b.requires_grad_()
        run = partial(trained, torch, torch.matmul, a, b, seed)
    what = {"part": "drawn", "kind": kind, "type": str(dtype).removeprefix("torch.")}
    return what | {"batch": batch, "m": m, "n": n, "k": k}, run


def told(choice: Any) -> str:
    """What was decided of a kind of call."""
    if choice.why or choice.plan is None:
        return f"{choice.spelling} PyTorch: {choice.why}"
    return f"{choice.spelling} {choice.plan.stencil or 'library'} ({choice.plan.origin})"


def compared(choices: Sequence[Any], on_gpu: Mapping[str, float]) -> lines.Line:
    """What ``bench.classes`` takes of a call that is one product: how its kernel did beside the library."""
    if len(choices) != 1 or choices[0].why or choices[0].plan is None or choices[0].copies:
        return {}
    plan = choices[0].plan
    p = plan.problem
    # What is added is copied first, by either.
    if plan.stencil is None or p.beta != "0":
        return {}
    ratio = round(on_gpu["torch"] / on_gpu["enabled"], 3)
    line = {"problem": p.spelling, "beta": p.beta, "layout": p.layout, "regime": plan.regime}
    part = neighbours.part(plan.stencil, p)
    return line | {"stencil": part, "origin": plan.origin, "against_cublas": ratio}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further drawn call after these")
    parser.add_argument(
        "--warm", default="", help="I/N: only compile what every Nth call or step from the Ith on needs"
    )
    given = parser.parse_args(arguments)
    import torch

    import tilewright.torch as tt
    from tilewright.torch.switch import SERVING

    begin = time.monotonic()
    if given.warm:
        first, step = map(int, given.warm.split("/"))
        with tt.enable():
            for number in range(first, given.calls, step):
                drawn(torch, random.Random(f"{given.seed} {number}"))[1]()
        for case in TRAINED[first::step]:
            a, b, seed = operands(torch, *case)
            trained(torch, tt.matmul, a, b, seed)
            with tt.enable():
                trained(torch, torch.matmul, a, b, seed)
                summed(torch, a, b)
        os._exit(0)
    sink = lines.Sink(given.output, "enable", dispatch.device("cuda"), {"seed": given.seed})

    def write(line: lines.Line) -> None:
        sink.write(line)
        print(json.dumps(line), flush=True)

    for line in chain(tolls(torch), training(torch)):
        write(line)
    for number in range(given.calls):
        if time.monotonic() - begin > given.seconds:
            break
        what, run = drawn(torch, random.Random(f"{given.seed} {number}"))
        before = set(SERVING.choices)
        times = turns(torch, {"torch": (False, run), "enabled": (True, run)})
        on_gpu = {name: on_device(torch, run, name != "torch") for name in ("torch", "enabled")}
        choices = [choice for key, choice in list(SERVING.choices.items()) if key not in before]
        line = what | {"us": times, "gpu_us": on_gpu, "gain": round(times["torch"] / times["enabled"], 3)}
        line |= {"runs": [told(choice) for choice in choices]}
        write(line | compared(choices, on_gpu))
    print(tt.report())


if __name__ == "__main__":
    main()
