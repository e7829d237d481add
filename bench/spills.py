"""Which defaults spill registers, by processor: ``python -m bench.spills --out FILE``.

The default of every stencil is compiled for named processors, all squares and as many random rectangles of
each type, and the spills of its assembly are counted. Nothing is run: LLVM compiles for processors that are
not here, each with its own model of how instructions are scheduled, which decides how many registers the code
takes. Caches are those of a common server, so that what is found depends on no machine. With few vector
registers LLVM keeps up to four constants of complex products on the stack; no more are accepted
(``--accepted``).
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import lines, machine
from tilewright.catalog import STENCILS, TARGETS
from tilewright.model import DTYPES, Device, Problem
from tilewright.stencils.protocol import refused
from tilewright.targets.cpu import llvm, named

PROCESSORS = ("generic", *named.CORES)
"""The processors, by LLVM's names; ``generic`` is what libraries for NEON are compiled for."""
LIMITS = {"cores": 8, "l1d": 32 << 10, "l2": 1 << 20, "l3": 32 << 20}


def processor(name: str) -> Device:
    """A processor by LLVM's name of it, with the caches and cores of a common server."""
    if name == "generic":
        base = named.device("cortex-a57")
        base = replace(base, key="generic-neon", features="aarch64/generic +neon")
    else:
        base = named.device(name)
    return replace(base, limits={**base.limits, **LIMITS})


def problems(letter: str, rectangles: int, seed: int) -> Iterator[Problem]:
    """Squares of 1 to 64 cached and from memory, with and without an update, and random rectangles."""
    dtype = DTYPES[letter]
    for n in range(1, 65):
        for beta in "01":
            yield Problem(dtype, n, n, n, beta=beta, batch=2)
        yield Problem(dtype, n, n, n, batch=1 << 20)
    draw = random.Random(f"{seed} {letter}")
    for _ in range(rectangles):
        m, n, k = (draw.randint(1, 64) for _ in range(3))
        trans = draw.choice(("nn", "nt", "tn", "tt") + (("cn", "nc", "cc") if dtype.is_complex else ()))
        fields: dict[str, Any] = {"alpha": draw.choice(("1", "any")), "beta": draw.choice(("0", "1", "any"))}
        yield Problem(dtype, m, n, k, trans[0], trans[1], **fields, batch=draw.choice((2, 1 << 20)))


def compiled(job: tuple[str, Problem]) -> list[dict[str, Any]]:
    """The defaults of one problem on one processor: their spills, one entry a stencil that accepts it."""
    name, problem = job
    device, found = processor(name), []
    for stencil in STENCILS.values():
        if stencil.target == "cpu" and refused(stencil, problem, device) is None:
            config = stencil.default(problem, device)
            facts = llvm.facts(stencil.source(problem, config, device), device)
            row = {"processor": name, "stencil": stencil.name, "problem": problem.key, "batch": problem.batch}
            found.append(row | {"spills": facts["spills"], "config": str(config)})
    return found


def main() -> None:
    """Compile all of it on all cores; a line for each default that spills, and one a processor."""
    parser = argparse.ArgumentParser(prog="bench.spills", description=__doc__.splitlines()[0])
    parser.add_argument("--types", default="sdcz")
    parser.add_argument("--processors", default=",".join(PROCESSORS))
    parser.add_argument("--rectangles", type=int, default=64, help="random rectangles of each type")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--accepted", type=int, default=4, help="constants on the stack, with 16 registers")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    console = lines.console()
    sink = lines.Sink(given.out, "spills", TARGETS["cpu"].probe(), vars(given))
    with ProcessPoolExecutor(len(machine.cores())) as pool:
        for name in lines.words(given.processors):
            asked = [
                (name, p)
                for letter in lines.letters(given.types)
                for p in problems(letter, given.rectangles, given.seed)
            ]
            rows = [row for found in pool.map(compiled, asked, chunksize=4) for row in found]
            spilling = [row for row in rows if row["spills"]]
            few = given.accepted if processor(name)["vector_registers"] <= 16 else 0
            bad = [row for row in spilling if row["spills"] > few]
            for row in spilling:
                sink.write({"kind": "spills"} | row)
            total = {"kind": "processor", "processor": name, "defaults": len(rows), "spilling": len(spilling)}
            sink.write(total | {"beyond_accepted": len(bad)})
            console.print(f"{name}: {len(rows)} defaults, {len(spilling)} spill, {len(bad)} beyond {few}")
            for row in bad[:8]:
                console.print(f"  {row['stencil']} {row['problem']}: {row['spills']}")


if __name__ == "__main__":
    main()
