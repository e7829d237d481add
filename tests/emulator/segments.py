"""The kernel of groups on the device, run on groups of any borders and compared with NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.emulator.machine import SCHEDULES, Schedule, launch
from tests.emulator.memory import Fault, Memory, Segment
from tests.emulator.products import compiled, numbers
from tilewright.catalog import STENCILS
from tilewright.dtypes import is_half, narrowed, widened
from tilewright.model import DTYPES, Config, Device, SegmentedProblem
from tilewright.stencils.cuda.segments.listed import problem as listed_problem
from tilewright.stencils.cuda.segments.listed import products
from tilewright.targets.cuda.arguments import pack

Array = NDArray[Any]


def problem(
    spelling: str,
    axis: str,
    size: tuple[int, int, int],
    groups: int,
    *,
    batch: int = 1,
    pad: int = 0,
    gap: int = 0,
    **fields: Any,
) -> SegmentedProblem:
    """``TYPE:TRANS`` split along an axis. ``pad``: elements behind each stored column, ``gap``: behind each
    matrix of the batch and of the groups."""
    letter, trans = spelling.split(":")
    p = SegmentedProblem(DTYPES[letter], axis, *size, groups, *trans, batch=batch, **fields)
    m, n, k = size
    stored = {
        "a": (k, m) if p.transposed_a else (m, k),
        "b": (n, k) if p.transposed_b else (k, n),
        "c": (m, n),
    }
    stacked = {"m": "b", "n": "a", "k": "c"}.get(axis)
    leading = {f"ld{name}": rows + pad for name, (rows, _) in stored.items()}
    whole = {name: (rows + pad) * columns + gap for name, (rows, columns) in stored.items()}
    steps = tuple(whole[name] * (name == stacked) for name in "abc")
    strides = tuple(whole[name] * (groups if name == stacked else 1) for name in "abc")
    return p.with_(**leading, strides=strides, steps=steps)


def borders(p: SegmentedProblem, offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Where each group begins and ends: inside, and none before the end of those in front of it."""
    found, at = [], 0
    given = list(np.cumsum(np.maximum(offsets, 0))) if p.sizes else list(offsets)
    if p.first:
        at = min(max(given.pop(0), 0), p.length)
    for end in given:
        end = max(at, min(max(end, 0), p.length))
        found.append((at, int(end)))
        at = int(end)
    return found


class _Stored:
    """An operand in memory of its own: where its (batch, groups, rows, columns) elements are stored."""

    def __init__(self, p: SegmentedProblem, at: int, shape: tuple[int, int], transposed: bool, groups: int):
        self.ld, self.stride, self.step = (p.lda, p.ldb, p.ldc)[at], p.strides[at], p.steps[at]
        rows, columns = shape
        index = np.arange(rows)[:, None] * (self.ld if transposed else 1)
        index = index + np.arange(columns)[None] * (1 if transposed else self.ld)
        self.index = (
            np.arange(p.batch)[:, None, None, None] * self.stride
            + np.arange(groups)[None, :, None, None] * self.step
            + index
        )
        self.size = int(self.index.max(initial=-1)) + 1


def _numbers(draw: np.random.Generator, shape: tuple[int, ...], p: SegmentedProblem) -> Array:
    """Small whole numbers, so that every sum of them is exact in every type."""
    found = draw.integers(-2, 3, shape).astype(np.float64)
    return found + 1j * draw.integers(-2, 3, shape) if p.dtype.is_complex else found


def _kept(values: Array, p: SegmentedProblem) -> Array:
    wide = (
        values.astype(np.complex64 if p.dtype.is_complex else np.float32)
        if p.dtype.real_bits < 64
        else values
    )
    return narrowed(wide, p.dtype.numpy) if is_half(p.dtype.numpy) else wide.astype(p.dtype.numpy)


def segments_wrongs(
    p: SegmentedProblem,
    offsets: Sequence[int],
    config: Config,
    device: Device,
    *,
    schedule: Schedule = SCHEDULES[0],
    grid: int = 2,
) -> Iterator[str]:
    """What is wrong with the results of ``segments`` for such borders: faults, elements that differ, and
    elements beside them that were written."""
    draw = np.random.default_rng(len(offsets))
    groups = {name: p.groups if p.steps[at] else 1 for at, name in enumerate("abc")}
    places = {
        "a": _Stored(p, 0, (p.m, p.k), p.transposed_a, groups["a"]),
        "b": _Stored(p, 1, (p.k, p.n), p.transposed_b, groups["b"]),
        "c": _Stored(p, 2, (p.m, p.n), False, groups["c"]),
    }
    values = {name: _numbers(draw, places[name].index.shape, p) for name in "ab"}
    parts: dict[str, Segment] = {}
    for name in "ab":
        flat = np.full(places[name].size, 77, np.complex128 if p.dtype.is_complex else np.float64)
        kept = values[name]
        flat[places[name].index] = np.conj(kept) if getattr(p, f"conj_{name}") else kept
        parts[name] = numbers(_kept(flat, p), name)
        parts[name].address += (1 << 44) * "ab".index(name)
    before = _kept(np.full(places["c"].size, 99, complex if p.dtype.is_complex else float), p)
    parts["c"] = numbers(before, "cc")
    element = np.zeros(places["c"].size, bool)
    element[places["c"].index] = True
    parts["c"].writable = np.zeros(parts["c"].data.size, bool)
    parts["c"].writable[: before.nbytes] = np.repeat(element, p.dtype.itemsize)
    where = numbers(np.array(offsets, np.int64 if p.wide else np.int32), "where")
    stencil = STENCILS["segments"]
    block = pack(stencil.arguments(p, config))
    block.put([parts[name].address for name in "abc"] + [where.address])
    launched = stencil.launch(p, config)
    try:
        launch(
            compiled(stencil.source(p, config, device), device),
            (min(grid, launched.grid[0]), 1, 1),
            launched.block[0],
            launched.shared,
            bytes(block.block),
            Memory([*parts.values(), where]),
            schedule=schedule,
        )
    except Fault as fault:
        yield f"{p.key} {offsets} {config} {schedule}: {fault}"
        return
    got = parts["c"].data[: before.nbytes].view(p.dtype.numpy)
    wide = (widened(got) if is_half(p.dtype.numpy) else got)[places["c"].index]
    wanted = _wanted(p, values["a"], values["b"], offsets, wide.shape)
    if not (wide == wanted).all():
        at = tuple(int(x[0]) for x in np.nonzero(wide != wanted))
        count = int((wide != wanted).sum())
        yield f"{p.key} {offsets} {config}: {count} of {wide.size}, at {at} {wide[at]} is not {wanted[at]}"


def _wanted(p: SegmentedProblem, a: Array, b: Array, offsets: Sequence[int], shape: tuple[int, ...]) -> Array:
    """C as (batch, groups or 1, m, n)."""
    found = np.zeros(shape, np.complex128 if p.dtype.is_complex else np.float64)
    for group, (begin, end) in enumerate(borders(p, offsets)):
        here = slice(begin, end)
        if p.axis == "m":
            found[:, 0, here] = a[:, 0, here] @ b[:, group]
        elif p.axis == "n":
            found[:, 0, :, here] = a[:, group] @ b[:, 0, :, here]
        else:
            found[:, group] = a[:, 0, :, here] @ b[:, 0, here]
    return found


def listed_wrongs(
    spelling: str,
    sizes: Sequence[tuple[int, int, int, int]],
    device: Device,
    *,
    schedule: Schedule = SCHEDULES[0],
    grid: int = 2,
    pad: int = 0,
    **changes: Any,
) -> Iterator[str]:
    """What is wrong with the results of a list of products (m, n, k, batch), the defaults with changes."""
    letter, trans = spelling.split(":")
    one = [problem(spelling, "k", size[:3], 1, batch=size[3], pad=pad) for size in sizes]
    draw = np.random.default_rng(0)
    parts: list[dict[str, Segment]] = []
    values, places = [], []
    for number, p in enumerate(one):
        here = {
            "a": _Stored(p, 0, (p.m, p.k), p.transposed_a, 1),
            "b": _Stored(p, 1, (p.k, p.n), p.transposed_b, 1),
            "c": _Stored(p, 2, (p.m, p.n), False, 1),
        }
        made = {name: _numbers(draw, here[name].index.shape, p) for name in "ab"}
        memory: dict[str, Segment] = {}
        for at, name in enumerate("abc"):
            flat = np.full(here[name].size, 77, np.complex128 if p.dtype.is_complex else np.float64)
            if name != "c":
                flat[here[name].index] = np.conj(made[name]) if getattr(p, f"conj_{name}") else made[name]
            memory[name] = numbers(_kept(flat, p), name)
            memory[name].address += (1 << 44) * (3 * number + at)
        element = np.zeros(here["c"].size, bool)
        element[here["c"].index] = True
        memory["c"].writable = np.zeros(memory["c"].data.size, bool)
        memory["c"].writable[: element.size * p.dtype.itemsize] = np.repeat(element, p.dtype.itemsize)
        parts.append(memory)
        values.append(made)
        places.append(here)
    columns = {name: np.array([part[name].address for part in parts]) for name in "abc"}
    names = ("lda", "ldb", "ldc", "m", "n", "k")
    columns |= {name: np.array([getattr(p, name) for p in one]) for name in names}
    columns |= {f"stride_{name}": np.array([p.strides[at] for p in one]) for at, name in enumerate("abc")}
    columns["batch"] = np.array([p.batch for p in one])
    rows = products(columns)
    whole = listed_problem(DTYPES[letter], trans, rows)
    stencil = STENCILS["segments"]
    config = stencil.default(whole, device).with_(**changes)
    where = numbers(rows.view(np.int64), "where")
    block = pack(stencil.arguments(whole, config))
    block.put([0, 0, 0, where.address])
    launched = stencil.launch(whole, config)
    try:
        launch(
            compiled(stencil.source(whole, config, device), device),
            (min(grid, launched.grid[0]), 1, 1),
            launched.block[0],
            launched.shared,
            bytes(block.block),
            Memory([*(part for memory in parts for part in memory.values()), where]),
            schedule=schedule,
        )
    except Fault as fault:
        yield f"{whole.key} {config} {schedule}: {fault}"
        return
    for p, memory, made, here in zip(one, parts, values, places, strict=True):
        got = memory["c"].data[: here["c"].size * p.dtype.itemsize].view(p.dtype.numpy)
        wide = (widened(got) if is_half(p.dtype.numpy) else got)[here["c"].index]
        if not (wide == made["a"] @ made["b"]).all():
            yield f"{whole.key} {config}: {p.spelling}"
