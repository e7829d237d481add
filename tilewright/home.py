"""The folder that this package writes to, and what becomes of a damaged file in it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from platformdirs import user_cache_path

from tilewright.errors import ArgumentError

VARIABLE = "TILEWRIGHT_HOME"


def home() -> Path:
    """The folder of records and binaries, made if there is none.

    It is what the environment variable ``TILEWRIGHT_HOME`` says (read here and nowhere else, at every
    call), or else the platform's cache folder. Raises ``ArgumentError``, which names the variable and
    its value, when the folder cannot be made or written.
    """
    value = os.environ.get(VARIABLE)
    folder = Path(value).expanduser().absolute() if value else user_cache_path("tilewright")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(value, folder, f"cannot be made ({error.strerror})") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unusable(value, folder, "cannot be written")
    return folder


def _unusable(value: str | None, folder: Path, fault: str) -> ArgumentError:
    given = f"{VARIABLE}={value!r}" if value else f"{VARIABLE} is not set"
    return ArgumentError(
        f"{given}: the folder {str(folder)!r} {fault}; "
        f"accepted: {VARIABLE} naming a folder that can be made and written"
    )


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
