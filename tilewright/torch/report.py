"""What ``enable`` did for a program: which shapes were served, what that is expected to have saved, and why
the others were not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tilewright.runtime.gaps import is_gap
from tilewright.torch.serving import Choice, Serving

LIBRARY = "cuBLASLt"
"""What runs where the plan is the library's and we launch it."""


@dataclass(frozen=True, slots=True)
class Row:
    """The calls of one problem. ``kernel`` and ``origin`` say what ran, the stencil or cuBLASLt, by which
    rung; they are empty where PyTorch's did, for the reason ``why``. ``saved``: seconds that all calls are
    expected to have saved, by records or the model; none of them was timed. ``tune``: whether tuning the
    problem would make a record that is missing."""

    problem: str
    calls: int
    kernel: str
    origin: str
    why: str
    saved: float
    tune: bool


@dataclass(frozen=True, slots=True)
class Report:
    """The rows, those that saved most first; ``small``: calls that were too small to be looked at,
    ``other``: those of
    tensors that nobody looks into, and large products alone."""

    rows: tuple[Row, ...]
    small: int
    other: int

    @property
    def served(self) -> int:
        """Calls that ran a kernel of Tilewright's."""
        return sum(row.calls for row in self.rows if row.kernel)

    @property
    def passed(self) -> int:
        """Calls that ran PyTorch's kernel after all."""
        return self.small + self.other + sum(row.calls for row in self.rows if not row.kernel)

    @property
    def saved(self) -> float:
        """Seconds that are expected to have been saved."""
        return sum(row.saved for row in self.rows)

    @property
    def tune(self) -> tuple[str, ...]:
        """Spellings of problems without a record, for ``tilewright.tune``, most calls first."""
        found = sorted((row for row in self.rows if row.tune), key=lambda row: -row.calls)
        return tuple(dict.fromkeys(row.problem for row in found))

    def __str__(self) -> str:
        lines = [
            f"{self.served} calls served, {self.passed} by PyTorch ({self.small} too small to be looked at); "
            f"about {self.saved * 1e3:.3g} ms saved, by records and the model"
        ]
        for row in self.rows:
            what = f"{row.kernel} ({row.origin})" if row.kernel else f"PyTorch: {row.why}"
            gain = f"{row.saved * 1e3:10.3g} ms" if row.kernel else " " * 13
            lines.append(f"  {row.calls:8d} x {row.problem:32s} {gain}  {what}")
        if self.tune:
            lines.append("  without a record: tilewright tune " + " ".join(self.tune))
        return "\n".join(lines)


def report_of(serving: Serving) -> Report:
    """What was served since ``enable``."""
    found: dict[tuple[str, str, str, str], list[Choice]] = defaultdict(list)
    for choice in (*serving.past, *list(serving.choices.values())):
        kernel = "" if choice.why or choice.plan is None else choice.plan.stencil or LIBRARY
        origin = choice.plan.origin if kernel and choice.plan else ""
        found[choice.spelling, kernel, origin, choice.why].append(choice)
    rows = (_row(key, choices) for key, choices in found.items())
    return Report(tuple(sorted(rows, key=lambda row: (-row.saved, -row.calls))), *serving.counted())


def _row(key: tuple[str, str, str, str], choices: Iterable[Choice]) -> Row:
    problem, kernel, origin, why = key
    calls, saved, tune = 0, 0.0, False
    for choice in choices:
        calls += choice.calls
        if kernel and choice.expected is not None:
            saved += choice.calls * choice.expected.saved
        tune = tune or (choice.plan is not None and is_gap(choice.plan))
    return Row(problem, calls, kernel, origin, why, saved, tune)
