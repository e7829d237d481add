"""The results store: every try, good or bad, written at once and never forgotten.

Records are rows of one SQLite file that many processes and threads may write together. Rows for
known machines ship with the package as JSON lines, ``data/DEVICE.jsonl``; they go through the same
tables in memory, so a shipped row and a local one answer the same questions. A local row always wins.

A config may be tried more than once. Its newest try is the one that counts, so that a kernel found
wrong on a later shape is no longer anybody's best. Newest is by the record's ``when``, then by the
order of writing.
"""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tilewright import forks
from tilewright.errors import RecordsError
from tilewright.model import PREDICTED, Config, Record
from tilewright.store.copies import copied, is_store
from tilewright.store.jsonl import (
    Ceilings,
    ceilings_line,
    compact,
    decode,
    encode,
    parse,
    read_text,
    spelled,
    write_text,
)
from tilewright.store.paths import home, set_aside, warn_once
from tilewright.task import Task

T = TypeVar("T")

SCHEMA = 4
"""What ``PRAGMA user_version`` says in a store that this code understands.

The first schema had no table ``damaged``, and its lines knew less of a problem than there is: code of
that time would take a row for another problem's, or for a damaged one, and so must refuse the store. The
second had no leases: a tuner of that time would repeat what another one is at. The third knew of no
predictions, and would take one for a damaged row.
"""

_TABLES = (
    # `config` is the config with its names sorted: one text for one point, whatever order it was made in.
    """CREATE TABLE tries (
        id INTEGER PRIMARY KEY, device TEXT NOT NULL, key TEXT NOT NULL, regime TEXT NOT NULL,
        stencil TEXT NOT NULL, config TEXT NOT NULL, status TEXT NOT NULL, protocol INTEGER NOT NULL,
        toolchain TEXT NOT NULL, moment TEXT NOT NULL, per_product REAL, body TEXT NOT NULL)""",
    "CREATE INDEX fastest ON tries (device, key, regime, status, protocol DESC, per_product)",
    "CREATE INDEX newest ON tries (device, key, regime, stencil, config, moment)",
    # One row a problem with a usable result, so that a search for near ones never walks the tries.
    """CREATE TABLE solved (
        device TEXT NOT NULL, key TEXT NOT NULL, regime TEXT NOT NULL, family TEXT NOT NULL,
        m INTEGER NOT NULL, n INTEGER NOT NULL, k INTEGER NOT NULL,
        PRIMARY KEY (device, family, m, n, k, key, regime)) WITHOUT ROWID""",
    """CREATE TABLE ceilings (
        device TEXT NOT NULL, cores INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL,
        PRIMARY KEY (device, cores, name)) WITHOUT ROWID""",
)

# Rows of `tries` that could not be read, as they were, and why.
_DAMAGED_ROWS = """CREATE TABLE damaged (
    id INTEGER PRIMARY KEY, device, key, regime, stencil, config, status, protocol, toolchain, moment,
    per_product, body, cause TEXT NOT NULL)"""

# Who is at which try (``store.leases``). ``begun``: it is in a measuring child, and not only in a compiler;
# ``deaths``: how many holders ended while it was there, which no holder remembers.
_LEASES = (
    "CREATE TABLE holders (name TEXT PRIMARY KEY, beat REAL NOT NULL) WITHOUT ROWID",
    """CREATE TABLE leases (
        device TEXT NOT NULL, key TEXT NOT NULL, regime TEXT NOT NULL, stencil TEXT NOT NULL,
        config TEXT NOT NULL, toolchain TEXT NOT NULL, holder TEXT NOT NULL, begun INTEGER NOT NULL,
        deaths INTEGER NOT NULL,
        PRIMARY KEY (device, key, regime, stencil, config, toolchain)) WITHOUT ROWID""",
    "CREATE INDEX held ON leases (holder)",
    # Jobs of a tuner that came to their end (``store.jobs``).
    "CREATE TABLE finished (job TEXT PRIMARY KEY, moment TEXT NOT NULL) WITHOUT ROWID",
)

_COLUMNS = "device, key, regime, stencil, config, status, protocol, toolchain, moment, per_product, body"

# A superseded row is skipped one probe of the index `newest` at a time: the walk stops at the first
# row that stands, however many tries there are, and goes on only if that one is refused. No prediction
# supersedes a try.
_BEST = """
    SELECT id, CAST(body AS BLOB) FROM tries AS t
    WHERE device = ? AND key = ? AND regime = ? AND status = ? AND per_product IS NOT NULL
      AND stencil <> ?
      AND NOT EXISTS (
        SELECT 1 FROM tries AS later
        WHERE later.device = t.device AND later.key = t.key AND later.regime = t.regime
          AND later.stencil = t.stencil AND later.config = t.config
          AND (later.status <> 'predicted' OR t.status = 'predicted')
          AND (later.moment, later.id) > (t.moment, t.id))
    ORDER BY protocol DESC, per_product, config, stencil"""

# A blob: a text that is not UTF-8 would fail the whole question, and not its own row alone.
_BODIES = "SELECT id, CAST(body AS BLOB) FROM tries"

# An import is not a new measurement: a try that is already here is not written a second time.
_UNLESS_HERE = """
    WHERE NOT EXISTS (
        SELECT 1 FROM tries
        WHERE device = :v1 AND key = :v2 AND regime = :v3 AND stencil = :v4 AND config = :v5
          AND status = :v6 AND protocol = :v7 AND toolchain = :v8 AND moment = :v9 AND per_product IS :v10)"""

_NEAREST = 8
_FACTOR = 2

using = threading.RLock()
"""Held by the one thread of this process that is within SQLite, whose own locks would be lost in a child of a
fork: a fork waits for it.
"""

forks.wait_for("records", lambda: using)


class Folder(Protocol):
    """What holds the shipped files: a path, or a folder inside an installed package."""

    def joinpath(self, name: str, /) -> Any:
        """The file of that name."""

    def iterdir(self) -> Iterable[Any]:
        """The files that there are."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What an import gave: how many records were new, and why others were left out, a line each."""

    new: int
    refused: tuple[str, ...] = ()


class Records:
    """The tries of this machine, with those that ship with the package behind them.

    ``path`` is the SQLite file, ``records.sqlite`` in the package's home when it is None; ``shipped``
    is the folder of shipped files. Nothing is opened before it is needed. One object may be used by
    many threads, across a fork, and may be sent to another process. Every method raises
    ``RecordsError``, which names the file, when the store cannot be used; a damaged store is set aside
    with a warning, and a fresh one begun. A damaged row is moved to the table ``damaged``, with a warning;
    a store that cannot be written keeps it, and it counts as absent.
    """

    patience = 30.0
    """Seconds to wait for another writer."""

    def __init__(self, path: Path | None = None, *, shipped: Folder | None = None):
        self._given = path
        self._folder = shipped
        self._local = threading.local()

    def __reduce__(self) -> tuple[Callable[..., Records], tuple[Path | None, Folder | None]]:
        return _remade, (self._given, self._folder)

    @property
    def path(self) -> Path:
        """The SQLite file. Raises ``ArgumentError`` when it is in the home and that cannot be used."""
        return Path(self._given) if self._given is not None else home() / "records.sqlite"

    def close(self) -> None:
        """Closes this thread's connection; the next call opens another."""
        held: _Held | None = getattr(self._local, "held", None)
        if held is not None and held.pid == os.getpid():
            with using:
                held.connection.close()
        self._local.held = None

    # ---- writing

    def append(
        self, record: Record, beside: Callable[[sqlite3.Connection], object] = lambda connection: None
    ) -> None:
        """Writes a try; it is safe from a crash of this process when this returns. ``beside`` makes another
        change of the store in the same transaction.

        Raises ``RecordsError`` for a record that could not be read back.
        """
        row = _row(record)

        def change(connection: sqlite3.Connection) -> None:
            _insert(connection, row)
            beside(connection)

        self._write(change)

    def alter(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """Makes a change of the store in one transaction, for what else is kept in it; gives what that
        gives."""
        return self._write(change)

    def ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """The answer to a question about what else is kept in the store."""
        return self._read(question)

    def save_ceilings(self, device: str, cores: int, ceilings: Mapping[str, float]) -> None:
        """Writes measured ceilings of a device at a number of cores, over those of the same names."""
        entry = (device, int(cores), dict(ceilings))
        self._write(lambda connection: _put_ceilings(connection, entry, "REPLACE"))

    # ---- asking

    def all(
        self,
        *,
        problem_key: str | None = None,
        regime: str | None = None,
        device: str | None = None,
        stencil: str | None = None,
        status: str | None = None,
    ) -> list[Record]:
        """The local records that have all the given values, in the order in which they were written."""
        columns = {
            "device": device,
            "key": problem_key,
            "regime": regime,
            "stencil": stencil,
            "status": status,
        }
        wanted = {name: value for name, value in columns.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in wanted) or "1"
        return self._read(_bodies, f"{_BODIES} WHERE {where} ORDER BY id", *wanted.values())

    def shipped(self, device: str) -> list[Record]:
        """The records that ship with the package for this device, in the order of the file."""
        return _bodies(self._behind(device), f"{_BODIES} ORDER BY id")

    def tried(
        self, problem: Task, regime: str, device: str, stencil: str, protocol: int, toolchain: str
    ) -> dict[Config, Record]:
        """What has been tried here already under this protocol and toolchain: each config's newest record."""
        sql = f"""{_BODIES} WHERE device = ? AND key = ? AND regime = ? AND stencil = ?
                 AND protocol = ? AND toolchain = ? ORDER BY moment, id"""
        rows = self._read(_bodies, sql, device, problem.key, regime, stencil, protocol, toolchain)
        return {record.config: record for record in rows}

    def best(
        self,
        problem_key: str,
        regime: str,
        device: str,
        *,
        without: str = "",
        accept: Callable[[Record], bool] = lambda record: True,
    ) -> Record | None:
        """The right record with the fewest seconds per product, or None.

        1. Local records if any is usable, else those that ship with the package.
        2. Only a config's newest try counts, and of these only the ones of the newest protocol present.
        3. Equal speeds go to the first config, then the first stencil, in the order of their spellings.

        ``without`` names a stencil whose records are left out; so are those that ``accept`` refuses.
        """
        asked = (device, problem_key, regime, without, accept)
        return self._read(_best, *asked) or _best(self._behind(device), *asked)

    def best_shipped(self, problem_key: str, regime: str, device: str, *, without: str = "") -> Record | None:
        """The same of the records that ship with the package alone, whatever there is here."""
        return _best(self._behind(device), device, problem_key, regime, without)

    def predicted(self, problem_key: str, regime: str, device: str) -> Record | None:
        """The prediction with the fewest cycles per product, or None: local ones before those that ship."""
        asked = (device, problem_key, regime)
        return self._read(_foretold, *asked) or _foretold(self._behind(device), *asked)

    def devices(self) -> list[str]:
        """The keys of all devices with a usable result, here or among those that ship with the package."""
        local = {key for (key,) in self._read(_rows, "SELECT DISTINCT device FROM solved")}
        return sorted(
            local | {Path(file.name).stem for file in self._files() if file.name.endswith(".jsonl")}
        )

    def near(self, problem: Task, regime: str, device: str, *, without: str = "") -> list[Record]:
        """Best records of up to 8 problems like this one, nearest first, one a problem.

        All have its type and math mode. First this very problem in another regime; then the same sizes
        and transpositions under another layout, alpha or beta; then the same transpositions and each of
        m, n and k within a factor of 2, by the distance of the sizes' logarithms. A problem that was
        tuned in both regimes is answered for by the one that was asked for.

        ``without`` names a stencil whose records are left out.
        """
        asked = (device, problem)
        solved = set(self._read(_solved, *asked)) | set(_solved(self._behind(device), *asked))
        solved -= {entry for entry in solved if entry[:2] == (problem.key, regime)}
        ranked = sorted((_distance(problem, regime, *entry[:2], entry[2:]), *entry[:2]) for entry in solved)
        found: dict[str, Record] = {}
        for _, key, other in ranked:
            if len(found) == _NEAREST:
                break
            if key not in found and (record := self.best(key, other, device, without=without)):
                found[key] = record
        return list(found.values())

    def ceilings(self, device: str, cores: int) -> dict[str, float]:
        """Measured ceilings of a device at a number of cores by name: shipped ones under local ones."""
        return _get_ceilings(self._behind(device), device, cores) | self._read(_get_ceilings, device, cores)

    # ---- moving

    def export(
        self, path: Path, device: str | None = None, best_only: bool = True, ceilings: bool = True
    ) -> int:
        """Writes local records as JSON lines, with ``ceilings`` those too, and returns how many records
        there are.

        With ``best_only`` one line a problem and regime, ordered by problem, and behind these one for what
        was only predicted; otherwise every try in the order of writing. Raw samples are left out. The file is
        replaced at once or not at all.
        """
        records = self._read(_winners, device) if best_only else self.all(device=device)
        records += self._read(_predictions, device) if best_only else []
        measured = self._read(_all_ceilings, device) if ceilings else []
        lines = [ceilings_line(entry) for entry in measured]
        lines += [encode(record, samples=False) for record in records]
        write_text(Path(path), "".join(compact(line) + "\n" for line in lines))
        return len(records)

    def import_(self, path: Path, refusal: Callable[[Record], str | None] = lambda record: None) -> Taken:
        """Takes in the JSON lines that ``export`` wrote, or all of another store.

        ``refusal`` says why a record is not to be believed, and None of one that may be: what is refused
        is left out. All lines are read before the first is written: ``RecordsError`` names the bad line,
        or the first that was refused if nothing is left, and nothing is changed. A try that is already
        here is not repeated, and ceilings measured here are kept.
        """
        refused: list[str] = []

        def judged(record: Record, where: str) -> Row | None:
            reason = refusal(record)
            if reason is None:
                return _row(record)
            refused.append(f"{where}: {reason}")
            return None

        text = _all_of(path) if is_store(Path(path)) else read_text(Path(path))
        found, ceilings = parse(text, str(path), judged)
        rows = [row for row in found if row is not None]
        if refused and not rows:
            raise RecordsError(refused[0])
        new = self._write(lambda connection: _take_in(connection, rows, ceilings))
        return Taken(new, tuple(refused))

    # ---- the connection

    def _read(self, question: Callable[..., T], *arguments: Any) -> T:
        """The answer to a question that is asked of the local store."""

        def asked(held: _Held) -> T:
            found = question(held.connection, *arguments)
            if held.connection.unread:
                _move_aside(held)
            return found

        return self._guarded(asked)

    def _write(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """Makes a change of the local store in one transaction."""

        def changed(held: _Held) -> T:
            if not held.writable:
                raise RecordsError(f"records file {str(held.path)!r} cannot be written")
            return _transaction(held.connection, change)

        return self._guarded(changed)

    def _guarded(self, work: Callable[[_Held], T]) -> T:
        """Runs work on this thread's connection: waits for a busy store, sets a damaged one aside."""
        deadline = time.monotonic() + self.patience
        path, damaged = self.path, 0
        while True:
            identity, held = _identity(path), None
            try:
                with using:
                    held = self._held(path)
                    return work(held)
            except sqlite3.Error as error:
                code = _code(error)
                bad = code in _DAMAGED or (code == sqlite3.SQLITE_ERROR and not _is_whole(held))
                damaged += bad
                if bad and damaged < 3:
                    self.close()
                    _retire(path, identity, error)
                elif code not in _BUSY or time.monotonic() > deadline:
                    self.close()
                    raise RecordsError(f"records file {str(path)!r} {_fault(code)}: {error}") from error
                else:
                    # SQLite waits by itself, except where it sees a deadlock or another's recovery.
                    time.sleep(0.01)

    def _held(self, path: Path) -> _Held:
        """This thread's connection to the file that is at the path now."""
        held: _Held | None = getattr(self._local, "held", None)
        if held is not None and held.pid != os.getpid():
            # Not even closing is safe for a connection that came across a fork; it is let be.
            _inherited.append(held)
            held = None
        elif held is not None and (held.path != path or held.identity != _identity(path)):
            # The file was set aside or deleted under us: a row written to it would be lost.
            self.close()
            held = None
        if held is None:
            held = _open(path, self.patience)
            # A look at a store that cannot be written may be out of date a moment later.
            self._local.held = held if held.writable else None
        return held

    def _shelf(self) -> Folder:
        """The folder of shipped files."""
        return self._folder or files("tilewright.store").joinpath("data")

    def _files(self) -> Iterable[Any]:
        """The shipped files; none where there is no such folder."""
        with suppress(OSError):
            return list(self._shelf().iterdir())
        return []

    def _behind(self, device: str) -> _Connection:
        """The shipped rows of a device, in memory, read when first asked for."""
        stores: dict[str, _Connection] = self._local.__dict__.setdefault("stores", {})
        if device not in stores:
            name = re.sub(r"[^\w.+-]", "_", device) + ".jsonl"
            source = self._shelf().joinpath(name)
            text = source.read_text(encoding="utf-8") if source.is_file() else ""
            connection = _in_memory()
            _take_in(connection, *_shipped_rows(text, name))
            stores[device] = connection
        return stores[device]


def _all_of(path: Path) -> str:
    """What a store holds, as lines."""
    with copied(path) as copy:
        other = Records(copy)
        try:
            measured = [ceilings_line(entry) for entry in other._read(_all_ceilings, None)]
            return "\n".join(map(compact, [*measured, *(encode(record) for record in other.all())]))
        finally:
            other.close()


def _remade(path: Path | None, shipped: Folder | None) -> Records:
    return Records(path, shipped=shipped)


# ---- opening and failing


class _Connection(sqlite3.Connection):
    """A connection that notes which rows could not be read, and why."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.unread: dict[int, str] = {}
        # A text that is not UTF-8 is like no other text, but is no reason for a question to fail.
        self.text_factory = lambda raw: raw.decode("utf-8", "replace")


class _Held:
    """A connection with what must still hold for it to be used."""

    __slots__ = ("connection", "identity", "path", "pid", "writable")

    def __init__(self, connection: _Connection, path: Path, writable: bool):
        self.connection, self.path, self.writable = connection, path, writable
        self.pid, self.identity = os.getpid(), _identity(path)


_inherited: list[_Held] = []

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
_CLOSED_TO_US = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
"""What a full disk gives: SQLite cannot always tell it from other failures of a write."""


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code, 0 for an error that is not SQLite's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _fault(code: int) -> str:
    if code in _BUSY:
        return "is locked by another process"
    return "cannot be written" if code in _CLOSED_TO_US else "cannot be used"


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file is at the path, or None."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _open(path: Path, patience: float) -> _Held:
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
        if _code(error) not in _CLOSED_TO_US + _NO_ROOM or path.is_dir():
            raise
        return _Held(_look_at(path, patience), path, writable=False)
    return _Held(connection, path, writable=True)


def _connect(address: str, patience: float, uri: bool = False) -> _Connection:
    # Threads do not share a connection, but one may be collected in a thread other than its own.
    return sqlite3.connect(
        address, timeout=patience, isolation_level=None, check_same_thread=False, uri=uri, factory=_Connection
    )  # fmt: skip


def _look_at(path: Path, patience: float) -> _Connection:
    """A connection that only reads; an empty store stands in for a file that is not there, or in which
    no table could be made."""
    if not path.exists():
        return _in_memory()
    address = path.absolute().as_uri() + "?mode=ro"
    log = path.with_name(path.name + "-wal")
    # SQLite needs a file beside the store to read it safely; without one it must be told that nobody
    # writes. A log that is not empty holds rows which would then be missed, so that stays an error.
    for query in ("", "&immutable=1"):
        connection = _connect(address + query, patience, uri=True)
        try:
            if _check_version(connection, path):
                return connection
            connection.close()
            return _in_memory()
        except sqlite3.Error as error:
            connection.close()
            unread = log.exists() and log.stat().st_size
            if query or unread or _code(error) not in _CLOSED_TO_US + _NO_ROOM:
                raise
    raise AssertionError("the loop returns or raises")


def _in_memory() -> _Connection:
    connection = _connect(":memory:", 0)
    _make_tables(connection)
    return connection


def _transaction(connection: sqlite3.Connection, change: Callable[[sqlite3.Connection], T]) -> T:
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
    version = _check_version(connection, path)
    if version == 0:
        # Stays as it is where the file system cannot share memory; all else works the same.
        connection.execute("PRAGMA journal_mode = WAL")
    # A row outlives this process at once; only a power cut can lose the last ones, never the store.
    connection.execute("PRAGMA synchronous = NORMAL")
    if version < SCHEMA:
        # Another process may have been quicker: the version is looked at again.
        _transaction(connection, lambda held: _make_tables(held, _check_version(held, path)))


def _make_tables(connection: sqlite3.Connection, version: int = 0) -> None:
    """Makes the tables that a store of an older version lacks. Its rows stay as they are: what lines did
    not hold at the time cannot be told from them."""
    added = ((*_TABLES, _DAMAGED_ROWS, *_LEASES), (_DAMAGED_ROWS, *_LEASES), _LEASES, (), ())[version]
    for table in added:
        connection.execute(table)
    connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _columns(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Table and column, of all tables."""
    sql = (
        "SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'"
    )
    return set(connection.execute(sql))


def _is_whole(held: _Held | None) -> bool:
    """Whether a store has all of its tables and columns; not when it fell out with itself at opening."""
    if held is None:
        return False
    with closing(_in_memory()) as fresh:
        needed = {entry for entry in _columns(fresh) if entry[0] != "damaged"}
    try:
        return needed <= _columns(held.connection)
    except sqlite3.Error:
        return False


def _check_version(connection: sqlite3.Connection, path: Path) -> int:
    """The schema of the store, 0 for an empty one. Raises ``RecordsError`` for a newer one."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA:
        raise RecordsError(
            f"records file {str(path)!r} has schema {version}; accepted: up to {SCHEMA} "
            "(it was written by a newer version of this package)"
        )
    return version


def _retire(path: Path, identity: tuple[int, int] | None, cause: sqlite3.Error) -> None:
    """Sets a damaged store aside with its side files, unless another process has just done so."""
    if identity is None or identity != _identity(path):
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


# ---- rows


Row = tuple[tuple[Any, ...], tuple[Any, ...] | None]
"""The values of ``_COLUMNS``, and those of ``solved`` if the record is a usable result."""


def _row(record: Record) -> Row:
    """What is written for a record. Raises ``RecordsError`` for one that could not be read back."""
    body = compact(encode(record))
    return _columns_of(decode(json.loads(body)), body)


@lru_cache(maxsize=8)
def _shipped_rows(text: str, name: str) -> tuple[tuple[Row, ...], tuple[Ceilings, ...]]:
    """What is written for the lines of a shipped file. Every thread has a store of them in memory, and to
    read the lines takes much longer than to make one."""
    # They have been read, so they can be read back.
    rows, ceilings = parse(text, name, lambda record, _: _columns_of(record, compact(encode(record))))
    return tuple(rows), tuple(ceilings)


def _columns_of(record: Record, body: str) -> Row:
    """A record as it is read back from its body, as a row."""
    problem, device, regime = record.problem, record.device, record.regime
    per_product = _seconds_per_product(record) if record.status in ("ok", PREDICTED) else None
    columns = (
        device, problem.key, regime, record.stencil, spelled(record.config), record.status,
        record.protocol, record.toolchain, record.when, per_product, body,
    )  # fmt: skip
    if per_product is None or record.status == PREDICTED:
        return columns, None
    return columns, (device, problem.key, regime, problem.family, *problem.extents)


def _insert(connection: sqlite3.Connection, row: Row, unless: str = "") -> int:
    """Writes a row; returns how many were new."""
    columns, solved = row
    values = {f"v{n}": value for n, value in enumerate(columns, 1)}
    marks = ", ".join(f":{name}" for name in values)
    added = connection.execute(f"INSERT INTO tries ({_COLUMNS}) SELECT {marks} {unless}", values).rowcount
    if solved:
        connection.execute("INSERT OR IGNORE INTO solved VALUES (?, ?, ?, ?, ?, ?, ?)", solved)
    return added


def _take_in(connection: sqlite3.Connection, rows: Iterable[Row], ceilings: Iterable[Ceilings]) -> int:
    """Writes what a file of lines holds; returns how many records were new."""
    for entry in ceilings:
        _put_ceilings(connection, entry, "IGNORE")
    return sum(_insert(connection, row, _UNLESS_HERE) for row in rows)


def _put_ceilings(connection: sqlite3.Connection, entry: Ceilings, clash: str) -> None:
    device, cores, values = entry
    sql = f"INSERT OR {clash} INTO ceilings (device, cores, name, value) VALUES (?, ?, ?, ?)"
    connection.executemany(sql, [(device, cores, name, float(value)) for name, value in values.items()])


# ---- questions


def _rows(connection: _Connection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def body_of(connection: Any, number: int, body: bytes) -> Record | None:
    """The record in a row; None, noted on the connection, where the row holds none."""
    try:
        return decode(json.loads(body.decode("utf-8")))
    except (RecordsError, ValueError, TypeError, AttributeError, RecursionError) as error:
        # Beside what is no JSON, and JSON that is no record: JSON that is no object, no body at all.
        connection.unread[number] = str(error)
        return None


def _bodies(connection: _Connection, sql: str, *values: Any) -> list[Record]:
    found = (body_of(connection, *row) for row in connection.execute(sql, values))
    return [record for record in found if record]


def _best(
    connection: _Connection,
    device: str,
    key: str,
    regime: str,
    without: str = "",
    accept: Callable[[Record], bool] = lambda record: True,
    status: str = "ok",
) -> Record | None:
    # A cursor that was not read to its end would hold on to the store as it was.
    with closing(connection.execute(_BEST, (device, key, regime, status, without))) as rows:
        for row in rows:
            record = body_of(connection, *row)
            if record is not None and accept(record):
                return record
    return None


def _foretold(connection: _Connection, device: str, key: str, regime: str) -> Record | None:
    return _best(connection, device, key, regime, status=PREDICTED)


def _move_aside(held: _Held) -> None:
    """Moves the rows that could not be read to the table ``damaged``, and says so once."""
    unread, held.connection.unread = held.connection.unread, {}

    def moved(connection: sqlite3.Connection) -> None:
        into = f"INSERT OR IGNORE INTO damaged (id, {_COLUMNS}, cause)"
        for number, cause in unread.items():
            connection.execute(f"{into} SELECT id, {_COLUMNS}, ? FROM tries WHERE id = ?", (cause, number))
            connection.execute("DELETE FROM tries WHERE id = ?", (number,))

    what = "cannot be moved and count as absent"
    if held.writable:
        with suppress(sqlite3.Error):
            _transaction(held.connection, moved)
            what = "are kept in its table 'damaged'"
    number, cause = next(iter(unread.items()))
    warn_once(f"records file {str(held.path)!r} has damaged rows, which {what} (row {number}: {cause})")


def _solved(connection: sqlite3.Connection, device: str, near: Task) -> list[tuple[str, str, int, int, int]]:
    """Key, regime and sizes of each problem that has had a usable result and is of like kind and sizes."""
    sql = (
        "SELECT key, regime, m, n, k FROM solved WHERE device = :device AND family = :family "
        f"AND {_FACTOR} * m >= :m AND m <= {_FACTOR} * :m AND {_FACTOR} * n >= :n AND n <= {_FACTOR} * :n "
        f"AND {_FACTOR} * k >= :k AND k <= {_FACTOR} * :k"
    )
    asked = {"device": device, "family": near.family, **dict(zip("mnk", near.extents, strict=True))}
    return connection.execute(sql, asked).fetchall()


def _winners(connection: _Connection, device: str | None) -> list[Record]:
    """The best local record of each problem and regime, ordered by device, family and sizes."""
    rows = connection.execute(
        "SELECT device, key, regime FROM solved WHERE :device IS NULL OR device = :device "
        "ORDER BY device, family, m, n, k, key, regime",
        {"device": device},
    ).fetchall()
    found = (_best(connection, name, key, regime) for name, key, regime in rows)
    return [record for record in found if record]


def _predictions(connection: _Connection, device: str | None) -> list[Record]:
    """The best prediction of each problem and regime of which there is no usable result."""
    rows = connection.execute(
        "SELECT DISTINCT device, key, regime FROM tries WHERE status = :status "
        "AND (:device IS NULL OR device = :device) "
        "AND (device, key, regime) NOT IN (SELECT device, key, regime FROM solved) ORDER BY 1, 2, 3",
        {"device": device, "status": PREDICTED},
    ).fetchall()
    found = (_foretold(connection, *row) for row in rows)
    return [record for record in found if record]


def _get_ceilings(connection: sqlite3.Connection, device: str, cores: int) -> dict[str, float]:
    sql = "SELECT name, value FROM ceilings WHERE device = ? AND cores = ? ORDER BY name"
    return dict(connection.execute(sql, (device, cores)))


def _all_ceilings(connection: sqlite3.Connection, device: str | None) -> list[Ceilings]:
    sql = (
        "SELECT DISTINCT device, cores FROM ceilings WHERE :device IS NULL OR device = :device ORDER BY 1, 2"
    )
    pairs = connection.execute(sql, {"device": device}).fetchall()
    return [(name, cores, _get_ceilings(connection, name, cores)) for name, cores in pairs]


def _seconds_per_product(record: Record) -> float | None:
    """The median of a record's timing for one product of its batch, or what was predicted of one; None where
    that is no speed."""
    if record.status == PREDICTED:
        seconds = (record.seconds or 0.0) / max(1, record.problem.batch)
    elif record.timing is None or record.timing.batch < 1:
        return None
    else:
        seconds = record.timing.median / record.timing.batch
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def _distance(
    problem: Task, regime: str, key: str, other: str, sizes: tuple[int, int, int]
) -> tuple[int, float, bool]:
    """How far a solved problem is from the one asked about in a regime: smaller sorts first."""
    if key == problem.key:
        return 0, 0.0, other != regime
    pairs = zip(problem.extents, sizes, strict=True)
    # Rounded, so that equal ratios tie. A size of 0 has come this far only beside another 0.
    apart = round(sum(abs(math.log2(a / b)) for a, b in pairs if a != b), 9)
    return 1, apart, other != regime
