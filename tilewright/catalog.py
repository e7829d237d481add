"""The tables: the one place that knows every stencil and target by name."""

from __future__ import annotations

from tilewright.stencils.cpu.lanes.stencil import LanesStencil
from tilewright.stencils.cpu.tile.stencil import TileStencil
from tilewright.stencils.cuda.classic.stencil import ClassicStencil
from tilewright.stencils.cuda.grouped.stencil import GroupedStencil
from tilewright.stencils.cuda.tensor.stencil import TensorStencil
from tilewright.stencils.cuda.tiny.stencil import TinyStencil
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cpu.target import CpuTarget
from tilewright.targets.cuda.target import CudaTarget
from tilewright.targets.protocol import Target

# In the order in which an untuned call asks them.
STENCILS: dict[str, Stencil] = {
    s.name: s
    for s in (
        LanesStencil(),
        TileStencil(),
        TinyStencil(),
        TensorStencil(),
        ClassicStencil(),
        GroupedStencil(),
    )
}
TARGETS: dict[str, Target] = {t.kind: t for t in (CpuTarget(), CudaTarget())}


def of_lists(kind: str) -> Stencil:
    """The stencil that multiplies lists of products on a kind of device. Raises ``KeyError`` without one."""
    for stencil in STENCILS.values():
        if stencil.lists and stencil.target == kind:
            return stencil
    raise KeyError(kind)
