"""The space of the stencil of panels, its choice without a search, and what both promise."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.panel.stencil as module
from tests.spaces import assert_rules_of_many_are_those_of_each
from tilewright.model import DTYPES, Config, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.common import fitted
from tilewright.stencils.cuda.panel.cost import clocks
from tilewright.stencils.cuda.panel.needs import (
    SECTOR,
    along,
    length,
    long_m,
    panel_run,
    shared_bytes,
    short,
    streams,
)
from tilewright.stencils.cuda.panel.space import TILES, tile_sizes
from tilewright.stencils.cuda.panel.stencil import PanelStencil
from tilewright.stencils.cuda.source import LAUNCHED, program
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

PANEL = PanelStencil()
FERMI, A100, H200 = named("fermi-s2050"), named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("panel")[1])["lib/problem.cuh"]


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any that is accepted: types, transpositions, padding, gaps, shared operands."""
    dtype = draw(st.sampled_from(list(DTYPES.values())))
    sizes = {name: draw(st.integers(1, 64)) for name in "mnk"}
    sizes[draw(st.sampled_from("mn"))] = draw(st.integers(65, 3000))
    ops = "ntcj" if dtype.is_complex else "nt"
    one = Problem(
        dtype,
        sizes["m"],
        sizes["n"],
        sizes["k"],
        draw(st.sampled_from(ops)),
        draw(st.sampled_from(ops)),
        batch=draw(st.integers(1, 10**5)),
        beta=draw(st.sampled_from(("0", "1", "any"))),
        align=draw(st.sampled_from((16, dtype.itemsize))),
    )
    lds = {f"ld{x}": (getattr(one, f"ld{x}") or 0) + draw(st.integers(0, 3)) for x in "abc"}
    one = one.with_(m=one.m, **lds)
    shared = draw(st.sampled_from((None, "stride_a", "stride_b")))
    return one.with_(**{shared: 0}) if shared else one


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("hc:ct:5x600x7@1000")
    defines = [name for name, _ in PANEL.source(p, PANEL.default(p, H200), H200).defines]
    assert sorted(defines) == sorted(set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)))
    names = [param.name.upper() for param in PANEL.space(p, H200).params if param.name not in LAUNCHED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


def test_one_program_serves_every_length() -> None:
    """The long extent is an argument: neither the text nor what it is kept under depends on it, unless one
    tile has all of it."""
    for text, other in (("s:300x9x7@100", "s:1500x9x7@20"), ("d:5x260x6@100", "d:5x2600x6@10")):
        p, q = problem(text), problem(other)
        config = PANEL.default(p, H200).with_(tile=64)
        assert PANEL.source(p, config, H200) == PANEL.source(q, config, H200)
    p, q = problem("s:300x9x7"), problem("s:1500x9x7")
    assert {name for name in PANEL.compiled(p) if PANEL.compiled(p)[name] != PANEL.compiled(q)[name]} <= {
        "lda",
        "ldc",
    }


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("s:64x64x64@9", {}, "not one extent above 64"),
        ("s:65x65x4@9", {}, "not one extent above 64"),
        ("s:8x8x300@9", {}, "not one extent above 64"),
        ("s:300x8x65@9", {}, "not one extent above 64"),
        ("s:300x8x8@9", {"stride_c": 0}, "written to one C"),
        ("d:300x8x8@9", {"align": 4}, "not of an element's 8"),
        ("s:300x8x8@9", {"ldc": 2**28}, "32 bits"),
        # Tiles are counted in 32 bits, the shortest ones too.
        ("s:4096x8x8@4194304", {}, "2^30 tiles"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, fields: dict[str, int], reason: str
) -> None:
    assert reason in (PANEL.accepts(problem(text, **fields), H200) or "")


def test_matrices_that_lie_anywhere_are_not_its_own() -> None:
    assert not PANEL.pointers
    assert PANEL.accepts(problem("s:65x1x1@9"), H200) is None
    assert PANEL.accepts(problem("s:1x65x1@9"), H200) is None
    assert PANEL.accepts(problem("s:nt:3x10000000x3"), H200) is None
    assert PANEL.accepts(problem("s:65x1x1@9"), FERMI) is not None


# -- the choice --------------------------------------------------------------------------------------------
@settings(max_examples=60, deadline=None)
@given(p=problems(), device=st.sampled_from((A100, H200)))
def test_the_default_is_a_member_that_hardware_runs(p: Problem, device: object) -> None:
    # Not all that fits one fits the other.
    assume(PANEL.accepts(p, device) is None)
    config = PANEL.default(p, device)
    space = PANEL.space(p, device)
    broken = [rule.name for rule in space.why(config) if rule.kind in (*HARDWARE, "hard")]
    assert broken == []
    launch = PANEL.launch(p, config)
    # With bulk copies more warps load tiles, and as many write what does not leave from registers.
    movers = (config["path"] == "bulk") * (2 - config["direct"]) * config["movers"]
    assert launch.block[0] == 32 * (config["warps"] + movers)
    assert 1 <= launch.grid[0] <= p.batch * -(-length(p) // config["tile"])
    assert launch.shared <= device["shared_per_block_optin"]


@settings(max_examples=12, deadline=None)
@given(p=problems())
def test_rules_of_many_configs_are_those_of_each(p: Problem) -> None:
    assert_rules_of_many_are_those_of_each(PANEL.space(p, H200))


def test_long_tiles_for_long_panels_and_no_waste_for_short_ones() -> None:
    config = PANEL.default(problem("s:70x4x4@100000"), H200)
    assert config["tile"] < 140
    assert PANEL.default(problem("d:4000x8x8@1000"), H200)["tile"] <= 512
    # All of a narrow one that begins anywhere in a word is one run of bytes, to and fro.
    assert PANEL.default(problem("h:nt:1869x2x2@60000"), H200)["tile"] == 2048


def test_tiles_part_a_length_where_the_usual_ones_would_be_empty() -> None:
    """Into nearly equal pieces of whole sectors; a length that the usual ones suit has no others."""
    for text, made in (
        # By hand: pieces of 198, 99, 66, ... rows, of whole sectors of 4 rows, or of pairs of them.
        ("c:nn:19x198x41", {28, 36, 40, 52, 56, 68, 72, 100, 104, 200}),
        ("h:tn:397x6x21", {208, 400, 416}),
        ("s:nn:4096x4x4", set()),
    ):
        p = problem(f"{text}@1000")
        assert set(tile_sizes(p)) - set(TILES) == made, text
        assert all(tile * p.dtype.itemsize % SECTOR == 0 for tile in made)
    p = problem("c:nn:19x198x41@5328", beta="1")
    config = PANEL.default(p, H200)
    assert config["tile"] == 100
    assert PANEL.space(p, H200).member(config) is None
    broken = [rule.name for rule in PANEL.space(p, H200).why(config.with_(columns=8))]
    assert "tile-parts" in broken
    # Configs that were found with the usual ones are members still.
    assert PANEL.space(p, H200).member(config.with_(tile=224, path="async", stages=2, tickets=0)) is None


def test_columns_leave_by_whole_sectors_where_most_is_written() -> None:
    for text, beta, sectors, allowed in (
        ("s:nn:2377x41x6@1562", "0", 1, True),
        # Half is read; elements of 8 bytes do anyway; columns begin with sectors; C is one run; n is long.
        ("hc:nn:3079x50x2@557", "1", 0, True),
        ("c:nn:2377x41x6@781", "0", 0, False),
        ("s:nn:2376x41x6@1562", "0", 0, False),
        ("s:nn:81x41x6@40000", "0", 0, False),
        ("s:nn:41x2377x6@1562", "0", 0, False),
    ):
        p = problem(text, beta=beta)
        config = PANEL.default(p, H200)
        assert config["sectors"] == sectors, (text, config)
        broken = [rule.name for rule in PANEL.space(p, H200).why(config.with_(sectors=1))]
        assert ("sectors" not in broken) is allowed, (text, broken)
        model = PANEL.cost_model(p, H200)
        assert model is not None
        whole, words = model([config.with_(sectors=1), config.with_(sectors=0)])
        assert bool(whole < words) is bool(sectors)


def test_few_blocks_share_a_counter_where_memory_has_a_part() -> None:
    for text, device, batch, shares in (
        ("d:nn:145x29x4", H200, 17853, True),
        ("b:tn:3679x43x42", H200, 1112, True),
        # What the second-level cache holds, devices without bulk copies, and rings that all threads fill.
        ("d:nn:145x29x4", H200, 1000, False),
        ("d:nn:145x29x4", A100, 17853, False),
        ("c:tt:46x79x61", H200, 5875, False),
        # Many blocks on an SM end.
        ("c:tn:357x2x5", H200, 34874, False),
    ):
        p = problem(f"{text}@{batch}")
        config = PANEL.default(p, device)
        assert config["tickets"] == int(shares), (text, device.key, batch, config)
        assert PANEL.space(p, device).member(config) is None
        assert len(PANEL.arguments(p, config)) == 1 + shares
        if not shares:
            continue
        assert config["per_block"] == 0
        assert config["blocks"] <= grids.TICKETED * device["sms"]
        assert PANEL.launch(p, config).grid[0] == config["blocks"]
        # It costs less than blocks that share none, and the other way round where multiplying takes longest.
        model = PANEL.cost_model(p, device)
        assert model is not None
        with_one, without = model([config, config.with_(tickets=0)])
        assert with_one == pytest.approx(grids.GAIN * without)
        broken = [rule.name for rule in PANEL.space(p, device).why(config.with_(path="async", per_block=8))]
        assert {"tickets", "tickets-stay"} <= set(broken)
    p = problem("c:nn:1000x60x60@600", beta="0")
    config = PANEL.default(p, H200).with_(path="bulk")
    model = PANEL.cost_model(p, H200)
    assert model is not None
    with_one, without = model([config.with_(tickets=1), config])
    assert with_one > without


def test_the_model_counts_what_a_row_takes() -> None:
    """More columns take more clocks, and a C that is read more than one that is not."""
    x = fitted("panel", H200)

    def of(text: str, beta: str = "0") -> float:
        p = problem(text, beta=beta)
        config = {name: np.array([value]) for name, value in BASE.items()}
        return float(clocks(p, H200, config, x)[0])

    assert of("s:512x8x8@1000") < of("s:512x16x8@1000") < of("s:512x16x8@1000", "1")
    assert of("s:512x8x8@1000") < of("s:512x8x32@1000")
    assert of("s:512x8x8@1000") < of("d:512x8x8@1000")


def test_parts_that_do_not_divide_their_tile_cost_more_again_where_c_is_read() -> None:
    x = fitted("panel", H200)
    unasked = {**x, "mma 16": {**x["mma 16"], "ragged": 0.0}}
    chosen = BASE.with_(path="bulk", mma=16, tile=80, columns=8, warps=1, stages=4, blocks=6 * 132)

    def slower(rows: int, beta: str) -> float:
        p = problem("b:nn:80x8x12@100000", beta=beta)
        config = {name: np.array([value]) for name, value in chosen.with_(rows=rows).items()}
        return float(clocks(p, H200, config, x)[0] / clocks(p, H200, config, unasked)[0])

    assert slower(80, "1") == slower(80, "0") == 1
    assert 1 < slower(48, "0") < slower(48, "1")


def test_a_bank_serves_reads_that_meet_in_it_one_after_the_other() -> None:
    """Rows of 20 numbers of 16 bytes are 80 words apart: four of eight lanes that read at a time ask for the
    same banks; rows of 21 numbers do not meet."""
    p = problem("z:tt:71x10x20@14391", beta="1")
    config = PANEL.default(p, H200)
    assert config["mma"] == 16, config
    clock = {}
    for k in (20, 21):
        p = problem(f"z:tt:72x10x{k}@14391", beta="1")
        some = {"path": "bulk", "mma": 0, "held": 0, "direct": 1, "tile": 72, "packed": 0, "rows": 1}
        some |= {"columns": 2, "warps": 4, "movers": 1, "stages": 2, "blocks": 3 * 132}
        columns = {name: np.array([value]) for name, value in some.items()}
        clock[k] = clocks(p, H200, columns, fitted("panel", H200))[0]
    assert clock[20] > 1.1 * clock[21], clock


def test_sectors_that_are_written_in_part_cost() -> None:
    """A store of a warp has two of them where columns of C begin anywhere, one run of all columns, too."""
    x = fitted("panel", H200)

    def of(m: int, tile: int, direct: int) -> float:
        p = problem(f"c:nn:{m}x24x4@1000")
        chosen = BASE.with_(path="bulk", tile=tile, direct=direct, blocks=792)
        config = {name: np.array([value]) for name, value in chosen.items()}
        return float(clocks(p, H200, config, x)[0])

    from_registers, columns, one_run = (of(511, *c) / of(512, *c) for c in ((512, 1), (256, 0), (512, 0)))
    assert one_run < columns < from_registers
    assert from_registers > 1.2 * one_run


BASE = Config(
    {
        "path": "async",
        "mma": 0,
        "packed": 0,
        "held": 0,
        "direct": 0,
        "tile": 128,
        "rows": 4,
        "columns": 4,
        "warps": 2,
        "movers": 1,
        "stages": 3,
        "blocks": 132,
    }
)


# -- layouts -----------------------------------------------------------------------------------------------
def test_which_operand_is_long_and_how_it_lies() -> None:
    for text, is_m, is_along in (
        ("s:nn:300x8x9", True, True),
        ("s:tn:300x8x9", True, False),
        ("s:nn:8x300x9", False, False),
        ("s:nt:8x300x9", False, True),
    ):
        p = problem(text)
        assert (long_m(p), along(p), length(p), short(p)) == (is_m, is_along, 300, 8)
    assert streams(problem("s:tn:300x8x9")) == (True, False)
    assert streams(problem("s:nn:8x300x9")) == (True, True)
    assert streams(problem("s:nn:8x300x9", ldb=11, ldc=9)) == (False, False)


def test_which_panels_come_as_one_run() -> None:
    """Those of all their length whose columns follow each other and begin anywhere in a word of 16 bytes."""
    for text, fields, tile, path, one in (
        ("s:nn:67x8x9", {}, 80, "bulk", True),
        ("s:nn:67x8x9", {}, 64, "bulk", False),
        ("s:nn:67x8x9", {}, 80, "async", False),
        ("s:nn:68x8x9", {}, 80, "bulk", False),
        ("s:nn:67x8x9", {"lda": 69}, 80, "bulk", False),
        ("s:tn:67x8x9", {}, 80, "bulk", False),
        ("h:nt:8x70x9", {}, 80, "bulk", True),
        ("h:nn:8x70x9", {}, 80, "bulk", False),
    ):
        assert bool(panel_run(problem(text, **fields), path, tile)) is one, (text, fields, tile, path)


def test_warps_that_move_tiles_have_runs_to_copy() -> None:
    """As many as are left of 8 columns of C and of 17 of the panel; words of all threads need none."""
    for text, path, movers, broken in (
        ("s:nn:300x8x17", "bulk", 4, []),
        ("s:nn:300x8x15", "bulk", 4, ["movers-idle"]),
        ("s:nn:300x8x15", "bulk", 2, []),
        ("s:nn:8x300x17", "bulk", 2, ["movers-idle"]),
        ("s:nn:300x8x17", "async", 2, ["movers"]),
    ):
        p = problem(text + "@1000")
        config = PANEL.default(p, H200).with_(path=path, movers=movers)
        names = [rule.name for rule in PANEL.space(p, H200).why(config) if rule.name.startswith("movers")]
        assert names == broken, (text, path, movers)


def test_shared_memory_of_a_tile() -> None:
    """By hand: float32, 128 rows of k 8 along and 5 columns of C, as they are and with a word more."""
    p = problem("s:300x5x8@100")
    stage = -(-(128 * 8 * 4 + 16) // 128) * 128 + -(-(8 * 5 * 4 + 16) // 128) * 128
    out = -(-(128 * 5 * 4 + 16) // 128) * 128
    assert shared_bytes(p, "async", 0, 0, 128, 3, 0, 5) == 3 * stage + out
    assert shared_bytes(p, "async", 0, 1, 128, 3, 0, 5) == 3 * stage
    bulk = -(-(132 * 8 * 4 + 16) // 128) * 128 + -(-(8 * 5 * 4 + 16) // 128) * 128
    assert shared_bytes(p, "bulk", 0, 1, 128, 3, 0, 5) == 128 + 3 * bulk
    # Packed, 8 k of two vectors each: once, or twice where the next one is packed meanwhile.
    assert shared_bytes(p, "async", 0, 1, 128, 3, 1, 5) == 3 * stage + 256
    assert shared_bytes(p, "bulk", 0, 1, 128, 3, 1, 5) == 128 + 3 * bulk + 512


def test_small_operands_are_held_by_parts_that_have_all_of_them() -> None:
    """Fragments are kept by tensor cores of 16 bits, of all that is short, where registers allow."""
    for text, fixed, broken in (
        ("h:tt:700x41x42", {"mma": 16, "rows": 16, "columns": 48}, []),
        ("h:tt:700x41x42", {"mma": 16, "rows": 16, "columns": 24}, ["held"]),
        ("h:nt:41x700x42", {"mma": 16, "rows": 48, "columns": 8}, []),
        ("h:nt:41x700x42", {"mma": 16, "rows": 32, "columns": 16}, ["held"]),
        ("h:tt:700x41x42", {"mma": 0, "rows": 4, "columns": 41}, ["held"]),
        ("d:tt:700x41x42", {"mma": 16, "rows": 16, "columns": 48}, ["held"]),
        ("h:nn:700x41x42", {"mma": 16, "rows": 16, "columns": 48}, ["held-odd"]),
        ("hc:tt:700x63x64", {"mma": 16, "rows": 16, "columns": 64}, ["held-fits"]),
    ):
        p = Problem.parse(text)[0]
        config = PANEL.default(p, H200).with_(held=1, packed=0, direct=0, **fixed)
        names = [rule.name for rule in PANEL.space(p, H200).why(config) if rule.name.startswith("held")]
        assert names == broken, (text, fixed)
