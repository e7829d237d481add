"""Kernels for AMX, AVX512-BF16 and AVX512-FP16, right or wrong, and how many instructions they take:
``python -m bench.bochs --out FILE``.

Random problems (types b and h, all transpositions, gaps, shared operands, sizes that no tile divides beside
those that all do), each by random configs of ``amx`` and ``dots`` and by the default of ``tile``, and squares
by the defaults of all three (float16 by ``amx`` also as sums of two bfloat16), run on the processor of
``bench.bochs.machine``. A line holds each kernel's outcome and the instructions that one product took, as the
emulator counts them. Exit code 1: something is wrong; what is missing here is named.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import lines
from bench.bochs import machine
from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import DeviceError
from tilewright.model import DTYPES, Problem

NAMES = ("tile", "dots", "amx")
SQUARES = (4, 8, 12, 16, 24, 32, 48, 64)
TOGETHER = 16
"""Kernels of an image: some 200 KiB, of which the BIOS leaves room for 600."""


def flushes(name: str, letter: str) -> bool:
    """Whether a stencil's kernels of a type take subnormal operands for zeros."""
    return letter == "b" and name in ("dots", "amx")


def drawn(count: int, seed: int) -> Iterator[Problem]:
    """``count`` random problems, b and h in turns."""
    draw = random.Random(seed)
    for number in range(count):
        most = draw.choice((5, 18, 40, 64))
        m, n, k = (draw.randint(1, most) for _ in range(3))
        if draw.random() < 0.3:
            m = n = k = draw.choice((16, 32, 48, 64))
        a, b = draw.choice("nt"), draw.choice("nt")
        p = Problem(DTYPES["bh"[number % 2]], m, n, k, a, b, batch=3)
        p = p.with_(alpha=draw.choice(("1", "any")), beta=draw.choice(("0", "1", "any")))
        gap = draw.choice((0, draw.randint(1, 3)))
        lda, ldb, ldc = ((m, k)[a == "t"] + gap, (k, n)[b == "t"] + gap, m + gap)
        columns_a, columns_b = (k, m)[a == "t"], (n, k)[b == "t"]
        yield p.with_(
            lda=lda,
            ldb=ldb,
            ldc=ldc,
            stride_a=0 if draw.random() < 0.2 else lda * columns_a + 3,
            stride_b=0 if draw.random() < 0.2 else ldb * columns_b + 3,
            stride_c=ldc * n + 3,
        )


def jobs(count: int, seed: int, squares: Sequence[int]) -> list[machine.Job]:
    """Every kernel to check."""
    draw, found = random.Random(seed), []

    def add(p: Problem, name: str, any_config: bool) -> None:
        stencil = STENCILS[name]
        # float16 by the tile registers of before and after.
        for older in (False, True)[: 2 if (name, p.dtype.letter) == ("amx", "h") else 1]:
            device = machine.older() if older else machine.device()
            if stencil.accepts(p, device) is None:
                space = stencil.space(p, device)
                config = space.at(draw.randrange(space.count())) if any_config else stencil.default(p, device)
                found.append(machine.Job(p, name, config, flushes(name, p.dtype.letter), older))

    for problem in drawn(count, seed):
        for name in NAMES:
            add(problem, name, name != "tile")
    for letter in "bh":
        for n in squares:
            for trans in ("nn", "tn", "nt", "tt"):
                for name in NAMES:
                    add(Problem(DTYPES[letter], n, n, n, trans[0], trans[1], batch=3), name, False)
    return found


def main() -> None:
    """Build and run what the command line asks for."""
    parser = lines.parser("bench.bochs", __doc__)
    parser.add_argument("--problems", type=int, default=48, help="random ones: %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--squares", default=",".join(map(str, SQUARES)), help="%(default)s; 0: none")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    console = lines.console()
    if lacking := machine.missing():
        console.print(f"skipped: {', '.join(lacking)} missing")
        return
    sink = lines.Sink(given.out, "bochs", TARGETS["cpu"].probe(), vars(given))
    squares = [int(word) for word in lines.words(given.squares) if word != "0"]
    todo, wrong = jobs(given.problems, given.seed, squares), 0
    for first in range(0, len(todo), TOGETHER):
        part = todo[first : first + TOGETHER]
        with tempfile.TemporaryDirectory() as name:
            try:
                said = machine.outcomes(part, machine.device(), Path(name))
            except DeviceError as error:
                sys.exit(str(error))
        for job, words in zip(part, said, strict=True):
            right = words.startswith("right")
            wrong += not right
            count = re.search(r": (\d+)$", words)
            line = {
                "kind": "run",
                "stencil": job.stencil,
                "older": job.older,
                "problem": job.problem.key,
                "config": dict(job.config),
            }
            sink.write(
                line | {"right": right, "said": words, "instructions": int(count[1]) if count else None}
            )
            if not right:
                console.print(f"FAILED {job.name}: {words}")
        console.print(f"{min(first + TOGETHER, len(todo))} of {len(todo)} kernels, {wrong} wrong")
    sys.exit(int(wrong > 0))


if __name__ == "__main__":
    main()
