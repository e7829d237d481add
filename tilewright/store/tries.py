"""The rows of the results store: how they are written, and the questions that they answer."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Collection, Iterable
from contextlib import closing, suppress
from functools import lru_cache
from typing import Any

from tilewright.errors import RecordsError
from tilewright.model import PREDICTED, Record
from tilewright.store.connections import Connection, Held, transaction
from tilewright.store.jsonl import Ceilings, compact, decode, encode, parse, spelled
from tilewright.store.paths import warn_once
from tilewright.task import Task

_COLUMNS = "device, key, regime, stencil, config, status, protocol, toolchain, moment, per_product, body"

# A superseded row is skipped one probe of the index `newest` at a time: the walk stops at the first
# row that stands, however many tries there are, and goes on only if that one is refused. No prediction
# supersedes a try.
_BEST = """
    SELECT id, CAST(body AS BLOB) FROM tries AS t
    WHERE device = ? AND key = ? AND regime = ? AND status = ? AND per_product IS NOT NULL
      AND stencil <> ?{among}
      AND NOT EXISTS (
        SELECT 1 FROM tries AS later
        WHERE later.device = t.device AND later.key = t.key AND later.regime = t.regime
          AND later.stencil = t.stencil AND later.config = t.config
          AND (later.status <> 'predicted' OR t.status = 'predicted')
          AND (later.moment, later.id) > (t.moment, t.id))
    ORDER BY protocol DESC, per_product, config, stencil"""

# A blob: a text that is not UTF-8 would fail the whole question, and not its own row alone.
BODIES = "SELECT id, CAST(body AS BLOB) FROM tries"

# An import is not a new measurement: a try that is already here is not written a second time.
_UNLESS_HERE = """
    WHERE NOT EXISTS (
        SELECT 1 FROM tries
        WHERE device = :v1 AND key = :v2 AND regime = :v3 AND stencil = :v4 AND config = :v5
          AND status = :v6 AND protocol = :v7 AND toolchain = :v8 AND moment = :v9 AND per_product IS :v10)"""


_FACTOR = 2


Row = tuple[tuple[Any, ...], tuple[Any, ...] | None]
"""The values of ``_COLUMNS``, and those of ``solved`` if the record is a usable result."""


def row_of(record: Record) -> Row:
    """What is written for a record. Raises ``RecordsError`` for one that could not be read back."""
    body = compact(encode(record))
    return _columns_of(decode(json.loads(body)), body)


@lru_cache(maxsize=8)
def shipped_rows(text: str, name: str) -> tuple[tuple[Row, ...], tuple[Ceilings, ...]]:
    """What is written for the lines of a shipped file. Every thread has a store of them in memory, and to
    read the lines takes much longer than to make one."""
    # They have been read, so they can be read back.
    rows, ceilings = parse(text, name, lambda record, _: _columns_of(record, compact(encode(record))))
    return tuple(rows), tuple(ceilings)


def _columns_of(record: Record, body: str) -> Row:
    """A record as it is read back from its body, as a row."""
    problem, device, regime = record.problem, record.device, record.regime
    per_product = seconds_per_product(record) if record.status in ("ok", PREDICTED) else None
    columns = (
        device, problem.key, regime, record.stencil, spelled(record.config), record.status,
        record.protocol, record.toolchain, record.when, per_product, body,
    )  # fmt: skip
    if per_product is None or record.status == PREDICTED:
        return columns, None
    return columns, (device, problem.key, regime, problem.family, *problem.extents)


def insert(connection: sqlite3.Connection, row: Row, unless: str = "") -> int:
    """Writes a row; returns how many were new."""
    columns, solved = row
    values = {f"v{n}": value for n, value in enumerate(columns, 1)}
    marks = ", ".join(f":{name}" for name in values)
    added = connection.execute(f"INSERT INTO tries ({_COLUMNS}) SELECT {marks} {unless}", values).rowcount
    if solved:
        connection.execute("INSERT OR IGNORE INTO solved VALUES (?, ?, ?, ?, ?, ?, ?)", solved)
    return added


def take_in(connection: sqlite3.Connection, rows: Iterable[Row], ceilings: Iterable[Ceilings]) -> int:
    """Writes what a file of lines holds; returns how many records were new."""
    for entry in ceilings:
        put_ceilings(connection, entry, "IGNORE")
    return sum(insert(connection, row, _UNLESS_HERE) for row in rows)


def put_ceilings(connection: sqlite3.Connection, entry: Ceilings, clash: str) -> None:
    """Writes ceilings; ``clash``, REPLACE or IGNORE, is what becomes of those of the same names."""
    device, cores, values = entry
    sql = f"INSERT OR {clash} INTO ceilings (device, cores, name, value) VALUES (?, ?, ?, ?)"
    connection.executemany(sql, [(device, cores, name, float(value)) for name, value in values.items()])


def fetched(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    """The rows that a question has for an answer."""
    return connection.execute(sql).fetchall()


def body_of(connection: Any, number: int, body: bytes) -> Record | None:
    """The record in a row; None, noted on the connection, where the row holds none."""
    try:
        return decode(json.loads(body.decode("utf-8")))
    except (RecordsError, ValueError, TypeError, AttributeError, RecursionError) as error:
        # Beside what is no JSON, and JSON that is no record: JSON that is no object, no body at all.
        connection.unread[number] = str(error)
        return None


def bodies(connection: Connection, sql: str, *values: Any) -> list[Record]:
    """The records of the rows that a question, ``BODIES`` and more, has for an answer."""
    found = (body_of(connection, *row) for row in connection.execute(sql, values))
    return [record for record in found if record]


def best(
    connection: Connection,
    device: str,
    key: str,
    regime: str,
    without: str = "",
    accept: Callable[[Record], bool] = lambda record: True,
    status: str = "ok",
    among: Collection[str] = (),
) -> Record | None:
    """The record of a status with the fewest seconds per product: see ``Records.best``."""
    only = f" AND stencil IN ({', '.join('?' * len(among))})" if among else ""
    asked = (device, key, regime, status, without, *among)
    # A cursor that was not read to its end would hold on to the store as it was.
    with closing(connection.execute(_BEST.format(among=only), asked)) as rows:
        for row in rows:
            record = body_of(connection, *row)
            if record is not None and accept(record):
                return record
    return None


def foretold(connection: Connection, device: str, key: str, regime: str) -> Record | None:
    """The prediction with the fewest cycles per product."""
    return best(connection, device, key, regime, status=PREDICTED)


def move_aside(held: Held) -> None:
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
            transaction(held.connection, moved)
            what = "are kept in its table 'damaged'"
    number, cause = next(iter(unread.items()))
    warn_once(f"records file {str(held.path)!r} has damaged rows, which {what} (row {number}: {cause})")


def solved(connection: sqlite3.Connection, device: str, near: Task) -> list[tuple[str, str, int, int, int]]:
    """Key, regime and sizes of each problem that has had a usable result and is of like kind and sizes."""
    sql = (
        "SELECT key, regime, m, n, k FROM solved WHERE device = :device AND family = :family "
        f"AND {_FACTOR} * m >= :m AND m <= {_FACTOR} * :m AND {_FACTOR} * n >= :n AND n <= {_FACTOR} * :n "
        f"AND {_FACTOR} * k >= :k AND k <= {_FACTOR} * :k"
    )
    asked = {"device": device, "family": near.family, **dict(zip("mnk", near.extents, strict=True))}
    return connection.execute(sql, asked).fetchall()


def winners(connection: Connection, device: str | None) -> list[Record]:
    """The best local record of each problem and regime, ordered by device, family and sizes."""
    rows = connection.execute(
        "SELECT device, key, regime FROM solved WHERE :device IS NULL OR device = :device "
        "ORDER BY device, family, m, n, k, key, regime",
        {"device": device},
    ).fetchall()
    found = (best(connection, name, key, regime) for name, key, regime in rows)
    return [record for record in found if record]


def predictions(connection: Connection, device: str | None) -> list[Record]:
    """The best prediction of each problem and regime of which there is no usable result."""
    rows = connection.execute(
        "SELECT DISTINCT device, key, regime FROM tries WHERE status = :status "
        "AND (:device IS NULL OR device = :device) "
        "AND (device, key, regime) NOT IN (SELECT device, key, regime FROM solved) ORDER BY 1, 2, 3",
        {"device": device, "status": PREDICTED},
    ).fetchall()
    found = (foretold(connection, *row) for row in rows)
    return [record for record in found if record]


def get_ceilings(connection: sqlite3.Connection, device: str, cores: int) -> dict[str, float]:
    """The ceilings of a device at a number of cores, by name."""
    sql = "SELECT name, value FROM ceilings WHERE device = ? AND cores = ? ORDER BY name"
    return dict(connection.execute(sql, (device, cores)))


def all_ceilings(connection: sqlite3.Connection, device: str | None) -> list[Ceilings]:
    """Those of a device, or of all, at each number of cores."""
    sql = (
        "SELECT DISTINCT device, cores FROM ceilings WHERE :device IS NULL OR device = :device ORDER BY 1, 2"
    )
    pairs = connection.execute(sql, {"device": device}).fetchall()
    return [(name, cores, get_ceilings(connection, name, cores)) for name, cores in pairs]


def seconds_per_product(record: Record) -> float | None:
    """The median of a record's timing for one product of its batch, or what was predicted of one; None where
    that is no speed."""
    if record.status == PREDICTED:
        seconds = (record.seconds or 0.0) / max(1, record.problem.batch)
    elif record.timing is None or record.timing.batch < 1:
        return None
    else:
        seconds = record.timing.median / record.timing.batch
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def distance(
    problem: Task, regime: str, key: str, other: str, sizes: tuple[int, int, int]
) -> tuple[int, float, bool]:
    """How far a solved problem is from the one asked about in a regime: smaller sorts first."""
    if key == problem.key:
        return 0, 0.0, other != regime
    pairs = zip(problem.extents, sizes, strict=True)
    # Rounded, so that equal ratios tie. A size of 0 has come this far only beside another 0.
    apart = round(sum(abs(math.log2(a / b)) for a, b in pairs if a != b), 9)
    return 1, apart, other != regime
