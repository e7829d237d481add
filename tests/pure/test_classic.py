"""The space of the universal stencil: the paper's on its device, and what later devices make of it."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

import tilewright.stencils.cuda.classic.needs as module
from tilewright.errors import ArgumentError
from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda import common
from tilewright.stencils.cuda.classic.cost import _candidates, _kind
from tilewright.stencils.cuda.classic.needs import (
    NONE,
    TABLE1,
    TABLE2,
    Guidelines,
    guidelines,
    registers,
    resident,
    reuse,
    shared_bytes,
    variants,
    winner,
)
from tilewright.stencils.cuda.classic.stencil import ClassicStencil
from tilewright.stencils.cuda.common import fitted
from tilewright.stencils.cuda.source import program
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

CLASSIC = ClassicStencil()
FERMI, A100, H200, B200 = (named(key) for key in ("fermi-s2050", "a100", "h200", "b200"))
SIXTEEN = [f"{letter}:{trans}" for letter in "scdz" for trans in ("nn", "nt", "tn", "tt")]
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("classic")[1])["lib/problem.cuh"]


def problem(text: str, size: str = "8192x8192x8192", **fields: object) -> Problem:
    return Problem.parse(f"{text}:{size}", **fields)[0]


# -- the paper's space -------------------------------------------------------------------------------
def test_without_guidelines_there_are_slightly_more_than_one_million() -> None:
    assert CLASSIC.guided(problem("s:nn"), FERMI, NONE).count() == 1_136_490


# One transposition of each type, another one of the next: they change no count.
@pytest.mark.parametrize("variant", SIXTEEN[::5])
def test_table_1_leaves_some_dozens(variant: str) -> None:
    asked = problem(variant)
    space = CLASSIC.space(asked, FERMI)
    assert space.count() == {"s": 86, "c": 66, "d": 66, "z": 60}[variant[0]]
    assert winner(asked) in space
    assert CLASSIC.default(asked, FERMI) == winner(asked)


@pytest.mark.parametrize(("reuse", "left"), [(3.0, 638), (4.0, 66), (4.01, 0), (5.0, 0), (6.0, 0)])
def test_no_config_of_cgemm_has_the_reuse_of_table_1(reuse: float, left: int) -> None:
    assert CLASSIC.guided(problem("c:nn"), FERMI, Guidelines(512, 2, reuse)).count() == left


def test_the_space_is_algorithm_5_and_6_written_out() -> None:
    """One thread grid of DGEMM, by plain loops over what is printed."""
    n_dim = m_dim = 16
    threads, size = 256, 8
    expected = []
    for k, n, m in product(range(1, 65), range(16, 257, 16), range(16, 257, 16)):
        if m * k % threads or k * n % threads:
            continue
        shmem = ((m + 1) * k + (k + 1) * n) * size
        regs = ((m // 16) * (n // 16) + m // 16 + n // 16) * threads + m * k + k * n
        regs *= size // 4
        fits = True
        for have, need in ((49152, shmem), (32768, regs)):
            blocks = min(have // need, 8)
            blocks = min(blocks * 8, 48) // 8
            fits = fits and blocks >= 2 and blocks * threads >= 512
        if not fits or (m // 16) * (n // 16) / (m // 16 + n // 16) < 1.5:
            continue
        for m_a, m_b in product(range(1, 257), range(1, 65)):
            if threads % m_a or threads % m_b or m % m_a or k % m_b:
                continue
            if k % (threads // m_a) == 0 and n % (threads // m_b) == 0:
                expected.append((k, n, m, m_a, threads // m_a, m_b, threads // m_b))
    space = CLASSIC.guided(problem("d:nn"), FERMI, Guidelines(512, 2, 1.5))
    names = ("k_blk", "n_blk", "m_blk", "m_dima", "n_dima", "m_dimb", "n_dimb")
    found = [tuple(c[name] for name in names) for c in space.restricted(n_dim=n_dim, m_dim=m_dim)]
    assert found == expected != []


def test_the_occupancy_of_the_winners_by_hand() -> None:
    # SGEMM 96x96x16 by 256 threads: 36 + 12 registers of a thread, 12 more for the next stripes.
    assert registers(16, 16, 16, 96, 96, 1) == (48 + 12) * 256
    assert resident(32768, 60 * 256, 256, FERMI) == 2
    assert shared_bytes(16, 96, 96, 1, 1, 1, 0, 4) == (97 * 16 + 17 * 96) * 4
    # CGEMM and DGEMM 64x64x16: exactly half of the registers; 64 of a thread, one more than it can address.
    assert registers(16, 16, 16, 64, 64, 2) == 16384 == 64 * 256
    # Eight blocks of two warps is all that an SM takes, whatever fits.
    assert resident(32768, 1, 64, FERMI) == 8
    assert resident(32768, 1, 512, FERMI) == 3
    assert resident(32768, 32769, 64, FERMI) == 0


def test_the_reuse_of_the_winners() -> None:
    assert reuse(16, 16, 96, 96, False) == 3.0
    assert reuse(16, 16, 64, 64, False) == 2.0
    assert reuse(16, 16, 64, 64, True) == 4.0
    assert reuse(8, 8, 16, 24, True) == 2.4


def test_one_number_of_table_2_overlays_no_stripe() -> None:
    asked = problem("s:nt")
    printed = winner(asked).with_(m_dimb=8, n_dimb=32)
    assert {rule.name for rule in CLASSIC.space(asked, FERMI).why(printed)} == {"overlay-b"}


def test_there_are_78_variants() -> None:
    assert len(set(variants())) == 78
    assert len({(letter, trans) for letter, trans, _ in variants()}) == 26


def test_guidelines_by_name() -> None:
    asked = problem("z:nn")
    assert guidelines("default", asked, FERMI) == guidelines("table1", asked, H200) == TABLE1["z"]
    assert guidelines("none", asked, H200) == NONE
    assert guidelines("default", problem("z:nn", "32x8192x8192"), H200).min_reuse == 2.5 / 4
    with pytest.raises(ArgumentError, match=r"'all'.*default, table1, none"):
        guidelines("all", asked, FERMI)


# -- later devices -----------------------------------------------------------------------------------
def modest(space: Space) -> list[Config]:
    held = {"read": "global", "lanes": 8, "buffers": 2, "order": 1, "split": 1, "early": 0, "mma": 0}
    return list(space.restricted(**held, min_blocks=1))


# Rows and columns of the tile, its step, threads along m and n.
WANTED = {
    "s": [(128, 128, 8, 16, 16), (128, 128, 16, 16, 16), (128, 256, 8, 16, 16), (256, 128, 8, 16, 16)],
    "d": [(m, n, k, 16, 16) for m, n in ((64, 64), (64, 128), (128, 128)) for k in (8, 16)],
    "c": [(64, 64, 8, 16, 16), (64, 128, 8, 16, 16), (128, 64, 8, 16, 16)],
    "z": [(64, 64, 8, 16, 16), (32, 64, 8, 8, 16), (64, 32, 8, 16, 8)],
}


@pytest.mark.parametrize("variant", SIXTEEN)
def test_an_h200_has_hundreds_and_what_is_expected_to_win(variant: str) -> None:
    points = modest(CLASSIC.space(problem(variant), H200))
    assert 50 < len(points) < 620
    most = 16 // problem(variant).dtype.itemsize
    full = [c for c in points if c["vec"] == c["wide"] == min(most, 4)]
    tiles = {tuple(c[n] for n in ("m_blk", "n_blk", "k_blk", "m_dim", "n_dim")) for c in full}
    assert set(WANTED[variant[0]]) <= tiles


@pytest.mark.parametrize("device", [A100, H200], ids=lambda d: d.key)
@pytest.mark.parametrize("variant", [*SIXTEEN, "c:cj", "z:jc"])
def test_the_default_fits_any_problem(variant: str, device: Device) -> None:
    sizes = ("1x1x1", "1x1x100000", "7x5x3", "100x3x1000", "4096x64x4096", "777x555x333", "16x30000x10000")
    for size, batch, align in product(sizes, (1, 1000), (16, 8, 4)):
        asked = problem(variant, size, batch=batch, align=align)
        if CLASSIC.accepts(asked, device) is not None:
            assert align < asked.dtype.itemsize
            continue
        config = CLASSIC.default(asked, device)
        assert config in CLASSIC.space(asked, device).only(HARDWARE), (asked, config)


def test_the_default_of_a_large_problem_passes_every_rule() -> None:
    for variant in SIXTEEN:
        asked = problem(variant)
        assert CLASSIC.default(asked, H200) in CLASSIC.space(asked, H200)


# What the model itself weighs: work outside C and k, and what a tile's shape makes of its reads. A tile that
# no grid of wide reads overlays has narrower ones.
WEIGHED = {"step-in-k", "tile-in-m", "tile-in-n", "tile-shape", "reuse", "wide-enough"}


def any_problem(draw: random.Random) -> Problem:
    letter = draw.choice("sdcz")
    letters = "ntcj" if letter in "cz" else "nt"
    sizes = "x".join(str(int(2 ** draw.uniform(0, 13))) for _ in range(3))
    p = problem(f"{letter}:{draw.choice(letters)}{draw.choice(letters)}", sizes)
    p = p.with_(batch=draw.choice((1, 1, 2, 100)), beta=draw.choice(("0", "1", "any")))
    pad = draw.choice((0, 0, 1, 2, 4))
    padded = {"lda": p.lda + pad, "ldb": p.ldb + pad, "stride_a": None, "stride_b": None}  # type: ignore[operator]
    return replace(p, align=draw.choice((16, 16, 8)), **padded)


def test_the_default_breaks_no_rule_but_those_that_the_model_weighs() -> None:
    draw = random.Random(1)
    for number in range(200):
        asked, device = any_problem(draw), (A100, H200, B200)[number % 3]
        if CLASSIC.accepts(asked, device) is None:
            config, space = CLASSIC.default(asked, device), CLASSIC.space(asked, device)
            assert space.member(config) is None
            assert {rule.name for rule in space.why(config)} <= WEIGHED, (asked, config)


def test_what_is_allowed_for_a_kind_of_problems_is_allowed_for_each_of_them() -> None:
    """Candidates are held against the rules once for all problems that the hardware sees as one."""
    draw = random.Random(2)
    for number in range(60):
        asked, device = any_problem(draw), (A100, H200, B200)[number % 3]
        if CLASSIC.accepts(asked, device) is None:
            columns, blocks = _candidates(_kind(asked), device)
            assert CLASSIC.space(asked, device).allowed(columns, HARDWARE).all(), asked
            assert blocks.min() >= 1


def test_every_constant_of_the_model_has_a_meaning() -> None:
    data = json.loads((Path(common.__file__).parent / "data" / "classic.json").read_text())
    assert set(data["meaning"]) == set(fitted("classic", H200))
    assert fitted("classic", A100) == fitted("classic", H200)


def test_few_tiles_share_k_through_clusters_where_there_are_any() -> None:
    asked = problem("s:nn", "128x128x65536")
    assert CLASSIC.default(asked, H200)["split"] > 1
    assert CLASSIC.default(asked, A100)["split"] == 1
    assert CLASSIC.default(problem("s:nn"), H200)["split"] == 1


@pytest.mark.parametrize(
    ("fields", "widest"),
    [({}, 4), ({"lda": 8194}, 2), ({"ldb": 8193}, 1), ({"align": 8}, 2), ({"m": 8190}, 2), ({"n": 8191}, 4)],
)
def test_reads_are_as_wide_as_everything_is_aligned(fields: dict[str, int], widest: int) -> None:
    sizes = {name: fields.pop(name, 8192) for name in ("m", "n", "k")}
    asked = problem("s:nn", f"{sizes['m']}x{sizes['n']}x{sizes['k']}", **fields)
    assert module.widest(asked) == widest
    assert CLASSIC.default(asked, H200)["wide"] == widest


def test_batch_strides_count_for_a_batch_only() -> None:
    asked = problem("s:nn", "64x64x64@2", stride_a=64 * 64 + 1)
    assert module.widest(asked) == 1
    assert module.widest(asked.with_(batch=1)) == 4
    assert module.widest(asked.with_(stride_a=asked.stride_b, stride_b=asked.stride_a)) == 1


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"m_dim": 3}, "whole-warps"),
        ({"wide": 4, "m_dima": 64, "n_dima": 4}, "overlay-wide-a"),
        ({"m_dima": 16, "n_dima": 8}, "grid-a"),
        ({"vec": 2, "n_blk": 16}, "vec-divides"),
        ({"lanes": 32}, "lanes-divide"),
        ({"read": "tex1d"}, "texel"),
        ({"early": 1}, "early-c"),
        ({"mma": 1}, "mma-type"),
        ({"k_blk": 64, "m_blk": 256, "n_blk": 256}, "shared-per-block"),
        ({"n_blk": 256, "m_blk": 256}, "registers-per-thread"),
        ({"min_blocks": 4}, "resident-registers"),
    ],
)
def test_rules_that_make_configs_wrong(changes: dict[str, object], rule: str) -> None:
    asked = problem("s:nn")
    good = CLASSIC.default(asked, H200).with_(m_blk=128, n_blk=128)
    broken = [r.name for r in CLASSIC.space(asked, H200).only(HARDWARE).why(good.with_(**changes))]
    assert rule in broken


def test_promised_blocks_have_the_bytes_that_the_device_keeps_of_each() -> None:
    asked = problem("s:nn")
    config = CLASSIC.default(asked, H200).with_(min_blocks=2)
    block = CLASSIC.launch(asked, config).shared + H200["shared_reserved"]
    for room, names in ((2 * block, set()), (2 * block - 1, {"resident-shared"})):
        device = replace(H200, limits={**H200.limits, "shared_per_sm": room})
        rules = CLASSIC.space(asked, device).why(config)
        assert {rule.name for rule in rules if rule.name == "resident-shared"} == names


def test_textures_hold_one_matrix_of_limited_size() -> None:
    def broken(asked: Problem, read: str) -> set[str]:
        config = CLASSIC.default(asked, H200).with_(read=read, wide=1)
        return {r.name for r in CLASSIC.space(asked, H200).why(config) if r.name.startswith("texture-")}

    assert broken(problem("z:nn", "512x512x512"), "tex1d") == {"texture-path"}
    assert broken(problem("z:nn", "512x512x512@2"), "tex2d") == {"texture-path", "texture-single"}
    assert broken(problem("z:nn", "20000x64x20000"), "tex1d") == {"texture-path", "texture-1d"}
    assert broken(problem("z:nn", "64x64x70000"), "tex2d") == {"texture-path", "texture-2d"}
    assert broken(problem("s:nn", "511x64x64"), "tex2d") == {"texture-path", "texture-2d"}


def test_what_is_not_accepted() -> None:
    assert CLASSIC.accepts(problem("s:nn"), H200) is None
    assert CLASSIC.accepts(problem("s:nn"), FERMI) is None
    assert CLASSIC.runs(H200) is None
    assert "2.0" in str(CLASSIC.runs(FERMI))
    assert "h is not one of" in str(CLASSIC.accepts(problem("h:nn"), H200))
    assert "2^31" in str(CLASSIC.accepts(problem("s:nn", "1x1x1").with_(m=2**31), H200))
    assert "grid" in str(CLASSIC.accepts(problem("s:nn", "2000000000x2000000000x1"), H200))
    assert "element" in str(CLASSIC.accepts(problem("z:nn", align=8), H200))


# -- source and launch -------------------------------------------------------------------------------
def test_the_parameters_are_those_of_the_kernel() -> None:
    config = CLASSIC.default(problem("s:nn"), H200)
    source = CLASSIC.source(problem("s:nn"), config, H200)
    block = KERNEL[KERNEL.index("---- the parameters") : KERNEL.index("---- what follows")]
    assert set(re.findall(r"#define (\w+) ", block)) == {name.upper() for name in config}
    assert list(config) == [param.name for param in CLASSIC.space(problem("s:nn"), H200).params]
    named_there = set(re.findall(r"#ifndef (\w+)", KERNEL + PROBLEM))
    assert named_there - {"BRAIN"} == {name for name, _ in source.defines}
    assert set(re.findall(r'#include "(\S+)"', KERNEL)) <= {name for name, _ in source.headers}


def test_what_the_kernel_asserts_is_a_hard_rule() -> None:
    names = {rule.name for rule in CLASSIC.space(problem("s:nn"), H200).rules}
    asserted = set(re.findall(r'^static_assert\([^;]*?"([a-z-]+): ', KERNEL, re.MULTILINE))
    assert [name for name in asserted if not any(rule.startswith(name) for rule in names)] == []


def test_sizes_stay_outside_the_source() -> None:
    config = CLASSIC.default(problem("c:nc"), H200)
    one = CLASSIC.source(problem("c:nc"), config, H200)
    assert one.digest == CLASSIC.source(problem("c:nc", "100x200x300"), config, H200).digest
    defines = dict(one.defines)
    assert (defines["TYPE_BITS"], defines["COMPLEX"], defines["TRANS_B"], defines["CONJ_B"]) == (
        "32",
        "1",
        "1",
        "1",
    )
    assert (defines["CONJ_A"], defines["BETA"], defines["READ"], defines["M_BLK"]) == (
        *("0", "0", "0"),
        str(config["m_blk"]),
    )


def test_how_a_config_is_launched() -> None:
    config = CLASSIC.default(problem("s:nn"), H200).with_(
        m_blk=128, n_blk=64, k_blk=8, vec=4, buffers=2, split=2
    )
    launch = CLASSIC.launch(problem("s:nn", "1000x100x64@100000"), config)
    assert launch.grid == (8 * 2, 2, 65535)
    assert launch.block == (256, 1, 1)
    assert (launch.cluster, launch.reading) == (2, "")
    # The exchanged tile of C is larger than two pairs of stripes, and a plain number either way.
    assert launch.shared == 128 * 64 * 4
    assert type(launch.shared) is int
    alone = CLASSIC.launch(problem("s:nn"), config.with_(split=1, read="tex2d"))
    assert (alone.shared, alone.reading) == ((132 + 68) * 8 * 4 * 2, "tex2d")


def test_table_2_has_all_sixteen() -> None:
    assert set(TABLE2) == set(SIXTEEN)
