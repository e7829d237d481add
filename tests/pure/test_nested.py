"""Batches along several axes: what is left of their axes, and what of them a kernel is told."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arrays.layout import Job, problem_of
from tilewright.arrays.view import ArrayView
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, OUTER_AXES, Problem
from tilewright.planning import dispatch
from tilewright.stencils.cuda import args
from tilewright.stencils.cuda.tiny import needs, nest_cost
from tilewright.stencils.cuda.tiny.needs import tile
from tilewright.stencils.protocol import SEVERAL_AXES, refused
from tilewright.targets.cuda.arguments import Struct
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

H200 = named("h200")
Trio = tuple[int, int, int]


def job_of(a: Any, b: Any, out: Any, gpu: bool = True) -> Job:
    found = problem_of(a, b, out, conj_a=False, conj_b=False, alpha="1", beta="0", gpu=gpu)
    assert isinstance(found, Job)
    return found


def spread(draw: st.DrawFn, shape: tuple[int, ...], shared: bool) -> Any:
    """A stack of matrices 2 x 3 whose batch axes lie in any order, have gaps, run backwards or are shared."""
    order = draw(st.permutations(range(len(shape))))
    gaps = [draw(st.sampled_from([1, 1, 2])) for _ in shape]
    once = [shared and draw(st.integers(0, 3)) == 0 for _ in shape]
    whole = [1 if few else extent * gap for extent, gap, few in zip(shape, gaps, once, strict=True)]
    array = np.zeros([whole[axis] for axis in order] + [2, 2]).transpose(
        *(order.index(axis) for axis in range(len(shape))), len(shape), len(shape) + 1
    )
    cuts = [
        slice(None) if few else slice(None, None, draw(st.sampled_from([1, 1, -1])) * gap)
        for gap, few in zip(gaps, once, strict=True)
    ]
    return np.broadcast_to(array[tuple(cuts)], (*shape, 2, 2))


@st.composite
def trios(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=7).filter(lambda x: prod(x) <= 600)))
    a, b, out = (spread(draw, shape, shared) for shared in (True, True, False))
    return a, b, out


def matrices(job: Job, size: int = 8) -> Counter[Trio]:
    """Bytes from the first matrices of a, b and out to those of every product of a job."""
    p = job.problem
    order = (2, 1, 3) if job.swap else (1, 2, 3)
    axes = [(extent, *steps) for extent, steps in zip(job.outer, job.outer_steps, strict=True)]
    inside = [*p.outer, (p.batch, *p.strides)] if p.batch > 1 else []
    axes += [(axis[0], *(axis[which] * size for which in order)) for axis in inside]
    at = product(*(range(extent) for extent, *_ in axes))
    return Counter(
        tuple(sum(i * axis[which] for i, axis in zip(index, axes, strict=True)) for which in (1, 2, 3))
        for index in at
    )  # type: ignore[arg-type]


@given(trios())
def test_every_product_is_where_the_arrays_have_it(trio: tuple[Any, Any, Any]) -> None:
    """However axes are folded, swapped and put in order: the same triples of matrices, each once."""
    shape = trio[2].shape[:-2]
    wanted = Counter(
        tuple(sum(i * step for i, step in zip(index, x.strides, strict=False)) for x in trio)
        for index in product(*map(range, shape))
    )
    for gpu in (False, True):
        found = job_of(*trio, gpu)
        assert matrices(found) == wanted
        assert len(found.problem.outer) <= OUTER_AXES
        assert found.problem.products * prod(found.outer) == prod(shape)
        if not gpu:
            assert found.problem.outer == ()
    looped = found.looped()
    assert looped.problem.outer == ()
    assert matrices(looped) == wanted


def test_axes_that_lie_next_to_each_other_are_one() -> None:
    """Also where the caller has them in another order than memory."""
    a, b, out = (np.zeros((5, 4, 3, 2, 2)).transpose(2, 0, 1, 3, 4) for _ in range(3))
    found = job_of(a, b, out)
    assert (found.problem.batch, found.problem.outer, found.outer) == (60, (), ())
    found = job_of(np.broadcast_to(a[:1], a.shape), b, out)
    assert found.problem.batch == 3
    assert [extent for extent, *_ in found.problem.outer] == [20]


def test_runs_are_those_of_out_and_the_longest_where_a_kernel_knows_one_axis() -> None:
    """A run of a GPU's kernel is along the last axis of out, even where another axis is longer."""
    a, b, out = np.zeros((99, 1, 4, 4)), np.zeros((1, 8, 4, 4)), np.zeros((99, 8, 4, 4))
    found = job_of(a, b, out)
    assert (found.problem.batch, found.problem.strides) == (8, (16, 0, 16))
    assert found.problem.outer == ((99, 0, 16, 128),)
    looped = found.looped()
    assert (looped.problem.batch, looped.problem.strides) == (99, (0, 16, 128))
    assert (looped.outer, looped.outer_steps) == ((8,), ((0, 128, 128),))


NESTED = Problem(
    DTYPES["s"], 4, 4, 4, batch=1000, stride_a=0, stride_b=16, stride_c=16,
    outer=((8, 16, 16000, 16000), (3, 0, 128000, 128000)),
)  # fmt: skip


def test_each_operand_counts_once() -> None:
    """Eight matrices A of 24,000 products, in bytes that are moved and bytes that are there."""
    assert NESTED.products == 24_000
    assert NESTED.moves == (True, True, True)
    assert NESTED.footprint == 64 * (8 + 24_000 + 24_000)
    assert NESTED.bytes == 64 * 2
    assert NESTED.with_(outer=((8, 0, 0, 16000),)).moves == (False, True, True)
    # Which operands go on along each axis, the innermost one last.
    assert NESTED.with_(outer=NESTED.outer[:1]).layout == "packed+nestedABC.BC"
    assert NESTED.with_(outer=()).layout == "packed+sharedA"


def test_a_problem_of_one_axis_says_nothing_of_others() -> None:
    plain = NESTED.with_(outer=())
    assert "outer" not in plain.to_json()
    assert Problem.from_json(NESTED.to_json()) == NESTED


@pytest.mark.parametrize("name", ["classic", "tensor"])
def test_others_say_that_they_know_one_axis(name: str) -> None:
    assert refused(STENCILS[name], NESTED, H200) == SEVERAL_AXES
    assert refused(STENCILS["tiny"], NESTED, H200) is None


@pytest.mark.parametrize(
    ("outer", "why"),
    [
        (((3, 16, 16, 0),), "one C"),
        (((2, 16, 16, 99),) * (OUTER_AXES + 1), f"more than {OUTER_AXES}"),
        (((3_000_000, 16, 16, 16_000),), "close to it"),
    ],
)
def test_what_cannot_be_is_refused(outer: Any, why: str) -> None:
    assert why in str(refused(STENCILS["tiny"], NESTED.with_(outer=outer), H200))


@given(
    st.lists(st.integers(1, 2000), min_size=2, max_size=5),
    st.integers(1, 64),
    st.lists(st.floats(0, 1, exclude_max=True), min_size=20, max_size=20),
)
def test_positions_are_found_by_multiplications(extents: list[int], group: int, parts: list[float]) -> None:
    """The factors of ``struct Nested`` divide every number below 2^31 by the extents, as the kernel does."""
    batch, *outer = extents
    p = NESTED.with_(batch=batch, outer=tuple((extent, 1, 1, 1) for extent in outer))
    (packed,) = args.nested(p, group)
    assert isinstance(packed, Struct)
    fields: dict[str, Any] = {x.name: getattr(x, "value", None) for x in packed.fields}
    counts = [-(-batch // group), *outer[:0:-1]]
    assert list(fields["count"][: len(counts)]) == counts
    assert fields["pieces"] == counts[0] * prod(outer)
    for count, factor, shift in zip(counts, fields["factor"], fields["shift"], strict=False):
        assert factor < 1 << 32
        for number in (*(int(part * 2**31) for part in parts), 0, count - 1, count, 2**31 - 1):
            assert number * factor >> (31 + shift) == number // count


@pytest.mark.parametrize(
    ("strides", "outer", "found"),
    [
        ((0, 16, 16), ((8, 16, 16_000, 16_000),), None),
        # A lies along another axis than C, and comes in runs along that.
        ((48, 0, 16), ((3, 0, 48, 64_000), (40, 16, 16, 16_000)), (1, 14, (True, True, False))),
        # B has no axis without gaps, but is shared along one, and comes matrix by matrix.
        ((16, 64, 16), ((10, 16, 0, 64_000), (40, 16_000, 32, 16_000)), (0, 5, (False, True, False))),
        # B has no such axis either, and its matrices are small.
        ((16, 64, 16), ((10, 16, 96, 64_000), (40, 16_000, 32, 16_000)), None),
    ],
)
def test_a_tile_has_the_axis_along_which_an_operand_lies(strides: Trio, outer: Any, found: Any) -> None:
    a, b, c = strides
    tiled = tile(NESTED.with_(stride_a=a, stride_b=b, stride_c=c, outer=outer))
    assert (None if tiled is None else (tiled.axis, tiled.along, tiled.turned)) == found


def test_a_default_brings_runs_and_tiles_by_bulk_copies_and_finds_others_one_by_one() -> None:
    tiny = STENCILS["tiny"]
    assert tiny.default(NESTED, H200)["path"] == "bulk"
    short = NESTED.with_(batch=1, outer=((100_000, 16, 48, 48),))
    loose = NESTED.with_(stride_a=48, stride_b=32)
    turned = NESTED.with_(stride_b=48, outer=((30, 16, 16, 16_000),))
    # Large matrices, one by one.
    large = Problem(DTYPES["s"], 8, 8, 8, batch=3000, stride_a=128, outer=((50, 0, 9, 192_000),))
    for p, path in ((NESTED, "bulk"), (short, "async"), (loose, "async"), (turned, "bulk"), (large, "bulk")):
        assert tiny.default(p, H200)["path"] == path
        assert tiny.space(p, H200).member(tiny.default(p, H200)) is None


def test_accesses_to_shared_memory_are_counted_bank_by_bank() -> None:
    """Neighbouring words are read at once, and one word by all; words 128 bytes apart one by one, and 16
    bytes by eight threads at a time."""
    lanes = np.arange(32)
    for apart, wide, clocks in ((4, 4, 1), (0, 4, 1), (128, 4, 32), (2, 2, 1), (18, 2, 2), (8, 8, 2)):
        assert nest_cost._wavefronts(lanes * apart, wide) == clocks
    assert [nest_cost._wavefronts(lanes * apart, 16) for apart in (16, 0, 128)] == [4, 4, 32]


def test_a_thread_has_several_products_where_they_have_one_operand_and_multiplying_sets_the_pace() -> None:
    tiny = STENCILS["tiny"]
    every = Problem(DTYPES["d"], 8, 8, 8, batch=500, stride_a=0, outer=((500, 64, 0, 32_000),))
    assert tiny.default(every, H200)["several"] > 1
    # Elsewhere there is nothing to choose, and neither goes with every other parameter.
    (plain,) = Problem.parse("d:8x8x8@250000")
    known = {param.name: param.values for param in tiny.space(plain, H200).params}
    assert (known["several"], known["direct"]) == ((1,), (0,))
    space, config = tiny.space(every, H200), tiny.default(every, H200)
    for change in ({"mma": 8, "rows": 8, "columns": 8}, {"turn": 1}, {"path": "async"}):
        broken = {rule.name for rule in space.why(config.with_(several=2, **change))}
        assert broken & {"several", "several-mma"}
    assert "direct" in {rule.name for rule in space.why(config.with_(direct=1, path="async"))}


def batch_of(
    letter: str, n: int, extents: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...]
) -> Problem:
    """A batch along several axes, whose steps are numbers of matrices."""
    kind = DTYPES[letter].numpy
    last = (n * kind.itemsize, kind.itemsize)

    def view(steps: tuple[int, ...]) -> ArrayView:
        matrix = n * n * kind.itemsize
        return ArrayView(1 << 30, (*extents, n, n), (*(step * matrix for step in steps), *last), kind)

    out = tuple(prod(extents[i + 1 :]) for i in range(len(extents)))
    return job_of(view(a), view(b), view(out)).problem


@pytest.mark.parametrize(
    ("letter", "extents", "a", "b", "columns"),
    [
        # Both operands move: by words where it is foretold to take a little longer, too, and not much.
        ("h", (49, 45, 229), (20610, 458, 1), (229, 11221, 1), 3),
        ("h", (182, 17, 160), (160, 29120, 1), (1, 182, 3094), 0),
        ("b", (43, 34, 36, 9), (1224, 36, 1, 0), (11016, 324, 9, 1), 9),
        ("b", (12, 15, 16, 23, 8), (44160, 2944, 184, 8, 1), (345, 1, 4140, 15, 0), 0),
        # One is shared: only where it is foretold to take no longer.
        ("h", (10, 12, 10, 35, 13), (455, 0, 0, 13, 1), (0, 130, 13, 0, 1), 9),
        ("h", (62, 122, 66), (0, 66, 1), (8052, 66, 1), 0),
    ],
)
def test_threads_read_odd_halves_by_words_where_it_pays(
    letter: str, extents: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...], columns: int
) -> None:
    config = STENCILS["tiny"].default(batch_of(letter, 9, extents, a, b), H200)
    assert config["odd"] == (columns > 0)
    if columns:
        assert config["columns"] == columns
        assert config["warps"] >= nest_cost._WARPS_ODD


def test_threads_write_whole_sectors_or_those_of_a_c_by_itself() -> None:
    """Of C of order 9, which begin in the middle of a sector, they do not; of order 4 they do."""
    tiny = STENCILS["tiny"]
    a_lot = Problem(DTYPES["z"], 9, 9, 9, batch=50, stride_a=0, stride_b=81, outer=((600, 81, 0, 4050),))
    steps = ((10, 0, 2280, 1, 60), (19760, 760, 0, 38, 1))
    small = batch_of("s", 4, (6, 26, 20, 10, 38), *steps)
    for p, most in ((a_lot, nest_cost._PARTS), (small, nest_cost._PARTS_WHOLE)):
        assert nest_cost.most_parts(p) == most
        config = tiny.default(p, H200)
        parts = nest_cost.work_of(p, config).sectors / nest_cost._whole_sectors(p)
        assert not config["direct"] or parts <= most
        assert tiny.space(p, H200).member(config) is None
    assert config["direct"]
    assert parts > nest_cost._PARTS


def test_gaps_and_shares_of_a_run_do_not_send_a_batch_to_the_library() -> None:
    """A of order 32 has none along another axis, and B is shared by runs alone."""
    matrix = 32 * 32
    outer = ((15, 6 * matrix, 0, 702 * matrix), (6, matrix, 0, 117 * matrix), (13, 0, matrix, 9 * matrix))
    p = Problem(
        DTYPES["d"], 32, 32, 32, batch=9, stride_a=90 * matrix, stride_b=0, stride_c=matrix, outer=outer
    )
    assert dispatch.plan(p, H200).stencil == "tiny"


@pytest.mark.parametrize("letter", "cz")
def test_records_of_one_batch_axis_tell_nothing_of_several(letter: str) -> None:
    """But that it is this stencil, of complex products of order 32, which arithmetic binds."""
    matrix = 32 * 32
    p = Problem(DTYPES[letter], 32, 32, 32, batch=49, stride_a=0, outer=((100, matrix, matrix, 49 * matrix),))
    assert dispatch.plan(p.with_(stride_a=matrix, outer=()), H200).origin in ("tuned", "near")
    plan = dispatch.plan(p, H200)
    assert (plan.origin, plan.stencil) == ("default", "tiny")
    assert plan.config == STENCILS["tiny"].default(p, H200)


@pytest.mark.parametrize(
    ("letter", "size"), [("z", 28), ("z", 32), ("z", 37), ("z", 42), ("c", 56), ("c", 64)]
)
def test_records_of_blocks_that_end_and_of_other_stencils_send_no_structure_to_the_library(
    letter: str, size: int
) -> None:
    """Blocks stay along several axes, and what won along one may be a stencil that has no several axes."""
    matrix = size * size
    p = Problem(
        DTYPES[letter],
        size,
        size,
        size,
        batch=49,
        stride_a=0,
        outer=((100, matrix, 49 * matrix, 49 * matrix),),
    )
    plan = dispatch.plan(p, H200)
    assert (plan.origin, plan.stencil) == ("default", "tiny")


def test_sixteen_bits_take_eight_products_or_pairs_where_they_are_odd() -> None:
    """Eight of a warp where a run shares an operand; pairs of tiny ones whatever they share."""
    tiny = STENCILS["tiny"]
    for size, a, several in ((9, 0, 8), (3, 0, 2), (3, 9, 2)):
        matrix = size * size
        run = 64_000 // size
        outer = ((100, (not a) * matrix, 0, run * matrix),)
        p = Problem(
            DTYPES["h"],
            *(size, size, size),
            batch=run,
            stride_a=a,
            stride_b=matrix,
            stride_c=matrix,
            outer=outer,
            align=2,
        )
        config = tiny.default(p, H200)
        assert config["several"] == several
        assert tiny.space(p, H200).member(config) is None
    # Nothing that eight products share in a run, and halves that vectors divide.
    turned = p.with_(stride_a=matrix * 200, outer=((100, matrix, 0, run * matrix),))
    even = p.with_(m=4, n=4, k=4, lda=4, ldb=4, ldc=4, stride_a=16, stride_b=16, stride_c=16)
    assert not needs.eights(turned)
    assert not needs.pairs(even)


def test_what_shares_is_told_along_either_axis_of_a_tile() -> None:
    run = NESTED.with_(outer=(NESTED.outer[0],))
    assert needs.shares(run) == (0 in run.strides[:2])
    for (a, b), (c, d), shared in (((16, 16), (16, 16), False), ((0, 16), (16, 16), True)):
        p = Problem(
            DTYPES["s"], 4, 4, 4, batch=100, stride_a=a, stride_b=b, outer=((90, c * 200, d * 100, 1600),)
        )
        assert needs.shares(p) is shared
