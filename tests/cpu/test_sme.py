"""Outer products in streaming mode (ARM's SME): what is chosen, what is written, and what a caller finds of
its registers afterwards. What the kernels compute is in ``test_processors.py``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench import cross, foreign, spills
from bench.exported import TOOLS, called
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Config, Problem
from tilewright.planning import dispatch
from tilewright.targets.cpu import llvm

pytestmark = pytest.mark.cpu

GOLDEN = Path(__file__).parent.parent / "golden"
SME = STENCILS["sme"]
CALLER = """
#include <stdint.h>
#include <string.h>

typedef void kernel(void *, void *, void *, int64_t, int64_t, int64_t, int64_t, void *);
extern kernel asked;
static float a[9 * 7], b[7 * 8], c[9 * 8], scalars[4];
static uint8_t tiles[64][64], saved[64][64];
static struct { void *buffer; uint16_t slices; uint8_t rest[6]; } block;

int main(int count, char **words)
{
    static void *arguments[8] = {a, b, c, 0, 0, 0, (void *)1, scalars};
    double numbers[8];
    uint64_t word, mode;
    int wanted = count > 1 ? words[1][0] - '0' : 0; /* of every four slices those that are to be saved */
    memset(tiles, 0xa5, sizeof tiles);
    for (int i = 0; i < 64; i++)
        tiles[i][i] = (uint8_t)i;
    for (int i = 0; i < 9 * 7; i++)
        a[i] = 1;
    for (int i = 0; i < 7 * 8; i++)
        b[i] = 2;
    block.slices = (uint16_t)(16 * wanted);
    block.buffer = wanted ? saved : 0;
    /* A caller with something in the tiles, to be saved by whoever wants them. */
    if (count > 1) {
        __asm__ volatile(".arch_extension sme\\n\\tsmstart za" ::: "memory");
        for (int i = 0; i < 64; i++)
            __asm__ volatile(".arch_extension sme\\n\\tmov w12, %w0\\n\\tldr za[w12, 0], [%1]"
                             :: "r"(i), "r"(tiles[i]) : "x12", "memory");
        __asm__ volatile("msr s3_3_c13_c0_5, %0" :: "r"(&block) : "memory");
    }
    __asm__ volatile(
        "fmov d8, #1.0\\n\\tfmov d9, #2.0\\n\\tfmov d10, #3.0\\n\\tfmov d11, #4.0\\n\\t"
        "fmov d12, #5.0\\n\\tfmov d13, #6.0\\n\\tfmov d14, #7.0\\n\\tfmov d15, #8.0\\n\\t"
        "mov x19, %0\\n\\tmov x9, %1\\n\\t"
        "ldp x6, x7, [x9, 48]\\n\\tldp x4, x5, [x9, 32]\\n\\t"
        "ldp x2, x3, [x9, 16]\\n\\tldp x0, x1, [x9]\\n\\t"
        "bl asked\\n\\t"
        "stp d8, d9, [x19]\\n\\tstp d10, d11, [x19, 16]\\n\\t"
        "stp d12, d13, [x19, 32]\\n\\tstp d14, d15, [x19, 48]"
        :: "r"(numbers), "r"(arguments)
        : "memory", "cc", "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
          "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x30", "v0", "v1", "v2", "v3",
          "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",
          "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
          "v31");
    __asm__ volatile("mrs %0, s3_3_c13_c0_5" : "=r"(word));
    __asm__ volatile("mrs %0, s3_3_c4_c2_2" : "=r"(mode));
    for (int i = 0; i < 8; i++)
        if (numbers[i] != i + 1)
            return 10 + i;
    for (int i = 0; i < 9 * 8; i++)
        if (c[i] != 14)
            return 20;
    if (word)
        return 21;
    if (mode & 3)
        return 22;
    if (memcmp(saved, tiles, (size_t)block.slices * 64))
        return 23;
    for (int i = block.slices; i < 64; i++)
        for (int j = 0; j < 64; j++)
            if (saved[i][j])
                return 24;
    return 0;
}
"""


@pytest.mark.parametrize(
    ("letter", "trans"),
    [("s", "nn"), ("d", "tt"), ("s", "tn"), ("d", "nt"), ("h", "tn"), ("b", "nn"), ("c", "jn"), ("z", "tc")],
)
def test_it_is_chosen_where_it_takes_fewer_instructions(letter: str, trans: str) -> None:
    device = spills.processor("apple-m4")
    problem = Problem(DTYPES[letter], 19, 17, 13, *trans, alpha="any", beta="any", batch=2)
    plan = dispatch.plan(problem, device, cores=1, vendor=False)
    assert (plan.origin, plan.stencil) == ("default", "sme")
    assert plan.config is not None
    assert plan.config in SME.space(problem, device)
    facts = llvm.facts(SME.source(problem, plan.config, device), device)
    assert facts["spills"] == 0
    assert facts["fma"] == facts["fma_expected"] > 0


@pytest.mark.parametrize(("batch", "chosen"), [(2, "lanes"), (200, "sme")])
def test_a_few_small_products_do_not_enter_the_mode(batch: int, chosen: str) -> None:
    problem = Problem(DTYPES["d"], 4, 4, 4, batch=batch)
    plan = dispatch.plan(problem, spills.processor("apple-m4"), cores=1, vendor=False)
    assert plan.stencil == chosen


@pytest.mark.parametrize("letter", "sdhbcz")
def test_both_ways_between_tiles_and_memory(letter: str, tmp_path: Path) -> None:
    """The cases that the tuner checks kernels with, one tile at a time and all of them, in loops and not."""
    there = foreign.device("sme512")
    problem = Problem(DTYPES[letter], 18, 35, 21, "t", "n", alpha="any", beta="1", batch=2)
    configs = (
        {"blk_m": 1, "blk_n": 1, "blk_k": 4, "via": "vector"},
        {"blk_m": 2, "blk_n": 1, "blk_k": 21, "via": "slice"},
        # Of complex floats there are two squares in all.
        {"blk_m": 1, "blk_n": 2 if letter == "c" else 3, "blk_k": 2, "via": "vector"},
    )
    kernels = [foreign.Asked(problem.with_(beta=beta), "sme", Config(c)) for c in configs for beta in "01"]
    if not shutil.which("qemu-aarch64"):
        pytest.skip("qemu-aarch64 missing")
    code, said = foreign.built(kernels, there, tmp_path)
    if code == cross.SKIPPED:
        pytest.skip(said)
    assert (code, said) == (0, "")
    run = ["qemu-aarch64", "-cpu", cross.PROCESSORS["sme512"][0]]
    code, said = foreign.judged(kernels, run, tmp_path)
    assert code == 0, said


def test_it_leaves_what_it_does_not_serve() -> None:
    device = spills.processor("apple-m4")
    assert "no fewer instructions" in str(SME.accepts(Problem(DTYPES["d"], 2, 1, 9), device))
    assert "type hc" in str(SME.accepts(Problem(DTYPES["hc"], 9, 9, 9), device))
    assert "larger than 64" in str(SME.accepts(Problem(DTYPES["s"], 65, 9, 9), device))
    for name in ("apple-m1", "a64fx", "apple-m4-neon_fcma", "neoverse-v2"):
        assert "no unit for outer products" in str(
            SME.accepts(Problem(DTYPES["d"], 9, 9, 9), spills.processor(name))
        )


@pytest.mark.parametrize(
    ("letter", "trans"), [("s", "nn"), ("d", "tt"), ("h", "tn"), ("b", "nt"), ("c", "jt"), ("z", "cn")]
)
def test_nothing_is_left_to_link(letter: str, trans: str) -> None:
    """LLVM has calls to save tiles, and to say how long vectors are. Nothing of the mode is within
    the loop over the batch, and nothing there is of NEON, which the mode lacks."""
    device = spills.processor("apple-m4")
    problem = Problem(DTYPES[letter], 37, 21, 41, *trans, alpha="any", beta="1", batch=2)
    text = llvm.assembly(SME.source(problem, SME.default(problem, device), device), device)
    words = [line.split()[:2] for line in text.splitlines() if line.startswith("\t") and line.split()]
    assert not any(word[0] in ("bl", "blr") for word in words)
    assert [word for word in words if word[0].startswith("sm")] == [
        ["smstart", "sm"], ["smstart", "za"], ["smstop", "za"], ["smstop", "sm"]
    ]  # fmt: skip
    assert not any(f".{lanes}" in text for lanes in ("16b", "8h", "4s", "2d", "2s"))


@pytest.mark.parametrize("dormant", ["", "0", "3", "4"])
def test_a_caller_keeps_what_it_had(dormant: str, tmp_path: Path) -> None:
    """Registers that a function preserves; tiles that were to be saved by whoever wants them next: none, no
    slice, some, and all of them."""
    there = foreign.device("sme512")
    problem = Problem(DTYPES["s"], 9, 8, 7)
    tool = f"{TOOLS['aarch64']}-gcc"
    for each in (tool, "qemu-aarch64"):
        if not shutil.which(each):
            pytest.skip(f"{each} missing")
    source = SME.source(problem, SME.default(problem, there), there)
    (tmp_path / "kernel.o").write_bytes(llvm.library({"asked": source}, there)[0])
    (tmp_path / "caller.c").write_text(CALLER)
    assert called([tool, "-O1", "-static", "caller.c", "kernel.o", "-ocaller"], tmp_path) == (0, "")
    run = ["qemu-aarch64", "-cpu", cross.PROCESSORS["sme512"][0], tmp_path / "caller", *dormant]
    assert called(run, tmp_path) == (0, "")


def test_the_program_is_as_it_was(request: pytest.FixtureRequest) -> None:
    """One small kernel, to be read in a review (``--update-golden``)."""
    device = spills.processor("apple-m4")
    (problem,) = Problem.parse("d:5x3x4")
    text = SME.source(problem, SME.default(problem, device), device).text
    path = GOLDEN / f"sme-d-5x3x4.{device.key}.ll"
    if request.config.getoption("--update-golden"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; if it should, run pytest --update-golden"
