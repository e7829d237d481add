"""The stencil of experts through NVRTC, and its code run without a GPU: borders, boxes that reach out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tests.emulator.segments as emulated
from tests.emulator.segments import problem, segments_wrongs
from tilewright.errors import CompileError
from tilewright.model import SegmentedProblem
from tilewright.stencils.cuda.experts.stencil import ExpertsStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

EXPERTS = ExpertsStencil()
H200 = named("h200")
FEW = {"tile_m": 64, "tile_n": 16, "stages": 2, "blocks": H200["sms"]}
PAIRS = {"tile_n": 32}


@pytest.mark.parametrize(
    ("spelling", "axis", "rows"),
    [
        ("b:nn", "n", 4),
        ("h:nt", "k", 120),
        ("b:nt", "k", 16),
        ("h:tt", "m", 500),
        ("b:nn", "n", 500),
        ("hc:nn", "n", 500),
        ("hc:cn", "n", 500),
        ("hc:nn", "n", 120),
        ("hc:tn", "n", 40),
        ("hc:nn", "n", 16),
        ("hc:nc", "k", 500),
        ("hc:tn", "m", 300),
        ("hc:tt", "m", 300),
    ],
)
def test_defaults_spill_nothing(spelling: str, axis: str, rows: int) -> None:
    size = {"m": (8 * rows, 1024, 512), "n": (1024, 8 * rows, 512), "k": (1024, 512, 8 * rows)}[axis]
    p = problem(spelling, axis, size, 8)
    facts = nvrtc.compile(EXPERTS.source(p, EXPERTS.default(p, H200), H200), H200).facts
    assert (facts["spills"], facts["stack"], facts["warnings"]) == (0, 0, 0), p.key


def test_a_hard_rule_speaks_when_it_is_broken() -> None:
    p = problem("h:nn", "n", (64, 64, 64), 4)
    broken = EXPERTS.default(p, H200).with_(tile_n=24)
    assert "tile_n" in (EXPERTS.space(p, H200).member(broken) or "")
    with pytest.raises(CompileError, match="tile-n"):
        nvrtc.compile(EXPERTS.source(p, broken, H200), H200)


CASES: list[tuple[SegmentedProblem, list[int], dict[str, Any]]] = [
    # A group of nothing, columns that are no group's, and boxes that reach into the next group.
    (problem("h:nn", "n", (72, 40, 72), 3, gap=8), [9, 9, 30], {}),
    # Rows that are split are written one by one; borders that run backwards and past the end.
    (problem("b:tt", "m", (40, 24, 72), 2, wide=True), [33, 99], {"tile_n": 32}),
    # What is behind the end of a split k is set to zero.
    (problem("h:nt", "k", (64, 16, 72), 3), [9, 9, 70], {}),
    # Complex halves whose A runs across k and along it, and is a conjugate; offsets that run backwards.
    (problem("hc:nn", "n", (36, 40, 37), 3, gap=8).with_(ldb=40), [9, 9, 30], PAIRS),
    (problem("hc:jn", "n", (72, 40, 36), 2), [33, 20], PAIRS | {"tile_m": 128, "tile_n": 64}),
    (problem("hc:cn", "n", (36, 40, 36), 3, sizes=True, wide=True), [1, 0, 90], PAIRS),
    # B is turned, and what is behind the end of a split k set to zero in both.
    (problem("hc:nc", "k", (64, 16, 40), 3), [3, 3, 39], PAIRS),
    (problem("hc:jt", "k", (68, 40, 70), 2), [33, 70], PAIRS | {"tile_m": 128, "tile_n": 64, "stages": 3}),
    # Rows that are split, with B along k and turned.
    (problem("hc:tn", "m", (40, 24, 36), 2, wide=True), [33, 99], PAIRS),
    (problem("hc:ct", "m", (40, 24, 36), 2), [-3, 20], PAIRS),
]


@pytest.mark.parametrize(("p", "offsets", "fixed"), CASES, ids=lambda value: getattr(value, "key", ""))
def test_the_code_finds_groups_and_writes_nothing_else(
    p: SegmentedProblem, offsets: list[int], fixed: dict[str, Any]
) -> None:
    assert EXPERTS.accepts(p, H200) is None
    config = EXPERTS.default(p, H200).with_(**(FEW | fixed))
    assert list(segments_wrongs(p, offsets, config, H200, stencil="experts")) == []


def test_numbers_of_other_groups_do_not_come_into_sums_along_k(monkeypatch: pytest.MonkeyPatch) -> None:
    p = problem("hc:nc", "k", (64, 16, 40), 3)
    made = emulated.drawn(p, [3, 5, 39])
    for values, leading in zip(made.values[:2], (p.lda, p.ldb), strict=True):
        values.view(np.float16).reshape(-1, 2)[3 * leading : 5 * leading] = np.nan
    monkeypatch.setattr(emulated, "drawn", lambda *_: made)
    config = EXPERTS.default(p, H200).with_(**(FEW | PAIRS))
    (wrong,) = segments_wrongs(p, [3, 5, 39], config, H200, stencil="experts")
    # No number equals what is none: these are all elements of the second group.
    assert wrong.endswith(f": {p.m * p.n} elements")
