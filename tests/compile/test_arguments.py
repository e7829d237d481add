"""The structures that kernels are called with: the compiler's layout against what Python packs."""

from __future__ import annotations

import re
import struct
from dataclasses import replace

import pytest

from bench.sanitize import chains
from tests import tma
from tilewright.errors import CompileError
from tilewright.model import DTYPES, Problem, Source
from tilewright.stencils.cuda import args
from tilewright.stencils.cuda.chain.stencil import ChainStencil
from tilewright.stencils.cuda.grouped.stencil import GroupedStencil, products
from tilewright.stencils.cuda.source import program
from tilewright.targets.cuda import disassemble, nvrtc
from tilewright.targets.cuda.arguments import (
    Argument,
    Pointer,
    Scalar,
    Struct,
    TensorMap,
    Texture,
    alignment_of,
    laid,
)
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

H200 = named("h200")
TYPES = {"q": "long long", "i": "int", "2d": "double[2]"}
TYPES |= {"4q": "long long[4]", "4I": "unsigned int[4]", "4i": "int[4]"}
"""What a format is in C++; an address or a handle has any type of 8 bytes."""
MAP = "struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };\n"
"""As in cuda.h, which NVRTC does not have."""


def assertions(structure: Struct) -> str:
    """C++ that compiles where a structure has these fields, one after the other, and no others.

    Offsets are asked for as EDG's own headers do, of whose front end NVRTC is made: that of CUDA 13.0 has no
    ``__builtin_offsetof``.
    """
    fields, size = laid(structure)
    name = structure.name
    lines = ["template <typename A, typename B> struct Same { static constexpr bool yes = false; };"]
    lines += ["template <typename A> struct Same<A, A> { static constexpr bool yes = true; };"]
    for each in fields:
        of = each.field.name
        lines.append(
            f'static_assert(__INTADDR__(&(({name} *)0)->{of}) == {each.offset}, "{of} is elsewhere");'
        )
        lines.append(f'static_assert(sizeof({name}::{of}) == {each.size}, "{of} has another size");')
        if isinstance(each.field, Scalar) and each.field.format in TYPES:
            same = f"Same<decltype({name}::{of}), {TYPES[each.field.format]}>::yes"
            lines.append(f'static_assert({same}, "{of} has another type");')
    lines.append(
        f'static_assert(alignof({name}) == {alignment_of(structure)}, "it is aligned in another way");'
    )
    return "\n".join([*lines, f'static_assert(sizeof({name}) == {size}, "there is more, or less");'])


def structure_of(arguments: tuple[Argument, ...]) -> Struct:
    """The one structure that a kernel takes."""
    (found,) = arguments
    assert isinstance(found, Struct)
    return found


def gemm(header: str) -> Source:
    """A program that is lib/gemm.cuh and what is asserted of it."""
    checks = assertions(structure_of(args.gemm(Problem(DTYPES["s"], 1, 1, 1))))
    return Source(f'{header}\n{checks}\nextern "C" __global__ void nothing() {{}}\n', "nothing", (), ())


HEADER = dict(program("classic")[1])["lib/gemm.cuh"].replace("#pragma once", "")


def test_python_packs_what_every_kernel_takes() -> None:
    nvrtc.compile(gemm(HEADER), H200)


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("stride_b, stride_c;", "stride_c, stride_b;"),
        ("int m, n, k, batch;", "int n, m, k, batch;"),
        ("alpha[2], beta[2];", "beta[2], alpha[2];"),
        ("const void *a, *b;", "const void *b, *a;"),
        ("long long lda, ldb, ldc;", "double lda, ldb, ldc;"),
    ],
)
def test_a_field_elsewhere_is_seen(written: str, instead: str) -> None:
    assert written in HEADER
    with pytest.raises(CompileError, match=r"is elsewhere|another type"):
        nvrtc.compile(gemm(HEADER.replace(written, instead)), H200)


def test_python_packs_what_lists_of_products_take() -> None:
    p = products(DTYPES["s"], 4, 4, 4, "nn", 3)
    stencil = GroupedStencil()
    config = stencil.default(p, H200)
    source = stencil.source(p, config, H200)
    checks = assertions(structure_of(stencil.arguments(p, config)))
    nvrtc.compile(replace(source, text=f"{source.text}\n{checks}"), H200)


def test_python_packs_what_chains_take() -> None:
    p = chains.chain(DTYPES["s"], (5, 3, 6, 4), 1, 1)
    stencil = ChainStencil()
    config = stencil.default(p, H200)
    source = stencil.source(p, config, H200)
    checks = assertions(structure_of(stencil.arguments(p, config)))
    nvrtc.compile(replace(source, text=f"{source.text}\n{checks}"), H200)


MIXED = Struct(
    "Mixed",
    (
        Scalar("first", "i", 3),
        TensorMap("map", 0, "float32", (4, 4), (16,), (4, 4)),
        Pointer("to", 1),
        Scalar("small", "h", -2),
        Scalar("pair", "2f"),
        Texture("texture", 0, "tex1d"),
        Scalar("last", "b", 7),
    ),
)
MIXED_TEXT = """struct Mixed {
    int first; CUtensorMap map; float *to; short small; float pair[2]; unsigned long long texture; char last;
};
"""


def test_structures_with_gaps_and_tensor_maps_are_laid_out_as_the_compiler_does() -> None:
    text = f'{MAP}{MIXED_TEXT}{assertions(MIXED)}\nextern "C" __global__ void nothing() {{}}\n'
    nvrtc.compile(Source(text, "nothing"), H200)


def test_a_kernel_that_copies_through_a_tensor_map_compiles_and_takes_what_is_declared() -> None:
    described = tma.arguments(40, 100)
    checks = assertions(structure_of(described[2:]))
    source = replace(tma.SOURCE, text=f"{tma.TEXT}\n{checks}")
    assert nvrtc.compile(source, H200).facts["spills"] == 0
    text = disassemble.ptx(source, H200)
    assert "cp.async.bulk.tensor.2d" in text
    whole = re.findall(r"\.param \.align (\d+) \.b8 \w+\[(\d+)\]", text)
    assert [tuple(map(int, each)) for each in whole] == [
        (alignment_of(each), laid(each)[1]) for each in described if not isinstance(each, Scalar)
    ]
    assert [laid(each)[1] for each in described if isinstance(each, Scalar)] == [4]
    assert text.count(".param .f32") == 1


@pytest.mark.pure
def test_every_value_is_packed_into_its_field() -> None:
    p = Problem.parse("z:2x3x5@7", alpha="any", beta="any")[0]
    p = p.with_(lda=11, ldb=13, ldc=17, stride_a=101, stride_b=103, stride_c=107)
    block = bytes(args.pack(p, (1 << 40, 2 << 40, 3 << 40), 1.5 + 2.5j, 3.5 + 4.5j, (5 << 40, 6 << 40)))
    found = {}
    for each in laid(structure_of(args.gemm(p)))[0]:
        code = each.field.format if isinstance(each.field, Scalar) else "Q"
        values = struct.unpack_from("<" + code, block, each.offset)
        found[each.field.name] = values if len(values) > 1 else values[0]
    assert found == {
        "a": 1 << 40, "b": 2 << 40, "c": 3 << 40, "lda": 11, "ldb": 13, "ldc": 17,
        "stride_a": 101, "stride_b": 103, "stride_c": 107, "m": 2, "n": 3, "k": 5, "batch": 7,
        "alpha": (1.5, 2.5), "beta": (3.5, 4.5), "texture_a": 5 << 40, "texture_b": 6 << 40,
    }  # fmt: skip
