"""The tile registers of AMX by Python, for a processor that has vectors of AVX-512 and no tiles.

``emulated`` gives the program of a source functions of this process to call in place of the instructions of
the tile unit: what they do to memory and to registers is what Intel's manual says, but for sums, whose order
and rounding are NumPy's. Everything around them, packing, rounding, the loop and what waits for what, is the
code that such a processor would run, compiled for this one. What was never read into a register is no number,
and shapes that do not fit each other are kept as ``TileUnit.wrong``.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tilewright.model import Device, Kernel, Source
from tilewright.targets.cpu import llvm

_NAMES = "ldtilecfg|tilerelease|tilezero|tileloadd64|tilestored64|tdpbf16ps|tdpfp16ps"
_POINTER, _BYTE, _LONG = ctypes.c_void_p, ctypes.c_uint8, ctypes.c_longlong
_ARGUMENTS = {
    "ldtilecfg": (_POINTER,),
    "tilerelease": (),
    "tilezero": (_BYTE,),
    "tileloadd64": (_BYTE, _POINTER, _LONG),
    "tilestored64": (_BYTE, _POINTER, _LONG),
    "tdpbf16ps": (_BYTE, _BYTE, _BYTE),
    "tdpfp16ps": (_BYTE, _BYTE, _BYTE),
}


class TileUnit:
    """Eight registers of 16 rows of 64 bytes, and their shapes. ``wrong``: what a processor would refuse."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.shapes = [(0, 0)] * 8
        self.tiles = np.full((8, 16, 64), 0xFF, np.uint8)
        kinds = {name: ctypes.CFUNCTYPE(None, *kinds) for name, kinds in _ARGUMENTS.items()}
        self.calls = {name: kind(getattr(self, name)) for name, kind in kinds.items()}
        self.imports = {
            f"emulated_{name}": ctypes.cast(call, _POINTER).value or 0 for name, call in self.calls.items()
        }

    def ldtilecfg(self, place: int) -> None:
        table = ctypes.string_at(place, 64)
        self.shapes = [
            (table[48 + tile], int.from_bytes(table[16 + 2 * tile : 18 + 2 * tile], "little"))
            for tile in range(8)
        ]
        if table[0] != 1 or any(rows > 16 or width > 64 for rows, width in self.shapes):
            self.wrong.append(f"a table of {self.shapes}")
        self.tiles[:] = 0xFF

    def tilerelease(self) -> None:
        self.shapes = [(0, 0)] * 8

    def tilezero(self, tile: int) -> None:
        self.tiles[tile] = 0

    def tileloadd64(self, tile: int, place: int, apart: int) -> None:
        rows, width = self.shapes[tile]
        self.tiles[tile] = 0
        for row in range(rows):
            self.tiles[tile, row, :width] = np.frombuffer(
                ctypes.string_at(place + row * apart, width), np.uint8
            )

    def tilestored64(self, tile: int, place: int, apart: int) -> None:
        rows, width = self.shapes[tile]
        for row in range(rows):
            ctypes.memmove(place + row * apart, self.tiles[tile, row].tobytes(), width)

    def tdpbf16ps(self, total: int, left: int, right: int) -> None:
        def widened(tile: int) -> NDArray[np.float32]:
            wide = (self.tiles[tile].view(np.uint16).astype(np.uint32) << 16).view(np.float32)
            flushed: NDArray[np.float32] = np.where(abs(wide) < 2.0**-126, np.float32(0), wide)
            return flushed

        self._multiply(total, left, right, widened)

    def tdpfp16ps(self, total: int, left: int, right: int) -> None:
        self._multiply(total, left, right, lambda tile: self.tiles[tile].view(np.float16).astype(np.float32))

    def _multiply(
        self, total: int, left: int, right: int, widened: Callable[[int], NDArray[np.float32]]
    ) -> None:
        (rows, width), (height, deep), (pairs, across) = (self.shapes[t] for t in (total, left, right))
        if (rows, width, deep) != (height, across, 4 * pairs):
            self.wrong.append(f"{self.shapes[total]} += {self.shapes[left]} x {self.shapes[right]}")
        sums = self.tiles[total].view(np.float32)
        a = widened(left)[:, : deep // 2]
        # Rows of the right operand are pairs of k, side by side for each column.
        b = widened(right)[:pairs].reshape(pairs, 16, 2).transpose(0, 2, 1).reshape(2 * pairs, 16)
        with np.errstate(all="ignore"):
            sums[:rows, : width // 4] += (a[:rows] @ b)[:, : width // 4]


def emulated(source: Source, device: Device) -> tuple[Kernel, TileUnit]:
    """The kernel of a source that uses tile registers, compiled for a device that has none, and what it
    uses instead, which has to live as long as the kernel."""
    unit = TileUnit()
    text = re.sub(rf"@llvm\.x86\.({_NAMES})\b", r"@emulated_\1", source.text)
    binary = llvm.compile(replace(source, text=text), device)
    kernel, _ = llvm.load_entries(binary, (binary.entry,), unit.imports)
    return kernel, unit
