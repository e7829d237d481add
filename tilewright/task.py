"""What is tuned: all that the search space, the tuner, the store and the cache of binaries ask of a problem.

They know nothing else of it, so that kernels of another kind can be tuned by the same code. Two things that
a tuner needs are not asked of the task but of an evaluation (``tuning.evaluate``), because they depend on
the device as well: how operands are made, and what the right result is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Task(Protocol):
    """A frozen, hashable, picklable value. ``Problem`` and ``GroupedProblem`` of ``model`` are tasks.

    A task is computed ``batch`` times in one launch; speeds are of one time.
    """

    @property
    def key(self) -> str:
        """What records are filed under: everything that is compiled in, without ``batch``."""

    @property
    def family(self) -> str:
        """What tasks have in common between which ``extents`` measure how near they are."""

    @property
    def extents(self) -> tuple[int, int, int]:
        """Three sizes, none negative; the nearer their ratios to 1, the nearer are two tasks of a family."""

    @property
    def layout(self) -> str:
        """How the operands lie in memory; what begins with ``packed`` has no gaps between columns."""

    @property
    def spelling(self) -> str:
        """The task in one word, as a user writes it."""

    @property
    def batch(self) -> int:
        """How many times it is computed in one launch."""

    @property
    def flops(self) -> float:
        """Operations of one time."""

    @property
    def bytes(self) -> float:
        """Fewest bytes that one time moves."""

    @property
    def footprint(self) -> int:
        """Bytes of memory that all operands of the batch occupy."""

    @property
    def compiled(self) -> Mapping[str, Any]:
        """What of it may decide the text of a program, as plain JSON values; no run-time arguments."""

    def with_(self, **changes: Any) -> Any:
        """The same task with some fields changed; ``batch`` is one of them."""
