"""How good the searches are, on recorded spaces: ``python -m bench.search FILE.csv.gz ...``.

Every search is played on every space (``bench.recorded``) with many seeds, one config at a time (``--width``:
several): a try costs nothing but a look into the table. On spaces of our own stencils (``bench.record``) it
begins with the default and has the stencil's cost model, if not ``--blind``; on others it has neither. Lines
of JSON, one a space and search:

found      optimum over the best time found, after 16, 25, 50, 100, 200 tries: mean, and its 95 % interval
score      the community's (F.-J. Willemsen et al., "A methodology for comparing optimization algorithms for
           auto-tuning", 2024): how much of the way from random search (its expectation, computed) to the
           optimum, the mean over the time until random search would have come 95 % of the way from the median
           to the optimum; 0 is random search, 1 the optimum at once. By tries, and by the seconds that trying
           took.
within     tries until a config within 1 % of the optimum, the median over the seeds (null: most never)
overhead   milliseconds of the processor's that the search itself took a try

Intervals are bootstrapped over the seeds. ``--kernel-tuner a,b`` plays that library's strategies on the same
tables in its simulation mode (where it can be imported; a config that it asks for twice counts once), and a
last line a space says for every search how it compares with the best of them at each number of tries: the
difference with its interval. ``--rivals`` takes their lines from an earlier run. A mean over spaces hides
which of them decide it; there is but one, the geometric mean after 16 tries, in the last line.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import record
from bench.recorded import Recorded, read
from tilewright.model import Config
from tilewright.space import Space
from tilewright.tuning.search import Estimate
from tilewright.tuning.search.table import SEARCHES

Line = dict[str, Any]
Told = tuple[Sequence[Config], Estimate | None]
"""Where a search begins, and the stencil's cost model."""
Floats = NDArray[np.float64]
TRIES = (16, 25, 50, 100, 200)
THEIR = "kernel_tuner "
"""What the names of Kernel Tuner's strategies begin with."""
DRAWS = 2000
"""Bootstrap samples of an interval."""
THEIRS = (
    "genetic_algorithm",
    "simulated_annealing",
    "dual_annealing",
    "hybrid_vndx",
    "adaptive_tabu_greywolf",
)
"""Strategies of Kernel Tuner that did well in one of these spaces, its two newest ones among them."""


class Trace:
    """One run of a search: the times of what it tried, ms, what each try took, s, and its own seconds."""

    def __init__(self, times: Sequence[float], seconds: Sequence[float], own: float):
        self.times, self.seconds, self.own = list(times), list(seconds), own


def played(
    given: Recorded,
    space: Space,
    search: str,
    seed: int,
    tries: int,
    width: int = 1,
    told: Told = ((), None),
) -> Trace:
    """One of our searches, until it has made so many tries; ``told`` is what it begins with."""
    asked: list[Config] = []
    records, begin = given.records, process_time()
    starts, estimate = told
    batches = SEARCHES[search](space, starts, seed, width=width, estimate=estimate)
    answers = None
    while len(asked) < tries:
        try:
            batch = next(batches) if answers is None else batches.send(answers)
        except StopIteration:
            break
        answers = [records[config] for config in batch[: tries - len(asked)]]
        asked += [record.config for record in answers]
    own = process_time() - begin
    if len(set(asked)) < len(asked):
        raise SystemExit(f"{search} asked twice for a config of {given.name}")
    return Trace([given.times[c] for c in asked], [given.seconds[c] for c in asked], own)


# ---- Kernel Tuner


def tables(given: Recorded, folder: Path) -> Path:
    """The space as a cache file of Kernel Tuner's."""
    path = folder / f"{given.name}.json"
    if path.exists():
        return path
    cache: dict[str, Any] = {}
    for config, time in given.times.items():
        failed = not math.isfinite(time)
        said = "RuntimeFailedConfig" if failed else time
        cache[",".join(str(config[name]) for name in given.params)] = {
            **config,
            "time": said,
            **({"__error__": said} if failed else {}),
            "times": [said],
            "compile_time": 1e3 * given.seconds[config],
            "benchmark_time": 0.0,
            "verification_time": 0,
            "strategy_time": 0,
            "framework_time": 0,
            "timestamp": "2025-01-01 00:00:00+00:00",
        }
    head = {
        "schema_version": "1.0.0",
        "device_name": given.name,
        "kernel_name": "replay",
        "problem_size": "1",
        "tune_params_keys": list(given.params),
        "tune_params": {name: list(values) for name, values in given.params.items()},
        "objective": "time",
    }
    path.write_text(json.dumps({**head, "cache": cache}))
    return path


def theirs(given: Recorded, strategy: str, seed: int, tries: int, path: Path) -> Trace:
    """One of Kernel Tuner's strategies, in its simulation mode."""
    tuner, constraint = import_module("kernel_tuner"), import_module("constraint")
    points = {tuple(config[name] for name in given.params) for config in given.times}
    random.seed(seed)
    np.random.seed(seed)
    begin = process_time()
    results, _ = tuner.tune_kernel(
        "replay",
        "__global__ void replay(){}",
        "1",
        [],
        {name: list(values) for name, values in given.params.items()},
        restrictions=[constraint.FunctionConstraint(lambda *values: values in points)],
        strategy=strategy,
        strategy_options={"max_fevals": tries},
        simulation_mode=True,
        cache=str(path),
        quiet=True,
        lang="C",
        objective="time",
    )
    own = process_time() - begin
    asked = dict.fromkeys(Config({name: each[name] for name in given.params}) for each in results)
    return Trace([given.times[c] for c in asked], [given.seconds[c] for c in asked], own)


# ---- figures


def curves(traces: Sequence[Trace], tries: int) -> Floats:
    """The best time after each try, a row a seed; a run that ended early stays where it was."""
    rows = []
    for trace in traces:
        best = np.minimum.accumulate(trace.times[:tries])
        rows.append(np.append(best, np.full(tries - len(best), best[-1])))
    return np.array(rows)


@cache
def expectation(times: tuple[float, ...], tries: int) -> Floats:
    """The best time that random search is expected to have after 1, 2, ... tries without repetition, in
    closed form; failures count as the slowest config."""
    ordered = np.sort([time for time in times if math.isfinite(time)])
    ordered = np.append(ordered, np.full(len(times) - len(ordered), ordered[-1]))
    count, expected = len(ordered), []
    missing = np.ones(count)  # The chance that none of the tries is among the i fastest.
    left = count - np.arange(count)
    for done in range(tries):
        missing = missing * np.maximum(left - done, 0) / (count - done)
        ended = np.append(missing[1:], 0.0)
        expected.append(float(((missing - ended) * ordered).sum()))
    return np.array(expected)


def horizon(given: Recorded) -> int:
    """Tries after which random search has come 95 % of the way from the median to the optimum."""
    times = tuple(given.times.values())
    right = np.array([time for time in times if math.isfinite(time)])
    aim = np.median(right) - 0.95 * (np.median(right) - right.min())
    tries = 64
    while tries < len(times):
        expected = expectation(times, tries)
        if expected[-1] <= aim:
            return int(np.argmax(expected <= aim)) + 1
        tries = min(2 * tries, len(times))
    return len(times)


def interval(values: Floats, seed: int = 0) -> list[float]:
    """A mean and its 95 % interval, bootstrapped."""
    draw = np.random.default_rng(seed)
    means = values[draw.integers(0, len(values), (DRAWS, len(values)))].mean(1)
    return [round(float(x), 4) for x in (values.mean(), *np.quantile(means, (0.025, 0.975)))]


def scores(given: Recorded, traces: Sequence[Trace], tries: int, by_seconds: bool) -> Floats:
    """The community's score of each run, up to ``tries``."""
    expected = expectation(tuple(given.times.values()), tries)
    expected = np.minimum(expected, 1e300)
    points = np.linspace(0.01, 1.0, 50)
    pace = float(np.mean(list(given.seconds.values())))
    found = []
    for trace in traces:
        # Until its first right config a run is where random search begins.
        best = np.minimum(np.minimum.accumulate(trace.times), expected[0])
        clock = np.cumsum(trace.seconds) if by_seconds else np.arange(1, len(best) + 1) * pace
        marks = points * tries * pace
        at = np.searchsorted(clock, marks, "right") - 1
        here = np.where(at < 0, expected[0], best[np.maximum(at, 0)])
        baseline = expected[np.clip((marks / pace).astype(int) - 1, 0, tries - 1)]
        gap = np.maximum(baseline - given.best, 1e-12)
        found.append(float(np.mean((baseline - here) / gap)))
    return np.array(found)


def line(given: Recorded, search: str, traces: Sequence[Trace], tries: int) -> Line:
    """The figures of a search in a space."""
    best = curves(traces, tries)
    close = [np.flatnonzero(row <= 1.01 * given.best) for row in best]
    until = float(np.median([each[0] + 1 if len(each) else math.inf for each in close]))
    reach = min(tries, horizon(given))
    return {
        "kind": "search",
        "space": given.name,
        "search": search,
        "seeds": len(traces),
        "found": {str(n): interval(given.best / best[:, n - 1]) for n in TRIES if n <= tries},
        "score": {
            "tries": reach,
            "by tries": interval(scores(given, traces, reach, by_seconds=False)),
            "by seconds": interval(scores(given, traces, reach, by_seconds=True)),
        },
        "within": until if math.isfinite(until) else None,
        "overhead": round(1e3 * sum(t.own for t in traces) / sum(len(t.times) for t in traces), 3),
    }


def compared(ours: Sequence[Line], others: Sequence[Line]) -> Line:
    """How each search stands to the best of the others at each number of tries, from their lines."""
    against: dict[str, Any] = {}
    for n in ours[0]["found"]:
        known = [each for each in others if n in each["found"]]
        if known:
            rival = max(known, key=lambda each: float(each["found"][n][0]))
            against[n] = {"rival": rival["search"]} | {
                each["search"]: _difference(each["found"][n], rival["found"][n]) for each in ours
            }
    return {"kind": "against", "space": ours[0]["space"], "against": against}


def _difference(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """The difference of two means with its 95 % interval, from their intervals: of independent means the
    squares of the half-widths add up."""
    (mean, low, high), (other, other_low, other_high) = ours, theirs
    below, above = math.hypot(mean - low, other_high - other), math.hypot(high - mean, other - other_low)
    return [round(x, 4) for x in (mean - other, mean - other - below, mean - other + above)]


# ---- the command

_JOB: dict[str, Any] = {}


def _begin(path: Path, folder: Path, blind: bool, is_theirs: bool) -> None:
    _JOB["given"] = given = read(path)
    _JOB["told"] = ((), None) if blind else record.told(path, given)
    _JOB["table"] = tables(given, folder) if is_theirs else None
    # What a space takes to be made is ``bench.space``'s subject.
    _JOB["space"] = space = given.space()
    assert space.diagram is not None
    space.sample(1)


def _run(job: tuple[str, str, int, int, int]) -> Trace:
    whose, name, seed, tries, width = job
    if whose == "ours":
        return played(_JOB["given"], _JOB["space"], name, seed, tries, width, _JOB["told"])
    return theirs(_JOB["given"], name, seed, tries, _JOB["table"])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.search", description=__doc__)
    add = parser.add_argument
    add("files", nargs="+", type=Path, help="recorded spaces")
    add("--searches", default="sample,climb,evolve,model", help="ours (default: sample,climb,evolve,model)")
    add("--kernel-tuner", default="", help=f"its strategies, or 'usual' for {','.join(THEIRS)}")
    add("--seeds", type=int, default=100)
    add("--tries", type=int, default=200)
    add("--width", type=int, default=1, help="configs asked for at once (default: 1)")
    add("--jobs", type=int, default=1, help="processes (default: 1)")
    add("--blind", action="store_true", help="spaces of our stencils without default and cost model")
    add("--rivals", type=Path, help="lines of an earlier run, the Kernel Tuner's of which are taken over")
    add("--json", type=Path, help="where the lines go, too")
    options = parser.parse_args(arguments)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    usual = ",".join(THEIRS) if options.kernel_tuner == "usual" else options.kernel_tuner
    strategies = [name for name in usual.split(",") if name]
    if strategies and find_spec("kernel_tuner") is None:
        raise SystemExit(
            "kernel_tuner cannot be imported: pip install kernel_tuner, or leave --kernel-tuner out"
        )
    ours = [("ours", name) for name in options.searches.split(",") if name]
    lines: list[Line] = []

    def say(made: Line) -> None:
        lines.append(made)
        print(json.dumps(made), flush=True)
        if options.json:
            options.json.write_text("".join(json.dumps(each) + "\n" for each in lines))

    say(
        {
            "kind": "run",
            "command": "search",
            "options": {"tries": options.tries, "width": options.width, "seeds": options.seeds},
            "peers": {"kernel_tuner": version("kernel_tuner")} if strategies else {},
        }
    )
    earlier = options.rivals.read_text().splitlines() if options.rivals else []
    sixteen: dict[str, list[float]] = {name: [] for _, name in ours}
    for path in options.files:
        given = read(path)
        made: dict[str, list[Line]] = {"ours": [], "theirs": []}
        for each in map(json.loads, earlier):
            if each.get("space") == given.name and each.get("search", "").startswith(THEIR):
                made["theirs"].append(each)
        with (
            TemporaryDirectory() as folder,
            multiprocessing.get_context("spawn").Pool(
                options.jobs, _begin, (path, Path(folder), options.blind, bool(strategies))
            ) as pool,
        ):
            for whose, name in [*ours, *(("theirs", name) for name in strategies)]:
                jobs = [(whose, name, seed, options.tries, options.width) for seed in range(options.seeds)]
                traces = pool.map(_run, jobs, chunksize=1)
                label = name if whose == "ours" else THEIR + name
                made[whose].append(line(given, label, traces, options.tries))
                say(made[whose][-1])
        for each in made["theirs"][: -len(strategies) or None]:
            say(each)
        for (_, name), each in zip(ours, made["ours"], strict=True):
            sixteen[name].append(each["found"]["16"][0])
        if made["ours"] and made["theirs"]:
            say(compared(made["ours"], made["theirs"]))
    means = {name: round(math.prod(each) ** (1 / len(each)), 4) for name, each in sixteen.items()}
    say({"kind": "sixteen", "spaces": len(options.files), "geometric mean of optimum over found": means})


if __name__ == "__main__":
    main()
