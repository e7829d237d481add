"""The folder that this package writes to, and what becomes of a damaged file in it."""

from __future__ import annotations

import atexit
import functools
import os
import tempfile
import warnings
from datetime import UTC, datetime
from pathlib import Path

from platformdirs import user_cache_path

from tilewright.errors import ArgumentError

VARIABLE = "TILEWRIGHT_HOME"


def home() -> Path:
    """The folder of records and binaries, made if there is none.

    It is what the environment variable ``TILEWRIGHT_HOME`` says (read here and nowhere else, at every
    call), or else the platform's cache folder; where that one cannot be used (a read-only system), a
    temporary folder of this process, with a warning. Raises ``ArgumentError``, which names the
    variable and its value, when the folder that it says cannot be made or written.
    """
    value = os.environ.get(VARIABLE)
    folder = Path(value).expanduser().absolute() if value else user_cache_path("tilewright")
    fault = "cannot be written"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    except OSError as error:
        fault = f"cannot be made ({error.strerror})"
    if value:
        raise ArgumentError(
            f"{VARIABLE}={value!r}: the folder {str(folder)!r} {fault}; "
            f"accepted: {VARIABLE} naming a folder that can be made and written"
        )
    return _for_now(folder, fault)


@functools.cache
def _for_now(folder: Path, fault: str) -> Path:
    """A folder that goes when the process does: nothing is kept, and everything works."""
    held = tempfile.TemporaryDirectory(prefix="tilewright-")
    atexit.register(held.cleanup)
    warnings.warn(
        f"{str(folder)!r} {fault}: records and kernels are kept for this process only; "
        f"{VARIABLE} can name a folder for them",
        stacklevel=4,
    )
    return Path(held.name)


@functools.cache
def warn_once(text: str) -> None:
    """A ``RuntimeWarning`` in the caller's name, the first time that this process has to say it."""
    warnings.warn(text, RuntimeWarning, stacklevel=3)


def set_aside(path: Path) -> Path:
    """Renames a damaged file to ``NAME.damaged-UTC`` beside it, and returns that new path.

    The content is kept as it is and no other file is overwritten. Raises ``OSError`` when the file
    cannot be renamed.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    target, count = path.with_name(f"{path.name}.damaged-{stamp}"), 1
    while target.exists():
        count += 1
        target = path.with_name(f"{path.name}.damaged-{stamp}-{count}")
    return path.rename(target)
