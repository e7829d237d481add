"""The stencil of chains through NVRTC: no spills, no warnings, and the resident blocks fit."""

from __future__ import annotations

import pytest

from bench.sanitize import chains
from tests.chains import LETTERS, covariance
from tilewright.errors import CompileError
from tilewright.model import DTYPES, ChainProblem, Config, Device
from tilewright.stencils.cuda.chain.stencil import ChainStencil
from tilewright.targets.cuda import disassemble, nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

CHAIN = ChainStencil()
A100, H200 = named("a100"), named("h200")


def promised(p: ChainProblem, config: Config, device: Device) -> None:
    """No spills, no warnings, and as many blocks as are to stay on an SM leave each other its registers."""
    facts = nvrtc.compile(CHAIN.source(p, config, device), device).facts
    assert (facts["spills"], facts["stack"], facts["warnings"]) == (0, 0, 0), (p.key, config, facts)
    per_sm, threads = config["blocks"] // device["sms"], 32 * config["warps"]
    assert per_sm * threads * -(-facts["registers"] // 8) * 8 <= device["registers_per_sm"]


@pytest.mark.parametrize(
    ("letter", "device"),
    [*((letter, H200) for letter in LETTERS), *((letter, A100) for letter in ("s", "z", "hc"))],
    ids=[*LETTERS, "s-sm_80", "z-sm_80", "hc-sm_80"],
)
def test_defaults_keep_what_they_promise(letter: str, device: Device) -> None:
    n = 32 if device is H200 else 13
    p = covariance(letter, n, 1_000_000, shared=letter in "sdh")
    promised(p, CHAIN.default(p, device), device)


def test_strips_of_complex_numbers_leave_room_where_an_operand_is_shared() -> None:
    p = covariance("z", 27, 1_000_000, shared=True)
    assert CHAIN.default(p, H200)["mma"] == 16
    promised(p, CHAIN.default(p, H200), H200)


@pytest.mark.parametrize("turn", range(6))
def test_every_form(turn: int) -> None:
    """Letters of factors in turns, both associations, two factors and three, packed and with gaps."""
    letter, extents = LETTERS[turn % len(LETTERS)], chains.CHAINS[turn % len(chains.CHAINS)]
    p = chains.chain(DTYPES[letter], extents, turn % 2, turn).with_(batch=1_000_000)
    promised(p, CHAIN.default(p, H200), H200)


def test_bulk_copies_bring_and_take_what_is_packed() -> None:
    p = covariance("s", 8, 1_000_000)
    text = disassemble.ptx(CHAIN.source(p, CHAIN.default(p, H200), H200), H200)
    assert "cp.async.bulk.shared::cluster.global" in text
    assert "cp.async.bulk.global.shared::cta" in text
    # Elements come and go sixteen bytes at a time.
    assert "ld.shared.v2" in text


@pytest.mark.parametrize(
    ("changes", "words"), [({"group": 1}, "bulk-whole"), ({"stages": 1}, "ring")], ids=["whole", "ring"]
)
def test_a_hard_rule_speaks_when_it_is_broken(changes: dict[str, int], words: str) -> None:
    p = covariance("s", 5, 1_000_000)
    broken = CHAIN.default(p, H200).with_(**changes)
    assert words in [rule.name for rule in CHAIN.space(p, H200).why(broken)]
    with pytest.raises(CompileError, match=words):
        nvrtc.compile(CHAIN.source(p, broken, H200), H200)


def test_gaps_and_odd_addresses_are_not_for_bulk_copies() -> None:
    packed = covariance("s", 5, 1_000_000)
    config = CHAIN.default(packed, H200)
    assert config["path"] == "bulk"
    gapped = chains.chain(DTYPES["s"], (8, 8, 8, 8), 1, 1).with_(batch=1_000_000)
    for p, words in ((packed.with_(align=8), "bulk-aligned"), (gapped, "bulk-packed")):
        assert words in [rule.name for rule in CHAIN.space(p, H200).why(config)]
        with pytest.raises(CompileError, match=words):
            nvrtc.compile(CHAIN.source(p, config, H200), H200)
