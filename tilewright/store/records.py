"""The results store: every try, good or bad, written at once and never forgotten.

Records are rows of one SQLite file that many processes and threads may write together. Rows for
known machines ship with the package as JSON lines, ``store/data/DEVICE.jsonl``; they go through the same
tables in memory, so a shipped row and a local one answer the same questions. A local row always wins.

A config may be tried more than once. Its newest try is the one that counts, so that a kernel found
wrong on a later shape is no longer anybody's best. Newest is by the record's ``when``, then by the
order of writing.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tilewright.errors import RecordsError
from tilewright.model import Config, Record
from tilewright.store import connections, tries
from tilewright.store.copies import copied, is_store
from tilewright.store.jsonl import ceilings_line, compact, encode, parse, read_text, write_text
from tilewright.store.paths import home
from tilewright.task import Task

T = TypeVar("T")

_NEAREST = 8


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
        held: connections.Held | None = getattr(self._local, "held", None)
        if held is not None and held.pid == os.getpid():
            with connections.using:
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
        row = tries.row_of(record)

        def change(connection: sqlite3.Connection) -> None:
            tries.insert(connection, row)
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
        self._write(lambda connection: tries.put_ceilings(connection, entry, "REPLACE"))

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
        return self._read(tries.bodies, f"{tries.BODIES} WHERE {where} ORDER BY id", *wanted.values())

    def shipped(self, device: str) -> list[Record]:
        """The records that ship with the package for this device, in the order of the file."""
        return tries.bodies(self._behind(device), f"{tries.BODIES} ORDER BY id")

    def tried(
        self, problem: Task, regime: str, device: str, stencil: str, protocol: int, toolchain: str
    ) -> dict[Config, Record]:
        """What has been tried here already under this protocol and toolchain: each config's newest record."""
        sql = f"""{tries.BODIES} WHERE device = ? AND key = ? AND regime = ? AND stencil = ?
                 AND protocol = ? AND toolchain = ? ORDER BY moment, id"""
        rows = self._read(tries.bodies, sql, device, problem.key, regime, stencil, protocol, toolchain)
        return {record.config: record for record in rows}

    def best(
        self,
        problem_key: str,
        regime: str,
        device: str,
        *,
        without: str = "",
        accept: Callable[[Record], bool] = lambda record: True,
        among: Collection[str] = (),
    ) -> Record | None:
        """The right record with the fewest seconds per product, or None.

        1. Local records if any is usable, else those that ship with the package.
        2. Only a config's newest try counts, and of these only the ones of the newest protocol present.
        3. Equal speeds go to the first config, then the first stencil, in the order of their spellings.

        ``without`` names a stencil whose records are left out; so are those that ``accept`` refuses, and,
        where ``among`` names stencils, those of all others, before they are read.
        """
        asked = (device, problem_key, regime, without, accept, "ok", among)
        return self._read(tries.best, *asked) or tries.best(self._behind(device), *asked)

    def best_shipped(self, problem_key: str, regime: str, device: str, *, without: str = "") -> Record | None:
        """The same of the records that ship with the package alone, whatever there is here."""
        return tries.best(self._behind(device), device, problem_key, regime, without)

    def predicted(self, problem_key: str, regime: str, device: str) -> Record | None:
        """The prediction with the fewest cycles per product, or None: local ones before those that ship."""
        asked = (device, problem_key, regime)
        return self._read(tries.foretold, *asked) or tries.foretold(self._behind(device), *asked)

    def devices(self) -> list[str]:
        """The keys of all devices with a usable result, here or among those that ship with the package."""
        local = {key for (key,) in self._read(tries.fetched, "SELECT DISTINCT device FROM solved")}
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
        solved = set(self._read(tries.solved, *asked)) | set(tries.solved(self._behind(device), *asked))
        solved -= {entry for entry in solved if entry[:2] == (problem.key, regime)}
        ranked = sorted(
            (tries.distance(problem, regime, *entry[:2], entry[2:]), *entry[:2]) for entry in solved
        )
        found: dict[str, Record] = {}
        for _, key, other in ranked:
            if len(found) == _NEAREST:
                break
            if key not in found and (record := self.best(key, other, device, without=without)):
                found[key] = record
        return list(found.values())

    def ceilings(self, device: str, cores: int) -> dict[str, float]:
        """Measured ceilings of a device at a number of cores by name: shipped ones under local ones."""
        asked = (device, cores)
        return tries.get_ceilings(self._behind(device), *asked) | self._read(tries.get_ceilings, *asked)

    # ---- moving

    def export(
        self,
        path: Path,
        device: str | None = None,
        best_only: bool = True,
        ceilings: bool = True,
        beside: Callable[[Record], Iterable[Record]] = lambda record: (),
    ) -> int:
        """Writes local records as JSON lines, with ``ceilings`` those too, and returns how many records
        there are.

        With ``best_only`` one line a problem and regime, ordered by problem, each before those that
        ``beside`` gives for it, and behind all of these one for what was only predicted; otherwise every try
        in the order of writing. Raw samples are left out. The file is replaced at once or not at all.
        """
        records = self._read(tries.winners, device) if best_only else self.all(device=device)
        if best_only:
            records = [record for first in records for record in (first, *beside(first))]
        records += self._read(tries.predictions, device) if best_only else []
        measured = self._read(tries.all_ceilings, device) if ceilings else []
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

        def judged(record: Record, where: str) -> tries.Row | None:
            reason = refusal(record)
            if reason is None:
                return tries.row_of(record)
            refused.append(f"{where}: {reason}")
            return None

        text = _all_of(path) if is_store(Path(path)) else read_text(Path(path))
        found, ceilings = parse(text, str(path), judged)
        rows = [row for row in found if row is not None]
        if refused and not rows:
            raise RecordsError(refused[0])
        new = self._write(lambda connection: tries.take_in(connection, rows, ceilings))
        return Taken(new, tuple(refused))

    # ---- the connection

    def _read(self, question: Callable[..., T], *arguments: Any) -> T:
        """The answer to a question that is asked of the local store."""

        def asked(held: connections.Held) -> T:
            found = question(held.connection, *arguments)
            if held.connection.unread:
                tries.move_aside(held)
            return found

        return self._guarded(asked)

    def _write(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """Makes a change of the local store in one transaction."""

        def changed(held: connections.Held) -> T:
            if not held.writable:
                raise RecordsError(f"records file {str(held.path)!r} cannot be written")
            return connections.transaction(held.connection, change)

        return self._guarded(changed)

    def _guarded(self, work: Callable[[connections.Held], T]) -> T:
        """Runs work on this thread's connection: waits for a busy store, sets a damaged one aside."""
        deadline = time.monotonic() + self.patience
        path, damaged = self.path, 0
        while True:
            identity, held = connections.identity_of(path), None
            try:
                with connections.using:
                    held = self._held(path)
                    return work(held)
            except sqlite3.Error as error:
                code = connections.code_of(error)
                torn = code == sqlite3.SQLITE_ERROR and not connections.is_whole(held)
                bad = code in connections.DAMAGED or torn
                damaged += bad
                if bad and damaged < 3:
                    self.close()
                    connections.retire(path, identity, error)
                elif code not in connections.BUSY or time.monotonic() > deadline:
                    self.close()
                    fault = connections.fault(code)
                    raise RecordsError(f"records file {str(path)!r} {fault}: {error}") from error
                else:
                    # SQLite waits by itself, except where it sees a deadlock or another's recovery.
                    time.sleep(0.01)

    def _held(self, path: Path) -> connections.Held:
        """This thread's connection to the file that is at the path now."""
        held: connections.Held | None = getattr(self._local, "held", None)
        if held is not None and held.pid != os.getpid():
            # Not even closing is safe for a connection that came across a fork; it is let be.
            connections.inherited.append(held)
            held = None
        elif held is not None and (held.path != path or held.identity != connections.identity_of(path)):
            # The file was set aside or deleted under us: a row written to it would be lost.
            self.close()
            held = None
        if held is None:
            held = connections.opened(path, self.patience)
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

    def _behind(self, device: str) -> connections.Connection:
        """The shipped rows of a device, in memory, read when first asked for."""
        stores: dict[str, connections.Connection] = self._local.__dict__.setdefault("stores", {})
        if device not in stores:
            name = re.sub(r"[^\w.+-]", "_", device) + ".jsonl"
            source = self._shelf().joinpath(name)
            text = source.read_text(encoding="utf-8") if source.is_file() else ""
            connection = connections.in_memory()
            tries.take_in(connection, *tries.shipped_rows(text, name))
            stores[device] = connection
        return stores[device]


def _all_of(path: Path) -> str:
    """What a store holds, as lines."""
    with copied(path) as copy:
        other = Records(copy)
        try:
            measured = [ceilings_line(entry) for entry in other._read(tries.all_ceilings, None)]
            return "\n".join(map(compact, [*measured, *(encode(record) for record in other.all())]))
        finally:
            other.close()


def _remade(path: Path | None, shipped: Folder | None) -> Records:
    return Records(path, shipped=shipped)
