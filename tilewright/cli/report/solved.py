"""Every problem that the records have a right kernel of: its winner, the vendor's product, the bound, all
tries."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, get_args

from tilewright.errors import DeviceError
from tilewright.model import DTYPES, VENDOR, Config, Device, Gemm, Record
from tilewright.planning import roofline
from tilewright.store.jsonl import spelled


@dataclass(frozen=True, slots=True)
class Words:
    """How the numbers of a kind of device are shown: a unit of so many 10^9 operations a second, the decimals
    of it, who the vendor is, and on what everything ran."""

    unit: str
    scale: float
    decimals: int
    vendor: str
    whole: str


WORDS = {
    "cpu": Words("GF/s", 1.0, 1, "NumPy", "one core"),
    "cuda": Words("TF/s", 1e3, 2, "cuBLAS", "the whole device"),
}


@dataclass(frozen=True, slots=True)
class Solved:
    """One problem in one regime: its winner, the vendor's product where it was timed, the bound where the
    ceilings of the device are known, and the tries of all kernels in the order of their writing.

    ``rival`` is the speed of the vendor's product in another file, in 10^9 operations a second, for records
    that lack it."""

    best: Record
    vendor: Record | None
    bound: roofline.Bound | None
    tries: list[Record] = field(default_factory=list)
    rival: float | None = None

    @property
    def vendor_gflops(self) -> float | None:
        """The speed of the vendor's product, in 10^9 operations a second; None where nothing says it."""
        return self.rival if self.vendor is None else gflops(self.vendor)


def per_product(record: Record) -> float | None:
    """Seconds for one product of a record's batch; None for a try without a usable timing."""
    if record.timing is None or record.timing.batch < 1:
        return None
    seconds = record.timing.median / record.timing.batch
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def gflops(record: Record | None) -> float | None:
    """10^9 operations a second of a record; None for a try without a timing."""
    seconds = None if record is None else per_product(record)
    return None if seconds is None or record is None else float(record.problem.flops / seconds / 1e9)


def fastest(rows: Iterable[Record]) -> Record | None:
    """The right record with the fewest seconds a product, by the rule of ``Records.best``: a config's newest
    try is the one that counts, and of these the ones of the newest protocol that is there."""
    newest: dict[tuple[str, Config], Record] = {}
    for row in rows:
        name = (row.stencil, row.config)
        if name not in newest or row.when >= newest[name].when:
            newest[name] = row
    right = [(per_product(row), row) for row in newest.values() if row.status == "ok"]
    protocol = max((row.protocol for seconds, row in right if seconds), default=0)
    timed = [(seconds, row) for seconds, row in right if seconds and row.protocol == protocol]
    least = min((seconds for seconds, _ in timed), default=0.0)
    return min(
        (row for seconds, row in timed if seconds == least),
        key=lambda row: (spelled(row.config), row.stencil),
        default=None,
    )


def winners_alone(found: Sequence[Solved]) -> bool:
    """Whether these are exported winners and hardly any sweep: nine in ten problems have one try."""
    return 10 * sum(len(one.tries) == 1 for one in found) >= 9 * len(found)


def by_problem(rows: Iterable[Record]) -> dict[tuple[str, str], list[Record]]:
    """Records by the key of their problem and their regime, in the order in which they come."""
    found: dict[tuple[str, str], list[Record]] = defaultdict(list)
    # Most records are of the same few problems, and a key is long in the making.
    keys: dict[Any, str] = {}
    for row in rows:
        key = keys.get(row.problem)
        if key is None:
            key = keys[row.problem] = row.problem.key
        found[key, row.regime].append(row)
    return found


def solved(rows: Iterable[Record], device: Device) -> list[Solved]:
    """Every problem and regime of a device's records that has a winner, by type, regime, class and size."""
    found = []
    for own in by_problem(rows).values():
        tries = [row for row in own if row.stencil != VENDOR]
        best = fastest(tries)
        if best is not None:
            vendor = next((row for row in reversed(own) if row.stencil == VENDOR and per_product(row)), None)
            found.append(Solved(best, vendor, bound_of(best, device), tries))
    return sorted(found, key=_order)


def bound_of(record: Record, device: Device) -> roofline.Bound | None:
    """The bound of a record's problem on one core or the whole GPU; None where it is not known.

    A kernel may stream C or not, so it is that of the better way.
    """
    problem = record.problem
    if not isinstance(problem, get_args(Gemm)) or not roofline.known(problem, device):
        return None
    with suppress(DeviceError, KeyError):
        ways = (roofline.bound(problem, device, record.regime, 1, streaming=way) for way in (False, True))
        return max(ways, key=lambda way: way.flops_per_s)
    return None


def type_of(problem: Any) -> str:
    """The letter of a problem's type; of a task of another kind, which has none, how its key begins."""
    dtype = getattr(problem, "dtype", None)
    return str(dtype.letter) if dtype is not None else str(problem.key).partition(":")[0]


def class_of(problem: Any) -> str:
    """What of a problem a plot over sizes has to keep apart, in words: transpositions, scalars, layout."""
    words = [getattr(problem, "trans", "")]
    words += [
        f"{name} {value}"
        for name, usual in (("alpha", "1"), ("beta", None))
        if (value := getattr(problem, name, usual)) != usual
    ]
    words += [problem.layout] if problem.layout != "packed" else []
    return " ".join(word for word in words if word)


def label_of(problem: Any) -> str:
    """A problem in few words: its spelling without what is usual, and what a spelling does not hold."""
    spelling = str(problem.spelling).partition("@")[0].replace(":nn:", ":")
    words = class_of(problem).removeprefix(getattr(problem, "trans", "")).strip()
    return f"{spelling} {words}".strip()


def types(found: Sequence[Solved]) -> list[str]:
    """The types that there are, those of matrix products in the order of ``DTYPES``."""
    letters, known = {type_of(one.best.problem) for one in found}, list(DTYPES)
    return sorted(letters, key=lambda name: (known.index(name) if name in known else len(known), name))


def _order(one: Solved) -> tuple[Any, ...]:
    p, known = one.best.problem, list(DTYPES)
    letter = type_of(p)
    rank = known.index(letter) if letter in known else len(known)
    return rank, letter, one.best.regime, class_of(p), math.prod(p.extents), p.extents, p.key
