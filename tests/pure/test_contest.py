"""Who wins a final round, on simulated clocks: with noise, drift, drops of the clock and stray samples."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from tilewright.model import Timing
from tilewright.tuning import contest, timing

pytestmark = pytest.mark.pure

ROUNDS = 120


class Simulated(timing.Ticks):
    """A stopwatch to which a run says how long it took."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.0)

    def time(self, run: timing.Run, repeats: int) -> float:
        seconds = run()
        assert isinstance(seconds, float)
        return seconds * repeats

    def sample(self, regime: str) -> float:
        return 0.0


Machine = Callable[[random.Random, int], float]
"""How slow everything is at the n-th sample of a session."""


def quiet(draw: random.Random, now: int) -> float:
    return 1.0


def drifting(draw: random.Random, now: int) -> float:
    return 1 + 0.15 * now / (6 * ROUNDS)


def dropping(draw: random.Random, now: int) -> float:
    return 1.2 if (now // 30) % 4 == 3 else 1.0


def stray(draw: random.Random, now: int) -> float:
    return 3.0 if draw.random() < 0.03 else 1.0


MACHINES = [quiet, drifting, dropping, stray]


def session(means: Sequence[float], noise: float, machine: Machine, seed: int) -> dict[str, Timing]:
    """One process' final round of takers with these times; noise only ever adds."""
    draw, now = random.Random(seed), 0

    def taker(mean: float) -> Callable[[], float]:
        def run() -> float:
            nonlocal now
            now += 1
            return mean * (1 + abs(draw.gauss(0, noise))) * machine(draw, now)

        return run

    runs = {str(number): taker(mean) for number, mean in enumerate(means)}
    return timing.interleaved(
        runs,
        rounds=ROUNDS,
        regime="memory",
        batch=1,
        watch=Simulated(),
        least=contest.FIRST,
        until=contest.Referee(list(runs)),
        seed=seed,
    )


def samples(timings: dict[str, Timing]) -> dict[str, Sequence[float]]:
    return {name: each.samples for name, each in timings.items()}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("apart", [0.0, 0.002, 0.01, 0.05])
def test_twenty_processes_agree_or_declare_a_tie(machine: Machine, apart: float) -> None:
    means = [1.0 + apart, 1.0, 1.03, 1.03 + apart, 1.08, 1.2]
    stands = [contest.standing(samples(session(means, 0.01, machine, seed))) for seed in range(20)]
    best = "1" if apart else None
    for stand in stands:
        assert best in (None, stand.leader) or best in stand.tied, "the best one lost"
        assert stand.leader in ("0", "1"), "who is 3 % slower led"
    sure = {stand.leader for stand in stands if not stand.tied}
    assert len(sure) < 2, "two processes are sure of different winners"
    if apart >= 0.05:
        assert all(stand.leader == "1" and not stand.tied for stand in stands), "5 % is no tie"


def test_a_difference_that_everybody_sees_ends_the_rounds_early() -> None:
    timings = session([1.0, 1.1, 1.2], 0.002, quiet, 0)
    assert len(timings["0"].samples) < ROUNDS / 4
    long = session([1.0, 1.001, 1.2], 0.02, quiet, 0)
    assert len(long["0"].samples) > 3 * len(timings["0"].samples)


def test_the_leaders_time_has_a_narrow_interval() -> None:
    for seed in range(5):
        timings = session([1.0, 1.1], 0.01, quiet, seed)
        best = timings["0"]
        assert max(best.high - best.median, best.median - best.low) <= contest.NARROW * best.median


def test_a_level_rival_is_no_open_one() -> None:
    found = contest.standing(samples(session([1.0, 1.0001, 1.5], 0.0005, quiet, 0)))
    assert (set(found.level) | {found.leader}, found.open) == ({"0", "1"}, ())


def test_few_rounds_beat_nobody() -> None:
    found = contest.standing({"a": [1.0] * (contest.FIRST - 1), "b": [2.0] * (contest.FIRST - 1)})
    assert (found.leader, found.open) == ("a", ("b",))
    found = contest.standing({"a": [1.0] * contest.FIRST, "b": [2.0] * contest.FIRST})
    assert (found.leader, found.tied) == ("a", ())


def test_a_referee_looks_at_few_rounds_only() -> None:
    referee, looks = contest.Referee(["a"]), []
    for rounds in range(1, 100):
        # Two values in turns have an interval that is never narrow.
        assert not referee({"a": [1.0, 2.0] * (rounds // 2) + [1.0] * (rounds % 2)})
        looks.append(referee._next)
    assert len(set(looks)) <= 13
    assert contest.Referee([])({"vendor": [1.0] * contest.FIRST}), "nobody competes: nothing to wait for"


@pytest.mark.parametrize(
    ("given", "before", "after", "said"),
    [
        ([[1.0] * 12, [2.0] * 12], "1980 MHz, 300 W", "1975 MHz, 310 W", ""),
        ([[1.0] * 12], "1980 MHz, 300 W", "1650 MHz, 690 W", "the clock fell from 1980 to 1650 MHz"),
        ([[1.0] * 9 + [1.2] * 3, [2.0] * 9 + [2.4] * 3], "", "", "3 of 12 rounds slow for all, by up to 20%"),
        ([[1.0 + 0.003 * n for n in range(12)] for _ in range(2)], "", "", "a drift of +2%"),
        ([[1.0] * 11 + [1.9], [2.0] * 12, [3.0] * 12], "", "", "1 of 36 samples are outliers"),
    ],
)
def test_what_disturbed_a_round_is_said(given: list[list[float]], before: str, after: str, said: str) -> None:
    assert contest.disturbances({str(n): each for n, each in enumerate(given)}, before, after) == said


def test_nothing_disturbs_nobody() -> None:
    assert contest.disturbances({}) == ""
