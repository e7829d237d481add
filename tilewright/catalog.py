"""The tables: the one place that knows every stencil, target and search by name."""

from __future__ import annotations

from types import ModuleType

from tilewright.search import Search
from tilewright.search.climb import climb
from tilewright.search.exhaustive import exhaustive
from tilewright.search.sample import sample
from tilewright.stencils import Stencil
from tilewright.stencils.cpu.lanes import LanesStencil
from tilewright.stencils.cpu.tile import TileStencil
from tilewright.stencils.cuda.classic import ClassicStencil
from tilewright.stencils.cuda.grouped import GroupedStencil
from tilewright.stencils.cuda.tensor import TensorStencil
from tilewright.stencils.cuda.tiny import TinyStencil
from tilewright.targets import cpu, cuda

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
