"""The tables: the one place that knows every stencil, target and search by name."""

from __future__ import annotations

from types import ModuleType

from tilewright.stencils.cpu.lanes.stencil import LanesStencil
from tilewright.stencils.cpu.tile.stencil import TileStencil
from tilewright.stencils.cuda.classic.stencil import ClassicStencil
from tilewright.stencils.cuda.grouped.stencil import GroupedStencil
from tilewright.stencils.cuda.tensor.stencil import TensorStencil
from tilewright.stencils.cuda.tiny.stencil import TinyStencil
from tilewright.stencils.protocol import Stencil
from tilewright.targets import cpu, cuda
from tilewright.tuning.search import Search
from tilewright.tuning.search.climb import climb
from tilewright.tuning.search.exhaustive import exhaustive
from tilewright.tuning.search.sample import sample

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
TARGETS: dict[str, ModuleType] = {"cpu": cpu, "cuda": cuda}
SEARCHES: dict[str, Search] = {"climb": climb, "exhaustive": exhaustive, "sample": sample}
