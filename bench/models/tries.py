"""What is tried: a config of a stencil for a product, and a product with all that is tried of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tilewright.model import Config, Problem

DEFAULT, PROPOSED, DRAWN, OTHER, NEAR = "default", "first", "drawn", "other", "near"
"""Where a config comes from."""


class Try(NamedTuple):
    """A config of a stencil for a product: where it comes from, and the name of its program."""

    origin: str
    stencil: str
    config: Config
    key: str


Plan = tuple[list[Try], list[Try]]
"""What is proposed of a product and stencil, the default first, and what is drawn."""


@dataclass
class Shape:
    """A product with all that is tried of it, and the seconds that each took: None where it was not timed."""

    problem: Problem
    cublas: float = math.nan
    tries: dict[tuple[str, Config], Try] = field(default_factory=dict)
    took: dict[tuple[str, Config], float] = field(default_factory=dict)
    wrong: dict[tuple[str, Config], str] = field(default_factory=dict)

    def add(self, tries: Iterable[Try]) -> None:
        """Remember what is to be tried; what is known already stays as it is."""
        for each in tries:
            self.tries.setdefault((each.stencil, each.config), each)

    @property
    def stencils(self) -> list[str]:
        """Those of which anything was timed."""
        return list(dict.fromkeys(stencil for stencil, _ in self.took))

    @property
    def defaults(self) -> list[str]:
        """The stencils whose default was right."""
        return [name for name in self.stencils if self.best(name, [DEFAULT])]

    def seconds(self, each: Try) -> float:
        """What a try took that was timed."""
        return self.took[each.stencil, each.config]

    def best(self, stencil: str, origins: Sequence[str] = ()) -> list[Try]:
        """What was timed of a stencil, of some origins or of all, fastest first."""
        found = [
            self.tries[key]
            for key in self.took
            if key[0] == stencil and (not origins or self.tries[key].origin in origins)
        ]
        return sorted(found, key=self.seconds)
