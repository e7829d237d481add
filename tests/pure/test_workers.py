"""Time limits of requests, and streams that are given up, without a child process."""

from __future__ import annotations

import operator
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tilewright.errors import DeviceError
from tilewright.tuning.workers import Answer, Stream, Worker

pytestmark = pytest.mark.pure


class Silent:
    """A pipe to a child that never answers."""

    def send(self, request: Any) -> None:
        pass

    def poll(self, timeout: float) -> bool:
        return False

    def close(self) -> None:
        pass


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of the time limits, as a list of one number to be set."""
    at = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: at[0])
    return at


@pytest.mark.parametrize(("own", "limit"), [(None, 30.0), (2.0, 2.0), (90.0, 90.0)])
def test_a_request_may_have_a_time_limit_of_its_own(
    own: float | None, limit: float, now: list[float]
) -> None:
    worker = Worker(lambda: str, timeout=30.0)
    worker._pipe = Silent()  # type: ignore[assignment]
    worker.send("work", timeout=own)
    now[0] += limit - 0.01
    assert worker.receive() is None
    assert worker.busy
    now[0] += 0.02
    assert worker.receive() == Answer("work", "timeout", detail=f"no answer within {limit:g} s")
    assert not worker.busy


def test_a_worker_with_room_takes_a_request_behind_another(now: list[float]) -> None:
    class Talking(Silent):
        answers: ClassVar[list[Any]] = []

        def poll(self, timeout: float) -> bool:
            return bool(self.answers)

        def recv(self) -> Any:
            return self.answers.pop(0)

    worker = Worker(lambda: str, timeout=30.0, room=2)
    worker._pipe = Talking()  # type: ignore[assignment]
    worker.send("first")
    assert worker.free
    worker.send("second", timeout=2.0)
    assert not worker.free
    now[0] += 9.0
    Talking.answers.append(("ok", 1, ""))
    assert worker.receive() == Answer("first", "ok", 1)
    assert worker.busy
    assert worker.free
    now[0] += 1.99
    assert worker.receive() is None, "its time began when it came to the front"
    worker.send("third")
    now[0] += 0.02
    assert worker.receive() == Answer("second", "timeout", detail="no answer within 2 s")
    assert not worker.busy, "what was behind it went with it"


def test_nothing_goes_behind_what_a_child_is_to_be_told_first(now: list[float]) -> None:
    worker = Worker(lambda: str, timeout=30.0, room=2)
    worker._pipe = Silent()  # type: ignore[assignment]
    worker.prepare("setup")
    worker.send("work")
    assert not worker.free


class Slow:
    """A worker that is given requests and never has an answer."""

    pipe = None
    gone = False

    def __init__(self) -> None:
        self.request: Any = None
        self.stopped = 0

    @property
    def busy(self) -> bool:
        return self.request is not None

    def send(self, request: Any) -> None:
        self.request = request

    def receive(self) -> None:
        return None

    def stop(self) -> None:
        self.request, self.stopped = None, self.stopped + 1


def test_a_stream_that_is_dropped_ends_the_workers_that_are_busy_and_no_others() -> None:
    team: Any = [Slow(), Slow(), Slow()]
    requests = iter(range(2))
    stream = Stream(team, requests, ahead=9)
    stream.advance()
    assert [worker.busy for worker in team] == [True, True, False]
    stream.drop()
    assert [worker.busy for worker in team] == [False] * 3
    assert [worker.stopped for worker in team] == [1, 1, 0]
    assert list(stream) == []


def test_a_child_that_cannot_be_started_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Children begin where their parent is, and that may be gone."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    worker = Worker(operator.attrgetter, ("real",))
    for _ in range(2):
        with pytest.raises(DeviceError, match=r"no child process can be started: .*accepted: a working dir"):
            worker.ask(1)
        worker.stop()
    monkeypatch.chdir(tmp_path)
    assert worker.ask(1).value == 1
    worker.stop()
