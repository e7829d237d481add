"""Winners to ship, of many problems in little time: ``python -m bench.winners public --limit 90``, on a GPU.

Lists of problems (``LISTS``): ``public`` are the products of public programs (``bench.public``), ``squares``
those of 33 to 64 rows, ``skewed`` batches of one long extent beside two short ones. Each is tuned with both
classes of beta, out of memory, for ``--tries`` configs a stencil, by the stencils that come near the best one
by what was measured of problems like it. ``--only`` takes the problems of a file of keys, in its order.

One tuner leaves a GPU idle while operands are made and compilers work, so that several work side by side
(``--lanes``), each with its own processes. What is timed is timed alone: a lock that all of them share is
held by whoever tries a kernel or decides a final round.

A line of JSON for each problem goes to ``--out``: what won, at which speed, what the vendor's product did in
the same round, and what a call ran before. Rows of the records that may ship go to ``--export``: the fastest
kernel, or the vendor's product where that is faster. What was slower than the kernel that a call runs
without the record is left out, and so is a winner where that kernel was not tried.
"""

from __future__ import annotations

import argparse
import fcntl
import multiprocessing
import os
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from bench import lines
from bench.public import SHAPES, Shape
from tilewright.errors import TilewrightError
from tilewright.model import DTYPES, Config, Device, Plan, Problem, Record
from tilewright.planning import dispatch, neighbours
from tilewright.store.jsonl import compact, encode
from tilewright.store.records import Records
from tilewright.tuning import timing
from tilewright.tuning.evaluate import Candidate, FinalRound, Outcome, serve
from tilewright.tuning.evaluate.cuda import GpuEvaluation
from tilewright.tuning.evaluate.table import EVALUATIONS
from tilewright.tuning.farm import Farm, compiler
from tilewright.tuning.tuner import Result, Tuner, sized, speed, toolchain
from tilewright.tuning.workers import Worker

T = TypeVar("T")
REGIME = "memory"
FINAL = 0.6
"""Seconds of a final round."""
SEARCH = 5.0
"""Seconds of searching for a problem at most."""
EACH = 6.0
"""Seconds that a problem may take: none is begun later than so long before the end."""
NEAR = 0.7
"""Stencils are tried whose expected speed is at least so much of the best one's."""
SQUARES = (64, 48, 40, 56, 36, 33, 60, 44, 52, 45, 50, 63)
SKEWED = (
    (1024, 8, 8),
    (8, 1024, 8),
    (8, 8, 1024),
    (256, 16, 16),
    (16, 256, 16),
    (16, 16, 256),
    (4096, 4, 4),
    (4, 4, 4096),
    (64, 64, 8),
    (128, 128, 16),
    (64, 8, 64),
    (8, 64, 64),
    (64, 1, 64),
    (1, 64, 64),
)


# ---- what is tuned


def of_shape(shape: Shape, beta: str) -> Problem | None:
    """The problem of a product of row-major arrays; None where several batch axes are left, for which no
    record counts."""
    dtype = DTYPES[shape.letter]
    m, k = shape.a[-2:]
    if not shape.b:
        return Problem(dtype, m, m, k, "c", "n", beta=beta)
    many_a, many_b = ([extent for extent in each[:-2] if extent != 1] for each in (shape.a, shape.b))
    if (len(many_a) > 1 and many_a != many_b) or (len(many_b) > 1 and many_a != many_b):
        return None
    alone = not many_a and not many_b
    # Row-major operands are column-major ones in the other order.
    shared_a, shared_b = (0 if not many and not alone else None for many in (many_b, many_a))
    return Problem(dtype, shape.b[-1], m, k, beta=beta, stride_a=shared_a, stride_b=shared_b)


def _public() -> Iterator[Problem]:
    for shape in SHAPES:
        for beta in "01":
            found = of_shape(shape, beta)
            if found is not None:
                yield found


def _squares() -> Iterator[Problem]:
    for n in SQUARES:
        for letter in "dzcshb":
            yield from (Problem(DTYPES[letter], n, n, n, beta=beta) for beta in "01")


def _skewed() -> Iterator[Problem]:
    for size in SKEWED:
        for letter in "sdczhb":
            yield from (Problem(DTYPES[letter], *size, beta=beta) for beta in "01")


LISTS: dict[str, Callable[[], Iterator[Problem]]] = {
    "public": _public,
    "squares": _squares,
    "skewed": _skewed,
}


def asked(names: Sequence[str], only: Sequence[str] = ()) -> list[Problem]:
    """The problems of these lists, each once; of ``only`` these keys, in that order."""
    found = {problem.key: problem for name in names for problem in LISTS[name]()}
    return [found[key] for key in only if key in found] if only else list(found.values())


def promising(problem: Problem, device: Device) -> list[str]:
    """The stencils that come near the best one by what was measured of problems like this one."""
    accepting = {
        name: neighbours.standing(name, problem, REGIME, device)
        for name, stencil in dispatch.candidates(device).items()
        if dispatch.refusal(stencil, problem, device) is None
    }
    best = max((found[1] for found in accepting.values() if found), default=0.0)
    return [name for name, found in accepting.items() if found is None or found[1] >= NEAR * best]


# ---- one GPU for several tuners


class Alone:
    """An evaluation that has the GPU to itself while it times. Operands are made beside the others' work:
    uploading takes a thousandth of the memory's rate, and no multiprocessor."""

    def __init__(self, device: Device, lock: str):
        self._gpu = GpuEvaluation(device)
        self._gpu.products.final_seconds = FINAL
        self._lock = os.open(lock, os.O_RDWR)

    def prepare(self, problem: Any, regime: str) -> None:
        """As an evaluation does."""
        self._gpu.prepare(problem, regime)

    def attempt(self, candidate: Candidate, least: int, budget: float, early_stop: float) -> Outcome:
        """As an evaluation does, while nobody else tries."""
        return self._held(lambda: self._gpu.attempt(candidate, least, budget, early_stop))

    def final(self, candidates: Sequence[Candidate], rounds: int) -> FinalRound:
        """As an evaluation does, while nobody else tries."""
        return self._held(lambda: self._gpu.final(candidates, rounds))

    def _held(self, work: Callable[[], T]) -> T:
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            return work()
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)


def alone(device: Device, lock: str) -> Callable[[tuple[Any, ...]], Any]:
    """The handler of a timing child that shares the GPU."""
    handler = serve(Alone(device, lock))
    # The library of the vendor's product takes seconds to be loaded, in which nobody should wait for it.
    import torch

    torch.zeros(1, device="cuda")
    return handler


@dataclass(frozen=True)
class Lane:
    """What a tuner that works beside others is given."""

    records: Path
    lock: str
    compilers: int
    tries: int
    deadline: float


def work(lane: Lane, problems: Sequence[Problem], turn: Any, said: Any) -> None:
    """Tune one problem after another, whichever is next, until all are begun or the time is over."""
    device = dispatch.device("cuda")
    kind = EVALUATIONS["cuda"]
    farm = Farm(
        [Worker(compiler, (device,)) for _ in range(lane.compilers)],
        [Worker(alone, (device, lane.lock), timeout=60.0, environment=kind.environment)],
    )
    records = Records(lane.records)
    with Tuner(device, records, farm=farm) as tuner:
        while time.time() < lane.deadline - EACH:
            with turn.get_lock():
                at, turn.value = turn.value, turn.value + 1
            if at >= len(problems):
                break
            problem = problems[at]
            begin = time.monotonic()
            try:
                whole = sized(problem, REGIME, device)
                made, names = dispatch.plan(whole, device), promising(whole, device)
                result = tuner.tune(
                    problem,
                    REGIME,
                    search="model",
                    budget=SEARCH,
                    tries=lane.tries * len(names),
                    stencils=names,
                )
                line = told(result, made, records, device)
            except TilewrightError as error:
                line = {"kind": "failed", "why": str(error)}
            said.put({"problem": problem.key, "seconds": time.monotonic() - begin} | line)
    said.put(None)


def told(result: Result, made: Plan, records: Records, device: Device) -> lines.Line:
    """What is kept of a problem: speeds in GF/s of the winner, of the vendor and of what a call ran before;
    and whether its record may ship."""
    best, vendor, flops = result.best, result.vendor, result.problem.flops
    before = vendor if made.stencil is None else _tried(records, made, device)
    fastest = max((row for row in (best, vendor) if row is not None), key=speed, default=None)
    return {
        "kind": "tuned",
        "regime": result.regime,
        "stencil": best.stencil if best else None,
        "config": dict(best.config) if best else None,
        "gflops": flops * speed(best) / 1e9 if best else None,
        "vendor_gflops": flops * speed(vendor) / 1e9 if vendor else None,
        "before": {
            "origin": made.origin,
            "stencil": made.stencil,
            "config": dict(made.config or {}),
            "gflops": flops * speed(before) / 1e9 if before else None,
        },
        "ships": fastest is not None and before is not None and speed(fastest) >= speed(before),
        "tried": result.tried,
        "statuses": result.statuses,
        "missing": result.missing,
        "note": result.note,
        "tied": len(result.tied),
    }


def _tried(records: Records, made: Plan, device: Device) -> Record | None:
    """What this run measured of the kernel that a call ran before, in the final round if it was there."""
    name, found = made.stencil or "", None
    for protocol in (timing.ALONE, timing.INTERLEAVED, timing.DECIDED):
        rows = records.tried(made.problem, REGIME, device.key, name, protocol, toolchain(device, name))
        row = rows.get(made.config or Config({}))
        found = row if row is not None and row.status == "ok" and row.timing is not None else found
    return found


# ---- the command


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.winners", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("lists", nargs="+", choices=sorted(LISTS))
    add("--only", type=Path, help="a file of problem keys, a line each: these, in that order")
    add("--tries", type=int, default=14, help="configs a stencil (default: 14)")
    add("--lanes", type=int, default=4, help="tuners side by side (default: 4)")
    add("--limit", type=float, default=90.0, help="seconds for all of it (default: 90)")
    add("--records", type=Path, help="SQLite file of all tries (default: one that is thrown away)")
    add("--out", type=Path, help="a line of JSON for each problem is added to this file")
    add("--export", type=Path, help="where the rows that may ship are written")
    return parser.parse_args()


def main() -> None:
    """Tune, say, export."""
    options = _arguments()
    begin = time.time()
    only = options.only.read_text().split("\n") if options.only else ()
    problems = asked(options.lists, [key for key in only if key])
    device = dispatch.device("cuda")
    sink = lines.Sink(options.out, "winners", device, vars(options))
    cores = EVALUATIONS["cuda"].compilers(device)
    spawn = multiprocessing.get_context("spawn")
    turn, said = spawn.Value("i", 0), spawn.Queue()
    with TemporaryDirectory() as folder:
        path = options.records or Path(folder) / "tries.sqlite"
        lock = Path(folder) / "lock"
        lock.touch()
        # A compiler less than there is room for: the tuners and the timing children want cores, too.
        each = max(1, cores // options.lanes - 1)
        lane = Lane(path, str(lock), each, options.tries, begin + options.limit)
        # Not daemons, which may have no children.
        children = [
            spawn.Process(target=work, args=(lane, problems, turn, said)) for _ in range(options.lanes)
        ]
        for child in children:
            child.start()
        shipping: list[str] = []
        left = len(children)
        while left and any(child.is_alive() for child in children):
            try:
                line = said.get(timeout=1.0)
            except queue.Empty:
                continue
            if line is None:
                left -= 1
                continue
            sink.write(line)
            print(_short(line), flush=True)
            if line.get("ships"):
                shipping.append(line["problem"])
        if options.export:
            held = Records(path)
            rows = [held.best(key, REGIME, device.key) for key in shipping]
            text = "".join(compact(encode(row, samples=False)) + "\n" for row in rows if row is not None)
            options.export.write_text(text)
        for child in children:
            child.join(EACH)
            child.terminate()
    print(f"{len(shipping)} rows of {len(problems)} problems in {time.time() - begin:.1f} s", flush=True)


def _short(line: lines.Line) -> str:
    """A line for people."""
    head = f"{line['problem']} {line['seconds']:.1f} s"
    if line["kind"] == "failed":
        return f"{head}: {line['why']}"
    ours, theirs, before = line["gflops"], line["vendor_gflops"], line["before"]
    faster = f"{ours / before['gflops']:.3f}" if ours and before["gflops"] else "?"
    vendor = f"{ours / theirs:.2f}" if ours and theirs else "?"
    return (
        f"{head}: {line['stencil']}, {faster} of {before['origin']} {before['stencil']}, "
        f"{vendor} of the vendor; {line['tried']} tried{'' if line['ships'] else '; does not ship'}"
    )


if __name__ == "__main__":
    main()
