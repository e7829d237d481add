"""Which kernel a call runs: a ladder of five rungs over the records. It reads, and never measures."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from tilewright import call_cache, roofline_cuda
from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import ArgumentError
from tilewright.model import Config, Device, Plan, Task
from tilewright.records import Records
from tilewright.space import HARDWARE, KINDS
from tilewright.stencils import Stencil, refused

VENDOR = "vendor"


@functools.cache
def device(kind: str = "cpu") -> Device:
    """The device of this process, with the ceilings that were measured on it."""
    found: Device = TARGETS[kind].probe()
    ceilings = records().ceilings(found.key, found["cores"])
    if ceilings and kind == "cuda":
        # What was measured by an older version lacks the types that it had not.
        ceilings = {**roofline_cuda.units(found), **ceilings}
    return Device(found.kind, found.name, found.key, found.limits, found.features, ceilings)


@functools.cache
def records() -> Records:
    """The records of this user, and the shipped ones behind them."""
    return Records()


def forget() -> None:
    """Read records and ceilings afresh at the next plan: for a process that has just tuned."""
    call_cache.clear()


def candidates(device: Device) -> dict[str, Stencil]:
    """The stencils that write for a device's kind."""
    return {name: stencil for name, stencil in STENCILS.items() if stencil.target == device.kind}


def refusal(stencil: Stencil, problem: Task, device: Device) -> str | None:
    """Why a stencil's kernel cannot serve a problem here; None when it can.

    A stencil may accept problems on devices whose space can only be counted: it says so by ``runs``.
    """
    runs = getattr(stencil, "runs", None)
    return refused(stencil, problem, device) or (runs(device) if runs is not None else None)


def stranger(problem: Task, device: Device) -> bool:
    """Whether no stencil of the device's kind accepts a problem."""
    return all(refusal(stencil, problem, device) for stencil in candidates(device).values())


def regime(problem: Task, device: Device) -> str:
    """``cached`` when all that the problem touches fits in the last-level cache, else ``memory``."""
    return "cached" if problem.footprint <= device.last_cache else "memory"


def threads(problem: Task, grain: int, cores: int) -> int:
    """Cores that a batch is worth: each gets at least ``grain`` products."""
    return max(1, min(cores, problem.batch // max(1, grain)))


def plan(
    problem: Task,
    device: Device,
    *,
    stencil: str | None = None,
    config: Mapping[str, Any] | None = None,
    cores: int | None = None,
    vendor: bool = True,
) -> Plan:
    """The plan for a problem, from the first rung that has one:

    1. ``forced``: the caller named a stencil or a config;
    2. ``tuned``: the fastest correct record of this very problem on this device;
    3. ``near``: the record of a near problem, where its stencil and its rules accept this one;
    4. ``default``: the first stencil that accepts the problem, with its cost model's config;
    5. ``vendor``: the array library's own product, where no stencil accepts the problem, where the
       records say that it is faster, and where the first stencil that accepts it says that it runs on record
       (not with ``vendor=False``; of complex half, which no library has, only the first).

    Raises ``ArgumentError`` when a forced stencil or config does not fit the problem.
    """
    kind = regime(problem, device)
    cores = device["cores"] if cores is None else min(cores, device["cores"])

    def made(origin: str, why: str, name: str, chosen: Config) -> Plan:
        grain = STENCILS[name].launch(problem, chosen).grain
        return Plan(problem, device, kind, origin, why, name, chosen, threads(problem, grain, cores))

    if stencil is not None or config is not None:
        return made("forced", "named by the caller", *_forced(problem, device, stencil, config))
    # What was timed as the vendor's product of complex half is of planes that no caller has; what a caller
    # gets is the library's product of complex64, with copies before and after.
    theirs = vendor and problem.dtype.letter != "hc"
    best = _tuned(problem.key, problem.with_(batch=1), device, kind, theirs)
    if best is not None and best[0] == VENDOR:
        return Plan(problem, device, kind, VENDOR, "the records say that it is faster")
    if best is not None:
        return made("tuned", f"fastest of the records of {problem.key} in {kind}", *best)
    # Rules ask whether the operands fit in the caches: the memo keeps a batch with the same answer.
    some = problem.with_(batch=1 if kind == "cached" else 1 + device.last_cache)
    near = _near(problem.key, some, device, kind, problem.batch == 1, theirs)
    if near is not None:
        name, chosen, whose = near
        if name == VENDOR:
            why = f"the records say that it is faster for the near problem {whose}"
            return Plan(problem, device, kind, VENDOR, why)
        return made("near", f"record of the near problem {whose}", name, chosen)
    reasons = []
    for name, candidate in candidates(device).items():
        reason = refusal(candidate, problem, device)
        on_record = getattr(candidate, "on_record", None)
        if reason is None and theirs and on_record is not None and on_record(problem):
            tuned = "no record speaks for it, and the library's product is tuned; tilewright tune makes one"
            reasons.append(f"{name}: {tuned}")
            break
        if reason is None:
            return made(
                "default", "no record; the stencil's cost model", name, candidate.default(problem, device)
            )
        reasons.append(f"{name}: {reason}")
    if not vendor:
        raise ArgumentError(f"problem={problem.spelling}: no stencil accepts it ({'; '.join(reasons)})")
    return Plan(problem, device, kind, VENDOR, "; ".join(reasons))


def _forced(
    problem: Task, device: Device, name: str | None, config: Mapping[str, Any] | None
) -> tuple[str, Config]:
    """The stencil and config that the caller asked for, checked against the rules."""
    if name is None:
        name = next((n for n, s in candidates(device).items() if refusal(s, problem, device) is None), None)
        if name is None:
            raise ArgumentError(f"config={config} for {problem.spelling}, which no stencil accepts")
    if name not in candidates(device):
        raise ArgumentError(f"stencil={name!r}; accepted: {', '.join(candidates(device))}")
    stencil = STENCILS[name]
    reason = refusal(stencil, problem, device)
    if reason is not None:
        raise ArgumentError(f"stencil={name!r} does not accept {problem.spelling}: {reason}")
    default = stencil.default(problem, device)
    if config is None:
        return name, default
    unknown = set(config) - set(default)
    if unknown:
        raise ArgumentError(f"config names {sorted(unknown)[0]!r}; accepted: {', '.join(default)}")
    chosen = default.with_(**config)
    space = stencil.space(problem, device)
    for param in space.params:
        if chosen[param.name] not in param.values:
            raise ArgumentError(
                f"config says {param.name}={chosen[param.name]!r}; accepted: "
                + ", ".join(map(str, param.values))
            )
    broken = [rule for rule in space.why(chosen) if rule.kind in HARDWARE]
    if broken:
        raise ArgumentError(f"config={chosen} breaks {broken[0].name!r}: {broken[0].why}")
    return name, chosen


@functools.lru_cache(maxsize=4096)
def _tuned(key: str, problem: Task, device: Device, kind: str, vendor: bool) -> tuple[str, Config] | None:
    """Stencil and config of the fastest record of a problem key, if its stencil still takes them."""
    found = records().best(key, kind, device.key, without="" if vendor else VENDOR)
    if found is not None and found.stencil == VENDOR:
        return VENDOR, found.config
    if found is None or found.stencil not in STENCILS:
        return None
    return (found.stencil, found.config) if _fits(found.stencil, found.config, problem, device) else None


@functools.lru_cache(maxsize=4096)
def _near(
    key: str, problem: Task, device: Device, kind: str, single: bool, vendor: bool
) -> tuple[str, Config, str] | None:
    """Stencil, config and key of the nearest record that this problem can use, the vendor's among them.

    Libraries have one routine for batches and another for a product alone (``single``): that the vendor
    wins at one says nothing of the other. Where sizes are compiled in (``sized``), other sizes say little,
    of the vendor too, which has its good ones.
    """
    accepting = (one for one in candidates(device).values() if refusal(one, problem, device) is None)
    exact = getattr(next(accepting, None), "sized", False)
    for record in records().near(problem, kind, device.key, without="" if vendor else VENDOR):
        sized = exact or getattr(STENCILS.get(record.stencil), "sized", False)
        if sized and _shape(record.problem) != _shape(problem):
            continue
        if record.stencil == VENDOR and (record.problem.batch == 1) == single:
            return VENDOR, record.config, record.problem.key
        # What was tuned for another place in memory may be slow here, not only wrong.
        if record.stencil in STENCILS and _fits(record.stencil, record.config, problem, device, KINDS):
            return record.stencil, record.config, record.problem.key
    return None


def _shape(problem: Task) -> tuple[int, int, int, bool]:
    """Sizes, and whether columns are apart, which makes other demands on how bytes are moved."""
    return problem.m, problem.n, problem.k, problem.layout.startswith("packed")


def _fits(name: str, config: Config, problem: Task, device: Device, kinds: Sequence[str] = HARDWARE) -> bool:
    """Whether the stencil accepts a problem, and a recorded config breaks no rule of these kinds on it."""
    stencil = STENCILS[name]
    if refusal(stencil, problem, device) is not None:
        return False
    try:
        broken = stencil.space(problem, device).why(config)
    except Exception:
        return False
    return not any(rule.kind in kinds for rule in broken)


call_cache.adopt(device, records, _tuned, _near)
