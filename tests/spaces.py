"""What is true of every space."""

from __future__ import annotations

import numpy as np
from hypothesis import assume

from tilewright.space import HARDWARE, KINDS, Space


def assert_rules_of_many_are_those_of_each(space: Space, count: int = 20) -> None:
    """Rules look at many configs at once, as columns of values, and say of each what they say of it alone.
    Of a space that hardware leaves nothing of another example is drawn."""
    some = space.only((*HARDWARE, "hard")).sample(count, 1)
    assume(some)
    columns = {name: np.array([config[name] for config in some]) for name in some[0]}
    assert space.allowed(columns, KINDS).tolist() == [not space.why(config) for config in some]
