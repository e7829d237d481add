"""Instruction sets as values: what a generator and its rules need to know of each.

A new instruction set is one more row, and a golden file for what the stencils write for it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Isa:
    """Vector width and registers of an instruction set, and how to recognise it.

    ``needs`` are names of LLVM features that must all be present; ``fma_text`` begins every fused
    multiply-add in assembly. ``baseline`` is what LLVM compiles for where the code is to run on every
    processor that has the instruction set, its name of a core and features, and ``asked`` what a C program
    asks ``__builtin_cpu_supports`` for before it runs such code: nothing where the architecture always has
    it, or where ``found`` is what it asks, an expression in C of what ``export/c/runtime.h`` has, and None
    where it knows no way to ask, so that there are no libraries for it.

    ``extras`` are features that kernels use where a processor has them. ``scalable``: vectors are as long as
    a processor makes them, and code is for those of ``vector_bits`` alone. ``complex_slots``: multiply-adds
    in whose time a complex one is done. ``streaming_bits``: how long vectors are in the mode of a processor's
    unit for outer products, where code is for that length; 0 where there is none.
    """

    name: str
    arch: str
    needs: tuple[str, ...]
    vector_bits: int
    vector_registers: int
    masks: bool
    fma_text: tuple[str, ...]
    baseline: str
    asked: tuple[str, ...] | None = ()
    found: str = ""
    extras: tuple[str, ...] = ()
    scalable: bool = False
    complex_slots: int = 1
    streaming_bits: int = 0

    @property
    def limits(self) -> dict[str, int]:
        """What ``Device.limits`` says of a processor's instructions."""
        slots = {"complex_slots": self.complex_slots} if self.complex_slots > 1 else {}
        streaming = {"streaming_bits": self.streaming_bits} if self.streaming_bits else {}
        return {
            "vector_bits": self.vector_bits,
            "vector_registers": self.vector_registers,
            "masks": int(self.masks),
            **slots,
            **streaming,
        }


_ARM_FMA = ("fmla", "fmad", "fmls", "fmsb", "fcmla", "bfmla", "fmopa", "fmops")
_AVX2 = ("avx2", "bmi", "bmi2", "fma", "popcnt")


def _sve(bits: int, slots: int) -> Isa:
    """SVE with vectors of so many bits."""
    return Isa(
        *(f"sve{bits}", "aarch64", ("neon", "sve"), bits, 32, True, _ARM_FMA),
        baseline="generic +neon,+sve",
        extras=("sve2", "bf16"),
        found=f"tw_vector_bytes() == {bits // 8}",
        scalable=True,
        complex_slots=slots,
    )


ISAS = (
    Isa(
        *("avx512", "x86_64", ("avx512f", "avx512vl", "avx512dq", "fma"), 512, 32, True, ("vfmadd",)),
        baseline="x86-64-v4 +avx512f",
        asked=(*_AVX2, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
    ),
    Isa(
        *("avx2", "x86_64", ("avx2", "fma"), 256, 16, False, ("vfmadd",)),
        # What compilers older than GCC 11 cannot ask for, and no product needs, is left out.
        baseline="x86-64-v3 -f16c,-lzcnt,-movbe",
        asked=_AVX2,
    ),
    # Vectors of 512 bits are the A64FX's, which does a complex multiply-add in three parts.
    *(_sve(bits, slots) for bits, slots in ((512, 3), (256, 1))),
    # Beside vectors of NEON those of the unit for outer products: where there is no SVE it alone has any.
    *(
        Isa(
            *(f"sme{bits}", "aarch64", ("neon", "complxnum", "sme", "sme-f64f64"), 128, 32, False, _ARM_FMA),
            baseline="generic +neon,+complxnum,+sme,+sme-f64f64",
            found=f"tw_streaming_bytes() == {bits // 8} && tw_has_fcma()",
            streaming_bits=bits,
        )
        for bits in (1024, 512, 256, 128)
    ),
    _sve(128, 1),
    Isa(
        *("neon_fcma", "aarch64", ("neon", "complxnum"), 128, 32, False, _ARM_FMA),
        baseline="generic +neon,+complxnum",
        found="tw_has_fcma()",
    ),
    Isa("neon", "aarch64", ("neon",), 128, 32, False, _ARM_FMA, baseline="generic +neon"),
    Isa(
        *("mma", "ppc64le", ("mma", "paired-vector-memops", "vsx"), 128, 64, False),
        # Outer products, among them those of pairs of 16 bits, are multiply-adds of whole tiles.
        ("xvmadd", "xsmadd", "fmadd", "xvf64ger", "xvf32ger", "xvf16ger", "xvbf16ger"),
        baseline="pwr10 +mma",
        asked=("arch_3_1", "mma"),
    ),
    Isa(
        "vsx",
        "ppc64le",
        ("vsx",),
        128,
        64,
        False,
        ("xvmadd", "xsmadd", "fmadd"),
        baseline="pwr8 +vsx",
        asked=("arch_2_07", "vsx"),
    ),
    # Vectors of a length that the processor chooses, used as if they had the least that it promises.
    *(
        Isa(
            f"rvv{bits}",
            "riscv64",
            ("m", "a", "f", "d", "c", "v", f"zvl{bits}b"),
            bits,
            32,
            True,
            ("vfmacc", "vfmadd", "fmadd"),
            baseline=f"generic-rv64 +m,+a,+f,+d,+c,+v,+zvl{bits}b",
            asked=None,
            extras=("zvfhmin",),
        )
        for bits in (512, 256, 128)
    ),
)


def best_isa(arch: str, features: set[str], vector_bits: int = 0, streaming_bits: int = 0) -> Isa | None:
    """The widest instruction set that a machine has; None when the table knows none of it. ``vector_bits``:
    how long this process's scalable vectors are, 0 where there are none, ``streaming_bits`` those of its unit
    for outer products."""
    return next(
        (
            isa
            for isa in ISAS
            if isa.arch == arch
            and features.issuperset(isa.needs)
            and (not isa.scalable or isa.vector_bits == vector_bits)
            and isa.streaming_bits in (0, streaming_bits)
        ),
        None,
    )


@dataclass(frozen=True, slots=True)
class Family:
    """Processors that are alike in what their caches and units do, by the beginnings of LLVM's names.

    ``prefetch`` is how many products ahead it is worth asking for operands from memory; 0 where the
    hardware does as well alone. ``ahead``: the bytes that these products may take, beyond which fewer are
    asked for; 0 for any. ``least``: the bytes of one product below which nothing is. ``runs``: whether
    kernels that read packed batches from end to end, several matrices in a vector, gain by it as others do.
    ``streams``: results that are larger than the caches had better go
    past them. ``staged``: cycles of multiply-adds, for a thousand bytes of a product, up to which such
    results go through a buffer where they do not fill lines by themselves; beyond it ordinary stores hide
    behind them. 0: all go through the buffer, those that fill lines too. ``fma_bits``: bits that a
    multiply-add unit takes at once; shorter vectors cost as much, longer ones as many such pieces. ``pairs``:
    products of pairs of bfloat16 come as fast as multiply-adds of as many bits. ``turns``: how many turns
    ahead few rows of interleaved matrices are asked for; 0: as ``prefetch`` and ``least`` say.
    """

    name: str
    starts: tuple[str, ...]
    prefetch: int
    ahead: int = 0
    least: int = 0
    runs: bool = True
    streams: bool = True
    staged: int = 0
    fma_bits: int = 256
    pairs: bool = False
    turns: int = 0

    @property
    def memory(self) -> tuple[int, int, int, bool, bool, int]:
        """What there is to know of batches from memory."""
        return self.prefetch, self.ahead, self.least, self.runs, self.streams, self.staged


FAMILIES = (
    # On one core of a Zen 5, d, s, c and z from memory, n of 5 to 32: four products ahead ran 0.9 to 3 times
    # as fast as none, fewer were as good where four take more than 32 KB, and where several matrices share a
    # vector the processor did better alone (bench/results/znver5-avx512/stores.jsonl).
    # There, results of 16 to 64 rows that fill lines left 1.05 to 1.15 times as fast without a buffer, and of
    # others, squares of 16 to 63 of all four types, ordinary stores were up to 1.17 times as fast from some
    # 150 cycles for a thousand bytes on, and the buffer up to 1.15 below.
    Family(
        "Zen 5",
        ("znver5", "znver6"),
        4,
        ahead=32 << 10,
        runs=False,
        staged=150,
        fma_bits=512,
        pairs=True,
    ),
    # On one core of a Zen 4, d, s, c and z from memory with both betas, squares of 5 to 32: one product ahead
    # ran 0.5 to 1.1 times as fast as none where A, B and C of one take less than 12 KB, and 1.12 times in the
    # mean of the others (0.89 to 2.4, z 32 1.77); two and four were no better. Results that do not fill lines
    # left faster through the buffer up to some 65 cycles for a thousand bytes, and by ordinary stores above
    # (bench/results/znver4-avx512/stores.jsonl). Pairs of bfloat16 ran 1.1 to 2.5 times as fast as numbers
    # that are widened, at 8 and more rows (halves.jsonl there). Interleaved matrices of up to 32 rows ran
    # 1.08 times as fast with two turns asked for ahead as with none, four and eight 0.96 and 0.85 (timed
    # once, not kept).
    Family("Zen 4", ("znver4",), 1, least=12 << 10, runs=False, staged=65, pairs=True, turns=2),
    # On one core of a Zen 3, d, s, c and z from memory with both betas, squares of 10 to 32: one product
    # ahead ran 1.2 times as fast as none in the mean (0.9 to 1.9), two as fast as one, four a little slower;
    # of those whose four take less than 8 KB four did 1.02 times as well as one. Where several matrices share
    # a vector it made no difference. Results that do not fill lines left as fast or faster by ordinary stores
    # from some 120 cycles for a thousand bytes on, those that fill them by streaming
    # (bench/results/znver3-avx2/stores.jsonl). Those before it have its caches.
    Family("Zen", ("znver",), 4, ahead=8 << 10, runs=False, staged=122),
    # Ordinary stores with operands, C among them, asked for two products ahead were as fast as any other way
    # on a Cascade Lake at 30 of 32 sizes of d and s, aligned or not, and 1.17 times as fast as streaming with
    # it in the mean (bench/results/cascadelake-avx512/stores.jsonl). Those before and after it have its
    # caches.
    Family("Skylake server", ("skylake-avx512", "cascadelake", "cooperlake"), 2, streams=False),
    # On a Xeon with AVX-512 two ahead gained 35 % at n = 16 and 19 % at n = 24, doubles from memory, and
    # streaming 1.04 to 1.39 (bench/results/emeraldrapids-avx512/stores.jsonl). Of its winners from the caches
    # 106 of 109 of the stencil `tile` have vectors of 512 bits (store/data). The default that follows from it
    # was timed from memory (bounds-untuned.jsonl there), and from the caches beside NumPy alone.
    Family(
        "Xeon", ("sapphirerapids", "emeraldrapids", "graniterapids", "diamondrapids"), 2, fma_bits=512
    ),
    # Those with AVX-512 for desks and laps have one unit of 512 bits, or two of 256.
    Family(
        "Core",
        (
            "haswell", "broadwell", "skylake", "cannonlake", "icelake",
            "tigerlake", "rocketlake", "alderlake", "raptorlake", "meteorlake", "arrowlake", "lunarlake",
        ),
        2,
    ),
)  # fmt: skip


def family(cpu: str) -> Family | None:
    """The row of the table for a processor that LLVM calls ``cpu``; None if the table lacks it."""
    return next((family for family in FAMILIES if cpu.startswith(family.starts)), None)


def family_limits(cpu: str) -> dict[str, int]:
    """What ``Device.limits`` says of a processor that LLVM calls ``cpu``, the fields of ``Family``:
    ``prefetch``, ``prefetch_bytes`` (``ahead``), ``prefetch_least`` (``least``), ``prefetch_runs``
    (``runs``), ``streams``, ``staged``, ``fma_bits``, ``pairs`` and ``prefetch_turns`` (``turns``). Where
    the table lacks it nothing is asked for, large results are streamed, units have 256 bits, and pairs of
    bfloat16 are slow."""
    found = family(cpu) or Family("", (), 0)
    return {
        "prefetch": found.prefetch,
        "prefetch_bytes": found.ahead,
        "prefetch_least": found.least,
        "prefetch_runs": int(found.runs),
        "streams": int(found.streams),
        "staged": found.staged,
        "fma_bits": found.fma_bits,
        "pairs": int(found.pairs),
        "prefetch_turns": found.turns,
    }


FEATURES = {
    # Vectors of float16 to float32 and back: an extension of x86 and of RISC-V, part of every 64-bit ARM.
    "half": ("f16c", "neon", "zvfhmin"),
    "avx512_fp16": ("avx512fp16",),
    "avx512_bf16": ("avx512bf16",),
    "amx": ("amx-tile",),
    "amx_bf16": ("amx-bf16",),
    "amx_fp16": ("amx-fp16",),
    "sve": ("sve",),
    # Products of 16 bits that are added to float32: of float16, among others, and of bfloat16.
    "sve2": ("sve2",),
    "arm_bf16": ("bf16",),
    # Complex multiply-adds: an extension of NEON, part of SVE.
    "fcma": ("complxnum", "sve"),
    "mma": ("mma",),
    "sme": ("sme",),
}
"""What a processor may support beside its vectors, each with LLVM's names for it, one to an architecture
(``Device.supports``)."""


TILES = ("amx-tile", "amx-bf16", "amx-fp16")
"""LLVM's features of tile registers, which a process may use where its system allows it."""
ASKED = ("avx512bf16", *TILES)
"""LLVM's features that some stencils ask for by name, beside what a row of ``ISAS`` needs."""


def compiles_for(features: str, name: str) -> bool:
    """Whether one of LLVM's features is asked for by name in what is compiled for (``Device.features``)."""
    return f"+{name}" in features.partition(" ")[2].split(",")


def supported(features: set[str]) -> frozenset[str]:
    """Which of ``FEATURES`` a processor has, from LLVM's names of all that it has."""
    return frozenset(name for name, names in FEATURES.items() if not features.isdisjoint(names))
