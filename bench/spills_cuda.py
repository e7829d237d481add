"""Which defaults of GPU kernels spill registers, by device: ``python -m bench.spills_cuda --out FILE``.

The defaults of all stencils for drawn problems of many kinds (squares from tiny to large, panels, long sums,
odd and padded columns, batch-last, groups, lists, chains) are compiled for named devices; none of these has
to be here. A kernel that spills is right, so nobody sees that it is slower than it has to be. Another
compiler allots registers in another way: what that of CUDA 13.5 compiles without spills that of CUDA 13.0,
which PyTorch brings, may not. To ask another one, unpack its wheel beside this environment, and preload it:

    pip install --no-deps --target OLD nvidia-cuda-nvrtc==13.0.88
    LIB=OLD/nvidia/cu13/lib
    LD_PRELOAD=$LIB/libnvrtc.so.13 LD_LIBRARY_PATH=$LIB python -m bench.spills_cuda

The first line says which compiler it was. Exit code: 0 nothing spills, 1 something does.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import lines, machine
from bench.sanitize import chains, groups
from tilewright.catalog import of_target
from tilewright.model import DTYPES, Device, DType, Problem, Source
from tilewright.stencils.cuda.grouped.stencil import products
from tilewright.stencils.protocol import refused
from tilewright.targets.cuda import capability, nvrtc

DEVICES = ("h200", "a100")
ORDERS = {False: ("nn", "nt", "tn", "tt"), True: ("nn", "nt", "tn", "tt", "cn", "nc", "cc", "jn", "jt")}
BETAS = ("0", "1", "any")


@dataclass(frozen=True, slots=True)
class Job:
    """The default of a stencil for a problem, as it is compiled for a device."""

    device: str
    stencil: str
    problem: str
    config: str
    source: Source


def problems(dtype: DType, draw: random.Random) -> Iterator[Any]:
    """One problem of each kind in a type; sizes, orders and scalars are drawn."""
    letter = dtype.letter
    for m, n, k, batch in _sizes(draw):
        yield _product(dtype, m, n, k, draw, batch=batch)
    for n in (draw.randint(2, 32), draw.randint(33, 128), draw.choice((2048, 4096))):
        yield _padded(_product(dtype, n, n, n, draw, batch=100_000 if n < 200 else 1), draw.randint(1, 9))
    n, order = draw.randint(2, 16), draw.choice(("nn", "jn") if dtype.is_complex else ("nn",))
    pack = draw.choice(("8", "all"))
    yield Problem.parse(f"{letter}:{order}:{n}x{n}x{n}@300000/{pack}", beta=draw.choice(BETAS))[0]
    for axis, rows in zip("mnk", draw.sample((4, 16, 40, 120, 500, 2000), 3), strict=True):
        orders = {"m": ("tn", "tt"), "n": ("nn", "tn"), "k": ("nt", "nc" if dtype.is_complex else "nt")}[axis]
        size = {"m": (8 * rows, 1024, 512), "n": (1024, 8 * rows, 512), "k": (1024, 512, 8 * rows)}[axis]
        yield groups.problem(f"{letter}:{draw.choice(orders)}", axis, size, 8)
    yield groups.problem(f"{letter}:nn", "n", (768, 3424, draw.randint(1, 16)), 10, batch=3)
    top = draw.choice((8, 16, 32, 64, 128))
    yield products(dtype, top, top, top, _order(dtype, draw), 10_000, beta=draw.choice(BETAS), alpha="any")
    sizes = tuple(draw.choice((3, 4, 8, 12, 16, 17, 24, 32)) for _ in range(draw.choice((3, 4))))
    yield chains.chain(dtype, sizes, draw.randrange(2), draw.randrange(20)).with_(batch=10**6)


def _sizes(draw: random.Random) -> Iterator[tuple[int, int, int, int]]:
    """m, n, k and the batch: squares, panels, long sums and rectangles, aligned and odd."""
    for top, batch in ((16, 3_000_000), (32, 1_000_000), (64, 100_000), (128, 20_000), (256, 20_000)):
        n = draw.randint(top // 2 + 1, top)
        yield n, n, n, batch
        yield top, top, top, batch
    few, long = draw.randint(1, 32), draw.choice((1000, 1024, 4096))
    yield from ((long, few, few, 1000), (few, long, few, 1000), (few, few, long, 1000))
    yield few, 2 * few, few + 1, 10**6
    for n in (1024, 4096):
        yield n, n, n, 1
        yield n - 1, n - 3, n + 1, 1
    yield from ((8192, 64, 8192, 1), (64, 8192, 64, 1), (128, 128, 65536, 1), (8192, 8192, 64, 1))


def _order(dtype: DType, draw: random.Random) -> str:
    return draw.choice(ORDERS[dtype.is_complex])


def _product(dtype: DType, m: int, n: int, k: int, draw: random.Random, batch: int) -> Problem:
    trans, beta = _order(dtype, draw), draw.choice(BETAS)
    scalars: dict[str, Any] = {"alpha": draw.choice(("1", "any")), "beta": beta}
    return Problem(dtype, m, n, k, trans[0], trans[1], **scalars, batch=batch)


def _padded(p: Problem, by: int) -> Problem:
    """Columns so many elements longer, the batch without other gaps."""
    a, b = ((p.k, p.m) if p.transposed_a else (p.m, p.k)), ((p.n, p.k) if p.transposed_b else (p.k, p.n))
    fields: dict[str, Any] = {}
    for name, (rows, columns) in (("a", a), ("b", b), ("c", (p.m, p.n))):
        fields |= {f"ld{name}": rows + by, f"stride_{name}": (rows + by) * columns}
    return p.with_(**fields)


def jobs(name: str, letters: list[str], draws: int, seed: int) -> list[Job]:
    """The defaults of all stencils that accept what is drawn, each source once, in a drawn order."""
    device, found = capability.named(name), dict[str, Job]()
    for letter in letters:
        draw = random.Random(f"{seed} {letter}")
        for problem in (p for _ in range(draws) for p in problems(DTYPES[letter], draw)):
            for stencil in of_target("cuda").values():
                if refused(stencil, problem, device) is None:
                    config = stencil.default(problem, device)
                    source = stencil.source(problem, config, device)
                    job = Job(name, stencil.name, problem.key, str(config), source)
                    found.setdefault(source.digest, job)
    mixed = list(found.values())
    random.Random(seed).shuffle(mixed)
    return mixed


def compiled(job: Job) -> dict[str, Any]:
    """What the compiler says of a default."""
    device: Device = capability.named(job.device)
    row = {"device": job.device, "stencil": job.stencil, "problem": job.problem, "config": job.config}
    return row | dict(nvrtc.compile(job.source, device).facts)


def main() -> int:
    """Compile all of it; a line for each default that spills or is warned of, and one a device."""
    parser = lines.parser("bench.spills_cuda", __doc__)
    parser.add_argument("--types", default=",".join(DTYPES))
    parser.add_argument("--devices", default=",".join(DEVICES))
    parser.add_argument("--stencils", default="", help="these alone (default: all)")
    parser.add_argument("--draws", type=int, default=1, help="problems of each kind and type")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, help="so many kernels of each device at most")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    console, bad, only = lines.console(), 0, lines.words(given.stencils)
    console.print(nvrtc.toolchain())
    with ProcessPoolExecutor(len(machine.cores())) as pool:
        for name in lines.words(given.devices):
            sink = lines.Sink(given.out, "spills_cuda", capability.named(name), vars(given))
            asked = jobs(name, lines.letters(given.types), given.draws, given.seed)
            asked = [job for job in asked if not only or job.stencil in only][: given.most]
            count, spilling = Counter[str](), Counter[str]()
            for row in pool.map(compiled, asked):
                count[row["stencil"]] += 1
                if row["spills"] or row["stack"] or row["warnings"]:
                    spilling[row["stencil"]] += 1
                    sink.write({"kind": "spills"} | row)
                    facts = ", ".join(f"{row[fact]} {fact}" for fact in ("spills", "stack", "warnings"))
                    console.print(f"  {row['stencil']} {row['problem']} ({row['config']}): {facts}")
            whole, few = count.total(), spilling.total()
            bad += few
            total = {"kind": "device", "device": name, "defaults": whole, "spilling": few}
            sink.write(total | {"stencils": dict(count)})
            each = ", ".join(f"{n} of {stencil}" for stencil, n in sorted(count.items()))
            console.print(f"{name}: {whole} defaults ({each}), {few} spill or are warned of")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
