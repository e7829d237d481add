"""The stencil for tensor cores through NVRTC: no spills, no warnings, and the resident blocks fit."""

from __future__ import annotations

import re

import pytest

from tests import marks
from tilewright.errors import CompileError
from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.tensor.stencil import TensorStencil
from tilewright.targets.cuda import disassemble, nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

TENSOR = TensorStencil()
A100, H200 = named("a100"), named("h200")
SIZES = (8, 16, 17, 32, 64, 100, 128, 256)
LETTERS = ("h", "b", "hc", "d", "z")


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


def compiled(p: Problem, config: Config, device: Device) -> dict[str, int]:
    facts = dict(nvrtc.compile(TENSOR.source(p, config, device), device).facts)
    assert facts["warnings"] == 0, (p.key, config)
    return facts


# One size of three, others on the other device and of the next type, with one transposition of two.
DEFAULTS = [
    (letter, device, n, ("nn", "tt")[(turn // 2 + (device is A100)) % 2])
    for turn, letter in enumerate(LETTERS)
    for device in (H200, A100)
    for n in SIZES[(turn + (device is A100)) % 3 :: 3]
]


@pytest.mark.sweep
@pytest.mark.parametrize(("letter", "device", "n", "trans"), DEFAULTS, ids=marks.key)
def test_defaults_keep_what_they_promise(letter: str, device: Device, n: int, trans: str) -> None:
    p = problem(f"{letter}:{trans}:{n}x{n}x{n}@20000", beta="any" if trans == "tt" else "0", alpha="any")
    config = TENSOR.default(p, device)
    facts = compiled(p, config, device)
    assert (facts["spills"], facts["stack"]) == (0, 0), (p.key, config, facts)
    per_sm, threads = config["blocks"] // device["sms"], config["dim_x"] * config["dim_y"]
    assert per_sm * threads * -(-facts["registers"] // 8) * 8 <= device["registers_per_sm"]


@pytest.mark.parametrize(("spelling", "device"), [("b:tt:236x236x236", H200), ("h:nt:256x256x256", A100)])
def test_c_is_read_beside_as_many_sums_as_there_may_be(spelling: str, device: Device) -> None:
    p = problem(f"{spelling}@20000", beta="any", alpha="any")
    config = TENSOR.default(p, device)
    facts = compiled(p, config, device)
    assert (facts["spills"], facts["stack"]) == (0, 0), (config, facts)


@pytest.mark.sweep
@pytest.mark.parametrize("device", [H200, A100], ids=["sm_90a", "sm_80"])
@pytest.mark.parametrize(
    ("spelling", "beta"),
    [("h:nn:33x33x33", "1"), ("b:tt:65x17x33", "any"), ("h:nn:66x66x66", "1"), ("h:nn:17x17x17", "0")],
)
def test_narrow_vectors_leave_sums_in_registers(spelling: str, beta: str, device: Device) -> None:
    """Columns that begin anywhere: C is read and written by many vectors of an element or two."""
    p = problem(f"{spelling}@100000", beta=beta)
    config = TENSOR.default(p, device)
    facts = compiled(p, config, device)
    assert (facts["spills"], facts["stack"]) == (0, 0), (config, facts)


# Each type with all shapes and with all transpositions: such pairs as the soft rules leave something of.
SHAPED = [
    (letter, f"{kind}-{tc}", trans)
    for kind, letter, pairs in (
        ("b16", "h", "16x16x16 nn, 32x8x16 tn, 8x32x16 tt, 16x8x16 nt"),
        ("b16", "b", "16x16x16 tt, 32x8x16 nn, 8x32x16 tn, 16x8x16 nt"),
        ("b16", "hc", "16x16x16 nt, 32x8x16 tn, 8x32x16 tt, 16x8x16 nn"),
        ("f64", "d", "8x8x4 tn, 16x8x4 nn, 16x8x8 tt, 16x8x16 nt"),
        ("f64", "z", "8x8x4 nn, 16x8x4 tt, 16x8x8 nt, 16x8x16 tn"),
    )
    for tc, trans in (pair.split() for pair in pairs.split(", "))
]
"""Products of 16 bits and of float64 are other instructions, also where they have the same shape."""


@pytest.mark.sweep
@pytest.mark.parametrize(("letter", "shape", "trans"), SHAPED)
def test_every_shape_and_transposition(letter: str, shape: str, trans: str) -> None:
    tc = shape.split("-")[1]
    # On the newer device soft rules leave nothing of the smallest products.
    device = A100 if tc == "8x8x4" else H200
    p = problem(f"{letter}:{trans}:48x40x56@1000", alpha="any", beta="any")
    space = TENSOR.space(p, device).only((*HARDWARE, "soft")).restricted(tc=tc, blocks=2 * device["sms"])
    (config,) = space.sample(1, seed=len(letter + tc) + sum(map(ord, trans)))
    compiled(p, config, device)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("letter", "trans", "split"),
    [
        (letter, trans, ("registers", "shared")[(number + (letter == "z")) % 2])
        for letter in ("hc", "z")
        for number, trans in enumerate(("cc", "jn", "nc", "jt"))
    ],
)
def test_conjugates(letter: str, trans: str, split: str) -> None:
    p = problem(f"{letter}:{trans}:64x64x64@1000")
    config = TENSOR.default(p, H200).with_(blk_m=64, blk_n=32, blk_k=16, group=1, warps_m=2)
    config = config.with_(dim_x=16, dim_y=8, split=split, stages=1, ahead=0, blocks=2 * H200["sms"])
    assert not any(rule.kind in HARDWARE for rule in TENSOR.space(p, H200).why(config))
    assert compiled(p, config, H200)["spills"] == 0


@pytest.mark.parametrize(("letter", "beta"), [("h", "0"), ("h", "any"), ("b", "0"), ("hc", "0"), ("d", "1")])
def test_what_is_loaded_ahead_fits_in_registers(letter: str, beta: str) -> None:
    p = problem(f"{letter}:256x256x256@1000", beta=beta, alpha="any")
    config = TENSOR.default(p, H200).with_(tc="16x8x16", blk_m=64, blk_n=64, blk_k=32, group=1, warps_m=2)
    config = config.with_(dim_x=8, dim_y=16, stages=3, ahead=1, blocks=2 * H200["sms"])
    if letter == "d":
        config = config.with_(tc="16x8x4", blk_k=16)
    assert not any(rule.kind in HARDWARE for rule in TENSOR.space(p, H200).why(config))
    assert compiled(p, config, H200)["spills"] == 0


def stores(p: Problem) -> set[str]:
    """The widths of what the default writes to device memory."""
    text = disassemble.sass(nvrtc.compile(TENSOR.source(p, TENSOR.default(p, H200), H200), H200))
    return set(re.findall(r"\bSTG\.E\S*", text))


@pytest.mark.skipif(disassemble.disassembler() is None, reason="no disassembler is here")
@pytest.mark.parametrize("letter", LETTERS)
def test_results_are_written_in_wide_words(letter: str) -> None:
    # What a lane holds of pairs are two neighbours in a column: 8 lanes write 64 bytes.
    width = "STG.E.64" if letter == "hc" else "STG.E.128"
    assert width in stores(problem(f"{letter}:64x64x64@1000", beta=("0", "any")[LETTERS.index(letter) % 2]))


@pytest.mark.skipif(disassemble.disassembler() is None, reason="no disassembler is here")
def test_a_word_of_halves_is_not_taken_apart() -> None:
    # What is left are single halves, where a tile reaches beyond C.
    assert stores(problem("h:64x64x64@1000")) == {"STG.E.128", "STG.E.U16"}


def hottest(text: str) -> list[str]:
    """The instructions of the smallest loop that has the most products of tensor cores."""
    lines: list[str] = []
    labels: dict[str, int] = {}
    found: list[tuple[int, int, list[str]]] = []
    for line in text.splitlines():
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label[1]] = len(lines)
        elif instruction := re.search(r"/\*[0-9a-f]{4,5}\*/\s+(.*?)\s*;", line):
            lines.append(instruction[1])
            back = re.search(r"BRA.*`\((\.L_x_\d+)\)", instruction[1])
            if back and back[1] in labels:
                loop = lines[labels[back[1]] :]
                found.append((sum("HMMA" in word for word in loop), -len(loop), loop))
    return max(found)[2]


@pytest.mark.skipif(disassemble.disassembler() is None, reason="no disassembler is here")
@pytest.mark.parametrize("trans", ["nn", "tt"])
def test_what_is_loaded_of_pairs_lies_where_tensor_cores_want_it(trans: str) -> None:
    p = problem(f"hc:{trans}:256x256x256@1000")
    config = TENSOR.default(p, H200).with_(tc="16x8x16", blk_m=128, blk_n=128, blk_k=32, group=1)
    config = config.with_(warps_m=2, dim_x=8, dim_y=32, stages=3, ahead=1, blocks=H200["sms"])
    loop = hottest(disassemble.sass(nvrtc.compile(TENSOR.source(p, config, H200), H200)))
    assert sum("HMMA" in word for word in loop) == 128
    # Registers are moved where addresses of a tile are made, and nowhere else: it was three for each product.
    assert sum(re.match(r"(@\S+ )?(MOV|IMAD\.MOV)", word) is not None for word in loop) < 64


def in_groups(
    p: Problem, tile: tuple[int, int], warps: tuple[int, int], stages: int, per_sm: int, early_c: int = 0
) -> Config:
    """A config of warp groups, the rest as the type wants it."""
    wide, split = 16 // p.dtype.itemsize, "registers" if p.dtype.is_complex else "none"
    return Config(
        {"tc": "64x8x16", "split": split, "stages": stages, "ahead": 0, "early_c": early_c}
        | {"vec": wide, "vec_c": wide, "blk_k": 8 * wide, "blk_m": tile[0], "blk_n": tile[1], "dim_x": 8}
        | {"dim_y": 4 * warps[0] * warps[1], "group": 1, "warps_m": warps[0]}
        | {"blocks": per_sm * H200["sms"]}
    )


@pytest.mark.parametrize(
    ("letter", "trans", "tile", "warps", "stages", "per_sm", "beta", "early_c"),
    [
        ("hc", "nn", (128, 128), (8, 1), 4, 1, "any", 0),
        ("h", "nn", (128, 256), (8, 1), 4, 1, "any", 0),
        ("b", "tn", (64, 64), (4, 1), 4, 3, "0", 0),
        ("h", "nn", (128, 96), (4, 1), 3, 2, "any", 0),
        ("hc", "cj", (64, 64), (4, 1), 3, 3, "any", 1),
        ("h", "nn", (128, 128), (4, 2), 4, 1, "any", 1),
        ("b", "tn", (192, 96), (4, 2), 4, 1, "any", 1),
    ],
)
def test_products_of_warp_groups_are_not_waited_for(
    letter: str,
    trans: str,
    tile: tuple[int, int],
    warps: tuple[int, int],
    stages: int,
    per_sm: int,
    beta: str,
    early_c: int,
) -> None:
    p = problem(f"{letter}:{trans}:256x256x256@1000", beta=beta, alpha="any")
    config = in_groups(p, tile, warps, stages, per_sm, early_c)
    assert TENSOR.space(p, H200).why(config) == []
    # ptxas warns of products that it has waited for one by one.
    assert compiled(p, config, H200)["spills"] == 0
    if disassemble.disassembler() is not None:
        text = disassemble.sass(nvrtc.compile(TENSOR.source(p, config, H200), H200))
        each = tile[0] // warps[0] // 16 * (2 if p.dtype.is_complex else 1)
        assert len(re.findall(r"\bHGMMA", text)) == 4 * each


@pytest.mark.parametrize(
    ("letter", "device"), [("h", H200), ("hc", H200), ("d", H200), ("b", A100), ("z", A100)]
)
def test_c_comes_early_without_registers(letter: str, device: Device) -> None:
    p = problem(f"{letter}:96x96x96@1000", beta="1", alpha="any")
    config = TENSOR.default(p, device).with_(blk_m=96, blk_n=24 if letter == "z" else 48, blk_k=16, group=1)
    config = config.with_(warps_m=3, dim_x=4, dim_y=24, stages=3, ahead=0, early_c=1, blocks=device["sms"])
    assert not any(rule.kind in HARDWARE for rule in TENSOR.space(p, device).why(config))
    facts = compiled(p, config, device)
    assert facts["spills"] == 0
    assert facts["registers"] <= compiled(p, config.with_(early_c=0), device)["registers"] + 8
    if disassemble.disassembler() is not None:
        # Of C no more than single elements, where a word of it is not whole, is read into registers.
        text = disassemble.sass(nvrtc.compile(TENSOR.source(p, config, device), device))
        assert all(int(bits) <= 8 * p.dtype.itemsize for bits in re.findall(r"\bLDG\.E\.(\d+)", text))


def test_a_hard_rule_speaks_when_it_is_broken() -> None:
    p = problem("hc:64x64x64@1000")
    config = TENSOR.default(p, H200).with_(blk_m=64, blk_n=32, blk_k=32, group=1, warps_m=1, stages=2)
    config = config.with_(dim_x=16, dim_y=8, ahead=0, blocks=2 * H200["sms"])
    assert not any(rule.kind in HARDWARE for rule in TENSOR.space(p, H200).why(config))
    for changes, words in (
        ({"tc": "8x8x4"}, "tc-type"),
        ({"tc": "16x16x16", "split": "registers"}, "wmma-planes"),
        ({"split": "shared", "stages": 2}, "planes-by-registers"),
        ({"stages": 1, "ahead": 1}, "ahead-copies"),
        ({"early_c": 1}, "early-read"),
        ({"vec": 8}, "access-width"),
        ({"vec_c": 8}, "access-width-c"),
        ({"blk_m": 8}, "tile-dealt-m"),
        ({"group": 8}, "group-warps"),
    ):
        broken = config.with_(**changes)
        assert words in [rule.name for rule in TENSOR.space(p, H200).why(broken)]
        with pytest.raises(CompileError, match=words):
            nvrtc.compile(TENSOR.source(p, broken, H200), H200)
    read = problem("h:63x63x63@1000", beta="1")
    config = TENSOR.default(read, H200).with_(early_c=1)
    for changes, words in (({"stages": 1}, "early-copies"), ({"stages": 2, "vec_c": 1}, "early-width")):
        broken = config.with_(**changes)
        assert words in [rule.name for rule in TENSOR.space(read, H200).why(broken)]
        with pytest.raises(CompileError, match=words):
            nvrtc.compile(TENSOR.source(read, broken, H200), H200)


def test_a_hard_rule_of_warp_groups_speaks_when_it_is_broken() -> None:
    p = problem("hc:64x64x64@1000")
    config = in_groups(p, (64, 64), (4, 1), 4, 1)
    for changes, words in (
        ({"ahead": 1}, "ahead-mma"),
        ({"dim_y": 32, "warps_m": 2}, "wgmma-group"),
        ({"blk_n": 24}, "wgmma-columns"),
        ({"blk_k": 64}, "wgmma-step"),
        ({"vec": 2}, "wgmma-words"),
        ({"stages": 2}, "wgmma-stages"),
        ({"split": "shared", "stages": 1}, "wgmma-pairs"),
    ):
        broken = config.with_(**changes)
        assert words in [rule.name for rule in TENSOR.space(p, H200).why(broken)]
        with pytest.raises(CompileError, match=words):
            nvrtc.compile(TENSOR.source(p, broken, H200), H200)
    assert "wgmma-device" in [rule.name for rule in TENSOR.space(p, A100).why(config)]
    with pytest.raises(CompileError, match="wgmma-device"):
        nvrtc.compile(TENSOR.source(p, config, A100), A100)
