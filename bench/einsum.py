"""Contractions beside what people call instead: ``python -m bench.einsum``.

``CONTRACTIONS`` are equations of public programs, which are named, and of opt_einsum's own tests, each at
three sizes of one axis. Operands are packed and random. In this process's memory (``--device cpu``) ours,
``numpy.einsum(optimize=True)`` and opt_einsum with NumPy are timed in turns by the clock of the host; on a
GPU (``--device cuda``) ours, ``torch.einsum`` and opt_einsum with PyTorch, call after call until it is done.
Each line of the file is one point: seconds, who is how many times as fast, elements that we copy, and those
that the better of PyTorch and opt_einsum with PyTorch copies: those that are seen, and operands that its
products clone inside by the rule of its source. Nothing is tuned for it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import opt_einsum
from rich.table import Table

import tilewright as tw
from bench import lines
from bench.compare import geomean
from tilewright.contract.einsum import planned
from tilewright.model import DTYPES
from tilewright.planning import dispatch

Run = Callable[[], object]
LEAST = 2e-3
"""Seconds that a sample of the host's clock takes, by repeating short calls."""
REST = 0.03
"""Seconds between the samples of two on a processor: threads of NumPy's BLAS that have nothing to do go on
asking for work for as long, and stand in the way of whoever is timed next."""


@dataclass(frozen=True)
class Contraction:
    """An equation, who has it, its type, the extents of its labels, and three of one label, ``grown``."""

    program: str
    letter: str
    equation: str
    extents: str
    grown: str
    sizes: tuple[int, int, int]

    def shapes(self, size: int) -> list[tuple[int, ...]]:
        """The shapes of the operands."""
        extents = {one[0]: int(one[1:]) for one in self.extents.split()} | {self.grown: size}
        inputs = self.equation.split("->")[0]
        return [tuple(extents[label] for label in term) for term in inputs.split(",")]


TABLE = """
z xab,xbc->xac | a3 b3 c3 | x 100 3000 100000 | PyQUDA
z xba,xbc,xdc->xad | a3 b3 c3 d3 | x 100 3000 100000 | PyQUDA
c xba,xbc,xc->xac | a3 b3 c3 | x 100 3000 100000 | PyQUDA
z wtxba,dwtxbc->dwtxac | a3 b3 c3 d4 w4 t4 | x 8 128 2048 | PyQUDA
s wik,ekc,bci,be->bcw | w9 i16 k4 e10 c32 | b 8 64 512 | mace
s bcwi,bci->bcw | w9 i16 c32 | b 8 128 2048 | mace
s zuv,ijk,zuvij->zuk | u8 v8 i3 j3 k5 | z 8 128 2048 | e3nn
s zui,zvj,ijk,uvw->zwk | u8 v8 w8 i3 j3 k3 | z 8 128 2048 | e3nn
s eij,ejc->eic | i9 j9 c128 | e 20 200 5000 | fairchem
s nij,njk,nlk->nil | i2 j3 k3 l2 | n 100 3000 100000 | gsplat
z srab,srbc->srac | a2 b2 c2 s10 | r 10 300 10000 | codex-africanus
z srij,srjk,srlk->ril | i2 j2 k2 l2 s10 | r 10 300 10000 | codex-africanus
c ab,xbz->xaz | a2 b2 z64 | x 8 256 8192 | Cirq
c abcd,xcydz->xaybz | a2 b2 c2 d2 y16 z16 | x 4 64 2048 | Cirq
s ij,bjk,lk->bil | i4 j4 k4 l4 | b 100 3000 100000 | torch-kf
s bij,bj->bi | i4 j4 | b 100 3000 100000 | torch-kf
d bij,bjk,blk->bil | i4 j2 k2 l4 | b 100 3000 100000 | torch-kf
d qi,eijk->eqjk | q6 i5 j5 k5 | e 10 200 5000 | libCEED
d qj,eijk->eiqk | q6 i5 j5 k5 | e 10 200 5000 | libCEED
d qk,eijk->eijq | q6 i5 j5 k5 | e 10 200 5000 | libCEED
d ai,bj,ck,eijk->eabc | a6 b6 c6 i5 j5 k5 | e 10 200 5000 | libCEED
d ijx,jkx->ikx | i3 j3 k3 | x 100 3000 100000 | scikit-fem
d ijx,jx->ix | i3 j3 | x 100 3000 100000 | scikit-fem
c bij,bkj->bik | i4 j16 k4 | b 50 1000 30000 | sionna
c bij,bjk,bk->bi | i4 j16 k16 | b 50 1000 30000 | sionna
s bij,bjk->bik | i7 j7 k7 | b 100 3000 100000 | pypose
s bij,bjk,bkl->bil | i6 j6 k6 l6 | b 100 3000 100000 | pypose
s fij,fbjk->fbik | f8 i4 j4 k4 | b 10 300 10000 | pytorch_kinematics
z rcij,rcjk,rcik->rc | c16 i2 j2 k2 | r 10 300 10000 | QuartiCal
s bhqd,bhkd->bhqk | h4 d32 q32 k32 | b 1 8 128 | attention
s bqhd,bkhd->bhqk | h4 d32 q32 k32 | b 1 8 128 | attention
s bhqk,bkhd->bqhd | h4 d32 q32 k32 | b 1 8 128 | attention
s btd,hdk->bhtk | t32 d64 h4 k16 | b 1 8 128 | attention
d pqrs,pa->aqrs | q12 r12 s12 a12 | p 4 12 48 | coupled clusters
d pqrs,sa->pqra | p12 q12 r12 a12 | s 4 12 48 | coupled clusters
d pqrs,pi,qj,rk,sl->ijkl | q10 r10 s10 i10 j10 k10 l10 | p 4 10 20 | coupled clusters
d ijab,abcd->ijcd | j8 a12 b12 c12 d12 | i 2 8 32 | coupled clusters
d ijab,jkbc->ikac | j8 a12 b12 k8 c12 | i 2 8 32 | coupled clusters
d apb,bqc->apqc | p2 q2 b32 c32 | a 2 16 128 | matrix product states
d lpr,lpq->rq | p2 r32 q32 | l 2 16 128 | matrix product states
d lar,labm,mbs->rs | a2 r24 b2 m24 s24 | l 2 16 128 | matrix product states
z axb,cxd,bd->ac | x2 b24 c24 d24 | a 2 16 128 | matrix product states
d abcd,efcg->abdefg | b4 c8 d4 e4 f4 g4 | a 2 8 32 | matrix product states
d ni,nj->ij | i12 j12 | n 100 3000 100000 | covariances
d bni,bnj->bij | n20 i6 j6 | b 50 1000 30000 | covariances
d ni,ij,nj->n | i8 j8 | n 100 3000 100000 | covariances
d ab,bc->ac | b8 c8 | a 4 16 64 | opt_einsum
d ab,cb->ac | b8 c8 | a 4 16 64 | opt_einsum
d ea,fb,abcd,gc,hd->efgh | b8 c8 d8 e8 f8 g8 h8 | a 4 16 64 | opt_einsum
d abc,bd,cd->abd | b8 c8 d8 | a 4 16 64 | opt_einsum
d eb,cb,fb->cef | c8 e8 f8 | b 4 16 64 | opt_einsum
d bcd,cd,bd->bcd | c8 d8 | b 4 16 64 | opt_einsum
d cd,bdhe,aidb,hgca,gc,hgibcd,hgac | b8 c8 d8 e8 g8 h8 i8 | a 4 16 64 | opt_einsum
d dd,fb,be,cdb->cef | c8 d8 e8 f8 | b 4 16 64 | opt_einsum
d bca,cdb,dbf,afc-> | b8 c8 d8 f8 | a 4 16 64 | opt_einsum
d dcc,fce,ea,dbf->ab | b8 c8 d8 e8 f8 | a 4 16 64 | opt_einsum
d abcd,ad | b8 c8 d8 | a 4 16 64 | opt_einsum
d ab,ab,cd,cd->ac | b8 c8 d8 | a 4 16 64 | opt_einsum
d abc,cdb,dea->ec | b8 c8 d8 e8 | a 4 16 64 | opt_einsum
d ef,bcd,ed,de->bcf | c8 d8 e8 f8 | b 4 16 64 | opt_einsum
"""
"""Type and equation | extents | the label that grows, and its extents | program (opt_einsum: its tests)."""


def _parsed(row: str) -> Contraction:
    """A row of the table."""
    what, extents, growth, program = row.split(" | ")
    letter, equation = what.split()
    grown, *sizes = growth.split()
    small, middle, large = map(int, sizes)
    return Contraction(program, letter, equation, extents, grown, (small, middle, large))


CONTRACTIONS = [_parsed(row) for row in TABLE.strip().splitlines()]
"""Sixty equations."""


def made(one: Contraction, size: int, seed: int = 3) -> list[np.ndarray]:
    """Random operands."""
    rng, kind = np.random.default_rng(seed), DTYPES[one.letter].numpy
    found = []
    for shape in one.shapes(size):
        real = rng.standard_normal(shape)
        full = real + 1j * rng.standard_normal(shape) if DTYPES[one.letter].is_complex else real
        found.append(full.astype(kind))
    return found


def copied_by_torch(torch: Any, equation: str, operands: Sequence[Any]) -> int:
    """Elements that PyTorch's own einsum, or opt_einsum with it, copies: the lesser of both."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Copies(TorchDispatchMode):  # type: ignore[misc]  # PyTorch's classes are unknown here
        elements = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            name = func.overloadpacket.__name__
            if name in ("clone", "copy_", "_to_copy", "contiguous", "_reshape_copy"):
                self.elements += result.numel()
            elif name in ("bmm", "mm"):
                self.elements += sum(x.numel() for x in args[:2] if not _lined(x))
            return result

    counts = []
    for contract in (torch.einsum, opt_einsum.contract):
        with Copies() as seen:
            contract(equation, *operands)
        counts.append(int(seen.elements))
    return min(counts)


def _lined(x: Any) -> bool:
    """Whether ``bmm`` and ``mm`` take matrices as they lie: by rows or by columns. They clone others inside
    (``prepare_batch_matrix_for_cublas``, ``prepare_matrix_for_cublas`` in PyTorch's Blas.cpp)."""
    (rows, columns), (down, along) = x.shape[-2:], x.stride()[-2:]
    return bool((along == 1 and down >= max(1, columns)) or (down == 1 and along >= max(1, rows)))


def turns(
    runs: dict[str, Run], rounds: int, finish: Callable[[], object], rest: float = 0
) -> dict[str, float]:
    """The median seconds of each call, in turns, by the clock of the host; ``finish`` waits for a GPU, and
    nothing is done for ``rest`` seconds before each turn."""
    repeats = {}
    for name, run in runs.items():
        run()
        finish()
        time.sleep(rest)
        start = time.perf_counter()
        run()
        finish()
        repeats[name] = max(1, int(LEAST / max(time.perf_counter() - start, 1e-7)))
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            time.sleep(rest)
            start = time.perf_counter()
            for _ in range(repeats[name]):
                run()
            finish()
            samples[name].append((time.perf_counter() - start) / repeats[name])
    return {name: statistics.median(found) for name, found in samples.items()}


def timed(one: Contraction, size: int, device: str, rounds: int) -> lines.Line:
    """One point."""
    arrays = made(one, size)
    want = np.einsum(one.equation, *arrays, optimize=True)
    if device == "cuda":
        import torch

        operands: list[Any] = [torch.from_numpy(x).cuda() for x in arrays]
        found = tw.einsum(one.equation, *operands).cpu().numpy()
        seconds = turns(
            {
                "ours": lambda: tw.einsum(one.equation, *operands),
                "torch": lambda: torch.einsum(one.equation, *operands),
                "opt_einsum": lambda: opt_einsum.contract(one.equation, *operands),
            },
            rounds,
            torch.cuda.synchronize,
        )
    else:
        found = tw.einsum(one.equation, *arrays)
        seconds = turns(
            {
                "ours": lambda: tw.einsum(one.equation, *arrays),
                "numpy": lambda: np.einsum(one.equation, *arrays, optimize=True),
                "opt_einsum": lambda: opt_einsum.contract(one.equation, *arrays),
            },
            rounds,
            int,
            REST,
        )
    line: lines.Line = {
        "program": one.program,
        "equation": one.equation,
        "type": one.letter,
        "shapes": one.shapes(size),
        "seconds": seconds,
        "times": {name: value / seconds["ours"] for name, value in seconds.items() if name != "ours"},
        "difference": float(
            np.max(np.abs(found - want), initial=0) / max(np.max(np.abs(want), initial=0), 1e-30)
        ),
    }
    return line | copies(one, arrays)


def copies(one: Contraction, arrays: Sequence[np.ndarray]) -> lines.Line:
    """Elements that are copied, where PyTorch is there to be compared with."""
    ours = planned(one.equation, arrays, "auto").copies
    try:
        import torch
    except ImportError:
        return {"copied": ours}
    tensors = [torch.from_numpy(x) for x in arrays]
    return {"copied": ours, "copied_torch": copied_by_torch(torch, one.equation, tensors)}


def shown(found: Sequence[lines.Line], worst: int = 12) -> Table:
    """The worst points, and means and leasts of all."""
    names = list(found[0]["times"])
    table = Table(title=f"{len(found)} contractions: times as fast as")
    for head in ("equation", "shapes", *names, "copied", "by PyTorch"):
        table.add_column(head)
    for line in sorted(found, key=lambda one: min(one["times"].values()))[:worst]:
        shapes = " ".join("x".join(map(str, shape)) for shape in line["shapes"])
        times = [f"{line['times'][name]:.2f}" for name in names]
        table.add_row(
            line["equation"], shapes, *times, f"{line['copied']:,}", f"{line.get('copied_torch', 0):,}"
        )
    for what, of in (("geometric mean", geomean), ("least", min)):
        table.add_row(what, "", *(f"{of([line['times'][name] for line in found]):.2f}" for name in names))
    more = [line for line in found if line["copied"] > line.get("copied_torch", line["copied"])]
    table.add_row("copies more", f"{len(more)} points")
    return table


def main() -> None:
    """The command."""
    parser = lines.parser("bench.einsum", __doc__)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="default: cpu")
    parser.add_argument("--out", type=Path, help="a file that lines of JSON are added to")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="equations that hold this text")
    options = parser.parse_args()
    sink = lines.Sink(options.out, "einsum", dispatch.device(options.device), vars(options))
    found = []
    for one in CONTRACTIONS:
        if options.only not in one.equation:
            continue
        for size in one.sizes:
            found.append(timed(one, size, options.device, options.rounds))
            sink.write(found[-1])
    lines.console().print(shown(found))


if __name__ == "__main__":
    main()
