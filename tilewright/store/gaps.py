"""Calls that were planned without a record, as many programs count them together in one small file.

``gaps.sqlite`` in the package's home has one row for each device, problem key and regime: how often it was
called, how many products that were, and how long one took at best where that could be timed. Any number of
processes may add to it; each addition is one short transaction, so none is lost and none counts twice.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tilewright.errors import ArgumentError, RecordsError
from tilewright.store.codecs import CODECS
from tilewright.store.connections import using
from tilewright.store.jsonl import compact
from tilewright.store.paths import home, set_aside, warn_once

T = TypeVar("T")

SCHEMA = 1
"""What ``PRAGMA user_version`` says in a file that this code understands."""
PATIENCE = 10.0
"""Seconds to wait for another writer."""

_TABLE = """CREATE TABLE IF NOT EXISTS gaps (
    device TEXT NOT NULL, key TEXT NOT NULL, regime TEXT NOT NULL, kind TEXT NOT NULL, problem TEXT NOT NULL,
    batch INTEGER NOT NULL, origin TEXT NOT NULL, calls INTEGER NOT NULL, products INTEGER NOT NULL,
    seconds REAL, PRIMARY KEY (device, key, regime)) WITHOUT ROWID"""
# The problem that stays is the one with the largest batch, on which there is most to measure.
_ADD = """INSERT INTO gaps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
    problem = CASE WHEN excluded.batch > batch THEN excluded.problem ELSE problem END,
    batch = max(batch, excluded.batch), origin = excluded.origin, calls = calls + excluded.calls,
    products = products + excluded.products,
    seconds = min(coalesce(seconds, excluded.seconds), coalesce(excluded.seconds, seconds))"""
_LIST = """SELECT device, kind, problem, regime, origin, calls, products, seconds FROM gaps
    ORDER BY device, key, regime"""


@dataclass(frozen=True, slots=True)
class Gap:
    """Calls of one problem on one device in one regime that no record was made for.

    ``kind`` is the device's kind, ``origin`` the rung of the ladder that they ran by (``Plan.origin``),
    ``products`` the number of all their products, and ``seconds`` the least time of one product that was
    seen, None where calls return before they are done (on a GPU).
    """

    problem: Any
    device: str
    kind: str
    regime: str
    origin: str
    calls: int
    products: int
    seconds: float | None = None


def path() -> Path:
    """The file. Raises ``ArgumentError`` when the package's home cannot be used."""
    return home() / "gaps.sqlite"


def add(gaps: Iterable[Gap]) -> None:
    """Adds calls to those that the file has. Raises ``RecordsError`` when it cannot be written."""
    rows = [
        (
            *(each.device, each.problem.key, each.regime, each.kind, _written(each.problem)),
            *(each.problem.batch, each.origin, each.calls, each.products, each.seconds),
        )
        for each in gaps
    ]
    if rows:
        _within(lambda connection: connection.executemany(_ADD, rows))


def read() -> list[Gap]:
    """All that was counted, by device, problem and regime; nothing where nobody ever counted. Raises
    ``RecordsError`` when the file cannot be read."""
    if not path().is_file():
        return []
    found = []
    for device, kind, problem, *rest in _within(lambda connection: connection.execute(_LIST).fetchall()):
        try:
            found.append(Gap(_problem(problem), device, kind, *rest))
        except (ArgumentError, RecordsError, ValueError, TypeError, KeyError) as error:
            warn_once(f"a row of {str(path())!r} is of no problem and is passed over: {error}")
    return found


def clear() -> int:
    """Forgets all that was counted; returns how many rows there were."""
    if not path().is_file():
        return 0
    count: int = _within(lambda connection: connection.execute("DELETE FROM gaps").rowcount)
    return count


def _written(problem: Any) -> str:
    """A problem as the line of a record has it."""
    codec = next(each for each in CODECS.values() if type(problem) is each.noun)
    return compact({"kind": codec.kind, **codec.encode(problem)})


def _problem(text: str) -> Any:
    line = json.loads(text)
    codec = CODECS[line.pop("kind")]
    return codec.decode({name: line[name] for name in codec.accepted if name in line})


def _within(work: Callable[[sqlite3.Connection], T]) -> T:
    """Does work in one transaction. A connection lives no longer than that, so that no fork finds one."""
    file = path()
    try:
        return _once(file, work)
    except sqlite3.OperationalError as error:
        raise RecordsError(f"gaps file {str(file)!r} cannot be used: {error}") from error
    except sqlite3.DatabaseError as error:
        try:
            warn_once(f"gaps file {str(file)!r} is damaged ({error}); kept as {str(set_aside(file))!r}")
            return _once(file, work)
        except (OSError, sqlite3.Error) as again:
            raise RecordsError(f"gaps file {str(file)!r} cannot be used: {again}") from again


def _once(file: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    with using, closing(sqlite3.connect(file, timeout=PATIENCE, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA:
            raise RecordsError(
                f"gaps file {str(file)!r} has schema {version}; accepted: up to {SCHEMA} "
                "(it was written by a newer version of this package)"
            )
        connection.execute(_TABLE)
        connection.execute(f"PRAGMA user_version = {SCHEMA}")
        result = work(connection)
        connection.execute("COMMIT")
    return result
