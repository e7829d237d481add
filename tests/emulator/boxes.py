"""Bulk copies of boxes of three dimensions, by tensor maps.

The driver's maps are its own business. Here a map is words of 64 bits: the address, the bytes of an element
and of the swizzle, then extents, strides in bytes (the first is that of an element) and the box.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tests.emulator import barriers
from tests.emulator.machine import BLOCK
from tests.emulator.memory import Array, Fault
from tilewright.model import DTYPES
from tilewright.targets.cuda.arguments import MAP_BYTES, Addressed, TensorMap

if TYPE_CHECKING:
    from tests.emulator.compiler import Compiler
    from tests.emulator.machine import Operation, Phases, Warp

WORDS = struct.Struct("<12Q")
SIZES = {dtype.name: dtype.itemsize for dtype in DTYPES.values()}


def words(field: Addressed, address: int) -> bytes:
    """A map of a tensor at an address."""
    assert isinstance(field, TensorMap)
    size = SIZES[field.type]
    shape = (*field.extents, size, *field.strides, *field.box)
    return WORDS.pack(address, size, field.swizzle, *shape).ljust(MAP_BYTES, b"\0")


class Box:
    """Where the parts of a box lie: words of 16 bytes in shared memory, and bytes of them in the tensor."""

    def __init__(self, w: Warp, at: int, first: tuple[int, ...], shared: int):
        self.address, self.size, self.swizzle, *shape = WORDS.unpack(
            w.block.parameters.bytes(at, WORDS.size).tobytes()
        )
        self.extents, self.strides, self.box = shape[:3], shape[3:6], shape[6:]
        self.first, self.shared, self.bytes = first, shared, int(np.prod(self.box)) * self.size
        self.line = self.box[0] * self.size
        if self.swizzle and (shared % 1024 or self.swizzle != 128 or self.line != 128):
            raise Fault("a box is lines of 128 bytes, swizzled, at a multiple of 1024")
        if (self.address + first[0] * self.size) % 16:
            raise Fault("a box begins with a word of 16 bytes of memory")
        if shared % 128 or self.line % 16 or max(self.box) > 256:
            raise Fault("a box is lines of whole words of 16 bytes at a multiple of 128, and 256 at most")

    def lines(self) -> Iterator[tuple[int, int, int]]:
        """(offset in the box, address in the tensor, bytes) of each line, of what is in the tensor."""
        along, down, deep = (int(x) for x in self.first)
        for z in range(self.box[2]):
            for y in range(self.box[1]):
                inside = 0 <= deep + z < self.extents[2] and 0 <= down + y < self.extents[1]
                count = max(0, min(self.box[0], self.extents[0] - along)) if inside else 0
                if count:
                    there = self.address + along * self.size
                    there += (down + y) * self.strides[1] + (deep + z) * self.strides[2]
                    yield (z * self.box[1] + y) * self.line, there, count * self.size

    def places(self) -> Array:
        """Of each byte of the box, the place from its beginning in shared memory."""
        linear = np.arange(self.bytes)
        swizzled: Array = linear ^ (linear >> 7 & 7) << 4
        return swizzled if self.swizzle else linear


def copy(compiler: Compiler, parts: list[str], operands: tuple[str, ...], following: int) -> Operation:
    """A box to shared memory, at whose barrier its bytes arrive, or from it."""
    loads = parts[5].startswith("shared")
    room, boxed = operands[:2] if loads else operands[1::-1]
    at, _, corner = boxed.strip("[]").partition(",")
    map_at, room_at = compiler.address(f"[{at}]"), compiler.address(room)
    where = [compiler.reader(name.strip(), "s32") for name in corner.strip(" {}").split(",")]
    barrier_at = compiler.address(operands[2]) if loads else None
    blocks = compiler.reader(operands[3], "u16") if "multicast::cluster" in parts else None

    def run(w: Warp) -> int:
        for lane in np.flatnonzero(w.mask):
            first = tuple(int(read(w)[lane]) for read in where)
            room, mask = int(room_at(w)[lane]), int(blocks(w)[lane]) if blocks else 0
            # Without a mask to where the address says; with one to the same place in each of its blocks.
            for shift in _shifts(room, mask):
                box = Box(w, int(map_at(w)[lane]), first, room + shift)
                w.cluster.watch.copied(box.shared, box.bytes)
                if barrier_at is None:
                    _store(w, box)
                else:
                    _load(w, box, barriers.started(w, int(barrier_at(w)[lane]) + shift))
        return following

    return run


def _shifts(address: int, mask: int) -> list[int]:
    """Bytes from an address of shared memory to its likes in the blocks of a mask; without one, 0."""
    ranks = [rank for rank in range(mask.bit_length()) if mask >> rank & 1]
    return [rank * BLOCK - address // BLOCK * BLOCK for rank in ranks] or [0]


def _load(w: Warp, box: Box, barrier: Phases) -> None:
    room, places = w.cluster.shared.bytes(box.shared, box.bytes), box.places()
    sources = [(to, w.block.memory.bytes(there, many)) for to, there, many in box.lines()]

    def land() -> None:
        found = np.zeros(box.bytes, np.uint8)
        for to, data in sources:
            found[to : to + data.size] = data
        room[places] = found
        barrier.bytes -= box.bytes
        barrier.settle()

    if w.cluster.schedule.soon:
        land()
    else:
        w.cluster.flying.append(land)


def _store(w: Warp, box: Box) -> None:
    data, places = w.cluster.shared.bytes(box.shared, box.bytes), box.places()
    if any(many % 16 for _, _, many in box.lines()):
        raise Fault("a box that is stored ends inside a word of 16 bytes, which is written whole")
    rooms = [(at, w.block.memory.bytes(there, many, write=True)) for at, there, many in box.lines()]

    def land() -> None:
        found = data[places]
        for at, room in rooms:
            room[:] = found[at : at + room.size]

    if w.cluster.schedule.soon:
        land()
        w.stores.append(lambda: None)
    else:
        w.stores.append(land)
