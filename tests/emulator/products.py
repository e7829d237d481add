"""A stencil's kernel on the operands of a problem, as a call has it but for the GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from tests.emulator import boxes, ptx
from tests.emulator.compiler import Compiler
from tests.emulator.launch import launch
from tests.emulator.machine import SCHEDULES, Schedule, Texture
from tests.emulator.memory import Fault, Memory, Segment
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Config, Device, Problem, Source
from tilewright.stencils.cuda.grouped.descriptors import describe
from tilewright.stencils.cuda.grouped.descriptors import pack as grouped_argument
from tilewright.stencils.cuda.grouped.stencil import products
from tilewright.targets.cuda import arguments, disassemble
from tilewright.tuning.gemm.operands import Operands, Region
from tilewright.tuning.gemm.verify import Case, judge, prepare

LINE = 64


@cache
def compiled(source: Source, device: Device) -> Compiler:
    """A program ready to run; each is compiled once."""
    # For a virtual architecture no machine code is made.
    virtual = replace(device, features=device.features.replace("sm_", "compute_"))
    return Compiler(ptx.parse(disassemble.ptx(source, virtual)))


def inner(region: Region) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which bytes of a region lie from the first element of a matrix to its last one, gaps included."""
    used = ~region.outside
    reach = np.zeros(used.size, bool)
    if used.any():
        reach[np.flatnonzero(used)[0] : np.flatnonzero(used)[-1] + 1] = True
    return np.repeat(reach, region.words.itemsize)


def segment(name: str, region: Region, written: bool) -> Segment:
    """A copy of a region as memory of the machine, at the same addresses. Only elements may be written."""
    before = int(region.words.ctypes.data) % LINE
    whole = -(-(before + region.words.nbytes) // LINE) * LINE
    data, readable, writable = np.zeros(whole, np.uint8), np.zeros(whole, bool), np.zeros(whole, bool)
    here = slice(before, before + region.words.nbytes)
    data[here] = region.words.view(np.uint8)
    readable[here] = inner(region)
    if written:
        writable[here] = np.repeat(~region.outside, region.words.itemsize)
    return Segment(name, int(region.words.ctypes.data) - before, data, readable, writable)


def run(
    stencil: str,
    problem: Problem,
    config: Config,
    device: Device,
    made: Operands,
    *,
    schedule: Schedule = SCHEDULES[0],
    grid_x: int | None = None,
    grid_z: int | None = None,
) -> None:
    """One launch on these operands. ``grid_x`` and ``grid_z`` take the place of the launch's own numbers of
    blocks, where fewer are right, too. Raises ``Fault``."""
    program = compiled(STENCILS[stencil].source(problem, config, device), device)
    asked = STENCILS[stencil].launch(made.problem, config)
    segments = [segment(name, region, name == "C") for name, region in zip("ABC", made.regions, strict=True)]
    p, textures = made.problem, dict[int, Texture]()
    if asked.reading:
        textures = {
            1: Texture(made.pointers[0], p.dtype.itemsize, (p.lda or 0) * p.dtype.itemsize),
            2: Texture(made.pointers[1], p.dtype.itemsize, (p.ldb or 0) * p.dtype.itemsize),
        }
    pointers = made.pointers
    if p.pointers:
        listed = lists(p, pointers)
        pointers = listed.address, listed.address + 8 * p.batch, listed.address + 16 * p.batch
        segments.append(listed)
    given = arguments.pack(STENCILS[stencil].arguments(p, config), {"alpha": made.alpha, "beta": made.beta})
    given.put(pointers, words)
    for offset, field in given.spaces:
        segments.append(workspace(field))
        arguments.ADDRESS.pack_into(given.block, offset, segments[-1].address)
        for at, map_ in given.mapped:
            given.block[at : at + arguments.MAP_BYTES] = words(map_, segments[-1].address + map_.space)
    for offset in given.stamps:
        arguments.ADDRESS.pack_into(given.block, offset, 0x123456789ABCDEF)
    launch(
        program,
        (grid_x or asked.grid[0], asked.grid[1], grid_z or asked.grid[2]),
        asked.block[0],
        asked.shared,
        bytes(given.block),
        Memory(segments),
        cluster=asked.cluster,
        schedule=schedule,
        textures=textures,
    )
    for part, region in zip(segments, made.regions, strict=False):
        written_back(part, region)


def words(field: arguments.Addressed, address: int) -> bytes:
    """What stands for a texture or a tensor map in a block of arguments."""
    if isinstance(field, arguments.Texture):
        return arguments.ADDRESS.pack(1 + field.operand)
    return boxes.words(field, address)


def written_back(part: Segment, region: Region) -> None:
    """What a launch left in a copy of a region, put into the region."""
    before = int(region.words.ctypes.data) - part.address
    region.words.view(np.uint8)[:] = part.data[before : before + region.words.nbytes]


def numbers(values: np.ndarray[Any, np.dtype[Any]], name: str) -> Segment:
    """Memory that is read only."""
    data = np.zeros(-(-values.nbytes // LINE) * LINE, np.uint8)
    data[: values.nbytes] = np.ascontiguousarray(values).view(np.uint8).ravel()
    readable = np.arange(data.size) < values.nbytes
    # Somewhere that no operand is.
    return Segment(name, (1 << 50) + (1 << 40) * len(name), data, readable, np.zeros(data.size, bool))


def workspace(field: arguments.Workspace) -> Segment:
    """Memory of one launch: zeros, and then what would be wrong to read before it is written."""
    data = np.full(-(-field.size // LINE) * LINE, 0xFF, np.uint8)
    data[: field.zeros] = 0
    here = np.arange(data.size) < field.size
    return Segment("workspace", 1 << 53, data, here, here)


def lists(p: Problem, pointers: tuple[int, int, int]) -> Segment:
    """Three lists of addresses, one for each matrix of each operand."""
    at = np.arange(p.batch) * p.dtype.itemsize
    addresses = [base + stride * at for base, stride in zip(pointers, p.strides, strict=True)]
    return numbers(np.concatenate(addresses).astype(np.uint64), "lists")


def wrongs(
    stencil: str,
    problem: Problem,
    config: Config,
    device: Device,
    *,
    schedules: Iterable[Schedule] = SCHEDULES,
    case: Case | None = None,
    grid_x: int | None = None,
    grid_z: int | None = None,
) -> Iterator[str]:
    """What is wrong with a kernel's results, one line for each schedule under which something is."""
    ready = prepare(problem, case or Case(problem.batch), 1)
    for schedule in schedules:
        ready.operands.restore()
        try:
            run(
                stencil,
                problem,
                config,
                device,
                ready.operands,
                schedule=schedule,
                grid_x=grid_x,
                grid_z=grid_z,
            )
        except Fault as fault:
            yield f"{problem.key} {config} {schedule}: {fault}"
            continue
        verdict = judge(ready)
        if not verdict.ok:
            yield f"{problem.key} {config} {schedule}: {verdict.why}"


def lines(region: Region, part: Segment) -> None:
    """Let lines of 16 bytes be read whole where an operand begins within one."""
    assert part.readable is not None
    for first in np.flatnonzero(part.readable)[:1]:
        part.readable[first - first % 16 : first] = True


def grouped_wrongs(
    letter: str,
    trans: str,
    sizes: list[tuple[int, int, int]],
    config: Config,
    device: Device,
    *,
    pads: tuple[int, int, int] = (0, 0, 0),
    every: int = 1,
    beta: str = "any",
    own: bool = False,
    schedule: Schedule = SCHEDULES[0],
    grid: int = 2,
) -> Iterator[str]:
    """What is wrong with the results of ``grouped`` on a list of products (m, n, k).

    ``pads``: elements of padding in each column, of the first product and of one in ``every`` from there on.
    ``own``: each product has its own scalars.
    """
    dtype, count = DTYPES[letter], len(sizes)
    m, n, k = (max(extents) for extents in zip(*sizes, strict=True))
    asked = products(dtype, m, n, k, trans, count, alpha="any", beta=beta)
    made = []
    for i, (m, n, k) in enumerate(sizes):
        # Scalars of a product's own are of all classes, so that those of a neighbour would be wrong.
        alpha_here, beta_here = (("any", "any"), ("1", "1"), ("any", "0"))[i % 3] if own else ("any", beta)
        p = Problem(dtype, m, n, k, trans[0], trans[1], alpha=alpha_here, beta=beta_here)
        rows = (p.k if p.transposed_a else p.m, p.n if p.transposed_b else p.k, p.m)
        here = pads if i % every == 0 else (0, 0, 0)
        p = p.with_(**{f"ld{name}": row + pad for name, row, pad in zip("abc", rows, here, strict=True)})
        made.append(prepare(p, Case(1, offset=i), i))
    regions = [ready.operands.regions for ready in made]
    parts = [
        [segment(f"{name} of {i}", region, name == "C") for name, region in zip("ABC", three, strict=True)]
        for i, three in enumerate(regions)
    ]
    for three, segments in zip(regions, parts, strict=True):
        for region, part in zip(three, segments, strict=True):
            lines(region, part)
    columns = [np.array(column, np.int64) for column in zip(*sizes, strict=True)]
    addresses = [np.array([three[i].address for three in regions], np.int64) for i in range(3)]
    leading = [np.array([getattr(ready.operands.problem, f"ld{name}") for ready in made]) for name in "abc"]
    reads = np.array([ready.operands.problem.beta != "0" for ready in made])
    descriptors = describe(dtype, trans, tuple(columns), tuple(addresses), tuple(leading), reads)  # type: ignore[arg-type]
    first = made[0].operands
    scalars = [
        (x.alpha.real, x.alpha.imag, x.beta.real, x.beta.imag) for x in (ready.operands for ready in made)
    ]
    listed, given = numbers(descriptors, "list"), numbers(np.array(scalars, np.float64), "scalars")
    # What all products share is not what each has, so that a mistake of one for the other shows.
    alpha, beta_ = (9.0, 7.0) if own else (first.alpha, first.beta)
    argument = bytes(grouped_argument(listed.address, given.address if own else 0, count, alpha, beta_))
    stencil = STENCILS["grouped"]
    launched = stencil.launch(asked, config)
    memory = Memory([*(part for three in parts for part in three), listed, given])
    try:
        launch(
            compiled(stencil.source(asked, config, device), device),
            (min(grid, count), 1, 1),
            launched.block[0],
            launched.shared,
            argument,
            memory,
            schedule=schedule,
        )
    except Fault as fault:
        yield f"{asked.key} {config} {schedule}: {fault}"
        return
    for ready, three, segments in zip(made, regions, parts, strict=True):
        for part, region in zip(segments, three, strict=True):
            written_back(part, region)
        verdict = judge(ready)
        if not verdict.ok:
            yield f"{ready.operands.problem.key} {config} {schedule}: {verdict.why}"
