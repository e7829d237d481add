"""The screen of a tuning run: a line for each device, and under it what became of the tries of its job.

On a terminal it is drawn in place, some times a second; elsewhere a line stays for every job that ends, so
that a log has something to show too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tilewright.cli import render
from tilewright.model import PREDICTED

LOOKS = 5
"""How often a second the screen is drawn."""
NO_FAILURE = ("ok", PREDICTED)
"""What records say of tries that did not fail."""
BAR = 10
"""Columns of a device's bar."""
SURE = 0.02
"""The part of the work that has to be done before the time that is left is told."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a device's work stands: the number of its job, the part of that which is done, from 0 to 1, the
    stencil that is searched, how many tries there were and in how many seconds, how many ended in each
    status, the fastest in 10^9 operations a second and in percent of the bound. ``points`` are all
    combinations of that stencil's space and those that its rules let through, None where they were not
    counted. ``told``: the fastest in words, of what is not counted in operations."""

    device: str
    job: int
    part: float
    stencil: str
    tried: int
    seconds: float
    best: float | None
    percent: float | None = None
    statuses: Mapping[str, int] = field(default_factory=dict)
    points: tuple[int, int] | None = None
    told: str = ""

    @property
    def rate(self) -> float:
        """Tries a second."""
        return self.tried / max(self.seconds, 1e-9)

    @property
    def fastest(self) -> str:
        """The best so far in words."""
        if self.told:
            return f"best {self.told}"
        share = "" if self.percent is None else f" ({self.percent:.0f} % of bound)"
        return f"best {render.rate(self.best)}{share}"

    @property
    def failures(self) -> str:
        """Failures by kind, the most frequent first; empty without any."""
        failed = sorted((-times, name) for name, times in self.statuses.items() if name not in NO_FAILURE)
        return ", ".join(f"{-times} {name.replace('_', ' ')}" for times, name in failed)

    @property
    def funnel(self) -> str:
        """From all combinations to what was right."""
        right = self.statuses.get("ok", 0)
        steps = [] if self.points is None else [f"{render.count(self.points[0])} combinations"]
        steps += [] if self.points is None else [f"{render.count(self.points[1])} valid"]
        return " > ".join([*steps, f"{self.tried} tried", f"{right} right"])


class Board:
    """What is shown of named jobs: told a ``Standing`` as often as there is news, drawn when somebody
    looks."""

    def __init__(self, jobs: Sequence[str], console: Console, quiet: bool, now: Callable[[], float]):
        self._jobs, self._console, self._quiet, self._now = jobs, console, quiet, now
        self._begin = now()
        self._standings: dict[str, Standing] = {}

    def tell(self, standing: Standing) -> None:
        """News of a device. A job that it left behind is put on a line that stays."""
        before = self._standings.get(standing.device)
        if before is not None and before.job != standing.job:
            self._ended(before)
        self._standings[standing.device] = standing

    def close(self) -> None:
        """Every device's last job has ended."""
        for standing in self._standings.values():
            self._ended(standing)
        self._standings = {}

    def _ended(self, standing: Standing) -> None:
        if not self._quiet:
            failed = f"; failed: {standing.failures}" if standing.failures else ""
            self._console.print(
                f"{self._jobs[standing.job]}: {standing.tried} tried, {standing.rate:.0f}/s, "
                f"{standing.fastest}{failed} ({standing.job + 1} of {len(self._jobs)})",
                markup=False,
            )

    def done(self) -> float:
        """The part of all jobs that is done: what the device that is furthest along has behind it."""
        parts = (one.job + min(1.0, one.part) for one in self._standings.values())
        return max(parts, default=0.0) / max(1, len(self._jobs))

    def left(self) -> str:
        """The time that is left if the rest goes as fast as what is done; a dash as long as that is a
        guess."""
        done = self.done()
        if done < SURE:
            return "-"
        seconds = round((self._now() - self._begin) * (1 - done) / done)
        hours, minutes = seconds // 3600, seconds // 60 % 60
        return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"

    def __rich__(self) -> RenderableType:
        """One line for each device, and a quiet one of its funnel and failures."""
        if not self._standings:
            return Text("starting")
        lines: list[RenderableType] = []
        for one in self._standings.values():
            # What a narrow terminal has no room for is at the end of the last column.
            widths = (len(one.device), BAR, len(self.left()) + 5)
            said = f"{one.rate:.1f}/s, {one.fastest}"
            said += f"  {self._jobs[one.job]} ({one.job + 1} of {len(self._jobs)}), {one.stencil}"
            grid = Table.grid(padding=(0, 1))
            for width in widths:
                grid.add_column(no_wrap=True, min_width=width)
            grid.add_column(no_wrap=True, overflow="ellipsis")
            bar = ProgressBar(total=1.0, completed=min(1.0, one.part), width=BAR)
            grid.add_row(Text(one.device, style="bold"), bar, f"{self.left()} left", Text(said))
            told = f"  {one.funnel}" + (f"; failed: {one.failures}" if one.failures else "")
            lines += [grid, Text(told, style="dim", no_wrap=True, overflow="ellipsis")]
        return Group(*lines)


@contextmanager
def board(
    jobs: Sequence[str],
    quiet: bool,
    console: Console = render.aside,
    now: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[Standing], None]]:
    """The screen over named jobs; what it gives is told a ``Standing``. ``quiet``: no line stays."""
    shown = Board(jobs, console, quiet, now)
    if not console.is_terminal:
        yield shown.tell
        shown.close()
        return
    with Live(shown, console=console, refresh_per_second=LOOKS, transient=True):
        yield shown.tell
        shown.close()
