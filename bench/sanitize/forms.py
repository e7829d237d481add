"""The universal stencil in all its forms, and the defaults of the other stencils, of four types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.sanitize.job import Job, fits, made
from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, Problem
from tilewright.stencils.cuda.classic.needs import READS
from tilewright.stencils.protocol import refused

SIZE = (67, 45, 37)
TRANS = {"s": ("nn", "tt"), "d": ("nt", "tn"), "c": ("nc", "cn"), "z": ("nn", "ct")}
TRIED = (
    *((SIZE, wide, pitch) for wide in (1, 2, 4) for pitch in (wide, 32)),
    *(((8, 8, 8), 1, 1), ((4, 4, 4), 1, 1)),
)
"""Size, unit and step (``padded``): the first that a config can run on is taken."""
PLAIN = {"read": "global", "split": 1, "early": 0, "mma": 0}
PAPER = (
    {"m_dim": 16, "n_dim": 16, "k_blk": 16, "m_blk": 96, "n_blk": 96}
    | {"m_dima": 16, "n_dima": 16, "m_dimb": 16, "n_dimb": 16}
    | {"wide": 1, "vec": 1, "lanes": 16, "buffers": 1, "order": 0, "min_blocks": 1}
    | PLAIN
)


def padded(spelling: str, size: tuple[int, int, int], unit: int, step: int, **fields: Any) -> Problem:
    """A problem of about this size: extents that are odd multiples of ``unit``, columns of ``step``."""
    m, n, k = (unit * (extent // unit | 1) for extent in size)
    (problem,) = Problem.parse(f"{spelling}:{m}x{n}x{k}", **fields)
    lda, ldb, ldc = (step * ((ld or 0) // step + 1) for ld in (problem.lda, problem.ldb, problem.ldc))
    return problem.with_(m=m, lda=lda, ldb=ldb, ldc=ldc)


def forms(large: Problem, device: Device) -> dict[str, Config]:
    """Configs of the universal stencil by name."""
    stencil = STENCILS["classic"]
    default = stencil.default(large, device)
    other = stencil.default(large.with_(m=64, n=64, k=64), device).with_(**PLAIN)
    paper = Config(PAPER)
    found = {
        "default": default,
        "small": other,
        "one_buffer": other.with_(buffers=1, order=2),
        "paper": paper,
        "early": other.with_(early=1),
        "split2": other.with_(split=2),
        "split4": paper.with_(split=4),
    }
    found |= {read: paper.with_(read=read) for read in READS[1:]}
    if large.dtype.real_bits == 64:
        tile = paper.with_(m_blk=64, n_blk=64, lanes=8, mma=1, vec=1 if large.dtype.is_complex else 2)
        found |= {"mma": tile.with_(buffers=2), "mma_split": tile.with_(split=2)}
    return found


def of_stencils(device: Device) -> Iterator[Job]:
    """Every CUDA stencil of the catalog, in two transpositions of each type."""
    for letter, pairs in TRANS.items():
        for number, trans in enumerate(pairs):
            for stencil in STENCILS.values():
                if stencil.target == "cuda":
                    yield from _of_stencil(stencil, f"{letter}:{trans}", number, device)


def _of_stencil(stencil: Any, spelling: str, number: int, device: Device) -> Iterator[Job]:
    """Its forms, with classes of alpha and beta in turns."""
    (large,) = Problem.parse(f"{spelling}:4096x4096x4096")
    configs: dict[str, Config | None] = {"default": None}
    if stencil.name == "classic":
        configs = dict(forms(large, device))
    for turn, (form, config) in enumerate(configs.items()):
        beta = "any" if form == "early" or (turn + number) % 2 else "0"
        fields = {"alpha": "any" if turn % 3 else "1", "beta": beta}
        for size, unit, step in TRIED:
            batch = 1 if form.startswith("tex") else 3
            problem = padded(spelling, size, unit, step, batch=batch, **fields)
            # Lists have operands of their own, and jobs elsewhere.
            if refused(stencil, problem, device) is not None:
                continue
            chosen = config or stencil.default(problem, device)
            if fits(stencil, problem, chosen, device):
                name = f"{stencil.name}_{spelling.replace(':', '_')}_{form}"
                yield made(stencil, problem, chosen, name, device)
                break
