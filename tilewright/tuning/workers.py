"""Child processes that may die: candidates are compiled and first run in them, never in the caller.

A worker is a process that keeps state between requests. A request that kills it (an assertion in a
compiler, a bad address) or does not return in time costs that request: its answer says so, and the
next request gets a fresh process.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from types import ModuleType
from typing import Any

Factory = Callable[..., Callable[[Any], Any]]


class Fatal(Exception):
    """Raised by a handler whose process is of no more use (its device's context is lost, say): the
    answer says ``crashed``, and the next request gets a fresh process."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request: ``ok`` (with ``value``), ``failed``, ``crashed`` or ``timeout``."""

    request: Any
    status: str
    value: Any = None
    detail: str = ""


def _serve(pipe: Connection, factory: Factory, arguments: tuple[Any, ...]) -> None:
    """The child: build the handler, then answer requests until the pipe closes."""
    handler = None
    with suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while True:
            request = pipe.recv()
            try:
                if handler is None:
                    handler = factory(*arguments)
                answer = ("ok", handler(request), "")
            except Fatal as error:
                pipe.send(("crashed", None, str(error)))
                return
            except Exception as error:
                answer = ("failed", None, f"{type(error).__name__}: {error}")
            pipe.send(answer)


class Worker:
    """One child process: ``factory(*arguments)`` is called in it once and gives the handler of requests."""

    def __init__(
        self,
        factory: Factory,
        arguments: tuple[Any, ...] = (),
        *,
        timeout: float = 30.0,
        environment: Mapping[str, str] | None = None,
    ):
        self._factory, self._arguments = factory, arguments
        self.timeout, self._environment = timeout, dict(environment or {})
        self._process: Any = None
        self._pipe: Connection | None = None
        self.request: Any = None
        self._deadline = self._patience = 0.0

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        before = {name: os.environ.get(name) for name in self._environment}
        os.environ.update(self._environment)
        main = sys.modules["__main__"]
        if self._factory.__module__ != "__main__":
            # The child would run the caller's script again, and one without a main guard start itself anew.
            sys.modules["__main__"] = ModuleType("__main__")
        try:
            self._process = context.Process(
                target=_serve, args=(theirs, self._factory, self._arguments), daemon=True
            )
            self._process.start()
        finally:
            sys.modules["__main__"] = main
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
        theirs.close()
        self._pipe = ours
        return ours

    @property
    def busy(self) -> bool:
        """Whether a request is in the child."""
        return self.request is not None

    @property
    def alive(self) -> bool:
        """Whether there is a child, with what it has been told so far."""
        return self._pipe is not None

    @property
    def pipe(self) -> Connection | None:
        """What becomes readable when the child answers or ends; None without a child."""
        return self._pipe

    def send(self, request: Any, timeout: float | None = None) -> None:
        """Hand a request to the child, starting it first if need be; ``timeout`` seconds for this one."""
        pipe = self._pipe or self._start()
        self.request = request
        self._patience = self.timeout if timeout is None else timeout
        self._deadline = time.monotonic() + self._patience
        try:
            pipe.send(request)
        except OSError:
            pass  # The child is gone: ``receive`` says so.
        except BaseException:
            self.request = None  # It cannot be sent at all, and the child is waiting for another.
            raise

    def receive(self) -> Answer | None:
        """The answer to the request in the child; None while there is none and time is left."""
        assert self._pipe is not None
        request = self.request
        if self._pipe.poll(0):
            try:
                status, value, detail = self._pipe.recv()
            except (EOFError, OSError):
                self._process.join(5)
                code = self._process.exitcode
                self.stop()
                return Answer(request, "crashed", detail=f"the process ended with exit code {code}")
            self.request = None
            if status == "crashed":
                self.stop()
            return Answer(request, status, value, detail)
        if time.monotonic() > self._deadline:
            self.stop()
            return Answer(request, "timeout", detail=f"no answer within {self._patience:g} s")
        return None

    def ask(self, request: Any, timeout: float | None = None, meanwhile: Stream | None = None) -> Answer:
        """Send and wait; a stream that is given is kept going the while."""
        self.send(request, timeout)
        while (answer := self.receive()) is None:
            if meanwhile is not None:
                meanwhile.advance()
            pipes = [self._pipe, *(meanwhile.pipes() if meanwhile else ())]
            wait([pipe for pipe in pipes if pipe is not None], timeout=0.1)
        return answer

    def stop(self) -> None:
        """End the child. The next request starts another."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._pipe = self._process = self.request = None


class Stream:
    """Answers as they come, the requests spread over the workers.

    A worker gets a new request while fewer than ``ahead`` answers lie unread. That happens whenever the
    next answer is asked for, and in ``advance``, which who reads the answers slowly calls in between.
    """

    def __init__(self, workers: Sequence[Worker], requests: Iterable[Any], ahead: int):
        self._workers, self._requests, self._ahead = workers, iter(requests), ahead
        self._ready: deque[Answer] = deque()
        self._exhausted = False

    def advance(self) -> None:
        """Take in what has been answered and hand out what is next; never waits."""
        for worker in self._workers:
            if worker.busy and (answer := worker.receive()) is not None:
                self._ready.append(answer)
        for worker in self._workers:
            if not worker.busy and not self._exhausted and len(self._ready) < self._ahead:
                try:
                    worker.send(next(self._requests))
                except StopIteration:
                    self._exhausted = True

    def pipes(self) -> list[Connection]:
        """What becomes readable when a worker answers."""
        return [w.pipe for w in self._workers if w.busy and w.pipe is not None]

    def drop(self, patience: float = 0.0) -> None:
        """Give up what is left: wait ``patience`` seconds for workers that are busy, then end them."""
        self._exhausted = True
        deadline = time.monotonic() + patience
        while (pipes := self.pipes()) and time.monotonic() < deadline:
            wait(pipes, timeout=0.05)
            self.advance()
        for worker in self._workers:
            if worker.busy:
                worker.stop()
        self._ready.clear()

    def __iter__(self) -> Iterator[Answer]:
        return self

    def __next__(self) -> Answer:
        while True:
            self.advance()
            if self._ready:
                return self._ready.popleft()
            if not any(worker.busy for worker in self._workers):
                if self._exhausted:
                    raise StopIteration
                continue
            wait(self.pipes(), timeout=0.05)


def stream(workers: Sequence[Worker], requests: Iterable[Any], ahead: int) -> Stream:
    """Answers to all requests, at most ``ahead`` of them unread: see ``Stream``."""
    return Stream(workers, requests, ahead)
