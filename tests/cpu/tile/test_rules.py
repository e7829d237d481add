"""The rules of ``tile``: what breaks one is refused, what just fits is not."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.cpu.tile.pretence import AVX2, AVX512, TILE, walk
from tilewright.errors import ArgumentError
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.space import HARDWARE
from tilewright.targets.cpu import processor

pytestmark = pytest.mark.cpu


def test_records_from_before_a_parameter_mean_what_they_meant() -> None:
    (problem,) = Problem.parse("d:16x16x16")
    new = TILE.default(problem, AVX512).with_(prefetch=4)
    old = Config({name: value for name, value in new.items() if name != "spread"})
    space = TILE.space(problem, AVX512)
    assert [rule.name for rule in space.why(old)] == [rule.name for rule in space.why(new)]
    assert TILE.source(problem, old, AVX512).text == TILE.source(problem, new, AVX512).text
    assert TILE.source(problem, new.with_(spread=1), AVX512).text != TILE.source(problem, new, AVX512).text


@pytest.mark.parametrize("ldc", [8, 9, 12, 16])
def test_streaming_asks_the_leading_dimension(ldc: int) -> None:
    """A column that does not begin on a vector's boundary would be a fault, not only a slow store."""
    (problem,) = Problem.parse("d:8x8x8", ldc=ldc)
    space = TILE.space(problem, AVX512)
    config = TILE.default(problem, AVX512).with_(vector_bits=512, tail="mask", store="stream")
    broken = "stream-aligned" in [rule.name for rule in space.why(config)]
    assert broken == (ldc % 8 > 0)


def test_what_just_fits_is_let_through() -> None:
    (problem,) = Problem.parse("d:24x24x24")
    space = TILE.space(problem, AVX512)
    base = TILE.default(problem, AVX512).with_(
        vector_bits=512, blk_m=3, blk_n=8, reg_a=3, reg_b=5, inner="column"
    )

    def broken(**changes: Any) -> set[str]:
        return {rule.name for rule in space.why(base.with_(**changes))}

    assert "registers" not in broken()
    assert "registers" in broken(reg_b=6)
    # 24 + 1 sums beside one vector of A: 31 + 1 fit, 32 + 1 do not.
    (tall,) = Problem.parse("d:8x31x9")
    rows = TILE.space(tall.with_(n=28), AVX512)
    wide = TILE.default(tall.with_(n=28), AVX512).with_(vector_bits=512, blk_m=1, blk_n=28, reg_a=1, reg_b=3)
    assert not {"registers", "registers-of-c"} & {rule.name for rule in rows.why(wide)}
    assert "registers" in {rule.name for rule in rows.why(wide.with_(reg_b=4))}
    # A vector moved up may begin where the column does, and not before.
    for m, fits in ((3, False), (4, True), (5, False)):
        (column,) = Problem.parse(f"d:{m}x4x4")
        moved = TILE.default(column, AVX512).with_(vector_bits=512, tail="overlap", blk_m=1, reg_a=1)
        names = {rule.name for rule in TILE.space(column, AVX512).why(moved)}
        assert ("overlap-has-room" not in names) == fits
    # A loop over k that runs twice is a loop.
    (twice,) = Problem.parse("d:8x8x16")
    loops = TILE.space(twice, AVX512)
    assert "k-loop-turns" not in {r.name for r in loops.why(TILE.default(twice, AVX512).with_(blk_k=8))}


def broken_by(rule: str, device: Device) -> Iterator[tuple[Problem, Config]]:
    """Configs that break a rule of the kinds that nobody may break, and no other such rule before it."""
    for spelling in ("d:16x16x16", "d:7x9x5", "z:3x5x9", "s:20x4x3", "s:5x3x4", "d:1x1x4", "c:9x9x9"):
        for beta in "01":
            (problem,) = Problem.parse(spelling, beta=beta)
            space = TILE.space(problem, device).only(HARDWARE)
            base = walk(space, 3)
            assert base is not None
            for start in (TILE.default(problem, device), base):
                for param in space.params:
                    for value in param.values:
                        config = start.with_(**{param.name: value})
                        if [each.name for each in space.why(config)][:1] == [rule]:
                            yield problem, config


RULES = [
    rule.name
    for rule in TILE.space(Problem.parse("z:7x9x5")[0], AVX512).rules
    if rule.kind in ("hard", "queryable")
]


@pytest.mark.parametrize("rule", RULES)
def test_what_breaks_a_rule_is_refused(rule: str) -> None:
    found = next(broken_by(rule, processor.probe()), None)
    if found is None:
        pytest.skip("nothing breaks this rule first on this machine")
    problem, config = found
    dtype = problem.dtype.name
    # Row-major arrays: the kernel's A is the second operand.
    a, b = np.ones((problem.n, problem.k), dtype), np.ones((problem.k, problem.m), dtype)
    c = np.ones((problem.n, problem.m), dtype)
    options = {"beta": int(problem.beta), "out": c, "stencil": "tile"}
    asked = tw.plan(a, b, c, **options).plan.problem
    assert (asked.m, asked.n, asked.k) == (problem.m, problem.n, problem.k)
    with pytest.raises(ArgumentError, match=f"breaks '{rule}'"):
        tw.plan(a, b, c, **options, config=dict(config))


def test_every_rule_can_be_put_to_the_test() -> None:
    """Three cannot on a processor with masks, where the test above skips them: "masks" itself, and those that
    the shapes there reach on narrower vectors alone."""
    missing = {rule for rule in RULES if next(broken_by(rule, AVX2), None) is None}
    assert missing == set()
    missing = {rule for rule in RULES if next(broken_by(rule, AVX512), None) is None}
    assert missing <= {"masks", "equal-rows", "registers"}


def test_what_the_stencil_does_not_accept() -> None:
    device = dataclasses.replace(processor.probe(), supports=frozenset())
    for problem, words in (
        (Problem(DTYPES["h"], 4, 4, 4), "type h needs a processor that converts float16"),
        (Problem(DTYPES["hc"], 4, 4, 4), "type hc needs"),
        (Problem(DTYPES["d"], 65, 4, 4), "larger than 64"),
        (Problem(DTYPES["d"], 0, 4, 4), "nothing to compute"),
    ):
        assert words in str(TILE.accepts(problem, device))
