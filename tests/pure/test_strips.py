"""The space of the stencil of strips, its choice without a search, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

import tilewright.stencils.cuda.strips.stencil as module
from bench.sanitize.groups import problem
from tilewright.model import DTYPES, SegmentedProblem
from tilewright.planning import dispatch
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.source import LAUNCHED, program
from tilewright.stencils.cuda.strips.needs import LANES, shared_bytes, vectors
from tilewright.stencils.cuda.strips.stencil import DEEPEST, LONGEST, StripsStencil
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

STRIPS = StripsStencil()
H200, FERMI = named("h200"), named("fermi-s2050")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
SHARED = dict(program("strips")[1])["lib/problem.cuh"]


def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("s:nn", "n", (64, 128, 8), 4)
    defines = [name for name, _ in STRIPS.source(p, STRIPS.default(p, H200), H200).defines]
    known = set(re.findall(r"^#ifndef (\w+)$", KERNEL + SHARED, re.M))
    assert sorted(defines) == sorted(known - {"BRAIN"})
    names = [param.name.upper() for param in STRIPS.space(p, H200).params if param.name not in LAUNCHED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


@pytest.mark.parametrize(
    ("spelling", "axis", "fields", "reason"),
    [
        ("s:nt", "k", {}, "k is split"),
        ("s:nn", "n", {"k": LONGEST["s"] + 1}, f"k={LONGEST['s'] + 1}"),
        ("d:nn", "n", {"k": LONGEST["d"] + 1}, f"k={LONGEST['d'] + 1}"),
        ("z:nn", "n", {"m": LANES, "k": DEEPEST + 1}, f"k={DEEPEST + 1}"),
        ("s:nn", "n", {"k": 0}, "nothing to compute"),
        ("s:nn", "n", {"align": 2}, "not of an element's 4"),
        ("s:nn", "n", {"n": 2**31}, "above"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    spelling: str, axis: str, fields: dict[str, object], reason: str
) -> None:
    p = problem(spelling, axis, (128, 64, 8), 4).with_(**fields)
    assert reason in (STRIPS.accepts(p, H200) or "")


def test_it_needs_a_gpu_with_asynchronous_copies() -> None:
    assert STRIPS.accepts(problem("s:nn", "n", (128, 64, 8), 4), FERMI) is not None


@pytest.mark.parametrize("letter", list(DTYPES))
def test_a_short_k_of_any_type_is_served_wherever_columns_begin(letter: str) -> None:
    for m, k in ((1, DEEPEST), (LANES, DEEPEST), (LANES + 1, LONGEST[letter]), (129, 1)):
        p = problem(f"{letter}:nn", "n", (m, 64, k), 4, pad=1).with_(align=DTYPES[letter].itemsize)
        assert STRIPS.accepts(p, H200) is None
        config = STRIPS.default(p, H200)
        assert not STRIPS.space(p, H200).why(config), (p.key, config)


@pytest.mark.parametrize(
    ("spelling", "m", "k", "n", "rows", "lanes_m"),
    [
        # Lanes in one strip of few rows, and others beside them.
        ("s:nn", 3, 8, 64, 1, 4),
        ("z:nn", 9, 8, 64, 1, 16),
        ("s:nn", 32, 8, 64, 1, 32),
        ("s:nn", 33, 8, 64, 2, 32),
        ("s:nn", 65, 8, 64, 4, 32),
        ("s:nn", 700, 8, 64, 4, 32),
        # As many rows as leave registers for others.
        ("d:nn", 700, 8, 64, 4, 32),
        ("d:nn", 700, 16, 64, 2, 32),
        ("c:nn", 700, 22, 64, 1, 32),
        ("z:nn", 700, 16, 64, 1, 32),
        # A strip that is not full, for many columns and for few.
        ("d:nn", 90, 8, 64, 4, 32),
        ("d:nn", 90, 8, 63, 1, 32),
    ],
)
def test_the_choice_gives_every_lane_rows_and_registers(
    spelling: str, m: int, k: int, n: int, rows: int, lanes_m: int
) -> None:
    config = STRIPS.default(problem(spelling, "n", (m, n, k), 4), H200)
    assert (config["rows"], config["lanes_m"]) == (rows, lanes_m)


@pytest.mark.parametrize(
    ("spelling", "m", "k", "n", "rows", "columns", "warps"),
    [
        # Rows of C, and columns of groups, with the fewest registers.
        ("h:nn", 8, 9, 52, 2, 4, 1),
        ("h:nn", 16, 9, 52, 4, 4, 1),
        ("b:nn", 24, 18, 568, 8, 8, 1),
        ("b:nn", 64, 18, 568, 16, 8, 1),
        ("hc:nn", 8, 8, 568, 2, 8, 1),
        # As many as leave registers for enough warps, which read the same columns beside each other.
        ("h:nn", 1024, 32, 568, 8, 8, 4),
        ("hc:nn", 1024, 32, 568, 4, 8, 4),
        # Columns of C that end inside sectors, by tall lanes.
        ("b:nn", 504, 14, 4000, 16, 4, 4),
        ("b:nn", 512, 14, 4000, 16, 8, 4),
        # Single numbers of B across k take more.
        ("h:nt", 64, 32, 568, 16, 2, 1),
    ],
)
def test_tensor_cores_multiply_halves_by_tiles_that_read_little(
    spelling: str, m: int, k: int, n: int, rows: int, columns: int, warps: int
) -> None:
    p = problem(spelling, "n", (m, n, k), 4, batch=4)
    config = STRIPS.default(p, H200)
    assert not STRIPS.space(p, H200).why(config)
    shape = {"mma": 1, "lanes_m": 4, "rows": rows, "columns": columns, "tile_n": 8 * columns, "warps": warps}
    assert {name: config[name] for name in shape} == shape
    assert STRIPS.launch(p, config).shared == 0


@pytest.mark.parametrize(
    ("spelling", "axis", "m", "k", "n", "mma"),
    [
        ("h:nn", "n", 64, 16, 4096, 1),
        ("s:nn", "n", 64, 16, 4096, 0),
        # Halves that are written one by one: by multiply-add units of several rows of a lane.
        ("h:nn", "n", 25, 17, 4096, 1),
        ("h:nn", "n", 77, 20, 4096, 0),
        ("b:nn", "n", 153, 32, 4096, 0),
        # As many of A are read.
        ("b:nn", "n", 155, 24, 100, 1),
        # Complex halves are words.
        ("hc:nn", "n", 77, 20, 4096, 1),
        # Rows that are split.
        ("h:nn", "m", 4096, 16, 64, 0),
        ("h:tn", "m", 4096, 16, 64, 0),
    ],
)
def test_tensor_cores_multiply_where_words_of_c_are_written_or_little_is(
    spelling: str, axis: str, m: int, k: int, n: int, mma: int
) -> None:
    assert STRIPS.default(problem(spelling, axis, (m, n, k), 4), H200)["mma"] == mma


def test_only_halves_are_asked_of_tensor_cores() -> None:
    for letter, dtype in DTYPES.items():
        param = STRIPS.space(problem(f"{letter}:nn", "n", (64, 64, 8), 4), H200).params[0]
        assert (param.name, param.values) == ("mma", (0, 1) if dtype.real_bits == 16 else (0,))


def test_no_more_of_a_is_read_together_than_a_stored_column_has() -> None:
    for spelling, m, k, most in (
        ("h:nn", 3, 8, 2),
        ("h:tn", 3, 8, 8),
        ("s:tn", 64, 2, 2),
        ("s:nn", 64, 2, 4),
    ):
        assert (
            vectors(problem(spelling, "n", (m, 64, k), 4, pad=16 - (k if "t" in spelling else m)))[0] == most
        )


@pytest.mark.parametrize("letter", ["s", "d"])
@pytest.mark.parametrize(
    ("m", "groups", "warps"), [(128, 10, 1), (768, 10, 1), (300, 10, 1), (768, 90, 3), (1024, 60, 2)]
)
def test_the_choice_leaves_few_warps_without_rows(letter: str, m: int, groups: int, warps: int) -> None:
    for k in (1, LONGEST[letter]):
        p = problem(f"{letter}:nn", "n", (m, 3424, k), groups, batch=4)
        config = STRIPS.default(p, H200)
        broken = [rule.name for rule in STRIPS.space(p, H200).why(config) if rule.kind in HARDWARE]
        assert not broken, (p.key, config, broken)
        assert config["warps"] == warps
        assert 8 // warps <= config["blocks"] // H200["sms"] <= 12 // warps


def test_blocks_end_where_much_is_written_and_two_looks_see_all_borders() -> None:
    def blocks(groups: int, batch: int) -> int:
        p = problem("s:nn", "n", (768, 3424, 16), groups, batch=batch)
        config = STRIPS.default(p, H200)
        return int(config["per_block"])

    assert blocks(10, 32) == 1
    assert blocks(31, 32) == 1
    assert blocks(90, 32) > 0
    # What the second-level cache holds, and more borders than two looks of the block see.
    assert blocks(10, 1) == 0
    assert blocks(300, 32) == 0


def test_a_table_of_borders_is_kept_where_lanes_do_not_hold_them() -> None:
    def defines(p: SegmentedProblem) -> dict[str, str]:
        return dict(STRIPS.source(p, STRIPS.default(p, H200), H200).defines)

    for first in (False, True):
        most = LANES - 1 - first
        few, many = (problem("s:nn", "n", (128, 512, 4), n, first=first) for n in (most, most + 1))
        assert (defines(few)["FEW"], defines(many)["FEW"]) == ("1", "0")
        held, kept = (shared_bytes(p, 2, 64) for p in (few, many))
        assert kept - held == (2 * (64 + 1) + 64) * 4


def test_later_tiles_are_those_after_all_that_are_on_the_device() -> None:
    p = problem("s:nn", "n", (768, 3424, 16), 10, batch=32)
    config = STRIPS.default(p, H200)
    for ahead in (0, 1):
        source = STRIPS.source(p, config.with_(ahead=ahead), H200)
        assert dict(source.defines)["AHEAD"] == str(ahead * config["blocks"])


@pytest.mark.parametrize(
    ("spelling", "axis", "m", "k", "batch", "runs"),
    [
        ("h:nn", "n", 1024, 40, 1, "experts"),
        ("h:nn", "n", 1024, 32, 1, "strips"),
        ("hc:nn", "n", 256, 8, 1, "strips"),
        # Of rows that are split multiply-add units make products here.
        ("h:tn", "m", 1024, 32, 1, "experts"),
        # Of these no tensor map is made: several matrices of a group, columns that begin anywhere, others.
        ("h:nn", "n", 1024, 32, 4, "strips"),
        ("b:nn", "n", 1024, 12, 1, "strips"),
        ("s:nn", "n", 1024, 32, 1, "strips"),
        ("h:nn", "n", 1024, 33, 4, "segments"),
    ],
)
def test_groups_of_tensor_maps_have_more_than_a_short_k(
    spelling: str, axis: str, m: int, k: int, batch: int, runs: str
) -> None:
    p = problem(spelling, axis, (m, 4096, k), 8, batch=batch)
    plan = dispatch.plan(cast(Any, p), H200, vendor=False)
    assert plan.stencil == runs, plan.why
