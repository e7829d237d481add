"""One product or stack of them: what was asked (``spec``) is planned for, and run.

``matmul`` and ``gemm`` are the slow path of the public functions of these names: whatever is in no call
cache comes here, is checked, planned, copied where it must be, multiplied, and remembered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from tilewright.arrays.interleaved import interleaved_of
from tilewright.arrays.layout import ACCEPTED, LETTERS, Job, paired, problem_of
from tilewright.arrays.numpy_ import itself
from tilewright.arrays.overlap import may_share
from tilewright.arrays.view import Layout
from tilewright.calls.settings import threads
from tilewright.calls.spec import (
    PLAIN,
    Options,
    ProductSpec,
    castable_out,
    checked_out,
    exact,
    gemm_spec,
    matmul_spec,
    written,
)
from tilewright.dtypes import is_complex
from tilewright.errors import ArgumentError, DTypeError
from tilewright.forks import making
from tilewright.model import Device, Plan, Problem
from tilewright.planning import candidates, dispatch, steady
from tilewright.runtime import call_cache, gaps
from tilewright.runtime.backend import Backend, Call
from tilewright.runtime.backends import backend_of
from tilewright.runtime.host_calls import MATMUL

DETERMINISTIC = "deterministic"
"""What deterministic calls of ``gemm`` are remembered under, beside all else."""
TAGS = {False: MATMUL, True: "matmul of pairs"}
"""What calls of ``matmul`` are remembered under, without and with ``dtype="hc"``."""


def tag_of(math: str, deterministic: bool) -> str:
    """What calls of ``matmul`` are remembered under that multiply in another way than ieee, or are
    deterministic."""
    return f"{'deterministic ' if deterministic else ''}matmul in {math}"


# ---- arguments


@dataclass(frozen=True, slots=True)
class Taken:
    """An argument as an array. ``wrap`` hands a result back in kind; ``own``: the memory is the caller's."""

    array: Layout
    wrap: Any
    own: bool


def take(backend: Backend, value: Any, name: str, pairs: bool) -> Taken:
    """An argument as an array, float16 pairs as complex half: copied where only a copy is that."""
    array, wrap = backend.view(value, name)
    if not pairs:
        return Taken(array, wrap, True)
    found = paired(array, name, backend.kind == "cuda")
    own = found is not None
    if found is None:
        found = paired(backend.copy(array), name)
        assert found is not None  # A copy is contiguous.
    return Taken(found, lambda result: backend.pairs(result, wrap), own)


# ---- the two calls


def matmul(a: Any, b: Any, out: Any, options: Options = PLAIN[False]) -> Any:
    """``matmul`` with every check and every copy that may be needed."""
    backend = backend_of(a=a, b=b, out=out)
    with backend.current():
        return _matmul_on(backend, a, b, out, options)


def _matmul_on(backend: Backend, a: Any, b: Any, out: Any, options: Options) -> Any:
    pairs = options.pairs
    if options == PLAIN[False] and not (backend.known(a) and backend.known(b)):
        return backend.plain(a, b, out)
    x, y = take(backend, a, "a", pairs), take(backend, b, "b", pairs)
    spec = matmul_spec(options, x.array, y.array)
    given = None
    if out is not None and (spec.supported or backend.kind == "cpu"):
        given = _out_of_matmul(backend, spec, out)
    if not spec.supported:
        if options.deterministic and spec.dtype.kind not in "biu":
            raise DTypeError(f"deterministic=True for arrays of {spec.dtype}; accepted: {ACCEPTED}, integers")
        return backend.plain(a, b, out)
    target = given if given is not None and exact(given, spec.final, spec.dtype) else None
    result = backend.empty(spec.final, spec.dtype) if target is None else target
    done = run(backend, spec, spec.matrices(result), fresh=target is None)
    if done.plainly and x.own and y.own and given is target:
        arrays = x.array, y.array, result
        tag = TAGS[pairs] if options == PLAIN[pairs] else tag_of(options.math, options.deterministic)
        backend.remember(done.bound, Call(tag, a, b, out, arrays, pairs=pairs))
    if given is not None and target is None:
        backend.assign(given, result)
    if out is not None:
        return out
    made = x.wrap(result)
    return made[()] if spec.final == () and x.wrap is itself else made


def _out_of_matmul(backend: Backend, spec: ProductSpec, out: Any) -> Layout:
    """``out`` as an array. Complex half, and what is on a GPU, is neither cast nor repeated."""
    given, gpu = backend.view_out(out), backend.kind == "cuda"
    if spec.options.pairs or gpu:
        return checked_out(given, spec.final, spec.dtype, pairs=spec.options.pairs, gpu=gpu)
    return castable_out(given, spec)


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of ``gemm`` looked at. ``c`` is the array to be added, None where there is none or beta
    is 0, ``target`` that of ``out``."""

    spec: ProductSpec
    c: Layout | None
    target: Layout | None
    wrap: Any
    own: bool


def asked(backend: Backend, options: Options, a: Any, b: Any, c: Any, out: Any) -> Asked:
    """Everything that ``gemm`` and ``plan`` refuse is refused here."""
    x, y = take(backend, a, "a", options.pairs), take(backend, b, "b", options.pairs)
    update = None
    if options.beta != 0 and c is not None:
        update = take(backend, c, "c", options.pairs).array
    spec = gemm_spec(options, x.array, y.array, update)
    target = None
    if out is not None:
        pairs, gpu = options.pairs, backend.kind == "cuda"
        target = checked_out(backend.view_out(out), spec.shape, spec.dtype, pairs=pairs, gpu=gpu)
    return Asked(spec, update, target, x.wrap, x.own and y.own)


def gemm(
    options: Options,
    a: Any,
    b: Any,
    c: Any,
    out: Any,
    memo: dict[Any, Any] | None = None,
    tag: Any = None,
) -> Any:
    """``gemm`` with every check and every copy that may be needed. ``memo``: that of a plan, which remembers
    under ``tag``."""
    backend = backend_of(a=a, b=b, c=c if options.beta != 0 else None, out=out)
    with backend.current():
        return _gemm_on(backend, options, a, b, c, out, memo, tag)


def _gemm_on(
    backend: Backend,
    options: Options,
    a: Any,
    b: Any,
    c: Any,
    out: Any,
    memo: dict[Any, Any] | None,
    tag: Any,
) -> Any:
    found = asked(backend, options, a, b, c, out)
    spec, target = found.spec, found.target
    if options.beta != 0 and spec.update is None and out is None:
        raise ArgumentError(
            f"beta={written(options.beta)} without c; accepted: c, or out to be updated in place"
        )
    result = target
    moved = spec.update is not None and c is not out
    if result is None or (moved and (may_share(spec.a, result) or may_share(spec.b, result))):
        # The copy of c must not run over an operand that is still to be read.
        result = backend.empty(spec.shape, spec.dtype)
    if moved:
        assert spec.update is not None
        backend.assign(result, spec.update)
    fresh = result is not target
    done = run(backend, spec, result, fresh=fresh)
    if done.plainly and found.own and (memo is not None or not options.forced):
        scalars = (*options.scalars, *options.trans, *(("hc",) if options.pairs else ()))
        scalars = scalars if options.math == "ieee" else (*scalars, options.math)
        scalars = (*scalars, DETERMINISTIC) if options.deterministic else scalars
        # A c that was copied first is a result that is updated in place.
        into = found.wrap(result) if moved and fresh else out
        arrays = spec.a, spec.b, result
        call = Call(
            *(scalars if memo is None else tag, a, b, into, arrays),
            *(options.scalars, options.trans, options.pairs, moved),
        )
        backend.remember(done.bound, call, memo)
    if target is not None and fresh:
        backend.assign(target, result)
    return out if out is not None else found.wrap(result)


# ---- plan and run


@dataclass(frozen=True, slots=True)
class Bound:
    """A plan for certain arrays, or copies of them that a kernel can take. ``bound``: the kernel or the
    vendor's product, None where only the array library's own is left."""

    plan: Plan
    bound: Any
    a: Layout
    b: Layout
    out: Layout


@dataclass(frozen=True, slots=True)
class Done:
    """What multiplied; ``plainly``: the arrays as they were, so that calls like it can be remembered."""

    bound: Any = None
    plainly: bool = False


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
        if options.forced or options.math != "ieee":
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
        vendor=options.math == "ieee" and (backend.vendor or candidates.stranger(job.problem, device)),
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
    if options.math == "ieee" and not options.deterministic:
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


def run(backend: Backend, spec: ProductSpec, out: Layout, *, fresh: bool) -> Done:
    """out = alpha op(a) op(b) + beta out, where out has both matrix axes.

    ``fresh``: out was made for this call, so it overlaps nothing.
    """
    options, a, b, dtype = spec.options, spec.left, spec.right, out.dtype
    if 0 in (*out.shape, a.shape[-1]) or options.alpha == 0:
        backend.scale(out, options.beta)
        return Done()
    left, right = (x if x.dtype == dtype else backend.cast(x, dtype) for x in (a, b))
    found = plan(backend, options, left, right, out, fresh=fresh)
    if found.bound is None:
        gaps.passed(found.plan)
        conj = options.conj if is_complex(dtype) else (False, False)
        backend.multiply(left, right, out, options.scalars, conj)
        return Done(None, left is a and right is b)
    backend.run(found.bound, found.a, found.b, found.out)
    if found.out is not out:
        backend.assign(out, found.out)
    return Done(found.bound, found.a is a and found.b is b and found.out is out)
