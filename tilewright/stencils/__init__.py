"""The stencil protocol: what a generator of kernels must answer. Five pure functions, no state."""

from __future__ import annotations

from typing import Protocol

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space


class Stencil(Protocol):
    """A way to write kernels for a family of problems.

    Beside what stands here a stencil may have ``runs(device)`` (see ``dispatch.refusal``),
    ``on_record(problem)``: whether only a record makes it a better guess than the array library's own
    product, and ``sized``: true where a config is of one size, and for a size nearby the cost model knows
    better than a record.
    """

    name: str
    target: str

    def accepts(self, problem: Problem, device: Device) -> str | None:
        """Why this stencil cannot serve the problem on the device; None when it can."""

    def space(self, problem: Problem, device: Device) -> Space:
        """Every config worth a thought, with the rules that prune them."""

    def default(self, problem: Problem, device: Device) -> Config:
        """The config that a small cost model likes best; it passes every rule."""

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        """The program for one config."""

    def launch(self, problem: Problem, config: Config) -> Launch:
        """How the program is started."""
