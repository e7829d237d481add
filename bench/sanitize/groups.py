"""Groups that share an axis: numbers, where they lie in memory, borders, and what is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.sanitize.job import Job, made
from bench.sanitize.lists import stored, wide
from tilewright.catalog import STENCILS
from tilewright.model import AXES, DTYPES, Device, SegmentedProblem

Array = NDArray[Any]

SIZE, GROUPS = (70, 45, 37), 5
BORDERS = ([9, 9, 30, 21, 99], [9, -3, 8, 40, 1])
"""Of offsets and of sizes: with a group of nothing, backwards, and past the end."""
MANY = 40
"""More groups than a warp has lanes."""


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
    m, n, k = size
    p = SegmentedProblem(DTYPES[letter], axis, m, n, k, groups, trans[0], trans[1], batch=batch, **fields)
    shapes = {
        "a": (k, m) if p.transposed_a else (m, k),
        "b": (n, k) if p.transposed_b else (k, n),
        "c": (m, n),
    }
    stacked = {"m": "b", "n": "a", "k": "c"}.get(axis)
    leading = {f"ld{name}": rows + pad for name, (rows, _) in shapes.items()}
    whole = {name: (rows + pad) * columns + gap for name, (rows, columns) in shapes.items()}
    steps = tuple(whole[name] * (name == stacked) for name in "abc")
    strides = tuple(whole[name] * (groups if name == stacked else 1) for name in "abc")
    return p.with_(**leading, strides=strides, steps=steps)


def borders(p: SegmentedProblem) -> list[int]:
    """The same for all groups of a problem, the last one again and again where there are more."""
    found = BORDERS[p.sizes]
    return found + found[-1:] * (p.groups - len(found))


def ranges(p: SegmentedProblem, offsets: Sequence[int]) -> list[tuple[int, int]]:
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


@dataclass(frozen=True, slots=True)
class Drawn:
    """Groups with their numbers; ``values`` holds all that lies in the memory of A, B and C, as elements.
    ``elements`` are the places of C's elements in it, (batch, groups or 1, m, n), and ``right`` what has to
    be there afterwards, as complex numbers."""

    problem: SegmentedProblem
    offsets: Array
    values: tuple[Array, ...]
    elements: Array
    right: Array

    def wrong(self, got: Array) -> int:
        """How many numbers in the memory of C are wrong, of its elements or of what lies between."""
        want = wide(self.values[2], self.problem.dtype)
        want[self.elements] = self.right
        return int((wide(got, self.problem.dtype) != want).sum())


def drawn(p: SegmentedProblem, offsets: Sequence[int]) -> Drawn:
    """Small whole numbers, the same every time, whose sums are exact in every type."""
    draw = np.random.default_rng(len(offsets))
    shapes = ((p.m, p.k), (p.k, p.n), (p.m, p.n))
    transposed = p.transposed_a, p.transposed_b, False
    conj = p.conj_a, p.conj_b
    leading = p.lda, p.ldb, p.ldc
    places: list[Array] = []
    numbers: list[Array] = []
    values: list[Array] = []
    for at, (rows, columns) in enumerate(shapes):
        down, across = (leading[at], 1) if transposed[at] else (1, leading[at])
        place = np.arange(rows)[:, None] * down + np.arange(columns)[None] * across
        groups = np.arange(p.groups if p.steps[at] else 1)[:, None, None] * p.steps[at]
        places.append(np.arange(p.batch)[:, None, None, None] * p.strides[at] + groups + place)
        flat = np.full(int(places[at].max(initial=-1)) + 1, 77 + 0j)
        if at < 2:
            shape = places[at].shape
            found = draw.integers(-2, 3, shape) + 1j * draw.integers(-2, 3, shape) * p.dtype.is_complex
            flat[places[at]] = np.conj(found) if conj[at] else found
            numbers.append(found)
        values.append(stored(flat, p.dtype))
    right: Array = np.zeros(places[2].shape, np.complex128)
    a, b = numbers
    for group, (begin, end) in enumerate(ranges(p, offsets)):
        here = slice(begin, end)
        if p.axis == "m":
            right[:, 0, here] = a[:, 0, here] @ b[:, group]
        elif p.axis == "n":
            right[:, 0, :, here] = a[:, group] @ b[:, 0, :, here]
        else:
            right[:, group] = a[:, 0, :, here] @ b[:, 0, here]
    kept = np.array(offsets, np.int64 if p.wide else np.int32)
    return Drawn(p, kept, tuple(values), places[2], right)


def jobs(device: Device) -> Iterator[Job]:
    """The kernels of groups."""
    yield from segments(device)
    yield from strips(device)
    if "wgmma" in device.supports:
        yield from experts(device)


def segments(device: Device) -> Iterator[Job]:
    """All types, split along all axes, the borders being offsets and sizes in turns; the default choice."""
    stencil = STENCILS["segments"]
    for turn, (letter, axis) in enumerate((letter, axis) for letter in DTYPES for axis in AXES):
        trans = ("nn", "tn", "nt", "tt")[turn % 4]
        p = problem(
            f"{letter}:{trans}",
            axis,
            SIZE,
            GROUPS,
            batch=2,
            pad=turn % 3,
            gap=turn % 2,
            wide=turn % 2 == 0,
            sizes=turn % 2 == 1,
            align=DTYPES[letter].itemsize,
        )
        config = stencil.default(p, device)
        yield made(stencil, p, config, f"segments_{letter}_{trans}_{axis}", device)


def strips(device: Device) -> Iterator[Job]:
    """All transpositions of a short k, with rows behind those of the last warp; groups whose borders lie in
    the lanes of a warp, and more; other types with few rows, lanes side by side and columns that begin
    anywhere; tensor cores."""
    stencil = STENCILS["strips"]
    forms = [(letter, trans) for letter in "sd" for trans in ("nn", "tn", "nt", "tt")]
    for turn, (letter, trans) in enumerate(forms):
        given = {"wide": turn % 2 == 0, "sizes": turn % 2 == 1}
        groups, k = MANY if turn % 3 == 2 else GROUPS, 4 + turn
        p = problem(f"{letter}:{trans}", "n", (300, 45, k), groups, batch=2, gap=4, **given)
        config = stencil.default(p, device).with_(ahead=turn % 2, once=turn // 2 % 2)
        yield made(stencil, p, config, f"strips_{letter}_{trans}", device)
    few = zip(
        ("h", "b", "hc", "c", "z", "s"),
        ("nn", "tt", "tn", "nt", "nn", "tn"),
        (13, 5, 7, 3, 22, 9),
        strict=True,
    )
    for turn, (letter, trans, m) in enumerate(few):
        groups, size = MANY if turn % 3 == 2 else GROUPS, DTYPES[letter].itemsize
        p = problem(f"{letter}:{trans}", "n", (m, 145, 6 + turn), groups, batch=2, gap=1, align=size)
        yield made(stencil, p, stencil.default(p, device), f"strips_{letter}_{trans}_{m}", device)
    # Halves that are read and written in words by tensor cores, and others by multiply-add units.
    for letter, trans, axis in (("h", "nn", "n"), ("b", "tn", "n"), ("hc", "cn", "n"), ("b", "nn", "m")):
        p = problem(f"{letter}:{trans}", axis, (72, 144, 24), GROUPS, batch=2, gap=8)
        yield made(stencil, p, stencil.default(p, device), f"strips_{letter}_{trans}_{axis}", device)


def experts(device: Device) -> Iterator[Job]:
    """Its types, split along all axes, with columns at multiples of 16 bytes."""
    stencil = STENCILS["experts"]
    for turn, (letter, axis) in enumerate((letter, axis) for letter in "hb" for axis in AXES):
        trans, forms = ("tt", "nn", "nt")[turn % 3], {"wide": turn % 2 == 0, "sizes": turn % 2 == 1}
        p = problem(f"{letter}:{trans}", axis, (72, 48, 40), GROUPS, gap=8, **forms)
        yield made(stencil, p, stencil.default(p, device), f"experts_{letter}_{trans}_{axis}", device)
    # Complex halves: A along k and across, B turned in shared memory, conjugates; two warp groups and one.
    for turn, (trans, axis) in enumerate(
        (("nn", "n"), ("cn", "n"), ("nc", "k"), ("tn", "m"), ("jt", "k"), ("ct", "m"))
    ):
        forms = {"wide": turn % 2 == 0, "sizes": turn % 2 == 1}
        p = problem(f"hc:{trans}", axis, (72, 48, 40), GROUPS, gap=8, **forms)
        config = stencil.default(p, device).with_(
            tile_m=128 if turn % 2 else 64, tile_n=32, stages=3, blocks=device["sms"]
        )
        yield made(stencil, p, config, f"experts_hc_{trans}_{axis}", device)
