"""A kernel bound to its arguments: all but the addresses is laid out once, and each launch puts those in.

What an address changes is a *patch* of the argument block. A pointer is the address itself. A texture is a
handle, made anew for each set of addresses and kept. A tensor map contains the address: where the driver is
seen to keep it as one word (``tensormap.address_at``), that word is patched like a pointer; elsewhere the
driver encodes the map again for every address. A workspace is asked for anew by every launch (``workspace``).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import NamedTuple

from tilewright.model import Kernel, Launch
from tilewright.targets.cuda import driver, tensormap, workspace
from tilewright.targets.cuda.arguments import (
    ADDRESS,
    NO_SCALARS,
    WORD,
    Argument,
    Patch,
    Pointer,
    TensorMap,
    Texture,
    Workspace,
    pack,
)

TEXTURES = 64
"""Sets of textures that one kernel keeps, one for each set of addresses; more are made anew."""


class Word(NamedTuple):
    """An address that is written over a word of the block: which word, and which address of a launch.

    ``mask`` has the bits that have to be 0 in it. ``plus`` is added to it.
    """

    at: int
    operand: int
    mask: int
    plus: int = 0


class Room(NamedTuple):
    """The workspace of a launch, for who patches copies of the block: its bytes, how many of the first are to
    be 0, the words that become its address or lie in it, and those that become the launch's stamp."""

    size: int
    zeros: int
    words: tuple[Word, ...]
    stamps: tuple[int, ...]


class Binding:
    """A kernel with its launch and its arguments. ``put`` gives it the addresses, a call starts it.

    With textures a new set of addresses costs some ten microseconds, once; all else costs the same for every
    address. One binding is for one thread at a time, and textures live as long as it does: it has to be kept
    until the kernel has run. The context in which the kernel was loaded has to be current.
    ``insists``: launches ask for a workspace even if the device has just had no room for one (``workspace``).

    Raises as ``driver.Launcher`` and ``tensormap.encode``.
    """

    def __init__(
        self,
        kernel: Kernel,
        launch: Launch,
        arguments: Sequence[Argument],
        scalars: Mapping[str, complex] = NO_SCALARS,
    ):
        self.packed = pack(arguments, scalars)
        self.insists = True
        block, spans = self.packed.block, self.packed.spans
        # Most kernels have one parameter, which is the whole block.
        one = spans == ((0, len(block)),)
        self.launcher = driver.Launcher(kernel, launch, block, *(() if one else (spans,)))
        self._words: list[Word] = []
        self._maps: list[tuple[int, TensorMap]] = []
        self._textures: list[tuple[int, Texture]] = []
        self._made: OrderedDict[tuple[int, ...], list[driver.Texture]] = OrderedDict()
        self._mapped: list[tuple[int, TensorMap, int | None]] = []
        for patch in self.packed.patches:
            self._sort(patch)
        for offset, field in self.packed.mapped:
            encoded, at = tensormap.prepared(field)
            self.packed.block[offset : offset + len(encoded)] = encoded
            self._mapped.append((offset, field, at))

    def _sort(self, patch: Patch) -> None:
        """Find out how a patch is made. A tensor map is encoded, too."""
        field, offset = patch.field, patch.offset
        if isinstance(field, Pointer):
            self._words.append(Word(offset // WORD, field.operand, 0))
        elif isinstance(field, Texture):
            self._textures.append((offset, field))
        else:
            encoded, at = tensormap.prepared(field)
            self.packed.block[offset : offset + len(encoded)] = encoded
            if at is None:
                self._maps.append((offset, field))
            else:
                self._words.append(Word((offset + at) // WORD, field.operand, field.alignment - 1))

    @property
    def words(self) -> tuple[Word, ...] | None:
        """All that an operand's address changes, for who patches copies of the block; None where the driver
        has to be asked for some of it, or for more than one workspace."""
        encoded = any(at is None for _, _, at in self._mapped)
        if self._textures or self._maps or encoded or len(self.packed.spaces) > 1:
            return None
        return tuple(self._words)

    @property
    def room(self) -> Room | None:
        """The workspace of a launch of which there are ``words``; None where it needs none."""
        if not self.packed.spaces:
            return None
        ((offset, field),) = self.packed.spaces
        mapped = ((place + (at or 0), field.space) for place, field, at in self._mapped)
        words = (Word(place // WORD, 0, 0, plus) for place, plus in ((offset, 0), *mapped))
        stamps = tuple(place // WORD for place in self.packed.stamps)
        return Room(max(1, field.size), field.zeros, tuple(words), stamps)

    @property
    def start(self) -> Callable[[int], None]:
        """The shortest way to launch: the binding itself only where a launch needs a workspace."""
        return self if self.packed.spaces else self.launcher

    def put(self, addresses: Sequence[int]) -> Binding:
        """Bind the addresses of the next launches.

        Raises ``ArgumentError`` for one that no texture or tensor map is made over.
        """
        block = self.packed.block
        for at, operand, mask, _ in self._words:
            if addresses[operand] & mask:
                self._refuse(operand, addresses[operand])
            ADDRESS.pack_into(block, WORD * at, addresses[operand])
        for offset, field in self._maps:
            encoded = tensormap.encode(field, addresses[field.operand])
            block[offset : offset + len(encoded)] = encoded
        if self._textures:
            self._read_through(addresses)
        return self

    def _refuse(self, operand: int, address: int) -> None:
        """Say which tensor map an address is not aligned for."""
        for patch in self.packed.patches:
            if isinstance(patch.field, TensorMap) and patch.field.operand == operand:
                tensormap.check(patch.field, address)

    def _read_through(self, addresses: Sequence[int]) -> None:
        """Put textures over these addresses into the block, made once and kept for the next time."""
        kept, key = self._made, tuple(addresses[field.operand] for _, field in self._textures)
        found = kept.get(key)
        if found is None:
            if len(kept) >= TEXTURES:
                # What runs now may still read through the oldest.
                driver.synchronize()
                kept.popitem(last=False)
            pairs = zip(self._textures, key, strict=True)
            found = kept[key] = [texture(field, address) for (_, field), address in pairs]
        kept.move_to_end(key)
        for (offset, _), made in zip(self._textures, found, strict=True):
            ADDRESS.pack_into(self.packed.block, offset, made.handle)

    def __call__(self, stream: int = 0) -> None:
        """Start the kernel on the addresses that were put last, and return at once.

        Raises ``RoomError`` where its workspace cannot be had, ``DeviceError`` when the driver refuses."""
        if not self.packed.spaces:
            self.launcher(stream)
            return
        with ExitStack() as taken:
            for offset, field in self.packed.spaces:
                address = taken.enter_context(self._room(field, stream))
                ADDRESS.pack_into(self.packed.block, offset, address)
                self._map_into(address)
            for offset in self.packed.stamps:
                ADDRESS.pack_into(self.packed.block, offset, workspace.stamp())
            self.launcher(stream)

    def _room(self, field: Workspace, stream: int) -> AbstractContextManager[int]:
        return workspace.taken(field.size, field.zeros, stream, self.insists)

    def _map_into(self, workspace: int) -> None:
        """Have the maps of tensors in a workspace be of this one."""
        block = self.packed.block
        for offset, field, at in self._mapped:
            if at is None:
                encoded = tensormap.encode(field, workspace + field.space)
                block[offset : offset + len(encoded)] = encoded
            else:
                ADDRESS.pack_into(block, offset + at, workspace + field.space)


def texture(field: Texture, address: int) -> driver.Texture:
    """A texture as a field describes it.

    Raises ``ArgumentError`` where the device makes none: of too many elements, or of an address that is not
    aligned enough.
    """
    if field.kind == "tex1d":
        return driver.texture1d(address, (field.columns - 1) * field.ld + field.rows, field.itemsize)
    return driver.texture2d(address, field.rows, field.columns, field.ld * field.itemsize, field.itemsize)
