"""Jobs that came to their end: the same one again has nothing left to do."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from tilewright.store.records import Records


def name_of(job: Mapping[str, Any]) -> str:
    """One text for all that makes a job what it is, given as plain JSON values."""
    return hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()


def finished(records: Records, name: str) -> bool:
    """Whether a job was finished with these records."""

    def asked(connection: sqlite3.Connection) -> bool:
        return connection.execute("SELECT 1 FROM finished WHERE job = ?", (name,)).fetchone() is not None

    return records.ask(asked)


def finish(records: Records, name: str, moment: str) -> None:
    """Note that a job is finished. Raises ``RecordsError`` where the store cannot be written."""
    row = (name, moment)
    records.alter(lambda connection: connection.execute("REPLACE INTO finished VALUES (?, ?)", row))
