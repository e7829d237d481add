"""The tables: the one place that knows every stencil and target by name.

What a row names is loaded when it is first asked for, and for one kind of device without the others: a
program that multiplies on the processor loads nothing that is for GPUs. Names are known without loading.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import NamedTuple, TypeVar

from tilewright.loading import load
from tilewright.stencils.protocol import Stencil
from tilewright.targets.protocol import Target

T = TypeVar("T")


class Row(NamedTuple):
    """What is not loaded yet: the kind of device that it is for, and its ``module:class``."""

    target: str
    where: str


class Table(MutableMapping[str, T]):
    """Stencils or targets by name, in the order of their rows. ``entries``: a row, or what it became.

    Those ``apart`` are found by name, and neither listed nor counted: nobody asks them whether they serve a
    product.
    """

    def __init__(self, rows: Mapping[str, Row], apart: Mapping[str, Row] | None = None):
        self.entries: dict[str, Row | T] = dict(rows)
        self.apart: dict[str, Row | T] = dict(apart or {})

    def __getitem__(self, name: str) -> T:
        entries = self.apart if name in self.apart else self.entries
        entry = entries[name]
        if not isinstance(entry, Row):
            return entry
        # None of them keeps anything, so it does not matter which of two threads makes the one that stays.
        made: T = load(entry.where)()
        entries[name] = made
        return made

    def __setitem__(self, name: str, value: T) -> None:
        self.entries[name] = value

    def __delitem__(self, name: str) -> None:
        del self.entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries


# In the order in which an untuned call asks them.
STENCILS: Table[Stencil] = Table(
    {
        "outer": Row("cpu", "tilewright.stencils.cpu.outer.stencil:OuterStencil"),
        "sme": Row("cpu", "tilewright.stencils.cpu.sme.stencil:SmeStencil"),
        "lanes": Row("cpu", "tilewright.stencils.cpu.lanes.stencil:LanesStencil"),
        "tile": Row("cpu", "tilewright.stencils.cpu.tile.stencil:TileStencil"),
        "folds": Row("cpu", "tilewright.stencils.cpu.folds.stencil:FoldsStencil"),
        "blocked": Row("cpu", "tilewright.stencils.cpu.blocked.stencil:BlockedStencil"),
        "compact": Row("cpu", "tilewright.stencils.cpu.compact.stencil:CompactStencil"),
        "dots": Row("cpu", "tilewright.stencils.cpu.dots.stencil:DotsStencil"),
        "amx": Row("cpu", "tilewright.stencils.cpu.amx.stencil:AmxStencil"),
        "boxes": Row("cuda", "tilewright.stencils.cuda.boxes.stencil:BoxesStencil"),
        "whole": Row("cuda", "tilewright.stencils.cuda.whole.stencil:WholeStencil"),
        "single": Row("cuda", "tilewright.stencils.cuda.single.stencil:SingleStencil"),
        "middle": Row("cuda", "tilewright.stencils.cuda.middle.stencil:MiddleStencil"),
        "tiny": Row("cuda", "tilewright.stencils.cuda.tiny.stencil:TinyStencil"),
        "panel": Row("cuda", "tilewright.stencils.cuda.panel.stencil:PanelStencil"),
        "inner": Row("cuda", "tilewright.stencils.cuda.inner.stencil:InnerStencil"),
        "vector": Row("cuda", "tilewright.stencils.cuda.vector.stencil:VectorStencil"),
        "tensor": Row("cuda", "tilewright.stencils.cuda.tensor.stencil:TensorStencil"),
        "classic": Row("cuda", "tilewright.stencils.cuda.classic.stencil:ClassicStencil"),
        "warpgroup": Row("cuda", "tilewright.stencils.cuda.warpgroup.stencil:WarpGroupStencil"),
        "dmma": Row("cuda", "tilewright.stencils.cuda.dmma.stencil:DmmaStencil"),
        "ffma": Row("cuda", "tilewright.stencils.cuda.ffma.stencil:FfmaStencil"),
        "cfma": Row("cuda", "tilewright.stencils.cuda.cfma.stencil:CfmaStencil"),
        "pairs": Row("cuda", "tilewright.stencils.cuda.pairs.stencil:PairsStencil"),
        "emulated": Row("cuda", "tilewright.stencils.cuda.emulated.stencil:EmulatedStencil"),
        "split": Row("cuda", "tilewright.stencils.cuda.split.stencil:SplitStencil"),
        "unaligned": Row("cuda", "tilewright.stencils.cuda.unaligned.stencil:UnalignedStencil"),
        "grouped": Row("cuda", "tilewright.stencils.cuda.grouped.stencil:GroupedStencil"),
        "chain": Row("cuda", "tilewright.stencils.cuda.chain.stencil:ChainStencil"),
        # Of groups the first of these that accepts them: by tensor maps, with a short k, and any.
        "experts": Row("cuda", "tilewright.stencils.cuda.experts.stencil:ExpertsStencil"),
        "strips": Row("cuda", "tilewright.stencils.cuda.strips.stencil:StripsStencil"),
        "segments": Row("cuda", "tilewright.stencils.cuda.segments.stencil:SegmentsStencil"),
        "interleaved": Row("cuda", "tilewright.stencils.cuda.interleaved.stencil:InterleavedStencil"),
    },
    # Kernels that were handed in: what such a kernel is, its problem says.
    {
        "custom-cpu": Row("cpu", "tilewright.stencils.custom.cpu:CpuKernels"),
        "custom-cuda": Row("cuda", "tilewright.stencils.custom.cuda:CudaKernels"),
    },
)
TARGETS: Table[Target] = Table(
    {
        "cpu": Row("cpu", "tilewright.targets.cpu.target:CpuTarget"),
        "cuda": Row("cuda", "tilewright.targets.cuda.target:CudaTarget"),
    }
)


def of_target(kind: str) -> dict[str, Stencil]:
    """The stencils that write for a kind of device, by name."""
    return {name: STENCILS[name] for name, entry in STENCILS.entries.items() if entry.target == kind}


def of_lists(kind: str) -> Stencil:
    """The stencil that multiplies lists of products on a kind of device. Raises ``KeyError`` without one."""
    for stencil in of_target(kind).values():
        if stencil.lists:
            return stencil
    raise KeyError(kind)


def of_chains(kind: str) -> Stencil | None:
    """The stencil that computes chains of products on a kind of device; None where there is none."""
    return next((stencil for stencil in of_target(kind).values() if stencil.chains), None)
