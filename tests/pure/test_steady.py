"""Which kernels deterministic calls run: none that looks at how many rows or products there are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright.catalog import STENCILS
from tilewright.model import Config, Plan, Problem
from tilewright.planning import steady
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

H200 = named("h200")


def problem(text: str) -> Problem:
    return Problem.parse(text)[0]


@pytest.mark.parametrize(
    "text", ["s:nn:96x1x200", "d:tn:4096x1x4096", "z:nn:40x1x7", "h:nn:64x1x48", "b:tn:4096x1x512"]
)
def test_the_config_does_not_depend_on_rows_or_batch(text: str) -> None:
    """Rows are columns here."""
    p = problem(text)
    plans = [steady.plan(replace(p, n=n, stride_c=None), H200) for n in (1, 7, 64, 1000, 30000)]
    if p.dtype.letter not in "hb":
        plans.append(steady.plan(p.with_(batch=500), H200))
    first = plans[0]
    assert isinstance(first, Plan)
    assert (first.origin, first.stencil) == (
        "deterministic",
        "warpgroup" if p.dtype.letter in "hb" else "classic",
    )
    for plan in plans:
        assert isinstance(plan, Plan)
        assert (plan.stencil, plan.config) == (first.stencil, first.config)


def test_no_tile_is_cut_nor_summed_backwards_nor_shared() -> None:
    config = STENCILS["warpgroup"].steady(problem("h:nn:200x64x8000"), H200)
    assert isinstance(config, Config)
    assert (config["cut"], config["backwards"]) == (0, 0)
    config = STENCILS["classic"].steady(problem("s:nn:64x64x65536"), H200)
    assert isinstance(config, Config)
    assert config["split"] == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("h:nn:33x5x16", "warpgroup: a column does not begin"),
        ("h:nn:64x5x8", "not from 16"),
        ("h:nn:64x5x64@9", "a batch of 9"),
        ("hc:nn:64x5x64", "classic: type hc"),
    ],
)
def test_who_has_no_promise_says_why(text: str, reason: str) -> None:
    found = steady.plan(problem(text), H200)
    assert isinstance(found, str)
    assert reason in found
    assert "deterministic=True" in str(steady.refusal(problem(text), found))
