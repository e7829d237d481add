"""The stencil of float32 as sums of bfloat16: its planes, its space, its choice without a search, and what
products of parts may be wrong by."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.emulated.stencil as module
from tilewright.dtypes import BFLOAT16
from tilewright.model import DTYPES, EMULATED, Config, Problem
from tilewright.planning import alone
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.emulated.cost import clocks
from tilewright.stencils.cuda.emulated.needs import FRONT, PIECE, THREADS, front_of, operands, real
from tilewright.stencils.cuda.emulated.stencil import ARGUED, EmulatedStencil
from tilewright.stencils.cuda.source import program
from tilewright.targets.cuda.arguments import Scalar, Struct, TensorMap, Workspace
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

STENCIL = EmulatedStencil()
A100, H200 = named("a100"), named("h200")
FOLDER = Path(module.__file__).parent
KERNEL = (FOLDER / "kernel.cuh").read_text()
PROBLEM = dict(program("emulated")[1])["lib/problem.cuh"]
HIGH = Config({"tile_m": 128, "stages": 7, "band": 2048, "blocks": 132, "cut": 0})
ORDERS = ("nn", "nt", "tn", "tt")


def problem(text: str, math: str = "bf16x6", **fields: Any) -> Problem:
    return Problem.parse(text, math=math, **fields)[0]


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("s:nt:511x1023x81")
    defines = [name for name, _ in STENCIL.source(p, STENCIL.default(p, H200), H200).defines]
    assert sorted(defines) == sorted(set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)))
    names = [param.name.upper() for param in STENCIL.space(p, H200).params if param.name not in ARGUED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


def test_hard_rules_are_said_in_the_same_words() -> None:
    said = dict(re.findall(r'static_assert\(.*, "([\w-]+): (.*)"\);', KERNEL))
    rules = [rule for rule in STENCIL.space(problem("s:4095x4095x4095"), H200).rules if rule.kind == "hard"]
    assert [rule.name for rule in rules] == ["ring"]
    assert said["ring"] == rules[0].why


def test_pieces_and_counters_are_those_of_the_kernel() -> None:
    split, layout = (FOLDER / "split.cuh").read_text(), (FOLDER / "layout.cuh").read_text()
    complex_, real_ = (PIECE[which] // THREADS for which in (True, False))
    assert f"EACH = PAIRS ? {complex_} : {real_}, PIECE = EACH * THREADS;" in split
    assert f"IN_FRONT = {FRONT};" in layout


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "math", "fields", "reason"),
    [
        ("d:511x511x511", "bf16x6", {}, "type d"),
        ("s:511x511x511", "ieee", {}, "products in ieee are not made of bfloat16; bf16x3 and bf16x6 are"),
        ("s:511x511x511", "tf32", {}, "products in tf32"),
        ("s:511x511x511@2", "bf16x3", {}, "a batch of 2"),
        ("s:511x511x511", "bf16x3", {"align": 2}, "not of an element's 4"),
        ("s:511x511x511", "bf16x3", {"lda": 2**39}, "2^40"),
        ("c:30000x30000x30000", "bf16x6", {}, "more than 2^33"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, math: str, fields: dict[str, int], reason: str
) -> None:
    assert reason in (STENCIL.accepts(problem(text, math).with_(**fields), H200) or "")


def test_it_needs_warp_groups_and_takes_columns_that_begin_anywhere() -> None:
    assert "warp groups" in (STENCIL.accepts(problem("s:511x511x511"), A100) or "")
    for text in ("s:1x1x1", "c:cj:5x7x9", "s:tt:4097x4099x33"):
        assert STENCIL.accepts(problem(text), H200) is None


# -- planes --------------------------------------------------------------------------------------------------
def test_planes_lie_behind_sums_and_maps_are_of_them() -> None:
    """By hand: A is stored 480 x 645, which in the workspace are columns of 512, B 720 x 480, of 768."""
    p = problem("s:tt:645x720x480").with_(lda=487)
    product, a, b, cut = STENCIL.arguments(p, HIGH)
    assert isinstance(product, Struct)
    values = {field.name: field.value for field in product.fields if isinstance(field, Scalar)}
    at = 128 + 3 * 2 * 512 * 645
    # Of 120 words of four numbers a column, 645 of them, and of 180 each of 480, 1536 to a piece.
    assert values == {"lda": 487, "ldb": 720, "ldc": 645, "m": 645, "n": 720, "k": 480, "band": 16} | {
        "to_a": 128,
        "to_b": at,
        "pieces_a": 51,
        "pieces": 51 + 57,
        "alpha": None,
        "beta": None,
    }
    assert isinstance(cut, Struct)
    (space,) = (field for field in cut.fields if isinstance(field, Workspace))
    assert (space.size, space.zeros) == (at + 3 * 2 * 768 * 480, 8)
    maps = [x for x in (a, b) if isinstance(x, TensorMap)]
    assert [(x.space, x.type, x.extents, x.strides, x.box) for x in maps] == [
        (128, "bfloat16", (480, 645, 3), (1024, 1024 * 645), (64, 128, 1)),
        (at, "bfloat16", (720, 480, 3), (1536, 1536 * 480), (64, 64, 1)),
    ]


def test_a_product_of_complex_numbers_is_a_real_one_of_twice_the_k_and_columns() -> None:
    p = problem("c:cn:40x50x60", "bf16x3")
    assert real(p).extents == (40, 100, 120)
    assert real(p).trans == "tn"
    product, a, b, _ = STENCIL.arguments(p, HIGH)
    assert isinstance(product, Struct)
    values = {field.name: field.value for field in product.fields if isinstance(field, Scalar)}
    # Leading dimensions count complex numbers.
    assert [values[name] for name in ("m", "n", "k", "lda", "ldb", "ldc")] == [40, 100, 120, 60, 60, 40]
    assert isinstance(a, TensorMap)
    assert isinstance(b, TensorMap)
    assert (a.extents, b.extents) == ((120, 40, 2), (120, 100, 2))


@settings(max_examples=50, deadline=None)
@given(
    letter=st.sampled_from("sc"),
    sizes=st.tuples(*(st.integers(1, 3000),) * 3),
    trans=st.sampled_from(ORDERS),
    way=st.sampled_from([*EMULATED]),
    cut=st.sampled_from((0, 1, 4, 66)),
)
def test_planes_have_room_and_begin_where_maps_take_them(
    letter: str, sizes: tuple[int, int, int], trans: str, way: str, cut: int
) -> None:
    p = Problem(DTYPES[letter], *sizes, trans[0], trans[1], math=way)
    end = front_of(p, HIGH.with_(cut=cut))
    assert end >= FRONT
    *found, size = operands(p, end)
    for planes, (length, columns) in zip(found, p.stored[:2], strict=True):
        assert planes.at >= end
        assert planes.at % 128 == planes.leading % 64 == 0
        assert planes.rows <= planes.leading < planes.rows + 64
        # All numbers are there, those of B twice where they are complex.
        parts = (2 if planes is found[0] else 4) if letter == "c" else 1
        assert planes.rows * planes.columns == parts * length * columns
        piece = PIECE[letter == "c"]
        assert (planes.pieces - 1) * piece < -(-length // 4) * columns <= planes.pieces * piece
        end = planes.at + EMULATED[way].parts * 2 * planes.leading * planes.columns
    assert size == end


def test_blocks_without_a_tile_split_too() -> None:
    p = problem("s:nn:65x65x99999")
    assert STENCIL.launch(p, HIGH).grid == (132, 1, 1)
    assert STENCIL.launch(problem("s:nn:65x65x65"), HIGH).grid == (2, 1, 1)


# -- parts ---------------------------------------------------------------------------------------------------
def parts_of(x: Any, count: int) -> list[Any]:
    """The parts of float32 numbers, as float64."""
    found, rest = [], x.astype(np.float32)
    for _ in range(count):
        part = rest.astype(BFLOAT16).astype(np.float32)
        rest = rest - part
        found.append(part.astype(np.float64))
    return found


@pytest.mark.parametrize("way", EMULATED)
def test_what_is_left_out_is_below_what_is_said_and_near_it(way: str) -> None:
    """Of a hundred thousand products, and of the largest remainders that rounding leaves."""
    made = EMULATED[way]
    draw = np.random.default_rng(2)
    a, b = (draw.uniform(1, 2, 100_000).astype(np.float32) for _ in "ab")
    # Halfway between bfloat16 numbers just above 1, twice over.
    a[0] = b[0] = np.float32(1 + 2.0**-8 + 2.0**-16 - 2.0**-23)
    of_a, of_b = parts_of(a, made.parts), parts_of(b, made.parts)
    chosen = [(i, j) for i in range(made.parts) for j in range(made.parts) if i + j < made.parts]
    assert len(chosen) == made.terms
    exact = a.astype(np.float64) * b.astype(np.float64)
    off = abs(sum(of_a[i] * of_b[j] for i, j in chosen) - exact) / exact
    assert 0.25 * made.left_out < off.max() <= made.left_out


def test_three_parts_are_all_of_a_number() -> None:
    x = np.random.default_rng(3).standard_normal(10_000).astype(np.float32)
    np.testing.assert_array_equal(sum(parts_of(x, 3)), x.astype(np.float64))


# -- the choice --------------------------------------------------------------------------------------------
@settings(max_examples=20, deadline=None)
@given(
    letter=st.sampled_from("sc"),
    sizes=st.tuples(*(st.integers(1, 9000),) * 3),
    trans=st.sampled_from(ORDERS),
    beta=st.sampled_from(("0", "1", "any")),
    way=st.sampled_from([*EMULATED]),
)
def test_the_default_is_a_member_that_hardware_runs(
    letter: str, sizes: tuple[int, int, int], trans: str, beta: str, way: str
) -> None:
    p = Problem(DTYPES[letter], *sizes, trans[0], trans[1], beta=beta, math=way)
    assert STENCIL.accepts(p, H200) is None
    config = STENCIL.default(p, H200)
    broken = [rule.name for rule in STENCIL.space(p, H200).why(config) if rule.kind in (*HARDWARE, "hard")]
    assert broken == []
    launch = STENCIL.launch(p, config)
    assert launch.block[0] == THREADS
    assert 1 <= launch.grid[0] <= 132
    assert launch.shared <= H200["shared_per_block_optin"]


def test_a_search_is_told_what_the_default_goes_by() -> None:
    p = problem("s:4095x4095x4095")
    costs, default = STENCIL.cost_model(p, H200), STENCIL.default(p, H200)
    assert costs is not None
    sampled = costs(STENCIL.space(p, H200).sample(48, 1))
    assert (sampled > 0).all()
    assert costs([default])[0] <= sampled.min()
    assert len(STENCIL.starts(p, H200)) > 4


def test_the_model_counts_what_a_product_takes() -> None:
    """Six products take longer than three, a wave more takes longer, and so does a C that is read."""

    def of(text: str, math: str = "bf16x6", beta: str = "0") -> float:
        config = {name: np.array([value]) for name, value in HIGH.items()}
        return float(clocks(problem(text, math, beta=beta), H200, config)[0])

    assert 1.6 < of("s:4096x4096x4096") / of("s:4096x4096x4096", "bf16x3") < 2.1
    assert 3.3 < of("c:4096x4096x4096") / of("s:4096x4096x4096") < 4.5
    assert of("s:4096x4096x4096") < of("s:4096x4096x4096", beta="1")
    assert of("s:4096x4096x4096") < of("s:4096x4640x4096")


def test_points_are_those_of_its_type_and_math() -> None:
    assert alone.filed(problem("c:nn:9x9x9", "bf16x3")) == "c bf16x3"
    assert alone.filed(problem("s:nn:9x9x9", "ieee")) == "s"
    serves, gain = alone.standing("emulated", problem("s:nn:4100x4000x3900"), H200) or (False, 0)
    assert serves
    assert gain > 1.5
    assert alone.standing("emulated", problem("s:nn:70x70x70"), H200) == (False, pytest.approx(1, abs=0.5))
