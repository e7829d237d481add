"""Which kernel a call runs: a ladder of seven rungs over the records. It reads, and never measures."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import ArgumentError, RecordsError
from tilewright.model import EMULATED, VENDOR, Config, Device, Gemm, GroupedProblem, Plan, Problem, Record
from tilewright.planning import alike, alone, candidates, classes, kin, neighbours, processors, runners_up
from tilewright.planning.chosen import IN_USE
from tilewright.space import HARDWARE, KINDS, Space
from tilewright.stencils.protocol import Stencil
from tilewright.store.paths import warn_once
from tilewright.store.records import Records

MODELLED = ("cpu",)
"""Kinds of devices that there are scheduling models of."""
T = TypeVar("T")


@functools.cache
def device(kind: str = "cpu", index: int = 0) -> Device:
    """A device of this machine, with the ceilings that were measured on it: the processor, or the GPU of
    that number.

    Raises as the target's ``probe``.
    """
    found: Device = TARGETS[kind].probe(index)
    measured = ceilings(found)
    if measured:
        # What was measured by an older version lacks the types that it had not.
        measured = {**TARGETS[kind].ceilings(found), **measured}
    return replace(found, ceilings=measured)


def known(device: Device) -> Device:
    """A device of another machine with what was measured of it."""
    return replace(device, ceilings=ceilings(device))


def ceilings(device: Device) -> dict[str, float]:
    """What was measured of a device, under any of its keys."""

    def measured(held: Records) -> dict[str, float]:
        found: dict[str, float] = {}
        for key in TARGETS[device.kind].keys(device.key):
            found = held.ceilings(key, device["cores"]) | found
        return found

    return _asked(measured, dict[str, float]())


def best(
    key: str,
    kind: str,
    device: Device,
    without: str = "",
    accept: Callable[[Record], bool] = lambda record: True,
) -> Record | None:
    """The best record of a problem key in a regime on a device, under the first of its keys that has one,
    of the records that ``accept`` takes."""

    def first(held: Records) -> Record | None:
        names = TARGETS[device.kind].keys(device.key)
        found = (held.best(key, kind, name, without=without, accept=accept) for name in names)
        return next((record for record in found if record is not None), None)

    return _asked(first, None)


@functools.cache
def records() -> Records:
    """The records of this user, and the shipped ones behind them."""
    return Records()


def regime(problem: Gemm, device: Device, cores: int | None = None) -> str:
    """``cached`` when all that the problem touches is within the knee of so many cores (None: all), where
    they still go faster than memory; else ``memory``."""
    return "cached" if problem.footprint <= device.knee(cores) else "memory"


def threads(problem: Gemm, grain: int, cores: int) -> int:
    """Cores that a batch is worth: each gets at least ``grain`` products."""
    return max(1, min(cores, problem.batch // max(1, grain)))


def plan(
    problem: Gemm,
    device: Device,
    *,
    stencil: str | None = None,
    config: Mapping[str, Any] | None = None,
    cores: int | None = None,
    vendor: bool = True,
) -> Plan:
    """The plan for a problem, from the first rung that has one:

    1. ``forced``: the caller named a stencil or a config;
    2. ``tuned``: the kernel of this very problem in the set that is in use (``chosen``), else the fastest
       correct record of it on this device;
    3. ``near``: the record of a near problem, where its stencil and its rules accept this one (on processors
       of the same regime and the same sizes); on GPUs, where those of a winner of these sizes do not, the
       record of another stencil that was slower;
    4. ``kin``: such a record of the most similar device (``kin.serving``), in the regimes that
       ``kin.SERVES``, where its stencil and its rules accept this problem on this device;
    5. ``predicted``: the config with the fewest cycles by LLVM's scheduling model for this very problem
       (``tilewright tune --model``): the rung of processors that nobody has measured;
    6. ``default``: of the stencils that accept the problem whichever was measured to gain most over the
       library on problems like it (``neighbours``), or says itself that it gains most (``Stencil.gain``), the
       first of equals, with its cost model's config;
    7. ``vendor``: cuBLASLt where it serves the problem, else the array library's own product: where no
       stencil accepts the problem, where the records say that it is faster, and where each stencil that
       accepts it was not measured to win on such problems, or, where nothing was measured, says that it
       needs a record (not with ``vendor=False``; of complex half, which no library has, only the first).

    Raises ``ArgumentError`` when a forced stencil or config does not fit the problem.
    """
    cores = device["cores"] if cores is None else min(cores, device["cores"])
    kind = regime(problem, device, cores)

    def made(origin: str, why: str, name: str, chosen: Config) -> Plan:
        grain = STENCILS[name].launch(problem, chosen).grain
        return Plan(problem, device, kind, origin, why, name, chosen, threads(problem, grain, cores))

    if stencil is not None or config is not None:
        return made("forced", "named by the caller", *_forced(problem, device, stencil, config))
    rival = vendor and alike.has_rival(problem)
    # Of matrices that lie anywhere no record tells, for its batches were evenly spaced.
    theirs = rival and isinstance(problem, Problem) and not problem.pointers
    # What was timed has one batch axis. Along several there is less to move where a run shares an operand,
    # and other tiles are better (z on an H200: 0.97 of a copy in place of 0.62 for order 9, 0.55 to 0.85 in
    # place of 0.49 to 0.74 for order 32); and no library's product is one call. So they say at most which
    # stencil it is.
    if not (isinstance(problem, Problem) and problem.outer):
        recorded = _recorded(problem, device, kind, theirs, made)
        if recorded is not None and _takes(recorded):
            return recorded
    elif alike.by_arithmetic(problem):
        recorded = _recorded(problem, device, kind, False, made)
        if recorded is not None and recorded.stencil is not None:
            name = recorded.stencil
            chosen = STENCILS[name].default(problem, device.with_cores(cores))
            return made("default", f"{recorded.why}; the stencil's cost model", name, chosen)
    offers, reasons = [], []
    for name, candidate in candidates.of(device).items():
        reason = candidates.refusal(candidate, problem, device)
        if reason is None:
            serves, gain = _standing(candidate, problem, kind, device.with_cores(cores))
            if serves or not rival:
                offers.append((serves, gain, name, candidate))
                continue
            reason = "no record speaks for it, and the library's product is tuned; tilewright tune makes one"
        reasons.append(f"{name}: {reason}")
    if offers:
        # The first of those that are equal, as where nothing was measured. Losers stand here where no library
        # may be asked, and then behind whoever wins.
        *_, name, candidate = max(offers, key=lambda offer: offer[:2])
        # The cost model asks, too, where the caches end: those of the cores that may be used.
        chosen = candidate.default(problem, device.with_cores(cores))
        return made("default", "no record; the stencil's cost model", name, chosen)
    if not vendor:
        math = getattr(problem, "math", "ieee")
        also = "" if math == "ieee" else f" with math={math!r}; accepted: 'ieee'"
        raise ArgumentError(f"problem={problem.spelling}: no stencil accepts it{also} ({'; '.join(reasons)})")
    return Plan(problem, device, kind, VENDOR, "; ".join(reasons), config=_unrecorded(problem, device))


def allowed(problem: Gemm, device: Device, cores: int | None = None) -> Plan:
    """The plan of a problem whose ``math`` says what may be done: where products may be made of parts and
    none is measured to gain by that, the plan of the numbers as they are."""
    made = plan(problem, device, cores=cores)
    if made.stencil is None and getattr(problem, "math", "ieee") in EMULATED:
        return plan(problem.with_(math="ieee"), device, cores=cores)
    return made


def _unrecorded(problem: Gemm, device: Device) -> Config | None:
    """Which of the vendor's products runs where no record says it; None: cuBLASLt's, where it serves."""
    own = isinstance(problem, Problem) and device.kind in kin.LIBRARIES and alone.by_own_routine(problem)
    return Config({"by": "library"}) if own else None


def _takes(plan: Plan) -> bool:
    """Whether the stencil of a record accepts the batch as it is: it was asked about two products."""
    stencil = None if plan.stencil is None else STENCILS[plan.stencil]
    return stencil is None or candidates.refusal(stencil, plan.problem, plan.device) is None


def _recorded(
    problem: Gemm, device: Device, kind: str, theirs: bool, made: Callable[[str, str, str, Config], Plan]
) -> Plan | None:
    """The plan of the rungs that go by records, which ``made`` makes of origin, reason, stencil and config.
    ``theirs``: the vendor's records count."""
    # Along several axes rules ask for all extents, along one whether there is more than one product: two
    # stand for all batches, so that what is remembered serves any.
    whole = isinstance(problem, Problem) and problem.outer
    one = problem if whole else problem.with_(batch=min(problem.batch, 2))
    asked = IN_USE.record(problem.key, kind, TARGETS[device.kind].keys(device.key))
    if asked is not None and _misfit(asked, one, device) is None:
        return made("tuned", "its kernel in the set that is in use", asked.stencil, asked.config)
    best = _tuned(problem.key, one, device, kind, theirs)
    if best is not None and best[0] == VENDOR:
        why = "the records say that it is faster"
        return Plan(problem, device, kind, VENDOR, why, config=best[1] or None)
    if best is not None:
        return made("tuned", f"fastest of the records of {problem.key} in {kind}", *best)
    # Rules ask whether the operands fit in the caches: the memo keeps a batch with the same answer.
    some = one if one is problem or kind == "cached" else problem.with_(batch=1 + device.knee())
    near = _near(problem.key, some, device, kind, problem.batch == 1, theirs)
    if near is not None:
        name, chosen, whose = near
        if name == VENDOR:
            why = f"the records say that it is faster for the near problem {whose}"
            return Plan(problem, device, kind, VENDOR, why)
        return made("near", f"record of the near problem {whose}", name, chosen)
    similar = _kin(problem.key, some, device, kind, problem.batch == 1, theirs)
    if similar is not None:
        name, chosen, whose, relative = similar
        if name == VENDOR:
            why = f"the records of the similar device {relative} say that it is faster for {whose}"
            return Plan(problem, device, kind, VENDOR, why)
        why = f"record of {whose} on the similar device {relative}"
        return made("kin", why, name, chosen)
    foretold = _foretold(problem.key, some, device, kind) if device.kind in MODELLED else None
    if foretold is not None:
        return made("predicted", f"not measured: {foretold[2]}", *foretold[:2])
    return None


def _standing(stencil: Stencil, problem: Any, kind: str, device: Device) -> tuple[bool, float]:
    """Whether a stencil without a record is the better guess than the library, and how many times as fast as
    that it is: by what was measured of problems like it, or, where nothing was, by what the stencil says of
    itself. That is said of batches that are evenly spaced: of other lists a library may have a call, and
    it is seldom fast. Of a batch along several axes the runs were measured, and the stencil has to say yes to
    how it goes on between them. What a run shares, or has gaps between, it may have anew, or close together,
    along another axis: neither counts. Libraries have no one call for such a batch, so that a gain need not
    be sure."""
    if isinstance(problem, Problem) and problem.outer:
        run = problem.with_(batch=problem.products, outer=(), **_close(problem))
        serves, gain = _standing(stencil, run, kind, device)
        return (serves or gain > 1) and not stencil.needs_record(problem), gain
    if isinstance(problem, GroupedProblem):
        return classes.wins(stencil.name, problem, kind, device) is not False, 1.0
    if not isinstance(problem, Problem):
        # Of groups whose borders lie on the device a library has no call.
        return True, 1.0
    if device.kind == "cpu" and stencil.needs_record(problem):
        # Others win wherever they serve, and a first call does not wait for a file to be read.
        return processors.standing(stencil.name, problem, kind, device)
    found = alone.standing(stencil.name, problem, device)
    if found is None:
        found = neighbours.standing(stencil.name, problem, kind, device)
    if found is not None:
        return found
    return problem.pointers or not stencil.needs_record(problem), stencil.gain(problem, device)


def _close(p: Problem) -> dict[str, int]:
    """The batch strides of a problem whose matrices follow each other, 0 for what all of its batch shares."""
    columns = (p.m if p.transposed_a else p.k), (p.k if p.transposed_b else p.n), p.n
    leads = zip("abc", columns, (p.lda, p.ldb, p.ldc), p.moves, strict=True)
    return {f"stride_{x}": (ld or 0) * count if moves else 0 for x, count, ld, moves in leads}


def _forced(
    problem: Gemm, device: Device, name: str | None, config: Mapping[str, Any] | None
) -> tuple[str, Config]:
    """The stencil and config that the caller asked for, checked against the rules."""
    if name is None:
        name = next(candidates.accepting(problem, device), None)
        if name is None:
            raise ArgumentError(f"config={config} for {problem.spelling}, which no stencil accepts")
    if name not in candidates.of(device):
        raise ArgumentError(f"stencil={name!r}; accepted: {', '.join(candidates.of(device))}")
    stencil = STENCILS[name]
    reason = candidates.refusal(stencil, problem, device)
    if reason is not None:
        raise ArgumentError(f"stencil={name!r} does not accept {problem.spelling}: {reason}")
    default = stencil.default(problem, device)
    if config is None:
        return name, default
    chosen = Config({**default, **config})
    reason = _space(name, problem, device).member(chosen)
    if reason is not None:
        raise ArgumentError(f"config {reason}; given: {dict(config)}")
    return name, chosen


@functools.lru_cache(maxsize=4096)
def _tuned(key: str, problem: Gemm, device: Device, kind: str, vendor: bool) -> tuple[str, Config] | None:
    """Stencil and config of the fastest record of a problem key, if its stencil still takes them."""
    without = "" if vendor else VENDOR

    def accept(record: Record) -> bool:
        return record.stencil == VENDOR or _misfit(record, problem, device) is None

    found = best(key, kind, device, without=without, accept=accept)
    return None if found is None else (found.stencil, found.config)


@functools.lru_cache(maxsize=4096)
def _near(
    key: str, problem: Gemm, device: Device, kind: str, single: bool, vendor: bool
) -> tuple[str, Config, str] | None:
    """Stencil, config and key of the nearest record that this problem can use, the vendor's among them."""
    without = "" if vendor else VENDOR
    found = (
        record
        for name in TARGETS[device.kind].keys(device.key)
        for record in _near_on(problem, kind, name, without)
        if alike.serves(record, problem, device, kind) and alike.sizes_serve(record, problem, device)
    )
    return _usable(found, problem, device, single)


def _near_on(problem: Gemm, kind: str, device: str, without: str) -> list[Record]:
    """The best records of near problems on a device, nearest first."""
    return _asked(lambda held: held.near(problem, kind, device, without=without), list[Record]())


def near_records(problem: Gemm, kind: str, device: Device) -> list[Record]:
    """The best records of near problems in a regime on a device, nearest first, kernels' alone."""
    return _near_on(problem, kind, device.key, VENDOR)


@functools.lru_cache(maxsize=64)
def _relative(device: Device) -> str | None:
    """The device whose records serve this one where it has none."""
    return kin.serving(device, _asked(lambda held: held.devices(), list[str]()))


@functools.lru_cache(maxsize=4096)
def _kin(
    key: str, problem: Gemm, device: Device, kind: str, single: bool, vendor: bool
) -> tuple[str, Config, str, str] | None:
    """Stencil, config and key of the record of the most similar device that this problem can use, and
    that device: a record of this very problem before those of near ones, all of the same regime."""
    relative = _relative(device) if kind in kin.SERVES[device.kind] else None
    if relative is None:
        return None
    without = "" if vendor and device.kind in kin.LIBRARIES else VENDOR
    exact = _asked(lambda held: held.best(key, kind, relative, without=without), None)
    near = _near_on(problem, kind, relative, without)
    theirs = (record for record in (exact, *near) if record is not None and record.regime == kind)
    found = (
        record
        for record in theirs
        if alike.serves(record, problem, device, kind) and alike.sizes_serve(record, problem, device)
    )
    usable = _usable(found, problem, device, single)
    return None if usable is None else (*usable, relative)


@functools.lru_cache(maxsize=4096)
def _foretold(key: str, problem: Gemm, device: Device, kind: str) -> tuple[str, Config, str] | None:
    """Stencil, config and what was predicted of the prediction for a problem key, if its stencil takes it."""
    found = _asked(lambda held: held.predicted(key, kind, device.key), None)
    if found is None or _misfit(found, problem, device) is not None:
        return None
    return found.stencil, found.config, found.detail


def _usable(
    found: Iterable[Record], problem: Gemm, device: Device, single: bool
) -> tuple[str, Config, str] | None:
    """Stencil, config and key of the first record that this problem can use on this device.

    Libraries have one routine for batches and another for a product alone (``single``): that the vendor
    wins at one says nothing of the other. Where a config is of one size
    (``Stencil.size_specific``), other sizes say little,
    of the vendor too, which has its good ones: what it won against such stencils says nothing of others.
    """
    # In memory the memo asks for a batch of many.
    asked = problem.with_(batch=1) if single and isinstance(problem, Problem) else problem
    # Others than the first are asked for where a record does not fit, and then once.
    accepting, names = candidates.accepting(problem, device), list[str]()
    names.extend(itertools.islice(accepting, 1))
    specific = bool(names) and candidates.of(device)[names[0]].size_specific
    for record in found:
        theirs = STENCILS.get(record.stencil)
        exact = specific or (_contested(record, device) if theirs is None else theirs.size_specific)
        if exact and alike.shape(record.problem) != alike.shape(problem):
            continue
        if alike.strange(record.problem, asked, device):
            continue
        if record.stencil == VENDOR and (record.problem.batch == 1) == single:
            return VENDOR, record.config, record.problem.key
        if _fits(record, problem, device):
            return record.stencil, record.config, record.problem.key
        # Winners of other sizes stand in for what they fit, and no more.
        same = record.problem.extents == problem.extents
        if not same or record.stencil == VENDOR or device.kind not in kin.LIBRARIES:
            continue
        names.extend(accepting)
        other = _asked(partial(runners_up.other, record=record, accepting=names), None)
        if other is not None and _fits(other, problem, device):
            return other.stencil, other.config, other.problem.key
    return None


def _fits(record: Record, problem: Any, device: Device) -> bool:
    """Whether a near problem's record can stand in for one: what was tuned for another place in memory may be
    slow here, not only wrong. Along several axes the record says which stencil it is and no more, so that its
    config need not fit."""
    own = candidates.of(device).get(record.stencil)
    if own is not None and isinstance(problem, Problem) and problem.outer:
        return candidates.refusal(own, problem, device) is None
    return _misfit(record, problem, device, KINDS) is None


def _contested(record: Record, device: Device) -> bool:
    """Whether a stencil whose configs are of one size accepts the problem of a record."""
    specific = (one for one in candidates.of(device).values() if one.size_specific)
    problem: Any = record.problem
    return any(candidates.refusal(one, problem, device) is None for one in specific)


def _misfit(record: Record, problem: Any, device: Device, kinds: Sequence[str] = HARDWARE) -> str | None:
    """Why a record's kernel cannot serve a problem, or breaks a rule of these kinds on it; None if it can."""
    stencil = STENCILS.get(record.stencil)
    if stencil is None or stencil.target != device.kind:
        return f"stencil={record.stencil!r}; accepted: {', '.join(candidates.of(device))}"
    reason = candidates.refusal(stencil, problem, device)
    if reason is not None:
        return f"stencil={record.stencil!r} does not accept {problem.spelling}: {reason}"
    reason = _space(record.stencil, problem, device).member(record.config, kinds)
    return reason and f"config {reason}"


@functools.lru_cache(maxsize=64)
def _space(name: str, problem: Gemm, device: Device) -> Space:
    """The space of a stencil: many records are of one problem."""
    return STENCILS[name].space(problem, device)


def misfit(record: Record) -> str | None:
    """Why no kernel can be what a record says was right: its config is none of its stencil's, or its
    stencil refuses the problem. None where it can be, and where that cannot be told here: of another
    version's stencil, and of a device that is neither this processor nor a named GPU.
    """
    if record.status != "ok" or record.stencil not in STENCILS:
        return None
    whose = _device_of(record)
    return None if whose is None else _misfit(record, record.problem, whose)


def _device_of(record: Record) -> Device | None:
    """The device of a record: a named GPU, or this processor; None of any other."""
    found = kin.named(record.device)
    if found is not None:
        return found
    here = device()
    return here if record.device == here.key else None


def _asked(question: Callable[[Records], T], otherwise: T) -> T:
    """What the records say. Where they cannot be used there is a warning, and they say nothing: no
    product needs a record."""
    try:
        return question(records())
    except RecordsError as error:
        warn_once(f"{error}; kernels are chosen without records")
        return otherwise


CACHED = (device, records, _tuned, _near, _kin, _foretold, _relative, _space)
"""The functions that remember what followed from the records: the call cache empties them."""
