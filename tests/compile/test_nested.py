"""Batches along several axes: the kernels on an interpreter of PTX, and through the compiler."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compile.test_arguments import assertions, structure_of
from tests.emulator import asynchronous
from tests.emulator.cases import allowed, smallest
from tests.emulator.machine import SCHEDULES
from tests.emulator.nested import nested_wrongs
from tilewright.model import Problem, Source
from tilewright.stencils.cuda import args
from tilewright.stencils.cuda.source import program
from tilewright.stencils.cuda.tiny.needs import tile, walked
from tilewright.stencils.cuda.tiny.stencil import TinyStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

TINY = TinyStencil()
A100, H200 = named("a100"), named("h200")


def nested(text: str, strides: tuple[int, int, int], outer: Any, **fields: Any) -> Problem:
    """A problem with these batch strides of A, B and C along the innermost axis, and other axes."""
    a, b, c = strides
    return Problem.parse(text, **fields)[0].with_(stride_a=a, stride_b=b, stride_c=c, outer=outer)


STRUCTURES = {
    "a-held": nested("s:4x4x4@7", (0, 16, 16), ((3, 16, 112, 112),)),
    "both-held": nested("d:tn:4x2x3@4", (0, 0, 8), ((2, 12, 0, 64), (2, 0, 7, 32)), beta="1"),
    "shared-and-held": nested("c:2x4x3@3", (0, 12, 8), ((2, 0, 36, 48), (2, 0, 72, 24)), alpha="any"),
    "backwards": nested("c:nc:2x3x2@3", (-4, 6, 6), ((2, 40, -18, 18),), beta="any", align=8),
    "odd": nested("h:3x3x3@5", (9, 0, 9), ((2, 0, 12, 54), (2, 50, 30, -120)), align=2),
    "padded": nested("z:2x3x2@2", (11, 7, 14), ((3, 25, 0, 30), (2, 0, 9, 90)), beta="1").with_(
        lda=3, ldb=2, ldc=4
    ),
    # B lies along another axis than C, and A has no axis without gaps, but one that shares it.
    "matrix-by-matrix": nested("h:3x3x3@5", (20, 27, 9), ((3, 0, 9, 45), (2, 100, 200, 135)), align=2),
    "five-axes": nested(
        "s:2x2x2@2", (4, 0, 4), ((2, 0, 4, 64), (2, 8, 0, 8), (2, 0, 8, 32), (2, 16, 16, 16))
    ),
}


@pytest.mark.parametrize("path", ["plain", "async", "bulk"])
@pytest.mark.parametrize("name", STRUCTURES)
def test_each_matrix_is_found(name: str, path: str) -> None:
    """Groups that go on from run to run, and with bulk copies end with them; in a ring that goes round."""
    p, number = STRUCTURES[name], list(STRUCTURES).index(name)
    if path == "bulk" and name in ("backwards", "padded"):
        assert not any(TINY.space(p, H200).restricted(path="bulk").only(("hard",)).sample(1, 0))
        return
    config = smallest(p, number, path=path, mma=0, warps=2, **({} if path == "plain" else {"stages": 2}))
    assert list(nested_wrongs("tiny", p, config, H200, SCHEDULES[number % 4])) == []


PIECES: dict[str, tuple[Problem, dict[str, int]]] = {
    "several-runs": (nested("h:3x3x3@3", (9, 0, 9), ((5, 27, 9, 27),), align=2, beta="any"), {"group": 6}),
    "whole-vectors": (nested("s:2x4x2@2", (4, 8, 8), ((5, 0, 16, 20),)), {"group": 4, "direct": 1}),
    "part-of-a-run": (
        nested("d:5x1x5@7", (0, 5, 5), ((3, 25, 0, 35),), beta="1"),
        {"group": 3, "several": 2},
    ),
    "b-stays": (nested("s:3x2x3@3", (0, 6, 6), ((3, 9, 0, 18), (2, 27, 0, 54)), align=4), {"group": 6}),
    "part-stays": (nested("d:2x3x2@5", (4, 0, 6), ((2, 0, 6, 30), (2, 0, 12, 60)), beta="1"), {"group": 2}),
    "by-rows": (nested("z:tn:3x2x3@3", (0, 6, 6), ((3, 9, 0, 18),), alpha="any"), {"group": 6, "several": 2}),
    "tensor-cores": (
        nested("d:9x7x5@3", (0, 35, 63), ((3, 45, 0, 189),), align=8),
        {"group": 6, "mma": 8, "direct": 1},
    ),
    "lanes-in-turn": (
        nested("d:16x8x16@3", (0, 128, 128), ((3, 256, 0, 384),)),
        {"group": 6, "mma": 16, "direct": 1, "turn": 1},
    ),
    "halves": (nested("h:9x8x7@3", (63, 56, 72), ((3, 200, 0, 216),), align=2), {"group": 6, "mma": 16}),
}


@pytest.mark.parametrize("name", PIECES)
def test_pieces_come_from_any_address(name: str) -> None:
    """Whole runs together, and parts of one, with what is left over of each and of the last group."""
    p, own = PIECES[name]
    fixed: dict[str, Any] = {
        "path": "bulk",
        "warps": 2,
        "stages": 2,
        "mma": 0,
        "rows": min(p.m, 3),
        "columns": 1,
        "several": 1,
        "direct": 0,
    } | own
    fixed |= {"rows": 16, "columns": 8} if fixed["mma"] else {}
    (config,) = allowed("tiny", p, H200, 1, 0, blocks=H200["sms"], **fixed)
    # Each in two orders of the copies, and all four with every other case.
    for schedule in SCHEDULES[list(PIECES).index(name) % 2 :: 2]:
        assert list(nested_wrongs("tiny", p, config, H200, schedule)) == []


MANY = {"group": 14, "several": 4, "direct": 1}
TILES: dict[str, tuple[Problem, dict[str, int]]] = {
    # A lies along the outer axis; B is shared along the inner one, and is one run.
    "turned": (
        nested("h:3x3x3@5", (45, 0, 9), ((5, 9, 9, 45),), align=2, beta="any"),
        {"group": 15, "several": 3},
    ),
    # B lies along the third axis, A is shared along it.
    "third-axis": (
        nested("s:2x4x2@4", (4, 24, 8), ((3, 8, 0, 64), (2, 0, 8, 32)), align=4),
        {"group": 6, "several": 2},
    ),
    # One A for all.
    "shared": (
        nested("d:2x1x3@3", (0, 21, 2), ((7, 0, 3, 6),), beta="1"),
        {"group": 14, "several": 4, "direct": 1},
    ),
    # Short runs: those of C are one, A is shared along them, and B along the outer axis.
    "joined": (nested("s:3x3x3@3", (0, 9, 9), ((2, 63, 27, 189), (7, 9, 0, 27)), align=4), {"group": 6}),
    # Large matrices anywhere come one by one.
    "one-by-one": (nested("z:4x4x4@3", (48, 32, 16), ((2, 16, 96, 48),)), {"group": 2}),
    "tensor-cores": (
        nested("h:9x8x7@3", (126, 56, 72), ((2, 63, 168, 216),), align=2),
        {"group": 4, "mma": 16, "direct": 1},
    ),
}

WHOLE = {"rows": 16, "columns": 16, "mma": 16, "several": 8}
EIGHT: dict[str, tuple[Problem, dict[str, int]]] = {
    # Along the inner axis and along the outer one.
    "shared-twice": (
        nested("h:9x9x9@9", (81, 0, 81), ((5, 1458, 0, 729), (3, 0, 81, 3645)), align=2),
        WHOLE | {"group": 27},
    ),
    # Runs with fewer than eight products, each with another A, several of which a group has.
    "short-runs": (
        nested("h:nt:5x9x7@3", (0, 63, 45), ((9, 35, 189, 135), (2, 2000, 1701, 1215)), align=2, beta="1"),
        WHOLE | {"group": 27},
    ),
    # One B for a run of which a group has a part, and k of more than one product.
    "b-held": (
        nested("h:9x7x21@35", (189, 0, 63), ((2, 6615, 147, 2205),), align=2, alpha="any"),
        WHOLE | {"group": 20, "columns": 8},
    ),
    # Even sizes, both operands along k, and two fragments of the other one.
    "a-held": (
        nested("h:tt:9x20x18@13", (0, 360, 180), ((2, 162, 4680, 2340),)),
        WHOLE | {"group": 5, "columns": 24, "direct": 1},
    ),
}

TWO = {"several": 2}
PAIRS: dict[str, tuple[Problem, dict[str, int]]] = {
    "of-nothing-shared": (
        nested("h:3x3x3@37", (9, 9, 9), ((4, 333, 0, 333),), align=2, beta="any"),
        TWO | {"group": 14},
    ),
    "of-one-b": (STRUCTURES["odd"], TWO | {"group": 5, "direct": 1}),
    "of-runs-along-either": (
        nested("h:3x3x3@5", (45, 0, 9), ((5, 9, 9, 45),), align=2, beta="any"),
        TWO | {"group": 15},
    ),
    "of-other-shapes": (
        nested("h:tt:3x5x1@50", (0, 5, 15), ((3, 3, 250, 750),), align=2, alpha="any"),
        TWO | {"group": 50},
    ),
}


ONE = {"several": 1, "odd": 1}
ODD: dict[str, tuple[Problem, dict[str, int]]] = {
    "all-columns": (
        nested("h:9x9x9@7", (81, 81, 81), ((3, 567, 0, 567),), align=2, beta="any"),
        ONE | {"group": 21},
    ),
    "some-columns": (
        nested("h:5x9x7@9", (0, 63, 45), ((3, 35, 567, 405),), align=2),
        ONE | {"group": 18, "columns": 3, "direct": 1},
    ),
    "along-rows": (
        nested("h:tn:7x5x9@5", (315, 0, 35), ((5, 63, 45, 175),), align=2, alpha="any"),
        ONE | {"group": 15, "columns": 1, "across": 1},
    ),
}


@pytest.mark.parametrize("name", [*EIGHT, *PAIRS, *ODD])
def test_several_products_of_halves_are_found_together(name: str) -> None:
    """Eight of a warp by tensor cores, neighbouring pairs of a thread by words, and one odd product."""
    p, own = (EIGHT | PAIRS | ODD)[name]
    fixed: dict[str, Any] = {"path": "bulk", "warps": 2, "stages": 2, "mma": 0, "rows": p.m, "columns": p.n}
    (config,) = allowed("tiny", p, H200, 1, 0, blocks=H200["sms"], **fixed | {"direct": 0} | own)
    for schedule in SCHEDULES[:2]:
        assert list(nested_wrongs("tiny", p, config, H200, schedule)) == []


@pytest.mark.parametrize("letter", ["h", "b"])
@pytest.mark.parametrize("columns", [3, 9])
def test_odd_products_of_halves_keep_their_registers(letter: str, columns: int) -> None:
    """An A of 81 numbers and the sums of three columns."""
    p = nested(f"{letter}:9x9x9@540", (81, 0, 81), ((3000, 43740, 81, 43740),), align=2)
    known = {"path": "bulk", "mma": 0, "rows": 9, "columns": columns, "warps": 2, "stages": 2, "odd": 1}
    (config,) = allowed("tiny", p, H200, 1, 0, blocks=6 * H200["sms"], direct=0, evict=0, **known)
    facts = nvrtc.compile(TINY.source(p, config, H200), H200).facts
    assert (facts["spills"], facts["stack"], facts["warnings"]) == (0, 0, 0), config
    assert facts["registers"] <= 168, config


@pytest.mark.parametrize("letter", ["h", "b"])
@pytest.mark.parametrize("size", [3, 9, 17])
def test_several_products_of_halves_keep_their_registers(letter: str, size: int) -> None:
    """Nothing spills, and there is room for the warps that hide the latency of shared memory."""
    matrix = size * size
    p = nested(
        f"{letter}:{size}x{size}x{size}@540",
        (matrix, 0, matrix),
        ((3000, matrix * 540, matrix, matrix * 540),),
        align=2,
    )
    known = {
        "warps": 4,
        "stages": 2,
        "across": 0,
        "turn": 0,
        "pad": 0,
        "evict": 0,
        "direct": 0,
        "path": "bulk",
    }
    if size == 3:
        known |= {"mma": 0, "rows": 3, "columns": 3, "several": 2}
    else:
        high = -(-size // 16) * 16
        known |= {"mma": 16, "rows": high, "columns": -(-size // 8) * 8, "several": 8}
    (config,) = allowed("tiny", p, H200, 1, 0, blocks=2 * H200["sms"], **known)
    facts = nvrtc.compile(TINY.source(p, config, H200), H200).facts
    assert (facts["spills"], facts["stack"], facts["warnings"]) == (0, 0, 0), config
    assert facts["registers"] <= (64 if size == 3 else 96), config


@pytest.mark.sweep
@pytest.mark.parametrize("beta", ["0", "1"])
@pytest.mark.parametrize("form", ["d:nn", "d:nt", "d:tn", "z:nn", "z:nt", "z:tn"])
@pytest.mark.parametrize("size", [16, 24, 32])
def test_lanes_in_turn_keep_their_registers(size: int, form: str, beta: str) -> None:
    """Nothing spills by default, and as many blocks fit on an SM as are launched."""
    one = size * size
    p = nested(f"{form}:{size}x{size}x{size}@48", (0, one, one), ((200, one, 0, 48 * one),), beta=beta)
    config = TINY.default(p, H200)
    # Columns of 192 bytes begin in the same bank where every other one is asked for at a time.
    assert (config["mma"], config["turn"]) == (16, size % 16 == 0 or form[0] == "z" or form == "d:nn")
    facts = nvrtc.compile(TINY.source(p, config, H200), H200).facts
    assert (facts["spills"], facts["stack"], facts["warnings"]) == (0, 0, 0), config
    threads = 32 * config["warps"] * config["blocks"] // H200["sms"]
    assert -(-facts["registers"] // 8) * 8 * threads <= H200["registers_per_sm"], config


@pytest.mark.parametrize("name", TILES)
def test_tiles_of_two_axes_come_in_runs_along_either(name: str) -> None:
    """With what is left over of both axes, in a ring that goes round."""
    p, own = TILES[name]
    assert tile(p) is not None
    fixed: dict[str, Any] = {"path": "bulk", "warps": 2, "stages": 2, "mma": 0, "rows": 1, "columns": 1}
    fixed |= {"several": 1, "direct": 0} | own
    fixed |= {"rows": 16, "columns": 8} if fixed["mma"] else {}
    (config,) = allowed("tiny", p, H200, 1, 0, blocks=H200["sms"], **fixed)
    schedule = SCHEDULES[list(TILES).index(name) % 4]
    assert list(nested_wrongs("tiny", p, config, H200, schedule)) == []


REUSE: dict[str, tuple[Problem, tuple[int, ...], dict[str, int]]] = {
    # One A for seven runs in a row; B stays in any case.
    "runs": (
        nested("d:3x2x3@7", (0, 6, 6), ((3, 9, 0, 294), (7, 0, 0, 42)), beta="1"),
        (0, 1, 2),
        {"group": 3, "stages": 3},
    ),
    # A of a piece stays while one B after the other comes, from odd addresses.
    "pieces-last": (
        nested("d:5x5x3@21", (15, 0, 25), ((2, 315, 60, 2100), (4, 0, 15, 525)), align=8, beta="any"),
        (1, 0, 2),
        {"group": 7, "stages": 2},
    ),
    # Two runs of a group, each by a thread of its own.
    "several-runs": (
        nested("s:3x1x5@3", (0, 5, 3), ((3, 15, 45, 72), (8, 0, 15, 9)), align=4),
        (0, 1, 2),
        {"group": 6, "stages": 3},
    ),
    # A lies along the outer axis of a tile and is shared along the third one; tiles are whole runs.
    "tiles": (
        nested("s:3x3x3@5", (45, 0, 9), ((6, 0, 45, 225), (5, 9, 9, 45)), align=4),
        (1, 2, 0),
        {"group": 15, "stages": 2},
    ),
    # B lies along the third axis, which is a tile's; it stays while A goes along the other one.
    "parts-of-tiles": (
        nested("h:3x5x3@5", (9, 300, 15), ((20, 0, 15, 75), (4, 45, 0, 1500)), align=2, beta="any"),
        (2, 0, 1),
        {"group": 20, "stages": 2},
    ),
    "eights": (
        nested("h:9x9x9@9", (81, 0, 81), ((5, 0, 81, 729), (2, 729, 405, 3645)), align=2),
        (0, 2, 1),
        {"rows": 16, "columns": 16, "mma": 16, "several": 8, "group": 9, "stages": 2},
    ),
}


@pytest.mark.sweep
@pytest.mark.parametrize("grid", [1, 3])
@pytest.mark.parametrize("name", REUSE)
def test_what_two_groups_have_is_brought_once(name: str, grid: int) -> None:
    """Blocks of many groups, so that the ring goes round while an operand stays in a stage of it."""
    p, order, own = REUSE[name]
    fixed: dict[str, Any] = {"path": "bulk", "warps": 2, "mma": 0, "rows": 1, "columns": 1, "several": 1}
    (config,) = allowed("tiny", p, H200, 1, 0, blocks=H200["sms"], direct=0, reuse=1, **fixed | own)
    assert walked(p, config["group"])[0] == order
    for schedule in SCHEDULES[grid % 2 :: 2]:
        assert list(nested_wrongs("tiny", p, config, H200, schedule, grid)) == []


@pytest.mark.parametrize("name", ["pieces-last", "tiles", "parts-of-tiles"])
def test_c_leaves_by_whole_sectors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of C lie as far behind a multiple of 32 bytes as where they are written to."""
    stored: list[tuple[int, int]] = []
    store = asynchronous._bulk_store

    def seen(w: Any, to: int, source: int, many: int) -> None:
        stored.append((to, source))
        store(w, to, source, many)

    monkeypatch.setattr(asynchronous, "_bulk_store", seen)
    p, _, own = REUSE[name]
    fixed: dict[str, Any] = {"path": "bulk", "warps": 2, "mma": 0, "rows": 1, "columns": 1, "several": 1}
    (config,) = allowed("tiny", p, H200, 1, 0, blocks=H200["sms"], direct=0, reuse=1, **fixed | own)
    assert list(nested_wrongs("tiny", p, config, H200)) == []
    # Pieces begin with either half of a sector.
    assert {to % 32 for to, _ in stored} == {0, 16}
    assert all(to % 32 == source % 32 for to, source in stored)


@pytest.mark.parametrize("device", [A100, H200], ids=["sm_80", "sm_90a"])
@pytest.mark.parametrize("text", ["s:4x4x4@3000", "z:tn:16x16x16@200", "h:24x24x24@7"])
def test_defaults_do_not_spill(text: str, device: Any) -> None:
    p = Problem.parse(text, beta="any")[0]
    a, b, c = p.strides
    p = p.with_(stride_a=0, outer=((30, a, 0, 2 * c * p.batch), (40, 0, b * p.batch, 60 * c * p.batch)))
    config = TINY.default(p, device)
    facts = nvrtc.compile(TINY.source(p, config, device), device).facts
    assert (facts["spills"], facts["stack"], facts["warnings"]) == (0, 0, 0), config


def test_python_packs_what_the_kernel_takes() -> None:
    headers = dict(program("tiny")[1])
    text = "\n".join(headers[name].replace("#pragma once", "") for name in ("lib/gemm.cuh", "lib/nest.cuh"))
    text = text.replace('#include "lib/gemm.cuh"', "")
    packed = structure_of(args.nested(STRUCTURES["five-axes"]))
    # The first fields are those of a structure in this one.
    plain = structure_of(args.gemm(STRUCTURES["five-axes"].with_(outer=())))
    checks = assertions(packed)
    for field in plain.fields:
        checks = checks.replace(f"(Nested *)0)->{field.name})", f"(Nested *)0)->gemm.{field.name})")
        checks = checks.replace(f"Nested::{field.name})", f"Nested().gemm.{field.name})")
    source = f'#define OUTER 4\n{text}\n{checks}\nextern "C" __global__ void nothing() {{}}\n'
    nvrtc.compile(Source(source, "nothing", (), ()), H200)
