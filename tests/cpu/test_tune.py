"""Tuning under faults: every try is recorded, whatever it does, and no run loses what another wrote."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.catalog import STENCILS
from tilewright.errors import CompileError
from tilewright.model import Binary, Config, Device, Problem, Source
from tilewright.planning import dispatch
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cpu.ir import CALL, ENTRY
from tilewright.store.records import Records
from tilewright.targets.cpu import llvm, processor
from tilewright.tuning import contest, farm, timing
from tilewright.tuning.evaluate.table import EVALUATIONS
from tilewright.tuning.farm import local
from tilewright.tuning.results import Result
from tilewright.tuning.tuner import Tuner
from tilewright.tuning.workers import Answer, Worker, stream

pytestmark = pytest.mark.cpu

PATIENCE, HANGS = 60.0, 3.0


# ---- workers


def handler(greeting: str) -> Callable[[Any], Any]:
    """What the children of these tests do on request."""
    asked = []

    def handle(request: Any) -> Any:
        asked.append(request)
        if request == "abort":
            os.abort()
        elif request == "exit":
            os._exit(3)
        elif request == "hang":
            time.sleep(600)
        elif request == "raise":
            raise ValueError("no such thing")
        elif request == "unpicklable":
            return lambda: None
        elif request == "environment":
            return os.environ.get("TILEWRIGHT_TEST")
        return greeting, request, len(asked)

    return handle


def failing(greeting: str) -> Callable[[Any], Any]:
    raise CompileError(greeting)


@pytest.fixture
def worker() -> Any:
    made = Worker(handler, ("hello",), timeout=PATIENCE, environment={"TILEWRIGHT_TEST": "set"})
    yield made
    made.stop()


def test_a_worker_keeps_its_state(worker: Worker) -> None:
    assert worker.ask(1) == Answer(1, "ok", ("hello", 1, 1))
    assert worker.ask(2).value == ("hello", 2, 2)
    before = dict(os.environ)
    assert worker.ask("environment").value == "set"
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("request_", "status", "detail"),
    [
        ("raise", "failed", "ValueError: no such thing"),
        ("abort", "crashed", f"exit code -{int(signal.SIGABRT)}"),
        ("exit", "crashed", "exit code 3"),
        ("unpicklable", "crashed", "exit code 1"),
    ],
)
def test_a_request_that_fails_costs_itself(request_: str, status: str, detail: str, worker: Worker) -> None:
    assert worker.ask(1).status == "ok"
    answer = worker.ask(request_)
    assert (answer.request, answer.status) == (request_, status)
    assert detail in answer.detail
    again = worker.ask(2)
    assert again.status == "ok"
    # Only a child that died starts anew.
    assert again.value[2] == (3 if status == "failed" else 1)


def test_a_request_that_does_not_return_is_given_up(worker: Worker) -> None:
    assert worker.ask(1).status == "ok"
    worker.timeout = 0.5
    answer = worker.ask("hang")
    assert (answer.status, answer.detail) == ("timeout", "no answer within 0.5 s")
    worker.timeout = PATIENCE
    assert worker.ask(2).value == ("hello", 2, 1)


def test_a_worker_with_room_goes_on_by_itself_and_ends_with_all_that_it_has() -> None:
    worker = Worker(handler, ("hello",), timeout=PATIENCE, room=2)

    def answer() -> Answer:
        while (found := worker.receive()) is None:
            assert worker.pipe is not None
            wait([worker.pipe], timeout=0.1)
        return found

    try:
        worker.send(1)
        worker.send(b"2" * 2_000_000)  # More than a pipe holds.
        assert [answer().value[2], answer().value[2]] == [1, 2]
        worker.send("exit")
        worker.send(4)
        assert answer().status == "crashed"
        assert not worker.busy
    finally:
        worker.stop()


def test_a_request_that_cannot_be_sent_is_the_callers_error(worker: Worker) -> None:
    with pytest.raises(Exception, match="pickle"):
        worker.ask(lambda: None)
    assert not worker.busy
    assert worker.ask(1).status == "ok"


def test_a_factory_that_fails_says_so_at_every_request() -> None:
    broken = Worker(failing, ("no compiler",), timeout=PATIENCE)
    try:
        for _ in range(2):
            answer = broken.ask(1)
            assert (answer.status, answer.detail) == ("failed", "CompileError: no compiler")
    finally:
        broken.stop()


def test_a_stream_answers_every_request_once() -> None:
    workers = [Worker(handler, ("hello",), timeout=PATIENCE) for _ in range(2)]
    requests = [1, 2, "abort", 3, "raise", 4, 5, "exit", 6]
    try:
        answers = list(stream(workers, requests, ahead=2))
    finally:
        for each in workers:
            each.stop()
    assert Counter(answer.request for answer in answers) == Counter(requests)
    assert {a.request: a.status for a in answers if a.status != "ok"} == {
        "abort": "crashed",
        "raise": "failed",
        "exit": "crashed",
    }


# ---- a small machine, a small space


def small() -> Device:
    """This machine with caches of almost nothing, so that operands are made at once."""
    device = processor.probe()
    limits = {**device.limits, "l2": 64 << 10, "l3": 1 << 20, "cores": min(2, device["cores"])}
    return replace(device, limits=limits)


def columns_only(problem: Problem) -> Callable[[Space], Space]:
    """The tile stencil's space with nothing left to choose but ``blk_n``."""
    default = STENCILS["tile"].default(problem, small())
    held = {name: value for name, value in default.items() if name != "blk_n"} | {"roll": 0}
    return lambda space: space.only(HARDWARE).restricted(**held)


def run(records: Records, spelling: str, **options: Any) -> Result:
    (problem,) = Problem.parse(spelling)
    farm = local(small(), EVALUATIONS["cpu"], PATIENCE, measuring=options.pop("measuring", PATIENCE))
    with Tuner(small(), records, farm=farm, listen=options.pop("listen", None)) as t:
        return t.tune(
            problem,
            "cached",
            search=options.pop("search", "exhaustive"),
            budget=options.pop("budget", PATIENCE),
            stencils=("tile",),
            spaces=columns_only(problem),
        )


@pytest.fixture
def records(tmp_path: Path) -> Any:
    made = Records(tmp_path / "records.sqlite")
    yield made
    made.close()


def alone(records: Records) -> list[Config]:
    """The configs of the first timings, in the order of writing."""
    rows = records.all(stencil="tile")
    return [row.config for row in rows if row.protocol == timing.ALONE]


def test_every_try_is_recorded_and_none_is_made_twice(records: Records) -> None:
    heard = []
    result = run(records, "d:4x6x4", listen=heard.append)
    configs = alone(records)
    assert {config["blk_n"] for config in configs} == {1, 2, 3, 6}
    assert len(configs) == 4 == result.tried == len(heard)
    assert result.statuses == {"ok": 4}
    assert [state.tried for state in heard] == [1, 2, 3, 4]
    assert result.best is not None
    assert result.vendor is not None
    last_round = [row for row in records.all() if row.protocol >= timing.INTERLEAVED]
    assert {row.stencil for row in last_round} == {"tile"} | {row.stencil for row in [result.vendor]}
    for row in records.all(stencil="tile"):
        assert row.timing is not None
        assert row.error is not None
        assert row.error <= 1
        assert row.when
        assert row.source
        assert row.toolchain.startswith(llvm.toolchain())
    # The same again finds it all known; only the final round is timed anew.
    again = run(records, "d:4x6x4")
    assert again.tried == 4
    assert alone(records) == configs
    assert len(records.all()) > len(configs) + len(last_round)


def test_a_tiny_budget_ends_with_a_winner_that_stays_a_finalist(records: Records) -> None:
    first = run(records, "d:4x6x4", search="model", budget=0.2).best
    assert first is not None
    assert first.timing is not None
    assert first.protocol == timing.DECIDED
    assert first.timing.low <= first.timing.median <= first.timing.high
    assert len(first.timing.samples) >= contest.FIRST
    # A rung that searches nothing has it in its final round again, and calls run whoever won that.
    again = run(records, "d:4x6x4", search="starts", budget=0.0)
    rows = [row for row in records.all(stencil="tile") if row.protocol >= timing.INTERLEAVED]
    assert sum(row.config == first.config for row in rows) == 2
    assert again.best is not None
    known = records.best(again.best.problem.key, "cached", small().key, without="vendor")
    assert known is not None
    assert known.config == again.best.config


def test_calls_use_what_was_found(new_home: Path) -> None:
    results = tw.tune("d:2x2x2", budget=2.0, regimes="cached")
    assert [(result.problem.beta, result.regime) for result in results] == [("0", "cached"), ("1", "cached")]
    assert all(result.tried >= 1 for result in results)
    a = np.ones((50, 2, 2))
    plan = tw.plan(a, a).plan
    assert plan.origin in ("tuned", "vendor")
    np.testing.assert_array_equal(tw.matmul(a, a), 2 * a)
    assert dispatch.records().all(device=dispatch.device().key)
    # What is tuned for this size is near for another.
    b = np.ones((50, 2, 3))
    assert tw.plan(a, b).plan.origin in ("near", "kin", "default")
    np.testing.assert_array_equal(tw.matmul(a, b), 2 * b)


# ---- candidates that go wrong

FAULTS = {1: "invalid", 2: "trap", 3: "null", 4: "hang", 8: "wrong", 12: "abort"}
BODIES = {
    "invalid": "  this is not a program\n",
    "trap": "  call void @llvm.trap()\n  unreachable\n",
    "null": "  %x = load volatile i64, ptr null\n  ret void\n",
    "hang": "  br label %loop\nloop:\n  store volatile i8 0, ptr %C\n  br label %loop\n",
    "wrong": "  ret void\n",
}


def faulty(device: Device) -> Callable[[Any], Binary]:
    """In place of ``tune.compiler``: some configs give programs that do harm."""

    def handle(request: tuple[str, Problem, Config]) -> Binary:
        name, problem, config = request
        fault = FAULTS.get(config["blk_n"])
        if fault == "abort":
            os.abort()
        source = STENCILS[name].source(problem, config, device)
        if fault is not None:
            text = f"define void @{ENTRY}({CALL}) {{\nentry:\n{BODIES[fault]}}}\ndeclare void @llvm.trap()\n"
            source = Source(text, ENTRY)
        return llvm.compile(source, device)

    return handle


def test_whatever_a_candidate_does_is_recorded_and_the_run_goes_on(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(farm, "compiler", faulty)
    # Nothing befalls a width of 6, for which every processor has the registers.
    result = run(records, "d:4x24x4", measuring=HANGS)
    status = {row.config["blk_n"]: row.status for row in records.all(stencil="tile")}
    expected = {
        "invalid": "compile_failed",
        "trap": "crashed",
        "null": "crashed",
        "hang": "timeout",
        "wrong": "wrong",
        "abort": "crashed",
    }
    for width, fault in FAULTS.items():
        assert status.pop(width) == expected[fault], fault
    assert status[6] == "ok"
    assert set(status.values()) <= {"ok", "spills"}
    assert result.best is not None
    assert result.best.config["blk_n"] in status
    details = {row.config["blk_n"]: row.detail for row in records.all(stencil="tile") if row.status != "ok"}
    assert "LLVM refused" in details[1]
    assert f"exit code -{int(signal.SIGSEGV)}" in details[3]
    assert f"no answer within {HANGS:g} s" in details[4]
    assert "right is" in details[8]
    # Nobody is served what went wrong.
    assert records.best(result.best.problem.key, "cached", small().key, without="vendor") is not None
    # And what is known to go wrong is not tried again.
    before = len(alone(records))
    run(records, "d:4x24x4", measuring=HANGS)
    assert len(alone(records)) == before


# ---- runs that are killed, and runs at once

TUNER = """
import sys
from multiprocessing.connection import wait
from pathlib import Path
from tilewright.model import Problem
from tilewright.store.records import Records
from tilewright.tuning.results import Result
from tilewright.tuning.tuner import Tuner
from test_tune import small

def listen(state):
    print(state.tried, flush=True)

if __name__ == "__main__":
    problem, = Problem.parse("d:5x5x5")
    with Tuner(small(), Records(Path(sys.argv[1])), listen=listen) as tuner:
        options = {"search": "sample", "budget": float(sys.argv[2]), "seed": int(sys.argv[3])}
        result = tuner.tune(problem, "cached", stencils=("tile",), **options)
    print("tried", result.tried, flush=True)
"""


def tuner(path: Path, budget: float, seed: int) -> subprocess.Popen[str]:
    places = [str(Path(tw.__file__).parent.parent), str(Path(__file__).parent)]
    return subprocess.Popen(
        [sys.executable, "-c", TUNER, str(path), str(budget), str(seed)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_killed_run_loses_one_try_at_most(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    known = 0
    for turn, count in enumerate((5, 4)):
        process = tuner(path, 60, 0)
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(known + count)]
        process.send_signal(signal.SIGKILL)
        told += [int(line) for line in process.stdout if line.endswith("\n")]
        process.stdout.close()
        assert process.wait() != 0
        store = Records(path)
        rows = alone(store)
        store.close()
        # The second run counts what the first one knew, without trying it again.
        assert told == list(range(1, len(told) + 1))
        assert len(told) <= len(rows) <= len(told) + 1, f"turn {turn}"
        assert len(set(rows)) == len(rows)
        known = len(rows)


def test_two_runs_at_once_on_one_file(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    pair = [tuner(path, 2.5, seed) for seed in (1, 2)]
    tried = []
    for process in pair:
        out, _ = process.communicate(timeout=100)
        assert process.returncode == 0
        tried.append(int(out.split()[-1]))
    store = Records(path)
    rows = alone(store)
    store.close()
    assert all(count > 0 for count in tried)
    # Each found what the other had tried already.
    assert len(set(rows)) == len(rows) <= sum(tried)


def test_a_script_without_a_main_guard_can_tune(tmp_path: Path) -> None:
    """Children must not run the caller's script again."""
    script = tmp_path / "script.py"
    script.write_text(
        "print('started')\n"
        "import tilewright as tw\n"
        "print(tw.tune('d:2x2x2', budget=1, betas='0', regimes=['cached'])[0].tried > 0)\n"
    )
    environment = os.environ | {
        "PYTHONPATH": str(Path(tw.__file__).parent.parent),
        "TILEWRIGHT_HOME": str(tmp_path / "home"),
    }
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["started", "True"]
