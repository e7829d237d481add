"""The folder that this package writes to, what becomes of a damaged file in it, and the other switch that
the environment has."""

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
GAPS = "TILEWRIGHT_GAPS"


def home() -> Path:
    """The folder of records and binaries, made if there is none.

    It is what the environment variable ``TILEWRIGHT_HOME`` says (read here and nowhere else, at every
    call), or else the platform's cache folder. One that is there and cannot be written is read: what
    was tuned when an image of a system was made serves whoever runs it. Where the cache folder cannot be
    used and holds no records, a temporary folder of this process stands in, with a warning. Raises
    ``ArgumentError``, which names the variable and its value, when the folder that it says cannot be made.
    """
    value = os.environ.get(VARIABLE)
    folder = _named(value) if value else user_cache_path("tilewright")
    fault = "cannot be written"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if value or os.access(folder, os.W_OK | os.X_OK) or (folder / "records.sqlite").is_file():
            return folder
    except OSError as error:
        fault = f"cannot be made ({error.strerror})"
    if value:
        raise _refused(value, f"the folder {str(folder)!r} {fault}")
    return _for_now(folder, fault)


def gaps_wanted() -> bool:
    """Whether the environment variable ``TILEWRIGHT_GAPS`` asks for calls without a record to be counted: it
    is neither empty nor 0."""
    return os.environ.get(GAPS, "") not in ("", "0")


def _refused(value: str, why: str) -> ArgumentError:
    return ArgumentError(f"{VARIABLE}={value!r}: {why}; accepted: the name of a folder that can be made")


def _named(value: str) -> Path:
    """The folder that the variable names. Raises ``ArgumentError`` for what cannot be a name."""
    try:
        # SQLite takes names in UTF-8 alone.
        value.encode("utf-8")
        return Path(value).expanduser().absolute()
    except UnicodeEncodeError:
        raise _refused(value, "it is not UTF-8") from None
    except RuntimeError as error:
        raise _refused(value, str(error)) from None


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
def warn_once(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """A warning, the first time that this process has to give it."""
    warnings.warn(text, category, stacklevel=3)


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
