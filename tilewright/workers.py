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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from types import ModuleType
from typing import Any

Factory = Callable[..., Callable[[Any], Any]]


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
        self._deadline = 0.0

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

    def send(self, request: Any) -> None:
        """Hand a request to the child, starting it first if need be."""
        pipe = self._pipe or self._start()
        self.request = request
        self._deadline = time.monotonic() + self.timeout
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
            return Answer(request, status, value, detail)
        if time.monotonic() > self._deadline:
            self.stop()
            return Answer(request, "timeout", detail=f"no answer within {self.timeout:g} s")
        return None

    def ask(self, request: Any) -> Answer:
        """Send and wait."""
        self.send(request)
        while (answer := self.receive()) is None:
            wait([self._pipe], timeout=0.1)  # type: ignore[list-item]
        return answer

    def stop(self) -> None:
        """End the child. The next request starts another."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._pipe = self._process = self.request = None


def stream(workers: list[Worker], requests: Iterable[Any], ahead: int) -> Iterator[Answer]:
    """Answers as they come, the requests spread over the workers, at most ``ahead`` answers unread."""
    waiting = iter(requests)
    ready: deque[Answer] = deque()
    exhausted = False
    while True:
        for worker in workers:
            if not worker.busy and not exhausted and len(ready) < ahead:
                try:
                    worker.send(next(waiting))
                except StopIteration:
                    exhausted = True
        for worker in workers:
            if worker.busy and (answer := worker.receive()) is not None:
                ready.append(answer)
        if ready:
            yield ready.popleft()
        elif any(worker.busy for worker in workers):
            wait([w._pipe for w in workers if w.busy and w._pipe is not None], timeout=0.05)
        elif exhausted:
            return
