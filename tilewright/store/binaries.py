"""The cache of compiled objects on disk, by name. Who names an object answers for what the name means.

Every file carries a hash of its name, its entry and its payload; a damaged one, or one that belongs to
another name, is reported, set aside, and counts as absent. So does one that cannot be loaded.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tilewright.errors import CompileError
from tilewright.model import Binary
from tilewright.store.paths import home, set_aside, warn_once

_MAGIC = b"tilewright-object 2\n"
_FIRST = b"tilewright-object\n"
"""What a file began with whose hash covered the payload alone: it is passed over, and written anew."""

T = TypeVar("T")


def _path(name: str) -> Path:
    return home() / "objects" / name[:2] / name


def read(name: str) -> Binary | None:
    """A binary from disk; None when it is not there or was damaged."""
    path = _path(name)
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    if raw.startswith(_FIRST):
        return None
    head, _, payload = raw.partition(b"\n\n")
    lines = head.split(b"\n")
    if len(lines) == 4 and lines[0] + b"\n" == _MAGIC:
        digest, entry, source = (line.decode("ascii", "replace") for line in lines[1:])
        binary = Binary(payload, entry, source)
        if _hash(name, binary) == digest:
            return binary
    _distrust(path, "")
    return None


def _hash(name: str, binary: Binary) -> str:
    """One hash over all that a file says."""
    head = "\n".join((name, binary.entry, binary.digest))
    return hashlib.sha256(head.encode() + b"\n\n" + binary.code).hexdigest()


def _distrust(path: Path, why: str) -> None:
    """Sets a damaged file aside, with a warning."""
    try:
        what = f"was set aside as {set_aside(path)}"
    except OSError as error:
        # Another process may have done it just now, or nobody may.
        what = f"could not be set aside ({error})"
    warnings.warn(f"damaged kernel {path} {why}{what}; it is built again", stacklevel=3)


def loaded(name: str, load: Callable[[Binary], T], build: Callable[[], Binary]) -> T:
    """What ``load`` makes of the binary of that name, which is on the disk or else built and kept there.

    One from the disk for which ``load`` raises ``CompileError`` (it cannot be linked, or has no such
    entry) counts as damaged. Raises what ``build`` raises, and what ``load`` does with a fresh binary.
    """
    binary = read(name)
    if binary is not None:
        try:
            return load(binary)
        except CompileError as error:
            _distrust(_path(name), f"({error}) ")
    binary = build()
    write(name, binary)
    return load(binary)


def write(name: str, binary: Binary) -> None:
    """Put a binary on disk in one step: a reader sees all of it or nothing. A full disk is no error."""
    path = _path(name)
    head = _MAGIC + f"{_hash(name, binary)}\n{binary.entry}\n{binary.digest}\n\n".encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(head + binary.code)
            os.replace(temporary, path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        what = f"compiled kernels could not be kept in {path.parent.parent}: {error.strerror}"
        warn_once(what, UserWarning)
