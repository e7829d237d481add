"""Random problems under random configs of ``tile`` are right."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cpu.tile.pretence import TILE, walk
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.space import HARDWARE
from tilewright.targets.cpu import llvm, processor
from tilewright.tuning.gemm.verify import Verifier

pytestmark = pytest.mark.cpu

SERVED = [
    letter
    for letter, dtype in DTYPES.items()
    if TILE.accepts(Problem(dtype, 4, 4, 4), processor.probe()) is None
]
"""The types of this processor: an old one has no instructions for float16."""


def check(problem: Problem, config: Config, device: Device, seed: int = 0) -> None:
    """Compile, load, and verify under every condition of the verifier."""
    binary = llvm.compile(TILE.source(problem, config, device), device)
    kernel = llvm.load(binary)
    call = llvm.PROTOTYPE(kernel.address)
    verdict = Verifier(problem, seed).check(lambda made: call(*made.arguments))
    assert verdict.ok, f"{problem.key}, {config}: {verdict.why}"


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    most = draw(st.sampled_from([4, 9, 20, 20, 33, 64]))
    size = st.integers(1, most)
    dtype = DTYPES[draw(st.sampled_from(SERVED))]
    m, n = draw(size), draw(size)
    k = draw(st.one_of(size, size, st.just(0)))
    if m * n * k > 20_000:
        m, n = min(m, 17), min(n, 17)
    letter = st.sampled_from("ntcj")
    p = Problem(dtype, m, n, k, draw(letter), draw(letter))
    pad = st.sampled_from([0, 0, 1, 3, 8])
    changed: dict[str, Any] = {f"ld{x}": getattr(p, f"ld{x}") + draw(pad) for x in "abc"}
    shared = draw(st.sampled_from(["", "", "a", "b", "ab"]))
    changed |= {f"stride_{x}": 0 for x in shared}
    changed |= {
        "alpha": draw(st.sampled_from(["1", "any"])),
        "beta": draw(st.sampled_from(["0", "1", "any"])),
    }
    changed |= {f"stride_{x}": None for x in "abc" if x not in shared}
    return p.with_(**changed)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(problems(), st.integers(0, 10**6), st.booleans())
def test_random_configs_are_right(problem: Problem, seed: int, all_rules: bool) -> None:
    device = processor.probe()
    assert TILE.accepts(problem, device) is None
    space = TILE.space(problem, device)
    config = walk(space if all_rules else space.only(HARDWARE), seed)
    if config is None:
        config = TILE.default(problem, device)
    assert not [rule for rule in space.why(config) if rule.kind in HARDWARE]
    check(problem, config, device, seed)


@pytest.mark.parametrize("store", ["plain", "staged"])
@pytest.mark.parametrize("letter", SERVED)
def test_a_sum_over_nothing_is_written_however_results_leave(letter: str, store: str) -> None:
    device, problem = processor.probe(), Problem(DTYPES[letter], 3, 2, 0, batch=5)
    config = TILE.default(problem, device).with_(store=store)
    assert not [rule for rule in TILE.space(problem, device).why(config) if rule.kind in HARDWARE]
    check(problem, config, device)


@pytest.mark.parametrize("letter", [letter for letter in SERVED if letter not in ("s", "c")])
@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("tail", ["mask", "narrow", "binary", "overlap"])
def test_every_tail_of_every_width(letter: str, bits: int, tail: str) -> None:
    device = processor.probe()
    tried = 0
    for m in (3, 5, 7, 11):
        problem = Problem(DTYPES[letter], m, 3, 4, beta="1")
        space = TILE.space(problem, device).only(HARDWARE)
        values = {param.name: param.values for param in space.params}
        if bits in values["vector_bits"] and tail in values["tail"]:
            config = walk(space.restricted(vector_bits=bits, tail=tail), m)
            if config is not None:
                tried += 1
                check(problem, config, device)
    if not tried:
        pytest.skip("no such vectors here")


@pytest.mark.parametrize("letter", "szb")
def test_streaming_stores_where_they_fit_and_where_not(letter: str) -> None:
    device = processor.probe()
    n = 64 * 8 // DTYPES[letter].sum_bits // (2 if DTYPES[letter].is_complex else 1)
    problem = Problem(DTYPES[letter], n, 3, 4)
    space = TILE.space(problem, device).only(HARDWARE).restricted(store="stream")
    for seed in range(3):
        config = walk(space, seed)
        assert config is not None
        check(problem, config, device)
