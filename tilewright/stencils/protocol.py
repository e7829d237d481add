"""The stencil protocol: what a generator of kernels must answer. Five pure functions, a few facts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.model import ChainProblem, Config, Device, GroupedProblem, Launch, SegmentedProblem, Source
from tilewright.space import Space

if TYPE_CHECKING:
    from tilewright.targets.cuda.arguments import Argument

CostModel = Callable[[Sequence[Config]], NDArray[np.float64]]
"""What configs of a space are expected to cost, one number for each, asked of many at once."""
ONE_SIZE = "it multiplies matrices of one size; a list of many is for the stencil of lists"
"""Why a stencil without ``lists`` does not serve a ``GroupedProblem``."""
MANY_SIZES = "it multiplies lists of products of different sizes, for tw.gemm_grouped alone"
"""Why a stencil with ``lists`` does not serve a ``Problem``."""
ONE_PRODUCT = "it computes one product; a chain of several is for the stencil of chains"
"""Why a stencil without ``chains`` does not serve a ``ChainProblem``."""
SEVERAL_PRODUCTS = "it computes chains of products, for tw.chain alone"
"""Why a stencil with ``chains`` does not serve a ``Problem``."""
SPLIT = "it multiplies groups that share an axis, for tw.segment_matmul alone"
"""Why a stencil with ``segments`` serves nothing but a ``SegmentedProblem``."""
WHOLE = "groups whose borders lie on the device are for the stencil of segments"
"""Why a stencil without ``segments`` does not serve a ``SegmentedProblem``."""
BESIDE = "the matrices of the batch lie element beside element"
"""Why a stencil that is not ``interleaved`` does not serve a problem that is."""
APART = "the matrices of the batch lie apart, and it multiplies interleaved ones alone"
"""Why a stencil that is ``interleaved`` does not serve another problem."""
SCATTERED = "the matrices of the batch lie where an array of addresses says"
"""Why a stencil without ``pointers`` does not serve a problem that has them."""
SEVERAL_AXES = "the batch has several axes, which no one stride covers"
"""Why a stencil without ``nested`` does not serve a problem that has outer batch axes."""

UNSTEADY = "the bits of a row may depend on how many rows there are"
"""Why a stencil without ``steady`` does not serve calls with ``deterministic=True``."""


class Stencil(ABC):
    """A way to write kernels for a family of problems.

    The first five functions are what a stencil is; they are pure. The others have an answer here, which
    is that of most stencils.
    """

    name: ClassVar[str]
    """Its name in ``catalog``, in records and on the command line."""
    target: ClassVar[str]
    """The kind of device that it writes for."""
    lists: ClassVar[bool] = False
    """Whether it serves ``GroupedProblem``s, and these alone, in place of ``Problem``s."""
    chains: ClassVar[bool] = False
    """Whether it serves ``ChainProblem``s, and these alone, in place of ``Problem``s."""
    segments: ClassVar[bool] = False
    """Whether it serves ``SegmentedProblem``s, and these alone."""
    pointers: ClassVar[bool] = False
    """Whether it serves problems whose matrices lie where an array of addresses says."""
    interleaved: ClassVar[bool] = False
    """Whether it serves problems whose matrices lie element beside element, and these alone."""
    nested: ClassVar[bool] = False
    """Whether it serves problems with outer batch axes."""
    custom: ClassVar[bool] = False
    """Whether it serves kernels that were handed in (``custom.problem.KernelProblem``), and these alone."""
    maths: ClassVar[tuple[str, ...]] = ("ieee",)
    """How it multiplies (``model.MATHS``)."""
    packed_only: ClassVar[bool] = False
    """Whether it serves packed matrices alone."""
    size_specific: ClassVar[bool] = False
    """Whether a config is of one size: for a size nearby the cost model then knows better than a record."""

    @abstractmethod
    def accepts(self, problem: Any, device: Device) -> str | None:
        """Why this stencil cannot serve the problem on the device; None when it can."""

    @abstractmethod
    def space(self, problem: Any, device: Device) -> Space:
        """Every config worth a thought, with the rules that prune them."""

    @abstractmethod
    def default(self, problem: Any, device: Device) -> Config:
        """The config that a small cost model likes best; it passes every rule."""

    @abstractmethod
    def source(self, problem: Any, config: Config, device: Device) -> Source:
        """The program for one config."""

    @abstractmethod
    def launch(self, problem: Any, config: Config) -> Launch:
        """How the program is started."""

    def arguments(self, problem: Any, config: Config) -> tuple[Argument, ...]:
        """What a GPU's kernel is called with, one element for each of its parameters. Kernels of a processor
        all have the one signature of ``stencils.cpu.ir``, so their stencils describe nothing."""
        return ()

    def cost_model(self, problem: Any, device: Device) -> CostModel | None:
        """What the default's cost model makes of any configs of the space, a number for each, smaller is
        better, in its own unit; infinite for what should not be tried. None where no model stands behind the
        default."""
        return None

    def steady(self, problem: Any, device: Device) -> Config | str:
        """The config of calls with ``deterministic=True``, or why there is none.

        With it a column of C has the same bits whatever other columns there are (n), and whatever else is in
        the batch: how its sums are made follows from m, k, the type, the transpositions and the alignment.
        (Arrays by rows are swapped, so that these are the rows of a caller's first operand.)
        """
        return UNSTEADY

    def starts(self, problem: Any, device: Device) -> Sequence[Config]:
        """Configs beside the default that a search does well to begin with; they need not be in the space."""
        return ()

    def runs(self, device: Device) -> str | None:
        """Why no kernel can run on a device whose spaces can still be counted; None when kernels can."""
        return None

    def needs_record(self, problem: Any) -> bool:
        """Whether only a record makes this kernel a better guess than the array library's own product."""
        return False

    def gain(self, problem: Any, device: Device) -> float:
        """How many times as fast as the other stencils that serve a problem the default is expected to be,
        where no table of measurements says it. Of equals an untuned call runs the first of the catalog."""
        return 1.0

    def compiled(self, problem: Any) -> dict[str, Any]:
        """What of a problem decides the text of a program, as plain JSON values."""
        return {**problem.compiled, **({"packed": True} if self.packed_only else {})}

    def guidelines(self, name: str, problem: Any, device: Device) -> Any:
        """The floors of rules of kind ``guideline`` by name, as a dataclass of numbers.

        Raises ``ArgumentError`` for a name that the stencil does not have: most have no guidelines.
        """
        raise ArgumentError(
            f"stencil={self.name!r} has no guidelines; accepted: none of the options for them"
        )

    def guided(self, problem: Any, device: Device, floors: Any) -> Space:
        """The space under other floors than the device's own: those of ``guidelines``, or some replaced."""
        raise ArgumentError(
            f"stencil={self.name!r} has no guidelines; accepted: none of the options for them"
        )


def refused(stencil: Stencil, problem: Any, device: Device) -> str | None:
    """Why a stencil does not accept a problem, a list of products or a chain on a device; None if it does."""
    if stencil.custom:
        return stencil.accepts(problem, device)
    if (math := getattr(problem, "math", "ieee")) not in stencil.maths:
        return f"it multiplies in {' or '.join(stencil.maths)} and not in {math}"
    if isinstance(problem, ChainProblem) != stencil.chains:
        return SEVERAL_PRODUCTS if stencil.chains else ONE_PRODUCT
    if stencil.chains:
        return stencil.accepts(problem, device)
    if isinstance(problem, SegmentedProblem) != stencil.segments:
        return SPLIT if stencil.segments else WHOLE
    if isinstance(problem, SegmentedProblem):
        return stencil.accepts(problem, device)
    if isinstance(problem, GroupedProblem) != stencil.lists:
        return MANY_SIZES if stencil.lists else ONE_SIZE
    if not isinstance(problem, GroupedProblem) and problem.pointers and not stencil.pointers:
        return SCATTERED
    if not isinstance(problem, GroupedProblem) and (problem.interleaved is not None) != stencil.interleaved:
        return APART if stencil.interleaved else BESIDE
    if not isinstance(problem, GroupedProblem) and problem.outer and not stencil.nested:
        return SEVERAL_AXES
    return stencil.accepts(problem, device)
