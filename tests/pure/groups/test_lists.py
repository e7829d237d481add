"""Lists of products as problems: their spelling, and what they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.pure.groups.lists import H200, MIX, RANGES, listed
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError
from tilewright.model import (
    MANY,
    GroupedProblem,
    Problem,
    parsed,
)
from tilewright.planning.candidates import refusal
from tilewright.stencils.protocol import refused
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (RANGES, RANGES),
        (MIX, "d:nn:8x8x8@100+16x16x16@50"),
        ("hc:ct:1..4x5x6..7@3+9x9x9@1", "hc:ct:1..4x5x6..7@3+9x9x9@1"),
        ("d:8..8x8x8@5", "d:nn:8..8x8x8@5"),
        (" z:tn:3x4..5x6@7 ", "z:tn:3x4..5x6@7"),
    ],
)
def test_a_spelling_comes_back(text: str, same: str) -> None:
    assert GroupedProblem.spells(text)
    (found,) = parsed(text)
    assert isinstance(found, GroupedProblem)
    assert found.spelling == same
    assert GroupedProblem.parse(found.spelling) == found
    assert GroupedProblem.parse(found.spelling).terms == found.terms


@pytest.mark.parametrize("text", ["d:8x8x8@100", "d:2..32", "d:2..32@10", "z:nt:4x4x4", "hc:nn:1x2x3@4"])
def test_problems_and_ranges_of_problems_are_no_lists(text: str) -> None:
    assert not GroupedProblem.spells(text)
    assert parsed(text) == Problem.parse(text)
    with pytest.raises(ArgumentError, match="is not understood"):
        GroupedProblem.parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("d:8x8x8+4x4x4@2", "is not understood"),
        ("d:1..4x2x2", "is not understood"),
        ("q:1..4x2x2@3", "is not understood"),
        ("d:4..1x2x2@3", "runs backwards"),
        ("d:0..4x2x2@3", "has a zero"),
        ("d:1x1x1@0+2x2x2@1", "has a zero"),
    ],
)
def test_what_is_not_understood(text: str, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        parsed(text)


def test_operations_and_bytes_are_those_of_its_products() -> None:
    p = listed("z:nt:3x4x5@10+20x1x7@30", beta="any")
    m, n, k = p.sizes(3)
    assert (
        sorted(zip(m.tolist(), n.tolist(), k.tolist(), strict=True)) == [(3, 4, 5)] * 10 + [(20, 1, 7)] * 30
    )
    assert p.flops * p.batch == pytest.approx(8 * (m * n * k).sum())
    assert p.footprint == 16 * (m * k + k * n + m * n).sum()
    assert p.bytes * p.batch == pytest.approx(16 * (m * k + k * n + 2 * m * n).sum())
    assert p.updated == 16 * (m * n).sum()
    assert replace(p, beta="0").updated == 0
    assert (p.batch, p.m, p.n, p.k) == (40, 24, 4, 8)


def test_what_is_drawn_is_random_and_the_same_every_time() -> None:
    p = listed(RANGES)
    first, second, other = p.sizes(1), p.sizes(1), p.sizes(2)
    for a, b, c in zip(first, second, other, strict=True):
        assert (a == b).all()
        assert (a != c).any()
        assert (int(a.min()), int(a.max())) == (1, 32)
    assert abs((first[0] * first[1] * first[2]).mean() / p.work - 1) < 0.05
    # The arrays of such a list are of its class.
    assert GroupedProblem.of(p.dtype, "nn", first) == p
    assert GroupedProblem.of(p.dtype, "nn", first).key == p.key
    with pytest.raises(ArgumentError, match="a list of arrays is not drawn"):
        GroupedProblem.of(p.dtype, "nn", first).sizes(1)


def test_a_class_is_what_the_speed_of_a_config_follows_from() -> None:
    p = listed(RANGES)
    for like in ("s:1..31x1..32x1..29@9000", "s:1..32x1..32x1..32@12000"):
        assert listed(like).key == p.key
    others = [
        "s:1..32x1..32x1..32@100",
        "s:1..32x1..32x1..16@10000",
        "s:1..4x1..4x1..4@9990+32x32x32@10",
        "d:1..32x1..32x1..32@10000",
        "s:tn:1..32x1..32x1..32@10000",
    ]
    variants = [listed(text) for text in others]
    variants += [listed(RANGES, alpha="any"), listed(RANGES, beta="1"), listed(RANGES, align=4)]
    variants.append(replace(p, math="tf32"))
    assert len({p.key, *(one.key for one in variants)}) == len(variants) + 1
    assert all(one != p for one in variants)
    assert listed("s:1..4x1..4x1..4@10000000").count == MANY
    assert p.with_(batch=1).key == p.key


def test_lists_are_for_the_stencil_of_lists_alone() -> None:
    p = listed(RANGES)
    for name, stencil in STENCILS.items():
        device = H200 if stencil.target == "cuda" else named("h200")
        assert (refused(stencil, p, device) is None) == (name == "grouped")
        assert (refusal(stencil, p, device) is None) == (name == "grouped")
