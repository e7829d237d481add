"""The argument block of every CUDA matrix product, ``struct Gemm`` of ``lib/gemm.cuh``, as bytes."""

from __future__ import annotations

import struct

from tilewright.model import Problem

FIELDS = (
    *((name, "Q") for name in ("a", "b", "c")),
    *((name, "q") for name in ("lda", "ldb", "ldc", "stride_a", "stride_b", "stride_c")),
    *((name, "i") for name in ("m", "n", "k", "batch")),
    *((name, "2d") for name in ("alpha", "beta")),
    *((name, "Q") for name in ("texture_a", "texture_b")),
)
"""The fields of ``struct Gemm`` in their order, each with its format as ``struct`` has it."""
BLOCK = struct.Struct("<" + "".join(code for _, code in FIELDS))
POINTERS = struct.Struct("<3Q")
"""The first three words: all that changes from one call to the next."""


def pack(
    problem: Problem,
    pointers: tuple[int, int, int],
    alpha: complex,
    beta: complex,
    textures: tuple[int, int] = (0, 0),
) -> bytearray:
    """The block for a problem on operands at these addresses; its pointers may be packed over later."""
    p = problem
    block = bytearray(BLOCK.size)
    BLOCK.pack_into(
        block,
        0,
        *pointers,
        *(p.lda, p.ldb, p.ldc),
        *p.strides,
        *(p.m, p.n, p.k, p.batch),
        *(complex(alpha).real, complex(alpha).imag, complex(beta).real, complex(beta).imag),
        *textures,
    )
    return block
