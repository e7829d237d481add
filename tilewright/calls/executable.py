"""A plan in a user's hands: the call ``gemm(a, b, c, ...)`` prepared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tilewright.arrays.layout import transposed
from tilewright.arrays.tracing import untraced
from tilewright.arrays.view import Layout, view_of, writeable
from tilewright.calls import product, product_plans
from tilewright.calls.explain import explain_plan
from tilewright.calls.spec import Options
from tilewright.model import Plan
from tilewright.runtime import call_cache, host_calls
from tilewright.runtime.backend import Backend, Function
from tilewright.runtime.backends import backend_of
from tilewright.runtime.host_calls import maker

if TYPE_CHECKING:
    from tilewright.runtime import device_calls


def executable(options: Options, a: Any, b: Any, c: Any, out: Any) -> Executable:
    """``gemm`` of these arguments, planned for and bound, and not run. Raises as ``gemm`` does."""
    backend = backend_of(a=a, b=b, c=c if options.beta != 0 else None, out=out)
    with backend.current():
        asked = product.asked(backend, options, a, b, c, out)
        spec, target = asked.spec, asked.target
        if target is None and asked.c is not None:
            # The usual call with a beta is in place, so the layout of c is the one to be ready for.
            ready = asked.c.dtype == spec.dtype and asked.c.shape == spec.shape and writeable(asked.c)
            target = asked.c if ready else None
        if target is None:
            target = backend.imagined(spec.shape, spec.dtype)
        x, y = (x if x.dtype == spec.dtype else backend.cast(x, spec.dtype) for x in (spec.a, spec.b))
        return Executable(options, backend, x, y, target)


class Executable:
    """A plan bound to arrays of certain shapes: call it with such arrays, again and again.

    Other shapes work too, at the price of planning them. ``plan`` says what runs and why. After ``tune``
    or ``forget`` the next call, or look at ``plan``, plans again.
    """

    def __init__(self, options: Options, backend: Backend, a: Layout, b: Layout, out: Layout):
        self._options, self._backend = options, backend
        # To plan again later must not keep the caller's arrays alive.
        self._layouts = view_of(a), view_of(b), view_of(out)
        self.index = backend.index if backend.kind == "cuda" else None
        self._memo: device_calls.Memo = {}
        self._fresh, self._tag = options.beta == 0, product.gemm_tag(options)
        self._shape, self._dtype = out.shape, out.dtype
        self._make = maker(out)
        self.drop()
        self._prepare()
        call_cache.watch(self)

    def drop(self) -> None:
        """Forget what runs: the call cache is emptied. A call in which nothing was forgotten does not ask."""
        self._function: Function | None = None
        self._planned: device_calls.Call | None = None
        self._calls: device_calls.Calls | None = None
        self._memo.clear()
        self._stale = True

    def _prepare(self) -> None:
        """Plan for arrays of these layouts, and bind the kernel."""
        self._stale = False
        options, backend = self._options, self._backend
        a, b, out = self._layouts
        left, _ = transposed(a, options.trans_a, "trans_a")
        right, _ = transposed(b, options.trans_b, "trans_b")
        found = product_plans.plan(backend, options, left, right, out, fresh=True, imagine=True)
        self._plan, self._calls = found.plan, backend.calls
        self.copies = tuple(
            name
            for name, before, after in (("a", left, found.a), ("b", right, found.b), ("out", out, found.out))
            if before is not after
        )
        # With alpha 0 the operands are not read, whatever they hold, and every kernel reads them.
        plain = not self.copies and out.size > 0 and options.alpha != 0
        if plain and found.bound is not None:
            self._function = backend.function(found.bound, self._layouts)
        elif plain and not options.pairs:
            self._function = backend.otherwise(self._layouts, options.scalars, options.trans)
        else:
            self._function = None

    def _renew(self) -> None:
        """Plan again if the call cache was emptied."""
        if self._stale:
            with self._backend.current():
                self._prepare()

    @property
    def plan(self) -> Plan:
        """What runs and why, by the records as they are now."""
        self._renew()
        return self._plan

    @property
    def builtin(self) -> Function | None:
        """The builtin function for arrays like those that were planned for; None where Python serves them."""
        return self._function

    @untraced
    def __call__(self, a: Any, b: Any, c: Any = None, *, out: Any = None) -> Any:
        """alpha op(a) op(b) + beta c in ``out`` (a new array without it), as ``gemm`` says."""
        # Each attribute is read once, for another thread may empty the call cache at any moment.
        function = self._function
        if function is not None:
            if out is not None and (c is None or c is out or self._options.beta == 0):
                if function(a, b, out) is not NotImplemented:
                    return out
            elif out is None and self._options.beta == 0:
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
            result = calls.gemm(self._memo, None, a, b, c, out, self._options.beta)
            if result is not NotImplemented:
                return result
        if self._stale:
            self._renew()
            return self(a, b, c, out=out)
        if type(a) is np.ndarray and not self._options.forced:
            # Arrays that lie otherwise, where ``gemm`` met such before.
            result = host_calls.gemm_again(self._tag, a, b, c, out)
            if result is not NotImplemented:
                return result
        result = product.gemm(self._options, a, b, c, out, None if calls is None else self._memo)
        if calls is not None and out is not None and self._planned is None:
            self._planned = calls.plan(self._memo, None, a, b, out)
        return result

    def __copy__(self) -> Executable:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Executable:
        # It holds no array, and a copy of what it holds would not be told when the call cache is emptied.
        return self

    def __reduce__(self) -> NoReturn:
        # What it runs is addresses of this process, which pickle would write down and another one call.
        raise TypeError("a plan is bound to kernels of this process; accepted: tw.plan anew where it is used")

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
