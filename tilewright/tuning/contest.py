"""Who won: what samples taken in turns say of their takers, when they say enough, and what disturbed them.

Samples of one round belong together: whatever the machine did meanwhile happened to all of them. So two are
compared by the ratios within rounds, whose median has an interval that supposes no distribution
(``timing.median_interval``), and drift or a clock that drops moves no ratio. The leader is who has the
smallest median of times over the round's own level. A rival is *beaten* when its whole interval of ratios to
the leader lies above 1, and *level* when that lies within ``TIE``; who is neither when the time is up is
level, too, because it could not be told apart. Among the leader and who is level with it a fixed order
decides, the same in every process, as far as they are ``CLOSE``.

Looking often and stopping when the answer pleases makes errors likelier than 5 in 100. Looks are therefore
few (each after a fourth more rounds), and each asks for an interval that misses 1 time in ``MISSES``.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.model import Timing
from tilewright.tuning import timing
from tilewright.tuning.timing import median_interval

TIE = 0.005
"""Two whose ratio lies within this of 1 are equally fast to every user."""
CLOSE = 1.01
"""Ratio to the leader beyond which nobody is chosen over it, be it told apart or not."""
NARROW = 0.005
"""Half-width of the 95 % interval, relative, that the leader's own time is to have."""
FINAL_BUDGET = 2.0
"""Seconds of a final round."""
MISSES = 400
FIRST = 10
"""Rounds before the first look: with fewer no interval is as sure as that."""
MORE = 1.25
FAR = 1.05
"""A sample beyond the level of its round by this factor is an outlier, a round beyond the others a slow
one."""
FALLEN = 0.97
"""Share of its clock that a device may lose within a round of finals before that is said."""

Samples = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a contest stands: the ``leader``, who is ``level`` with it, and who is ``open``, neither level nor
    beaten by now."""

    leader: str
    level: tuple[str, ...]
    open: tuple[str, ...]
    close: tuple[str, ...]
    """Of those who are tied, all within ``CLOSE`` of the leader: among them and the leader an order may
    decide."""

    @property
    def tied(self) -> tuple[str, ...]:
        """All that could not be told from the leader."""
        return (*self.level, *self.open)


def levels(samples: Samples) -> list[float]:
    """How slow each round was: the median, over all takers, of the sample over the taker's median. 1 is
    usual."""
    usual = {name: statistics.median(taken) for name, taken in samples.items()}
    columns = [[seconds / usual[name] for seconds in taken] for name, taken in samples.items()]
    return [statistics.median(each) for each in zip(*columns, strict=True)]


def standing(samples: Samples) -> Standing:
    """Who leads, from samples of which the i-th of each taker are of one round. There is at least one
    taker."""
    level = levels(samples)
    medians = {
        name: statistics.median(s / at for s, at in zip(taken, level, strict=True))
        for name, taken in samples.items()
    }
    leader = min(medians, key=lambda name: (medians[name], name))
    equal, undecided, close = [], [], []
    for name, taken in samples.items():
        if name == leader:
            continue
        ratios = [s / best for s, best in zip(taken, samples[leader], strict=True)]
        ratio, low, high = median_interval(ratios, MISSES)
        if len(ratios) < FIRST:
            undecided.append(name)
        elif low >= 1 - TIE and high <= 1 + TIE:
            equal.append(name)
        elif low <= 1:
            undecided.append(name)
        else:
            continue
        if ratio <= CLOSE:
            close.append(name)
    return Standing(leader, tuple(equal), tuple(undecided), tuple(close))


class Referee:
    """Says when samples are enough: at a few looks, for those of the takers that compete."""

    def __init__(self, takers: Sequence[str]):
        self._takers, self._next = list(takers), FIRST

    def __call__(self, samples: Samples) -> bool:
        """Whether nobody is open any more and the leader's time is known well."""
        rounds = len(next(iter(samples.values()), ()))
        if rounds < self._next:
            return False
        self._next = max(rounds + 1, int(rounds * MORE))
        if not self._takers:
            return True
        found = standing({name: samples[name] for name in self._takers})
        median, low, high = median_interval(samples[found.leader])
        return not found.open and max(high - median, median - low) <= NARROW * median


def race(
    runs: Mapping[str, timing.Run],
    *,
    rounds: int,
    regime: str,
    batch: int,
    takers: Sequence[str] | None = None,
    clocks: Callable[[], str] = lambda: "",
    watch: timing.Stopwatch = timing.HOST,
    budget: float = FINAL_BUDGET,
) -> tuple[dict[str, Timing], str, str]:
    """Final rounds: timings of ``runs`` taken in turns until a ``Referee`` of ``takers`` (all of them) has
    seen enough, the clocks then, and what disturbed it. The rest as ``timing.interleaved`` says; nobody's
    race is over at once."""
    before = clocks()
    timings: dict[str, Timing] = {}
    if runs:
        timings = timing.interleaved(
            runs,
            rounds=rounds,
            regime=regime,
            batch=batch,
            watch=watch,
            budget=budget,
            least=FIRST,
            until=Referee(list(runs) if takers is None else takers),
        )
    after = clocks()
    return timings, after, disturbances({name: t.samples for name, t in timings.items()}, before, after)


def disturbances(samples: Samples, clock_before: str = "", clock_after: str = "") -> str:
    """What disturbed a round of finals, in words; empty where nothing did.

    Outliers are single samples far beyond the level of their round; slow rounds are those in which everybody
    was slow, which is the machine's doing: its clock dropped, or another program ran. Nothing of it is
    removed.
    """
    said = []
    level = levels(samples) if samples else []
    slow = sum(each > FAR for each in level)
    if slow:
        said.append(f"{slow} of {len(level)} rounds slow for all, by up to {max(level) - 1:.0%}")
    third = len(level) // 3
    if third >= 3:
        drift = statistics.median(level[-third:]) / statistics.median(level[:third]) - 1
        if abs(drift) > 0.02 and not slow:
            said.append(f"a drift of {drift:+.0%}")
    far = sum(
        s > FAR * at * statistics.median(taken)
        for taken in samples.values()
        for s, at in zip(taken, level, strict=True)
    )
    if far:
        said.append(f"{far} of {sum(map(len, samples.values()))} samples are outliers")
    before, after = _mhz(clock_before), _mhz(clock_after)
    if before and after and after < FALLEN * before:
        said.append(f"the clock fell from {before} to {after} MHz")
    return "; ".join(said)


def _mhz(clocks: str) -> int:
    """The clock in what a device says of its clocks (``1980 MHz, 480 W``); 0 where it says nothing."""
    found = re.match(r"(\d+) MHz", clocks)
    return int(found[1]) if found else 0
