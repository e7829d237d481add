"""The one way from a compiled kernel of a stencil to its launch, for calls and for tuning alike."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.model import Config, Gemm, Kernel, SegmentedProblem
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda.binding import Binding


def bind(
    stencil: Stencil,
    kernel: Kernel,
    problem: Gemm | SegmentedProblem,
    config: Config,
    scalars: tuple[complex, complex],
    addresses: Sequence[int] | None = None,
) -> Binding:
    """A kernel of a stencil with all that its launch needs; it starts when it is called with a stream.

    ``scalars``: alpha and beta. ``addresses``: those that the stencil's ``arguments`` number, of A, B and C
    for a matrix product; without them ``Binding.put`` gives them later.

    Raises as ``Binding``.
    """
    named = dict(zip(("alpha", "beta"), scalars, strict=True))
    made = Binding(kernel, stencil.launch(problem, config), stencil.arguments(problem, config), named)
    return made if addresses is None else made.put(addresses)
