"""What stencils' cost models say to a search: of many configs at once what they say of each; on GPUs of the
default, which they chose, that it is among the better half."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.record import PROCESSORS, SPACES
from tests.chains import covariance
from tilewright.catalog import STENCILS
from tilewright.model import parsed
from tilewright.space import Space
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

GPU, CPU = named("h200"), PROCESSORS["emeraldrapids-avx512"]
MODELLED = [name for name, part in SPACES.items() if part.stencil != "lanes"]


def said(stencil: str, problem: Any, space: Space) -> None:
    device = GPU if STENCILS[stencil].target == "cuda" else CPU
    costs = STENCILS[stencil].cost_model(problem, device)
    assert costs is not None
    configs = space.sample(48, 1)
    found = costs(configs)
    assert found.shape == (len(configs),)
    assert (found > 0).all()
    np.testing.assert_array_equal([costs([each])[0] for each in configs[:2]], found[:2])
    assert len(costs([])) == 0
    if device is GPU:
        assert costs([STENCILS[stencil].default(problem, device)])[0] <= np.median(found)


@pytest.mark.parametrize("name", MODELLED)
def test_a_cost_model_ranks_configs(name: str) -> None:
    part = SPACES[name]
    device = GPU if STENCILS[part.stencil].target == "cuda" else CPU
    said(part.stencil, part.problem(device), part.space(device))


def test_interleaved_configs_are_ranked_too() -> None:
    problem = parsed("d:3x3x3@100000/all")[0]
    space = STENCILS["interleaved"].space(problem, GPU)
    said("interleaved", problem, space.restricted(warps=4))


def test_chains_are_ranked_too() -> None:
    problem = covariance("d", 6, 100_000)
    said("chain", problem, STENCILS["chain"].space(problem, GPU).restricted(warps=4, stages=2))


def test_where_no_model_stands_behind_the_default_there_is_none() -> None:
    assert STENCILS["lanes"].cost_model(parsed("d:3x3x3@100")[0], CPU) is None
