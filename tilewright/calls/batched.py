"""Batches of matrices of one size that lie anywhere: ``gemm_batched`` without its checks of arguments.

One product of stacks where all matrices lie evenly spaced. Else, on a GPU, one launch over arrays of
addresses (``Problem.pointers``), ours or cuBLAS's, or one for each product; in this process's memory, copies
into stacks.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any

import numpy as np

from tilewright.arrays.backend import ArrayBackend
from tilewright.arrays.layout import Job, problem_of, transposed
from tilewright.arrays.overlap import Placement, even_step
from tilewright.arrays.pointers import Pointers
from tilewright.arrays.tables import Table
from tilewright.arrays.view import Layout, address_of, conjugated
from tilewright.calls import product
from tilewright.calls.matrix_lists import apart, gather, same_matrices, typed
from tilewright.calls.spec import Options, gemm_spec
from tilewright.errors import ArgumentError
from tilewright.model import Plan
from tilewright.planning import dispatch
from tilewright.runtime import call_cache, cublas
from tilewright.runtime.backend import Backend
from tilewright.runtime.backends import default_gpu


class _Side:
    """One operand of a batch: its first matrix, and where the others lie, in the same layout."""

    def __init__(
        self, backend: ArrayBackend, name: str, first: Layout, addresses: Any, table: Table | None, keep: Any
    ):
        self.backend, self.name, self.first, self.addresses = backend, name, first, addresses
        self.table, self.keep = table, keep
        self.pointers: Pointers | None = keep if isinstance(keep, Pointers) else None

    @staticmethod
    def of_argument(backend: Backend, value: Any, name: str, pairs: bool, *, output: bool = False) -> _Side:
        """An argument. Raises ``ArgumentError`` for matrices of several shapes."""
        if isinstance(value, Pointers):
            start = int(value.addresses[0])
            first = backend.at(start, value.shape, value.strides, value.dtype, keep=value)
            return _Side(backend, name, first, value.addresses, None, value)
        table = gather(backend, value, name, pairs, output=output)
        for what, row in (("rows", table.rows), ("columns", table.columns)):
            if (row != row[0]).any():
                place = int((row != row[0]).argmax())
                shape = (int(table.rows[place]), int(table.columns[place]))
                first_shape = (int(table.rows[0]), int(table.columns[0]))
                raise ArgumentError(
                    f"{name}[{place}] has shape {shape} and {name}[0] {first_shape} ({what} differ); "
                    "accepted: one shape, or gemm_grouped"
                )
        return _Side.of_table(table)

    @staticmethod
    def of_table(table: Table) -> _Side:
        """The matrices of a table, all of one shape."""
        return _Side(table.backend, table.name, table.of(0), table.address, table, table.keep)

    @staticmethod
    def of_stack(backend: ArrayBackend, stack: Layout, name: str) -> _Side:
        """A stack that was made here as one operand."""
        count, rows, columns = stack.shape
        full = np.ones(count, np.int64)
        across, row, column = (step // stack.itemsize for step in stack.strides)
        table = Table(
            backend,
            name,
            stack.dtype,
            address_of(stack) + np.arange(count) * across * stack.itemsize,
            *(full * rows, full * columns, full * row, full * column),
            *(np.zeros(count, bool), np.arange(count), None, [stack]),
        )
        return _Side.of_table(table)

    def __len__(self) -> int:
        return len(self.addresses)

    def of(self, which: int) -> Layout:
        """One matrix."""
        if self.table is not None:
            return self.table.of(which)
        first = self.first
        start = int(self.addresses[which])
        return self.backend.at(start, first.shape, first.strides, first.dtype, keep=self.keep)

    def even(self) -> bool:
        """Whether all matrices have one layout."""
        return self.table is None or self.table.of_one_layout()

    def spaced(self) -> Layout | None:
        """The matrices as one stack in the same memory; None where they do not lie evenly spaced."""
        first = self.first
        step = self.pointers.step if self.pointers is not None else even_step(self.addresses)
        if step is None or step % first.itemsize or not self.even():
            return None
        shape, strides = (len(self), *first.shape), (step, *first.strides)
        conj = conjugated(first)
        return self.backend.at(address_of(first), shape, strides, first.dtype, keep=self.keep, conj=conj)

    def stacked(self) -> _Side:
        """The same matrices in one new array."""
        made = self.backend.empty((len(self), *self.first.shape), self.first.dtype)
        side = _Side.of_stack(self.backend, made, self.name)
        side.assign(self)
        return side

    def assign(self, source: _Side) -> None:
        """Copy the matrices of another side into these."""
        whole, other = self.spaced(), source.spaced()
        # No library has stacks that go backwards, nor any that go nowhere to be written to.
        if whole is not None and other is not None and whole.strides[0] > 0 and other.strides[0] > 0:
            self.backend.assign(whole, other)
            return
        for which in range(len(self)):
            self.backend.assign(self.of(which), source.of(which))

    def placement(self) -> Placement:
        """Where the matrices lie."""
        if self.table is not None:
            return self.table.placement()
        assert self.pointers is not None
        return self.pointers.placement()

    def together(self) -> int:
        """All addresses, bit by bit: what divides this divides all of them."""
        if self.pointers is not None:
            return self.pointers.together
        return int(np.bitwise_or.reduce(self.addresses))


def key_of(values: Sequence[Any], c: Any, asked: tuple[Any, ...]) -> Any:
    """What a call on a, b and out is remembered under; None where these are not all ``Pointers``, which never
    change, or another c has to be copied first."""
    if not all(isinstance(value, Pointers) for value in values) or (c is not None and c is not values[2]):
        return None
    key = (*map(id, values), c is None, asked)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def again(key: Any) -> bool:
    """Do a call that was done before, by its key; False where it was not."""
    found = call_cache.POINTERS.get(key)
    # An object of the same number as one that is gone is another one.
    if found is None or any(reference() is None for reference in found[0]):
        return False
    _, index, start, rows = found
    backend = default_gpu(index)
    with backend.current():
        start(*rows, backend.here().stream)
    return True


def run(backend: Backend, options: Options, lists: Mapping[str, Any], in_place: bool, key: Any = None) -> Any:
    """The batch; the results, where there is no ``out``. ``key``: that of ``key_of``."""
    pairs = options.pairs
    sides = {
        name: _Side.of_argument(backend, values, name, pairs, output=name == "out")
        for name, values in lists.items()
        if not (name == "c" and in_place)
    }
    left, right = sides["a"], sides["b"]
    target, update = sides.get("out"), sides.get("c")
    dtype = typed({name: side.first.dtype for name, side in sides.items()})
    shape = gemm_spec(options, left.first, right.first).shape
    for side in (target, update):
        if side is not None and side.first.shape != shape:
            raise ArgumentError(f"{side.name} has matrices of shape {side.first.shape}; accepted: {shape}")
    if update is not None and update.pointers is not None and target is None:
        raise ArgumentError("c is Pointers and out is None; accepted: out, or out=c to update in place")
    if target is None:
        stack = backend.empty((len(left), *shape), dtype)
        result = _Side.of_stack(backend, stack, "out")
    else:
        if update is not None and _same(update, target):
            update = None  # Other objects over the same memory.
            del sides["c"]
        _look_apart(target, {name: side for name, side in sides.items() if name != "out"})
        result = target if _writable(backend, target) else target.stacked()
    if update is not None:
        result.assign(update)
    _batch(backend, options, left, right, result, key)
    if target is None:
        wraps = (side.table.wrap for side in (left, right) if side.table is not None)
        wrap = next((found for found in wraps if found is not None), None)
        if wrap is None:
            made = backend.pairs(stack, backend.hand_back) if pairs else backend.hand_back(stack)
            return list(made)
        return list(wrap(stack))
    if result is not target:
        target.assign(result)
    return None


def _writable(backend: Backend, target: _Side) -> bool:
    """Whether results can be written as they lie: in this process only into one stack."""
    return target.even() if backend.kind == "cuda" else target.spaced() is not None


def _same(one: _Side, other: _Side) -> bool:
    return one.table is not None and other.table is not None and same_matrices(one.table, other.table)


def _look_apart(target: _Side, sides: Mapping[str, _Side]) -> None:
    """``apart`` of ``matrix_lists``, which ``Pointers`` need not be asked for twice."""
    others = [side.pointers for side in sides.values() if side.pointers is not None]
    fixed = target.pointers is not None and len(others) == len(sides)
    if target.pointers is not None and fixed and target.pointers.known_apart(*others):
        return
    apart(target.placement(), {name: side.placement() for name, side in sides.items()}, "out", {})
    if target.pointers is not None and fixed:
        target.pointers.note_apart(*others)


def _batch(backend: Backend, options: Options, left: _Side, right: _Side, result: _Side, key: Any) -> None:
    """result = alpha op(left) op(right) + beta result, matrix by matrix."""
    if 0 in result.first.shape:
        return
    k = left.first.shape[0 if options.trans_a != "n" else 1]
    if k == 0 or options.alpha == 0:
        for which in range(len(result)):
            backend.scale(result.of(which), options.beta)
        return
    gpu = backend.kind == "cuda"
    left, right = (
        side if (side.even() if gpu else side.spaced() is not None) else side.stacked()
        for side in (left, right)
    )
    a, b, out = (side.spaced() for side in (left, right, result))
    if a is not None and b is not None and out is not None:
        _whole(backend, options, a, b, out)
    elif not _by_pointers(backend, options, [left, right, result], key):
        for which in range(len(result)):
            _whole(backend, options, left.of(which), right.of(which), result.of(which))


def _whole(backend: Backend, options: Options, a: Layout, b: Layout, out: Layout) -> None:
    """One product or stack, as ``gemm`` runs it; outputs are known to be apart."""
    product.run(backend, gemm_spec(options, a, b), out, fresh=True)


def _by_pointers(backend: Backend, options: Options, sides: list[_Side], asked: Any) -> bool:
    """One launch over arrays of addresses; False where no kernel takes them."""
    found = _job(options, sides)
    if found is None:
        return False
    together = sides[0].together() | sides[1].together() | sides[2].together()
    # What divides all addresses, at most the widest access.
    align = gcd(16, together & -together) if together else 16
    problem = found.problem.with_(batch=len(sides[0]), pointers=True, align=align)
    job = Job(problem, found.swap, (), ())
    key = (backend.key, job, options.alpha, options.beta)
    bound = call_cache.POINTERS.get(key)
    if bound is None:
        try:
            plan = _plan_of(backend, job)
        except ArgumentError:
            return False
        if backend.refusal(job, plan) is not None:
            return False
        bound = backend.bind(job, plan, options.scalars)
        if bound is None:
            return False
        call_cache.keep(call_cache.POINTERS, key, bound)
    rows, keep = _rows_there(backend, sides)
    bound.run(rows[0], rows[1], rows[2], backend.stream)
    del keep
    pointers = [side.pointers for side in sides if side.pointers is not None]
    if asked is not None and len(pointers) == len(sides):
        references = [weakref.ref(each) for each in pointers]
        call_cache.keep(call_cache.POINTERS, asked, (references, backend.index, bound.run, rows))
    return True


def _plan_of(backend: Backend, job: Job) -> Plan:
    """The plan from the ladder of ``dispatch``, which is walked once for all scalars.

    Raises ``ArgumentError`` where nobody takes the problem.
    """
    key = ("pointers", backend.key, job)
    found: Plan | None = call_cache.PLANS.get(key)
    if found is None:
        device = dispatch.device(backend.kind, backend.index)
        found = dispatch.plan(job.problem, device, vendor=cublas.refusal(job.problem) is None)
        call_cache.keep(call_cache.PLANS, key, found)
    return found


def _job(options: Options, sides: list[_Side]) -> Job | None:
    """One product of a batch as kernels see it, ``sides`` with stacks in place of operands that no layout
    covers; None where outputs would have to be copied."""
    alpha, beta = options.classes
    for _ in range(3):
        a, b, c = (side.first for side in sides)
        left, _ = transposed(a, options.trans_a, "trans_a")
        right, _ = transposed(b, options.trans_b, "trans_b")
        conj_a, conj_b = options.conjugated(left, right)
        found = problem_of(left, right, c, conj_a=conj_a, conj_b=conj_b, alpha=alpha, beta=beta, gpu=True)
        if not isinstance(found, str):
            return found
        if found == "out":
            return None
        number = ("a", "b").index(found)
        sides[number] = sides[number].stacked()
    return None


def _rows_there(backend: Backend, sides: Sequence[_Side]) -> tuple[list[int], Any]:
    """The addresses on the GPU of the rows of addresses, and what keeps them there."""
    known = [side.pointers.there() if side.pointers is not None else None for side in sides]
    here = [side.addresses for side, there in zip(sides, known, strict=True) if there is None]
    start, keep = backend.send(np.concatenate(here)) if here else (0, None)
    rows = []
    for side, there in zip(sides, known, strict=True):
        rows.append(start if there is None else there)
        start += 0 if there is not None else 8 * len(side)
    return rows, keep
