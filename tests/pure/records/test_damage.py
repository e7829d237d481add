"""A damaged, foreign or newer store harms nobody."""

from __future__ import annotations

import sqlite3
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from tests.pure.records.samples import DEVICE, PROBLEM, best, damaged, only_reads, points_n, record
from tilewright.errors import RecordsError
from tilewright.store.connections import identity_of, retire
from tilewright.store.paths import set_aside
from tilewright.store.records import Records
from tilewright.store.schema import SCHEMA, check_version

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("ask", [Records.all, lambda store: store.append(record())], ids=["read", "write"])
def test_a_file_that_is_no_store_is_set_aside(store: Records, ask: Callable[[Records], Any]) -> None:
    content = b"this was a store once " * 1000
    store.path.write_bytes(content)
    beside = store.path.with_name("notes.txt")
    beside.write_text("keep")

    with pytest.warns(RuntimeWarning, match="is damaged") as told:
        ask(store)

    (kept,) = damaged(store.path.parent)
    assert kept.read_bytes() == content
    assert beside.read_text() == "keep"
    assert len(told) == 1
    assert repr(str(store.path)) in str(told[0].message)
    assert repr(str(kept)) in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.append(record(5.0))
        assert Records(store.path).all()[-1] == record(5.0)


def test_a_store_that_turns_out_malformed_is_set_aside(store: Records) -> None:
    for n in range(200):
        store.append(record(config={"n": n}))
    store.close()
    content = bytearray(store.path.read_bytes())
    content[3 * 4096 :] = b"\xa5" * (len(content) - 3 * 4096)
    store.path.write_bytes(content)

    with pytest.warns(RuntimeWarning, match="is damaged"):
        assert store.all() == []

    (kept,) = damaged(store.path.parent)
    assert kept.read_bytes() == content
    store.append(record())
    assert store.all() == [record()]


def test_the_side_files_of_a_damaged_store_go_with_it(store: Records) -> None:
    """While another process has the store open, its log lies beside the file under the file's name."""
    store.append(record(config={"n": 1}))
    other = sqlite3.connect(store.path, isolation_level=None)
    assert other.execute("SELECT count(*) FROM tries").fetchone() == (1,)
    store.close()
    other.execute("PRAGMA wal_checkpoint")
    log = store.path.with_name(store.path.name + "-wal")
    content = log.read_bytes()
    store.path.write_bytes(b"x" * store.path.stat().st_size)

    with pytest.warns(RuntimeWarning, match="is damaged"):
        store.append(record(config={"n": 2}))

    (kept,) = damaged(store.path.parent, log.name)
    assert content
    assert kept.read_bytes() == content
    other.close()
    assert points_n(store) == points_n(Records(store.path)) == [2]


def test_a_store_that_another_has_replaced_is_left_alone(store: Records) -> None:
    store.path.write_bytes(b"damaged")
    seen = identity_of(store.path)
    set_aside(store.path)
    store.append(record())
    retire(store.path, seen, sqlite3.DatabaseError("malformed"))
    assert store.all() == [record()]
    assert len(damaged(store.path.parent)) == 1


def test_a_store_that_stays_damaged_is_an_error(store: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        failure = sqlite3.DatabaseError("malformed")
        failure.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise failure

    monkeypatch.setattr("tilewright.store.connections._prepare", broken)
    with (
        pytest.warns(RuntimeWarning, match="is damaged"),
        pytest.raises(RecordsError, match=r"records\.sqlite"),
    ):
        store.all()


def changed(store: Records, *statements: str) -> None:
    """Changes a store behind its back."""
    store.close()
    connection = sqlite3.connect(store.path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


SPOILED = {
    "truncated": "UPDATE tries SET body = substr(body, 1, length(body) / 2) WHERE id = 1",
    "empty object": "UPDATE tries SET body = '{}' WHERE id = 1",
    "list": "UPDATE tries SET body = '[]' WHERE id = 1",
    "number": "UPDATE tries SET body = 7 WHERE id = 1",
    "no text": "UPDATE tries SET body = CAST(x'7bff7d' AS TEXT) WHERE id = 1",
    "too deep": f"UPDATE tries SET body = '{'[' * 100_000}' WHERE id = 1",
    "another config": """UPDATE tries SET body = replace(body, '"config": {', '"config": [{') WHERE id = 1""",
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_damaged_row_is_set_aside_once(store: Records, how: str) -> None:
    good = record(5.0, config={"n": 2})
    store.append(record(1.0, config={"n": 1}))
    store.append(good)
    changed(store, SPOILED[how])

    with pytest.warns(RuntimeWarning, match=r"records\.sqlite.* damaged rows.*row 1") as told:
        assert best(store) == good
    assert len(told) == 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.all() == Records(store.path).all() == [good]
        assert store.tried(PROBLEM, "memory", DEVICE, "tile", 1, "llvm 20") == {good.config: good}
        store.append(record(7.0, config={"n": 3}))
        assert best(store) == good
    assert damaged(store.path.parent) == []
    connection = sqlite3.connect(store.path)
    ((number, config, cause),) = connection.execute("SELECT id, config, cause FROM damaged").fetchall()
    connection.close()
    assert (number, config) == (1, "n=1")
    assert cause


def test_a_damaged_row_in_a_store_that_cannot_be_written_counts_as_absent(
    store: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = record(5.0, config={"n": 2})
    store.append(record(1.0, config={"n": 1}))
    store.append(good)
    changed(store, SPOILED["truncated"])
    only_reads(monkeypatch)
    with pytest.warns(RuntimeWarning, match=r"damaged rows.*count as absent") as told:
        found = [(best(store), store.all()) for _ in range(3)]
    assert found == [(good, [good])] * 3
    assert len(told) == 1


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE tries"],
        ["DROP TABLE solved"],
        ["DROP TABLE ceilings"],
        ["ALTER TABLE tries DROP COLUMN body"],
        ["PRAGMA user_version = 0"],
    ],
    ids=str,
)
def test_a_store_that_lacks_a_table_or_a_column_is_set_aside_once(
    store: Records, statements: list[str]
) -> None:
    store.append(record())
    changed(store, *statements)
    with pytest.warns(RuntimeWarning, match="is damaged") as told:
        found = (store.near(PROBLEM, "memory", DEVICE), store.ceilings(DEVICE, 1), store.all())
    assert found == ([], {}, [])
    assert len(told) == 1
    assert len(damaged(store.path.parent)) == 1
    store.append(record(5.0))
    assert store.all() == [record(5.0)]


def test_a_question_that_is_wrong_is_not_a_damaged_store(store: Records) -> None:
    store.append(record())
    with pytest.raises(RecordsError, match="nonsense"):
        store._read(lambda connection: connection.execute("SELECT nonsense FROM tries"))
    assert damaged(store.path.parent) == []


def test_a_text_that_is_not_utf_8_does_not_fail_the_questions(store: Records) -> None:
    store.append(record(config={"n": 1}))
    store.append(record(2.0, "d:9x9x9"))
    store.save_ceilings(DEVICE, 1, {"peak.d": 1.0, "peak.s": 2.0})
    spoil = "SET {0} = CAST(x'ff' || CAST({0} AS BLOB) AS TEXT)"
    changed(
        store,
        f"UPDATE solved {spoil.format('key')} WHERE m = 9",
        f"UPDATE ceilings {spoil.format('name')} WHERE name = 'peak.s'",
    )
    assert store.near(PROBLEM, "memory", DEVICE) == []
    assert store.ceilings(DEVICE, 1)["peak.d"] == 1.0
    assert store.export(store.path.with_name("out.jsonl")) == 1


def test_a_locked_store_is_not_a_damaged_one(store: Records) -> None:
    store.append(record())
    store.patience = 0.2
    store.close()
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(RecordsError, match=r"records\.sqlite.*locked"):
        store.append(record(5.0))
    assert store.all() == [record()]
    other.execute("ROLLBACK")
    other.close()

    store.append(record(5.0))
    assert store.all() == [record(), record(5.0)]
    assert damaged(store.path.parent) == []


def test_a_writer_waits_for_another(store: Records) -> None:
    store.append(record())
    other = sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.5, lambda: other.execute("ROLLBACK"))
    release.start()
    store.append(record(5.0))
    release.join()
    other.close()
    assert len(store.all()) == 2


def test_a_store_of_a_newer_schema_is_refused_and_left_alone(store: Records) -> None:
    store.append(record())
    store.close()
    with sqlite3.connect(store.path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(RecordsError, match=r"records\.sqlite.*99"):
        store.append(record())
    assert damaged(store.path.parent) == []


NEWER = {1: ("damaged", "leases", "holders", "finished"), 2: ("leases", "holders", "finished"), 3: ()}


def as_of_schema(number: int, store: Records) -> None:
    """Makes a store what an earlier version of the package wrote."""
    store.close()
    connection = sqlite3.connect(store.path)
    for table in NEWER[number]:
        connection.execute(f"DROP TABLE {table}")
    connection.execute(f"PRAGMA user_version = {number}")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("number", sorted(NEWER))
def test_a_store_of_an_earlier_schema_goes_on(number: int, store: Records) -> None:
    store.append(record(1.0))
    as_of_schema(number, store)
    assert store.all() == [record(1.0)]
    store.append(record(2.0, PROBLEM.with_(align=8)))
    assert best(store) == record(1.0)
    store.close()
    connection = sqlite3.connect(store.path)
    assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
    connection.close()
    assert max(NEWER) + 1 == SCHEMA
    assert damaged(store.path.parent) == []


def test_a_damaged_row_of_a_store_of_the_first_schema_is_set_aside(store: Records) -> None:
    good = record(5.0, config={"n": 2})
    store.append(record(1.0, config={"n": 1}))
    store.append(good)
    changed(store, SPOILED["truncated"])
    as_of_schema(1, store)
    with pytest.warns(RuntimeWarning, match="are kept in its table 'damaged'"):
        assert store.all() == [good]


@pytest.mark.parametrize("old", [False, True])
def test_another_may_be_quicker_to_make_the_tables(
    store: Records, old: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the version and the transaction that brings it up to date."""
    if old:
        store.append(record(1.0))
        as_of_schema(1, store)
    looked = "tilewright.store.connections.check_version"

    def late(*asked: Any) -> int:
        version = check_version(*asked)
        monkeypatch.setattr(looked, check_version)
        Records(store.path).append(record(2.0))
        return version

    monkeypatch.setattr(looked, late)
    store.append(record(3.0))
    assert store.all() == [record(seconds) for seconds in ((1.0, 2.0, 3.0) if old else (2.0, 3.0))]
    assert damaged(store.path.parent) == []


def test_a_store_that_was_deleted_is_begun_again(store: Records) -> None:
    store.append(record())
    for each in store.path.parent.glob("records.sqlite*"):
        each.unlink()
    store.append(record(5.0))
    assert Records(store.path).all() == [record(5.0)]
