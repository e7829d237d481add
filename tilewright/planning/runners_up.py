"""Rows of a second stencil: what stands in where the winner of a problem refuses the structure of a batch.

A stencil may win the batches of a problem and refuse those that share an operand, or lie along several axes:
its record then says nothing of these, and that of the best stencil that accepts them does. So such rows are
kept behind the winner's when records are written out (``others``), and asked when a call is planned
(``other``), on kinds of devices with one library alone: on processors the default is mostly the better guess
than any record that stands in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tilewright.model import VENDOR, Problem, Record
from tilewright.planning import alike, candidates, kin
from tilewright.store.records import Records
from tilewright.store.tries import seconds_per_product


def other(held: Records, record: Record, accepting: Sequence[str]) -> Record | None:
    """The best record of another stencil, of those that accept what is asked, for the problem of a record
    that does not fit; None where there is none, and where the library's product was faster than it: what lost
    to both is no better guess than what was measured of problems like it."""
    names = [name for name in accepting if name != record.stencil]
    found = _best_of(held, record, names)
    return None if found is None or _outrun(held, found) else found


def beside(winner: Record) -> Iterator[list[str]]:
    """The stencils of which a row is to be kept beside that of a problem's winner: for each structure of its
    batches that its record serves and its own stencil refuses, those that accept it. Such are batches that
    share an operand and those along several axes, of problems that records are asked for in spite of that
    (``alike.by_arithmetic``)."""
    p, whose = winner.problem, kin.named(winner.device)
    if whose is None or whose.kind not in kin.LIBRARIES or not isinstance(p, Problem) or p.batch == 1:
        return
    if not alike.by_arithmetic(p) or p.outer or p.pointers or p.interleaved is not None:
        return
    two = (2, *(p.batch * stride for stride in p.strides))
    for changed in ({"outer": (two,)}, {"stride_a": 0}, {"stride_b": 0}):
        names = list(candidates.accepting(p.with_(**changed), whose))
        if names and winner.stencil not in names:
            yield names


def others(held: Records, winner: Record) -> list[Record]:
    """The records to keep beside the winner of a problem (``beside``), as calls would go by them: of the best
    kernel wherever the library's product won, and else of what is no slower than that product."""
    first = held.best(winner.problem.key, winner.regime, winner.device, without=VENDOR)
    found = (_best_of(held, winner, names) for names in beside(winner))
    kept = (one for one in found if one is not None and (one == first or not _outrun(held, one)))
    return list(dict.fromkeys(kept))


def _best_of(held: Records, record: Record, names: Sequence[str]) -> Record | None:
    """The best record of these stencils where a record is of."""
    asked = record.problem.key, record.regime, record.device
    return held.best(*asked, among=names) if names else None


def _outrun(held: Records, record: Record) -> bool:
    """Whether the library's product was faster than a record."""
    theirs = _best_of(held, record, [VENDOR]) if alike.has_rival(record.problem) else None
    ours = seconds_per_product(record) or math.inf
    return theirs is not None and (seconds_per_product(theirs) or math.inf) < ours
