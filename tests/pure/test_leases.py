"""Leases: who is at which try, what a dead holder leaves, and what is poison."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.model import Config, Problem, Record
from tilewright.store import jobs, leases
from tilewright.store.leases import FATAL, RESTART, SILENCE, Leases
from tilewright.store.records import Records
from tilewright.tuning.timing import ALONE

pytestmark = pytest.mark.pure

ROW = Record(
    Problem.parse("d:8x8x8")[0], "memory", "tile", Config({"n": 1}), "ok", "device", "llvm 1", protocol=ALONE
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Records]:
    made = Records(tmp_path / "records.sqlite", shipped=tmp_path)
    yield made
    made.close()


def held(store: Records) -> list[tuple[str, int, int]]:
    """Holder, begun and deaths of all leases."""
    sql = "SELECT holder, begun, deaths FROM leases"
    return store.ask(lambda connection: connection.execute(sql).fetchall())


def left_by(store: Records, holder: str, silent: float = 0.0, begun: bool = True) -> None:
    """A lease of a holder that is to be judged, which gave a sign of life so many seconds ago."""
    mine = Leases(store)
    assert mine.claim(ROW).state in ("mine", "poison")
    if begun:
        mine.begin(ROW)

    def rename(connection: object) -> None:
        connection.execute("UPDATE leases SET holder = ?", (holder,))
        connection.execute("DELETE FROM holders")
        connection.execute("INSERT INTO holders VALUES (?, ?)", (holder, time.time() - silent))

    store.alter(rename)


def test_what_one_holds_no_other_gets_until_it_is_settled_or_released(store: Records) -> None:
    one, two = Leases(store), Leases(store)
    assert one.claim(ROW).state == "mine"
    assert one.claim(ROW).state == "mine"
    assert two.claim(ROW).state == "held"
    assert two.claim(replace(ROW, config=Config({"n": 2}))).state == "mine"
    # Another toolchain is another try.
    assert two.claim(replace(ROW, toolchain="llvm 2")).state == "mine"
    one.release()
    assert two.claim(ROW).state == "mine"
    two.settle(replace(ROW, detail="done"))
    found = one.claim(ROW)
    assert (found.state, found.record and found.record.detail) == ("known", "done")
    assert one.claim(replace(ROW, toolchain="llvm 2")).state == "held"
    two.release()
    assert held(store) == []


def test_what_spilled_may_be_asked_for_again(store: Records) -> None:
    one = Leases(store)
    one.settle(replace(ROW, status="spills"))
    assert one.claim(ROW).state == "known"
    assert one.claim(ROW, "spills").state == "mine"


def test_what_kills_its_tuner_again_and_again_is_poison(store: Records) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    holder = "|".join((*leases._machine(), str(ended.pid), leases._started(ended.pid), "0"))
    ended.wait()
    for death in range(FATAL):
        left_by(store, holder)
        claim = Leases(store).claim(ROW)
        assert (claim.deaths, claim.state) == (death + 1, "poison" if death + 1 == FATAL else "mine")
    # What was only compiled is under no suspicion, and a release forgets no death.
    after = Leases(store)
    after.release()
    assert [deaths for *_, deaths in held(store)] == [FATAL]


def test_the_death_of_who_had_not_begun_says_nothing(store: Records) -> None:
    for _ in range(FATAL + 1):
        left_by(store, "|".join((*leases._machine(), str(os.getpid()), "1", "gone")), begun=False)
        assert Leases(store).claim(ROW).deaths == 0


def test_a_holder_that_lives_keeps_what_it_has(store: Records) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        started = leases._started(other.pid)
        left_by(store, "|".join((*leases._machine(), str(other.pid), started, "0")), silent=10 * SILENCE)
        assert Leases(store).claim(ROW).state == "held"
        # The number of a process may be another's by now.
        left = "|".join((*leases._machine(), str(other.pid), started + "1", "0"))
        store.alter(lambda connection: connection.execute("UPDATE leases SET holder = ?", (left,)))
        assert Leases(store).claim(ROW).state == "mine"


@pytest.mark.parametrize(
    ("node", "silent", "deaths"),
    [
        ("elsewhere", SILENCE - 20, None),
        ("elsewhere", SILENCE + 20, 1),
        ("", RESTART - 20, None),
        ("", RESTART + 20, 3),
    ],
)
def test_of_other_machines_signs_of_life_are_believed_and_a_restart_counts_three_times(
    node: str, silent: float, deaths: int | None, store: Records
) -> None:
    name, _, space = leases._machine()
    left_by(store, "|".join((node or name, "another start", space, "1", "1", "0")), silent)
    claim = Leases(store).claim(ROW)
    assert (claim.state, claim.deaths) == (("held", 0) if deaths is None else ("mine", deaths))


def test_a_finished_job_is_known_by_all_that_makes_it(store: Records) -> None:
    job = {"problem": "d:8x8x8", "budget": 3.0}
    name = jobs.name_of(job)
    assert not jobs.finished(store, name)
    jobs.finish(store, name, "2026-01-01")
    assert jobs.finished(store, jobs.name_of(dict(reversed(job.items()))))
    assert not jobs.finished(store, jobs.name_of(job | {"budget": 4.0}))
