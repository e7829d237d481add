"""One peer as a small server: ``python -m bench.peer NAME --threads N``, one JSON object a line.

The first line out is ``{"version": text}`` or ``{"unavailable": why}``. Then each line in has one line out:
    {"prepare": {"dtype", "n" or "m","n","k", "beta", "batch", "regime"}}  ->  {"passes": in one sample}
    {"sample": {}}  ->  {"seconds": of one pass over the batch}
    {"check": {}}   ->  {"relative_error": see work.relative_error, "limit": of a right result}
A product that the peer does not have is ``{"unavailable": why}``, any other failure ``{"error": text}``.
A peer has a process of its own because each brings its own thread pool, and the pools disturb each other.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from bench import machine, peers, work
from bench.peers.base import Unavailable
from tilewright.model import DTYPES, Problem

# A sample is at least this long, so that the clock and the first call of a pass do not show. Threads that
# wake together often wake on one core, and the system takes some ticks of 4 ms to part them: on several
# cores a sample is longer, and so is what runs untimed before it.
SAMPLE_SECONDS, SAMPLE_SECONDS_OF_SEVERAL, WARM_SECONDS = 3e-3, 40e-3, 20e-3
# Threads that spin after a pass would run into the next peer's sample: wait for them, but not for ever.
# The system counts the time of threads on other cores at its ticks, some 4 ms apart: look over several.
_QUIET_SHARE, _QUIET_LIMIT, _QUIET_WINDOW = 0.2, 0.5, 25e-3


class Server:
    """The peer with its present problem; every public method answers one request."""

    def __init__(self, name: str, threads: int):
        self.peer = peers.create(name)
        self.threads = threads
        self.operands: work.Operands | None = None
        self.passes = 1

    def start(self) -> dict[str, Any]:
        """The first line out."""
        why = self.peer.available()
        return {"unavailable": why} if why else {"version": self.peer.version()}

    def prepare(
        self,
        dtype: str,
        n: int,
        batch: int,
        m: int | None = None,
        k: int | None = None,
        beta: int = 0,
        regime: str = "memory",
    ) -> dict[str, Any]:
        """Operands of a new problem instead of the old ones, warm, and how many passes a sample needs.

        The regime decides nothing here: the batch is the caller's, and passes fill the time in both.
        """
        assert regime in work.REGIMES
        self.operands = None
        problem = Problem(DTYPES[dtype], m or n, n, k or n, batch=batch, beta=str(beta))
        operands = work.make(problem, self.threads)
        self.peer.prepare(operands)
        self.operands = operands
        self.peer.run()
        self.passes, seconds = 1, self._timed(1)
        least = SAMPLE_SECONDS if self.threads == 1 else SAMPLE_SECONDS_OF_SEVERAL
        while seconds < least:
            self.passes = max(self.passes + 1, math.ceil(self.passes * 1.1 * least / seconds))
            seconds = self._timed(self.passes)
        self._settle()
        return {"passes": self.passes}

    def sample(self) -> dict[str, Any]:
        """Seconds of one pass, after an untimed one that wakes threads and fills caches again."""
        begin = time.perf_counter()
        self.peer.run()
        while self.threads > 1 and time.perf_counter() - begin < WARM_SECONDS:
            self.peer.run()
        seconds = self._timed(self.passes) / self.passes
        self._settle()
        return {"seconds": seconds}

    def check(self) -> dict[str, Any]:
        """How wrong the product is, and how wrong a right one may be."""
        assert self.operands is not None
        error = work.relative_error(self.operands, self.peer.run)
        self._settle()
        return {"relative_error": error, "limit": work.error_limit(self.operands.problem)}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to one request, whatever happens."""
        try:
            ((action, arguments),) = request.items()
            actions: dict[str, Callable[..., dict[str, Any]]]
            actions = {"prepare": self.prepare, "sample": self.sample, "check": self.check}
            return actions[action](**arguments)
        except Unavailable as error:
            return {"unavailable": str(error)}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}

    def _timed(self, passes: int) -> float:
        run = self.peer.run
        start = time.perf_counter()
        for _ in range(passes):
            run()
        return time.perf_counter() - start

    def _settle(self) -> None:
        """Return when this process's threads are asleep."""
        limit = time.perf_counter() + _QUIET_LIMIT
        while self.threads > 1 and time.perf_counter() < limit:
            used, began = time.process_time(), time.perf_counter()
            time.sleep(_QUIET_WINDOW)
            if time.process_time() - used < _QUIET_SHARE * (time.perf_counter() - began):
                return


def main() -> None:
    """Serve until the input ends."""
    parser = argparse.ArgumentParser(prog="bench.peer", description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=peers.PEERS)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.threads == 1:
        os.sched_setaffinity(0, {machine.measured_core()})
    gc.disable()
    # Whatever a library prints goes to stderr; the protocol keeps the real stdout for itself.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        server = Server(arguments.name, arguments.threads)
        first = server.start()
    except Exception as error:
        first = {"unavailable": f"{type(error).__name__}: {error}"}
    print(json.dumps(first), file=out)
    if "unavailable" in first:
        return
    for line in sys.stdin:
        reply = json.dumps(server.answer(json.loads(line)))
        # Before the answer: after it, another peer may be at work on this core.
        gc.collect()
        print(reply, file=out)


if __name__ == "__main__":
    main()
