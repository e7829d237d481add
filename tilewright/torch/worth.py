"""Whether a call of PyTorch's is worth serving: what the records or the model expect of both kernels.

1. *Ours*, tuned, takes what its record says; else its bound (``planning.roofline``) over ``REACHED``, and no
   less than a launch.
2. *Theirs* takes what the record of the library says of the same problem; else as many times ours as was
   measured of problems like it (``planning.neighbours``), ``UNKNOWN`` times where nothing was.
3. A caller waits for the host or for the device, whoever takes longer: what is no faster so (``HOST``) is
   left to PyTorch, unless both wait for the host alike and ours is no slower on the device.
4. The library's own product is launched by us only where the host is waited for, which is what we spare: of
   one that takes longer, PyTorch's choice of an algorithm may be the better one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.catalog import STENCILS
from tilewright.model import VENDOR, Plan, Problem
from tilewright.planning import dispatch, neighbours, roofline

REACHED = 0.8
"""The share of its bound that a product of ours is supposed to reach where no record says so."""
UNKNOWN = 1.25
"""How many times as long as ours the library's product is supposed to take where nothing says so. (On one
core of an x86 processor, in batches of 1,000 of order 1 to 32, PyTorch's took 1.3 to 29 times as long.)"""
LAUNCH = {"cpu": 0.0, "cuda": 2.5e-6}
"""Seconds that the least kernel takes."""
HOST = {"cpu": (2e-6, 7e-6), "cuda": (12e-6, 12e-6)}
"""Seconds that a call keeps the host busy, by PyTorch's own kernel and by ours written in Python. (Beside an
H200 both took 12 microseconds, and a call that was looked at and passed on 17: ``python -m bench.enable``. On
a processor it is the least of many turns on a machine that others used, too.)"""
COMPILED = {"cpu": (2e-6, 2e-6), "cuda": (12e-6, 6e-6)}
"""The same where ours is a compiled entry. (A call that is passed on takes half a microsecond longer.)"""
ADDING = {"cpu": 2e-6, "cuda": 0.0}
"""Seconds more where c is copied first, for which PyTorch beside an H200 takes as long itself."""
RATES = {"cpu": (1e10, 2e10), "cuda": (2e12, 2e13)}
"""Bytes and operations a second where no ceilings were measured, by kind of device."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds of one call by a kernel of ours and by PyTorch's; ``wins``: whether ours ends sooner, host and
    device taken together."""

    ours: float
    theirs: float
    wins: bool

    @property
    def saved(self) -> float:
        """Seconds that a call is expected to save."""
        return max(0.0, self.theirs - self.ours)


def estimate(plan: Plan, adding: bool = False, python: bool = True) -> Estimate:
    """What is expected of the calls of a plan, per call. ``adding``: c is copied to a new result first.
    ``python``: the call goes through a kernel written in Python. On a
    GPU a plan without a stencil is cuBLASLt's product, which either calls."""
    problem, kind = plan.problem, plan.device.kind
    products = int(getattr(problem, "products", problem.batch))
    ours, theirs = _recorded(plan, products)
    if ours is None:
        ours = max(LAUNCH[kind], _bound(plan) * products / REACHED)
    if theirs is None:
        theirs = ours * _gain(plan)
    before, after = HOST[kind] if python else COMPILED[kind]
    if adding:
        after += ADDING[kind]
    seconds, others = max(ours, after), max(theirs, before)
    wins = seconds < others or (seconds == others and ours <= theirs)
    if plan.stencil is None:
        wins = wins and ours < before
    return Estimate(ours, theirs, wins)


def _recorded(plan: Plan, products: int) -> tuple[float | None, float | None]:
    """Seconds of a call by the record of the plan's problem, and by that of the library."""
    if plan.origin != "tuned":
        return None, None
    found = []
    for theirs in (False, True):

        def accept(record: Any, theirs: bool = theirs) -> bool:
            return bool((record.stencil == VENDOR) is theirs)

        record = dispatch.best(plan.problem.key, plan.regime, plan.device, accept=accept)
        timing = None if record is None else record.timing
        found.append(None if timing is None else timing.median / timing.batch * products)
    return found[0], found[1]


def _bound(plan: Plan) -> float:
    """The least seconds of one product of a batch."""
    problem, device = plan.problem, plan.device
    if device.ceilings and roofline.known(problem, device):
        cores = plan.threads if device.kind == "cpu" else 1
        return roofline.bound(problem, device, plan.regime).seconds / cores
    bandwidth, peak = RATES[device.kind]
    moving = problem.bytes / bandwidth if plan.regime == "memory" else 0.0
    return float(max(moving, problem.flops / peak))


def _gain(plan: Plan) -> float:
    """How many times as long as ours the library's product is expected to take."""
    problem = plan.problem
    if plan.stencil is None:
        return 1.0
    if isinstance(problem, Problem):
        if problem.outer:
            problem = problem.with_(batch=problem.products, outer=())
        if plan.device.kind == "cpu" and STENCILS[plan.stencil].needs_record(problem):
            # It was measured beside NumPy's BLAS, and PyTorch has another.
            return 0.0
        found = neighbours.standing(plan.stencil, problem, plan.regime, plan.device)
        if found is not None:
            return found[1]
    return UNKNOWN
