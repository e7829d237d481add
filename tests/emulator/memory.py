"""Memory of the machine: operands where they are in this process, shared memory, a thread's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Fault(Exception):
    """What the hardware would not have survived, or a kernel must not rely on."""


class Segment:
    """Bytes from ``address``, a multiple of 16, on. ``readable`` and ``writable`` say which may be used."""

    def __init__(self, name: str, address: int, data: Array, readable: Array | None, writable: Array | None):
        self.name, self.address, self.data = name, address, data
        self.readable, self.writable = readable, writable

    def places(self, addresses: Array, size: int, count: int, mask: Array | None) -> Array:
        """Numbers of ``size`` bytes from each address on, ``count`` of them, as places in the data seen as
        such numbers: (count, addresses)."""
        at, whole = addresses - self.address, size * count
        if not len(at):
            return np.zeros((count, 0), np.int64)
        # All bits of them: no offset is larger, and one that is negative makes it so.
        bits = int(np.bitwise_or.reduce(at))
        if bits < 0 or bits + whole > self.data.size:
            least, most = int(at.min()), int(at.max())
            if least < 0 or most + whole > self.data.size:
                raise Fault(f"{self.name}: {whole} bytes at offsets {least} to {most} of {self.data.size}")
        if bits & (whole - 1):
            raise Fault(f"{self.name}: {whole} bytes at an address that is no multiple of it")
        if mask is not None and not (mask[at].all() and mask[at + (whole - 1)].all()):
            raise Fault(f"{self.name}: an access of {whole} bytes outside the elements")
        first = at // size
        made: Array = first[None] if count == 1 else first + np.arange(count)[:, None]
        return made


class Memory:
    """Segments that accesses are looked up in by their first address."""

    def __init__(self, segments: list[Segment]):
        self.segments = segments

    def of(self, addresses: Array) -> list[tuple[Segment, Array | slice]]:
        """Which segment each address belongs to, as (segment, which of the addresses)."""
        if len(self.segments) == 1 or not len(addresses):
            return [(self.segments[0], slice(None))]
        least, most = int(addresses.min()), int(addresses.max())
        for segment in self.segments:
            if segment.address <= least and most < segment.address + segment.data.size:
                return [(segment, slice(None))]
        found: list[tuple[Segment, Array | slice]] = []
        left = np.ones(len(addresses), bool)
        for segment in self.segments:
            here = (addresses >= segment.address) & (addresses < segment.address + segment.data.size)
            if here.any():
                found.append((segment, here))
                left &= ~here
        if left.any():
            raise Fault(f"no memory at {int(addresses[left][0]):#x}")
        return found

    def load(self, addresses: Array, size: int, count: int = 1) -> Array:
        """Numbers of ``size`` bytes, ``count`` from each address on: unsigned, (count, addresses)."""
        parts = self.of(addresses)
        if len(parts) == 1:
            segment = parts[0][0]
            whole: Array = segment.data.view(UNSIGNED[size])[
                segment.places(addresses, size, count, segment.readable)
            ]
            return whole
        out = np.empty((count, len(addresses)), UNSIGNED[size])
        for segment, which in parts:
            at = segment.places(addresses[which], size, count, segment.readable)
            out[:, which] = segment.data.view(UNSIGNED[size])[at]
        return out

    def store(self, addresses: Array, values: Array) -> None:
        """Numbers as ``load`` gives them, put where they belong."""
        size, count = values.itemsize, len(values)
        for segment, which in self.of(addresses):
            at = segment.places(addresses[which], size, count, segment.writable)
            segment.data.view(UNSIGNED[size])[at] = values[:, which]

    def readable(self, addresses: Array, count: int) -> Array:
        """Whether ``count`` bytes from each address on may be read."""
        out = np.zeros(len(addresses), bool)
        for segment in self.segments:
            at = addresses - segment.address
            here = (at >= 0) & (at + count <= segment.data.size)
            some = at[here]
            out[here] = (
                segment.readable is None or segment.readable[some] & segment.readable[some + count - 1]
            )
        return out

    def bytes(self, address: int, count: int, *, write: bool = False) -> Array:
        """A view of some bytes, all of which may be used."""
        for segment in self.segments:
            at = address - segment.address
            if at >= 0 and at + count <= segment.data.size:
                mask = segment.writable if write else segment.readable
                if mask is not None and not mask[at : at + count].all():
                    raise Fault(f"{segment.name}: {count} bytes reach outside the elements")
                part: Array = segment.data[at : at + count]
                return part
        raise Fault(f"no {count} bytes of memory at {address:#x}")
