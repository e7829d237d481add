"""Random kills of everything that tunes, and what the records are in the end.

    python -m bench.faults --kills 200 --out faults.jsonl
    python -m bench.faults --kills 200 --ways 600 --one --out faults-one.jsonl

A job of many small C kernels, some of which fault, hang, are wrong or do not compile on purpose, is tuned
once undisturbed, and again while processes are killed at random: the tuner, its children, and, in the second
half, the scheduler and the workers of a cluster on this machine. What is killed is started again. In the end
the records have to be those of the undisturbed job: the same configs with the same statuses, none lost, none
twice. Jobs follow each other until there were as many kills as were asked for; with ``--one`` a single job on
the cluster takes all of them, and ends with an error where it was done before the last one.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw
from bench import lines
from tilewright.catalog import TARGETS
from tilewright.model import Record
from tilewright.store.records import Records
from tilewright.tuning import timing
from tilewright.tuning.cluster import Cluster, remote
from tilewright.tuning.evaluate.table import EVALUATIONS
from tilewright.tuning.farm import local
from tilewright.tuning.tuner import Tuner

FAULTS = {"right": "ok", "null": "crashed", "hang": "timeout", "wrong": "wrong", "broken": "compile_failed"}
"""What a kernel does, and what its record says in the end."""
TEXT = r"""
void doubled(const float *x, float *y, long n) {
#if FAULT == 1
    *(volatile float *)0 = 1;
#elif FAULT == 2
    for (volatile int on = 1; on;);
#elif FAULT == 3
    n--;
#elif FAULT == 4
    this is no C;
#endif
    for (long i = 0; i < n; i++) y[i] = 2 * x[i] + 0 * WAY;
}
"""
HANGS = 4.0
"""Seconds after which a kernel that hangs is given up, unless it is said."""
PATIENCE = 60.0


def kernel(ways: int) -> tw.Stencil:
    """Kernels of which so many are right, and one of each other kind is not."""

    def right(x: Any) -> Any:
        return 2 * x

    def one_of_each(FAULT: int, WAY: int) -> bool:
        return FAULT == 0 or WAY == 0

    return tw.Stencil(
        "doubled",
        TEXT,
        {"FAULT": list(range(len(FAULTS))), "WAY": list(range(ways))},
        [tw.Input("x", "float32", ("n",)), tw.Output("y", "float32", ("n",)), tw.Scalar("n_", "int64", "n")],
        rules=[one_of_each],
        reference=right,
        cases=[{"n": 5}],
        language="c",
    )


def tune(path: Path, ways: int, address: str, hangs: float = HANGS) -> None:
    """The whole job, in a process of its own; with an address on that cluster. ``hangs``: seconds after which
    a kernel is given up."""
    device = TARGETS["cpu"].probe()
    problem = kernel(ways).problem({"n": 256})
    joined = Cluster(address, PATIENCE) if address else None
    if joined is not None:
        joined.wait_for_devices()
        farm = remote(joined, device, PATIENCE, measuring=hangs)
    else:
        farm = local(device, EVALUATIONS["cpu"], PATIENCE, measuring=hangs)
    with Tuner(device, Records(path, shipped=path.parent), farm=farm) as tuner:
        options: dict[str, Any] = {"search": "exhaustive", "budget": float("inf"), "tolerate": 1 << 30}
        tuner.tune(problem, "cached", stencils=["custom-cpu"], **options)
    if joined is not None:
        joined.close()


def content(path: Path) -> Counter[tuple[tuple[int, int], str]]:
    """Configs with their statuses, and how often each was recorded."""
    return Counter((_place(row), row.status) for row in tries(path))


def _place(row: Record) -> tuple[int, int]:
    return row.config["FAULT"], row.config["WAY"]


def tries(path: Path) -> list[Record]:
    """All tries of a job."""
    store = Records(path, shipped=path.parent)
    rows = [row for row in store.all() if row.protocol == timing.ALONE]
    store.close()
    return rows


def expected(ways: int) -> Counter[tuple[tuple[int, int], str]]:
    """What the records have to be, by what the kernels do."""
    bad = {((number, 0), status): 1 for number, status in enumerate(FAULTS.values()) if number}
    return Counter({((0, way), "ok"): 1 for way in range(ways)} | bad)


# ---- what is started and killed


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and those that they did."""
    found = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *descendants(child)]
    return found


@dataclass
class Stage:
    """The processes of one job. Whatever ends before the job does is started again."""

    folder: Path
    path: Path
    ways: int
    workers: Sequence[Sequence[str]] = ()
    hangs: float = HANGS
    kills: Counter[str] = field(default_factory=Counter)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    starts: int = 0

    def __post_init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    @property
    def address(self) -> str:
        """The scheduler's, if there is one."""
        return f"tcp://127.0.0.1:{self.port}" if self.workers else ""

    def commands(self) -> dict[str, list[str]]:
        """What runs, by role."""
        python = [sys.executable, "-m"]
        asked = ["--work", str(self.path), "--ways", str(self.ways), "--address", self.address]
        asked += ["--hangs", str(self.hangs)]
        # Where a job does not come to its end, the tuner says what it was at.
        found = {"tuner": [sys.executable, "-X", "faulthandler", "-m", "bench.faults", *asked]}
        if self.workers:
            listen = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
            found["scheduler"] = [*python, "distributed.cli.dask_scheduler", *listen]
        for number, options in enumerate(self.workers):
            worker = [*python, "distributed.cli.dask_worker", self.address, "--no-nanny", "--no-dashboard"]
            found[f"worker {number}"] = [*worker, "--local-directory", str(self.folder), *options]
        return found

    def keep_up(self) -> bool:
        """Start what is not there; whether the job is done."""
        ended = self.processes.get("tuner")
        if ended is not None and ended.poll() == 0:
            return True
        log = self.folder / "log.txt"
        for role, command in self.commands().items():
            process = self.processes.get(role)
            if process is None or process.poll() is not None:
                with log.open("ab") as file:
                    self.processes[role] = subprocess.Popen(command, stdout=file, stderr=file)
                self.starts += 1
        return False

    def kill(self, random_: random.Random, role: str | None = None) -> None:
        """End one of all processes that there are, roles and their children alike; or one of this role."""
        role = role or random_.choice([*self.processes, "child"])
        if role == "child":
            children = [pid for process in self.processes.values() for pid in descendants(process.pid)]
            if not children:
                return
            victim = random_.choice(sorted(children))
        else:
            victim = self.processes[role].pid
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
            self.kills[role.split()[0]] += 1

    def close(self) -> None:
        """End all of it."""
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()


WORKERS = (("--nthreads", "1", "--resources", "device=1"), ("--nthreads", "2"))


def disturbed(
    folder: Path,
    ways: int,
    kills: int,
    seed: int,
    workers: Sequence[Sequence[str]] = (),
    pause: tuple[float, float] = (0.3, 6.0),
    limit: float = float("inf"),
    roles: Sequence[str] = (),
    hangs: float = HANGS,
) -> lines.Line:
    """A job with so many kills at most, of these ``roles`` or of random ones, and what its records are beside
    those that they have to be. ``hangs``: seconds after which a kernel is given up."""
    random_, begin = random.Random(seed), time.monotonic()
    stage = Stage(folder, folder / f"records-{seed}.sqlite", ways, workers, hangs)
    try:
        next_ = begin + random_.uniform(*pause)
        while not stage.keep_up():
            now = time.monotonic()
            if now - begin > limit:
                stage.processes["tuner"].send_signal(signal.SIGABRT)
                stage.processes["tuner"].wait()
                raise TimeoutError(f"not done after {limit:g} s: {(folder / 'log.txt').read_text()[-20000:]}")
            if now >= next_ and stage.kills.total() < kills:
                stage.kill(random_, roles[stage.kills.total()] if roles else None)
                next_ = now + random_.uniform(*pause)
            time.sleep(0.05)
    finally:
        stage.close()
    found, right = content(stage.path), expected(ways)
    configs = Counter(config for config, _ in found.elements())
    return {
        "cluster": bool(workers),
        "seed": seed,
        "configs": len(right),
        "kills": dict(stage.kills),
        "starts": stage.starts,
        "seconds": time.monotonic() - begin,
        "equal": found == right,
        "lost": len({config for config, _ in right} - configs.keys()),
        "twice": sum(times - 1 for times in configs.values()),
        "differ": [[list(config), status] for config, status in (found - right)],
        "said": [row.detail for row in tries(stage.path) if (_place(row), row.status) not in right],
    }


def _arguments() -> Any:
    parser = argparse.ArgumentParser(prog="bench.faults", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--ways", type=int, default=300, help="right kernels of a job")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", action="store_true", help="one job, on a cluster, takes all kills")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for all of it")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--address", default="", help=argparse.SUPPRESS)
    parser.add_argument("--hangs", type=float, default=HANGS, help="seconds until a kernel is given up")
    return parser.parse_args()


def main() -> None:
    """Run what the command line asks for."""
    options = _arguments()
    if options.work is not None:
        tune(options.work, options.ways, options.address, options.hangs)
        return
    console, begin = lines.console(), time.monotonic()
    sink = lines.Sink(options.out, "faults", TARGETS["cpu"].probe(), vars(options))
    total, seed, equal = 0, options.seed, True
    folder = Path(tempfile.mkdtemp())
    parts: list[tuple[Sequence[Sequence[str]], int]] = [(WORKERS, options.kills)]
    if not options.one:
        parts.insert(0, ((), options.kills // 2))
    try:
        for workers, wanted in parts:
            if not options.one:
                undisturbed = disturbed(folder, options.ways, 0, seed, workers)
                sink.write({"kind": "undisturbed", "date": lines.now()} | undisturbed)
            while total < wanted and time.monotonic() - begin < options.limit:
                seed += 1
                line = disturbed(folder, options.ways, wanted - total, seed, workers)
                sink.write({"kind": "faults", "date": lines.now()} | line)
                total += sum(line["kills"].values())
                equal &= line["equal"]
                console.print(f"{total} kills: {line}", markup=False)
                if options.one:
                    break
            seed += 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    console.print(f"{total} kills; the records are {'equal' if equal else 'NOT equal'}", markup=False)
    sys.exit(not equal or (options.one and total < options.kills))


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
