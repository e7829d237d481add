"""Slips in what Python does for a GPU: rules, arguments, launches, and the vendor's products."""

from __future__ import annotations

from bench.mutants.slip import Slip

_PRODUCTS = "tests/cpu/cublaslt/test_products.py"
_WORKSPACE = "tests/cpu/cublaslt/test_workspace.py"
_PLANS = "tests/cpu/cublaslt/test_plans.py"
_CLASSIC = "tests/pure/test_classic.py"
_GROUPED = "tests/pure/test_grouped.py"
_PATCHES = "tests/cpu/patches tests/pure/test_packing.py"

SLIPS: tuple[Slip, ...] = (
    Slip(
        "tilewright/stencils/cuda/source.py",
        '/kernel.cuh", text), *headers]',
        '/kernel.cuh", text)]',
        "tests/pure/test_generators.py",
    ),
    Slip("tilewright/stencils/cuda/classic/needs.py", "p.strides[:2] if", "p.strides[:1] if", _CLASSIC),
    Slip("tilewright/stencils/cuda/classic/extras.py", ' + device["shared_reserved"])', ")", _CLASSIC),
    Slip(
        "tilewright/stencils/cuda/grouped/descriptors.py",
        '"right") - 1] > last)',
        '"right") - 1] >= last)',
        _GROUPED,
    ),
    Slip(
        "tilewright/targets/cuda/arguments.py",
        "complex(value).real, complex(value).imag)",
        "complex(value).real, -complex(value).imag)",
        "tests/pure/test_packing.py",
    ),
    Slip(
        "tilewright/targets/cuda/arguments.py",
        "        at = _up(at, alignment_of(field))\n",
        "",
        _PATCHES,
    ),
    Slip(
        "tilewright/targets/cuda/arguments.py",
        "Patch(begin + each.offset, each.field)",
        "Patch(each.offset, each.field)",
        _PATCHES,
    ),
    Slip("tilewright/targets/cuda/arguments.py", "max(WORD, alignment_of(argument))", "WORD", _PATCHES),
    Slip("tilewright/targets/cuda/arguments.py", "    block += bytes(-len(block) % WORD)\n", "", _PATCHES),
    Slip("tilewright/targets/cuda/binding.py", "field.alignment - 1)", "0)", _PATCHES),
    Slip("tilewright/targets/cuda/binding.py", "(offset + at) // WORD", "offset // WORD", _PATCHES),
    Slip(
        "tilewright/targets/cuda/binding.py",
        "(field.columns - 1) * field.ld + field.rows",
        "field.columns * field.ld",
        _PATCHES,
    ),
    Slip(
        "tilewright/targets/cuda/tensormap.py",
        "if replace(words, other) != words[:at] + ADDRESS.pack(other) + words[at + WORD :]:",
        "if replace(words, other)[at : at + WORD] != ADDRESS.pack(other):",
        _PATCHES,
    ),
    Slip("tilewright/targets/cuda/tensormap.py", "-first % MAP_ALIGNMENT", "first % MAP_ALIGNMENT", _PATCHES),
    Slip(
        "tilewright/runtime/launching.py",
        "%odd.here = and i64 %address, %patch.mask",
        "%odd.here = and i64 0, %patch.mask",
        _PATCHES,
    ),
    Slip(
        "tilewright/runtime/fastcall_cuda.py",
        "    return None if any(word.mask for word in words) else",
        "    return",
        _PATCHES,
    ),
    Slip("tilewright/runtime/bound_cuda.py", "SWAPPED[word.operand]", "word.operand", _PATCHES),
    Slip(
        "tilewright/stencils/cuda/args.py",
        "(1 << 31 + shift) // count + 1",
        "(1 << 31 + shift) // count",
        "tests/pure/test_nested.py",
    ),
    Slip(
        "tilewright/runtime/launch.py", '("alpha", "beta"), scalars', '("beta", "alpha"), scalars', _PATCHES
    ),
    Slip(
        "tilewright/runtime/cublaslt.py",
        "self.beta = self.alpha + 2 * ctypes.sizeof(wide)",
        "self.beta = self.alpha + ctypes.sizeof(wide)",
        _PRODUCTS,
    ),
    Slip("tilewright/runtime/cublaslt_spaces.py", "stream == PER_THREAD or ", "", _WORKSPACE),
    Slip(
        "tilewright/runtime/cublaslt.py",
        "p.dtype.real_bits == 16 and not self.narrow",
        "p.dtype.real_bits == 16 and self.narrow",
        _PLANS,
    ),
)
