"""The space of the stencil of products of many sizes, its choice without a search, and its descriptors."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

import tilewright.stencils.cuda.grouped.stencil as module
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Config, Device, GroupedProblem, Problem
from tilewright.planning.candidates import refusal
from tilewright.space import HARDWARE
from tilewright.stencils.cuda import common
from tilewright.stencils.cuda.common import fitted
from tilewright.stencils.cuda.grouped.cost import WEIGHED
from tilewright.stencils.cuda.grouped.descriptors import (
    ARGUMENT,
    Operand,
    _bounded,
    _order,
    describe,
    pack,
)
from tilewright.stencils.cuda.grouped.needs import BEYOND, fixed_bytes, largest, registers, shared_bytes
from tilewright.stencils.cuda.grouped.stencil import GroupedStencil, products
from tilewright.stencils.cuda.source import program
from tilewright.stencils.protocol import refused
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

GROUPED = GroupedStencil()
FERMI, A100, H200, B200 = (named(key) for key in ("fermi-s2050", "a100", "h200", "b200"))
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("grouped")[1])["lib/problem.cuh"]
LETTERS = list(DTYPES)


def listed(
    letter: str, top: int = 32, trans: str = "nn", count: int = 10_000, **classes: str
) -> GroupedProblem:
    return products(DTYPES[letter], top, top, top, trans, count, **classes)  # type: ignore[arg-type]


# -- what the compiler wants -------------------------------------------------------------------------------
@pytest.mark.parametrize("spelling", ["grouped", "tiny", "inner"])
def test_tensor_cores_leave_a_thread_the_registers_that_it_is_compiled_with(spelling: str) -> None:
    def why(letter: str, device: Device, warps: int) -> list[str]:
        size = "16x16x2000" if spelling == "inner" else "16x16x16"
        p = listed(letter) if spelling == "grouped" else Problem.parse(f"{letter}:{size}@5000")[0]
        stencil = STENCILS[spelling]
        made = stencil.default(p, device).with_(
            mma=1 if spelling == "grouped" else 16, warps=warps, blocks=3 * device["sms"]
        )
        return [rule.name for rule in stencil.space(p, device).why(made)]

    # 1,152 threads of an SM have 56 registers each, 960 have 68.
    assert "mma-registers" in why("d", H200, 12)
    assert "mma-registers" not in why("d", H200, 10)
    assert "mma-registers" not in why("d", A100, 12), "its products have 8 rows"
    assert "mma-registers" not in why("h", H200, 12)


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    for letter in "zb":
        p = listed(letter, trans="ct" if letter == "z" else "tn")
        defines = [name for name, _ in GROUPED.source(p, GROUPED.default(p, H200), H200).defines]
        named_there = set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)) - (
            set() if letter == "b" else {"BRAIN"}
        )
        assert sorted(defines) == sorted(named_there)
    names = [param.name.upper() for param in GROUPED.space(p, H200).params]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(names) == sorted(re.findall(r"^#ifndef (\w+)$", block, re.M))


def test_hard_rules_are_asserted_by_their_names() -> None:
    hard = {rule.name for rule in GROUPED.space(listed("d"), H200).rules if rule.kind == "hard"}
    assert hard <= set(re.findall(r'"([a-z-]+): ', KERNEL))


def test_the_argument_has_the_bytes_that_the_kernel_says() -> None:
    assert f"packs {ARGUMENT.size} bytes" in dict(program("grouped")[1])["grouped/descriptor.cuh"]
    assert ARGUMENT.unpack(pack(64, 128, 5, 1 + 2j, 3)) == (64, 128, 1.0, 2.0, 3.0, 0.0, 5, 0)


# -- what is accepted --------------------------------------------------------------------------------------
def test_usual_problems_are_others_to_serve() -> None:
    p = Problem.parse("d:8x8x8@1000")[0]
    assert "tw.gemm_grouped" in (refused(GROUPED, p, H200) or "")
    assert refusal(STENCILS["grouped"], p.with_(pointers=True), H200)
    # Nor do stencils of usual problems get to see lists: a list has a key of its own.
    assert listed("d", 8).key != p.key


def test_what_is_refused() -> None:
    assert GROUPED.accepts(listed("d"), H200) is None
    assert GROUPED.accepts(listed("d"), A100) is None
    assert "2.0" in (GROUPED.accepts(listed("d"), FERMI) or "")
    assert "above 64" in (GROUPED.accepts(listed("s", 65), H200) or "")
    assert "nothing" in (GROUPED.accepts(listed("s").with_(batch=0), H200) or "")
    assert "fit" in (GROUPED.accepts(listed("z", 64, beta="1"), A100) or "")
    assert GROUPED.accepts(listed("z", 64, beta="1"), H200) is None


def test_extents_are_rounded_up_so_that_few_kernels_serve_all() -> None:
    digests = set()
    for top in range(25, 33):
        p = listed("s", top, count=top)
        digests.add(GROUPED.source(p, GROUPED.default(p, H200), H200).digest)
    assert len(digests) == 1
    assert products(DTYPES["s"], 3, 9, 0, "nn", 1).k == 4


# -- the choice --------------------------------------------------------------------------------------
@pytest.mark.parametrize("letter", LETTERS)
def test_the_default_obeys_every_rule(letter: str) -> None:
    for device in (H200, A100):
        for top in (1, 4, 5, 16, 20, 32, 33, 48, 64):
            for beta in ("0", "1", "any"):
                for trans in ("nn", "tt"):
                    p = listed(letter, top, trans, beta=beta)
                    if GROUPED.accepts(p, device) is not None:
                        continue
                    space, config = GROUPED.space(p, device), GROUPED.default(p, device)
                    assert config in space, (top, config, [rule.name for rule in space.why(config)])
                    launch = GROUPED.launch(p, config)
                    assert launch.shared <= device["shared_per_block_optin"]
                    assert config["ring"] >= largest(p)


def test_the_default_of_any_list_obeys_every_rule_where_a_config_does() -> None:
    draw = random.Random(1)
    for number in range(150):
        dtype, device = DTYPES[draw.choice(LETTERS)], (A100, H200, B200)[number % 3]
        m, n, k = (draw.randint(1, 64) for _ in range(3))
        letters = "ntcj" if dtype.is_complex else "nt"
        trans, beta = draw.choice(letters) + draw.choice(letters), draw.choice(("0", "1", "any"))
        p = products(dtype, m, n, k, trans, draw.choice((1, 100, 10_000)), beta=beta)
        if GROUPED.accepts(p, device) is None:
            space, config = GROUPED.space(p, device), GROUPED.default(p, device)
            assert space.member(config) is None
            broken = {rule.name for rule in space.why(config)}
            assert not broken or (broken == WEIGHED and not space.count()), (p, config, broken)


def test_products_of_which_three_fill_an_sm_have_as_many_warps() -> None:
    """No config has the four that ``warps-enough`` asks for: C is too narrow for teams."""
    p = products(DTYPES["z"], 64, 4, 64, "nn", 1000, beta="1")
    config = GROUPED.default(p, H200)
    assert (config["team"], config["warps"]) == (1, 3)
    assert {rule.name for rule in GROUPED.space(p, H200).why(config)} == WEIGHED
    assert GROUPED.space(p, H200).count() == 0


def test_every_constant_of_the_model_has_a_meaning() -> None:
    data = json.loads((Path(common.__file__).parent / "data" / "grouped.json").read_text())
    assert set(data["meaning"]) == set(fitted("grouped", H200))
    assert fitted("grouped", A100) == fitted("grouped", H200)


def test_blocks_follow_the_list() -> None:
    p = listed("d")
    config = GROUPED.default(p, H200)
    assert GROUPED.launch(p.with_(batch=7), config).grid == (7, 1, 1)
    assert GROUPED.launch(p, config).grid == (H200["sms"], 1, 1)


def test_tensor_cores_multiply_where_they_can() -> None:
    for letter in LETTERS:
        p = listed(letter)
        config, space = GROUPED.default(p, H200), GROUPED.space(p, H200)
        assert config["mma"] == (DTYPES[letter].real_bits != 32)
        assert config["fine"] == (letter == "c")
        if not config["mma"]:
            assert "mma-type" in [rule.name for rule in space.why(config.with_(mma=1))]
        else:
            assert "mma-tile" in [rule.name for rule in space.why(config.with_(rows=3))]


def test_two_places_are_enough_but_for_the_smallest_products() -> None:
    assert GROUPED.default(listed("d"), H200)["depth"] == 2
    assert GROUPED.default(listed("h", 4), H200)["depth"] == 4


def test_large_products_are_shared_by_warps() -> None:
    assert GROUPED.default(listed("s"), H200)["team"] == 1
    assert GROUPED.default(listed("d", 64), H200)["team"] > 1


def test_shared_memory_is_that_of_the_kernel() -> None:
    # Barriers for 4 places of 2 teams, as many descriptors of 64 bytes, the counter, and what it told.
    assert fixed_bytes(2, 4) == -(-(64 + 512 + 16 + 16) // 128) * 128
    assert shared_bytes(2, 4, 1600, 4) == fixed_bytes(2, 4) + 3200
    # Descriptors begin at multiples of 16 bytes, and are read by as many.
    assert fixed_bytes(15, 2) == -(-(240 + 1920 + 16 + 120) // 128) * 128
    assert registers(listed("z"), 4, 4) > registers(listed("s"), 4, 4)


def test_spaces_are_of_a_size_that_can_be_searched() -> None:
    for letter in LETTERS:
        space = GROUPED.space(listed(letter), H200)
        assert 100 < space.count() < 300_000
        assert isinstance(GROUPED.default(listed(letter), H200), Config)
        assert space.only(HARDWARE).count() >= space.count()


# -- descriptors -------------------------------------------------------------------------------------------
def row(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def test_the_product_with_most_work_comes_first() -> None:
    m = row(3, 30, 8)
    words = describe(DTYPES["d"], "nn", (m, m, m), (m * 0 + 64,) * 3, (m, m, m), m < 0)
    assert (words[:, 12] & 255).tolist() == [30, 8, 3]
    assert words[:, 15].tolist() == [1, 2, 0]
    assert words.shape == (3, 16)


def test_work_is_instructions_where_these_set_the_pace() -> None:
    m, n, k = row(8, 25), row(32, 9), row(32, 25)
    for letter, first in (("d", 0), ("s", 1), ("c", 1)):
        words = describe(DTYPES[letter], "nn", (m, n, k), (m * 0 + 64,) * 3, (m, k, m), m < 0)
        assert int(words[0, 15]) == first


def test_addresses_and_leading_dimensions_have_all_their_bits() -> None:
    one = row(2)
    where = (row(0x7F12_3456_789A_BCD0), row(0x10_0000_0008), row(0x18))
    words = describe(DTYPES["d"], "nn", (one, one, one), where, (row(-5), row(2**31 - 1), row(2)), one > 0)
    assert words[0, [0, 1, 4, 5, 8, 9]].tolist() == [0x789A_BCD0, 0x7F12_3456, 8, 0x10, 0x18, 0]
    assert words[0, [3, 7, 11]].view(np.int32).tolist() == [-5, 2**31 - 1, 2]


@pytest.mark.parametrize("letter", LETTERS)
def test_copies_fit_and_are_aligned(letter: str) -> None:
    """What the kernel relies on: words divide what they copy, columns do not meet, and regions hold them."""
    dtype, draw = DTYPES[letter], np.random.default_rng(1)
    size, count = dtype.itemsize, 4000
    for trans in ("nn", "tn", "nt", "tt"):
        m, n, k = (draw.integers(1, 65, count) for _ in range(3))
        a, b = ((k, m) if trans[0] == "t" else (m, k)), ((n, k) if trans[1] == "t" else (k, n))
        stored = (a, b, (m, n))
        gaps = [draw.choice([0, 0, 1, 2, 4, 8, 16], count) for _ in range(3)]
        lead = [rows + gap for (rows, _), gap in zip(stored, gaps, strict=True)]
        where = [size * draw.integers(1, 4000, count) for _ in range(3)]
        reads = draw.random(count) < 0.5
        words = describe(dtype, trans, (m, n, k), tuple(where), tuple(lead), reads).astype(np.int64)  # type: ignore[arg-type]
        order = words[:, 15]
        chunks = tuple(words[:, 4 * which + 2] & 8191 for which in range(3))
        taken = words[:, 14] & 0xFFFF
        for which in range(3):
            begin = 16 * sum(chunks[:which]) + where[which][order] % 16
            assert (words[:, 4 * which + 2] >> 13 == begin).all()
        assert (taken >= sum(chunks)).all()
        # Lanes beyond the last row of A or column of B read what comes next, which belongs to the product.
        if trans[0] == "n":
            assert (16 * taken >= 16 * chunks[0] + BEYOND * size).all()
        if trans[1] == "t":
            assert (16 * taken >= 16 * (chunks[0] + chunks[1]) + BEYOND * size).all()
        assert ((chunks[2] > 0) == reads[order]).all()
        p = products(dtype, 64, 64, 64, trans, count, beta="any")
        assert (16 * taken <= largest(p)).all()
        for which in range(2):
            rows, columns = (x[order] for x in stored[which])
            ld, start = lead[which][order], where[which][order]
            there = words[:, 13] >> 8 * which & 255
            log = words[:, 14] >> 16 + 4 * which & 15
            flat = log <= 1
            assert (ld[flat & (columns > 1)] == rows[flat & (columns > 1)]).all()
            assert (there[flat] == rows[flat]).all()
            end = start % 16 + ((columns - 1) * there + rows) * size
            assert (end <= 16 * chunks[which]).all()
            for bits in (2, 3, 4):
                word = 1 << bits
                some = log == bits
                if size == 2 and bits == 2:
                    # Words may reach one element over a column's ends, and columns keep their parity.
                    odd = some & ((start % 4 != 0) | (rows % 2 != 0) | ((columns > 1) & (ld % 2 != 0)))
                    assert (there[odd] > rows[odd]).all()
                    assert ((there[odd] - ld[odd]) % 2 == 0).all()
                    some = some & ~odd
                assert (there[some] >= rows[some]).all()
                for x in (start, rows * size, there * size, np.where(columns > 1, ld, 0) * size):
                    assert (x[some] % word == 0).all()


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_a_line_is_read_whole_where_its_last_byte_belongs_to_the_list(size: int) -> None:
    """Against every byte of memory, for operands that end at each byte of a line that they can end at."""
    draw, count = np.random.default_rng(size), 60
    for _ in range(20):
        operands = []
        for strided in (False, True, False):
            rows, columns = draw.integers(0, 9, count), draw.integers(0, 5, count)
            ld = np.maximum(rows, 1) + draw.integers(0, 3, count)
            where = size * draw.integers(1, 8000 // size, count)
            operands.append(Operand(where, ld, rows, columns, strided, rows >= 0))
        known = np.zeros(16_000, bool)
        spans = []
        for x in operands:
            reach = np.where((x.rows > 0) & (x.columns > 0), ((x.columns - 1) * x.ld + x.rows) * size, 0)
            spans.append((x.address, x.address + reach))
            for begin, end in zip(*spans[-1], strict=True):
                known[begin:end] = True
        for (begins, ends), whole in zip(spans, _bounded(operands, size), strict=True):
            some = ends > begins
            # The last line of an operand is the one that its last byte lies in.
            assert (whole[some] == known[(ends[some] - 1) | 15]).all()


def test_columns_that_would_meet_in_a_bank_get_a_gap() -> None:
    n = row(32)
    words = describe(DTYPES["s"], "nn", (n, n, n), (row(256),) * 3, (n, n, n), n < 0)
    # Lanes read different columns of B at a time, and rows of A.
    assert int(words[0, 13]) & 255 == 32
    assert int(words[0, 13]) >> 8 & 255 == 36
    assert int(words[0, 14]) >> 16 == 4 << 4
    # Not where words are narrow, nor for tensor cores.
    for letter, address in (("s", 264), ("d", 256)):
        words = describe(DTYPES[letter], "nn", (n, n, n), (row(address),) * 3, (n, n, n), n < 0)
        assert int(words[0, 14]) >> 16 & 0xEEE == 0


def test_a_line_is_read_whole_where_all_of_it_is_known() -> None:
    one = row(1, 1, 1)
    a, b, c = row(256, 260, 268), row(512, 1024, 2048), row(4096, 8192, 9216)
    words = describe(
        DTYPES["s"], "nn", (one, one, row(1, 2, 1)), (a, b, c), (one, row(1, 2, 1), one), one < 0
    )
    by_number = words[np.argsort(words[:, 15])]
    # The line at 256 is full, for the third A has its end; the second B ends within a line of its own.
    assert (by_number[:, 14] >> 16 & 15).tolist() == [0, 0, 0]
    assert (by_number[:, 14] >> 20 & 15).tolist() == [1, 1, 1]
    # C is not read.
    assert (by_number[:, 14] >> 24).tolist() == [0, 0, 0]
    end = describe(DTYPES["d"], "nn", (one, one, one), (row(264, 264, 264),) * 3, (one,) * 3, one > 0)
    assert (end[:, 14] >> 16).tolist() == [0, 0, 0]


def test_launches_overlap_where_the_kernel_waits_by_itself() -> None:
    p = listed("s", count=1000)
    chosen = GROUPED.default(p, H200)
    assert GROUPED.launch(p, chosen).overlap == bool(chosen["bulk"])
    assert not GROUPED.launch(p, chosen.with_(bulk=0)).overlap


def test_some_of_middle_size_come_before_the_largest() -> None:
    sizes = np.arange(1, 61, dtype=np.int64).repeat(50)
    order = _order(DTYPES["d"], sizes, sizes, sizes, np.zeros(len(sizes), bool))
    assert sorted(order) == list(range(len(sizes)))
    front = len(sizes) // 10
    assert sizes[order[:front]].max() <= 31 < sizes[order[front]] == 60
    assert (np.diff(sizes[order[front : len(sizes) // 2]]) <= 0).all()
