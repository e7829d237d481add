"""Stores of others, read from a copy: opening one may bring it up to date, or set it aside."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tilewright.errors import RecordsError

SQLITE = b"SQLite format 3\0"
"""How a store begins; other files hold records as lines."""


def is_store(path: Path) -> bool:
    """Whether a file is a store. Raises ``RecordsError``, which names the file, where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except (OSError, ValueError) as error:
        raise RecordsError(f"records file {str(path)!r} cannot be read: {error}") from error


@contextmanager
def copied(path: Path) -> Iterator[Path]:
    """A copy of a store, for as long as it is looked at, whoever writes to it meanwhile. Raises
    ``RecordsError``, which names the file, where it cannot be read."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "records.sqlite"
        try:
            with (
                closing(sqlite3.connect(path.absolute().as_uri() + "?mode=ro", uri=True)) as old,
                closing(sqlite3.connect(copy)) as new,
            ):
                old.backup(new)
        except sqlite3.Error as error:
            raise RecordsError(f"records file {str(path)!r} cannot be read: {error}") from error
        yield copy
