"""Kernels of processors that are not here, called one by one under QEMU as the tuner would call them here.

A program in C is linked of the kernels of many problems. It reads the memory of operands, guards included,
from one file, calls a kernel on it, and writes what became of it to another. The operands are those that the
tuner checks kernels with at home (``tuning.gemm.verify``), and so are the verdicts: batches that no
unrolling divides, bases that one element divides, infinities and NaN, poison around every matrix and in every
C that is not read. All that kernels are asked for has a form here: numbers of 16 bits, interleaved matrices,
padded columns, and any config.
"""

from __future__ import annotations

import random
import shutil
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from bench.exported import SKIPPED, TOOLS, called
from tilewright.catalog import STENCILS, of_target
from tilewright.model import DTYPES, Config, Device, Interleaved, Problem, Source
from tilewright.planning import candidates
from tilewright.stencils.cpu.ir import launched
from tilewright.targets.cpu import llvm
from tilewright.targets.cpu.isa import ISAS, Isa, supported
from tilewright.tuning.gemm import verify

HEADER = "<15q"
"""Of a call: which kernel; of A, B and C each the bytes of the region, how far beyond a multiple of 64 it
begins, and where in it the first matrix does; strides in elements, the number of products, the bytes of
scalars."""
TRIES = 40
"""Configs that are drawn until one breaks no rule."""
DRIVER = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void kernel(void *, void *, void *, int64_t, int64_t, int64_t, int64_t, void *);
@DECLARED@
static kernel *const kernels[] = {@NAMES@};

/* A region as it was made: as far beyond a multiple of 64 bytes. */
static char *region(const int64_t *one, FILE *in)
{
    char *memory = aligned_alloc(64, (size_t)(one[0] + one[1] + 63) / 64 * 64 + 64);
    if (!memory || fread(memory + one[1], 1, (size_t)one[0], in) != (size_t)one[0])
        exit(2);
    return memory;
}

int main(int count, char **names)
{
    int64_t head[15];
    FILE *in = fopen(names[1], "rb"), *out = fopen(names[2], "wb");
    if (count != 3 || !in || !out)
        return 2;
    while (fread(head, sizeof head, 1, in) == 1) {
        char scalars[256], *at[3];
        if (fread(scalars, 1, (size_t)head[14], in) != (size_t)head[14])
            return 2;
        for (int i = 0; i < 3; i++)
            at[i] = region(head + 1 + 3 * i, in);
        kernels[head[0]](at[0] + head[2] + head[3], at[1] + head[5] + head[6], at[2] + head[8] + head[9],
                         head[10], head[11], head[12], head[13], scalars);
        for (int i = 0; i < 3; i++) {
            fwrite(at[i] + head[2 + 3 * i], 1, (size_t)head[1 + 3 * i], out);
            free(at[i]);
        }
    }
    return fclose(out) != 0;
}
"""
STATIC = ("-O1", "-std=c11", "-Wall", "-Wextra", "-Werror", "-static")


@dataclass(frozen=True, slots=True)
class Asked:
    """A kernel: what it computes, by which stencil and config."""

    problem: Problem
    stencil: str
    config: Config

    def source(self, device: Device) -> Source:
        """Its program."""
        return STENCILS[self.stencil].source(self.problem, self.config, device)


def device(name: str) -> Device:
    """A processor that has an instruction set and nothing else that LLVM could use."""
    isa: Isa = next(each for each in ISAS if each.name == name)
    limits = {"vector_bits": isa.vector_bits, "vector_registers": isa.vector_registers, "prefetch": 0}
    limits |= {"masks": int(isa.masks), "cores": 8, "l1d": 32 << 10, "l2": 1 << 20, "l3": 32 << 20}
    if isa.streaming_bits:
        limits["streaming_bits"] = isa.streaming_bits
    features = f"{isa.arch}/{isa.baseline}"
    return Device("cpu", name, f"any-{name}", limits, features, supports=supported(set(isa.needs)))


def problems(count: int, seed: int, letters: Sequence[str]) -> Iterator[Problem]:
    """Random problems, the types in turns, of any transposition and class of alpha and beta: packed, with
    padded columns, with an operand that the batch shares, or interleaved."""
    draw = random.Random(seed)
    for number in range(count):
        dtype = DTYPES[letters[number % len(letters)]]
        most = draw.choice((4, 9, 20, 33))
        m, n, k = (draw.randint(1, most) for _ in range(3))
        a, b = (draw.choice("ntjc" if dtype.is_complex else "nt") for _ in range(2))
        fields: dict[str, Any] = {"alpha": draw.choice(("1", "any")), "beta": draw.choice(("0", "1", "any"))}
        fields["batch"] = draw.choice((2, 1 << 20))
        kind = draw.choice(("packed", "packed", "padded", "shared", "interleaved"))
        if kind == "interleaved" and dtype.letter in "sdcz":
            a, b = (x if x in "nj" else "n" for x in (a, b))
            fields["interleaved"] = Interleaved()
        problem = Problem(dtype, m, n, k, a, b, **fields)
        if kind == "padded":
            more = {name: getattr(problem, name) + draw.randint(1, 3) for name in ("lda", "ldb", "ldc")}
            problem = Problem(dtype, m, n, k, a, b, **fields, **more)
        elif kind == "shared":
            problem = problem.with_(**{draw.choice(("stride_a", "stride_b")): 0})
        yield problem


def kernels(asked: Iterable[Problem], there: Device, seed: int = 0) -> Iterator[Asked]:
    """Of every stencil that accepts a problem the default, and another config that breaks no rule."""
    draw = random.Random(seed)
    for problem in asked:
        for name, stencil in of_target("cpu").items():
            if candidates.refusal(stencil, problem, there) is not None:
                continue
            default, space = stencil.default(problem, there), stencil.space(problem, there)
            yield Asked(problem, name, default)
            for _ in range(TRIES):
                other = Config({param.name: draw.choice(param.values) for param in space.params})
                if other != default and not space.why(other):
                    yield Asked(problem, name, other)
                    break


def built(asked: Sequence[Asked], there: Device, folder: Path) -> tuple[int, str]:
    """The program ``run`` in a folder, which has all kernels: exit code of the compiler, and what it said."""
    tool = TOOLS[there.features.partition("/")[0]]
    if not shutil.which(f"{tool}-gcc"):
        return SKIPPED, f"{tool}-gcc missing"
    names = [f"kernel_{number}" for number in range(len(asked))]
    programs = {name: each.source(there) for name, each in zip(names, asked, strict=True)}
    folder.joinpath("kernels.o").write_bytes(llvm.library(programs, there)[0])
    declared = "\n".join(f"extern kernel {name};" for name in names)
    text = DRIVER.replace("@DECLARED@", declared).replace("@NAMES@", ", ".join(names))
    folder.joinpath("run.c").write_text(text)
    return called([f"{tool}-gcc", *STATIC, "run.c", "kernels.o", "-orun"], folder)


def judged(asked: Sequence[Asked], runner: Sequence[object], folder: Path) -> tuple[int, str]:
    """Exit code and what is to be said of all kernels in all cases: the first that is wrong, or how many
    there were."""
    ready = [
        (number, verify.prepare(each.problem, case, 100 * number + at))
        for number, each in enumerate(asked)
        for at, case in enumerate(verify.CASES)
    ]
    with (folder / "in").open("wb") as file:
        for number, one in ready:
            made = one.operands
            regions = [
                (r.words.nbytes, r.words.ctypes.data % 64, r.address - r.words.ctypes.data)
                for r in made.regions
            ]
            strides, count = launched(made.problem)
            head = struct.pack(HEADER, number, *chain(*regions), *strides, count, made.scalars.nbytes)
            file.write(head + made.scalars.tobytes())
            for region in made.regions:
                file.write(region.words.tobytes())
    code, said = called([*runner, folder / "run", folder / "in", folder / "out"], folder)
    if code:
        return code, said
    with (folder / "out").open("rb") as file:
        for number, one in ready:
            for region in one.operands.regions:
                region.words[:] = np.frombuffer(file.read(region.words.nbytes), region.words.dtype)
            verdict = verify.judge(one)
            if not verdict.ok:
                each = asked[number]
                return 1, f"{each.stencil} {each.problem.key} {each.config}: {verdict.why}"
    return 0, f"{len(asked)} kernels in {len(verify.CASES)} cases each, none wrong"


def checks(
    isa: str, asked: Sequence[Problem], folder: Path, processors: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """A line for the kernels of an instruction set, and one for each of QEMU's processors that ran them."""
    there = device(isa)
    arch = there.features.partition("/")[0]
    line = {"isa": isa, "problems": len(asked)}
    if not shutil.which(f"qemu-{arch}"):
        yield {"kind": "kernels"} | line | {"exit": SKIPPED, "said": f"qemu-{arch} missing"}
        return
    chosen = list(kernels(asked, there))
    code, said = built(chosen, there, folder)
    yield {"kind": "kernels"} | line | {"exit": code, "said": said, "kernels": len(chosen)}
    for cpu in processors if not code else ():
        began = time.monotonic()
        code, said = judged(chosen, [f"qemu-{arch}", "-cpu", cpu], folder)
        seconds = round(time.monotonic() - began, 1)
        yield {"kind": "called"} | line | {"processor": cpu, "exit": code, "said": said, "seconds": seconds}
