"""The one way from a compiled kernel of a stencil to its launch, for calls and for tuning alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tilewright.model import Config, Kernel, Task
from tilewright.targets.cuda.binding import Binding


def bind(
    stencil: Any,
    kernel: Kernel,
    problem: Task,
    config: Config,
    scalars: tuple[complex, complex],
    addresses: Sequence[int] | None = None,
    *,
    overlap: bool = True,
) -> Binding:
    """A kernel of a stencil with all that its launch needs; it starts when it is called with a stream.

    ``scalars``: alpha and beta. ``addresses``: those that the stencil's ``arguments`` number, of A, B and C
    for a matrix product; without them ``Binding.put`` gives them later. Without ``overlap`` the kernel begins
    when those before it in its stream have ended, whatever the stencil asks for.

    Raises as ``Binding``.
    """
    launch, (alpha, beta) = stencil.launch(problem, config), scalars
    if not overlap:
        launch = replace(launch, overlap=False)
    named = {"alpha": alpha, "beta": beta}
    made = Binding(kernel, launch, stencil.arguments(problem, config), named)
    return made if addresses is None else made.put(addresses)
