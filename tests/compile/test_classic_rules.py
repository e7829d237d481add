"""What the universal stencil refuses: each hard rule is an assertion of its kernel, in the same words."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tilewright.stencils.cuda.classic.needs as module
from tests import marks
from tests.classic import CLASSIC, H200, good, one
from tilewright.errors import CompileError
from tilewright.model import Problem
from tilewright.targets.cuda import nvrtc

KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
ASSERTED = dict(re.findall(r'static_assert\([^;]*?"([a-z-]+): ([^"]+)"', KERNEL))
"""The texts of the kernel's assertions by the names of rules that they begin with."""
# The first two are about operands, which a program does not know; the third about programs that are alike.
UNASSERTED = {"texture-single", "aligned", "resident-matters"}


def asserting(rule: str) -> str | None:
    """The assertion behind a rule: the one whose name its own is, or begins with, some letters apart."""
    stem = rule.replace("-wide-", "-")
    return next((name for name in sorted(ASSERTED, key=len, reverse=True) if stem.startswith(name)), None)


@pytest.mark.pure
@pytest.mark.parametrize("variant", ["s:nn", "z:tc"])
def test_every_hard_rule_is_asserted_in_the_same_words(variant: str) -> None:
    hard = [rule for rule in CLASSIC.space(one(variant), H200).rules if rule.kind == "hard"]
    assert {rule.name for rule in hard if asserting(rule.name) is None} == UNASSERTED
    assert {asserting(rule.name) for rule in hard} - {None} == set(ASSERTED)
    for rule in hard:
        name = asserting(rule.name)
        if name is not None:
            assert rule.why.startswith(ASSERTED[name]), (rule.name, rule.why)


PLAIN = {"k_blk": 32, "wide": 1, "vec": 1}
# For each rule: a problem, and what to change in a good config of it so that nothing else goes wrong.
BROKEN: list[tuple[str, str, dict[str, Any]]] = [
    ("whole-warps", "s:nn", {"m_dim": 8, "n_dim": 2, "m_dima": 2, "n_dima": 8, "m_dimb": 2, "n_dimb": 8}),
    (
        "tile-overlaid-m",
        "s:nn",
        {"m_blk": 136, "m_dima": 8, "n_dima": 32, "m_dimb": 16, "n_dimb": 16} | PLAIN,
    ),
    (
        "tile-overlaid-n",
        "s:nt",
        {"n_blk": 136, "m_dima": 16, "n_dima": 16, "m_dimb": 8, "n_dimb": 32} | PLAIN,
    ),
    ("grid-a-divides", "s:nn", {"m_blk": 192, "m_dima": 48, "n_dima": 4}),
    ("grid-a", "s:nn", {"n_dima": 4}),
    ("grid-b-divides", "s:nt", {"n_blk": 192, "m_dimb": 48, "n_dimb": 4}),
    ("grid-b", "s:nn", {"n_dimb": 64}),
    ("overlay-a", "s:nn", {"m_dima": 1, "n_dima": 256}),
    ("overlay-a", "s:tn", {"m_dima": 32, "n_dima": 8}),
    ("overlay-b", "s:nn", {"m_dimb": 32, "n_dimb": 8}),
    ("overlay-b", "s:nt", {"m_dimb": 1, "n_dimb": 256}),
    ("overlay-wide-a", "s:nn", {"m_dima": 64, "n_dima": 4}),
    ("overlay-wide-b", "s:nn", {"m_dimb": 4, "n_dimb": 64}),
    (
        "access-width-global",
        "d:nn",
        {"wide": 4, "k_blk": 16, "m_dima": 16, "n_dima": 16, "m_dimb": 4, "n_dimb": 64},
    ),
    ("access-width-shared", "d:nn", {"vec": 4}),
    ("vec-divides", "s:nn", {"n_blk": 32, "m_dimb": 8, "n_dimb": 32, "k_blk": 32}),
    ("lanes-divide", "s:nn", {"lanes": 32}),
    ("early-c", "s:nn", {"early": 1}),
    ("mma-type", "s:nn", {"mma": 1, "vec": 2}),
    ("mma-type", "d:nn", {"mma": 1, "lanes": 16}),
    ("mma-tile", "d:nn", {"mma": 1, "vec": 1}),
    ("texel", "s:nn", {"read": "tex1d"}),
]

# What cannot hold either where a rule is broken.
COMPANIONS = {
    "whole-warps": {"lanes-divide"},
    "tile-overlaid-m": {"vec-divides"},
    "tile-overlaid-n": {"vec-divides"},
    "grid-a-divides": {"overlay-a"},
    "grid-b-divides": {"overlay-b"},
    "grid-a": {"overlay-a"},
    "grid-b": {"overlay-b"},
}


def refusals(problem: Problem, changes: Mapping[str, Any]) -> tuple[set[str], set[str], str]:
    """Hard rules that a config breaks, assertions that fail, and what is said of it."""
    config = good(problem).with_(**changes)
    broken = {rule.name for rule in CLASSIC.space(problem, H200).only(("hard",)).why(config)} - UNASSERTED
    source = CLASSIC.source(problem, config, H200)
    failed = re.findall(r'assertion failed with "([a-z-]+): ', nvrtc.log(source, H200))
    try:
        nvrtc.compile(source, H200)
    except CompileError as error:
        return broken, set(failed), str(error)
    return broken, set(failed), ""


@pytest.mark.compile
@marks.NVRTC
def test_what_breaks_a_hard_rule_is_refused_by_its_name() -> None:
    problems = [one(variant) for _, variant, _ in BROKEN]
    for problem in problems:
        assert CLASSIC.space(problem, H200).only(("hard",)).why(good(problem)) == []
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
        found = list(pool.map(refusals, problems, [changes for *_, changes in BROKEN]))
    for (rule, variant, changes), (broken, failed, said) in zip(BROKEN, found, strict=True):
        name = asserting(rule)
        case = (rule, variant, changes, broken, failed)
        assert rule in broken, case
        companions = COMPANIONS.get(rule, set())
        assert failed - companions == {name}, case
        assert {asserting(other) for other in broken} - companions == {name}, case
        assert name is not None
        assert ASSERTED[name] in said, (case, said)
    assert {rule for rule, *_ in BROKEN} == {
        rule.name for rule in CLASSIC.space(one("s:nn"), H200).rules if rule.kind == "hard"
    } - UNASSERTED
