"""What to tune next: calls that ran without a record, by what that is expected to have cost.

The expected loss of a gap is the time of all its products less what they would have taken tuned:

1. *Tuned*, a product takes its bound (``planning.roofline``) over the share of the bound that tuned products
   like it reach here: the median of the records of near problems, ``REACHED`` where there are none.
2. *Now*, it takes what was seen at best while the calls were counted. Where no call could be timed (on a GPU)
   it is supposed to take ``LOSSES`` more than tuned, by the rung that it ran by. These are guesses for an
   order of work, and no result.
3. Where the device has no measured ceilings, bytes and operations over fixed rates stand in for the bound.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from tilewright.errors import DeviceError
from tilewright.model import VENDOR, Device, Plan, Record
from tilewright.planning import dispatch, roofline
from tilewright.runtime.gaps import COUNTS, is_gap
from tilewright.store import gaps as file

REACHED = 0.8
"""The share of its bound that a tuned product is supposed to reach where no record says so."""
LOSSES = {"default": 0.15, "predicted": 0.15, "vendor": 0.15, "kin": 0.08, "near": 0.05}
"""How much longer than tuned a product is supposed to take, by the rung that it ran by."""
RATES = {"cpu": (1e10, 2e10), "cuda": (2e12, 2e13)}
"""Bytes and operations a second where no ceilings were measured, by kind of device."""
NEAR = 8
"""Records of near problems that say what is reached."""


@dataclass(frozen=True, slots=True)
class OpenGap:
    """A problem that was called without a record, and still has none.

    ``origin`` is the rung that its calls run by now, ``regime`` where their operands are, ``seconds`` the
    time of one product as seen or supposed, ``tuned`` what it is expected to take with a record, ``calls``
    how many there were, with ``products`` in all. ``timed``: ``seconds`` was measured.
    """

    problem: Any
    regime: str
    device: str
    origin: str
    calls: int
    products: int
    seconds: float
    tuned: float
    timed: bool

    @property
    def loss(self) -> float:
        """Seconds that all calls together are expected to have lost."""
        return self.products * max(0.0, self.seconds - self.tuned)


def gaps(device: str | None = None) -> list[OpenGap]:
    """The calls without a record that programs made on this machine's devices, worst expected loss first.

    They are counted while ``count_gaps`` or the environment variable ``TILEWRIGHT_GAPS`` says so, by any
    number of processes. ``device``: those of ``cpu`` or ``cuda`` alone. What has a record by now is left out,
    and so is what was counted on devices that are not here.

    Raises ``RecordsError`` when the file of counts cannot be read.
    """
    COUNTS.write(now=True)
    here: dict[str, Device | None] = {}
    found = []
    for each in file.read():
        if device not in (None, each.kind):
            continue
        if each.kind not in here:
            here[each.kind] = _there(each.kind)
        there = here[each.kind]
        if there is not None and there.key == each.device and (made := _opened(each, there)):
            found.append(made)
    return sorted(found, key=lambda gap: (-gap.loss, -gap.products, gap.problem.key, gap.regime))


def _there(kind: str) -> Device | None:
    try:
        return dispatch.device(kind)
    except DeviceError:
        return None


def _opened(gap: file.Gap, device: Device) -> OpenGap | None:
    """A gap with what it is expected to cost; None where it is none any more."""
    plan = dispatch.plan(gap.problem, device)
    if not is_gap(plan):
        return None
    tuned = _tuned(gap, plan)
    seconds = tuned * (1 + LOSSES[plan.origin]) if gap.seconds is None else gap.seconds
    return OpenGap(
        # Where caches end may have been measured since: tuned is what such calls are planned by now.
        *(gap.problem, plan.regime, gap.device, plan.origin, gap.calls, gap.products),
        *(seconds, tuned, gap.seconds is not None),
    )


def _tuned(gap: file.Gap, plan: Plan) -> float:
    """Seconds that one product of a gap is expected to take when it is tuned. What was timed is of all cores
    that a call used, and is compared with the bound of these."""
    device = plan.device
    bound = _bound(gap.problem, plan.regime, device) / (plan.threads if device.kind == "cpu" else 1)
    near = dispatch.near_records(gap.problem, plan.regime, device)[:NEAR]
    reached = [share for record in near if (share := _reached(record, device)) is not None]
    return bound / (statistics.median(reached) if reached else REACHED)


def _bound(problem: Any, regime: str, device: Device) -> float:
    """The least seconds of one product, on one core of a CPU."""
    if device.ceilings and roofline.known(problem, device):
        return roofline.bound(problem, device, regime).seconds
    bandwidth, peak = RATES[device.kind]
    return float(max(problem.bytes / bandwidth if regime == "memory" else 0.0, problem.flops / peak))


def _reached(record: Record, device: Device) -> float | None:
    """The share of its bound that a record's kernel reached, 1 at most; None where that is not known."""
    if record.timing is None or record.stencil == VENDOR:
        return None
    seconds = record.timing.median / record.timing.batch
    return min(1.0, _bound(record.problem, record.regime, device) / seconds)
