"""The choice without a search: a cost model of middle's kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import Space
from tilewright.stencils.cuda.common import cheapest


def best(space: Space, p: Problem, device: Device) -> Config:
    found = space.sample(200, 1)
    if not found:
        raise AssertionError(p.key)
    return found[0]
