"""Streams beside a caller's: what does not depend on one another runs at once, as a whole in his order.

What is started between ``fork`` and ``join`` begins when the caller's stream has come to the fork, and what
that stream is given after the join begins when all of it has ended. Nothing is waited for by this process, so
both may be recorded into a CUDA graph, of which the streams then make branches.
"""

from __future__ import annotations

from tilewright.targets.cuda import library, modules
from tilewright.targets.cuda.bindings import bindings, check, failure
from tilewright.targets.cuda.modules import Owned

NON_BLOCKING = 1
"""CU_STREAM_NON_BLOCKING: it keeps no order with the default stream but that of a fork."""
WITHOUT_TIME = 2
"""CU_EVENT_DISABLE_TIMING: such an event costs less."""


class Sides:
    """``count`` streams of the current GPU, by their ``handles``; for one host thread at a time."""

    def __init__(self, count: int):
        modules.context()
        api = bindings()
        streams = [check(api.cuStreamCreate(NON_BLOCKING), "making a stream") for _ in range(count)]
        events = [check(api.cuEventCreate(WITHOUT_TIME), "making an event") for _ in range(count + 1)]
        self._owners = [Owned(int(stream), "cuStreamDestroy", stream) for stream in streams]
        self._events = [Owned(int(event), "cuEventDestroy", event) for event in events]
        self.handles = [owner.handle for owner in self._owners]

    def fork(self, stream: int) -> None:
        """Let the streams begin where a caller's is. Raises ``DeviceError``."""
        start = self._events[-1].handle
        _done(library.loaded().cuEventRecord(start, stream))
        for side in self.handles:
            _done(library.loaded().cuStreamWaitEvent(side, start, 0))

    def join(self, stream: int) -> None:
        """Let a caller's stream go on when all of them are done. Raises ``DeviceError``."""
        for side, event in zip(self.handles, self._events, strict=False):
            _done(library.loaded().cuEventRecord(event.handle, side))
            _done(library.loaded().cuStreamWaitEvent(stream, event.handle, 0))


def _done(code: int) -> None:
    if code:
        raise failure(code, "ordering streams")
