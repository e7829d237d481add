"""What a search asks for, one config after another, while answers to others are outstanding.

A search is asked for its next batch when all of the last one was handed out, and is told what came meanwhile.
So neither compilers nor devices wait for the last of a batch.
"""

from __future__ import annotations

from collections import deque

from tilewright.model import Config, Record
from tilewright.tuning.search import Batches


class Questions:
    """The configs of a search, those that are ``sure`` to be tried first in their batch."""

    def __init__(self, batches: Batches, sure: frozenset[Config] = frozenset()):
        self._batches, self.sure = batches, sure
        self._queue: deque[Config] = deque()
        # What has come since the search was last told; None before it was asked for the first time.
        self._answers: list[Record] | None = None
        self._waits = False
        self.open: set[Config] = set()
        """What the search asked for and was not told of."""
        self.ended = False
        """Whether the search asks for nothing more."""

    @property
    def waited(self) -> bool:
        """Whether something that is sure to be tried is open."""
        return not self.sure.isdisjoint(self.open)

    def next(self) -> Config | None:
        """What to try next; None where the search waits for answers, or has ended."""
        while not self._queue and not self.ended:
            if self._waits and self.open and not self._answers:
                return None
            self._ask()
        return self._queue.popleft() if self._queue else None

    def answer(self, record: Record) -> None:
        """What came of a config that was asked for. It is answered once: later words are not heard."""
        if record.config in self.open:
            self.open.remove(record.config)
            assert self._answers is not None
            self._answers.append(record)

    def _ask(self) -> None:
        try:
            batch = next(self._batches) if self._answers is None else self._batches.send(self._answers)
        except StopIteration:
            self.ended = True
            return
        # Who waits for answers that nobody owes would wait for ever.
        self.ended = not batch and self._waits and not self._answers and not self.open
        self._waits, self._answers = not batch, []
        self.open.update(batch)
        self._queue.extend(sorted(batch, key=lambda config: config not in self.sure))
