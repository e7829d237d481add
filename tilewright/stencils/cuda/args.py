"""The argument of every CUDA matrix product, ``struct Gemm`` of ``lib/gemm.cuh``."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from math import prod

from tilewright.model import DTYPES, OUTER_AXES, Problem
from tilewright.targets.cuda import arguments
from tilewright.targets.cuda.arguments import A, Argument, B, C, Pointer, Scalar, Struct, Texture

Three = tuple[int, int, int]


UNREAD = (Texture("texture_a", A, ""), Texture("texture_b", B, ""))
"""The textures of a kernel that reads through none."""


def struct_gemm(
    sizes: Three, leading: Three, strides: Three, batch: int, textures: tuple[Texture, Texture] = UNREAD
) -> Struct:
    """The description of ``struct Gemm``: extents, leading dimensions and batch strides are constants of it,
    alpha and beta are given when it is packed."""
    return Struct(
        "Gemm",
        (
            *(Pointer(name, operand) for name, operand in (("a", A), ("b", B), ("c", C))),
            *(Scalar(f"ld{name}", "q", ld) for name, ld in zip("abc", leading, strict=True)),
            *(Scalar(f"stride_{name}", "q", stride) for name, stride in zip("abc", strides, strict=True)),
            *(Scalar(name, "i", extent) for name, extent in zip("mnk", sizes, strict=True)),
            Scalar("batch", "i", batch),
            Scalar("alpha", "2d"),
            Scalar("beta", "2d"),
            *textures,
        ),
    )


def gemm(problem: Problem, reading: str = "") -> tuple[Argument, ...]:
    """What a matrix product's kernel is called with. ``reading``: the textures that A and B are read through
    ("tex1d" or "tex2d"), "" for none."""
    p = problem
    leading = p.lda or 0, p.ldb or 0, p.ldc or 0
    return (struct_gemm((p.m, p.n, p.k), leading, p.strides, p.batch, _textures(p, reading)),)


def nested(
    problem: Problem, group: int = 1, first: int = -1, along: int = 1, order: tuple[int, ...] = ()
) -> tuple[Argument, ...]:
    """What a kernel is called with that finds its matrices along several batch axes: ``struct Nested`` of
    ``lib/nest.cuh``. Along the innermost axis it counts pieces of ``group`` products, and along the outer one
    with number ``first``, which comes next, ``along`` positions at a time. ``order``: these axes by number,
    the quickest first, where they are walked along in another order."""
    p = problem
    leading = p.lda or 0, p.ldb or 0, p.ldc or 0
    plain = struct_gemm((p.m, p.n, p.k), leading, p.strides, p.products)
    others = list(p.outer)
    inward = [others.pop(first), *others[::-1]]
    extents = [-(-p.batch // group), -(-inward[0][0] // along), *(extent for extent, *_ in inward[1:])]
    order = order or tuple(range(len(extents)))
    # Nothing is divided by the outermost extent.
    counts = [extents[axis] for axis in order[:-1]]
    shifts = [(count - 1).bit_length() for count in counts]
    factors = [(1 << 31 + shift) // count + 1 for count, shift in zip(counts, shifts, strict=True)]

    def four(values: Iterable[int]) -> tuple[int, ...]:
        return (*values, *(0,) * OUTER_AXES)[:OUTER_AXES]

    nest = (
        Scalar("count", "4I", four(counts)),
        Scalar("factor", "4I", four(factors)),
        Scalar("shift", "4i", four(shifts)),
        *(
            Scalar(f"step_{name}", "4q", four(inward[axis - 1][which] for axis in order if axis))
            for which, name in enumerate("abc", 1)
        ),
        Scalar("run", "i", p.batch),
        Scalar("pieces", "i", prod(extents)),
        Scalar("across", "i", inward[0][0]),
    )
    return (Struct("Nested", (*plain.fields, *nest)),)


def _textures(p: Problem, reading: str) -> tuple[Texture, Texture]:
    size = p.dtype.itemsize
    a, b, _ = p.stored
    return (
        Texture("texture_a", A, reading, *a, p.lda or 0, size),
        Texture("texture_b", B, reading, *b, p.ldb or 0, size),
    )


def _format() -> str:
    fields, _ = arguments.laid(gemm(Problem(DTYPES["s"], 1, 1, 1))[0])
    return "<" + "".join(x.field.format if isinstance(x.field, Scalar) else "Q" for x in fields)


BLOCK = struct.Struct(_format())
"""The bytes of ``struct Gemm``, for who reads them."""


def pack(
    problem: Problem,
    pointers: tuple[int, int, int],
    alpha: complex,
    beta: complex,
    textures: tuple[int, int] = (0, 0),
) -> bytearray:
    """The bytes for a problem on operands at these addresses, with these handles of textures."""
    reading = "tex1d" if any(textures) else ""
    packed = arguments.pack(gemm(problem, reading), {"alpha": alpha, "beta": beta})
    packed.put(pointers, lambda field, _: arguments.ADDRESS.pack(textures[field.operand]))
    return packed.block
