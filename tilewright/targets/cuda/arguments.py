"""What kernels are called with: descriptions of arguments, and the bytes that the driver copies.

A kernel's arguments are a tuple, one element for each parameter of the kernel in its order: a ``Struct``
passed by value, or a single ``Pointer``, ``Scalar``, ``Texture`` or ``TensorMap``. Whatever depends on an
address says by number which of the addresses of a launch that is; in a matrix product ``A``, ``B`` and ``C``.
``pack`` makes of a description all bytes, and *patches*: the fields that another address changes.

Structures are laid out as C++ does: each field begins at a multiple of its alignment, and the size is a
multiple of the largest one. ``tests/compile/test_arguments.py`` asks the compiler.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

A, B, C = range(3)
"""The addresses of a matrix product, by number."""

MAP_BYTES = 128
"""The size of ``CUtensorMap``."""
MAP_ALIGNMENT = 64
"""What its address is a multiple of, in a kernel's parameters, too."""
WORD = 8
"""The size of an address; every parameter begins at a multiple of it or of more."""

ADDRESS = struct.Struct("<Q")

NO_SCALARS: Mapping[str, complex] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address as it is: the one with number ``operand``."""

    name: str
    operand: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number, or two (the parts of a complex one), in a format of ``struct`` ("i", "q", "2d", ...); or an
    array of whole numbers ("4i", "4q").

    ``value`` is what it always is; None where it is given by name when the arguments are packed.
    """

    name: str
    format: str
    value: complex | tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Texture:
    """The handle of a texture over a matrix: ``columns`` runs of ``rows`` elements, ``ld`` elements apart.

    ``kind``: "tex1d" for a row of texels with the gaps between the runs, "tex2d" for two coordinates, and ""
    for a handle of 0 that no kernel reads through.
    """

    name: str
    operand: int
    kind: str
    rows: int = 1
    columns: int = 1
    ld: int = 1
    itemsize: int = 4


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A ``CUtensorMap`` by value, for bulk copies of boxes of a tensor (compute capability 9.0 and later).

    ``type`` ("float16", "bfloat16", "float32", "float64", "uint8", "uint16", "uint32", "uint64", "int32",
    "int64", "tfloat32") is that of the elements. ``extents`` and ``box`` count elements, the contiguous
    dimension first; ``strides`` are the bytes from one to the next along all other dimensions, multiples of
    16. ``steps`` are the elements from one that is copied to the next, 1 where empty. ``swizzle`` (0, 32, 64
    or 128 bytes), ``interleave`` (0, 16 or 32 bytes) and ``promotion`` (sectors that L2 fetches at once: 0,
    64, 128 or 256 bytes) are the driver's; with ``nan`` what lies outside is read as NaN in place of 0.
    ``space``: where in the workspace of a launch the tensor lies, in place of an operand's address; -1 for an
    operand.
    """

    name: str
    operand: int
    type: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    interleave: int = 0
    promotion: int = 0
    nan: bool = False
    steps: tuple[int, ...] = ()
    space: int = -1

    @property
    def alignment(self) -> int:
        """What divides the address of the tensor."""
        return 32 if self.interleave == 32 else 16


@dataclass(frozen=True, slots=True)
class Workspace:
    """The address of device memory that belongs to one launch: ``size`` bytes, of which the first ``zeros``
    are 0 when the kernel begins and all others anything. Whoever launches takes it, in the order of the
    stream."""

    name: str
    size: int
    zeros: int = 0


@dataclass(frozen=True, slots=True)
class Stamp:
    """Eight bytes that differ from launch to launch and are never 0: by it blocks know what others have
    written into a workspace in this launch, with no zeros before it. It comes with a ``Workspace`` alone. A
    graph has the same one in all its runs, so whoever has read it from the workspace writes 0 over it."""

    name: str


Field = Pointer | Scalar | Texture | TensorMap | Workspace | Stamp
Addressed = Pointer | Texture | TensorMap


@dataclass(frozen=True, slots=True)
class Struct:
    """A structure that a kernel takes by value, by its name in C++ and its fields in their order."""

    name: str
    fields: tuple[Field, ...]


Argument = Struct | Field


@dataclass(frozen=True, slots=True)
class Laid:
    """A field with the bytes that it has in a parameter or in a whole block."""

    offset: int
    size: int
    field: Field


@dataclass(frozen=True, slots=True)
class Patch:
    """What another address changes: the bytes of a field from ``offset`` in the block."""

    offset: int
    field: Addressed


@dataclass(frozen=True, slots=True)
class Packed:
    """All parameters one after the other in ``block``. ``spans`` are (offset, bytes) of each; ``spaces`` the
    offsets of workspaces in the block, which each launch has of its own, as are the ``stamps``; ``mapped``
    are those of maps of tensors in the last of these workspaces."""

    block: bytearray
    spans: tuple[tuple[int, int], ...]
    patches: tuple[Patch, ...]
    spaces: tuple[tuple[int, Workspace], ...] = ()
    stamps: tuple[int, ...] = ()
    mapped: tuple[tuple[int, TensorMap], ...] = ()

    def put(self, addresses: Sequence[int], words: Callable[[Addressed, int], bytes] | None = None) -> None:
        """Put the addresses of a launch where they belong. ``words`` makes the bytes of what is not the
        address itself, of a field and its address; without it textures and tensor maps stay as they are."""
        for patch in self.patches:
            address = addresses[patch.field.operand]
            if isinstance(patch.field, Pointer):
                ADDRESS.pack_into(self.block, patch.offset, address)
            elif words is not None:
                made = words(patch.field, address)
                self.block[patch.offset : patch.offset + len(made)] = made


def workspaces(arguments: Sequence[Argument]) -> list[Workspace]:
    """The workspaces among arguments: what a launch needs beside them."""
    parts = [part for each in arguments for part in (each.fields if isinstance(each, Struct) else (each,))]
    return [part for part in parts if isinstance(part, Workspace)]


def size_of(field: Field) -> int:
    """Bytes of a field."""
    match field:
        case TensorMap():
            return MAP_BYTES
        case Scalar():
            return struct.calcsize("<" + field.format)
        case _:
            return WORD


def alignment_of(argument: Argument) -> int:
    """What the offset of an argument is a multiple of."""
    match argument:
        case Struct():
            return max(alignment_of(field) for field in argument.fields)
        case TensorMap():
            return MAP_ALIGNMENT
        case Scalar():
            return struct.calcsize("<" + argument.format[-1])
        case _:
            return WORD


def laid(argument: Argument) -> tuple[tuple[Laid, ...], int]:
    """The fields of one parameter with their offsets, and the parameter's bytes."""
    at, found = 0, []
    for field in argument.fields if isinstance(argument, Struct) else (argument,):
        at = _up(at, alignment_of(field))
        found.append(Laid(at, size_of(field), field))
        at += size_of(field)
    return tuple(found), _up(at, alignment_of(argument))


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def pack(arguments: Sequence[Argument], scalars: Mapping[str, complex] = NO_SCALARS) -> Packed:
    """The bytes of a kernel's arguments, with zeros for what depends on addresses.

    ``scalars`` are the values of the ``Scalar``s without one, by their names.
    """
    block, spans, patches, spaces, stamps = bytearray(), [], [], [], []
    mapped: list[tuple[int, TensorMap]] = []
    for argument in arguments:
        fields, size = laid(argument)
        begin = _up(len(block), max(WORD, alignment_of(argument)))
        spans.append((begin, size))
        block += bytes(begin + size - len(block))
        for each in fields:
            if isinstance(each.field, Scalar):
                packed = _number(each.field, scalars)
                block[begin + each.offset : begin + each.offset + each.size] = packed
            elif isinstance(each.field, Workspace):
                spaces.append((begin + each.offset, each.field))
            elif isinstance(each.field, Stamp):
                stamps.append(begin + each.offset)
            elif isinstance(each.field, TensorMap) and each.field.space >= 0:
                mapped.append((begin + each.offset, each.field))
            elif not isinstance(each.field, Texture) or each.field.kind:
                patches.append(Patch(begin + each.offset, each.field))
    # Whole words, which is what compiled code copies.
    block += bytes(-len(block) % WORD)
    return Packed(block, tuple(spans), tuple(patches), tuple(spaces), tuple(stamps), tuple(mapped))


def _number(field: Scalar, scalars: Mapping[str, complex]) -> bytes:
    value = scalars[field.name] if field.value is None else field.value
    if isinstance(value, tuple):
        return struct.pack("<" + field.format, *value)
    if field.format.startswith("2"):
        return struct.pack("<" + field.format, complex(value).real, complex(value).imag)
    return struct.pack("<" + field.format, value)
