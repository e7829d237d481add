"""The timing protocol on made-up clocks."""

import gc
import random

import pytest

from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Timing
from tilewright.tuning import timing as m

pytestmark = pytest.mark.pure


class Fake:
    """A clock that only moves when ``run`` is called, by the next of ``costs`` (the last one for ever)."""

    def __init__(self, *costs: float):
        self.now, self.costs, self.calls = 100.0, list(costs), 0

    def clock(self) -> float:
        return self.now

    def run(self) -> None:
        self.calls += 1
        self.now += self.costs.pop(0) if len(self.costs) > 1 else self.costs[0]


def test_median_interval_drops_the_tabled_ranks():
    # n = 10: ranks 2 and 9 of a 95 % interval (97.9 %); n = 5: all of it; n = 100: ranks 40 and 61.
    assert m.median_interval(range(1, 11)) == (5.5, 2, 9)
    assert m.median_interval([3, 1, 2, 5, 4]) == (3, 1, 5)
    assert m.median_interval(range(1, 101)) == (50.5, 40, 61)
    assert m.median_interval([7.0]) == (7.0, 7.0, 7.0)
    with pytest.raises(ArgumentError):
        m.median_interval([])


@pytest.mark.parametrize("count", [6, 9, 17, 40, 101])
def test_median_interval_covers_the_true_median_of_a_skewed_law(count):
    rng = random.Random(count)
    hits = 0
    for _ in range(2000):
        _, low, high = m.median_interval([rng.expovariate(1.0) for _ in range(count)])
        hits += low <= 0.6931471805599453 <= high
    assert 0.94 <= hits / 2000 <= 0.995


def test_warm_up_is_not_a_sample_and_the_cost_is_found():
    fake = Fake(5.0, 0.002)
    timing = m.measure(fake.run, watch=m.Ticks(fake.clock), regime="memory", batch=7)
    assert timing.median == pytest.approx(0.002)
    assert max(timing.samples) < 1
    assert (timing.regime, timing.batch, timing.protocol) == ("memory", 7, m.ALONE)
    assert len(timing.samples) == 5, "five equal samples are narrow enough"


def test_short_calls_are_repeated_until_a_sample_is_long_enough():
    fake = Fake(1e-6)
    timing = m.measure(fake.run, watch=m.Ticks(fake.clock), regime="cached", batch=1, least=5, most=5)
    assert timing.median == pytest.approx(1e-6, rel=1e-6)
    assert fake.calls > 5 * 0.9 * m.SAMPLE / 1e-6
    long = Fake(2e-3)
    m.measure(long.run, watch=m.Ticks(long.clock), regime="cached", batch=1, least=5, most=5)
    assert long.calls == 1 + 1 + 5


def test_memory_passes_are_never_repeated():
    fake = Fake(1e-6)
    m.measure(fake.run, watch=m.Ticks(fake.clock), regime="memory", batch=1, least=5, most=5)
    assert fake.calls == 1 + 5


def test_noise_asks_for_more_samples_and_most_ends_it():
    rng = random.Random(3)
    fake = Fake(*[0.001 * (1 + 0.2 * rng.random()) for _ in range(500)])
    timing = m.measure(fake.run, watch=m.Ticks(fake.clock), regime="memory", batch=1, most=60, budget=60)
    assert len(timing.samples) == 60
    assert timing.low < timing.median < timing.high
    wide = m.measure(fake.run, watch=m.Ticks(fake.clock), regime="memory", batch=1, target=0.2, budget=60)
    assert len(wide.samples) == 5


@pytest.mark.parametrize("sign", [-1, 1])
def test_samples_that_are_skewed_to_either_side_are_not_narrow(sign):
    """Both ends of the interval count: here nine of ten samples are equal to each other, or nearly."""
    costs = [0.001 * (1 + sign * 0.3 * (number % 5 in (1, 3))) for number in range(400)]
    fake = Fake(*costs)
    timing = m.measure(fake.run, watch=m.Ticks(fake.clock), regime="memory", batch=1, most=9, budget=60)
    assert len(timing.samples) == 9
    assert (timing.median - timing.low if sign < 0 else timing.high - timing.median) > 0.2 * timing.median


def test_budget_ends_a_noisy_measurement_but_not_before_the_least():
    rng = random.Random(5)
    fake = Fake(*[0.001 * (1 + rng.random()) for _ in range(500)])
    timing = m.measure(fake.run, watch=m.Ticks(fake.clock), regime="memory", batch=1, budget=0.0, least=6)
    assert len(timing.samples) == 6


def test_samples_that_are_no_durations_never_get_in():
    fake = Fake(0.001, 0.001, -0.5, 0.0, 0.001)
    timing = m.measure(fake.run, watch=m.Ticks(fake.clock), regime="memory", batch=1)
    assert min(timing.samples) > 0
    assert len(timing.samples) == 5


@pytest.mark.parametrize("regime", m.REGIMES)
def test_a_stuck_clock_is_an_error(regime, monkeypatch):
    monkeypatch.setattr(m, "MOST_REPEATS", 1000)
    with pytest.raises(DeviceError, match="clock"):
        m.measure(lambda: None, watch=m.Ticks(lambda: 1.0), regime=regime, batch=1)
    with pytest.raises(DeviceError, match="clock"):
        m.interleaved({"x": lambda: None}, watch=m.Ticks(lambda: 1.0), regime=regime, batch=1)


def test_a_first_sample_beyond_the_limit_is_the_last():
    fake = Fake(0.001, 0.004, 0.001)
    slow = m.measure(fake.run, watch=m.Ticks(fake.clock), regime="memory", batch=1, early_stop=0.003)
    assert slow.samples == pytest.approx((0.004,))
    assert slow.low == slow.median == slow.high
    # Only the first one is looked at: a later one may be noise.
    fake = Fake(0.001, 0.001, 0.004, 0.001)
    assert (
        len(
            m.measure(fake.run, watch=m.Ticks(fake.clock), regime="memory", batch=1, early_stop=0.003).samples
        )
        >= 5
    )


class Queue(m.Ticks):
    """A stopwatch as an accelerator's: samples of 2 ms in both regimes."""

    def sample(self, regime: str) -> float:
        return 2e-3


@pytest.mark.parametrize("regime", m.REGIMES)
def test_a_stopwatch_says_how_long_a_sample_lasts(regime):
    fake = Fake(1e-5)
    timing = m.measure(fake.run, watch=Queue(fake.clock), regime=regime, batch=1, least=5, most=5)
    assert timing.median == pytest.approx(1e-5, rel=1e-6)
    assert fake.calls > 5 * 200


def test_arguments_are_checked():
    for wrong in ({"regime": "warm"}, {"regime": "cached", "least": 0}, {"regime": "cached", "most": 1}):
        with pytest.raises(ArgumentError):
            m.measure(lambda: None, batch=1, **wrong)


def test_interleaved_pairs_survive_a_drift_that_unpaired_medians_do_not():
    state = {"now": 0.0, "slow": 1.0}

    def run(cost: float):
        def call() -> None:
            state["now"] += cost * state["slow"]
            state["slow"] *= 1.05  # the machine gets slower all the time

        return call

    timings = m.interleaved(
        {"fast": run(1.0), "slow": run(1.25)},
        rounds=40,
        regime="memory",
        batch=3,
        watch=m.Ticks(lambda: state["now"]),
    )
    assert [len(t.samples) for t in timings.values()] == [40, 40]
    middle, low, high = m.ratio(timings["slow"], timings["fast"])
    assert low <= 1.25 <= high
    assert 1.25 / 1.06 <= low <= middle <= high <= 1.25 * 1.06
    assert max(timings["fast"].samples) / min(timings["fast"].samples) > 10


def test_interleaved_goes_in_changing_order_and_takes_bad_rounds_again():
    order: list[str] = []
    now = [0.0]

    def run(name: str):
        def call() -> None:
            order.append(name)
            now[0] += -1.0 if len(order) == 7 else 0.01

        return call

    timings = m.interleaved(
        {"a": run("a"), "b": run("b"), "c": run("c")},
        rounds=8,
        regime="memory",
        batch=1,
        watch=m.Ticks(lambda: now[0]),
    )
    assert all(len(t.samples) == 8 and min(t.samples) > 0 for t in timings.values())
    rounds = {tuple(order[i : i + 3]) for i in range(3, len(order), 3)}
    assert len(order) == 3 + 3 * 9, "warm-up, eight good rounds and a bad one"
    assert len(rounds) > 1


@pytest.mark.parametrize(("regime", "before"), [("cached", 1), ("memory", 0)])
def test_cached_samples_follow_a_call_that_is_not_timed(regime, before):
    """A competitor has left its operands in the cache; the call brings the own ones back."""
    order: list[str] = []
    now = [0.0]

    def run(name: str):
        def call() -> None:
            # The first call after another's is slow: it must not be in a sample.
            now[0] += 2e-3 if order[-1:] == [name] else 1.0
            order.append(name)

        return call

    watch = m.Ticks(lambda: now[0])
    runs = {"a": run("a"), "b": run("b")}
    timings = m.interleaved(runs, rounds=6, regime=regime, batch=1, watch=watch)
    warm_up = order.index("b") * 2
    assert len(order) == warm_up + 6 * 2 * (1 + before)
    if regime == "cached":
        assert all(max(timing.samples) < 0.01 for timing in timings.values())


def test_interleaved_stops_at_the_budget():
    fake = Fake(0.01)
    done = m.interleaved(
        {"a": fake.run}, rounds=50, regime="memory", batch=1, watch=m.Ticks(fake.clock), budget=0.0
    )
    assert len(done["a"].samples) == 5


@pytest.mark.parametrize(
    ("count", "regime", "protocol"),
    [(6, "cached", m.INTERLEAVED), (5, "memory", m.INTERLEAVED), (5, "cached", m.ALONE)],
)
def test_ratio_refuses_timings_that_are_not_paired(count, regime, protocol):
    a = Timing((1.0,) * 5, 1.0, 1.0, 1.0, "cached", 1, m.INTERLEAVED)
    b = Timing((1.0,) * count, 1.0, 1.0, 1.0, regime, 1, protocol)
    assert m.ratio(a, a) == (1, 1, 1)
    for pair in ((a, b), (b, a), (b, b)):
        if pair != (b, b) or protocol == m.ALONE:
            with pytest.raises(ArgumentError):
                m.ratio(*pair)


def test_collector_is_off_while_measuring_and_back_afterwards():
    seen = []
    assert gc.isenabled()
    m.measure(lambda: seen.append(gc.isenabled()), regime="memory", batch=1, most=5)
    assert not any(seen)
    assert gc.isenabled()
