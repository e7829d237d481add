"""The stencil of very small matrices through NVRTC: no spills, no warnings, and the resident blocks fit."""

from __future__ import annotations

import pytest

from tests import marks
from tilewright.errors import CompileError
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.tiny.stencil import TinyStencil
from tilewright.targets.cuda import disassemble, nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

TINY = TinyStencil()
A100, H200 = named("a100"), named("h200")
LETTERS = tuple(DTYPES)
SIZES = (1, 2, 3, 4, 5, 8, 13, 16, 17, 24, 31, 32)


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


def compiled(p: Problem, config: Config, device: Device) -> dict[str, int]:
    facts = dict(nvrtc.compile(TINY.source(p, config, device), device).facts)
    assert facts["warnings"] == 0, (p.key, config)
    return facts


def some(turn: int) -> tuple[int, ...]:
    """Of the sizes one in six, others each turn, without the largest, which has tests of its own."""
    return SIZES[turn % 6 : -1 : 6]


BETAS = ("0", "1", "any")
# Half of the sizes with one beta or another, the other half of the next type: a compilation takes as long as
# all else here.
SMALLER = [
    (letter, n, beta)
    for turn, letter in enumerate(LETTERS)
    for number, beta in enumerate(BETAS)
    for n in some(2 * number + turn)
]
LARGEST = [(letter, SIZES[-1], BETAS[turn % 3]) for turn, letter in enumerate(LETTERS)]
"""Where registers are shortest, with one of the betas."""


def promised(p: Problem, device: Device) -> None:
    """The default spills nothing, and the blocks that are to stay on an SM fit."""
    config = TINY.default(p, device)
    facts = compiled(p, config, device)
    assert (facts["spills"], facts["stack"]) == (0, 0), (p.key, config, facts)
    per_sm, threads = config["blocks"] // device["sms"], 32 * config["warps"]
    assert per_sm * threads * -(-facts["registers"] // 8) * 8 <= device["registers_per_sm"]


def default_of(letter: str, n: int, beta: str, device: Device) -> None:
    promised(
        problem(f"{letter}:{n}x{n}x{n}@3000000", beta=beta, alpha="any" if beta == "any" else "1"), device
    )


@pytest.mark.sweep
@pytest.mark.parametrize(("letter", "n", "beta"), SMALLER)
def test_defaults_keep_what_they_promise(letter: str, n: int, beta: str) -> None:
    default_of(letter, n, beta, H200)


@pytest.mark.parametrize(("letter", "n", "beta"), LARGEST)
def test_defaults_of_the_largest_size_keep_what_they_promise(letter: str, n: int, beta: str) -> None:
    default_of(letter, n, beta, H200)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("letter", "n"),
    [(letter, n) for turn, letter in enumerate(LETTERS) for n in (*some(turn), SIZES[-1])],
)
def test_defaults_of_a_device_without_bulk_copies(letter: str, n: int) -> None:
    default_of(letter, n, "1", A100)


@pytest.mark.parametrize("spelling", ["s:nn:81x10x9", "d:tt:9x81x10", "c:nt:5x7x128", "h:tn:300x4x5"])
def test_defaults_of_one_long_extent(spelling: str) -> None:
    p = problem(f"{spelling}@100000", beta="any", alpha="any")
    facts = compiled(p, TINY.default(p, H200), H200)
    assert (facts["spills"], facts["stack"]) == (0, 0)


PATHS = ("plain", "async", "bulk")
TRANS = ("nn", "nt", "tn", "tt", "cj", "jc")
SPELLINGS = ("s:5x6x7", "d:17x9x12", "c:8x3x4", "z:16x24x10", "h:17x24x18", "b:16x8x16", "hc:9x16x24")
PAIRED = [
    (spelling, ways[(number + number // 2 + turn) % len(ways)], PATHS[(2 * number + turn) % 3])
    for number, spelling in enumerate(SPELLINGS)
    for ways in (TRANS if DTYPES[spelling.split(":")[0]].is_complex else TRANS[:4],)
    for turn in range(3)
]
PAIRED += [("d:17x9x12", "tn", "async"), ("d:17x9x12", "tt", "bulk")]
"""Every type with every path, each with another transposition, and every transposition with every path."""


@pytest.mark.sweep
@pytest.mark.parametrize(("spelling", "trans", "path"), PAIRED)
def test_every_path_and_transposition(spelling: str, trans: str, path: str) -> None:
    letter, size = spelling.split(":")
    p = problem(f"{letter}:{trans}:{size}@100000", alpha="any", beta="any")
    space = TINY.space(p, H200).only(HARDWARE).restricted(path=path, blocks=2 * H200["sms"])
    drawn = space.sample(20, seed=len(spelling + trans + path))
    # Tiles of any size are right, and those that are too large are slow.
    compiled(p, next(c for c in drawn if c["rows"] * c["columns"] <= 64 or c["mma"]), H200)


@pytest.mark.parametrize("mma", [8, 16])
@pytest.mark.parametrize("letter", "dz")
def test_tensor_cores_multiply(letter: str, mma: int) -> None:
    p = problem(f"{letter}:16x16x16@100000")
    config = TINY.default(p, H200).with_(mma=mma, rows=16, columns=8)
    code = nvrtc.compile(TINY.source(p, config, H200), H200)
    assert code.facts["spills"] == 0


HALVES = ("8x8x8", "16x16x16", "17x17x17", "24x40x33", "64x64x64")
# One transposition of four, another one for the next size, type and device.
OF_HALVES = [
    (letter, device, size, ("nn", "tt", "nt", "tn")[(number + turn + 2 * (device is H200)) % 4])
    for turn, letter in enumerate(("h", "b", "hc"))
    for device in (A100, H200)
    for number, size in enumerate(HALVES)
]


@pytest.mark.sweep
@pytest.mark.parametrize(("letter", "device", "size", "trans"), OF_HALVES, ids=marks.key)
def test_tensor_cores_multiply_halves(letter: str, device: Device, size: str, trans: str) -> None:
    """No spills; without a ring there are no products of tensor cores."""
    p = problem(f"{letter}:{trans}:{size}@100000")
    config = TINY.default(p, device)
    assert (config["mma"] == 16) == (config["path"] != "plain"), config
    assert compiled(p, config, device)["spills"] == 0


@pytest.mark.parametrize("letter", ["h", "b", "hc"])
def test_products_of_tensor_cores_are_of_this_type(letter: str) -> None:
    kind = "bf16.bf16" if letter == "b" else "f16.f16"
    device = A100 if letter == "b" else H200
    p = problem(f"{letter}:16x16x16@100000")
    config = TINY.default(p, device)
    assert config["mma"] == 16
    assert f".f32.{kind}.f32" in disassemble.ptx(TINY.source(p, config, device), device)


def padded(p: Problem, by: int, which: str = "abc") -> Problem:
    """Columns so much longer, the batch without other gaps."""
    lds = {"a": p.m, "b": p.k, "c": p.m}
    cols = {"a": p.k, "b": p.n, "c": p.n}
    fields = {f"ld{x}": lds[x] + by for x in which} | {f"stride_{x}": (lds[x] + by) * cols[x] for x in which}
    return p.with_(**fields)


PADS = ((5, 1), (8, 2), (16, 1), (17, 1), (24, 1), (32, 2))


# Two sizes each, others with the other beta and of the next type.
PADDED = [
    (letter, beta, n, by)
    for turn, letter in enumerate(LETTERS)
    for beta in ("0", "1")
    for n, by in PADS[(turn + (beta == "1")) % 3 :: 3]
]


@pytest.mark.sweep
@pytest.mark.parametrize(("letter", "beta", "n", "by"), PADDED)
def test_padded_columns_keep_what_is_promised(letter: str, beta: str, n: int, by: int) -> None:
    p = padded(problem(f"{letter}:{n}x{n}x{n}@3000000", beta=beta), by)
    assert TINY.default(p, H200)["path"] == "bulk"
    promised(p, H200)


@pytest.mark.parametrize("which", ["ab", "c"])
def test_only_what_has_no_padding_leaves_by_bulk_copies(which: str) -> None:
    p = padded(problem("d:8x8x8@3000000", beta="1"), 1, which)
    text = disassemble.ptx(TINY.source(p, TINY.default(p, H200), H200), H200)
    assert "cp.async.bulk.shared::cluster.global" in text
    assert ("cp.async.bulk.global.shared::cta" in text) == ("c" not in which)


@pytest.mark.parametrize("path", ["plain", "async"])
@pytest.mark.parametrize("spelling", ["d:8x8x8", "h:7x7x7", "hc:16x16x16"])
def test_matrices_by_their_addresses(spelling: str, path: str) -> None:
    p = problem(f"{spelling}@100000", pointers=True, beta="1")
    space = TINY.space(p, H200).only(HARDWARE).restricted(path=path, blocks=2 * H200["sms"], mma=0)
    compiled(p, min(space.sample(20, seed=3), key=lambda c: c["rows"] * c["columns"]), H200)


def test_a_hard_rule_speaks_when_it_is_broken() -> None:
    p = problem("d:5x5x5@100000")
    config = TINY.default(p, H200)
    for changes, words in (
        ({"group": 3}, "bulk-whole"),
        ({"stages": 1}, "ring"),
        ({"pad": 1}, "pad"),
        ({"mma": 8, "rows": 5}, "mma-tile"),
    ):
        broken = config.with_(**changes)
        assert words in [rule.name for rule in TINY.space(p, H200).why(broken)]
        with pytest.raises(CompileError, match=words):
            nvrtc.compile(TINY.source(p, broken, H200), H200)
