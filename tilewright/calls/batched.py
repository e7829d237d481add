"""Batches of matrices of one size that lie anywhere: ``gemm_batched`` without its checks of arguments.

On a GPU: one launch over stacks where all matrices lie evenly spaced, else one over arrays of addresses
(``Problem.pointers``), else one for each product. In this process's memory: stacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any

import numpy as np

from tilewright.arrays.device import Held, phantom
from tilewright.arrays.layout import Array, Job, address_of, problem_of, transposed
from tilewright.arrays.pointers import Placement, Pointers, even_step
from tilewright.calls.matrix_lists import (
    Table,
    apart,
    gather,
    memory_here,
    same_matrices,
    sent,
    typed,
    view_here,
)
from tilewright.calls.product import Caller, product_shape
from tilewright.errors import ArgumentError
from tilewright.planning import dispatch
from tilewright.runtime import call_cache
from tilewright.runtime.bound_cpu import HOST, Place
from tilewright.runtime.bound_cuda import Gpu


class _Side:
    """One operand of a batch: its first matrix, and where the others lie, in the same layout."""

    def __init__(self, place: Place, value: Any, name: str, pairs: bool, *, output: bool = False):
        self.name, self.value = name, value
        if isinstance(value, Pointers):
            self.pointers: Pointers | None = value
            self.addresses, self.wrap = value.addresses, None
            held = Held(value, None, value.index, None)
            self.first: Array = phantom(
                int(value.addresses[0]), value.shape, value.strides, value.dtype, held
            )
            self.table: Table | None = None
            return
        self.pointers = None
        table = gather(place, value, name, pairs, output=output)
        for what, row in (("rows", table.rows), ("columns", table.columns)):
            if (row != row[0]).any():
                place_of = int((row != row[0]).argmax())
                shape = (int(table.rows[place_of]), int(table.columns[place_of]))
                first = (int(table.rows[0]), int(table.columns[0]))
                raise ArgumentError(
                    f"{name}[{place_of}] has shape {shape} and {name}[0] {first} ({what} differ); "
                    "accepted: one shape, or gemm_grouped"
                )
        self.table, self.wrap = table, table.wrap
        self.addresses = table.address
        self.first = table.of(0) if isinstance(place, Gpu) else np.empty(0)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        if self.pointers is not None:
            return self.pointers.shape
        assert self.table is not None
        return int(self.table.rows[0]), int(self.table.columns[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        if self.pointers is not None:
            return self.pointers.dtype
        assert self.table is not None
        return self.table.dtype

    def __len__(self) -> int:
        return len(self.addresses)

    def of(self, which: int) -> Array:
        """One matrix."""
        if self.table is not None:
            return self.table.of(which)
        first = self.first
        return phantom(
            int(self.addresses[which]), first.shape, first.strides, first.dtype, getattr(first, "held", None)
        )

    def even(self) -> bool:
        """Whether all matrices have one layout."""
        return self.table is None or self.table.of_one_layout()

    def stacked(self, place: Place) -> _Side:
        """The same matrices in one new array."""
        rows, columns = self.shape
        made = place.empty((len(self), rows, columns), self.dtype)
        for which in range(len(self)):
            place.assign(_slice(made, which), self.of(which))
        return _of_stack(made, self.name)

    def placement(self) -> Placement:
        """Where the matrices lie."""
        if self.table is not None:
            return self.table.placement()
        assert self.pointers is not None
        return self.pointers.placement()

    def step(self) -> int | None:
        """Bytes from each matrix to the next; None where they differ."""
        return even_step(self.addresses) if self.pointers is None else self.pointers.step

    def together(self) -> int:
        """All addresses, bit by bit: what divides this divides all of them."""
        if self.pointers is not None:
            return self.pointers.together
        return int(np.bitwise_or.reduce(self.addresses))


def _slice(stack: Array, which: int) -> Array:
    """One matrix of a stack."""
    made: Array = stack[which : which + 1][0] if not hasattr(stack, "held") else _flat(stack, which)
    return made


def _flat(stack: Array, which: int) -> Array:
    start = address_of(stack) + which * stack.strides[0]
    lazy = getattr(stack, "lazy", False)
    return phantom(
        start, stack.shape[1:], stack.strides[1:], stack.dtype, getattr(stack, "held", None), lazy=lazy
    )


def _of_stack(stack: Array, name: str) -> _Side:
    """A stack that was made here as one operand."""
    side = _Side.__new__(_Side)
    count, rows, columns = stack.shape
    size = stack.dtype.itemsize
    full = np.ones(count, np.int64)
    side.name, side.value, side.pointers, side.wrap = name, stack, None, None
    side.addresses = address_of(stack) + np.arange(count) * (stack.strides[0] if count else 0)
    held: Held | None = getattr(stack, "held", None)
    side.table = Table(
        name,
        stack.dtype,
        side.addresses,
        full * rows,
        full * columns,
        full * (stack.strides[1] // size),
        full * (stack.strides[2] // size),
        np.zeros(count, bool),
        np.arange(count),
        0 if held is None else held.index,
        None,
        [stack],
    )
    side.first = _flat(stack, 0) if count else stack
    return side


def _shapes(caller: Caller, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of the results. Raises ``ArgumentError`` when there are none."""
    left, _ = transposed(np.broadcast_to(np.int8(0), a), caller.trans_a, "trans_a")
    right, _ = transposed(np.broadcast_to(np.int8(0), b), caller.trans_b, "trans_b")
    rows, columns = product_shape(left, right)
    return rows, columns


def on_gpu(place: Gpu, caller: Caller, lists: Mapping[str, Any], in_place: bool) -> Any:
    """The batch on a GPU; the results, where there is no ``out``."""
    pairs = caller.pairs
    left, right = (_Side(place, lists[name], name, pairs) for name in ("a", "b"))
    rows, columns = _shapes(caller, left.shape, right.shape)
    dtypes = {"a": left.dtype, "b": right.dtype}
    update = target = None
    if "out" in lists:
        target = _Side(place, lists["out"], "out", pairs, output=True)
        dtypes["out"] = target.dtype
    if "c" in lists and not in_place:
        update = _Side(place, lists["c"], "c", pairs)
        dtypes["c"] = update.dtype
    dtype = typed(dtypes)
    caller.fits(dtype)
    for side in (target, update):
        if side is not None and side.shape != (rows, columns):
            raise ArgumentError(
                f"{side.name} has matrices of shape {side.shape}; accepted: {(rows, columns)}"
            )
    if update is not None and update.pointers is not None and target is None:
        raise ArgumentError("c is Pointers and out is None; accepted: out, or out=c to update in place")
    stack = None
    if target is None:
        stack = place.empty((len(left), rows, columns), dtype)
        result = _of_stack(stack, "out")
    else:
        sides = {"a": left, "b": right}
        if update is not None:
            if (
                update.table is not None
                and target.table is not None
                and same_matrices(update.table, target.table)
            ):
                update = None  # Other objects over the same memory.
            else:
                sides["c"] = update
        _look_apart(target, sides)
        result = target if target.even() else target.stacked(place)
    if update is not None:
        for which in range(len(update)):
            place.assign(result.of(which), update.of(which))
    _batch(place, caller, left, right, result)
    if target is not None and result is not target:
        for which in range(len(target)):
            place.assign(target.of(which), result.of(which))
    if stack is None:
        return None
    wrap = left.wrap or right.wrap or place.hand
    if pairs and wrap is place.hand:
        return list(place.pairs(stack, place.hand))
    return list(wrap(stack))


def _look_apart(target: _Side, sides: Mapping[str, _Side]) -> None:
    """``lists.apart``, which ``Pointers`` need not be asked for twice."""
    others = [side.pointers for side in sides.values() if side.pointers is not None]
    fixed = target.pointers is not None and len(others) == len(sides)
    if target.pointers is not None and fixed and target.pointers.known_apart(*others):
        return
    apart(target.placement(), {name: side.placement() for name, side in sides.items()}, "out", {})
    if target.pointers is not None and fixed:
        target.pointers.note_apart(*others)


def _batch(place: Gpu, caller: Caller, left: _Side, right: _Side, result: _Side) -> None:
    """result = alpha op(left) op(right) + beta result, matrix by matrix."""
    if 0 in result.shape:
        return
    sides = [left, right, result]
    k = left.shape[0] if caller.trans_a != "n" else left.shape[1]
    if k == 0 or caller.alpha == 0:
        for which in range(len(result)):
            place.scale(result.of(which), caller.beta)
        return
    for number in (0, 1):
        if not sides[number].even():
            sides[number] = sides[number].stacked(place)
    steps = [side.step() for side in sides]
    if all(
        step is not None and step % side.dtype.itemsize == 0 for step, side in zip(steps, sides, strict=True)
    ):
        x, y, z = (_spaced(side, step or 0) for side, step in zip(sides, steps, strict=True))
        _whole(place, caller, x, y, z)
        return
    if _by_pointers(place, caller, sides):
        return
    left, right = sides[:2]
    for which in range(len(result)):
        _whole(place, caller, left.of(which), right.of(which), result.of(which))


def _spaced(side: _Side, step: int) -> Array:
    """Evenly spaced matrices as a stack."""
    first = side.first
    return phantom(
        address_of(first),
        (len(side), *first.shape),
        (step, *first.strides),
        first.dtype,
        getattr(first, "held", None),
        lazy=getattr(first, "lazy", False),
    )


def _whole(place: Place, caller: Caller, a: Array, b: Array, out: Array) -> None:
    """One product or stack, as ``gemm`` runs it; outputs are known to be apart."""
    left, _ = transposed(a, caller.trans_a, "trans_a")
    right, _ = transposed(b, caller.trans_b, "trans_b")
    caller.compute(place, left, right, out, fresh=True)


def _by_pointers(place: Gpu, caller: Caller, sides: list[_Side]) -> bool:
    """One launch over arrays of addresses; False where no kernel takes them."""
    sides = list(sides)
    for _ in range(3):
        a, b, c = (side.first for side in sides)
        left, _ = transposed(a, caller.trans_a, "trans_a")
        right, _ = transposed(b, caller.trans_b, "trans_b")
        conj_a, conj_b = caller.conjugated(left, right)
        alpha, beta = caller.classes
        found = problem_of(left, right, c, conj_a=conj_a, conj_b=conj_b, alpha=alpha, beta=beta, gpu=True)
        if not isinstance(found, str):
            break
        if found == "out":
            return False
        number = ("a", "b").index(found)
        sides[number] = sides[number].stacked(place)
    else:
        return False
    together = sides[0].together() | sides[1].together() | sides[2].together()
    # What divides all addresses, at most the widest access.
    align = gcd(16, together & -together) if together else 16
    problem = found.problem.with_(batch=len(sides[0]), pointers=True, align=align)
    job = Job(problem, found.swap, (), ())
    key = (place.key, job, caller.alpha, caller.beta)
    bound = call_cache.POINTERS.get(key)
    if bound is None:
        try:
            # The library's own product takes no addresses, however fast it is.
            plan = dispatch.plan(problem, dispatch.device("cuda", place.index), vendor=False)
        except ArgumentError:
            return False
        if place.why_not(job, plan) is not None:
            return False
        bound = place.bound(job, plan, (caller.alpha, caller.beta))
        call_cache.keep(call_cache.POINTERS, key, bound)
    rows, keep = _rows_there(place, sides)
    bound.run(rows[0], rows[1], rows[2], place.stream)
    del keep
    return True


def _rows_there(place: Gpu, sides: Sequence[_Side]) -> tuple[list[int], Any]:
    """The addresses on the GPU of the rows of addresses, and what keeps them there."""
    known = [side.pointers.there() if side.pointers is not None else None for side in sides]
    here = [side.addresses for side, there in zip(sides, known, strict=True) if there is None]
    start, keep = sent(place, np.concatenate(here)) if here else (0, None)
    rows = []
    for side, there in zip(sides, known, strict=True):
        rows.append(start if there is None else there)
        start += 0 if there is not None else 8 * len(side)
    return rows, keep


def on_host(caller: Caller, lists: Mapping[str, Any], in_place: bool) -> Any:
    """The batch in this process's memory: stacks of what lies evenly spaced, else copies into stacks."""
    pairs = caller.pairs
    tables = {
        name: gather(HOST, values, name, pairs, output=name == "out")
        for name, values in lists.items()
        if not (name == "c" and in_place)
    }
    dtype = typed({name: table.dtype for name, table in tables.items()})
    caller.fits(dtype)
    sizes = {}
    for name, table in tables.items():
        shapes = np.stack([table.rows, table.columns])
        other = (shapes != shapes[:, :1]).any(0)
        if other.any():
            which = int(other.argmax())
            raise ArgumentError(
                f"{name}[{which}] has shape {tuple(shapes[:, which].tolist())} and {name}[0] "
                f"{tuple(shapes[:, 0].tolist())}; accepted: one shape, or gemm_grouped"
            )
        sizes[name] = (int(shapes[0, 0]), int(shapes[1, 0]))
    shape = _shapes(caller, sizes["a"], sizes["b"])
    for name in ("c", "out"):
        if name in sizes and sizes[name] != shape:
            raise ArgumentError(f"{name} has matrices of shape {sizes[name]}; accepted: {shape}")
    target = tables.get("out")
    if target is not None:
        update = tables.get("c")
        if update is not None and same_matrices(update, target):
            del tables["c"]
        inputs = {name: table.placement() for name, table in tables.items() if name != "out"}
        apart(target.placement(), inputs, "out", {})
    stacks = {name: _stack_here(table, shape_of) for (name, table), shape_of in
              zip(tables.items(), (sizes[name] for name in tables), strict=True)}  # fmt: skip
    count = len(lists["a"])
    result = stacks["out"][0] if target is not None else HOST.empty((count, *shape), dtype)
    if "c" in stacks:
        HOST.assign(result, stacks["c"][0])
    _whole(HOST, caller, stacks["a"][0], stacks["b"][0], result)
    if target is None:
        wrap = tables["a"].wrap
        assert wrap is not None
        return list(wrap(result))
    if not stacks["out"][1]:
        for which in range(count):
            view_here(target, which)[...] = result[which]
    return None


def _stack_here(table: Table, shape: tuple[int, int]) -> tuple[Array, bool]:
    """The matrices as one stack, and whether it is the very memory."""
    step = even_step(table.address)
    if step is not None and (table.row == table.row[0]).all() and (table.column == table.column[0]).all():
        size = table.size
        strides = (step, int(table.row[0]) * size, int(table.column[0]) * size)
        return memory_here(int(table.address[0]), (len(table), *shape), strides, table.dtype), True
    made = np.empty((len(table), *shape), table.dtype)
    for which in range(len(table)):
        made[which] = view_here(table, which)
    return made, False
