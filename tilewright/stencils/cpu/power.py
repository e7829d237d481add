"""What POWER8 has of its own: vectors whose halves it reads and writes in the other order.

Its loads and stores of vectors are those of a processor that counts bytes from the other end: of two halves
of 64 bits each comes first that should come second, and LLVM exchanges them after every load and before every
store, by an instruction of the units that multiply. What is computed lane by lane does not mind the order, so
that a tile of real numbers is read, summed and written as it comes. POWER9 has loads and stores that need
none of this.
"""

from __future__ import annotations

from tilewright.model import Device
from tilewright.stencils.cpu.ir import Ir, Piece

BITS = 128
_READ, _WRITE = "@llvm.ppc.vsx.lxvd2x.be", "@llvm.ppc.vsx.stxvd2x.be"
_HALVES = "<2 x double>"


def exchanges(device: Device) -> bool:
    """Whether a processor's programs are for cores that read halves of vectors in the other order."""
    return device.features.startswith("ppc64le/pwr8")


class Power8(Ir):
    """A function of real numbers of 32 or 64 bits for POWER8."""

    def load_free(self, address: str, piece: Piece, held: bool = False) -> str:
        if not self._whole(piece):
            return self.load(address, piece, held)
        self.declared.add(f"declare {_HALVES} {_READ}(ptr)")
        value = self.let(f"call {_HALVES} {_READ}(ptr {address})")
        return self.let(f"bitcast {_HALVES} {value} to {self.vec(piece.width)}")

    def store_free(self, value: str, address: str, piece: Piece, stream: bool = False) -> None:
        if not self._whole(piece):
            self.store(value, address, piece, stream)
            return
        self.declared.add(f"declare void {_WRITE}({_HALVES}, ptr)")
        halves = self.let(f"bitcast {self.vec(piece.width)} {value} to {_HALVES}")
        self.do(f"call void {_WRITE}({_HALVES} {halves}, ptr {address})")

    def _whole(self, piece: Piece) -> bool:
        return piece.active == piece.width and piece.width * self.bits == BITS
