"""Measuring workers in rotation: who is lost, killed or unprepared, and what becomes of the tries."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pytest

from tilewright.catalog import TARGETS
from tilewright.errors import ArgumentError, ClusterGone, TilewrightError
from tilewright.model import Config, Device, GroupedProblem, Problem, Record
from tilewright.targets.cuda.capability import named
from tilewright.tuning import fleet, pipeline, workers
from tilewright.tuning.farm import Farm
from tilewright.tuning.fleet import Team, numbers, teams
from tilewright.tuning.gemm.jobs import TuningJob
from tilewright.tuning.pipeline import Benches, Measurement
from tilewright.tuning.workers import LIVES, Answer, Stream

pytestmark = pytest.mark.pure

ROW = Record(Problem.parse("d:8x8x8")[0], "memory", "tile", Config({"n": 0}), "ok", "device", "llvm 1")


@pytest.fixture(autouse=True)
def _nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers here answer at once, and have no pipes that could say so."""
    for module in (pipeline, workers):
        monkeypatch.setattr(module, "wait", lambda *_, **__: [])


@dataclass(eq=False)
class Fake:
    """A worker that answers at once, with these statuses first and ``ok`` from then on; ``by``: what it says
    of some requests, always."""

    statuses: deque[str] = field(default_factory=deque)
    by: dict[Any, str] = field(default_factory=dict)
    request: Any = None
    asked: list[Any] = field(default_factory=list)
    setup: Any = None
    stopped: int = 0
    pipe: None = None
    gone: bool = False

    @property
    def busy(self) -> bool:
        return self.request is not None

    @property
    def free(self) -> bool:
        return not self.busy

    def prepare(self, request: Any, timeout: float | None = None) -> None:
        self.setup = request

    def send(self, request: Any, timeout: float | None = None) -> None:
        self.request = request
        self.asked.append(request)

    def receive(self) -> Answer:
        request, self.request = self.request, None
        status = self.by.get(request) or (self.statuses.popleft() if self.statuses else "ok")
        return Answer(request, status, detail=f"it is {status}")

    def ask(self, request: Any, timeout: float | None = None) -> Answer:
        self.send(request, timeout)
        return self.receive()

    def stop(self) -> None:
        self.stopped += 1


class Built:
    """Candidates that are compiled already."""

    def __init__(self, names: Iterable[int]):
        self.names = deque(names)

    @property
    def done(self) -> bool:
        return not self.names

    def poll(self) -> Answer | None:
        return Answer(self.names.popleft(), "ok") if self.names else None

    def advance(self) -> None:
        pass

    def pipes(self) -> list[Any]:
        return []


def admit(answer: Answer) -> Measurement:
    return Measurement(replace(ROW, config=Config({"n": answer.request})), answer.request)


def done(at: Measurement, answer: Answer) -> Record:
    return replace(at.base, status=answer.status)


def through(benches: Benches, *names: int) -> dict[int, str]:
    rows = list(benches.through(Built(names), admit, done))
    assert len(rows) == len(names), "each once"
    return {row.config["n"]: row.status for row in rows}


def test_several_workers_share_what_there_is_each_try_once() -> None:
    pair = [Fake(), Fake()]
    benches = Benches(Farm([], list(pair)))
    benches.prepare("operands", 9.0)
    assert through(benches, *range(8)) == dict.fromkeys(range(8), "ok")
    assert [one.asked[0] for one in pair] == ["operands"] * 2
    assert sorted(pair[0].asked[1:] + pair[1].asked[1:]) == list(range(8))
    assert all(len(one.asked) > 2 for one in pair)


@pytest.mark.parametrize("status", ["lost", "adrift", "unprepared"])
def test_what_a_worker_was_at_that_is_gone_goes_to_another(status: str) -> None:
    bad, good = Fake(by={0: status}), Fake()
    benches = Benches(Farm([], [bad, good]))
    assert through(benches, 0, 1, 2) == dict.fromkeys(range(3), "ok")
    assert bad.asked == [0], "it was asked no more"


@dataclass(eq=False)
class Roomy(Fake):
    """One that takes a second request behind the first, and ends with both where the first ends it."""

    behind: deque[Any] = field(default_factory=deque)

    @property
    def free(self) -> bool:
        return not self.behind

    def send(self, request: Any, timeout: float | None = None) -> None:
        if self.request is None:
            super().send(request, timeout)
        else:
            self.behind.append(request)

    def receive(self) -> Answer | None:
        if self.request is None:
            return None
        answer = super().receive()
        if answer.status != "ok":
            self.behind.clear()
        elif self.behind:
            super().send(self.behind.popleft())
        return answer


def test_a_worker_with_room_has_the_next_try_at_hand() -> None:
    worker, at = Roomy(), []
    benches = Benches(Farm([], [worker]))
    rows = list(benches.through(Built(range(6)), admit, done, lambda made: at.append(made.request)))
    assert [row.config["n"] for row in rows] == worker.asked == at == list(range(6))
    assert not worker.busy


@pytest.mark.parametrize("status", ["killed", "crashed", "timeout"])
def test_what_was_behind_the_one_that_ended_a_worker_is_tried_and_not_blamed(status: str) -> None:
    worker = Roomy(by={0: status})
    assert through(Benches(Farm([], [worker])), 0, 1, 2) == {
        0: "crashed" if status == "killed" else status,
        1: "ok",
        2: "ok",
    }
    assert worker.asked.count(1) == 1


def test_what_ends_its_workers_is_at_fault_and_who_was_ended_once_is_not() -> None:
    benches = Benches(Farm([], [Fake(by={1: "killed"}), Fake(by={1: "killed"})]))
    assert through(benches, 0, 1, 2) == {0: "ok", 1: "crashed", 2: "ok"}
    one = Fake(statuses=deque(["killed"] * (LIVES - 1)))
    assert through(Benches(Farm([], [one])), 7) == {7: "ok"}
    assert one.asked == [7] * LIVES


def test_a_way_that_was_lost_is_held_against_no_try() -> None:
    many = [Fake(by={0: "adrift"}) for _ in range(2 * LIVES)]
    assert through(Benches(Farm([], [*many, Fake()])), 0) == {0: "ok"}


def test_without_a_worker_the_run_ends_or_waits_for_one() -> None:
    farm = Farm([], [Fake(statuses=deque(["lost"]))])
    with pytest.raises(TilewrightError, match="it is lost"):
        through(Benches(farm), 0)
    later = Fake()
    farm = Farm([], [Fake(statuses=deque(["ok", "lost"]))])
    farm.more = lambda: farm.benches.append(later) or True
    benches = Benches(farm)
    benches.prepare("operands", 9.0)
    assert through(benches, 0) == {0: "ok"}
    assert later.setup == "operands"


def test_operands_that_no_worker_can_make_end_the_run() -> None:
    benches = Benches(Farm([], [Fake(statuses=deque(["unprepared"])), Fake(statuses=deque(["unprepared"]))]))
    with pytest.raises(TilewrightError, match="it is unprepared"):
        benches.prepare("operands", 9.0)


def test_a_run_that_is_given_up_ends_what_is_measured() -> None:
    class Slow(Fake):
        def receive(self) -> Answer | None:
            return None if self.request == 1 else super().receive()

    slow = [Slow(), Slow()]
    rows: Iterator[Record] = Benches(Farm([], list(slow))).through(Built([0, 1]), admit, done)
    next(rows)
    rows.close()
    assert sorted(one.stopped for one in slow) == [0, 1]


def test_a_request_whose_compiler_was_ended_is_made_again() -> None:
    request, poison = ("good",), ("poison",)
    worker: Any = Fake(statuses=deque(["killed", "adrift", "adrift", "lost"]), by={poison: "killed"})
    answers = {answer.request: answer.status for answer in Stream([worker], [request, poison], ahead=9)}
    assert answers == {request: "ok", poison: "crashed"}


def test_an_answer_among_requests_needs_no_compiler() -> None:
    worker, at_hand = Fake(), Answer("second", "ok", "at hand")
    team: Any = [worker]
    answers = {answer.request: answer for answer in Stream(team, ["first", at_hand, "third"], ahead=9)}
    assert sorted(answers) == ["first", "second", "third"]
    assert answers["second"] is at_hand
    assert worker.asked == ["first", "third"]


def test_a_compiler_that_is_gone_is_given_nothing_more() -> None:
    class Leaving(Fake):
        def receive(self) -> Answer:
            self.gone = True
            return super().receive()

    bad, good = Leaving(by={"one": "lost"}), Fake()
    team: Any = [bad, good]
    answers = {answer.request: answer.status for answer in Stream(team, ["one", "two", "three"], ahead=9)}
    assert answers == dict.fromkeys(["one", "two", "three"], "ok")
    assert bad.asked == ["one"]


@pytest.mark.parametrize(
    ("text", "found"), [("all", [0, 1, 2]), ("2,0", [2, 0]), ("1", [1]), ([1, 1, 2], [1, 2])]
)
def test_gpus_by_number(text: Any, found: list[int]) -> None:
    assert numbers(text, 3) == found


@pytest.mark.parametrize("text", ["", "3", "-1", "one", "0,7", []])
def test_gpus_that_are_none_are_named(text: Any) -> None:
    with pytest.raises(ArgumentError, match=r"gpus=.*accepted: all, or numbers from 0 to 2"):
        numbers(text, 3)
    with pytest.raises(ArgumentError, match=r"gpus='all'.*no GPU is here"):
        numbers("all", 0)


def test_like_devices_are_a_team() -> None:
    found = [replace(Device("cuda", key, key, {}), index=at) for at, key in enumerate("aba")]
    assert [(team.device.key, team.numbers) for team in teams(found)] == [("a", (0, 2)), ("b", (1,))]


CPU = Device("cpu", "A processor", "made-up-avx512", dict.fromkeys(("cores", "l1d", "l2", "l3"), 1 << 20))


def test_each_team_does_what_a_kernel_of_its_kind_accepts() -> None:
    both, listed = Problem.parse("d:8x8x8")[0], GroupedProblem.parse("d:8x8x8@10+16x16x16@5")
    jobs = [TuningJob(both, "memory", 1.0), TuningJob(listed, "memory", 1.0)]
    assert fleet.shared(jobs, [Team(named("h200")), Team(CPU)]) == [jobs, jobs[:1]]
    with pytest.raises(ArgumentError, match=r"no stencil accepts it on any of made-up-avx512"):
        fleet.shared(jobs, [Team(CPU), Team(CPU)])


class Going:
    """A tuner whose cluster goes away after the first job of the first tuner."""

    made: ClassVar[list[tuple[Any, list[Any]]]] = []

    def __init__(self, device: Device, records: Any, *, farm: Any = "here", **rest: Any):
        self.did: list[Any] = []
        self.farm = farm
        self.made.append((farm, self.did))

    def __enter__(self) -> Going:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def tune(self, problem: Any, regime: str, **options: Any) -> Any:
        if self.farm != "here" and self.did:
            raise ClusterGone("cluster='tcp://far:1': no scheduler for 60 s")
        self.did.append((problem.spelling, options["place"]))
        return problem.spelling


def test_a_cluster_that_stays_away_leaves_its_jobs_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet.tuner, "Tuner", Going)
    monkeypatch.setattr(Going, "made", [])
    jobs = [TuningJob(Problem.parse(f"d:{n}x{n}x{n}")[0], "memory", 1.0) for n in (2, 3, 4)]
    far, asked = Team(CPU, farm=lambda: "far"), dict.fromkeys(("search", "budget", "tries", "again"))  # type: ignore[arg-type,return-value]
    monkeypatch.setattr(fleet, "instead", lambda team: None)
    with pytest.raises(ClusterGone):
        fleet.tuned(jobs, [far], None, effort="quick", **asked)  # type: ignore[arg-type]
    monkeypatch.setattr(fleet, "instead", lambda team: Team(CPU))
    Going.made.clear()
    with pytest.warns(RuntimeWarning, match=r"far:1.*; 2 of 3 jobs of made-up-avx512 go on on this machine$"):
        found = fleet.tuned(jobs, [far], None, effort="quick", **asked)  # type: ignore[arg-type]
    assert found == [job.problem.spelling for job in jobs]
    (_, there), (where, here) = Going.made
    assert (len(there), where, [place for _, place in here]) == (1, "here", [(1, 3), (2, 3)])


def test_devices_that_stand_in_are_like_those_that_are_missed() -> None:
    own = TARGETS["cpu"].probe()
    assert fleet.instead(Team(own, farm=lambda: Farm([], []))) == Team(own)
    assert fleet.instead(Team(CPU)) is None
