"""Tensor maps: the 128 bytes that bulk copies of boxes read what they copy from, as the driver encodes them.

The bytes are the driver's own business but for one thing: a map contains the address of its tensor, and a
launch on another address has to change it. ``cuTensorMapReplaceAddress`` does that, at the cost of a call.
Where it is seen to write the address as one little-endian word and nothing else (``address_at``), writing
that word is as good, and compiled code does it for the price of a pointer.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from tilewright.errors import ArgumentError, DeviceError
from tilewright.targets.cuda import library
from tilewright.targets.cuda.arguments import ADDRESS, MAP_ALIGNMENT, MAP_BYTES, WORD, TensorMap
from tilewright.targets.cuda.bindings import failure

TYPES = {
    "uint8": 0,
    "uint16": 1,
    "uint32": 2,
    "int32": 3,
    "uint64": 4,
    "int64": 5,
    "float16": 6,
    "float32": 7,
    "float64": 8,
    "bfloat16": 9,
    "tfloat32": 11,
}
"""CUtensorMapDataType."""
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
"""CUtensorMapSwizzle by bytes."""
INTERLEAVES = {0: 0, 16: 1, 32: 2}
"""CUtensorMapInterleave by bytes."""
PROMOTIONS = {0: 0, 64: 1, 128: 2, 256: 3}
"""CUtensorMapL2promotion by bytes."""

PLACEHOLDER = 0x3C5A_96E1_D280
"""An address of no tensor, for maps that get theirs later: no other word of a map is likely to be it."""
BITS = range(4, 48)
"""Bits of an address that differ among tensors in the memory of a GPU."""


def check(field: TensorMap, address: int) -> None:
    """Refuse an address that no map can have: the unit that reads maps would read from another."""
    if address % field.alignment:
        raise ArgumentError(
            f"address={address:#x} of {field.name}; accepted by its tensor map: multiples of "
            f"{field.alignment} bytes"
        )


def encode(field: TensorMap, address: int) -> bytes:
    """The map of a tensor at an address. Raises ``ArgumentError`` for what no map can be of, ``DeviceError``
    when the driver refuses."""
    check(field, address)
    rank = len(field.extents)
    memory, to = _room()
    code = library.call(
        "cuTensorMapEncodeTiled",
        ctypes.c_void_p(to),
        ctypes.c_int(_known(field, "type", TYPES)),
        ctypes.c_uint32(rank),
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * rank)(*field.extents),
        (ctypes.c_uint64 * max(1, rank - 1))(*field.strides),
        (ctypes.c_uint32 * rank)(*field.box),
        (ctypes.c_uint32 * rank)(*(field.steps or (1,) * rank)),
        ctypes.c_int(_known(field, "interleave", INTERLEAVES)),
        ctypes.c_int(_known(field, "swizzle", SWIZZLES)),
        ctypes.c_int(_known(field, "promotion", PROMOTIONS)),
        ctypes.c_int(field.nan),
    )
    if code:
        raise failure(code, f"encoding {field} at address={address:#x}")
    return _copied(memory, to)


def replace(words: bytes, address: int) -> bytes:
    """The same map at another address. Raises ``DeviceError`` when the driver refuses."""
    memory, to = _room()
    ctypes.memmove(to, words, MAP_BYTES)
    code = library.call("cuTensorMapReplaceAddress", ctypes.c_void_p(to), ctypes.c_void_p(address))
    if code:
        raise failure(code, f"putting address={address:#x} into a tensor map")
    return _copied(memory, to)


def address_at(words: bytes, address: int) -> int | None:
    """The offset of the word of a map that is its address; None where the driver may write it in another way.

    The driver is asked to replace the address by others that differ from it in one bit, and in all of them:
    it has to change that word into the new address, and no other byte.
    """
    at = next((at for at in range(0, MAP_BYTES, WORD) if ADDRESS.unpack_from(words, at) == (address,)), None)
    if at is None:
        return None
    every = sum(1 << bit for bit in BITS)
    # No map may be of the address 0, which an address of one bit becomes when that bit is changed.
    others = [other for bit in BITS if (other := address ^ 1 << bit)]
    try:
        for other in (every, *others):
            if replace(words, other) != words[:at] + ADDRESS.pack(other) + words[at + WORD :]:
                return None
    except DeviceError:
        return None
    return at


def prepared(field: TensorMap) -> tuple[bytes, int | None]:
    """The map of a tensor whose address comes later, and ``address_at`` of it.

    Raises ``ArgumentError`` for what no map can be of.
    """
    try:
        words = encode(field, PLACEHOLDER)
    except DeviceError:
        # What is wrong is said when there is an address.
        return bytes(MAP_BYTES), None
    # An interleaved tensor's address has more zeros at its end than the addresses that are tried.
    return words, address_at(words, PLACEHOLDER) if field.alignment == 1 << BITS.start else None


def _known(field: TensorMap, name: str, values: Mapping[Any, int]) -> int:
    value = getattr(field, name)
    if value not in values:
        accepted = ", ".join(str(each) for each in values)
        raise ArgumentError(f"{name}={value!r} of {field.name}; accepted: {accepted}")
    return values[value]


def _room() -> tuple[Any, int]:
    """Memory for a map, and the address in it where the driver takes one."""
    memory = (ctypes.c_char * (MAP_BYTES + MAP_ALIGNMENT))()
    first = ctypes.addressof(memory)
    return memory, first + -first % MAP_ALIGNMENT


def _copied(memory: Any, at: int) -> bytes:
    """The bytes of the map in a room."""
    begin = at - ctypes.addressof(memory)
    return bytes(memory.raw[begin : begin + MAP_BYTES])
