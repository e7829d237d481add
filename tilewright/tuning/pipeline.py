"""From compilers to devices: what was compiled goes to whichever measuring worker is free.

Each worker owns a device, or a share of one. One that is gone, or cannot make the operands, leaves the
rotation, and what it was at goes to another; what ends ``LIVES`` workers counts as their end's cause.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from tilewright.errors import TilewrightError
from tilewright.model import Record
from tilewright.tuning.farm import Bench, Farm
from tilewright.tuning.workers import LIVES, Answer

GONE_FOR_GOOD = ("lost", "adrift", "unprepared")
"""What a worker says that is of no more use for this problem."""


class Source(Protocol):
    """Where candidates come from: ``workers.Stream``."""

    @property
    def done(self) -> bool:
        """Whether nothing is left that could come."""

    def poll(self) -> Answer | None:
        """The next candidate if there is one."""

    def advance(self) -> None:
        """Take in what has been compiled and hand out what is next."""

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
    """The measuring workers of a tuner, whoever of the farm is there."""

    def __init__(self, farm: Farm):
        self.farm = farm
        self.account = Account()
        self._last = 0.0
        self._setup: tuple[Any, float] | None = None
        # By identity: those that were told of the problem, and those that are of no more use for it.
        self._told: dict[int, Bench] = {}
        self._left: dict[int, Bench] = {}

    @property
    def usable(self) -> list[Bench]:
        """Those in the rotation, all of them told what the problem is."""
        self.farm.refresh()
        found = [bench for bench in self.farm.benches if id(bench) not in self._left]
        for bench in found:
            if self._setup is not None and id(bench) not in self._told:
                bench.prepare(*self._setup)
                self._told[id(bench)] = bench
        return found

    def prepare(self, request: Any, timeout: float) -> None:
        """Have all of them make the operands of a problem at once. Raises ``TilewrightError`` where none
        can, with the reason of the last."""
        begin = time.monotonic()
        self._setup, self._told, self._left = (request, timeout), {}, {}
        waiting = dict.fromkeys(self._rotation(""), 1)
        number = len(waiting)
        for bench in waiting:
            bench.send(request, timeout)
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
                if answer.status != "ok":
                    self._leave(bench, answer)
            wait(_pipes(waiting), timeout=0.05)
        self.account.busy += (time.monotonic() - begin) * number

    def ask(self, request: Any, timeout: float | None = None) -> Answer:
        """One request to one of them, and its answer."""
        begin, deaths = time.monotonic(), 0
        while True:
            bench = self._rotation("")[0]
            answer = bench.ask(request, timeout)
            deaths += answer.status == "lost"
            if answer.status not in GONE_FOR_GOOD or deaths >= LIVES:
                self.account.busy += time.monotonic() - begin
                return replace(answer, status="crashed") if answer.status == "lost" else answer
            self._leave(bench, answer)

    def through(
        self,
        built: Source,
        admit: Callable[[Answer], Record | Measurement],
        done: Callable[[Measurement, Answer], Record],
        begun: Callable[[Measurement], None] = lambda at: None,
    ) -> Iterator[Record]:
        """Records of candidates as they come. ``admit`` says what was compiled and goes to a device, and the
        record of what does not; ``begun`` is told of each as a device comes to it, and ``done`` makes the
        record of one that was there. Raises ``TilewrightError`` when no worker is left."""
        running: dict[Bench, deque[Measurement]] = {}
        again: deque[Measurement] = deque()
        # Until one was right, nobody can say from when on another is not worth its time.
        right = False
        self._last = time.monotonic()
        try:
            while True:
                self._tick(len(running))
                ready: list[Record] = []
                for bench in list(running):
                    while bench in running and (answer := bench.receive()) is not None:
                        at = running[bench].popleft()
                        if not bench.busy:
                            # A child that ended leaves what it was not yet at.
                            again.extend(running.pop(bench))
                        else:
                            begun(running[bench][0])
                        if answer.status in GONE_FOR_GOOD:
                            self._leave(bench, answer)
                        if answer.status in GONE_FOR_GOOD or answer.status == "killed":
                            at.deaths += answer.status in ("lost", "killed")
                            if at.deaths < LIVES:
                                again.append(at)
                                continue
                            answer = replace(answer, status="crashed")
                        ready.append(done(at, answer))
                        right = right or ready[-1].status == "ok"
                self._tick(len(running))
                # Devices go on before what they found is written, and before compilers are given more to do.
                while free := [
                    bench for bench in self._rotation("") if bench.free and (right or bench not in running)
                ]:
                    if again:
                        found: Record | Measurement = again.popleft()
                    elif (candidate := built.poll()) is not None:
                        found = admit(candidate)
                    else:
                        break
                    if isinstance(found, Record):
                        ready.append(found)
                        continue
                    bench = min(free, key=lambda each: len(running.get(each, ())))
                    if bench not in running:
                        begun(found)
                    bench.send(found.request)
                    running.setdefault(bench, deque()).append(found)
                yield from ready
                built.advance()
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
        self.account.waited += passed * max(0, len(self.farm.benches) - len(self._left) - running)

    def _leave(self, bench: Bench, answer: Answer) -> None:
        """A worker leaves the rotation. Raises ``TilewrightError`` when it was the last and none comes."""
        if answer.status == "unprepared":
            self._left[id(bench)] = bench
        else:
            self.farm.benches[:] = [each for each in self.farm.benches if each is not bench]
        self._rotation(answer.detail)

    def _rotation(self, reason: str) -> list[Bench]:
        """The usable ones, at least one."""
        while not (found := self.usable):
            # Who is there and is not usable could not make the operands: the next one will not either.
            if self.farm.benches or not self.farm.more():
                raise TilewrightError(reason or "no measuring worker is left")
        return found


def _pipes(benches: Iterable[Bench]) -> list[Connection]:
    return [bench.pipe for bench in benches if bench.pipe is not None]
