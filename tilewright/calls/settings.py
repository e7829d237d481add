"""What holds for all calls: how many cores they may use, whether those without a record are counted, which
kernels go before all records, and that plans are to be made anew."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tilewright.errors import ArgumentError
from tilewright.model import Record
from tilewright.planning import chosen
from tilewright.runtime import build, call_cache
from tilewright.runtime.gaps import COUNTS
from tilewright.store.jsonl import parse, read_text

_threads: int | None = None


def threads() -> int | None:
    """The most cores that a call may use; None: as many as the process may use."""
    return _threads


def set_threads(count: int | None) -> None:
    """Use at most ``count`` cores from now on; None: as many as the process may use.

    Raises ``ArgumentError`` for what is no whole number from 1.
    """
    global _threads
    try:
        whole = None if count is None else operator.index(count)
    except TypeError:
        whole = 0
    if whole is not None and whole < 1:
        raise ArgumentError(f"count={count!r}; accepted: a whole number from 1, or None")
    _threads = whole
    forget()


def count_gaps(wanted: bool = True) -> None:
    """Count from now on the calls that run without a record of their own, or no longer.

    ``tilewright gaps`` lists what was counted, worst expected loss first, and ``tune(gaps=True)`` or
    ``tilewright tune --gaps`` tunes it. The environment variable ``TILEWRIGHT_GAPS=1`` says the same for
    programs that are not to be changed. Counts of all processes are added up in one file beside the records.
    A repeated call without a record costs some tenths of a microsecond more while it is counted; one with a
    record, nothing.

    Raises ``ArgumentError`` for what is neither True nor False.
    """
    if not isinstance(wanted, bool):
        raise ArgumentError(f"wanted={wanted!r}; accepted: True or False")
    COUNTS.want(wanted)
    forget()


class HasRecords(Protocol):
    """What holds a record for each of some problems: a ``KernelSet``."""

    @property
    def records(self) -> Sequence[Record]:
        """One record a problem and regime."""


def use_kernels(kernels: HasRecords | Path | str | None) -> int:
    """Run the problems of a set of kernels by the kernels of that set from now on, whatever other records
    say; None: no longer. Other problems go by the records as ever.

    ``kernels`` is what ``kernel_set`` returned, or the file that its ``save`` or ``tilewright set --output``
    wrote. Records of other devices have no effect, so that one file may hold those of several. Returns how
    many records are in use.

    Raises ``RecordsError`` for a file that cannot be read or holds what is no record, ``ArgumentError`` for
    what is neither a set nor a file.
    """
    found: Sequence[Record] = ()
    if isinstance(kernels, Path | str):
        found, _ = parse(read_text(Path(kernels)), str(kernels), lambda record, _: record)
    elif kernels is not None:
        if not hasattr(kernels, "records"):
            raise ArgumentError(f"kernels={kernels!r}; accepted: a KernelSet, the name of its file, or None")
        found = kernels.records
    chosen.IN_USE.use(row for row in found if row.status == "ok")
    forget()
    return len(found)


def forget() -> None:
    """Drop every plan made so far, so that new records are seen, and unload the processor's kernels that
    nothing else holds. Plans that a caller holds plan again at their next call."""
    call_cache.clear()
    build.forget()
