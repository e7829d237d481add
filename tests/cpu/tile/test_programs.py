"""The programs of ``tile``: as they were, with a fence at the end of streams, with prefetches in time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cpu.tile.pretence import AVX2, AVX512, TILE
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.targets.cpu import llvm

pytestmark = pytest.mark.cpu

GOLDEN = Path(__file__).parents[2] / "golden"

KERNELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tile-d-3x3x3-staged": ("tile", "d:3x3x3", {"store": "staged"}),
    "tile-d-8x8x8-stream": ("tile", "d:8x8x8", {"store": "stream", "prefetch": 4, "level": 2}),
    "tile-d-8x8x8-spread": ("tile", "d:8x8x8", {"beta": "1", "blk_k": 4, "prefetch": 2, "spread": 1}),
    "lanes-d-2x2x2-stream": ("lanes", "d:2x2x2", {"store": "stream", "prefetch": 4}),
    "lanes-d-2x2x2": ("lanes", "d:2x2x2", {}),
    "tile-d-4x4x4": ("tile", "d:4x4x4", {}),
    "folds-d-3x2x5": ("folds", "d:tn:3x2x5", {"beta": "1"}),
    "tile-z-3x3x3": ("tile", "z:3x3x3", {}),
    "tile-s-5x3x4-mask": ("tile", "s:5x3x4", {"tail": "mask"}),
    "tile-h-5x3x4": ("tile", "h:5x3x4", {"beta": "1"}),
    "tile-b-3x3x3": ("tile", "b:3x3x3", {}),
    "lanes-hc-2x1x2": ("lanes", "hc:2x1x2", {}),
}


@pytest.mark.parametrize("device", [AVX512, AVX2], ids=lambda d: d.key)
@pytest.mark.parametrize("name", KERNELS)
def test_the_programs_are_as_they_were(name: str, device: Device, request: pytest.FixtureRequest) -> None:
    """What is written for a few small kernels, to be read in a review (``--update-golden``)."""
    stencil, spelling, changes = KERNELS[name]
    (problem,) = Problem.parse(spelling, beta=changes.get("beta", "0"))
    changes = {name: value for name, value in changes.items() if name != "beta"}
    default = STENCILS[stencil].default(problem, device)
    if changes.get("tail") == "mask" and not device["masks"]:
        changes = {}
    config = default.with_(**changes)
    # A parameter that came later is named where it says anything, so that older files stay as they were.
    shown = config if config.get("spread") else Config({k: v for k, v in config.items() if k != "spread"})
    text = (
        f"; {problem.key} {device.key}\n; {shown}\n{STENCILS[stencil].source(problem, config, device).text}"
    )
    path = GOLDEN / f"{name}.{device.key}.ll"
    if request.config.getoption("--update-golden"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; if it should, run pytest --update-golden"
    llvm.parse(text)


def test_streams_end_with_a_fence_and_staged_results_too() -> None:
    """Another thread that sees the call done must see its results: the fence comes after the last of them."""
    for store, problem in (("stream", "d:8x8x8"), ("staged", "d:9x9x9")):
        (asked,) = Problem.parse(problem)
        config = TILE.default(asked, AVX512).with_(store=store)
        text = TILE.source(asked, config, AVX512).text
        entry = text[text.index("define void @tilewright_kernel(") :]
        after = entry[entry.index(f"call void @tilewright_kernel_{store}(") :]
        assert after.splitlines()[1].strip() == "call void @llvm.x86.sse.sfence()"


def test_prefetches_are_as_far_ahead_as_the_config_says() -> None:
    (problem,) = Problem.parse("d:8x8x8", beta="1")
    for prefetch in (1, 2, 4):
        for spread in (0, 1):
            config = TILE.default(problem, AVX512).with_(prefetch=prefetch, spread=spread)
            text = TILE.source(problem, config, AVX512).text
            for stride in ("%sa", "%sb", "%sc"):
                assert text.count(f"mul i64 {stride}, {prefetch}\n") == 1


def test_prefetches_of_all_operands_come_evenly() -> None:
    """No step of k asks for more than its part: bursts fill the queue of misses, and the loads wait."""
    (problem,) = Problem.parse("d:16x16x16", beta="1")
    config = TILE.default(problem, AVX512).with_(prefetch=2, blk_k=16, roll=0)
    most = {}
    for spread in (0, 1):
        lines = TILE.source(problem, config.with_(spread=spread), AVX512).text.splitlines()
        asks = [number for number, line in enumerate(lines) if "call void @llvm.prefetch" in line]
        assert len(asks) == 3 * 16 * 16 * 8 // 64
        most[spread] = [line for line in lines if "@llvm.prefetch" in line and "i32 1, i32 3" in line]
        first = next(number for number, line in enumerate(lines) if "i32 1, i32 3, i32 1" in line)
        if spread:
            # C's first line is asked for among the first, not after all of A and B.
            assert asks.index(first) <= 3
        else:
            assert asks.index(first) == 2 * 16 * 16 * 8 // 64
    assert len(most[0]) == len(most[1]) == 16 * 16 * 8 // 64
    looped = config.with_(blk_k=4, spread=1)
    text = TILE.source(problem, looped, AVX512).text
    assert ".p = phi ptr" in text
    assert ".p1 = phi ptr" in text
    assert ".p2 = phi ptr" in text


def test_a_transposed_operand_is_asked_for_while_the_last_one_is_turned() -> None:
    """Of few columns most of the lines, of many the fewer; each of them once, all the same."""
    before = {}
    for n in (2, 24):
        problem = Problem(DTYPES["d"], 40, n, 40, "t", "n", beta="1", batch=9)
        config = TILE.default(problem, AVX512).with_(prefetch=2, blk_k=40, roll=0)
        every = sum(-(-8 * reals // 64) for reals in (40 * 40, 40 * n, 40 * n))
        for spread in (0, 1):
            text = TILE.source(problem, config.with_(spread=spread), AVX512).text
            assert text.count("call void @llvm.prefetch") == every
            before[n, spread] = text[: text.index("= fmul <")].count("call void @llvm.prefetch") / every
    assert before[2, 0] == before[24, 0] == 0
    assert before[2, 1] > 0.5 > before[24, 1] > 0


@pytest.mark.parametrize("grain_of", ["tile", "lanes"])
def test_a_core_is_woken_for_some_microseconds_of_work(grain_of: str) -> None:
    """6 us at 20 flop or bytes a nanosecond are 120,000 of either."""
    for spelling, products in (("d:2x2x2", 1250), ("d:4x4x4", 312), ("s:8x8x8", 117)):
        (problem,) = Problem.parse(spelling)
        config = STENCILS[grain_of].default(problem, AVX512)
        assert STENCILS[grain_of].launch(problem, config).grain == products
    (large,) = Problem.parse("d:64x64x64")
    assert TILE.launch(large, TILE.default(large, AVX512)).grain == 1
