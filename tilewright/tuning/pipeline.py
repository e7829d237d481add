"""From compilers to devices: what was compiled goes to whichever measuring worker is free.

Each worker owns a device, or a share of one. One that is gone, or cannot make the operands, leaves the
rotation, and what it was at goes to another; what ends ``LIVES`` workers counts as their end's cause.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from tilewright.errors import TilewrightError
from tilewright.model import Record
from tilewright.tuning.workers import LIVES, Answer


class Bench(Protocol):
    """A measuring worker: ``workers.Worker``, or one of another machine (``tuning.cluster``)."""

    @property
    def busy(self) -> bool:
        """Whether it has a request."""

    @property
    def pipe(self) -> Connection | None:
        """What becomes readable when there is news of its request."""

    def prepare(self, request: Any, timeout: float | None = None) -> None:
        """What it is to be told before any other request."""

    def send(self, request: Any, timeout: float | None = None) -> None:
        """Hand it a request."""

    def receive(self) -> Answer | None:
        """The answer, if there is one."""

    def ask(self, request: Any, timeout: float | None = None) -> Answer:
        """Send and wait."""

    def stop(self) -> None:
        """Give up what it is at."""


class Source(Protocol):
    """Where candidates come from: ``workers.Stream``."""

    @property
    def done(self) -> bool:
        """Whether nothing is left that could come."""

    def poll(self) -> Answer | None:
        """The next candidate if there is one."""

    def pipes(self) -> list[Connection]:
        """What becomes readable when there is news."""


@dataclass(slots=True)
class Measurement:
    """A try that goes to a device: what its record says so far, the request, and what it has cost."""

    base: Record
    request: Any
    deaths: int = 0


@dataclass(slots=True)
class Account:
    """Seconds that measuring workers worked, and that they waited for a compiler, all together."""

    busy: float = 0.0
    waited: float = 0.0


class Benches:
    """The measuring workers of a tuner."""

    def __init__(self, benches: Sequence[Bench]):
        self.all = list(benches)
        self.usable = list(benches)
        self.account = Account()
        self._last = 0.0

    def prepare(self, request: Any, timeout: float) -> None:
        """Have all of them make the operands of a problem at once. Raises ``TilewrightError`` where none
        can, with the reason of the first."""
        begin = time.monotonic()
        for bench in self.all:
            bench.prepare(request, timeout)
            bench.send(request, timeout)
        waiting, said = dict.fromkeys(self.all, 1), dict[int, Answer]()
        while waiting:
            for bench in list(waiting):
                answer = bench.receive()
                if answer is None:
                    continue
                if answer.status == "killed" and waiting[bench] < LIVES:
                    waiting[bench] += 1
                    bench.send(request, timeout)
                    continue
                del waiting[bench]
                said[id(bench)] = answer
            wait(_pipes(waiting), timeout=0.05)
        self.usable = [bench for bench in self.all if said[id(bench)].status == "ok"]
        self.account.busy += (time.monotonic() - begin) * len(self.usable)
        if not self.usable:
            raise TilewrightError(said[id(self.all[0])].detail)

    def ask(self, request: Any, timeout: float | None = None) -> Answer:
        """One request to one of them, and its answer."""
        begin = time.monotonic()
        while True:
            bench = self.usable[0]
            answer = bench.ask(request, timeout)
            if answer.status not in ("lost", "unprepared"):
                self.account.busy += time.monotonic() - begin
                return answer
            self._leave(bench, answer)

    def through(
        self,
        built: Source,
        admit: Callable[[Answer], Record | Measurement],
        done: Callable[[Measurement, Answer], Record],
    ) -> Iterator[Record]:
        """Records of candidates as they come. ``admit`` says what was compiled and goes to a device, and the
        record of what does not; ``done`` makes the record of one that was there. Raises ``TilewrightError``
        when no worker is left."""
        running: dict[Bench, Measurement] = {}
        again: deque[Measurement] = deque()
        self._last = time.monotonic()
        try:
            while True:
                self._tick(len(running))
                for bench in list(running):
                    answer = bench.receive()
                    if answer is None:
                        continue
                    at = running.pop(bench)
                    if answer.status in ("lost", "unprepared"):
                        self._leave(bench, answer)
                    if answer.status in ("lost", "unprepared", "killed"):
                        at.deaths += answer.status != "unprepared"
                        if at.deaths < LIVES:
                            again.append(at)
                            continue
                        answer = replace(answer, status="crashed")
                    yield done(at, answer)
                self._tick(len(running))
                for bench in self.usable:
                    while bench not in running:
                        if again:
                            found: Record | Measurement = again.popleft()
                        elif (candidate := built.poll()) is not None:
                            found = admit(candidate)
                        else:
                            break
                        if isinstance(found, Record):
                            yield found
                        else:
                            bench.send(found.request)
                            running[bench] = found
                if not running and not again and built.done:
                    return
                wait([*_pipes(running), *built.pipes()], timeout=0.1)
        finally:
            for bench in running:
                bench.stop()

    def _tick(self, running: int) -> None:
        """Count the seconds since this was last called, in which so many workers had something to do."""
        passed, self._last = time.monotonic() - self._last, time.monotonic()
        self.account.busy += passed * running
        self.account.waited += passed * (len(self.usable) - running)

    def _leave(self, bench: Bench, answer: Answer) -> None:
        """A worker leaves the rotation. Raises ``TilewrightError`` when it was the last."""
        self.usable = [each for each in self.usable if each is not bench]
        if not self.usable:
            raise TilewrightError(f"no measuring worker is left: {answer.detail}")

    def stop(self) -> None:
        """End all of them."""
        for bench in self.all:
            bench.stop()


def _pipes(benches: Iterable[Bench]) -> list[Connection]:
    return [bench.pipe for bench in benches if bench.pipe is not None]
