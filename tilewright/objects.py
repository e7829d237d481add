"""The cache of compiled objects on disk, by name. Who names an object answers for what the name means.

Every file carries a hash of its payload; a damaged one is reported, set aside, and counts as absent.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from pathlib import Path

from tilewright.home import home, set_aside
from tilewright.model import Binary

_MAGIC = b"tilewright-object\n"


def _path(name: str) -> Path:
    return home() / "objects" / name[:2] / name


def read(name: str) -> Binary | None:
    """A binary from disk; None when it is not there or was damaged."""
    path = _path(name)
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    head, _, payload = raw.partition(b"\n\n")
    lines = head.split(b"\n")
    if len(lines) == 4 and lines[0] + b"\n" == _MAGIC:
        digest, entry, source = (line.decode("ascii", "replace") for line in lines[1:])
        if hashlib.sha256(payload).hexdigest() == digest:
            return Binary(payload, entry, source)
    try:
        what = f"was set aside as {set_aside(path)}"
    except OSError as error:
        # Another process may have done it just now, or nobody may.
        what = f"could not be set aside ({error})"
    warnings.warn(f"damaged kernel {path} {what}; it is built again", stacklevel=3)
    return None


def write(name: str, binary: Binary) -> None:
    """Put a binary on disk in one step: a reader sees all of it or nothing. A full disk is no error."""
    path = _path(name)
    digest = hashlib.sha256(binary.code).hexdigest()
    head = _MAGIC + f"{digest}\n{binary.entry}\n{binary.digest}\n\n".encode()
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
        warnings.warn(f"the compiled kernel could not be kept in {path}: {error}", stacklevel=3)
