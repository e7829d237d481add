"""The tables of the results store, and which version of them a file has."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tilewright.errors import RecordsError

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


def make_tables(connection: sqlite3.Connection, version: int = 0) -> None:
    """Makes the tables that a store of an older version lacks. Its rows stay as they are: what lines did
    not hold at the time cannot be told from them."""
    added = ((*_TABLES, _DAMAGED_ROWS, *_LEASES), (_DAMAGED_ROWS, *_LEASES), _LEASES, (), ())[version]
    for table in added:
        connection.execute(table)
    connection.execute(f"PRAGMA user_version = {SCHEMA}")


def columns(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Table and column, of all tables."""
    sql = (
        "SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'"
    )
    return set(connection.execute(sql))


def check_version(connection: sqlite3.Connection, path: Path) -> int:
    """The schema of the store, 0 for an empty one. Raises ``RecordsError`` for a newer one."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA:
        raise RecordsError(
            f"records file {str(path)!r} has schema {version}; accepted: up to {SCHEMA} "
            "(it was written by a newer version of this package)"
        )
    return version
