"""Many write to one store at once."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

import tilewright
from tests.pure.records.samples import needs_fork, record
from tilewright.store.records import Records

pytestmark = pytest.mark.pure


def append_many(store: Records, writer: int, count: int) -> None:
    for n in range(count):
        store.append(record(config={"writer": writer, "n": n}))


def points(store: Records) -> list[tuple[int, int]]:
    return [(each.config["writer"], each.config["n"]) for each in store.all()]


def test_two_processes_lose_nothing(store: Records) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=append_many, args=(store, writer, 200)) for writer in (0, 1)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert [each.exitcode for each in writers] == [0, 0]
    found = points(store)
    assert len(found) == 400
    assert set(found) == {(writer, n) for writer in (0, 1) for n in range(200)}
    assert [n for writer, n in found if writer == 0] == list(range(200))


def test_threads_share_a_store(store: Records) -> None:
    threads = [threading.Thread(target=append_many, args=(store, writer, 50)) for writer in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(points(store)) == [(writer, n) for writer in range(4) for n in range(50)]


@needs_fork
def test_a_store_survives_a_fork(store: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    append_many(store, 0, 1)
    made = []
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: made.append(a) or connect(*a, **k))
    child = os.fork()
    if child == 0:
        try:
            append_many(store, 1, 50)
        finally:
            # SQLite forbids the use of a connection on the other side of a fork: the child makes its own.
            os._exit(len(made))
    append_many(store, 2, 50)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert made == []
    expected = [(0, 0)] + [(writer, n) for writer in (1, 2) for n in range(50)]
    assert sorted(points(store)) == expected
    store.close()
    check = sqlite3.connect(store.path)
    assert check.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    check.close()


def test_a_store_can_be_sent_to_another_process(store: Records) -> None:
    store.append(record())
    assert pickle.loads(pickle.dumps(store)).all() == [record()]


WRITER = """
import sys
from pathlib import Path
from tests.pure.records.samples import record
from tilewright.store.records import Records

store = Records(Path(sys.argv[1]))
for n in range(100_000):
    store.append(record(config={"round": int(sys.argv[2]), "n": n}))
    print(n, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_it_acknowledged(store: Records) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(tilewright.__file__).parent.parent)}
    for turn in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(store.path), str(turn)],
            stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(40 + 7 * turn)]
        writer.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        acknowledged += [int(line) for line in writer.stdout if line.endswith("\n")]
        writer.stdout.close()
        assert writer.wait() != 0

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            held = [each.config["n"] for each in store.all() if each.config["round"] == turn]
        assert held[: len(acknowledged)] == acknowledged
        assert len(held) - len(acknowledged) <= 1
        store.close()
