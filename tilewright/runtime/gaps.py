"""Counting the calls that run without a record, so that ``tilewright tune --gaps`` can tune these next.

It is off by default, and then costs a look at one name whenever a call is planned, and nothing when a call is
served from the call cache. When it is on, what a gap's plan was bound to is wrapped in ``Counted``, whose
calls each add to a number; a few of them, ever rarer, are timed as well where a call returns when it is done.
The numbers go to ``store.gaps`` when they have doubled, at most once a second, and when the process ends.

What is counted is what can be tuned: products and batches of one size, and lists on a GPU, which are counted
whenever they are planned. Batches by arrays of addresses, batches along several axes, chains and groups
whose borders lie on the device have no record to be made and are left out. Calls of several threads at the
very same moment may be counted once.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from tilewright.errors import TilewrightError
from tilewright.model import GroupedProblem, Plan, Problem
from tilewright.planning import candidates, dispatch
from tilewright.store import gaps as file
from tilewright.store import paths
from tilewright.store.paths import warn_once

MOST = 4096
"""Kinds of calls that a process counts; those that come after them are not counted."""
OFTEN = 10_000
"""Calls of a kind after which they are written, however many there were before."""
INTERVAL = 1.0
"""Seconds between two additions to the file."""
OWN = 1e-6
"""Seconds that a call costs beside its product, roughly: no kernel takes them away."""


class Cell:
    """The calls of one plan, how many of them are in the file, and at which one the next look is due."""

    __slots__ = ("calls", "due", "plan", "products", "seconds", "written")

    def __init__(self, plan: Plan, products: int):
        self.plan, self.products = plan, products
        self.calls, self.written, self.due = 0, 0, 1
        self.seconds: float | None = None

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A call, counted if it was served."""
        if self.calls + 1 < self.due:
            result = function(*arguments)
            if result is not NotImplemented:
                self.calls += 1
            return result
        begin = time.perf_counter()
        result = function(*arguments)
        if result is not NotImplemented:
            self.seen(time.perf_counter() - begin)
        return result

    def seen(self, seconds: float | None) -> None:
        """Count a call that took so long, and write what there is if it is time."""
        self.calls += 1
        # A launch on a GPU returns before it is done.
        if seconds is not None and self.plan.device.kind == "cpu":
            each = max(0.0, seconds - OWN) / self.products
            self.seconds = each if self.seconds is None else min(self.seconds, each)
        self.due = self.calls + min(self.calls, OFTEN)
        COUNTS.write()

    def taken(self) -> file.Gap | None:
        """The calls since the last time, to be written; None where there are none."""
        p, calls = self.plan, self.calls - self.written
        self.written += calls
        if not calls:
            return None
        return file.Gap(
            *(p.problem, p.device.key, p.device.kind, p.regime, p.origin),
            *(calls, calls * self.products, self.seconds),
        )


class Counted:
    """What a plan was bound to, counting its calls; all else is asked of it as it is."""

    def __init__(self, bound: Any, cell: Cell):
        self._bound, self._cell = bound, cell

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bound, name)

    def run(self, *arguments: Any) -> Any:
        """The product, by the way that serves any arrays of the job."""
        return self._cell.run(self._bound.run, *arguments)

    def function(self, *arrays: Any) -> Callable[[Any, Any, Any], Any] | None:
        """What serves calls on arrays just like these, counting them; None where there is none."""
        found = self._bound.function(*arrays)
        if found is None:
            return None
        cell, function = self._cell, found

        def call(a: Any, b: Any, out: Any) -> Any:
            if cell.calls + 1 >= cell.due:
                return cell.run(function, a, b, out)
            result = function(a, b, out)
            if result is not NotImplemented:
                cell.calls += 1
            return result

        return call


class Counts:
    """The switch, and all that this process has counted."""

    def __init__(self) -> None:
        # None until the environment was asked, which is when the first call is planned.
        self.wanted: bool | None = None
        self.cells: dict[tuple[Any, ...], Cell] = {}
        self.lock = threading.Lock()
        self.written = -math.inf

    def on(self) -> bool:
        """Whether calls are counted."""
        if self.wanted is None:
            self.want(paths.gaps_wanted())
        return bool(self.wanted)

    def want(self, wanted: bool) -> None:
        """Count from now on, or count no more. Plans that are there already go on as they are."""
        if wanted and not self.wanted:
            atexit.register(self.write, now=True)
        elif not wanted and self.wanted:
            self.write(now=True)
            atexit.unregister(self.write)
        self.wanted = wanted

    def cell(self, plan: Plan, runs: int = 1) -> Cell | None:
        """Where the calls of a plan are counted, each of so many batches; None where they are not."""
        if not self.on() or not is_gap(plan):
            return None
        products = runs * plan.problem.batch
        key = plan.device.key, plan.problem.key, plan.regime, products
        found = self.cells.get(key)
        if found is None and len(self.cells) < MOST:
            found = self.cells[key] = Cell(plan, products)
        if found is not None:
            # Since the last time records may have changed the rung.
            found.plan = plan
        return found

    def write(self, now: bool = False) -> None:
        """Add what was counted to the file, unless that was done a moment ago."""
        if not now and time.monotonic() - self.written < INTERVAL:
            return
        with self.lock:
            self.written = time.monotonic()
            found = [each for cell in list(self.cells.values()) if (each := cell.taken())]
            try:
                file.add(found)
            except TilewrightError as error:
                # No product fails because it was not counted.
                warn_once(f"{error}; calls are not counted")

    def drop(self) -> None:
        """Forget what was not written, in the child of a fork: the parent writes it."""
        self.lock = threading.Lock()
        for cell in self.cells.values():
            cell.written = cell.calls


COUNTS = Counts()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=COUNTS.drop)


def is_gap(plan: Plan) -> bool:
    """Whether a plan is of calls that have no record of their own, and that tuning could make one for."""
    p = plan.problem
    if plan.origin in ("forced", "tuned") or not isinstance(p, Problem | GroupedProblem):
        return False
    if isinstance(p, Problem) and (p.pointers or p.outer):
        return False
    if plan.stencil is not None:
        return True
    # The library may run because a record of this very problem says so, or because nobody else can.
    known = dispatch.best(p.key, plan.regime, plan.device) is not None
    return not known and not candidates.stranger(p, plan.device)


def watched(plan: Plan, bound: Any, runs: int = 1) -> Any:
    """What a plan was bound to, or that with its calls counted."""
    if bound is None or not COUNTS.on():
        return bound
    cell = COUNTS.cell(plan, runs)
    return bound if cell is None else Counted(bound, cell)


def passed(plan: Plan, runs: int = 1) -> None:
    """Count a call that was bound to nothing: the library of the arrays multiplies."""
    if COUNTS.on():
        cell = COUNTS.cell(plan, runs)
        if cell is not None:
            cell.seen(None)
