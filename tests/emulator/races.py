"""Who wrote and who read shared memory: accesses that nothing orders.

Two rules that no order of warps shows, as this interpreter runs the lanes of a warp in step:

    lanes    of a warp are ordered by its barriers alone: what one wrote another may read, and what one read
             another may write, only behind ``bar.warp.sync`` or a barrier of more threads; what a lane wrote
             before it arrives at a barrier in shared memory may be read, too
    proxies  bulk copies and products of warp groups do not see what ordinary stores and ``cp.async`` wrote
             until the lane that wrote has fenced it (``fence.proxy.async``)
"""

from __future__ import annotations

from functools import cache

import numpy as np

from tests.emulator.memory import Array, Fault

CELL = 2
"""Bytes that are told apart: no kernel stores fewer."""
LANE_BITS = 6
COLLECTIVE, SEVERAL = 62, 63
"""In place of a lane: all of them together, as matrices are read and written; and more than one."""


@cache
def _upto(count: int) -> Array:
    """Numbers from 0 on, not to be written to."""
    return np.arange(count)


class Watch:
    """The accesses to the shared memory of a cluster since the last barriers of its warps.

    An access is marked with the *epoch* of its warp, a number that no other warp has and that each barrier
    changes, and with its lane.
    """

    def __init__(self, first: int, room: int, block: int, ranks: int):
        assert block & block - 1 == 0
        self.first, self.block = first, block
        self.cells = -(-room // CELL) + 16
        self.written, self.read = (np.zeros(self.cells * ranks, np.int64) for _ in range(2))
        # Which warp and lane wrote what is not fenced, from 1 on.
        self.unfenced = np.zeros(self.cells * ranks, np.int32)
        self.ranks = ranks
        self._epochs = 0

    def epoch(self) -> int:
        """An epoch of nobody's."""
        self._epochs += 1
        return self._epochs

    def _cells(self, addresses: Array, size: int) -> Array:
        """Which cells accesses of a size touch: (address, cell)."""
        start = ((addresses & self.block - 1) - self.first) // CELL
        if self.ranks > 1:
            start += addresses // self.block * self.cells
        return np.asarray(start[:, None] + _upto(max(1, size // CELL)))

    def loaded(self, epoch: int, lanes: Array, addresses: Array, size: int) -> None:
        """Lanes read so many bytes each. Raises ``Fault`` for what another lane has just written."""
        cells, mine = self._cells(addresses, size), (epoch << LANE_BITS | lanes)[:, None]
        writers = self.written[cells]
        here = writers >> LANE_BITS == epoch
        if here.any() and (here & (writers != mine)).any():
            raise Fault("a lane reads what another lane of its warp wrote, with no barrier between them")
        readers = self.read[cells]
        here = readers >> LANE_BITS == epoch
        marks = np.where(here & (readers != mine), epoch << LANE_BITS | SEVERAL, mine) if here.any() else mine
        self.read[cells] = marks
        # Of lanes that read one cell together only the last has left its mark.
        others = self.read[cells] != marks
        if others.any():
            self.read[cells[others]] = epoch << LANE_BITS | SEVERAL

    def stored(self, epoch: int, warp: int, lanes: Array, addresses: Array, size: int) -> None:
        """Lanes write so many bytes each. Raises ``Fault`` for what another lane has just read."""
        cells, mine = self._cells(addresses, size), (epoch << LANE_BITS | lanes)[:, None]
        readers = self.read[cells]
        here = readers >> LANE_BITS == epoch
        if here.any() and (here & (readers != mine)).any():
            raise Fault("a lane writes what another lane of its warp read, with no barrier between them")
        self.written[cells] = mine
        self.unfenced[cells] = (warp << LANE_BITS | lanes)[:, None] + 1

    def released(self, epoch: int, lanes: Array) -> None:
        """What lanes wrote is ordered before what others do behind a barrier in shared memory, at which these
        lanes arrive. That others wait for it is seen by what they read."""
        mine = self.written >> LANE_BITS == epoch
        if mine.any():
            self.written[mine & np.isin(self.written, epoch << LANE_BITS | lanes)] = 0

    def fenced(self, warp: int, mask: Array) -> None:
        """Lanes of a warp fence all that they wrote."""
        who = self.unfenced - 1
        lanes = np.minimum(who & (1 << LANE_BITS) - 1, len(mask) - 1)
        together = (who & (1 << LANE_BITS) - 1) == COLLECTIVE
        mine = (who >> LANE_BITS == warp) & np.where(together, mask.all(), mask[lanes])
        self.unfenced[mine] = 0

    def copied(self, address: int, size: int) -> None:
        """A bulk copy reads or writes. Raises ``Fault`` for what nobody has fenced."""
        first = int(self._cells(np.array([address]), CELL)[0, 0])
        self._met(self.unfenced[first : first + -(-size // CELL)])

    def multiplied(self, addresses: Array, size: int) -> None:
        """A product of warp groups reads so many bytes from each address on: the same of it."""
        self._met(self.unfenced[self._cells(addresses, size)])

    def _met(self, unfenced: Array) -> None:
        if unfenced.any():
            raise Fault("a bulk copy meets what ordinary stores wrote, with no fence between them")
