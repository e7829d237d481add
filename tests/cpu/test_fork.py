"""Children of fork: whatever the parent's threads were doing, a child can plan, compile and multiply."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tilewright as tw
from tilewright import forks
from tilewright.store import connections, records
from tilewright.targets.cpu import llvm

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

LOCKS = {
    "kernels": lambda: forks.making,
    "records": lambda: connections.using,
    "modules": lambda: forks.loading,
    "compiler": llvm.compiler_lock,
}

# A thread compiles all the while, and children that each need a kernel of their own are made beside it.
PROGRAM = """
import json, os, signal, sys, threading, time, traceback
import numpy as np
import tilewright as tw

stop = threading.Event()

def compile_all_the_while():
    for k in range(2, 100):
        for n in range(2, 12):
            if stop.is_set():
                return
            a = np.ones((2, k, n))
            tw.matmul(a, a.swapaxes(1, 2))

def child(number):
    a = np.full((2, 5, 3 + number % 10), 2.0)
    right = (tw.matmul(a, a.swapaxes(1, 2)) == 4.0 * a.shape[2]).all()
    os._exit(0 if right else 1)

worker = threading.Thread(target=compile_all_the_while, daemon=True)
worker.start()
codes, children = [], []
try:
    for number in range(20):
        pid = os.fork()
        if pid == 0:
            try:
                child(number)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(2)
        children.append(pid)
    deadline = time.monotonic() + 100
    while children and time.monotonic() < deadline:
        for pid in list(children):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                children.remove(pid)
                codes.append(os.waitstatus_to_exitcode(status))
        time.sleep(0.02)
    stuck = len(children)
finally:
    stop.set()
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
worker.join(60)
a = np.ones((3, 9, 9))
print(json.dumps({"codes": codes, "stuck": stuck, "goes on": bool((tw.matmul(a, a) == 9).all())}))
"""


def test_children_that_are_made_while_a_thread_compiles(tmp_path: Path) -> None:
    root = str(Path(tw.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM],
        env=os.environ | {"TILEWRIGHT_HOME": str(tmp_path), "PYTHONPATH": root},
        capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"codes": [0] * 20, "stuck": 0, "goes on": True}, done.stderr


def exit_code(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("which", forks.ORDER)
def test_a_thread_that_holds_a_lock_may_fork(which: str) -> None:
    """The lock is its own in both processes, as often as it was taken before."""
    lock = LOCKS[which]()
    with lock:
        pid = os.fork()
        if pid == 0:
            with lock:
                os._exit(7)
    assert exit_code(pid) == 7


def test_children_that_are_made_while_threads_write_records(tmp_path: Path) -> None:
    """As tuners do; each child reads and writes records of its own. Opening takes locks that all of SQLite
    has in common, which is where children hung."""
    stop = threading.Event()
    path = tmp_path / "records.sqlite"

    def write() -> None:
        while not stop.is_set():
            store = records.Records(path)
            store.save_ceilings("some", 1, {"bandwidth": 1.0})
            store.close()

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    codes = []
    try:
        for number in range(10):
            pid = os.fork()
            if pid == 0:
                try:
                    # What hangs is ended, and is told by its exit code.
                    signal.alarm(20)
                    store = records.Records(path)
                    store.save_ceilings("other", 1, {"bandwidth": float(number)})
                    os._exit(7 if store.ceilings("other", 1) else 8)
                finally:
                    os._exit(9)
            codes.append(exit_code(pid))
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert codes == [7] * 10


@pytest.mark.parametrize("which", forks.ORDER)
def test_a_fork_waits_for_the_thread_that_holds_a_lock(which: str) -> None:
    lock = LOCKS[which]()
    entered, release, left = threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            entered.set()
            release.wait(60)
            left.set()

    def let_go() -> None:
        release.set()

    holder, helper = threading.Thread(target=hold), threading.Timer(0.2, let_go)
    holder.start()
    assert entered.wait(60)
    helper.start()
    pid = os.fork()
    if pid == 0:
        # Not before: a child of that moment would have the lock in nobody's hands.
        os._exit(7 if left.is_set() else 8)
    holder.join(60)
    helper.join(60)
    assert exit_code(pid) == 7


def test_the_compilers_lock_is_llvmlites_own() -> None:
    """Every call into LLVM takes it: who holds it keeps all others out."""
    entered, called = threading.Event(), threading.Event()

    def call() -> None:
        entered.set()
        llvm.toolchain()
        llvm.parse("define void @f() { ret void }")
        called.set()

    with llvm.compiler_lock():
        thread = threading.Thread(target=call)
        thread.start()
        assert entered.wait(60)
        assert not called.wait(0.2)
    assert called.wait(60)
    thread.join(60)
