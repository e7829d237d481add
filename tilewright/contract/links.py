"""Two stacks of tiny products, one after the other, as one chain: read once, written once, by one kernel.

Where the product of two operands meets a third one, and all three are stacks of matrices over the same axes,
or one matrix for all, it is the chain of three that ``tw.chain`` has a kernel for on a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tilewright.arrays.chains import ChainJob, chain_of
from tilewright.arrays.shaping import Shaping
from tilewright.calls import chains
from tilewright.contract.equation import Labels
from tilewright.contract.pair import Term
from tilewright.contract.program import Chain, Product, Program, Single, Step, View
from tilewright.contract.steps import viewed
from tilewright.runtime.backend import Backend


def linked(plan: Program, backend: Backend, library: Shaping, arrays: Sequence[Any], out: Any) -> Program:
    """The program with chains in place of the products that a kernel of chains does at once.

    ``arrays`` are the operands, of one type, and ``out`` is the caller's memory or None.
    """
    like = arrays[0]
    dtype = library.look(library.key(like)).dtype

    def there(x: Any) -> Any:
        # Memory like that of a product in between, which is let go when it was looked at.
        return library.new(x, dtype, like) if isinstance(x, tuple) else x

    # Operands, and shapes of products in between; None: only how it lies is of interest, and that is unknown.
    held: list[Any] = list(arrays)
    steps: list[Step] = []
    left = list(plan.steps)
    wanted = tuple(label for label in plan.equation.out if plan.equation.extents[label] != 1)
    final = plan.final
    while left:
        step = left.pop(0)
        if isinstance(step, Single):
            held[step.number] = None
            steps.append(step)
            continue
        found = None
        if isinstance(step, Product) and left:
            found = _chain(step, left[0], len(held), wanted if len(left) == 1 else None)
        if found is not None and all(held[at] is not None for at in found.places):
            made = library.shaped(out, found.made.extents) if found.asked else there(found.made.extents)
            factors = [there(held[at]) for at in found.places]
            if _served(found, backend, library, factors, made):
                left.pop(0)
                if not left:
                    final = View.of(found.made, wanted, plan.equation.shape)
                step = found
            del made, factors
        shape = step.made.extents if isinstance(step, Chain) else None
        shape = step.made if isinstance(step, Product) else shape
        held = [x for at, x in enumerate(held) if at not in step.places] + [shape]
        steps.append(step)
    return replace(plan, steps=tuple(steps), final=final)


def _served(step: Chain, backend: Backend, library: Shaping, factors: Sequence[Any], made: Any) -> bool:
    """Whether a chain of these arrays has a kernel that is expected to be faster than products."""
    seen = [
        backend.view(viewed(library, x, view), name)[0]
        for x, view, name in zip(factors, step.views, "abc", strict=True)
    ]
    job = chain_of(seen, None, backend.view(viewed(library, made, step.out), "out")[0])
    return isinstance(job, ChainJob) and chains.planned(backend, job)[1] is not None


def _chain(one: Product, two: Step, count: int, wanted: Labels | None) -> Chain | None:
    """Two products as a chain of three matrices, where they are one; ``count``: operands held before them.

    ``wanted``: the axes of the result that they end with; None: others follow, which read what ``two`` makes.
    """
    # The product stands last of those that are then held.
    if not isinstance(two, Product) or count - 2 not in (two.left, two.right):
        return None
    if len(one.pair.k) != 1 or len(two.pair.k) != 1:
        return None
    rest = [at for at in range(count) if at not in (one.left, one.right)]
    other = two.left if two.right == count - 2 else two.right
    right, place = two.terms[0 if other == two.left else 1], rest[other]
    (first,), (second,) = one.pair.k, two.pair.k
    (left, middle), places = one.terms, (one.left, one.right)
    if second in left.labels:
        left, middle, places = middle, left, places[::-1]
    if second in left.labels or second not in middle.labels:
        return None
    made = two.pair.made
    rows = tuple(x for x in left.labels if x != first and x not in (*middle.labels, *right.labels))
    columns = tuple(x for x in right.labels if x != second and x not in (*middle.labels, *left.labels))
    if len(rows) > 1 or len(columns) > 1:
        return None
    batch = tuple(x for x in made.labels if x not in (*rows, *columns))
    if any({*pair.batch} != {*batch} for pair in (one.pair, two.pair)):
        return None  # One of the products is a larger one than that of matrices of the chain.
    if wanted is not None and not two.asked:
        # Matrices one after the other, as they were asked for if those are such.
        extents = dict(zip(made.labels, made.extents, strict=True))
        ends_so = {*rows, *columns} == {*wanted[len(batch) :]}
        made = Term.packed(wanted if ends_so else (*batch, *rows, *columns), extents)
        batch = made.labels[: len(batch)]
    factors = ((left, (*rows, first)), (middle, (first, second)), (right, (second, *columns)))
    shapes = [[left.extent(x) for x in rows] or [1], [right.extent(x) for x in columns] or [1]]
    ends = (shapes[0][0], left.extent(first), middle.extent(second), shapes[1][0])
    views = tuple(_matrices(x, batch, labels, ends[at : at + 2]) for at, (x, labels) in enumerate(factors))
    out = _matrices(made, batch, (*rows, *columns), (ends[0], ends[3]))
    return Chain((*places, place), views, made, out, two.asked, (one, two))


def _matrices(x: Term, batch: Labels, labels: Labels, shape: tuple[int, ...]) -> View:
    """A term as a stack of matrices, which axes that it has not repeat."""
    counted = tuple(x.extent(label) if label in x.labels else 1 for label in batch)
    return View.of(x, (*(label for label in batch if label in x.labels), *labels), (*counted, *shape))
