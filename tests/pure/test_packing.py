"""Arguments of kernels as bytes: every field comes back from where it was put, and nothing else is there."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from tilewright.model import DTYPES, Problem
from tilewright.stencils.cuda import args
from tilewright.targets.cuda import arguments, binding, driver
from tilewright.targets.cuda.arguments import (
    Argument,
    Field,
    Packed,
    Pointer,
    Scalar,
    Struct,
    TensorMap,
    Texture,
    laid,
    pack,
)

pytestmark = pytest.mark.pure

WIDTHS = {"b": 8, "h": 16, "i": 32, "I": 32, "q": 64, "Q": 64}


def number(draw: random.Random, code: str) -> Any:
    """A value that a format holds as it is."""
    if code in "fd":
        return struct.unpack("<f", struct.pack("<f", draw.uniform(-1e6, 1e6)))[0]
    bits = WIDTHS[code]
    return draw.randrange(1 << bits) if code.isupper() else draw.randrange(1 << bits) - (1 << (bits - 1))


def some_field(draw: random.Random, name: str, scalars: dict[str, Any]) -> Field:
    """A field of any kind; the value of a scalar is part of it or given."""
    kind, operand = draw.choice(("pointer", "scalar", "scalar", "pair", "texture", "map")), draw.randrange(4)
    if kind == "pointer":
        return Pointer(name, operand)
    if kind == "texture":
        return Texture(name, operand, draw.choice(("", "tex1d", "tex2d")))
    if kind == "map":
        return TensorMap(name, operand, "float16", (64, 64), (128,), (8, 8))
    code = draw.choice("fd" if kind == "pair" else "bhiIqQfd")
    value = number(draw, code)
    if kind == "pair":
        value, code = complex(value, number(draw, code)), f"2{code}"
    if draw.random() < 0.5:
        return Scalar(name, code, value)
    scalars[name] = value
    return Scalar(name, code)


def some_arguments(draw: random.Random) -> tuple[tuple[Argument, ...], dict[str, Any]]:
    scalars: dict[str, Any] = {}
    made: list[Argument] = []
    for i in range(draw.randrange(1, 6)):
        fields = tuple(some_field(draw, f"x{i}_{j}", scalars) for j in range(draw.randrange(1, 8)))
        made.append(Struct(f"S{i}", fields) if draw.random() < 0.6 else fields[0])
    return tuple(made), scalars


def fields_of(described: tuple[Argument, ...], packed: Packed) -> list[tuple[int, int, Field]]:
    """All fields with the first byte of each in the block and the one behind it."""
    found = []
    for argument, (begin, size) in zip(described, packed.spans, strict=True):
        mine, whole = laid(argument)
        assert whole == size
        found += [(begin + x.offset, begin + x.offset + x.size, x.field) for x in mine]
    return found


@pytest.mark.parametrize("seed", range(60))
def test_every_field_comes_back(seed: int) -> None:
    draw = random.Random(seed)
    described, scalars = some_arguments(draw)
    packed = pack(described, scalars)
    addresses = [draw.randrange(1 << 64) for _ in range(4)]
    words = {id(patch.field): draw.randbytes(arguments.size_of(patch.field)) for patch in packed.patches}
    packed.put(addresses, lambda field, address: words[id(field)])
    left = bytearray(packed.block)
    for begin, end, field in fields_of(described, packed):
        got = bytes(packed.block[begin:end])
        match field:
            case Pointer():
                assert got == struct.pack("<Q", addresses[field.operand])
            case Scalar():
                value = scalars[field.name] if field.value is None else field.value
                parts = (value.real, value.imag) if field.format[0] == "2" else (value,)
                assert struct.unpack("<" + field.format, got) == parts
            case Texture(kind=""):
                assert got == bytes(8)
            case _:
                assert got == words[id(field)]
        left[begin:end] = bytes(end - begin)
    # What lies between is nothing.
    assert not any(left)


@pytest.mark.parametrize("seed", range(60))
def test_fields_are_where_cpp_has_them(seed: int) -> None:
    draw = random.Random(seed)
    described, scalars = some_arguments(draw)
    packed = pack(described, scalars)
    assert len(packed.block) % 8 == 0
    behind = 0
    for begin, end, field in fields_of(described, packed):
        unit = arguments.alignment_of(field)
        assert begin % unit == 0
        # After the one before it, and no farther than alignment asks for.
        assert behind <= begin < behind + 64
        behind = end
    for argument, (begin, size) in zip(described, packed.spans, strict=True):
        unit = arguments.alignment_of(argument)
        assert begin % max(8, unit) == 0
        assert size % unit == 0
        assert begin + size <= len(packed.block)
    fields = {id(field): begin for begin, _, field in fields_of(described, packed)}
    changed = {id(patch.field): patch.offset for patch in packed.patches}
    assert changed == {
        id(field): fields[id(field)]
        for _, _, field in fields_of(described, packed)
        if not isinstance(field, Scalar) and not (isinstance(field, Texture) and not field.kind)
    }


def test_a_scalar_that_nobody_gave_is_named() -> None:
    with pytest.raises(KeyError, match="alpha"):
        pack((Scalar("alpha", "d"),))


@pytest.mark.parametrize("trans", ["nn", "tn", "nt", "tt"])
def test_textures_cover_the_operands_as_they_are_stored(trans: str) -> None:
    p = Problem(DTYPES["d"], 5, 7, 3, *trans, lda=11, ldb=13)
    (described,) = args.gemm(p, "tex2d")
    assert isinstance(described, Struct)
    a, b = described.fields[-2:]
    assert a == Texture("texture_a", 0, "tex2d", *((3, 5) if trans[0] == "t" else (5, 3)), 11, 8)
    assert b == Texture("texture_b", 1, "tex2d", *((7, 3) if trans[1] == "t" else (3, 7)), 13, 8)


def test_a_row_of_texels_ends_with_the_last_element(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[Any, ...]] = []
    for name in ("texture1d", "texture2d"):
        monkeypatch.setattr(driver, name, lambda *given, name=name: told.append((name, *given)))
    for kind in ("tex1d", "tex2d"):
        binding.texture(Texture("a", 0, kind, rows=5, columns=3, ld=11, itemsize=8), 1 << 20)
    # The last column has no padding: behind it may be no memory.
    assert told == [("texture1d", 1 << 20, 2 * 11 + 5, 8), ("texture2d", 1 << 20, 5, 3, 88, 8)]
