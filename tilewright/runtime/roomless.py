"""What a call on a GPU runs where the workspace of its kernel finds no room.

Nobody is worse off for having called a kernel of ours that needs device memory beside the arrays. In this
order: cuBLASLt's product; the kernel's own stencil by a config that needs no workspace; the product of the
arrays' own library, which who launches goes to when there is neither. When the kernel is tried again is said
in ``targets.cuda.workspace``.

The library's product is made ready with the kernel, while there still is memory and nobody records a graph,
which holds neither the making of its handle nor the loading of a kernel: within a recording only what is
ready is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tilewright.catalog import STENCILS
from tilewright.errors import RoomError, TilewrightError
from tilewright.model import Config, Device, Kernel, Plan, Problem
from tilewright.runtime import cublaslt, launch
from tilewright.space import HARDWARE
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda import driver
from tilewright.targets.cuda.arguments import workspaces
from tilewright.targets.cuda.binding import Binding

PROMISED = ("forced", "deterministic")
"""Origins of plans whose very kernel the caller asked for, or its bits: nothing stands in for these."""


def needs_room(plan: Plan) -> bool:
    """Whether the kernel of a plan takes a workspace for each launch."""
    assert plan.stencil is not None
    assert plan.config is not None
    return bool(workspaces(STENCILS[plan.stencil].arguments(plan.problem, plan.config)))


def small_config(stencil: Stencil, problem: Problem, device: Device, config: Config) -> Config | None:
    """The first config that differs from this one in one parameter, is one of the stencil's, and needs no
    workspace; where there is none, the nearest of those that need none; None where there is none at all.
    (What is shared along k meets in a workspace, and one parameter says among how many; that operands are
    copied there another one, and what is not copied may ask for other tiles.)"""
    space = stencil.space(problem, device)

    def room(other: Config) -> int:
        return sum(part.size for part in workspaces(stencil.arguments(problem, other)))

    held: dict[str, Any] = {}
    least = room(config)
    while least:
        beside = [(param.name, value) for param in space.params for value in param.values]
        others = [Config({**config, **held, name: value}) for name, value in beside]
        for other in others:
            if space.member(other) is None and not room(other):
                return other
        # Whichever parameter asks for the most.
        sizes = [room(other) for other in others]
        if min(sizes) >= least:
            return None
        least = min(sizes)
        held |= [beside[sizes.index(least)]]
    return space.only(HARDWARE).restricted(**held).nearest(config)


class Roomless:
    """The other ways of one plan. ``vendor`` makes cuBLASLt's product ready, or says why there is none,
    ``load`` has the kernel of a plan; ``stream`` is the one that the caller's work goes to."""

    def __init__(
        self,
        plan: Plan,
        scalars: tuple[complex, complex],
        vendor: Callable[[], cublaslt.Product | str],
        load: Callable[[Plan], Kernel],
        stream: int,
    ):
        self._plan, self._scalars, self._vendor, self._load = plan, scalars, vendor, load
        self._product: cublaslt.Product | str | None = None
        self._own: Binding | str | None = None
        self._ready(stream)

    def _ready(self, stream: int) -> bool:
        """Make the library's product ready, and say whether more may be made: nobody records a stream."""
        if driver.capturing(stream):
            return False
        if self._product is None:
            self._product = self._vendor()
        return True

    def _smaller(self) -> Binding | str:
        """The stencil's own kernel that needs no workspace, or why there is none."""
        plan = self._plan
        assert plan.stencil is not None
        assert plan.config is not None
        stencil = STENCILS[plan.stencil]
        config = small_config(stencil, plan.problem, plan.device, plan.config)
        if config is None:
            return "all configs of its kind need a workspace"
        try:
            # Its code needs memory, too, if little of it.
            kernel = self._load(replace(plan, config=config))
            return launch.bind(stencil, kernel, plan.problem, config, self._scalars)
        except TilewrightError as error:
            return str(error)

    def __call__(self, addresses: tuple[int, int, int], stream: int, error: RoomError) -> None:
        """The product at the addresses of the problem's A, B and C, one call at a time, without waiting.

        Raises ``error`` where only the library of the arrays is left, ``DeviceError`` when cuBLASLt or the
        driver refuses.
        """
        may_make = self._ready(stream)
        if isinstance(self._product, cublaslt.Product):
            self._product(*addresses, stream)
            return
        if self._own is None and may_make:
            self._own = self._smaller()
        if not isinstance(self._own, Binding):
            raise error
        self._own.put(addresses)(stream)
