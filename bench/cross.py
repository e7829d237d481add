"""Kernels of processors that are not here, right or wrong: ``python -m bench.cross --out FILE``.

Random problems (all types, all transpositions, sizes that no vector divides beside those that all
do) are exported for each instruction set of another architecture (``tilewright.export``), linked with the
tests of exported libraries by its cross compiler, and run under QEMU as each of some processors. Those tests
hold every kernel against a reference in C: classes of alpha and beta, beta 0 over NaN, odd counts, matrices
that lie apart, shared operands, addresses that one element divides, guards around every C. Then as many
random problems of all types and layouts are called one by one, each by several kernels (``bench.foreign``).
QEMU says what is right, nothing of time. Exit code 1: something is wrong; what is missing here is named and
skipped.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import tilewright as tw
from bench import foreign, lines
from bench.exported import SKIPPED, STRICT, TOOLS, called, files
from tilewright.catalog import TARGETS
from tilewright.export import processors
from tilewright.model import DTYPES, Problem
from tilewright.targets.cpu.isa import ISAS

PROCESSORS = {
    "neon": ("cortex-a57", "neoverse-n1", "max"),
    "neon_fcma": ("max,sve=off",),
    # Vectors of one length, whatever the longest is, and those of a processor that has up to 512 bits.
    "sve128": ("max,sve-default-vector-length=16",),
    "sve256": ("max,sve-default-vector-length=32", "a64fx,sve-default-vector-length=32"),
    # Without what streaming mode leaves to a processor to have: most of NEON.
    **{
        f"sme{bits}": (
            f"max,sme_fa64=off,sme-default-vector-length={bits // 8}",
            f"max,sme-default-vector-length={bits // 8}",
        )
        for bits in (128, 256, 512, 1024)
    },
    "sve512": ("max,sve-default-vector-length=64", "a64fx"),
    "mma": ("power10",),
    "vsx": ("power8", "power9", "power10"),
    # Code for short vectors runs on processors that have longer ones.
    **{
        f"rvv{bits}": tuple(
            f"rv64,v=true,vlen={has},vext_spec=v1.0" for has in (128, 256, 512) if has >= bits
        )
        for bits in (128, 256, 512)
    },
}
"""The processors that QEMU is asked to be, by QEMU's names, for each instruction set."""
LETTERS = ("s", "d", "c", "z", "h", "b", "hc")
"""The types of kernels that are called one by one; those that a set has no instructions for are left out."""
SQUARES = (1, 2, 3, 4, 5, 7, 8, 11, 16)


def problems(count: int, seed: int) -> list[Problem]:
    """``count`` different problems: as many of each type, every pair of transpositions in its turn."""
    draw = random.Random(seed)
    found: dict[str, Problem] = {}
    while len(found) < count:
        dtype = DTYPES[LETTERS[len(found) % len(LETTERS)]]
        letters = "ntjc" if dtype.is_complex else "nt"
        number = len(found) // len(LETTERS)
        a, b = letters[number % len(letters)], letters[number // len(letters) % len(letters)]
        size = draw.choice(SQUARES)
        most = draw.choice((9, 20, 40))
        square = draw.random() < 0.3
        m, n, k = (size if square else draw.randint(1, most) for _ in range(3))
        if m * n * k <= 12_000:
            problem = Problem(dtype, m, n, k, a, b)
            found.setdefault(problem.key, problem)
    return list(found.values())


def built(isa: str, asked: list[Problem], folder: Path) -> tuple[int, str, dict[str, Any]]:
    """The program ``run`` in a folder, which tests all problems: exit code of the compiler, what it said, and
    what the export says of its objects."""
    arch = next(each.arch for each in ISAS if each.name == isa)
    lacking = [each for each in (f"{TOOLS[arch]}-gcc", f"qemu-{arch}") if not shutil.which(each)]
    if lacking:
        return SKIPPED, f"{', '.join(lacking)} missing", {}
    record = tw.export_kernels(asked, folder, targets=isa)
    sources = [*files(folder, "src/*.c"), "test/test.c", *files(folder, "objects/*/*.o")]
    words = [f"{TOOLS[arch]}-gcc", "-std=c99", *STRICT, *sources, "-static", "-lm", "-orun"]
    code, said = called(words, folder)
    return code, said, record["targets"][isa]


def checks(
    isa: str, asked: list[Problem], folder: Path, processors: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """A line for the objects of an instruction set, and one for each of QEMU's processors that ran them."""
    code, said, record = built(isa, asked, folder)
    line = {"isa": isa, "problems": len(asked)}
    facts = [each["facts"] for each in record.get("problems", {}).values()]
    totals = {name: sum(each[name] for each in facts) for name in (facts[0] if facts else ())}
    yield {"kind": "objects"} | line | {"exit": code, "said": said, "facts": totals}
    arch = next(each.arch for each in ISAS if each.name == isa)
    for cpu in processors if not code else ():
        began = time.monotonic()
        code, said = called([f"qemu-{arch}", "-cpu", cpu, folder / "run"], folder)
        seconds = round(time.monotonic() - began, 1)
        yield {"kind": "run"} | line | {"processor": cpu, "exit": code, "said": said, "seconds": seconds}


def main() -> None:
    """Build and run what the command line asks for."""
    parser = lines.parser("bench.cross", __doc__)
    parser.add_argument("--sets", default=",".join(PROCESSORS), help="instruction sets: %(default)s")
    parser.add_argument("--problems", type=int, default=64, help="how many, for each set: %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    console = lines.console()
    sink = lines.Sink(given.out, "cross", TARGETS["cpu"].probe(), vars(given))
    failed, asked = False, problems(given.problems, given.seed)
    kernels = list(foreign.problems(given.problems, given.seed, LETTERS))
    for isa in lines.words(given.sets):
        with tempfile.TemporaryDirectory() as name:
            exported = checks(isa, asked, Path(name), PROCESSORS[isa]) if isa in processors.names() else ()
            alone = foreign.checks(isa, kernels, Path(name), PROCESSORS[isa])
            for line in chain(exported, alone):
                word = {0: "right", SKIPPED: "skipped"}.get(line["exit"], "FAILED")
                failed |= word == "FAILED"
                sink.write(line)
                console.print(f"{word:8}{isa} {line.get('processor', line['kind'])}: {line['said']}")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
