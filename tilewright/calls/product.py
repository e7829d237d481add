"""The engine of calls: arguments are looked at, planned for, and multiplied."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tilewright.arrays.device import phantom
from tilewright.arrays.layout import (
    ACCEPTED,
    LETTERS,
    Array,
    Job,
    address_of,
    broadcast,
    itself,
    no_numbers,
    paired,
    promoted,
    transposed,
)
from tilewright.arrays.tracing import pass_over, untraced
from tilewright.calls.explain import explain_plan
from tilewright.calls.settings import threads
from tilewright.dtypes import BFLOAT16, COMPLEX_HALF, is_complex
from tilewright.errors import ArgumentError, DTypeError
from tilewright.model import Config, Plan, Problem
from tilewright.planning import dispatch
from tilewright.runtime import build, call_cache, device_calls
from tilewright.runtime.bound_cpu import ALIGN_FROM, HOST, Place, new_output, usable
from tilewright.runtime.bound_cuda import Gpu
from tilewright.runtime.call_cache import FAST, GEMM, INTO

Function = Callable[[Any, Any, Any], Any]


@untraced
def _place(**arguments: Any) -> Place:
    """Where the arguments of a call lie, by their names. Raises ``ArgumentError`` when they lie apart."""
    pass_over()
    return Gpu.of(arguments) or HOST


def of_pairs(dtype: str | None) -> bool:
    """Whether float16 arrays are pairs, by a call's ``dtype``. Raises ``ArgumentError`` for any but "hc"."""
    if dtype is not None and not (isinstance(dtype, str) and dtype == "hc"):
        raise ArgumentError(
            f"dtype={dtype!r}; accepted: 'hc', for float16 arrays (..., 2) that are complex half, or None: "
            "the arrays say their type"
        )
    return dtype is not None


def taken(place: Place, value: Any, name: str, pairs: bool) -> tuple[Array, Callable[[Array], Any], bool]:
    """An argument as an array, how to hand a result back in kind, and whether it shares the memory."""
    array, wrap = place.adopt(value, name)
    if not pairs:
        return array, wrap, True
    found = paired(array, name, place.kind == "cuda")
    if found is not None:
        return found, lambda result: place.pairs(result, wrap), True
    made = paired(place.copied(array), name)
    assert made is not None  # A copy is contiguous.
    return made, lambda result: place.pairs(result, wrap), False


def _matmul_of_pairs(a: Any, b: Any, out: Any, dtype: str) -> Any:
    """``matmul`` with a ``dtype``. No builtin of the processor's serves it, so none is asked."""
    of_pairs(dtype)
    calls = device_calls.CALLS.get(type(a))
    if calls is not None:
        result = calls(calls.memo, _TAGS[True], a, b, out)
        if result is not NotImplemented:
            return result
    return _matmul(a, b, out, pairs=True)


def _matmul(a: Any, b: Any, out: Any, pairs: bool = False) -> Any:
    """``matmul`` with every check and every copy that may be needed."""
    place = _place(a=a, b=b, out=out)
    with place.current():
        return _matmul_at(place, a, b, out, pairs)


def _matmul_at(place: Place, a: Any, b: Any, out: Any, pairs: bool) -> Any:
    if not pairs and not (place.known(a) and place.known(b)):
        return place.plain(a, b, out)
    x, wrap, own_a = taken(place, a, "a", pairs)
    y, _, own_b = taken(place, b, "b", pairs)
    for name, array in (("a", x), ("b", y)):
        if no_numbers(array.dtype):
            raise DTypeError(f"{name} is {array.dtype}; accepted: numbers")
    for name, array in (("a", x), ("b", y)):
        if array.ndim == 0:
            raise ArgumentError(f"{name} is a scalar; accepted: arrays of one or more axes")
    left = x[None, :] if x.ndim == 1 else x
    right = y[:, None] if y.ndim == 1 else y
    shape = product_shape(left, right)
    dtype = promoted({"a": x, "b": y})
    final = shape
    if y.ndim == 1:
        final = final[:-1]
    if x.ndim == 1:
        final = (*shape[:-2], shape[-1]) if y.ndim > 1 else shape[:-2]
    given = None
    if out is not None and (dtype in LETTERS or place is HOST):
        given = received(place, out, final, (x.ndim > 1) + (y.ndim > 1), dtype, pairs)
    if dtype not in LETTERS:
        return place.plain(a, b, out)
    target = given if given is not None and exact(given, final, dtype) else None
    result = place.empty(final, dtype) if target is None else target
    view = result
    if x.ndim == 1:
        view = view[..., None, :] if y.ndim > 1 else view[..., None]
    if y.ndim == 1:
        view = view[..., None]
    view = view.reshape(shape) if view.shape != shape else view
    caller = Caller(1, 0, "n", "n", pairs=pairs)
    originals = (x, y, result) if own_a and own_b and given is target else None
    function = caller.compute(place, left, right, view, fresh=target is None, originals=originals)
    if isinstance(function, device_calls.Prepared):
        _remember(place, None, _TAGS[pairs], a, b, out, function)
    elif function is not None and target is not None and target is out:
        call_cache.keep(INTO, (*looks(x, y), target.strides), function)
    elif function is not None and target is None:
        if final == ():
            function = scalar(function)
        call_cache.keep(FAST, looks(x, y), (function, final, dtype, maker(result)))
    if given is not None and target is None:
        np.copyto(given, result, casting=CASTING)
    if out is not None:
        return out
    made = wrap(result)
    return made[()] if final == () and wrap is itself else made


# What calls of ``matmul`` on a GPU are remembered under, without and with ``dtype="hc"``.
_TAGS = {False: "matmul", True: "matmul of pairs"}


def _remember(
    place: Place,
    memo: device_calls.Memo | None,
    tag: Any,
    a: Any,
    b: Any,
    out: Any,
    prepared: device_calls.Prepared,
) -> None:
    """Do calls on a GPU like this one the short way from now on; ``memo``: None for that of all calls."""
    calls = device_calls.calls_of(place.library) if isinstance(place, Gpu) else None
    if calls is not None and type(a) in calls.types:
        calls.remember(calls.memo if memo is None else memo, tag, a, b, out, prepared)


def scalar(function: Function) -> Function:
    """A builtin whose array without axes comes back as a number, as NumPy returns it."""

    def call(a: Any, b: Any, out: Any) -> Any:
        result = function(a, b, out)
        return result if result is NotImplemented else result[()]

    return call


def _gemm_of_pairs(
    scalars: tuple[complex, complex, str, str], a: Any, b: Any, c: Any, out: Any, dtype: str
) -> Any:
    """``gemm`` with a ``dtype``."""
    of_pairs(dtype)
    calls = device_calls.CALLS.get(type(a))
    if calls is not None:
        result = calls.gemm(calls.memo, (*scalars, dtype), a, b, c, out, scalars[1])
        if result is not NotImplemented:
            return result
    return _gemm(Caller(*scalars, pairs=True), a, b, c, out)


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of ``gemm`` looked at: arrays, op of them, and the shape and type of the result.
    ``own``: a and b share the memory of the caller's."""

    place: Place
    a: Array
    b: Array
    left: Array
    right: Array
    update: Array | None
    target: Array | None
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    wrap: Callable[[Array], Any]
    own: bool


def _asked(caller: Caller, place: Place, a: Any, b: Any, c: Any, out: Any) -> Asked:
    """Everything that ``gemm`` and ``plan`` refuse is refused here."""
    pairs = caller.pairs
    x, wrap, own_a = taken(place, a, "a", pairs)
    y, _, own_b = taken(place, b, "b", pairs)
    for name, array in (("a", x), ("b", y)):
        if array.ndim < 2:
            raise ArgumentError(f"{name} has shape {array.shape}; accepted: two or more axes")
    left, _ = transposed(x, caller.trans_a, "trans_a")
    right, _ = transposed(y, caller.trans_b, "trans_b")
    shape = product_shape(left, right)
    dtype = promoted({"a": x, "b": y})
    update = None
    if caller.beta != 0 and c is not None:
        update, _, _ = taken(place, c, "c", pairs)
        dtype = promoted({"a": x, "b": y, "c": update})
        try:
            shape = (*broadcast(shape[:-2], update.shape[:-2]), *shape[-2:])
            update = np.broadcast_to(update, shape, subok=True)
        except ValueError as error:
            raise ArgumentError(
                f"c has shape {update.shape}; accepted: what broadcasts to {shape}"
            ) from error
    if dtype not in LETTERS:
        raise DTypeError(f"a and b are {x.dtype} and {y.dtype}; accepted: {ACCEPTED}")
    caller.fits(dtype)
    target = None if out is None else checked_out(place, out, shape, dtype, pairs)
    return Asked(place, x, y, left, right, update, target, shape, dtype, wrap, own_a and own_b)


def _gemm(
    caller: Caller, a: Any, b: Any, c: Any, out: Any, memo: device_calls.Memo | None = None, tag: Any = None
) -> Any:
    """``gemm`` with every check and every copy that may be needed. ``memo``: that of a plan on a GPU."""
    place = _place(a=a, b=b, c=c if caller.beta != 0 else None, out=out)
    with place.current():
        return _gemm_at(caller, place, a, b, c, out, memo, tag)


def _gemm_at(
    caller: Caller, place: Place, a: Any, b: Any, c: Any, out: Any, memo: device_calls.Memo | None, tag: Any
) -> Any:
    asked = _asked(caller, place, a, b, c, out)
    x, y, target = asked.a, asked.b, asked.target
    if caller.beta != 0 and asked.update is None and out is None:
        raise ArgumentError(f"beta={caller.beta} without c; accepted: c, or out to be updated in place")
    result = target
    moves = asked.update is not None and c is not out
    if result is None or (moves and (np.may_share_memory(x, result) or np.may_share_memory(y, result))):
        # The copy of c must not run over an operand that is still to be read.
        result = place.empty(asked.shape, asked.dtype)
    if moves:
        assert asked.update is not None
        place.assign(result, asked.update)
    fresh = result is not target
    originals = (x, y, result) if asked.own else None
    function = caller.compute(place, asked.left, asked.right, result, fresh=fresh, originals=originals)
    scalars = (caller.alpha, caller.beta, caller.trans_a, caller.trans_b, *(("hc",) if caller.pairs else ()))
    if isinstance(function, device_calls.Prepared):
        if memo is not None or not caller.forced:
            # A c that was copied first is a result that is updated in place.
            into = asked.wrap(result) if moves and fresh else out
            _remember(place, memo, scalars if memo is None else tag, a, b, into, function)
    elif function is not None and target is not None and target is out and not moves and not caller.forced:
        call_cache.keep(GEMM, (*looks(x, y), target.strides, *scalars), function)
    if target is not None and fresh:
        place.assign(target, result)
    return out if out is not None else asked.wrap(result)


def looks(a: Array, b: Array) -> tuple[Any, ...]:
    """What the memos of calls go by, written out again where every nanosecond counts."""
    return a.shape, a.strides, a.dtype.char, b.shape, b.strides


def maker(result: Array) -> Callable[..., Array]:
    """What makes arrays like a result: small ones NumPy itself, large ones on cache lines for streaming."""
    return np.empty if result.nbytes < ALIGN_FROM else new_output


def product_shape(left: Array, right: Array) -> tuple[int, ...]:
    """The shape of left @ right. Raises ``ArgumentError`` when there is none."""
    if left.shape[-1] != right.shape[-2]:
        raise ArgumentError(
            f"op(a) has shape {left.shape} and op(b) {right.shape}: "
            f"{left.shape[-1]} columns do not meet {right.shape[-2]} rows"
        )
    try:
        batch = broadcast(left.shape[:-2], right.shape[:-2])
    except ValueError as error:
        raise ArgumentError(
            f"the leading axes of a {left.shape[:-2]} and b {right.shape[:-2]} do not broadcast"
        ) from error
    return (*batch, left.shape[-2], right.shape[-1])


CASTING: Literal["same_kind"] = "same_kind"
"""What NumPy lets a product be cast by on its way into ``out``."""


def exact(out: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Whether a product can be written to ``out`` as it is computed, each element to a place of its own."""
    steps = zip(out.strides, out.shape, strict=True)
    apart = out.size == 0 or not any(step == 0 and extent > 1 for step, extent in steps)
    return apart and out.shape == shape and out.dtype == dtype


def received(
    place: Place, out: Any, shape: tuple[int, ...], core: int, dtype: np.dtype[Any], pairs: bool
) -> Array:
    """``out`` as an array that NumPy's rule lets a product be cast and repeated into.

    The last ``core`` axes have their extents, what is before broadcasts to that of ``out``, and the types
    cast by ``CASTING``. On a GPU shape and type are exact. Raises ``ArgumentError`` or ``DTypeError``.
    """
    if pairs or place.kind == "cuda":
        return checked_out(place, out, shape, dtype, pairs)
    array = place.adopt_out(out)
    lead, fixed = shape[: len(shape) - core], shape[len(shape) - core :]
    into = array.shape[: max(0, array.ndim - core)]
    if not np.can_cast(dtype, array.dtype, CASTING):
        raise DTypeError(f"out is {array.dtype}; accepted: {dtype}, or a type that it casts to ({CASTING!r})")
    if array.shape[len(into) :] != fixed or not _repeats(lead, into):
        raise ArgumentError(f"out has shape {array.shape}; accepted: {shape}, or what it broadcasts to")
    if not array.flags.writeable:
        raise ArgumentError("out is read-only; accepted: a writeable array")
    return array


def _repeats(lead: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Whether leading axes broadcast to those of ``out``, which may lack the first ones of extent 1."""
    try:
        wide = broadcast(lead, into)
        return wide == (1,) * (len(wide) - len(into)) + into
    except ValueError:
        return False


def checked_out(
    place: Place, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], pairs: bool = False
) -> Array:
    """``out`` as an array that can take the result. Raises ``ArgumentError`` or ``DTypeError``."""
    given = place.adopt_out(out)
    array = paired(given, "out", place.kind == "cuda") if pairs else given
    if array is None:
        raise ArgumentError(
            f"out has strides {given.strides}; accepted with dtype='hc': float16 pairs whose parts lie side "
            "by side in memory, on a GPU at multiples of 4 bytes"
        )
    if array.shape != shape:
        raise ArgumentError(f"out has shape {given.shape}; accepted: {(*shape, 2) if pairs else shape}")
    if array.dtype != dtype:
        raise DTypeError(f"out is {array.dtype}; accepted: {dtype}")
    if not array.flags.writeable:
        raise ArgumentError("out is read-only; accepted: a writeable array")
    places = zip(array.strides, array.shape, strict=True)
    if array.size and any(step == 0 and extent > 1 for step, extent in places):
        raise ArgumentError(f"out has strides {array.strides}: several elements share one place in memory")
    return array


class Caller:
    """What a caller fixed beside the arrays: scalars, transpositions, and what was forced."""

    def __init__(
        self,
        alpha: complex,
        beta: complex,
        trans_a: str,
        trans_b: str,
        stencil: str | None = None,
        config: Mapping[str, Any] | None = None,
        pairs: bool = False,
    ):
        self.pairs = pairs
        for name, value in (("alpha", alpha), ("beta", beta)):
            try:
                kind = np.asarray(value).dtype
                number = np.ndim(value) == 0 and (kind.kind in "biufc" or kind == BFLOAT16)
            except (TypeError, ValueError):
                number = False  # A tensor on a GPU, say: reading it would wait for all work there.
            if not number:
                raise ArgumentError(f"{name}={value!r}; accepted: a number")
        self.alpha, self.beta = complex(alpha), complex(beta)
        self.trans_a, self.trans_b = trans_a, trans_b
        try:
            self.stencil, self.config = stencil, None if config is None else Config(config)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"config={config!r}; accepted: a map from names to plain values") from error
        self.classes = (
            "1" if self.alpha == 1 else "any",
            "0" if self.beta == 0 else "1" if self.beta == 1 else "any",
        )
        self.conj = (trans_a == "c", trans_b == "c")

    @property
    def forced(self) -> bool:
        """Whether the caller said what is to run."""
        return self.stencil is not None or self.config is not None

    def fits(self, dtype: np.dtype[Any]) -> None:
        """Raises ``ArgumentError`` when a real product is given a complex scalar."""
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if value.imag != 0 and not is_complex(dtype):
                raise ArgumentError(f"{name}={value} for arrays of {dtype}; accepted: a real number")

    def conjugated(self, a: Array, b: Array) -> tuple[bool, bool]:
        """Which operands' memory enters conjugated. Of real numbers that changes nothing, so "c" is their
        "t", tuned records and all."""
        if not is_complex(a.dtype):
            return False, False
        return self.conj[0] != getattr(a, "lazy", False), self.conj[1] != getattr(b, "lazy", False)

    def bind(
        self, place: Place, a: Array, b: Array, out: Array, fresh: bool, planning: bool = False
    ) -> tuple[Array, Array, Array, Plan, Any]:
        """Usable arrays, and the plan with its bound kernel (None: the library's product)."""
        if 0 in (*out.shape, a.shape[-1]):
            return a, b, out, nothing(place, a, b, out), None
        conj = self.conjugated(a, b)
        a, b, result, job = usable(
            a, b, out, conj=conj, classes=self.classes, fresh=fresh, place=place, planning=planning
        )
        key = (place.key, job, self.alpha, self.beta, self.stencil, self.config)
        # Another thread may clear the memo at any moment: look once.
        found: tuple[Plan, Any] | None = call_cache.BOUND.get(key)
        if found is None:
            # Planning reads records, and a fork waits for whoever is within SQLite as for the compiler.
            with build.making:
                found = self._made(place, job)
            call_cache.keep(call_cache.BOUND, key, found)
        return a, b, result, *found

    def _made(self, place: Place, job: Job) -> tuple[Plan, Any]:
        """The plan for a job, and its bound kernel."""
        device = dispatch.device(place.kind, place.index)
        plan = dispatch.plan(
            job.problem,
            device,
            stencil=self.stencil,
            config=self.config,
            cores=threads(),
            # Where nobody else can multiply, records of who is faster do not matter.
            vendor=place.vendor or dispatch.stranger(job.problem, device),
        )
        reason = place.why_not(job, plan)
        if reason is not None:
            if self.forced:
                raise ArgumentError(f"stencil={plan.stencil!r} for {plan.problem.spelling}: {reason}")
            plan = Plan(plan.problem, plan.device, plan.regime, "vendor", reason)
        return plan, place.bound(job, plan, (self.alpha, self.beta))

    def compute(
        self,
        place: Place,
        a: Array,
        b: Array,
        out: Array,
        *,
        fresh: bool,
        originals: tuple[Array, Array, Array] | None = None,
    ) -> Function | device_calls.Prepared | None:
        """out = alpha op(a) op(b) + beta out; what does more calls on arrays like ``originals``, if any."""
        if 0 in (*out.shape, a.shape[-1]) or self.alpha == 0:
            place.scale(out, self.beta)
            return None
        dtype = out.dtype
        wide = [x if x.dtype == dtype else place.cast(x, dtype) for x in (a, b)]
        x, y, result, _, bound = self.bind(place, wide[0], wide[1], out, fresh)
        scalars = (self.alpha, self.beta)
        if bound is None:
            place.multiply(wide[0], wide[1], out, scalars, self.conj if is_complex(dtype) else (False, False))
            asis = wide[0] is a and wide[1] is b
        else:
            place.run(bound, x, y, result)
            if result is not out:
                place.assign(out, result)
            asis = x is a and y is b and result is out
        if originals is None or not asis:
            return None
        if isinstance(place, Gpu):
            run = None if bound is None else bound.run
            if run is None and dtype == COMPLEX_HALF:
                return None  # The library has no product of it to go to at once.
            trans = (self.trans_a, self.trans_b)
            return device_calls.Prepared(run, place.index, originals, scalars, trans, self.pairs)
        return None if bound is None else bound.function(*originals)


def nothing(place: Place, a: Array, b: Array, out: Array) -> Plan:
    """The plan for a product without elements or without terms: there is nothing to multiply."""
    batch = math.prod(out.shape[:-2])
    problem = Problem(LETTERS[out.dtype], b.shape[-1], a.shape[-2], a.shape[-1], batch=batch)
    device = dispatch.device(place.kind, place.index)
    return Plan(problem, device, dispatch.regime(problem, device), "vendor", "there is nothing to multiply")


class Executable:
    """A plan bound to arrays of certain shapes: call it with such arrays, again and again.

    Other shapes work too, at the price of planning them. ``plan`` says what runs and why. After ``tune``
    or ``forget`` the next call, or look at ``plan``, plans again.
    """

    def __init__(self, caller: Caller, place: Place, a: Array, b: Array, out: Array):
        self._caller, self._place = caller, place
        # Layouts without memory: to plan again later must not keep the caller's arrays alive.
        self._layouts = tuple(
            phantom(address_of(x), x.shape, x.strides, x.dtype, lazy=getattr(x, "lazy", False))
            for x in (a, b, out)
        )
        self.index = place.index if isinstance(place, Gpu) else None
        self._memo: device_calls.Memo = {}
        self._fresh = caller.beta == 0
        self._shape, self._dtype = out.shape, out.dtype
        self._make = maker(out)
        self.drop()
        self._prepare(a, b, out)
        call_cache.watch(self)

    def drop(self) -> None:
        """Forget what runs: the call cache is emptied. A call in which nothing was forgotten does not ask."""
        self._function: Function | None = None
        self._planned: device_calls.Call | None = None
        self._calls: device_calls.Calls | None = None
        self._memo.clear()
        self._stale = True

    def _prepare(self, a: Array, b: Array, out: Array) -> None:
        """Plan for arrays of these layouts, and bind the kernel."""
        self._stale = False
        caller, place = self._caller, self._place
        left, _ = transposed(a, caller.trans_a, "trans_a")
        right, _ = transposed(b, caller.trans_b, "trans_b")
        x, y, result, self._plan, bound = caller.bind(place, left, right, out, fresh=True, planning=True)
        self._calls = device_calls.calls_of(place.library) if isinstance(place, Gpu) else None
        plain = x is left and y is right and result is out and out.size > 0
        # With alpha 0 the operands are not read, whatever they hold, and every kernel reads them.
        plain = plain and caller.alpha != 0
        plain = plain and place is HOST
        self._function = bound.function(a, b, out) if plain and bound is not None else None
        self.copies = tuple(
            name
            for name, before, after in (("a", left, x), ("b", right, y), ("out", out, result))
            if before is not after
        )

    def _renew(self) -> None:
        """Plan again if the call cache was emptied."""
        if self._stale:
            with self._place.current():
                self._prepare(*self._layouts)

    @property
    def plan(self) -> Plan:
        """What runs and why, by the records as they are now."""
        self._renew()
        return self._plan

    @untraced
    def __call__(self, a: Any, b: Any, c: Any = None, *, out: Any = None) -> Any:
        """alpha op(a) op(b) + beta c in ``out`` (a new array without it), as ``gemm`` says."""
        # Each attribute is read once, for another thread may empty the call cache at any moment.
        function = self._function
        if function is not None:
            if out is not None and (c is None or c is out or self._caller.beta == 0):
                if function(a, b, out) is not NotImplemented:
                    return out
            elif out is None and self._caller.beta == 0:
                result = function(a, b, self._make(self._shape, self._dtype))
                if result is not NotImplemented:
                    return result
        else:
            planned = self._planned
            if (
                planned is not None
                and out is not None
                and (c is None or c is out or self._fresh)
                and planned(a, b, out) is not NotImplemented
            ):
                return out
        calls = self._calls
        if calls is not None and type(a) in calls.types:
            result = calls.gemm(self._memo, None, a, b, c, out, self._caller.beta)
            if result is not NotImplemented:
                return result
        if self._stale:
            self._renew()
            return self(a, b, c, out=out)
        result = _gemm(self._caller, a, b, c, out, None if calls is None else self._memo)
        if calls is not None and out is not None and self._planned is None:
            self._planned = calls.plan(self._memo, None, a, b, out)
        return result

    def explain(self) -> str:
        """What runs and why, and what has to be copied first."""
        plan = self.plan
        lines = [explain_plan(plan)]
        if self.index is not None:
            lines.append(f"  on     {plan.device.name}, GPU {self.index}")
        if self.copies:
            lines.append(f"  copies {', '.join(self.copies)}: no kernel takes the layout")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{self.explain()}>"
