"""Connections to the results store: how they are opened and set up, and what becomes of a damaged one."""

from __future__ import annotations

import os
import sqlite3
import threading
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

from tilewright import forks
from tilewright.errors import RecordsError
from tilewright.store.paths import set_aside
from tilewright.store.schema import SCHEMA, check_version, columns, make_tables

T = TypeVar("T")

using = threading.RLock()
"""Held by the one thread of this process that is within SQLite, whose own locks would be lost in a child of a
fork: a fork waits for it.
"""

forks.wait_for("records", lambda: using)


class Connection(sqlite3.Connection):
    """A connection that notes which rows could not be read, and why."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.unread: dict[int, str] = {}
        # A text that is not UTF-8 is like no other text, but is no reason for a question to fail.
        self.text_factory = lambda raw: raw.decode("utf-8", "replace")


class Held:
    """A connection with what must still hold for it to be used."""

    __slots__ = ("connection", "identity", "path", "pid", "writable")

    def __init__(self, connection: Connection, path: Path, writable: bool):
        self.connection, self.path, self.writable = connection, path, writable
        self.pid, self.identity = os.getpid(), identity_of(path)


inherited: list[Held] = []
"""Connections that came across a fork, where not even closing them is safe."""

BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
_CLOSED_TO_US = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
"""What a full disk gives: SQLite cannot always tell it from other failures of a write."""


def code_of(error: sqlite3.Error) -> int:
    """SQLite's primary result code, 0 for an error that is not SQLite's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def fault(code: int) -> str:
    """What is wrong with a file, by SQLite's result code."""
    if code in BUSY:
        return "is locked by another process"
    return "cannot be written" if code in _CLOSED_TO_US else "cannot be used"


def identity_of(path: Path) -> tuple[int, int] | None:
    """Which file is at the path, or None."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def opened(path: Path, patience: float) -> Held:
    """A connection to the store; one that only reads where the place lets us do no more."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        connection = _connect(str(path), patience)
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        if code_of(error) not in _CLOSED_TO_US + _NO_ROOM or path.is_dir():
            raise
        return Held(_look_at(path, patience), path, writable=False)
    return Held(connection, path, writable=True)


def _connect(address: str, patience: float, uri: bool = False) -> Connection:
    # Threads do not share a connection, but one may be collected in a thread other than its own.
    return sqlite3.connect(
        address, timeout=patience, isolation_level=None, check_same_thread=False, uri=uri, factory=Connection
    )  # fmt: skip


def _look_at(path: Path, patience: float) -> Connection:
    """A connection that only reads; an empty store stands in for a file that is not there, or in which
    no table could be made."""
    if not path.exists():
        return in_memory()
    address = path.absolute().as_uri() + "?mode=ro"
    log = path.with_name(path.name + "-wal")
    # SQLite needs a file beside the store to read it safely; without one it must be told that nobody
    # writes. A log that is not empty holds rows which would then be missed, so that stays an error.
    for query in ("", "&immutable=1"):
        connection = _connect(address + query, patience, uri=True)
        try:
            if check_version(connection, path):
                return connection
            connection.close()
            return in_memory()
        except sqlite3.Error as error:
            connection.close()
            unread = log.exists() and log.stat().st_size
            if query or unread or code_of(error) not in _CLOSED_TO_US + _NO_ROOM:
                raise
    raise AssertionError("the loop returns or raises")


def in_memory() -> Connection:
    """A connection to an empty store of its own."""
    connection = _connect(":memory:", 0)
    make_tables(connection)
    return connection


def transaction(connection: sqlite3.Connection, change: Callable[[sqlite3.Connection], T]) -> T:
    """Makes a change in whole or not at all."""
    # IMMEDIATE: a transaction that turns from reading to writing may be refused without a wait.
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = change(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Sets a connection up, makes the tables of a fresh store, and brings an old one up to date."""
    version = check_version(connection, path)
    if version == 0:
        # Stays as it is where the file system cannot share memory; all else works the same.
        connection.execute("PRAGMA journal_mode = WAL")
    # A row outlives this process at once; only a power cut can lose the last ones, never the store.
    connection.execute("PRAGMA synchronous = NORMAL")
    if version < SCHEMA:
        # Another process may have been quicker: the version is looked at again.
        transaction(connection, lambda held: make_tables(held, check_version(held, path)))


def is_whole(held: Held | None) -> bool:
    """Whether a store has all of its tables and columns; not when it fell out with itself at opening."""
    if held is None:
        return False
    with closing(in_memory()) as fresh:
        needed = {entry for entry in columns(fresh) if entry[0] != "damaged"}
    try:
        return needed <= columns(held.connection)
    except sqlite3.Error:
        return False


def retire(path: Path, identity: tuple[int, int] | None, cause: sqlite3.Error) -> None:
    """Sets a damaged store aside with its side files, unless another process has just done so."""
    if identity is None or identity != identity_of(path):
        return
    try:
        # The log goes first: beside a fresh store, an old one would be taken for its own.
        for suffix in ("-wal", "-shm"):
            side = path.with_name(path.name + suffix)
            if side.exists():
                set_aside(side)
        kept = set_aside(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RecordsError(f"records file {str(path)!r} is damaged ({cause}) and stays: {error}") from cause
    warnings.warn(
        f"records file {str(path)!r} is damaged ({cause}); "
        f"it is kept as {str(kept)!r} and a fresh one is begun",
        RuntimeWarning,
        stacklevel=2,
    )
