"""The space of the stencil of very small matrices, its choice without a search, and what both promise."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright.stencils.cuda.tiny.stencil as module
from tilewright.model import DTYPES, Config, Problem
from tilewright.space import HARDWARE, KINDS
from tilewright.stencils.cuda import common
from tilewright.stencils.cuda.common import fitted, units
from tilewright.stencils.cuda.source import LAUNCHED, program
from tilewright.stencils.cuda.tiny.needs import (
    flat,
    registers,
    shared_bytes,
    spaced,
    stage_bytes,
    taken,
    whole,
)
from tilewright.stencils.cuda.tiny.stencil import TinyStencil
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

TINY = TinyStencil()
FERMI, A100, H200 = named("fermi-s2050"), named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("tiny")[1])["lib/problem.cuh"]

LETTERS = tuple(DTYPES)


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


def padded(p: Problem) -> Problem:
    lda, ldb, ldc = ((ld or 0) + 1 for ld in (p.lda, p.ldb, p.ldc))
    return p.with_(
        lda=lda, ldb=ldb, ldc=ldc, stride_a=lda * p.k + 3, stride_b=ldb * p.n + 3, stride_c=ldc * p.n + 3
    )


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("hc:ct:5x6x7@1000")
    defines = [name for name, _ in TINY.source(p, TINY.default(p, H200), H200).defines]
    assert sorted(defines) == sorted(set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)))
    assert len(set(defines)) == len(defines)
    names = [param.name.upper() for param in TINY.space(p, H200).params if param.name not in LAUNCHED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(names) == sorted(re.findall(r"^#ifndef (\w+)$", block, re.M))


def test_hard_rules_are_asserted_by_their_names() -> None:
    space = TINY.space(problem("d:8x8x8@1000"), H200)
    hard = {rule.name for rule in space.rules if rule.kind == "hard"}
    asserted = set(re.findall(r'"([a-z-]+): ', KERNEL))
    assert hard - {"no-ring"} <= asserted, hard - asserted


def test_headers_travel_with_the_kernel() -> None:
    p = problem("s:8x8x8@1000")
    source = TINY.source(p, TINY.default(p, H200), H200)
    included = re.findall(r'#include "(.*)"', KERNEL)
    assert set(included) <= {name for name, _ in source.headers}
    assert source.entry == "tiny"


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("spelling", "fields", "word"),
    [
        ("d:65x66x8@10", {}, "65x66x8"),
        ("d:641x2x2@10", {}, "641x2x2"),
        # One long extent is taken where bulk copies bring it: not by words, nor if a stage is too large.
        ("d:65x8x8@10", {"align": 8}, "bulk copies"),
        ("d:65x8x8@10", {"pointers": True}, "bulk copies"),
        ("s:201x47x47@10", {}, "bulk copies"),
        ("d:8x8x0@10", {}, "nothing"),
        ("z:64x64x64@10", {}, "fit"),
        ("d:8x8x8@10", {"align": 4}, "multiples of 4"),
        ("d:8x8x8@10", {"stride_c": 0}, "one C"),
    ],
)
def test_what_is_refused(spelling: str, fields: dict[str, int], word: str) -> None:
    assert word in (TINY.accepts(problem(spelling, **fields), H200) or "")


@pytest.mark.parametrize("spelling", ["s:81x10x9", "d:2x640x2", "c:5x7x128", "h:65x9x5", "z:90x3x4"])
@pytest.mark.parametrize("count", [1, 100_000])
def test_one_extent_may_be_long_where_bulk_copies_bring_it(spelling: str, count: int) -> None:
    p = problem(f"{spelling}@{count}")
    assert TINY.accepts(p, H200) is None
    assert TINY.default(p, H200)["path"] == "bulk"
    assert "bulk copies" in (TINY.accepts(p, A100) or "")


def test_devices() -> None:
    p = problem("d:8x8x8@1000")
    assert TINY.accepts(p, A100) is None
    assert "2.0" in (TINY.accepts(p, FERMI) or "")
    # Bulk copies are for later devices than words.
    space = TINY.space(p, A100)
    assert {config["path"] for config in space} == {"async"}
    assert TINY.default(p, A100)["path"] == "async"
    assert TINY.default(p, H200)["path"] == "bulk"


# -- layouts -------------------------------------------------------------------------------------------------
def test_layouts() -> None:
    p = problem("d:5x6x7@100")
    assert flat(p) == (True, True, True)
    assert units(p) == (8, 8, 8)  # columns of 40 and 56 bytes
    assert units(problem("d:6x6x6@100")) == (16, 16, 16)
    assert flat(padded(p)) == (False, False, False)
    assert flat(p.with_(stride_a=0)) == (False, True, True)
    assert whole(p) == 2
    assert whole(problem("s:5x5x5@100")) == 4
    assert whole(problem("s:5x5x5@100", stride_a=0, stride_b=0)) == 4
    assert whole(problem("d:4x4x5@100")) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"align": 8},
        {"stride_b": 35},
        {"stride_b": -36},
        {"stride_a": 10**6},
        {"ldc": 10**6, "stride_c": 10**7},
    ],
    ids=["moved", "overlapping", "backwards", "far", "long"],
)
def test_what_is_no_stream_goes_by_words(fields: dict[str, int]) -> None:
    p = problem("d:6x6x6@1000000", **fields)
    config = TINY.default(p, H200)
    assert config["path"] == "async"
    broken = [rule.name for rule in TINY.space(p, H200).why(config.with_(path="bulk"))]
    assert {"bulk-flat", "bulk-aligned"} & set(broken)
    assert ("LEAD_B", "0") in TINY.source(p, config, H200).defines


def test_padding_and_gaps_in_a_rhythm_are_a_stream() -> None:
    plain = problem("d:6x6x6@1000000", beta="1")
    p = padded(plain)
    assert spaced(plain) == ((0, 0), (0, 0), (0, 0))
    assert spaced(p) == ((7, 45), (7, 45), (7, 45))
    assert (whole(plain), whole(p)) == (1, 2)
    config = TINY.default(p, H200)
    assert config["path"] == "bulk"
    assert config["group"] % 2 == 0
    defines = TINY.source(p, config, H200).defines
    assert {("LEAD_A", "7"), ("NEXT_A", "45"), ("LEAD_C", "7"), ("NEXT_C", "45")} <= set(defines)
    # In shared memory they lie as they do in device memory; by words they are packed.
    assert stage_bytes(p, 16, 0, "bulk") == 3 * 5760
    assert stage_bytes(p, 16, 0, "async") == 3 * 4608
    assert shared_bytes(p, "bulk", 16, 2, 0) == 128 + 2 * 3 * 5760 + 2 * 5760
    # One operand may be padded and another not, or shared.
    some = problem("d:6x6x6@1000000", ldc=7, stride_a=0)
    assert spaced(some) == ((0, 0), (0, 0), (7, 42))
    assert TINY.default(some, H200)["path"] == "bulk"
    # What is not staged is compiled once for all leading dimensions.
    assert ("LEAD_A", "0") in TINY.source(p, config.with_(path="plain"), H200).defines


def test_much_padding_is_not_copied() -> None:
    # Columns of 64 bytes, each second line of 64 bytes: half of the bytes need not come.
    p = problem("d:8x8x8@1000000", lda=16, ldb=16, ldc=16)
    assert taken(p) == (512, 512, 512)
    assert TINY.default(p, H200)["path"] == "async"
    # Columns of 16 bytes, each in a sector of its own: all of them must come.
    p = problem("h:8x8x8@1000000", lda=16, ldb=16, ldc=16)
    assert taken(p) == (256, 256, 256)
    assert TINY.default(p, H200)["path"] == "bulk"


def test_a_shared_operand_is_in_no_stage() -> None:
    p = problem("d:8x8x8@1000", beta="1")
    assert stage_bytes(p, 4, 0) == 3 * 4 * 512
    once = p.with_(stride_a=0)
    assert stage_bytes(once, 4, 0) == 2 * 4 * 512
    assert shared_bytes(once, "bulk", 4, 2, 0) == 128 + 512 + 2 * 2 * 2048 + 2 * 2048
    assert shared_bytes(p, "async", 4, 2, 0) == 2 * 3 * 2048
    assert shared_bytes(p, "plain", 4, 1, 0) == 0
    assert TINY.default(once, H200)["path"] == "bulk"


# -- the choice --------------------------------------------------------------------------------------
@pytest.mark.parametrize("letter", LETTERS)
def test_the_default_obeys_every_rule(letter: str) -> None:
    for turn, (device, n) in enumerate(product((H200, A100), range(1, 33))):
        # Each size with two kinds of beta, one on each device, and with others than the next type has.
        beta = ("0", "1", "any")[(turn + LETTERS.index(letter)) % 3]
        p = problem(f"{letter}:{n}x{n}x{n}@3000000", beta=beta)
        space, config = TINY.space(p, device), TINY.default(p, device)
        assert config in space, (n, config, [rule.name for rule in space.why(config)])
        assert registers(p, config["mma"], config["rows"], config["columns"]) <= 255
        launch = TINY.launch(p, config)
        groups, ends = -(-p.batch // config["group"]), config["per_block"]
        assert launch.grid[0] == (-(-groups // ends) if ends else config["blocks"])
        assert launch.shared <= device["shared_per_block_optin"]


TRANS = ("nt", "tn", "tt")
SIZES = ("1x2x3", "32x1x17", "3x32x8", "31x29x30", "64x8x8", "7x40x5")


@pytest.mark.parametrize("trans", TRANS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("letter", LETTERS)
def test_the_default_breaks_no_hard_rule_of_any_shape(letter: str, size: str, trans: str) -> None:
    # Each batch with one of the ways in which matrices lie, and with other ones of the next shape.
    first = LETTERS.index(letter) + SIZES.index(size) + TRANS.index(trans)
    served = 0
    for turn, batch in enumerate((1, 5, 1000, 10**6)):
        p = problem(f"{letter}:{trans}:{size}@{batch}", beta="1")
        ways = (p, p.with_(align=p.dtype.itemsize), p.with_(stride_a=0), p.with_(pointers=True))
        asked = ways[(first + turn) % 4]
        if TINY.accepts(asked, H200) is None:
            space, config = TINY.space(asked, H200), TINY.default(asked, H200)
            broken = [rule.name for rule in space.why(config) if rule.kind in HARDWARE]
            assert broken == [], config
            assert all(config[param.name] in param.values for param in space.params), config
            served += 1
    assert served


@given(st.data())
def test_the_default_of_any_problem_obeys_every_rule(data: st.DataObject) -> None:
    """Where no ring keeps memory busy, nothing is staged, and then the rules of hardware alone are kept."""
    letter = data.draw(st.sampled_from(LETTERS))
    m, n, k = (data.draw(st.integers(1, 64)) for _ in range(3))
    trans = data.draw(st.sampled_from(("nn", "nt", "tn", "tt", "cn", "nc")))
    batch = data.draw(st.sampled_from((1, 7, 300, 10**4, 10**6)))
    beta = data.draw(st.sampled_from(("0", "1", "any")))
    p = problem(f"{letter}:{trans}:{m}x{n}x{k}@{batch}", beta=beta)
    forms = (p, padded(p), p.with_(align=p.dtype.itemsize), p.with_(stride_b=0), p.with_(pointers=True))
    p = data.draw(st.sampled_from(forms))
    device = data.draw(st.sampled_from((H200, A100, named("b200"))))
    if TINY.accepts(p, device) is None:
        space, config = TINY.space(p, device), TINY.default(p, device)
        assert space.member(config, KINDS if config["path"] != "plain" else HARDWARE) is None


def test_every_constant_of_the_model_has_a_meaning() -> None:
    data = json.loads((Path(common.__file__).parent / "data" / "tiny.json").read_text())
    assert set(data["meaning"]) == set(fitted("tiny", H200))
    assert fitted("tiny", A100) == fitted("tiny", H200)
    # What is listed by size is a tile that a thread may have.
    for size, tiles in fitted("tiny", H200)["few_conflicts"].items():
        for extent, tile in tiles.items():
            letter = {"4": "s", "8": "d"}[size]
            part = TINY.space(problem(f"{letter}:{extent}x{extent}x{extent}@1000"), H200).part(
                ("mma", "rows", "columns")
            )
            assert {"mma": 0, "rows": tile[0], "columns": tile[1]} in part


def test_the_choice_is_quick(calls_of: Callable[[Callable[[], object]], int]) -> None:
    """Counted, not timed: every new size pays for these calls."""
    for letter in LETTERS:
        for n in (4, 17, 32):
            p = problem(f"{letter}:{n}x{n}x{n}@3000000")
            assert calls_of(lambda p=p: TINY.default(p, H200)) < 5_000, p.spelling


def test_blocks_follow_the_batch() -> None:
    p = problem("d:8x8x8@3000000")
    config = TINY.default(p, H200)
    assert TINY.launch(p.with_(batch=1), config).grid[0] <= config["blocks"]
    assert TINY.launch(p.with_(batch=10 * config["group"]), config).grid[0] >= 10
    assert ("BLOCKS", str(config["blocks"] // 132)) in TINY.source(p, config, H200).defines


def test_matrices_by_their_addresses_are_read_by_words() -> None:
    p = problem("d:8x8x8@3000000", pointers=True)
    config = TINY.default(p, H200)
    assert config["path"] == "async"
    assert ("POINTERS", "1") in TINY.source(p, config, H200).defines
    assert "bulk-stream" in [rule.name for rule in TINY.space(p, H200).why(config.with_(path="bulk"))]
    # Addresses of 2 STAGES - 1 groups lie in shared memory.
    strided = shared_bytes(p.with_(pointers=False), "async", 8, 3, 0)
    assert shared_bytes(p, "async", 8, 3, 0) == strided + 5 * 3 * 8 * 8


def test_tensor_cores_are_for_halves_of_eight_and_more() -> None:
    for letter in ("h", "b", "hc"):
        assert TINY.default(problem(f"{letter}:8x8x8@3000000"), H200)["mma"] == 16
        assert TINY.default(problem(f"{letter}:5x5x5@3000000"), H200)["mma"] == 0
    space = TINY.space(problem("h:16x16x16@3000000"), H200)
    config = TINY.default(problem("h:16x16x16@3000000"), H200)
    assert "mma-rows" in [rule.name for rule in space.why(config.with_(mma=8))]


@pytest.mark.parametrize("beta", ["0", "1"])
@pytest.mark.parametrize(
    ("letter", "sizes"), [("d", {16: 1, 20: 0, 24: 0, 32: 1}), ("z", {16: 1, 20: 0, 24: 1, 32: 1})]
)
def test_lanes_take_turns_where_they_meet_in_banks(letter: str, sizes: dict[int, int], beta: str) -> None:
    """Of 24 numbers of float64 three fragments are asked for in no other order."""
    for n, turn in sizes.items():
        config = TINY.default(problem(f"{letter}:{n}x{n}x{n}@100000", beta=beta), H200)
        assert (config["mma"] > 0, config["turn"]) == (True, turn), n


@pytest.mark.parametrize("letter", ["h", "b"])
def test_threads_read_odd_halves_by_words(letter: str) -> None:
    """All columns of C each; of order 9 a few where both operands move, all where the whole batch has one."""
    p = problem(f"{letter}:9x9x9@500000")
    for fields, columns in (({}, 3), ({"stride_a": 0}, 9), ({"stride_b": 0}, 9)):
        config = TINY.default(p.with_(**fields), H200)
        assert (config["odd"], config["rows"], config["columns"]) == (1, 9, columns)
    for size, columns in (("7x7x7", 7), ("5x5x5", 5), ("9x9x5", 9), ("5x15x5", 15), ("9x5x9", 5)):
        config = TINY.default(problem(f"{letter}:{size}@500000"), H200)
        assert (config["odd"], config["columns"]) == (1, columns)
    for size in ("9x9x10", "11x11x11", "3x3x3", "5x17x5"):
        assert TINY.default(problem(f"{letter}:{size}@500000"), H200)["odd"] == 0


@pytest.mark.parametrize("size", ["9x15x5", "3x15x9", "1x9x25", "25x3x1"])
def test_where_no_ring_reads_by_words_another_one_is_chosen(size: str) -> None:
    config = TINY.default(problem(f"h:{size}@800000"), H200)
    assert config["path"] != "plain"


def test_the_batch_is_not_compiled_in() -> None:
    p = problem("d:8x8x8@3000000")
    config = TINY.default(p, H200)
    digests = {TINY.source(p.with_(batch=b), config, H200).digest for b in (1, 3, 3000000)}
    assert len(digests) == 1


def test_spaces_are_of_a_size_that_can_be_searched() -> None:
    for letter in LETTERS:
        for n in (1, 4, 17, 32):
            p = Problem(DTYPES[letter], n, n, n, batch=10**6)
            assert 20 < TINY.space(p, H200).count() < 400_000


def test_a_config_is_what_the_space_names() -> None:
    p = problem("s:7x7x7@1000")
    assert isinstance(TINY.default(p, H200), Config)
    assert list(TINY.default(p, H200)) == [param.name for param in TINY.space(p, H200).params]
