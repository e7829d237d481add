"""The stencil protocol: what a generator of kernels must answer. Five pure functions, no state."""

from __future__ import annotations

from typing import Any, Protocol

from tilewright.model import Config, Device, GroupedProblem, Launch, Source, Task
from tilewright.space import Space

ONE_SIZE = "it multiplies matrices of one size; a list of many is for the stencil of lists"
"""Why a stencil without ``lists`` does not serve a ``GroupedProblem``."""


class Stencil(Protocol):
    """A way to write kernels for a family of problems.

    Problems are ``Problem``s, and ``GroupedProblem``s alone where a stencil has a true ``lists``. Beside that
    and what stands here a stencil may have ``runs(device)`` (see ``dispatch.refusal``),
    ``on_record(problem)``: whether only a record makes it a better guess than the array library's own
    product, and ``sized``: true where a config is of one size, and for a size nearby the cost model knows
    better than a record.
    """

    name: str
    target: str

    def accepts(self, problem: Any, device: Device) -> str | None:
        """Why this stencil cannot serve the problem on the device; None when it can."""

    def space(self, problem: Any, device: Device) -> Space:
        """Every config worth a thought, with the rules that prune them."""

    def default(self, problem: Any, device: Device) -> Config:
        """The config that a small cost model likes best; it passes every rule."""

    def source(self, problem: Any, config: Config, device: Device) -> Source:
        """The program for one config."""

    def launch(self, problem: Any, config: Config) -> Launch:
        """How the program is started."""


def refused(stencil: Stencil, problem: Task, device: Device) -> str | None:
    """Why a stencil does not accept a problem, or a list of products, on a device; None when it does."""
    if isinstance(problem, GroupedProblem) and not getattr(stencil, "lists", False):
        return ONE_SIZE
    return stencil.accepts(problem, device)
