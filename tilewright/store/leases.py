"""Leases: who is at which try, so that tuners that share a store never repeat one.

A try is claimed before its candidate is compiled, *begun* when it goes to the device, and settled together
with its record. A claim whose holder is no more is anybody's again. What ended its holder while it was begun
is remembered: a candidate that takes the whole machine down leaves no other trace, and one that did so
``FATAL`` times is *poison*, which whoever claims it next records as crashed instead of trying it.

A holder on this machine is known by its process, with the moment at which that started, so that nobody has to
wait for a dead one. One on another machine that shares the file counts as dead when it has written nothing
for ``SILENCE`` seconds.
"""

from __future__ import annotations

import os
import platform
import secrets
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

from tilewright.model import Record
from tilewright.store.jsonl import spelled
from tilewright.store.records import Records
from tilewright.store.tries import body_of

FATAL = 6
"""Deaths that make a candidate poison. A process may be ended by anybody, and children run the candidates:
that counts once. A machine that started anew since counts three times."""
SILENCE = 300.0
"""Seconds after which a holder of another machine that wrote nothing counts as dead."""
RESTART = 60.0
"""The same of one on a machine of this name that was started at another time: most likely this machine, which
takes longer than that to start."""
BEAT = 5.0
"""Seconds between two signs of life of a holder, which go along with its other changes of the store."""

_TRY = "device = ? AND key = ? AND regime = ? AND stencil = ? AND config = ? AND toolchain = ?"
_KNOWN = f"""SELECT id, CAST(body AS BLOB) FROM tries
    WHERE {_TRY} AND status <> ? AND protocol IN (1, 2, 3) ORDER BY moment DESC, id DESC LIMIT 1"""

_living: WeakValueDictionary[str, Leases] = WeakValueDictionary()


@dataclass(frozen=True, slots=True)
class Claim:
    """What became of a claim: ``mine``; ``known``, with the record that somebody has written; ``held`` by
    somebody who lives; or mine and ``poison``, which is to be recorded and not to be tried."""

    state: str
    record: Record | None = None
    deaths: int = 0


class Leases:
    """The leases of one tuner in a store.

    Methods raise ``RecordsError`` where the store cannot be written.
    """

    def __init__(self, records: Records):
        self.records = records
        token = secrets.token_hex(4)
        self.name = "|".join((*_machine(), str(os.getpid()), _started(os.getpid()), token))
        self._beaten = -BEAT
        _living[token] = self

    def claim(self, row: Record, again: str = "") -> Claim:
        """Ask for the try that a record is to be of. What was tried under its toolchain is ``known``, unless
        it ended with the status ``again``."""
        place = _place(row)

        def change(connection: sqlite3.Connection) -> Claim:
            found = connection.execute(_KNOWN, (*place, again)).fetchone()
            record = body_of(connection, *found) if found else None
            if record is not None:
                connection.execute(f"DELETE FROM leases WHERE {_TRY}", place)
                return Claim("known", record)
            sql = f"SELECT holder, begun, deaths FROM leases WHERE {_TRY}"
            held = connection.execute(sql, place).fetchone()
            holder, begun, deaths = held or ("", 0, 0)
            ended = 0 if holder in ("", self.name) else _ended(connection, holder)
            if ended is None:
                return Claim("held")
            deaths += ended * begun
            connection.execute(
                "REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)", (*place, self.name, deaths)
            )
            self._beat(connection)
            return Claim("poison" if deaths >= FATAL else "mine", deaths=deaths)

        return self.records.alter(change)

    def begin(self, row: Record) -> None:
        """A try that is mine goes to the device now: should this process end, it is under suspicion."""
        place = _place(row)

        def change(connection: sqlite3.Connection) -> None:
            connection.execute(
                f"UPDATE leases SET begun = 1 WHERE {_TRY} AND holder = ?", (*place, self.name)
            )
            self._beat(connection)

        self.records.alter(change)

    def settle(self, row: Record) -> None:
        """Write the record of a try, whose lease ends with it."""
        place = _place(row)

        def beside(connection: sqlite3.Connection) -> None:
            connection.execute(f"DELETE FROM leases WHERE {_TRY}", place)
            self._beat(connection)

        self.records.append(row, beside)

    def release(self) -> None:
        """Let go of all that is mine and not settled. Deaths stay remembered."""

        def change(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM leases WHERE holder = ? AND deaths = 0", (self.name,))
            connection.execute("UPDATE leases SET holder = '', begun = 0 WHERE holder = ?", (self.name,))
            connection.execute("DELETE FROM holders WHERE name = ?", (self.name,))

        self.records.alter(change)
        self._beaten = -BEAT

    def _beat(self, connection: sqlite3.Connection) -> None:
        """A sign of life, in a transaction that is there anyway."""
        if time.monotonic() - self._beaten >= BEAT:
            connection.execute("REPLACE INTO holders VALUES (?, ?)", (self.name, time.time()))
            self._beaten = time.monotonic()


def _place(row: Record) -> tuple[str, ...]:
    return row.device, row.problem.key, row.regime, row.stencil, spelled(row.config), row.toolchain


def _machine() -> tuple[str, str, str]:
    """This machine, its present start, and within it the space in which processes have their numbers."""
    boot = namespace = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    with suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid")
    return platform.node(), boot, namespace


def _started(pid: int) -> str:
    """When a process started, in the kernel's own count; "" where nobody says."""
    with suppress(OSError, IndexError):
        # The name of a program may hold blanks and brackets: what is counted comes after the last one.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] == "Z" else fields[19]
    return ""


def _ended(connection: sqlite3.Connection, holder: str) -> int | None:
    """How much the end of a holder says against what it was at; None of one that lives."""
    node, boot, namespace, pid, start, token = holder.split("|")
    here = _machine()
    if (node, boot, namespace) == here:
        if int(pid) == os.getpid():
            return None if token in _living else 1
        return None if _runs(int(pid), start) else 1
    found = connection.execute("SELECT beat FROM holders WHERE name = ?", (holder,)).fetchone()
    silent = abs(time.time() - found[0]) if found else SILENCE
    if node == here[0] and boot != here[1] and silent >= RESTART:
        return 3
    return None if silent < SILENCE else 1


def _runs(pid: int, start: str) -> bool:
    if start:
        return _started(pid) == start
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
