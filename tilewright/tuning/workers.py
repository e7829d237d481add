"""Child processes that may die: candidates are compiled and first run in them, never in the caller.

A worker is a process that keeps state between requests. A request that kills it (an assertion in a
compiler, a bad address) or does not return in time costs that request: its answer says so, and the
next request gets a fresh process, told first what all requests build on (``prepare``).

A process that was ended from outside (by somebody, or by a system that is out of memory) says nothing of its
request, which is made again, ``LIVES`` times in all. Children end with their parent, however that ends.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from types import ModuleType
from typing import Any

from tilewright.errors import DeviceError

Factory = Callable[..., Callable[[Any], Any]]
START = 60.0
"""Seconds that a child may take to begin."""
LIVES = 5
"""Children ended from outside that one request may cost. A kernel that hangs is in the way of whoever ends
processes at random as long as its time limit, and is met again: three were too few (``bench.faults``)."""
FROM_OUTSIDE = {-int(each) for each in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
"""Exit codes of processes that somebody else ended."""
GONE = ("killed", "lost", "adrift")
"""What says nothing of a request."""
_starting = threading.Lock()
"""Held by the thread that starts a child, for which it changes what belongs to all of the process."""


class Fatal(Exception):
    """Raised by a handler whose process is of no more use (its device's context is lost, say): the
    answer says ``crashed``, and the next request gets a fresh process."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request: ``ok`` (with ``value``), ``failed``, ``crashed`` or ``timeout``; ``killed``
    where the child was ended from outside, ``unprepared`` where what it builds on could not be had. Of
    ``tuning.cluster``: ``lost`` where the whole worker is gone, ``adrift`` where only the way to it is."""

    request: Any
    status: str
    value: Any = None
    detail: str = ""


def _stay_with(parent: int) -> None:
    """End with the parent, even if a request never returns, and at its word alone: an interrupt from the
    keyboard goes to all processes, and would be taken for the fault of what is running."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)


def _requests(pipe: Connection, room: int) -> Iterator[Any]:
    """What comes through a pipe until it closes. Where there is ``room`` for several a thread takes them out
    of it, for a parent must not wait until a large one fits in."""
    came: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def read() -> None:
        try:
            while True:
                came.put((pipe.recv(), None))
        except BaseException as error:
            came.put((None, error))

    if room > 1:
        threading.Thread(target=read, daemon=True).start()
    while True:
        request, error = came.get() if room > 1 else (pipe.recv(), None)
        if error is not None:
            raise error
        yield request


def _serve(
    pipe: Connection, factory: Factory, arguments: tuple[Any, ...], parent: int, room: int = 1
) -> None:
    """The child: build the handler, then answer requests until the pipe closes."""
    _stay_with(parent)
    handler = None
    with suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        for request in _requests(pipe, room):
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
    """One child process: ``factory(*arguments)`` is called in it once and gives the handler of requests.

    ``room`` is how many requests it takes before the first of them is answered: with two it goes from one to
    the next without waiting for this process. They are answered in their order.
    """

    def __init__(
        self,
        factory: Factory,
        arguments: tuple[Any, ...] = (),
        *,
        timeout: float = 30.0,
        environment: Mapping[str, str] | None = None,
        room: int = 1,
    ):
        self._factory, self._arguments = factory, arguments
        self.timeout, self._environment, self._room = timeout, dict(environment or {}), room
        self._process: Any = None
        self._pipe: Connection | None = None
        self.request: Any = None
        self._deadline = self._patience = 0.0
        # What a fresh child is told first, with its time limit; whether this one was; what comes after it.
        self._setup: tuple[Any, float | None] | None = None
        self._told = False
        self._next: tuple[Any, float | None] | None = None
        # Requests behind the one that is being answered, with their time limits.
        self._behind: deque[tuple[Any, float]] = deque()

    @property
    def setup(self) -> Any:
        """What a fresh child is told first; None for nothing."""
        return self._setup and self._setup[0]

    def prepare(self, request: Any, timeout: float | None = None) -> None:
        """What the child, and each that comes after it, is to be told before any other request: at the next
        one, or now by ``send`` of this request."""
        self._setup, self._told = (request, timeout), False

    def _start(self) -> Connection:
        """A fresh child. Raises ``DeviceError`` where the system has none to give."""
        with _starting:
            return self._begun()

    def _begun(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        before = {name: os.environ.get(name) for name in self._environment}
        os.environ.update(self._environment)
        main = sys.modules["__main__"]
        if self._factory.__module__ != "__main__":
            # The child would run the caller's script again, and one without a main guard start itself anew.
            sys.modules["__main__"] = ModuleType("__main__")
        process: Any = context.Process(
            target=_serve,
            args=(theirs, self._factory, self._arguments, os.getpid(), self._room),
            daemon=True,
        )
        try:
            process.start()
        except BaseException as error:
            ours.close()
            if isinstance(error, OSError):
                raise DeviceError(
                    f"no child process can be started: {error}; accepted: a working directory that is there, "
                    "and room for processes and open files"
                ) from error
            raise
        finally:
            theirs.close()
            sys.modules["__main__"] = main
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
        self._process, self._pipe, self._told = process, ours, False
        return ours

    @property
    def busy(self) -> bool:
        """Whether a request is in the child."""
        return self.request is not None

    @property
    def free(self) -> bool:
        """Whether it takes a request now."""
        if not self.busy:
            return True
        # What comes behind the setup has to be told it first.
        told = self._setup is None or (self._told and self._next is None)
        return told and 1 + len(self._behind) < self._room

    @property
    def gone(self) -> bool:
        """Whether it can be asked no more: never, for its child is started again."""
        return False

    @property
    def alive(self) -> bool:
        """Whether there is a child, with what it has been told so far."""
        return self._pipe is not None

    @property
    def pipe(self) -> Connection | None:
        """What becomes readable when the child answers or ends; None without a child."""
        return self._pipe

    def send(self, request: Any, timeout: float | None = None) -> None:
        """Hand a request to the child, which is ``free``, starting and preparing it first if need be;
        ``timeout`` seconds for this one."""
        if self.busy and self._pipe is not None:
            with suppress(OSError):  # The child is gone: ``receive`` says so of the one before.
                self._pipe.send(request)
            self._behind.append((request, self.timeout if timeout is None else timeout))
            return
        begun = 0.0 if self._pipe else START
        pipe = self._pipe or self._start()
        self.request, self._next = request, None
        if self._setup is not None and not self._told:
            self._next = (request, timeout)
            request, timeout = self._setup
        self._patience = self.timeout if timeout is None else timeout
        # How long a child takes to begin says nothing of what it is asked for.
        self._deadline = time.monotonic() + self._patience + begun
        try:
            pipe.send(request)
        except OSError:
            pass  # The child is gone: ``receive`` says so.
        except BaseException:
            self.request = None  # It cannot be sent at all, and the child is waiting for another.
            raise

    def receive(self) -> Answer | None:
        """The answer to the request in the child; None while there is none and time is left."""
        answer = self._answer()
        if answer is None or self._next is None:
            return answer
        if answer.status == "killed":
            return answer
        if answer.status != "ok":
            # What it could not make it may hold half of.
            self.stop()
            return replace(answer, status="unprepared")
        (request, timeout), self._told = self._next, True
        if self._setup is not None and request == self._setup[0]:
            self._next = None
            return answer
        self.send(request, timeout)
        return None

    def _answer(self) -> Answer | None:
        assert self._pipe is not None
        request = self.request
        if self._pipe.poll(0):
            try:
                status, value, detail = self._pipe.recv()
            except (EOFError, OSError):
                self._process.join(5)
                code = self._process.exitcode
                self.stop()
                status = "killed" if code in FROM_OUTSIDE else "crashed"
                return Answer(request, status, detail=f"the process ended with exit code {code}")
            self.request = None
            if status == "crashed":
                self.stop()
            elif self._behind:
                self.request, self._patience = self._behind.popleft()
                self._deadline = time.monotonic() + self._patience
            return Answer(request, status, value, detail)
        if time.monotonic() > self._deadline:
            self.stop()
            return Answer(request, "timeout", detail=f"no answer within {self._patience:g} s")
        return None

    def ask(self, request: Any, timeout: float | None = None, meanwhile: Stream | None = None) -> Answer:
        """Send and wait, again where the child was ended from outside; a stream that is given is kept going
        the while."""
        answer = self._asked(request, timeout, meanwhile)
        for _ in range(LIVES - 1):
            if answer.status != "killed":
                return answer
            answer = self._asked(request, timeout, meanwhile)
        return replace(answer, status="crashed") if answer.status == "killed" else answer

    def _asked(self, request: Any, timeout: float | None, meanwhile: Stream | None) -> Answer:
        self.send(request, timeout)
        while (answer := self.receive()) is None:
            if meanwhile is not None:
                meanwhile.advance()
            pipes = [self._pipe, *(meanwhile.pipes() if meanwhile else ())]
            wait([pipe for pipe in pipes if pipe is not None], timeout=0.1)
        return answer

    def stop(self) -> None:
        """End the child, and with it what it has not answered. The next request starts another."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._pipe = self._process = self.request = None
        self._behind.clear()
        self._told = False


class Stream:
    """Answers as they come, the requests spread over the workers.

    A worker gets a new request while fewer than ``ahead`` answers lie unread. That happens whenever the
    next answer is asked for, and in ``advance``, which who reads the answers slowly calls in between. None in
    place of a request says that there is none as yet: what it is depends on answers. An answer in place of a
    request needs no worker.
    """

    def __init__(self, workers: Sequence[Worker], requests: Iterable[Any], ahead: int):
        self._workers, self._requests, self._ahead = workers, iter(requests), ahead
        self._ready: deque[Answer] = deque()
        self._again: deque[Any] = deque()
        self._killed: list[Any] = []
        self._exhausted = False

    def advance(self) -> None:
        """Take in what has been answered and hand out what is next; never waits."""
        for worker in self._workers:
            if worker.busy and (answer := worker.receive()) is not None:
                self._take(answer)
        for worker in self._workers:
            if worker.busy or worker.gone:
                continue
            if self._again:
                worker.send(self._again.popleft())
            elif (request := self._next()) is not None:
                worker.send(request)
            else:
                break

    def _next(self) -> Any:
        """The next request for a worker; None while there is none, or too much lies unread."""
        while not self._exhausted and len(self._ready) < self._ahead:
            try:
                request = next(self._requests)
            except StopIteration:
                self._exhausted = True
                break
            if not isinstance(request, Answer):
                return request
            self._ready.append(request)
        return None

    def _take(self, answer: Answer) -> None:
        """An answer that is in; a request whose worker was ended from outside is made again."""
        if answer.status in GONE:
            if answer.status != "adrift":
                self._killed.append(answer.request)
            if sum(request is answer.request for request in self._killed) < LIVES:
                self._again.append(answer.request)
                return
            answer = replace(answer, status="crashed")
        self._ready.append(answer)

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
        self._again.clear()

    @property
    def done(self) -> bool:
        """Whether no answer is left that could come."""
        return (
            self._exhausted
            and not self._ready
            and not self._again
            and not any(worker.busy for worker in self._workers)
        )

    def poll(self) -> Answer | None:
        """The next answer if there is one; never waits."""
        if not self._ready:
            self.advance()
        return self._ready.popleft() if self._ready else None

    def __iter__(self) -> Iterator[Answer]:
        return self

    def __next__(self) -> Answer:
        while (answer := self.poll()) is None:
            if self.done:
                raise StopIteration
            wait(self.pipes(), timeout=0.05)
        return answer


def stream(workers: Sequence[Worker], requests: Iterable[Any], ahead: int) -> Stream:
    """Answers to all requests, at most ``ahead`` of them unread: see ``Stream``."""
    return Stream(workers, requests, ahead)
