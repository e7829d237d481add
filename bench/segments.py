"""Groups that share an axis, beside the libraries: ``python -m bench.segments --out FILE``.

named   shapes of public programs: mixtures of experts with many rows and with few, the gradient of their
        weights, and MACE's products by element, as one tensor split along rows or columns
drawn   shapes at random, which no choice was made from: 8 to 128 groups of 1 to 512 rows in the mean, sizes
        by a gamma distribution, extents log-uniform in 64..4096
short   groups of float32 and float64 at random with a k of 8 to 32, as weights by element have: 4 to 64 of 8
        to 512 rows in the mean, 64 to 1024 columns of C, a batch of some 300 MB
complex mixtures of experts in complex half: forward, and the gradients of both operands

Ours is ``tw.segment_matmul`` with offsets on the GPU, untuned. In turns with it: a loop of ``torch.mm`` or
``torch.bmm`` over the groups, whose sizes the loop is told beforehand; ``torch._grouped_mm`` where it has the
type; and a copy of as many bytes as the groups have, half of them read and half written. All but the copy are
recorded into CUDA graphs, some calls in each, so that times are the GPU's; ``eager`` is ours called from
Python. Operands of the named shapes exceed the second-level cache, figures are medians over rounds, and
results are compared with the loop's before.

No library has groups of complex half. Beside ours are the stencil ``segments``, which serves them where
``experts`` does not; for each group four products of float16 planes that are there already, whose sums are
rounded twice; and four ``torch._grouped_mm`` of bfloat16 planes with two sums, for those of float16 wait for
the host. TFLOP/s count eight operations for a product of two numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

import tilewright as tw
from bench import lines
from tilewright.arrays.segments import segments_of, shapes_of
from tilewright.arrays.view import address_of
from tilewright.catalog import TARGETS
from tilewright.model import DTYPES
from tilewright.planning import dispatch
from tilewright.runtime.backends import backend_of
from tilewright.tuning.timing import median_interval

Run = Callable[[], object]
CALLS = 4
"""Calls that a graph has recorded, and that are made one after the other from Python."""
AHEAD = 60_000
"""Clocks for which the GPU waits while a graph is launched."""
EAGER = "eager"
SHORT_BYTES = 3e8
"""Of the operands of a shape with a short k."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Groups: type, the axis that is split and its extent, the two others, the groups' number, the batch, and
    the sizes' shape parameter: 1 is very uneven."""

    name: str
    letter: str
    split: str
    length: int
    others: tuple[int, int]
    groups: int
    batch: int = 1
    skew: float = 1.0
    along: bool = False  # whether b is stored along what is summed over

    def ends(self) -> list[int]:
        """Where the groups end, drawn the same way every time."""
        parts = np.random.default_rng(self.groups).gamma(self.skew, size=self.groups)
        found = np.floor(np.cumsum(parts / parts.sum()) * self.length).astype(int)
        found[-1] = self.length
        return [int(end) for end in found]


NAMED = (
    Shape("experts of 500 rows", "b", "m", 4032, (4096, 2048), 8),
    Shape("experts of 120 rows", "b", "m", 7856, (2048, 1408), 64),
    Shape("experts of 20 rows", "b", "m", 2400, (1024, 4096), 128),
    Shape("experts of 8 rows", "b", "m", 64, (4096, 2048), 8),
    Shape("experts of 4 rows", "h", "m", 256, (2048, 1408), 64),
    Shape("experts of 1 row", "b", "m", 64, (2048, 1408), 64, skew=9.0),
    Shape("gradient of experts", "b", "k", 7856, (2048, 1408), 64),
    Shape("gradient, 500 rows", "b", "k", 4032, (4096, 2048), 8),
    Shape("typed edges", "s", "m", 8192, (512, 512), 64),
    Shape("typed edges", "d", "m", 4096, (512, 512), 32),
    Shape("typed edges", "c", "m", 2048, (512, 512), 16),
    Shape("typed edges", "z", "m", 2048, (256, 256), 16),
    Shape("elements, by rows", "s", "m", 3425, (16, 768), 10, 32, 2.0),
    Shape("elements, by columns", "s", "n", 3425, (768, 16), 10, 32, 2.0),
    Shape("elements, by rows", "d", "m", 3425, (16, 768), 10, 32, 2.0),
)


COMPLEX = tuple(
    Shape(f"{form} of {rows} rows", "hc", split, length, others, groups, along=form == "features")
    for rows, length, (k, n), groups in (
        (500, 4032, (4096, 2048), 8),
        (120, 7856, (2048, 1408), 64),
        (20, 2400, (1024, 4096), 128),
    )
    for form, split, others in (("forward", "m", (k, n)), ("features", "m", (n, k)), ("weights", "k", (k, n)))
)


def drawn(letters: list[str], count: int, seed: int) -> Iterator[Shape]:
    """Shapes that nothing was chosen by."""
    draw = np.random.default_rng(seed)
    for number in range(count):
        letter = letters[number % len(letters)]
        groups = int(2 ** draw.uniform(3, 7))
        rows = int(2 ** draw.uniform(0, 9))
        x, y = (int(2 ** draw.uniform(6, 12)) for _ in range(2))
        unit = 16 // DTYPES[letter].itemsize
        x, y = (-(-extent // unit) * unit for extent in (x, y))
        if groups * x * y * DTYPES[letter].itemsize < 4e9:
            split = "k" if number % 4 == 3 else "m"
            yield Shape(f"drawn {number}", letter, split, groups * rows, (x, y), groups)


def short(
    letters: list[str], count: int, seed: int, columns: tuple[float, float] = (6, 10)
) -> Iterator[Shape]:
    """Shapes with a short k that nothing was chosen by, with columns between two powers of two."""
    draw = np.random.default_rng([seed, 1])
    for number in range(count):
        letter = letters[number % len(letters)]
        size = DTYPES[letter].itemsize
        groups, k = int(2 ** draw.uniform(2, 6)), int(2 ** draw.uniform(3, 5))
        across = -(-int(2 ** draw.uniform(*columns)) * size // 16) * 16 // size
        length = groups * int(2 ** draw.uniform(3, 9))
        batch = max(2, int(SHORT_BYTES / (size * (groups * k * across + length * (k + across)))))
        yield Shape(f"short {number}", letter, "m", length, (k, across), groups, batch, draw.uniform(0.5, 3))


def low(letters: list[str], count: int, seed: int) -> Iterator[Shape]:
    """The same with few columns as well."""
    for shape in short(letters, count, seed, (2, 6)):
        yield replace(shape, name=shape.name.replace("short", "low"))


def operands(torch: Any, shape: Shape) -> tuple[Any, Any]:
    """a and b, of random numbers; with a split k, a is the transpose of rows."""
    kind, (x, y) = getattr(torch, DTYPES[shape.letter].name), shape.others
    lead = (shape.batch,) if shape.batch > 1 else ()

    def made(*extents: int) -> Any:
        if shape.letter == "hc":
            return torch.view_as_complex(torch.randn(*extents, 2, dtype=torch.float16, device="cuda"))
        return torch.randn(*extents, dtype=kind, device="cuda")

    if shape.split == "m":
        b = made(shape.groups, *lead, y, x).mT if shape.along else made(shape.groups, *lead, x, y)
        return made(*lead, shape.length, x), b
    if shape.split == "n":
        return made(shape.groups, *lead, x, y), made(*lead, y, shape.length)
    return made(*lead, shape.length, x).mT, made(*lead, shape.length, y)


def loop(torch: Any, shape: Shape, a: Any, b: Any, out: Any) -> Run:
    """The library's product of each group, whose borders the host knows."""
    product = torch.bmm if shape.batch > 1 else torch.mm
    calls, begin = [], 0
    for group, end in enumerate(shape.ends()):
        if shape.split == "m":
            calls.append((a[..., begin:end, :], b[group], out[..., begin:end, :]))
        elif shape.split == "n":
            calls.append((a[group], b[..., begin:end], out[..., begin:end]))
        else:
            calls.append((a[..., begin:end], b[..., begin:end, :], out[group]))
        begin = end
    calls = [call for call in calls if call[2].numel()]

    def run() -> None:
        for left, right, into in calls:
            product(left, right, out=into)

    return run


def planes(torch: Any, x: Any) -> tuple[Any, Any]:
    """Real and imaginary parts, each a tensor with the order of x."""
    flip = x.stride(-1) != 1
    re, im = torch.view_as_real(x.mT if flip else x).unbind(-1)
    re, im = re.contiguous(), im.contiguous()
    return (re.mT, im.mT) if flip else (re, im)


def planar(torch: Any, shape: Shape, a: Any, b: Any) -> tuple[Run, Any]:
    """The loop by four products of planes, and the planes of its result."""
    left, right = planes(torch, a), planes(torch, b)
    rows = (shape.groups,) if shape.split == "k" else ()
    out = torch.empty(2, *rows, a.shape[-2], b.shape[-1], dtype=torch.float16, device="cuda")
    calls, begin = [], 0
    for group, end in enumerate(shape.ends()):
        here = slice(begin, end)
        if shape.split == "m":
            calls.append(([x[here] for x in left], [y[group] for y in right], [z[here] for z in out]))
        else:
            calls.append(([x[:, here] for x in left], [y[here] for y in right], [z[group] for z in out]))
        begin = end

    def run() -> None:
        for x, y, z in calls:
            torch.mm(x[0], y[0], out=z[0])
            z[0].addmm_(x[1], y[1], alpha=-1)
            torch.mm(x[0], y[1], out=z[1])
            z[1].addmm_(x[1], y[0])

    return run, out


def planar_grouped(torch: Any, a: Any, b: Any, ends: Any) -> Run:
    """Four grouped products of bfloat16 planes, and two sums."""
    (x, u), (y, v) = ([part.to(torch.bfloat16) for part in planes(torch, z)] for z in (a, b))

    def run() -> None:
        torch._grouped_mm(x, y, offs=ends).sub_(torch._grouped_mm(u, v, offs=ends))
        torch._grouped_mm(x, v, offs=ends).add_(torch._grouped_mm(u, y, offs=ends))

    return run


def by_stencil(torch: Any, name: str, shape: Shape, a: Any, b: Any, ends: Any, out: Any) -> Run:
    """The product by a stencil that is named, by its default."""
    backend = backend_of(a=a)
    views = [backend.view(x, "an operand")[0] for x in (a, b, out, ends)]
    shapes = shapes_of(views[0].shape, views[1].shape, shape.groups, shape.split)
    borders = (views[3].dtype, False, False)
    job = segments_of((views[0], views[1], views[2]), shapes, shape.split, borders, (False, False))
    assert not isinstance(job, str)
    plan = dispatch.plan(cast(Any, job.problem), dispatch.device("cuda"), stencil=name, vendor=False)
    bound = backend.bind_segments(plan)
    assert bound is not None
    x, y, z, where = (address_of(view) for view in views)
    order = (y, x, z, where) if job.swap else (x, y, z, where)
    return lambda: bound(order, torch.cuda.current_stream().cuda_stream)


def complex_line(torch: Any, shape: Shape, rounds: int) -> lines.Line:
    """One shape in complex half: ours beside ``segments`` and planar products."""
    a, b = operands(torch, shape)
    ends = torch.tensor(shape.ends(), dtype=torch.int32, device="cuda")
    out = tw.segment_matmul(a, b, ends, split=shape.split)
    library, want = planar(torch, shape, a, b)
    library()
    worst = differs(torch, torch.view_as_real(out).float(), want.movedim(0, -1).float())
    # Graphs hold addresses alone: what they write lives as long as they do.
    other = torch.empty_like(out)
    runs: dict[str, Run] = {
        "ours": lambda: tw.segment_matmul(a, b, ends, split=shape.split, out=out),
        "segments": by_stencil(torch, "segments", shape, a, b, ends, other),
        "loop": library,
    }
    if hasattr(torch, "_grouped_mm"):
        runs["grouped_mm"] = planar_grouped(torch, a, b, ends)
    graphs = {name: recorded(torch, run) for name, run in runs.items()}
    size = sum(x.numel() * x.element_size() for x in (a, b, out))
    graphs["copy"] = repeated(copied(torch, size))
    flops = DTYPES["hc"].flops_per_fma * a.numel() * b.shape[-1]
    return _line(shape, seconds(torch, graphs, rounds), size, worst, flops)


def recorded(torch: Any, run: Run) -> Run:
    """Some calls of it from a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run()
        run()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            run()
    replay: Run = graph.replay
    return replay


def repeated(run: Run) -> Run:
    """Some calls of it one after the other."""

    def runs() -> None:
        for _ in range(CALLS):
            run()

    return runs


def seconds(torch: Any, runs: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    """Samples in turns: seconds of one call, from events around the ``CALLS`` that each of the runs makes.

    The GPU waits while a graph is launched, but not for what is called from Python.
    """
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for run in runs.values():
        run()
    torch.cuda.synchronize()
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            if name != EAGER:
                torch.cuda._sleep(AHEAD)
            start.record()
            run()
            stop.record()
            stop.synchronize()
            samples[name].append(1e-3 * start.elapsed_time(stop) / CALLS)
    return samples


def differs(torch: Any, got: Any, want: Any) -> float:
    """The largest difference of two results over the largest element."""
    return float((got - want).abs().max() / want.abs().max().clamp(min=1e-30))


def copied(torch: Any, size: int) -> Run:
    """A copy that moves so many bytes, half of them read and half written."""
    one = torch.randint(255, (size // 2,), dtype=torch.uint8, device="cuda")
    other = torch.empty_like(one)
    return lambda: other.copy_(one)


def line_of(torch: Any, shape: Shape, rounds: int) -> lines.Line:
    """One shape: ours beside the others."""
    a, b = operands(torch, shape)
    ends = torch.tensor(shape.ends(), dtype=torch.int32, device="cuda")
    out = tw.segment_matmul(a, b, ends, split=shape.split)
    want = torch.empty_like(out)
    library = loop(torch, shape, a, b, want)
    library()
    worst = differs(torch, out, want)

    def ours() -> object:
        return tw.segment_matmul(a, b, ends, split=shape.split, out=out)

    runs = {"ours": recorded(torch, ours), "loop": recorded(torch, library), EAGER: repeated(ours)}
    if shape.letter == "b" and shape.batch == 1 and hasattr(torch, "_grouped_mm"):
        runs["grouped_mm"] = recorded(torch, lambda: torch._grouped_mm(a, b, offs=ends))
    size = sum(x.numel() * x.element_size() for x in (a, b, out))
    # What a graph has in place of a copy is slower than the copy.
    runs["copy"] = repeated(copied(torch, size))
    flops = DTYPES[shape.letter].flops_per_fma * a.numel() * b.shape[-1]
    if shape.split == "n":
        flops = DTYPES[shape.letter].flops_per_fma * b.numel() * a.shape[-2]
    return _line(shape, seconds(torch, runs, rounds), size, worst, flops)


def _line(shape: Shape, samples: dict[str, list[float]], size: int, worst: float, flops: int) -> lines.Line:
    line: lines.Line = {name: getattr(shape, name) for name in shape.__dataclass_fields__}
    line |= {"kind": "segments", "bytes": size, "differs": worst}
    for name, taken in samples.items():
        median, low, high = median_interval(taken)
        line[name] = {"us": 1e6 * median, "low": 1e6 * low, "high": 1e6 * high}
    ours = line["ours"]["us"]
    line["of_copy"], line["of_loop"] = line["copy"]["us"] / ours, line["loop"]["us"] / ours
    for other in ("grouped_mm", "segments"):
        if other in line:
            line[f"of_{other}"] = line[other]["us"] / ours
    line["tflops"] = flops / ours * 1e-6
    return line


def shown(line: lines.Line) -> str:
    """A line of the screen."""
    peers = ("ours", "eager", "segments", "loop", "grouped_mm", "copy")
    times = ", ".join(f"{name} {line[name]['us']:.1f}" for name in peers if name in line)
    size = f"{line['letter']} {line['split']} {line['length']} {line['others']} /{line['groups']}"
    grouped = f", x {line['of_grouped_mm']:.2f} of _grouped_mm" if "of_grouped_mm" in line else ""
    return (
        f"{line['name']:22} {size:32} us: {times}; x {line['of_loop']:.2f} of the loop{grouped}, "
        f"{100 * line['of_copy']:.0f} % of the copy, {line['tflops']:.1f} TFLOP/s, "
        f"differs {line['differs']:.1e}"
    )


def main() -> None:
    """Measure, print and keep."""
    parser = lines.parser("bench.segments", __doc__)
    add = parser.add_argument
    add("--parts", default="named,drawn", help="default: named,drawn; short, low and complex beside them")
    add("--only", default="", help="shapes whose name has this in it")
    add("--types", default="h,b,s,d,c,z", help="of what is drawn (default: h,b,s,d,c,z)")
    add("--count", type=int, default=36, help="shapes that are drawn (default: 36)")
    add("--seed", type=int, default=1, help="of what is drawn (default: 1)")
    add("--rounds", type=int, default=9, help="samples of each (default: 9)")
    add("--out", type=Path, help="lines of JSON are added to this file")
    options = parser.parse_args()
    lines.demand_gpu()
    import torch

    console = lines.console()
    sink = lines.Sink(options.out, "segments", TARGETS["cuda"].probe(), vars(options))

    def add_line(line: lines.Line) -> None:
        sink.write({"date": lines.now()} | line)
        console.print(shown(line), markup=False, soft_wrap=True)

    wanted = lines.words(options.parts)
    if "named" in wanted:
        for shape in NAMED:
            if options.only in shape.name:
                add_line(line_of(torch, shape, options.rounds))
    if "complex" in wanted:
        for shape in COMPLEX:
            add_line(complex_line(torch, shape, options.rounds))
    for part, draws in (("drawn", drawn), ("short", short), ("low", low)):
        if part not in wanted:
            continue
        found = []
        asked = [letter for letter in lines.letters(options.types) if letter in "hbsdcz"]
        for shape in draws(asked, options.count, options.seed):
            found.append(line_of(torch, shape, options.rounds))
            add_line(found[-1])
        if found:
            ratios = np.array([line["of_loop"] for line in found])
            mean, least = float(np.exp(np.log(ratios).mean())), float(ratios.min())
            sink.write({"kind": part, "count": len(found), "of_loop": {"mean": mean, "least": least}})
            console.print(f"{part}: x {mean:.2f} of the loop in the geometric mean, {least:.2f} at least")


if __name__ == "__main__":
    main()
