"""An exported library beside the plan that it was exported from: ``python -m bench.export d:8x8x8 z:3x3x3``.

The library is written, built with the machine's C compiler (``--cc``) and loaded into this process. Then each
problem runs on the same operands by ``tw.plan`` and by the library, in turns: on one core a batch in the
caches and one in memory, on a GPU (``--device cuda``) one in memory, packed and with a gap between matrices.
Operations have to be n, because operands are NumPy's or PyTorch's arrays in C order, read as columns.

On the processor the library is called in a loop of C's, so that what ``ctypes`` takes for a call is not
counted; Python's plan is called as a program in Python calls it. ``ratio``: the library's time over the
plan's.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw
from bench import kernels, lines
from tilewright.dtypes import narrowed, widened
from tilewright.errors import ArgumentError
from tilewright.export import gpus, processors
from tilewright.export.problems import Exported, of
from tilewright.model import Device, Problem
from tilewright.planning import dispatch
from tilewright.tuning import timing

GAP = 4
"""Elements between matrices of the form that is not packed."""
LOOP = """
#include "tilewright_kernels.h"
int repeat(int times, int problem, size_t count, const void *a, ptrdiff_t sa, const void *b, ptrdiff_t sb,
           void *c, ptrdiff_t sc)
{
    int status = 0;
    while (!status && times--)
        status = tw_gemm(tw_problems + problem, count, 0, a, sa, b, sb, 0, c, sc);
    return status;
}
const tw_problem *numbered(int problem)
{
    return tw_problems + problem;
}
"""


def built(problems: list[str], kind: str, cc: str, folder: Path) -> ctypes.CDLL:
    """The library of problems for this machine, in this process."""
    targets = processors.here() if kind == "cpu" else gpus.names()[:1]
    tw.export_kernels(problems, folder, targets=targets)
    (folder / "src" / "repeat.c").write_text(LOOP)
    made = folder / "library.so"
    sources = [*folder.glob("src/*.c"), *folder.glob("objects/*/*.o")]
    command = [
        cc,
        "-std=c99",
        "-O2",
        "-shared",
        "-fPIC",
        f"-I{folder / 'include'}",
        "-o",
        made,
        *sources,
        "-ldl",
    ]
    subprocess.run(list(map(str, command)), check=True)
    library = ctypes.CDLL(str(made))
    library.numbered.restype = ctypes.c_void_p
    return library


def forms(p: Problem, kind: str, device: Device) -> Iterator[tuple[str, str, int, int]]:
    """What is measured of a problem: layout, regime, gap and batch."""
    each = p.footprint
    memory = max(2, 4 * max(device.knee(), device.last_cache) // each)
    if kind == "cpu":
        yield "packed", "cached", 0, max(1, device.knee(1) // (2 * each))
        memory = max(2, 8 * device.knee() // each)
    yield "packed", "memory", 0, memory
    yield "apart", "memory", GAP, memory


def operands(p: Problem, gap: int, batch: int, kind: str) -> list[Any]:
    """A, B and C, column-major, as stacks of their transposes in C order with a gap after each matrix."""
    rng, found = np.random.default_rng(0), []
    for rows, columns in ((p.m, p.k), (p.k, p.n), (p.m, p.n)):
        size = rows * columns
        values: Any = rng.standard_normal((batch, size + gap))
        if p.dtype.is_complex:
            values = values + 1j * rng.standard_normal((batch, size + gap))
        values = narrowed(values, p.dtype.numpy) if p.dtype.real_bits == 16 else values.astype(p.dtype.numpy)
        if kind == "cuda":
            import torch

            values = torch.as_tensor(values, device="cuda")
        found.append(values[:, :size].reshape(batch, columns, rows))
        if kind == "cpu" and gap:
            found[-1] = np.lib.stride_tricks.as_strided(
                values, (batch, columns, rows), (values.strides[0], rows * values.itemsize, values.itemsize)
            )
        elif kind == "cuda" and gap:
            found[-1] = values.as_strided((batch, columns, rows), (size + gap, rows, 1))
    return found


def runs(
    library: ctypes.CDLL, number: int, p: Problem, gap: int, batch: int, kind: str
) -> tuple[dict[str, Callable[[], object]], Callable[[], bool], str]:
    """The two competitors, whether they agree, and the kernel of the plan. Each runs once here."""
    a, b, c = operands(p, gap, batch, kind)
    plan = tw.plan(b, a, out=c)
    steps = [size + gap for size in (p.m * p.k, p.k * p.n, p.m * p.n)]
    wide, address = ctypes.c_ssize_t, ctypes.c_void_p
    begin = [x.ctypes.data if kind == "cpu" else x.data_ptr() for x in (a, b, c)]
    pairs = [x for at, step in zip(begin, steps, strict=True) for x in (address(at), wide(step))]
    if kind == "cpu":
        loop, one = library.repeat, (ctypes.c_int(number), ctypes.c_size_t(batch), *pairs)
        # So many passes that the call from Python is a hundredth of them.
        times = max(1, math.ceil(2e-4 / (p.flops * batch / 2e10)))

        def exported() -> object:
            return _done(loop(times, *one))
    else:
        import torch

        _done(library.tw_cuda_load())
        stream = address(torch.cuda.current_stream().cuda_stream)
        problem = address(library.numbered(number))
        pair_a, pair_b, pair_c = pairs[:2], pairs[2:4], pairs[4:]
        launch = library.tw_gemm_cuda
        given = (problem, ctypes.c_size_t(batch), None, *pair_a, *pair_b, None, *pair_c, stream)
        times = 1

        def exported() -> object:
            return _done(launch(*given))

    def planned() -> object:
        for _ in range(times):
            plan(b, a, out=c)
        return None

    planned()
    first = c.copy() if kind == "cpu" else c.clone()
    c[...] = math.nan
    exported()
    close = _near if kind == "cpu" else _close
    return (
        {"plan": planned, "library": exported},
        lambda: bool(close(first, c, 1e-4, 1e-4)),
        str(plan.plan.stencil),
    )


def _near(first: Any, second: Any, relative: float, absolute: float) -> bool:
    return bool(np.allclose(widened(first), widened(second), relative, absolute))


def _close(first: Any, second: Any, *limits: float) -> bool:
    import torch

    return bool(torch.allclose(first, second, *limits))


def _done(status: int) -> int:
    if status:
        raise RuntimeError(f"the library returned status {status}")
    return status


def measured(
    library: ctypes.CDLL, number: int, x: Exported, device: Device, options: argparse.Namespace
) -> Iterator[lines.Line]:
    """A line for each form of a problem."""
    p, kind = x.problem, options.device
    if p.trans != "nn":
        raise ArgumentError(f"problem={p.spelling!r}; accepted: operations n, for arrays in C order")
    watch: Any = timing.HOST
    if kind == "cuda":
        from tilewright.tuning.evaluate.cuda_timing import Events

        watch = Events()
    for layout, regime, gap, batch in forms(p, kind, device):
        both, right, stencil = runs(library, number, p, gap, batch, kind)
        good = right()
        found = timing.interleaved(
            both, rounds=options.rounds, regime=regime, batch=batch, watch=watch, budget=options.budget
        )
        ratio, low, high = timing.ratio(found["library"], found["plan"])
        yield {
            "kind": "export",
            "problem": p.key,
            "layout": layout,
            "regime": regime,
            "batch": batch,
            "right": good,
            "plan_stencil": stencil,
            "plan_seconds": found["plan"].median,
            "library_seconds": found["library"].median,
            "ratio": ratio,
            "ratio_low": low,
            "ratio_high": high,
            "date": lines.now(),
        }


def main() -> None:
    """Measure what the command line asks for."""
    parser = lines.parser("bench.export", __doc__)
    parser.add_argument("problems", nargs="+")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--budget", type=float, default=5.0, help="seconds for each line")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    console, asked = lines.console(), of(options.problems)
    if options.device == "cpu":
        kernels.pin()
        tw.set_threads(1)
    device = dispatch.device(options.device)
    sink = lines.Sink(options.out, "export", device, vars(options))
    with tempfile.TemporaryDirectory() as folder:
        library = built(options.problems, options.device, options.cc, Path(folder))
        for number, each in enumerate(asked):
            for line in measured(library, number, each, device, options):
                sink.write(line)
                console.print(
                    f"{line['problem'].split('|')[0]} {line['layout']} {line['regime']}: "
                    f"{line['ratio']:.3f} ({line['ratio_low']:.3f} to {line['ratio_high']:.3f}) of the plan "
                    f"({line['plan_stencil']}){'' if line['right'] else ' WRONG'}"
                )


if __name__ == "__main__":
    main()
