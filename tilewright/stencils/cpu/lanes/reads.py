"""How ``lanes`` and ``folds`` read a vector whose lanes lie in any order: loads and constant shuffles."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.stencils.cpu.ir import Ir, Piece


@dataclass(frozen=True, slots=True)
class Run:
    """A contiguous load: ``width`` lanes from real ``start``, the first ``active`` of them in bounds."""

    start: int
    width: int
    active: int


@dataclass(frozen=True, slots=True)
class Copy:
    """One real copied to every lane."""

    index: int
    width: int


@dataclass(frozen=True, slots=True)
class Pick:
    """Lanes chosen from one or two vectors of the same width; -1 is any."""

    x: Read
    y: Read | None
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Two halves side by side. Equal halves are a load that copies blocks to all of the vector."""

    low: Read
    high: Read


Read = Run | Copy | Pick | Join


def width_of(read: Read) -> int:
    """Lanes of what a read yields."""
    if isinstance(read, Run | Copy):
        return read.width
    return len(read.lanes) if isinstance(read, Pick) else 2 * width_of(read.low)


def cost(read: Read, held: bool) -> int:
    """Instructions of a read, a load that feeds a shuffle as one. ``held``: runs are in registers already."""
    match read:
        case Run():
            return 0 if held else 1
        case Copy():
            return 1
        case Pick(x, None, _):
            return 1 + cost(x, held)
        case Pick(x, y, _):
            return 1 + cost(x, held) + cost(y, held)  # type: ignore[arg-type]
        case Join(low, high) if low == high:
            return 1 if isinstance(low, Run) else 1 + cost(low, held)
        case Join(low, high):
            return max(1, cost(low, held)) + max(1, cost(high, held))


def window(first: int, width: int, size: int) -> Run:
    """The load of ``width`` lanes from ``first``, moved down or cut to stay within ``size`` reals."""
    if size >= width:
        return Run(min(first, size - width), width, width)
    if size & (size - 1) == 0:
        return Run(0, size, size)
    return Run(0, 1 << (size - 1).bit_length(), size)


def windows(needed: Sequence[int], width: int, size: int, whole: bool) -> list[Run]:
    """The fewest loads that hold all of ``needed`` (ascending); ``whole``: on multiples of ``width``."""
    out: list[Run] = []
    for index in needed:
        if not out or index >= out[-1].start + out[-1].active:
            out.append(window(index - index % width if whole else index, width, size))
    return out


def picked(order: Sequence[int], runs: Sequence[Run]) -> Read:
    """The reals of ``order`` out of the windows that hold them, two vectors at a time."""
    have: Read = runs[0]
    place = {runs[0].start + lane: lane for lane in range(runs[0].active)}
    if len(runs) == 1:
        lanes = tuple(place.get(index, -1) for index in order)
        same = all(got in (-1, lane) for lane, got in enumerate(lanes))
        return have if same and len(order) == width_of(have) else Pick(have, None, lanes)
    for run in runs[1:]:
        width = width_of(have)
        for lane in range(run.active):
            place.setdefault(run.start + lane, width + lane)
        have = Pick(have, run, tuple(place.get(index, -1) for index in order))
        place = {index: lane for lane, index in enumerate(order) if place.get(index, -1) >= 0}
    return have


@functools.lru_cache(maxsize=4096)
def read_of(order: tuple[int, ...], size: int, bits: int, whole: bool) -> Read:
    """The cheapest read of the reals ``order`` (-1 is any) of an operand of ``size`` such reals."""
    needed = sorted({index for index in order if index >= 0})
    width = len(order)
    if len(needed) <= 1:
        return Copy(needed[0] if needed else 0, width)
    ways: list[Read] = [picked(order, windows(needed, width, size, whole))]
    half = width // 2
    if half * bits >= 128:
        low, high = (read_of(part, size, bits, whole) for part in (order[:half], order[half:]))
        ways.append(Join(low, high))
    return min(ways, key=lambda way: cost(way, whole))


def patterns(read: Read) -> Iterator[tuple[int, ...]]:
    """The shuffles of a read that need a constant vector: fewer than 8 lanes fit in the instruction."""
    match read:
        case Pick(x, y, lanes):
            if len(lanes) >= 8:
                yield lanes
            yield from patterns(x)
            if y is not None:
                yield from patterns(y)
        case Join(low, high):
            yield from patterns(low)
            yield from patterns(high)


class Reader:
    """Emits reads, and keeps what it has read last, so that it is not read again after a store.

    Code generation cannot see that C is not A, so a load repeated after a store stays repeated.
    """

    def __init__(self, ir: Ir, room: int, held: dict[tuple[str, Read], str] | None = None):
        self.ir, self.room = ir, room
        self.held = held if held is not None else {}
        self.recent: dict[tuple[str, Read], str] = {}

    def emit(self, base: str, read: Read) -> str:
        """The value of a read from ``base``."""
        key = (base, read)
        if key in self.held:
            return self.held[key]
        value = self.recent.pop(key, None) or self._new(base, read)
        self.recent[key] = value
        while len(self.recent) > self.room:
            del self.recent[next(iter(self.recent))]
        return value

    def _new(self, base: str, read: Read) -> str:
        ir = self.ir
        if isinstance(read, Run):
            return ir.load(ir.at(base, read.start), Piece(0, read.width, read.active))
        if isinstance(read, Copy):
            return ir.broadcast(ir.at(base, read.index), read.width)
        if isinstance(read, Pick):
            x = self.emit(base, read.x)
            y = "poison" if read.y is None else self.emit(base, read.y)
            return ir.shuffle(x, y, read.lanes, width_of(read.x))
        half = width_of(read.low)
        low = self.emit(base, read.low)
        if read.low == read.high:
            return ir.shuffle(low, "poison", [*range(half), *range(half)], half)
        return ir.shuffle(low, self.emit(base, read.high), range(2 * half), half)
