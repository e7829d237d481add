"""Problems of interleaved matrices: how they are spelled, which arrays they are made of, what a GPU runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilewright.arrays.interleaved import interleaved_of
from tilewright.arrays.view import view_at
from tilewright.errors import ArgumentError
from tilewright.model import DTYPES, Interleaved, Problem
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.common import fitted
from tilewright.stencils.cuda.interleaved import cost
from tilewright.stencils.cuda.interleaved.needs import BLOCK, held, orders, registers, shared_bytes
from tilewright.stencils.cuda.interleaved.stencil import InterleavedStencil
from tilewright.stencils.cuda.tiny.stencil import TinyStencil
from tilewright.stencils.protocol import refused
from tilewright.store.codecs import GEMM
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

A100, H200 = named("a100"), named("h200")
STENCIL = InterleavedStencil()


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


# ---- the noun


@pytest.mark.parametrize("text", ["d:nn:3x4x5@100/all", "z:jn:3x3x3@64/8", "h:nn:1x1x2@7/7"])
def test_a_spelling_names_a_layout(text: str) -> None:
    p = problem(text)
    assert p.spelling == text
    assert Problem.from_json(p.to_json()) == p
    assert p.family.endswith(":interleaved")
    assert p.layout.startswith("interleaved")


@pytest.mark.parametrize("text", ["d:3x3x3@9/4", "d:3x3x3@8/0", "d:tn:3x3x3@8/all", "d:3x3x3@/all"])
def test_a_spelling_of_no_layout_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="accepted"):
        problem(text)


def test_a_plain_problem_is_written_as_it_was() -> None:
    p = problem("d:3x4x5@100")
    assert "interleaved" not in p.to_json()
    assert p.key == "d:nn:3x4x5|packed|alpha=1|beta=0|ieee"
    assert p.family == "d:nn:ieee"


def test_where_elements_lie() -> None:
    p = problem("d:3x4x5@100/all")
    assert (p.lda, p.ldb, p.ldc) == (100, 100, 100)
    assert p.interleaved == Interleaved(0, (500, 400, 400))
    assert p.strides == (1, 1, 1)
    packs = problem("d:3x4x5@100/10", stride_a=0, stride_c=12)
    assert packs.interleaved == Interleaved(10, (5, 40, 4), (0, 200, 120))
    assert (packs.lda, packs.ldb, packs.ldc) == (1, 10, 1)
    assert packs.layout == "interleaved10+scatteredC+sharedA"
    assert packs.bytes == (0 + 20 + 12) * 8


def test_what_changes_with_the_batch_and_what_does_not() -> None:
    p = problem("d:3x4x5@100/all", stride_b=0)
    fewer = p.with_(batch=7)
    assert fewer == problem("d:3x4x5@7/all", stride_b=0)
    assert fewer.key == p.key
    assert fewer.compiled == p.compiled
    assert p.with_(beta="1").interleaved == p.interleaved
    packs = problem("d:3x4x5@100/10")
    assert packs.with_(batch=20).interleaved == packs.interleaved
    larger = problem("d:3x4x5@100/all", stride_c=12).with_(n=6)
    assert (larger.stride_c, larger.ldc) == (18, 1)
    assert p.with_(interleaved=None) == problem("d:3x4x5@100")
    assert problem("d:3x4x5@100").with_(interleaved=Interleaved()) == problem("d:3x4x5@100/all")


@pytest.mark.parametrize(
    "p",
    [
        problem("d:3x4x5@100/all"),
        problem("z:jn:3x3x3@64/8", beta="1", align=8),
        problem("d:3x4x5@100/all", stride_a=0, stride_c=12),
    ],
)
def test_a_line_holds_it(p: Problem) -> None:
    assert GEMM.decode(GEMM.encode(p)) == p


# ---- arrays


def found(
    shapes: list[tuple[tuple[int, ...], tuple[int, ...]]], address: int = 1 << 20, beta: str = "0"
) -> Problem | None:
    """The problem of arrays of float32 on a GPU, by shapes and strides in elements."""
    f4 = np.dtype("f4")
    a, b, c = (
        view_at(address + (number << 30), shape, tuple(4 * s for s in strides), f4)
        for number, (shape, strides) in enumerate(shapes)
    )
    job = interleaved_of(a, b, c, conj_a=False, conj_b=False, alpha="1", beta=beta, gpu=True)
    return None if job is None else job.problem


def last(m: int, n: int, count: int, padding: int = 0) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return (count, m, n), (1, n * (count + padding), count + padding)


FIRST = (100, 3, 5), (15, 5, 1)


def test_arrays_with_the_batch_last() -> None:
    p = found([last(3, 4, 100), last(4, 5, 100, 4), last(3, 5, 100)])
    assert p is not None
    assert (p.m, p.n, p.k, p.batch, p.trans) == (3, 5, 4, 100, "nn")
    assert p.interleaved == Interleaved(0, (400, 520, 500))
    assert (p.lda, p.ldb, p.ldc) == (100, 104, 100)
    assert p.align == 16


@pytest.mark.parametrize(
    ("count", "address", "align"), [(101, 1 << 20, 4), (100, 4, 4), (102, 8, 8), (104, 32, 16)]
)
def test_how_well_all_runs_are_aligned(count: int, address: int, align: int) -> None:
    p = found([last(3, 4, count), last(4, 5, count), last(3, 5, count)], address)
    assert p is not None
    assert p.align == align


def test_a_result_may_lie_apart_if_it_is_not_read() -> None:
    p = found([last(3, 4, 100), last(4, 5, 100), FIRST])
    assert p is not None
    assert (p.stride_c, p.ldc) == (15, 1)
    assert found([last(3, 4, 100), last(4, 5, 100), FIRST], beta="1") is None


def test_shared_operands_and_packs() -> None:
    p = found([((3, 4), (4, 1)), last(4, 5, 100), last(3, 5, 100)])
    assert p is not None
    assert p.strides == (0, 1, 1)
    packs = found(
        [
            ((50, 8, 3, 4), (96, 1, 32, 8)),
            ((50, 8, 4, 5), (160, 1, 40, 8)),
            ((50, 8, 3, 5), (120, 1, 40, 8)),
        ]
    )
    assert packs is not None
    assert packs.interleaved == Interleaved(8, (32, 40, 40), (96, 160, 120))
    assert packs.batch == 400


@pytest.mark.parametrize(
    "arrays",
    [
        [((100, 3, 4), (12, 4, 1)), last(4, 5, 100), last(3, 5, 100)],
        [((100, 3, 4), (2, 800, 200)), last(4, 5, 100), last(3, 5, 100)],
        [((100, 3, 4), (-1, 400, 100)), last(4, 5, 100), last(3, 5, 100)],
        [((3, 4), (4, 1)), ((4, 5), (5, 1)), last(3, 5, 100)],
        [((100, 1, 1), (1, 1, 1))] * 3,
        [((3, 4), (4, 1)), ((4, 5), (5, 1)), ((3, 5), (5, 1))],
    ],
    ids=["batch first", "every other", "backwards", "both shared", "numbers", "no batch"],
)
def test_what_is_not_interleaved(arrays: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> None:
    assert found(arrays) is None


# ---- the stencil of GPUs


def test_stencils_keep_apart() -> None:
    plain, beside = problem("d:3x3x3@1000"), problem("d:3x3x3@1000/all")
    assert refused(STENCIL, plain, H200) is not None
    assert refused(STENCIL, beside, H200) is None
    assert "element beside element" in str(refused(TinyStencil(), beside, H200))


@pytest.mark.parametrize("device", [A100, H200], ids=["a100", "h200"])
@pytest.mark.parametrize("letter", tuple(DTYPES))
def test_defaults_obey_every_rule(letter: str, device: object) -> None:
    for size in ("1x2x1", "5x5x5", "16x16x16", "31x1x7"):
        for fields in (
            {},
            {"stride_c": 2000, "align": DTYPES[letter].itemsize},
            {"stride_a": 0, "beta": "1"},
        ):
            p = problem(f"{letter}:{size}@300000/all", **fields)
            config = STENCIL.default(p, device)  # type: ignore[arg-type]
            assert STENCIL.space(p, device).member(config) is None, (p.key, config)  # type: ignore[arg-type]


def test_a_block_finds_what_it_needs() -> None:
    p = problem("s:16x16x16@300000/all", stride_c=256)
    config = STENCIL.default(p, H200)
    assert held(p, config, H200) >= 1
    asked = STENCIL.launch(p, config)
    assert config["staged"] >= 1
    assert asked.shared == shared_bytes(p, *(config[name] for name in BLOCK))
    assert asked.block == (32 * config["warps"] * config["team"], 1, 1)
    assert asked.grid[0] * 32 * config["warps"] * config["lanes"] >= p.batch or config["blocks"]
    assert registers(p, 1, 8, 8, 1) > 64


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"m": 33}, "above"),
        ({"m": 17, "n": 16}, "more elements"),
        ({"m": 32, "k": 17}, "more elements"),
        ({"m": 0}, "nothing"),
        ({"trans_b": "t"}, "strides"),
        ({"stride_b": 2}, "not 1"),
        ({"stride_a": 0, "stride_b": 0}, "not 1"),
        ({"stride_c": 9, "beta": "any"}, "apart"),
        ({"align": 4}, "multiples of 4"),
    ],
)
def test_what_is_refused_is_refused_with_its_reason(fields: dict[str, object], word: str) -> None:
    reason = STENCIL.accepts(problem("d:3x3x3@9/all").with_(**fields), H200)
    assert reason is not None
    assert word in reason


# ---- whole packs


def test_packs_without_gaps_come_whole() -> None:
    p = problem("s:5x4x3@80000/8")
    assert orders(p) == (0, 0, 0)
    config = STENCIL.default(p, H200)
    assert config["group"] > 0
    assert STENCIL.launch(p, grids.staying(config)).grid[0] <= config["blocks"]
    assert ("PACK_SIZE", "8") in STENCIL.source(p, config, H200).defines
    # By columns; with gaps; with one A for a pack; of less than 16 bytes.
    layout = p.interleaved
    assert layout is not None
    assert orders(p.with_(interleaved=replace(layout, rows=(8, 32, 32)), lda=40)) == (1, 0, 0)
    assert orders(p.with_(interleaved=replace(layout, packs=(200, 96, 160)), lda=8)) is None
    assert orders(p.with_(stride_a=0)) is None
    assert orders(problem("h:5x4x3@80000/4")) is None
    assert STENCIL.default(p, A100)["group"] == STENCIL.default(p.with_(align=8), H200)["group"] == 0


@pytest.mark.parametrize(
    ("text", "fields", "name"),
    [
        ("s:5x4x3@80000/8", {"beta": "1"}, "group-new"),
        ("s:5x4x3@80000/8", {"align": 4}, "group-aligned"),
        ("s:5x4x3@80000/8", {"stride_a": 0}, "group-packs"),
        ("h:5x4x3@80000/4", {}, "group-whole"),
        ("s:5x4x3@80001/all", {"align": 16}, "bulk-rows"),
    ],
)
def test_what_does_not_come_by_bulk_copies(text: str, fields: dict[str, object], name: str) -> None:
    p = problem(text, **fields)
    p = p.with_(stride_a=fields.get("stride_a", 1))
    bulk = {
        "strided": 0,
        "bulk": int(name == "bulk-rows"),
        "group": int(name != "bulk-rows"),
        "blocks": 132,
        "stages": 2,
    }
    broken = STENCIL.default(p, H200).with_(**bulk)
    assert name in [rule.name for rule in STENCIL.space(p, H200).why(broken)]


# ---- tensor cores


def test_halves_of_many_rows_go_to_tensor_cores() -> None:
    p = problem("h:12x10x13@300000/all")
    config = STENCIL.default(p, H200)
    assert config["members"] > 0
    asked = STENCIL.launch(p, config)
    assert asked.block == (32 * config["warps"], 1, 1)
    assert asked.grid[0] == -(-p.batch // config["members"] // config["per_block"])
    assert STENCIL.launch(p, grids.staying(config)).grid[0] == config["blocks"]
    # Elements of A and B in rows of an odd number of 16 bytes, and those of C likewise.
    row = 16 * (2 * config["members"] // 16 | 1)
    assert asked.shared == (config["stages"] * (156 + 130) + 120) * row
    assert STENCIL.default(problem("s:12x10x13@300000/all"), H200)["members"] == 0
    assert STENCIL.default(p.with_(beta="1"), H200)["members"] == 0


def test_rows_that_begin_anywhere_take_a_vector_more() -> None:
    p = problem("b:3x2x4@300001/all", align=2)
    config = STENCIL.default(problem("h:12x10x13@300000/all"), H200).with_(members=16, stages=2)
    asked = shared_bytes(p, *(config[name] for name in BLOCK))
    assert asked == 2 * (12 + 8) * 16 * 3 + 6 * 16 * 3


@pytest.mark.parametrize(
    ("text", "fields", "changes", "name"),
    [
        ("s:12x10x13@300000/all", {}, {}, "members-type"),
        ("hc:12x10x13@300000/all", {}, {}, "members-type"),
        ("h:12x10x13@300000/all", {"stride_b": 0}, {}, "members-both"),
        ("h:12x10x13@300000/all", {"beta": "any"}, {}, "members-new"),
        ("h:12x10x13@300000/4", {"align": 8}, {}, "members-packs"),
        ("h:12x10x13@300000/all", {}, {"lanes": 1}, "members-lanes"),
        ("h:12x10x13@300000/all", {}, {"stages": 0}, "members-ring"),
        ("h:12x10x13@300000/all", {}, {"team": 2}, "members-alone"),
        ("h:12x10x13@300000/all", {}, {"lanes": 8, "members": 16, "warps": 8}, "members-busy"),
    ],
)
def test_what_tensor_cores_do_not_multiply(
    text: str, fields: dict[str, object], changes: dict[str, int], name: str
) -> None:
    p = problem(text, **fields)
    p = p.with_(m=p.m, stride_b=fields.get("stride_b", 1))
    config = STENCIL.default(problem("h:12x10x13@300000/all"), H200).with_(**changes)
    assert name in [rule.name for rule in STENCIL.space(p, H200).why(config)]


def test_every_constant_of_the_model_has_a_meaning() -> None:
    path = Path(cost.__file__).parents[1] / "data" / "interleaved.json"
    assert set(json.loads(path.read_text())["meaning"]) == set(fitted("interleaved", H200))
