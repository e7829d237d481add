"""From what is asked of two arrays of JAX's to a plan that a handler runs.

A ``Call`` is all that a plan depends on but the device and the records: where the elements of two operands
and of a result lie, their type, and the scalars. As text it travels in compiled programs.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

from tilewright.arrays.layout import Job
from tilewright.arrays.view import NOWHERE, view_at
from tilewright.calls import product_plans
from tilewright.calls.spec import Options
from tilewright.catalog import STENCILS
from tilewright.errors import UnsupportedError
from tilewright.jax.backends import backend_on
from tilewright.jax.handler import Handlers
from tilewright.jax.table import Planned
from tilewright.model import DTYPES, Plan
from tilewright.runtime import compiled, fastcall_cuda
from tilewright.runtime.roomless import small_config

Lies = tuple[tuple[int, ...], tuple[int, ...]]
"""A shape of three axes or more, (..., rows, columns), and the strides of it in elements."""


@dataclass(frozen=True, slots=True)
class Call:
    """out = alpha a b + beta out on a kind of device, a and b conjugated where ``conj`` says so. ``letter``
    is the type's, ``room`` the bytes of the workspace that the program has for a kernel."""

    kind: str
    letter: str
    a: Lies
    b: Lies
    out: Lies
    conj: tuple[bool, bool] = (False, False)
    alpha: complex = 1
    beta: complex = 0
    room: int = 0

    @property
    def text(self) -> str:
        """The call as text, the same in every process."""
        scalars = [[x.real, x.imag] for x in map(complex, (self.alpha, self.beta))]
        room = [self.room] if self.room else []
        found = [self.kind, self.letter, self.a, self.b, self.out, self.conj, *scalars, *room]
        return json.dumps(found, separators=(",", ":"))

    @staticmethod
    def parse(text: str) -> Call:
        """What ``text`` was made of."""
        kind, letter, a, b, out, conj, alpha, beta, *room = json.loads(text)
        one, other, made = ((tuple(shape), tuple(steps)) for shape, steps in (a, b, out))
        scalars = complex(*alpha), complex(*beta)
        return Call(kind, letter, one, other, made, (conj[0], conj[1]), *scalars, *room)


def planned(call: Call, index: int, *, alone: bool = False) -> tuple[Plan, Planned | None]:
    """The plan of a call on a device, and how a handler runs it: None where JAX's own product is faster, as
    far as records and the model say, or where no kernel can be run from a handler. ``alone``: the call is
    compiled as it is, so there is no other product, whatever is faster, and no more room.

    Raises ``DeviceError`` where no device of the kind can be used.
    """
    dtype = DTYPES[call.letter].numpy
    a, b, out = (
        view_at(NOWHERE, shape, tuple(step * dtype.itemsize for step in steps), dtype, conj=conj)
        for (shape, steps), conj in zip((call.a, call.b, call.out), (*call.conj, False), strict=True)
    )
    backend = backend_on(call.kind, index, alone)
    with backend.current():
        found = product_plans.plan(
            backend, Options(call.alpha, call.beta), a, b, out, fresh=True, imagine=True
        )
        plan = found.plan
        if found.bound is None or (found.a, found.b, found.out) != (a, b, out):
            return plan, None
        untried = plan.origin == "default" and STENCILS[str(plan.stencil)].needs_record(plan.problem)
        if call.kind == "cpu" and untried and not alone:
            # It was measured beside NumPy's BLAS, and XLA has another product.
            return plan, None
        if call.kind == "cpu":
            return plan, _on_cpu(found.bound)
        return plan, _on_cuda(found.bound, call.room if alone else math.inf)


def _on_cpu(bound: Any) -> Planned:
    context = compiled.context_at(bound.context)
    return Planned.of(context, bound.job.swap, _starts(bound.job), bound, threads=bound.threads)


def _on_cuda(bound: Any, most: float) -> Planned | None:
    """The launches of a kernel whose workspace has so many bytes at most."""
    words, room = bound.binding.words, bound.binding.room
    if words is None:
        return None  # Textures are made for an address, by Python.
    size = 0 if room is None else room.size
    if size > most:
        smaller = _roomless(bound)
        return None if smaller is None else _on_cuda(smaller, most)
    start = fastcall_cuda.starting(bound.binding.launcher, words, _never, room, bound.index)
    raw = fastcall_cuda.raw if room is None else fastcall_cuda.raw_within
    found = None if start is None else raw(start)
    if found is None:
        return None
    entry, context = found
    starts = _starts(bound.job)
    return Planned.of(context, bound.job.swap, starts, bound, function=entry, room=size, keep=start)


def _roomless(bound: Any) -> Any:
    """The kernel of the same stencil that needs no workspace; None where there is none."""
    plan = bound.plan
    config = small_config(STENCILS[plan.stencil], plan.problem, plan.device, plan.config)
    if config is None:
        return None
    return type(bound)(bound.job, replace(plan, config=config), bound.scalars, bound.index)


def _never(*_: int) -> None:
    """What a launch from Python would fall back to, which there is none of."""


def _starts(job: Job) -> list[tuple[int, int, int]]:
    """The runs of a job, in the kernel's order of operands."""
    return [(b, a, out) if job.swap else (a, b, out) for a, b, out in job.starts()]


def _missing(text: str, index: int) -> Planned:
    """The plan of a call that was lowered elsewhere, where no product but a kernel's can be had any more."""
    call = Call.parse(text)
    plan, found = planned(call, index, alone=True)
    if found is None:
        raise UnsupportedError(f"no kernel runs {plan.problem.spelling} here: {plan.why}; lower it again")
    return found


class Lowered:
    """The handlers of this process, and the plans that were lowered in it."""

    def __init__(self) -> None:
        self.handlers = Handlers(_missing)

    def add(self, call: Call, index: int) -> Call | None:
        """Plan a call: the same with the room that its kernel needs; None where no handler runs it."""
        _, found = planned(call, index)
        if found is None:
            return None
        call = replace(call, room=found.room)
        self.handlers.add(call.text, index, found)
        return call
