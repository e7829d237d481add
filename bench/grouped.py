"""Products of many sizes in one launch, and arrays of pointers: ``python -m bench.grouped --out FILE``.

sizes     10,000 and 100,000 products with extents uniform in 1..32, all three alike (``square``) or each its
          own (``free``): kernel time of ``plan_grouped(...).run()`` by events, and its share of the bandwidth
          bound, the bytes of A, B and C once over the speed of a copy of 2 GB that is measured beside it. In
          turns with it: a copy of as many bytes as the list has, which a launch and its tail hold back as
          well (``same_copy``); cuBLAS's product of groups of one each (``cublas_grouped``, where the library
          has it); ``torch.bmm`` on everything padded to the largest (the padding itself is not counted); and
          a loop of ``torch.matmul``, one call a product
pointers  ``gemm_batched`` over ``Pointers``, in the order of memory and shuffled, beside the strided form of
          the same matrices

Matrices lie in as many copies as exceed the second-level cache several times, and launches go through them
in turns. Figures are medians over rounds; each competitor's results are compared with ours first.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw
from bench import lines
from tilewright.catalog import TARGETS
from tilewright.model import DTYPES
from tilewright.planning import dispatch
from tilewright.tuning.timing import median_interval

TOP = 32
CACHES = 5
"""Bytes of all copies, in second-level caches."""
VENDOR = {"s": ("cublasSgemmGroupedBatched", np.float32), "d": ("cublasDgemmGroupedBatched", np.float64)}
LOOPED = 10_000
"""Products of the longest list that is multiplied in a loop of calls, too."""
PATIENCE = 3
"""Samples of what takes milliseconds."""


def seconds(
    torch: Any, runs: dict[str, tuple[Callable[[], object], int]], rounds: int
) -> dict[str, list[float]]:
    """Samples in turns: seconds of one pass, from events around so many calls."""
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for run, _ in runs.values():
        run()
    torch.cuda.synchronize()
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds):
        for name, (run, calls) in runs.items():
            if calls == 1 and turn >= PATIENCE:
                continue
            start.record()
            for _ in range(calls):
                run()
            stop.record()
            stop.synchronize()
            samples[name].append(1e-3 * start.elapsed_time(stop) / calls)
    return samples


def copy_speed(torch: Any) -> float:
    """Bytes a second that a copy reads and writes."""
    a, b = (torch.randn(1 << 28, dtype=torch.float32, device="cuda") for _ in range(2))
    taken = seconds(torch, {"copy": (lambda: b.copy_(a), 5)}, 9)["copy"]
    return float(2 * a.nbytes / np.median(taken))


class Set:
    """One copy of a list: its matrices by rows in three pieces of memory, each on an element's boundary."""

    def __init__(self, torch: Any, letter: str, sizes: np.ndarray[Any, Any]):
        self.sizes, kind = sizes, getattr(torch, DTYPES[letter].name)
        m, n, k = sizes
        self.shapes = ((m, k), (k, n), (m, n))
        self.pieces = [torch.randn(int((x * y).sum()), device="cuda", dtype=kind) for x, y in self.shapes]
        self.starts = [np.concatenate(([0], np.cumsum(x * y)[:-1])) for x, y in self.shapes]
        self.where = [
            piece.data_ptr() + start * piece.element_size()
            for piece, start in zip(self.pieces, self.starts, strict=True)
        ]
        a, b, c = self.where
        self.plan = tw.plan_grouped(tw.Groups(m, n, k, a, b, c, dtype=letter))

    @property
    def bytes(self) -> int:
        """Of A, B and C."""
        return sum(int(piece.nbytes) for piece in self.pieces)

    def views(self, which: int) -> list[Any]:
        """The matrices of one operand."""
        rows, columns = self.shapes[which]
        flat = self.pieces[which]
        return [
            flat[s : s + x * y].view(x, y)
            for s, x, y in zip(*(part.tolist() for part in (self.starts[which], rows, columns)), strict=True)
        ]


def padded(torch: Any, views: list[Any], top: int) -> Any:
    """Every matrix in the corner of one of the largest size, zeros elsewhere."""
    stack = torch.zeros(len(views), top, top, dtype=views[0].dtype, device="cuda")
    for whole, view in zip(stack, views, strict=True):
        whole[: view.shape[0], : view.shape[1]] = view
    return stack


class Vendor:
    """cuBLAS's product of groups, by the library that PyTorch has loaded; products are groups of one."""

    def __init__(self, torch: Any, letter: str, made: Set):
        name, real = VENDOR[letter]
        library = next(
            found
            for found in (_loaded(f"libcublas.so.{major}") for major in (13, 12))
            if found is not None and hasattr(found, name)
        )
        self.call, self.handle = getattr(library, name), torch.cuda.current_blas_handle()
        self.call.restype = ctypes.c_int
        m, n, k = (x.astype(np.int32) for x in made.sizes)
        count = len(m)
        none, ones = np.zeros(count, np.int32), np.ones(count, np.int32)
        # By rows: the second operand first.
        there = [torch.as_tensor(np.asarray(made.where[i]), device="cuda") for i in (1, 0, 2)]
        one, zero = np.ones(count, real), np.zeros(count, real)
        here = [none, none, n, m, k, one, there[0], n, there[1], k, zero, there[2], n, ones]
        self.keep = here
        self.told = [
            ctypes.c_void_p(int(x.data_ptr()) if hasattr(x, "data_ptr") else x.ctypes.data) for x in here
        ]
        self.count = ctypes.c_int(count)

    def __call__(self) -> None:
        told = self.told
        code = self.call(ctypes.c_void_p(self.handle), *told[:13], self.count, told[13])
        if code:
            raise RuntimeError(f"cuBLAS returned {code}")


def _loaded(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def agrees(torch: Any, got: Any, want: Any) -> bool:
    """Whether two results are one but for rounding."""
    return bool(torch.allclose(got, want, rtol=2e-2 if got.element_size() == 2 else 1e-3, atol=2e-2))


def sizes_line(torch: Any, letter: str, kind: str, count: int, copy: float, rounds: int) -> lines.Line:
    """One type, way to draw sizes and length of the list: ours beside the others."""
    draw = np.random.default_rng(1)
    sizes = draw.integers(1, TOP + 1, (3, count))
    if kind == "square":
        sizes[:] = sizes[0]
    made = [Set(torch, letter, sizes)]
    cache = dispatch.device("cuda").last_cache
    while sum(x.bytes for x in made) < CACHES * cache:
        made.append(Set(torch, letter, sizes))
    runs: dict[str, tuple[Callable[[], object], int]] = {}

    def turns(calls: list[Callable[[], object]]) -> Callable[[], object]:
        state = {"at": 0}

        def run() -> object:
            state["at"] = (state["at"] + 1) % len(calls)
            return calls[state["at"]]()

        return run

    runs["ours"] = (turns([x.plan.run for x in made]), 4 * len(made))
    # As many bytes as the list has, half of them read and half written, elsewhere in each turn.
    half = made[0].bytes // 2 // 16 * 16
    pools = [torch.randint(256, (half * len(made),), dtype=torch.uint8, device="cuda") for _ in range(2)]
    parts = [[pool[i * half : (i + 1) * half] for pool in pools] for i in range(len(made))]
    runs["same_copy"] = (turns([partial(to.copy_, part) for part, to in parts]), 4 * len(made))
    missing: dict[str, str] = {}
    first = made[0]
    first.plan.run()
    ours = first.pieces[2].clone()
    a, b, c = (first.views(which) for which in range(3))
    try:
        if letter not in "sd":
            raise TypeError("cuBLAS has it for float32 and float64")
        vendor = [Vendor(torch, letter, x) for x in made]
        first.pieces[2].fill_(float("nan"))
        vendor[0]()
        if not agrees(torch, first.pieces[2], ours):
            raise RuntimeError("its results differ from ours")
        runs["cublas_grouped"] = (turns(list(vendor)), 2 * len(made))
    except Exception as error:
        missing["cublas_grouped"] = f"{type(error).__name__}: {error}"
    wide = [padded(torch, x, TOP) for x in (a, b)]
    product = torch.empty_like(wide[0])
    torch.bmm(wide[0], wide[1], out=product)
    right = all(
        agrees(torch, z[: x.shape[0], : y.shape[1]], torch.as_tensor(w))
        for z, x, y, w in list(zip(product, a, b, ours_views(first, ours), strict=True))[::97]
    )
    runs["bmm_padded"] = (lambda: torch.bmm(wide[0], wide[1], out=product), 8)

    def loop() -> None:
        for x, y, z in zip(a, b, c, strict=True):
            torch.matmul(x, y, out=z)

    if count <= LOOPED:
        runs["matmul_loop"] = (loop, 1)
    samples = seconds(torch, runs, rounds)
    line: lines.Line = {
        "kind": "sizes",
        "type": letter,
        "sizes": kind,
        "count": count,
        "top": TOP,
        "right": right,
        "bytes": first.bytes,
        "copy_bytes_per_s": copy,
        "bound_us": 1e6 * first.bytes / copy,
        "config": dict(first.plan.plans[0].config or {}),
        "missing": missing,
    }
    for name, taken in samples.items():
        median, low, high = median_interval(taken)
        line[name] = {"us": 1e6 * median, "low": 1e6 * low, "high": 1e6 * high}
    line["of_bound"] = line["bound_us"] / line["ours"]["us"]
    line["of_same_copy"] = line["same_copy"]["us"] / line["ours"]["us"]
    return line


def ours_views(made: Set, flat: Any) -> list[Any]:
    """A clone of C as matrices."""
    rows, columns = made.shapes[2]
    return [
        flat[s : s + x * y].view(x, y)
        for s, x, y in zip(*(part.tolist() for part in (made.starts[2], rows, columns)), strict=True)
    ]


def pointers_line(torch: Any, letter: str, n: int, total: float, rounds: int) -> lines.Line:
    """Arrays of pointers beside strides, on the same matrices."""
    kind = getattr(torch, DTYPES[letter].name)
    size = DTYPES[letter].itemsize
    count = int(total / (3 * n * n * size))
    a, b, c = (torch.randn(count, n, n, device="cuda", dtype=kind) for _ in range(3))
    order = np.arange(count)
    # Evenly spaced pointers would be taken for a stack.
    nearly = order.copy()
    nearly[:2] = 1, 0
    shuffled = np.random.default_rng(0).permutation(count)

    def pointed(which: np.ndarray[Any, Any]) -> Callable[[], object]:
        rows = [
            tw.Pointers(torch.as_tensor(x.data_ptr() + which * n * n * size, device="cuda"), (n, n), letter)
            for x in (a, b, c)
        ]
        return lambda: tw.gemm_batched(rows[0], rows[1], out=rows[2])

    plan = tw.plan(a, b, out=c)
    plan(a, b, out=c)
    want = c.clone()
    right = []
    runs: dict[str, tuple[Callable[[], object], int]] = {"strided": (lambda: plan(a, b, out=c), 10)}
    for name, which in (("pointers", nearly), ("shuffled", shuffled)):
        run = pointed(which)
        c.zero_()
        run()
        right.append(agrees(torch, c, want))
        runs[name] = (run, 10)
    samples = seconds(torch, runs, rounds)
    line: lines.Line = {"kind": "pointers", "type": letter, "n": n, "batch": count, "right": all(right)}
    line["bytes"] = 3 * n * n * size * count
    for name, taken in samples.items():
        median, low, high = median_interval(taken)
        line[name] = {"us": 1e6 * median, "low": 1e6 * low, "high": 1e6 * high}
    line["of_strided"] = line["strided"]["us"] / line["pointers"]["us"]
    return line


def shown(line: lines.Line) -> str:
    """A line of the screen."""
    if line["kind"] == "pointers":
        parts = [f"{name} {line[name]['us']:.1f} us" for name in ("strided", "pointers", "shuffled")]
        return f"{line['type']} n={line['n']:<3} @{line['batch']} {', '.join(parts)}, right: {line['right']}"
    peers = ("ours", "same_copy", "cublas_grouped", "bmm_padded", "matmul_loop")
    parts = [f"{name} {line[name]['us']:.1f} us" for name in peers if name in line]
    return (
        f"{line['type']} {line['sizes']:6} @{line['count']} {line['bytes'] / 1e6:.1f} MB, "
        f"bound {line['bound_us']:.1f} us, {100 * line['of_bound']:.0f} % of it; {', '.join(parts)}, "
        f"right: {line['right']} {line['missing'] or ''}"
    )


def main() -> None:
    """Measure, print and keep."""
    parser = lines.parser("bench.grouped", __doc__)
    add = parser.add_argument
    add("--parts", default="sizes,pointers", help="default: sizes,pointers")
    add("--types", default="sdhcz", help="of sizes (default: sdhcz)")
    add("--kinds", default="square,free", help="of sizes (default: square,free)")
    add("--counts", default="10000,100000", help="products of a list (default: 10000,100000)")
    add("--orders", default="4,8,16,32", help=f"of pointers, {lines.SIZES} (default: 4,8,16,32)")
    add("--bytes", type=float, default=1e9, help="that a batch of pointers moves (default: 1e9)")
    add("--rounds", type=int, default=15, help="samples of each (default: 15)")
    add("--out", type=Path, help="lines of JSON are added to this file")
    options = parser.parse_args()
    lines.demand_gpu()
    import torch

    console = lines.console()
    sink = lines.Sink(options.out, "grouped", TARGETS["cuda"].probe(), vars(options))
    copy = copy_speed(torch)

    def add_line(line: lines.Line) -> None:
        sink.write({"date": lines.now()} | line)
        console.print(shown(line), markup=False)

    wanted = lines.words(options.parts)
    if "sizes" in wanted:
        for letter in options.types:
            for kind in lines.words(options.kinds):
                for count in map(int, lines.words(options.counts)):
                    add_line(sizes_line(torch, letter, kind, count, copy, options.rounds))
    if "pointers" in wanted:
        for letter in "sd":
            for n in lines.numbers(options.orders):
                add_line(pointers_line(torch, letter, n, options.bytes, options.rounds))


if __name__ == "__main__":
    main()
