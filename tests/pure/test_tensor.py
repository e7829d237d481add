"""The space of the stencil for tensor cores, its choice without a search, and what both promise."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright.stencils.cuda.tensor.stencil as module
from tilewright.model import DTYPES, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda import common, grids
from tilewright.stencils.cuda.common import fitted, units
from tilewright.stencils.cuda.source import LAUNCHED, program
from tilewright.stencils.cuda.tensor import cost
from tilewright.stencils.cuda.tensor.cost import _NAMES, _modelled
from tilewright.stencils.cuda.tensor.needs import SHAPES, registers, shared_bytes, step_of, tiles
from tilewright.stencils.cuda.tensor.stencil import TensorStencil
from tilewright.stencils.protocol import refused
from tilewright.targets.cuda import capability
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

TENSOR = TensorStencil()
FERMI, A100, H200 = named("fermi-s2050"), named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("tensor")[1])["lib/problem.cuh"]
LETTERS = ("h", "b", "hc", "d", "z")
# They speak of addresses, which the kernel does not see when it is compiled.
OF_THE_CALL = {"aligned", "aligned-c"}


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("hc:ct:50x60x70@1000")
    defines = [name for name, _ in TENSOR.source(p, TENSOR.default(p, H200), H200).defines]
    assert sorted(defines) == sorted(set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)))
    assert len(set(defines)) == len(defines)
    names = [param.name.upper() for param in TENSOR.space(p, H200).params if param.name not in LAUNCHED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(names) == sorted(re.findall(r"^#ifndef (\w+)$", block, re.M))


def test_the_kernel_counts_shapes_in_the_same_order() -> None:
    said = re.search(r"#define TC .*// (.*)", KERNEL)
    assert said is not None
    assert re.findall(r"(\d): (\d+x\d+x\d+)", said[1]) == [(str(i), name) for i, name in enumerate(SHAPES)]


def test_hard_rules_are_asserted_by_their_names() -> None:
    for letter in LETTERS:
        space = TENSOR.space(problem(f"{letter}:64x64x64@1000"), H200)
        hard = {rule.name for rule in space.rules if rule.kind == "hard"}
        asserted = set(re.findall(r'"([a-z-]+): ', KERNEL))
        assert hard - OF_THE_CALL == asserted


def test_headers_travel_with_the_kernel() -> None:
    p = problem("h:64x64x64@1000")
    source = TENSOR.source(p, TENSOR.default(p, H200), H200)
    included = re.findall(r'#include "(.*)"', KERNEL)
    assert set(included) <= {name for name, _ in source.headers}
    assert source.entry == "tensor"


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("spelling", "fields", "word"),
    [
        ("s:64x64x64@10", {}, "type s"),
        ("c:64x64x64@10", {}, "type c"),
        ("h:1025x8x8@10", {}, "1025x8x8"),
        ("d:8x8x8@2147483647", {}, "2^31"),
        ("hc:8x8x8@10", {"align": 2}, "multiples of 2"),
        ("h:8x8x8@10", {"stride_c": 0}, "one C"),
        ("h:8x8x8@10", {"pointers": True}, "addresses"),
    ],
)
def test_what_is_refused(spelling: str, fields: dict[str, int], word: str) -> None:
    assert word in (refused(TENSOR, problem(spelling, **fields), H200) or "")


@pytest.mark.parametrize("letter", LETTERS)
def test_devices(letter: str) -> None:
    p = problem(f"{letter}:64x64x64@1000")
    assert TENSOR.accepts(p, H200) is None
    assert TENSOR.accepts(p, A100) is None
    assert "2.0" in (TENSOR.accepts(p, FERMI) or "")
    assert "2.0" in (TENSOR.runs(FERMI) or "")
    shape = TENSOR.default(p, A100)["tc"]
    assert shape == ("8x8x4" if p.dtype.real_bits == 64 else "16x8x16")


# -- layouts -------------------------------------------------------------------------------------------------
def test_units_and_what_they_allow() -> None:
    assert units(problem("h:64x64x64@9")) == (16, 16, 16)
    assert units(problem("h:17x17x17@9")) == (2, 2, 2)
    assert units(problem("hc:6x6x6@9")) == (8, 8, 8)
    assert units(problem("h:64x64x64@9", align=4)) == (4, 4, 4)
    p = problem("h:64x64x64@9", lda=68)
    assert units(p) == (8, 16, 16)
    config = TENSOR.default(p, H200)
    assert (config["vec"], config["vec_c"]) == (4, 8)
    broken = [rule.name for rule in TENSOR.space(p, H200).why(config.with_(vec=8))]
    assert "aligned" in broken


def test_what_is_odd_passes_through_registers() -> None:
    config = TENSOR.default(problem("h:17x17x17@1000"), H200)
    assert (config["vec"], config["vec_c"], config["stages"]) == (1, 1, 1)
    # A pair is wide enough for a copy.
    assert TENSOR.default(problem("hc:17x17x17@1000"), H200)["vec"] == 1


def test_shared_memory_and_steps() -> None:
    p = problem("h:64x64x64@9")
    # Columns of 64 and of 32 halves, 8 more each; then columns of C for 4 warps: 32 of 32 halves, 8 more
    # each, or, where C is added, 16 of 32 float32, 4 more each.
    stripes = (32 * 72 + 64 * 40) * 2
    tile = ("16x8x16", "none", 2, 0, (64, 64, 32), (4, 1, 2))
    assert shared_bytes(p, *tile) == 2 * stripes + 4 * 32 * 40 * 2
    read = p.with_(beta="1")
    assert shared_bytes(read, *tile) == 2 * stripes + 4 * 16 * 36 * 4
    # The tile of C beside it, where it comes early.
    early = ("16x8x16", "none", 2, 1, (64, 64, 32), (4, 1, 2))
    assert shared_bytes(read, *early) == shared_bytes(read, *tile) + 64 * 64 * 2
    pairs = problem("hc:64x64x64@9")
    assert shared_bytes(pairs, "16x8x16", "registers", 2, 0, (64, 64, 32), (4, 1, 2)) == 2 * (
        (32 * 72 + 64 * 36) * 4
    )
    assert step_of(pairs, "16x8x16", "registers") == 8
    assert step_of(pairs, "16x8x16", "shared") == 16
    assert step_of(problem("z:8x8x8"), "16x8x4", "registers") == 4


def test_what_warp_groups_read_is_not_padded() -> None:
    p = problem("h:64x64x64@9")
    # 64 columns of 64 halves, 8 more each; 64 rows of 128 bytes; then 32 columns of 16 halves, 8 more each.
    tile = ("64x8x16", "none", 3, 0, (64, 64, 64), (4, 1, 4))
    assert shared_bytes(p, *tile) == 3 * (64 * 72 * 2 + 64 * 128) + 4 * 32 * 24 * 2
    # Stripes begin at multiples of 1024 bytes: 64 columns of 96 halves, 8 more each.
    tile = ("64x8x16", "none", 3, 0, (96, 64, 64), (4, 1, 4))
    assert shared_bytes(p, *tile) == 3 * (13 * 1024 + 64 * 128) + 4 * 32 * 32 * 2
    assert registers(p, "64x8x16", "none", 3, 0, (64, 64, 64), (4, 1, 4)) == 40 + 16 * 64 // 32 + 16
    pairs = problem("hc:64x64x64@9")
    assert registers(pairs, "64x8x16", "registers", 3, 0, (64, 64, 32), (4, 1, 4)) == 40 + 2 * 32 + 32


@pytest.mark.parametrize(
    ("spelling", "there"), [("h:nn", 1), ("h:nt", 0), ("hc:cj", 1), ("b:tn", 1), ("d:nn", 0)]
)
def test_warp_groups_are_offered_where_b_lies_along_k(spelling: str, there: int) -> None:
    p = problem(f"{spelling}:128x128x128@1000")
    groups = TENSOR.space(p, H200).restricted(tc="64x8x16") if p.dtype.real_bits == 16 else None
    assert bool(groups and groups.count()) == bool(there)
    if groups:
        assert TENSOR.space(p, A100).restricted(tc="64x8x16").count() == 0


# -- the choice --------------------------------------------------------------------------------------
@pytest.mark.parametrize("beta", ["0", "any"])
@pytest.mark.parametrize("letter", LETTERS)
def test_the_default_obeys_every_rule(letter: str, beta: str) -> None:
    for device in (H200, A100):
        for n in (8, 16, 24, 32, 48, 64, 96, 128, 192, 256):
            p = problem(f"{letter}:{n}x{n}x{n}@20000", beta=beta)
            space, config = TENSOR.space(p, device), TENSOR.default(p, device)
            assert config in space, (n, config, [rule.name for rule in space.why(config)])
            launch = TENSOR.launch(p, config)
            count = tiles(p, config["blk_m"], config["blk_n"], config["group"])
            assert launch.grid == (grids.launched(config, count), 1, 1)
            assert grids.launched(grids.staying(config), count) == config["blocks"]
            assert launch.block[0] == config["dim_x"] * config["dim_y"] <= 256
            assert launch.shared <= device["shared_per_block_optin"]


TRANS = ("nn", "nt", "tn", "tt")
SIZES = ("1x2x3", "300x1x17", "3x32x0", "65x33x129", "1024x1024x1024", "7x200x5")


@pytest.mark.parametrize("trans", TRANS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("letter", LETTERS)
def test_the_default_breaks_no_hard_rule_of_any_shape(letter: str, size: str, trans: str) -> None:
    # Each batch with one of the ways in which matrices lie, and with other ones of the next shape.
    first = LETTERS.index(letter) + SIZES.index(size) + TRANS.index(trans)
    for turn, batch in enumerate((1, 5, 10**5)):
        p = problem(f"{letter}:{trans}:{size}@{batch}", beta="1")
        ways = (p, p.with_(align=p.dtype.itemsize), p.with_(stride_a=0))
        asked = ways[(first + turn) % 3]
        assert TENSOR.accepts(asked, H200) is None
        space, config = TENSOR.space(asked, H200), TENSOR.default(asked, H200)
        broken = [rule.name for rule in space.why(config) if rule.kind in HARDWARE]
        assert broken == [], config
        assert all(config[param.name] in param.values for param in space.params), config


def test_tiles_grow_with_matrices() -> None:
    for letter in LETTERS:
        sides = []
        for n in (16, 64, 256):
            config = TENSOR.default(problem(f"{letter}:{n}x{n}x{n}@20000"), H200)
            sides.append(config["blk_m"] * config["blk_n"])
        assert sides == sorted(sides), letter
        assert sides[0] < sides[-1], letter


def test_the_choice_is_quick(
    calls_of: Callable[[Callable[[], object]], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed: all tiles are weighed in one array, and held against each rule in one, so their
    number adds no calls."""
    counts = {}
    for some in (slice(None), slice(0, None, 8)):
        for letter in LETTERS:
            tiles = cost._tiles(letter in "hbhc", letter in ("hc", "z"))
            few = {name: column[some] for name, column in tiles.items()}
            monkeypatch.setattr(cost, "_tiles", lambda half, is_complex, few=few: few)
            for n in (16, 64, 200):
                p = problem(f"{letter}:{n}x{n}x{n}@20000")
                TENSOR.default(p, H200)
                counts[str(some), p.spelling] = calls_of(lambda p=p: TENSOR.default(p, H200))
            monkeypatch.undo()
    assert max(counts.values()) < 4000, counts
    for (_, spelling), count in counts.items():
        assert abs(counts[str(slice(None)), spelling] - count) < 200, counts


@given(st.data())
def test_the_default_of_any_problem_obeys_every_rule(data: st.DataObject) -> None:
    letter = data.draw(st.sampled_from(LETTERS))
    m, n, k = (data.draw(st.integers(1, 300)) for _ in range(3))
    trans = data.draw(st.sampled_from(("nn", "nt", "tn", "tt", "cn", "nc")))
    batch = data.draw(st.sampled_from((1, 7, 300, 10**4, 10**6)))
    beta = data.draw(st.sampled_from(("0", "1", "any")))
    p = problem(f"{letter}:{trans}:{m}x{n}x{k}@{batch}", beta=beta)
    p = data.draw(st.sampled_from((p, p.with_(align=max(8, p.dtype.itemsize)), p.with_(stride_a=0))))
    device = data.draw(st.sampled_from((H200, A100, named("b200"))))
    broken = [rule.name for rule in TENSOR.space(p, device).why(TENSOR.default(p, device))]
    assert broken == []
    assert TENSOR.default(p, device) in TENSOR.space(p, device)


# -- launches ------------------------------------------------------------------------------------------
def test_blocks_follow_the_work() -> None:
    p = problem("h:200x200x64@3")
    config = TENSOR.default(p, H200).with_(blk_m=64, blk_n=128, group=1)
    assert TENSOR.launch(p, config).grid == (4 * 2 * 3, 1, 1)
    assert TENSOR.launch(p.with_(batch=200_000), config).grid == (config["blocks"], 1, 1)
    small = problem("h:16x16x16@10")
    config = TENSOR.default(small, H200).with_(blk_m=16, blk_n=16, group=4)
    assert TENSOR.launch(small, config).grid == (3, 1, 1)


def test_sizes_are_not_compiled_in() -> None:
    p = problem("h:64x64x64@20000")
    config = TENSOR.default(p, H200)
    others = (p, p.with_(batch=3), p.with_(m=33, n=65, k=1), p.with_(lda=128))
    assert len({TENSOR.source(other, config, H200).digest for other in others}) == 1


def test_registers_count_sums() -> None:
    p = problem("hc:128x128x128@9")
    small = registers(p, "16x8x16", "registers", 3, 0, (64, 64, 16), (8, 1, 2))
    large = registers(p, "16x8x16", "registers", 3, 0, (128, 128, 16), (8, 1, 2))
    assert large - small >= 2 * (64 * 32 - 32 * 16) // 32
    # Fragments of a second product: 64 rows and 32 columns, two words of each 8.
    ahead = registers(p, "16x8x16", "registers", 3, 1, (128, 128, 16), (8, 1, 2))
    assert ahead - large == (64 + 32) // 8 * 2


@pytest.mark.parametrize("letter", LETTERS)
def test_spaces_are_of_a_size_that_can_be_searched(letter: str) -> None:
    for n in (16, 64, 256):
        p = Problem(DTYPES[letter], n, n, n, batch=20_000)
        assert 20 < TENSOR.space(p, H200).count() < 400_000


def test_warp_groups_are_the_choice_for_large_products_of_pairs() -> None:
    def chosen(text: str, device: Any = H200, **fields: Any) -> str:
        return str(TENSOR.default(problem(text, **fields), device)["tc"])

    for beta in ("0", "1", "any"):
        for text in ("hc:nn:128x128x128@5000", "hc:cn:256x256x256@2000", "hc:tj:512x512x64@500"):
            p = problem(text, beta=beta)
            config = TENSOR.default(p, H200)
            assert config["tc"] == "64x8x16"
            assert not any(rule.kind in HARDWARE for rule in TENSOR.space(p, H200).why(config))
    # Not where B lies across k, where words are short, where tiles would be half empty, on other devices.
    assert chosen("hc:nt:256x256x256@2000") == "16x8x16"
    assert chosen("hc:nn:256x256x256@2000", align=4) == "16x8x16"
    assert chosen("hc:nn:192x192x192@2000") == "16x8x16"
    assert chosen("hc:nn:256x256x256@2000", device=A100) == "16x8x16"
    assert chosen("h:nn:256x256x256@2000") == "16x8x16"


def test_constants_of_the_model_are_those_of_the_most_similar_device() -> None:
    h200 = fitted("tensor", H200)
    assert fitted("tensor", named("h100")) == h200
    assert fitted("tensor", replace(H200, key="h20")) == h200
    a100 = fitted("tensor", named("a100"))
    assert a100 == {**h200, "reached_h": a100["reached_h"]}
    assert h200["reached_h"] * H200.rates["mma.h"] == 1500
    assert a100["reached_h"] * named("a100").rates["mma.h"] == 900
    # A device that nobody has named, of an architecture that is not there.
    a40 = capability.device("NVIDIA A40", "a40", 86, dict(H200.limits))
    assert fitted("tensor", a40) == a100


def test_every_constant_of_the_model_has_a_meaning() -> None:
    text = (Path(common.__file__).parent / "data" / "tensor.json").read_text()
    data = json.loads(text)
    assert set(data["meaning"]) == set(fitted("tensor", H200))
    assert "python -m bench" in data["about"]


def test_rates_of_hopper_are_not_those_of_its_successors() -> None:
    """The same batch by the same model: tensor cores of float64 are half as many on a B200."""
    spelling = "d:96x96x96@5000"
    clocks = {
        key: float(_modelled(problem(spelling), named(key), one_tile()).item()) for key in ("h200", "b200")
    }
    shares = {key: clocks[key] * named(key)["sms"] for key in clocks}
    assert shares["b200"] > 1.2 * shares["h200"]


def one_tile() -> dict[str, np.ndarray]:
    """A candidate whose multiplications take longest."""
    values = (96, 96, 16, 2, 2, 1, 3, 1, 0)
    return {name: np.array([value]) for name, value in zip(_NAMES, values, strict=True)}
