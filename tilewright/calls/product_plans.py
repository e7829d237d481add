"""The plan of one product or stack of them, for its arrays or for copies that a kernel can take."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from tilewright.arrays.interleaved import interleaved_of
from tilewright.arrays.layout import LETTERS, Job, problem_of
from tilewright.arrays.overlap import may_share
from tilewright.arrays.view import Layout
from tilewright.calls.settings import threads
from tilewright.calls.spec import Options
from tilewright.errors import ArgumentError
from tilewright.forks import making
from tilewright.model import EMULATED, Device, Plan, Problem
from tilewright.planning import candidates, dispatch, steady
from tilewright.runtime import call_cache, gaps
from tilewright.runtime.backend import Backend


@dataclass(frozen=True, slots=True)
class Bound:
    """A plan for certain arrays, or copies of them that a kernel can take. ``bound``: the kernel or the
    vendor's product, None where only the array library's own is left."""

    plan: Plan
    bound: Any
    a: Layout
    b: Layout
    out: Layout


def plan(
    backend: Backend,
    options: Options,
    a: Layout,
    b: Layout,
    out: Layout,
    *,
    fresh: bool,
    imagine: bool = False,
) -> Bound:
    """The plan for out = alpha a b + beta out, and arrays that it can run on.

    a: (..., m, k), b: (..., k, n), out: (..., m, n), of one type. ``fresh``: out was made for this call, so
    it overlaps nothing. When the array to write to is not ``out`` itself, the caller copies it back.
    ``imagine``: copies are layouts without memory.
    """
    if 0 in (*out.shape, a.shape[-1]):
        return Bound(_nothing(backend, a, b, out), None, a, b, out)
    a, b, result, job = usable(backend, options, a, b, out, fresh=fresh, imagine=imagine)
    forced = options.stencil, options.config, options.deterministic
    key = (backend.key, job, options.alpha, options.beta, *forced)
    # Another thread may clear the call cache at any moment: look once.
    found: tuple[Plan, Any] | None = call_cache.BOUND.get(key)
    if found is None:
        # Planning reads records, and a fork waits for whoever is within SQLite as for the compiler.
        with making:
            found = _planned(backend, options, job)
        call_cache.keep(call_cache.BOUND, key, found)
    return Bound(*found, a, b, result)


def _planned(backend: Backend, options: Options, job: Job) -> tuple[Plan, Any]:
    """The plan for a job, and its bound kernel."""
    # A plan costs many times what binding it does, and a caller's alpha may be another one at each call.
    key = (backend.key, job, options.stencil, options.config, options.deterministic)
    found: tuple[Plan, Job] | None = call_cache.PLANS.get(key)
    if found is None:
        found = _chosen(backend, options, job)
        call_cache.keep(call_cache.PLANS, key, found)
    made, job = found
    bound = backend.bind(job, made, options.scalars)
    return made, bound if options.deterministic else gaps.watched(made, bound, math.prod(job.outer))


def _chosen(backend: Backend, options: Options, job: Job) -> tuple[Plan, Job]:
    """The plan for a job and what it is for: all batch axes, where its kernel knows them, else its runs."""
    device = dispatch.device(backend.kind, backend.index)
    if options.deterministic:
        return _steady(backend, job, device)
    if job.problem.math in EMULATED and not options.forced:
        # Whoever lets products be made of parts is served as well by those of the numbers as they are.
        made = dispatch.plan(job.problem, device, cores=threads())
        if made.stencil is not None and backend.refusal(job, made) is None:
            return made, job
        job = replace(job, problem=job.problem.with_(math="ieee"))
    if job.problem.outer:
        known = candidates.of(device)
        asked = [known[name] for name in known if options.stencil in (None, name)]
        if all(candidates.refusal(stencil, job.problem, device) for stencil in asked):
            job = job.looped()
    made = _plan_of(backend, options, job, device)
    if made.stencil is None and job.problem.outer:
        job = job.looped()
        made = _plan_of(backend, options, job, device)
    reason = backend.refusal(job, made)
    if reason is not None:
        if options.forced or job.problem.math != "ieee":
            raise ArgumentError(f"stencil={made.stencil!r} for {made.problem.spelling}: {reason}")
        made = Plan(made.problem, made.device, made.regime, "vendor", reason)
    return made, job


def _steady(backend: Backend, job: Job, device: Device) -> tuple[Plan, Job]:
    """The plan of a deterministic job and what it is for: its batches, else their products."""
    ways = (job.looped() if job.problem.outer else job, job.apart())
    found: Plan | str = ""
    for way in ways:
        found = steady.plan(way.problem, device, threads())
        reason = found if isinstance(found, str) else backend.refusal(way, found)
        if reason is None and not isinstance(found, str):
            return found, way
        found = reason or ""
    raise steady.refusal(job.problem, str(found))


def _plan_of(backend: Backend, options: Options, job: Job, device: Device) -> Plan:
    """What the ladder gives for a job."""
    return dispatch.plan(
        job.problem,
        device,
        stencil=options.stencil,
        config=options.config,
        cores=threads(),
        # Where nobody else can multiply, records of who is faster do not matter.
        vendor=job.problem.math == "ieee" and (backend.vendor or candidates.stranger(job.problem, device)),
    )


def _nothing(backend: Backend, a: Layout, b: Layout, out: Layout) -> Plan:
    """The plan for a product without elements or without terms: there is nothing to multiply."""
    batch = math.prod(out.shape[:-2])
    problem = Problem(LETTERS[out.dtype], b.shape[-1], a.shape[-2], a.shape[-1], batch=batch)
    device = dispatch.device(backend.kind, backend.index)
    return Plan(problem, device, dispatch.regime(problem, device), "vendor", "there is nothing to multiply")


def usable(
    backend: Backend, options: Options, a: Layout, b: Layout, out: Layout, *, fresh: bool, imagine: bool
) -> tuple[Layout, Layout, Layout, Job]:
    """The arrays with copies in place of those that no kernel can take as they are, and their job."""

    def copied(array: Layout) -> Layout:
        return backend.imagined(array.shape, array.dtype) if imagine else backend.copy(array)

    arrays = {"a": a, "b": b, "out": out}
    if not fresh and (may_share(a, out) or may_share(b, out)):
        arrays["out"] = copied(out)
    conj_a, conj_b = options.conjugated(a, b)
    alpha, beta = options.classes
    gpu = backend.kind == "cuda"

    def job() -> Job | str:
        scaled: dict[str, Any] = {"alpha": alpha, "beta": beta, "gpu": gpu, "by_rows": options.deterministic}
        made = problem_of(*arrays.values(), conj_a=conj_a, conj_b=conj_b, **scaled)
        if isinstance(made, str) or options.math == "ieee":
            return made
        return replace(made, problem=made.problem.with_(math=options.math))

    found = job()
    beside = None
    if options.math in ("ieee", *EMULATED) and not options.deterministic:
        beside = interleaved_of(
            *arrays.values(), conj_a=conj_a, conj_b=conj_b, alpha=alpha, beta=beta, gpu=gpu
        )
    # A result that is not interleaved is written so only where an operand would have to be copied.
    if beside is not None and (isinstance(found, str) or beside.problem.stride_c == 1):
        device = dispatch.device(backend.kind, backend.index)
        if candidates.serves(beside.problem, device, options.stencil):
            return (*arrays.values(), beside)  # type: ignore[return-value]  # three arrays and the job
    # A copy is contiguous, so each of the three is copied once at most.
    while isinstance(found, str):
        arrays[found] = copied(arrays[found])
        again = job()
        if again == found:
            raise ArgumentError(f"{found} has strides that no layout covers, even in a copy")
        found = again
    return (*arrays.values(), found)  # type: ignore[return-value]  # three arrays and the job
