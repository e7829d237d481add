"""Batched small products, every peer side by side: ``python -m bench.compare PROBLEMS... --out FILE.jsonl``.

PROBLEMS are spellings (``d:8x8x8``, ``z:2..32``, ``s:8x8x8@1000``) or sizes alone (``8``, ``2..32``), which
stand for every one of ``--types``. A batch that is not given is chosen by the regime (see ``work.sized``).

For each problem every peer is prepared and checked; then rounds follow, in each of which every peer gives
one sample, so that a change of the clock or a noisy neighbour meets all of them. Speeds are medians over
the rounds. A ratio is the median over rounds of (peer's seconds / ours in the same round): above 1, ours
is faster. Every (problem, peer) becomes one line of JSON as soon as it is measured.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import statistics
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from bench import machine, work
from bench.peers import OURS, PEERS
from bench.peers.base import Unavailable
from bench.remote import PeerFailed, Remote
from tilewright.errors import ArgumentError
from tilewright.model import Problem

Row = dict[str, Any]

# Cores that others may use before a point is marked: a barrier of threads waits a scheduler's tick for one
# that was put aside, which turns microseconds into milliseconds.
_QUIET = 0.2


def problems(spellings: list[str], types: str, beta: int, regime: str, threads: int) -> list[Problem]:
    """The problems that are meant, each with its batch. Raises ``ArgumentError`` for one that is not."""
    found = []
    for text in spellings:
        for spelling in [text] if ":" in text else [f"{letter}:{text}" for letter in types]:
            for problem in Problem.parse(spelling, beta=str(beta)):
                if problem.trans != "nn" or problem.dtype.letter not in work.TYPES:
                    raise ArgumentError(
                        f"problem={spelling!r} is not compared; accepted: types {work.TYPES}, no transposes"
                    )
                found.append(problem if "@" in spelling else work.sized(problem, regime, threads))
    return found


def measure(problem: Problem, remotes: dict[str, Remote], regime: str, rounds: int) -> list[Row]:
    """One row a peer: samples of interleaved rounds, or why there are none."""
    p = problem
    request = {"dtype": p.dtype.letter, "m": p.m, "n": p.n, "k": p.k}
    request |= {"beta": int(p.beta), "batch": p.batch, "regime": regime}
    rows: dict[str, Row] = {name: {"peer": name, "version": r.version} for name, r in remotes.items()}
    samples: dict[str, list[float]] = {}
    for name, remote in remotes.items():
        try:
            rows[name] |= remote.ask("prepare", **request) | _verdict(remote.ask("check"))
            samples[name] = []
        except (Unavailable, PeerFailed) as error:
            rows[name] |= _failure(error)
    for turn in range(rounds):
        # Each round begins with another peer, so that nobody always follows the same one.
        names = list(samples)
        for name in names[turn % max(1, len(names)) :] + names[: turn % max(1, len(names))]:
            try:
                samples[name].append(remotes[name].ask("sample")["seconds"])
            except (Unavailable, PeerFailed) as error:
                rows[name] |= _failure(error)
                del samples[name]
    # A time of a wrong result is kept, but nothing is compared with it.
    ours = samples[OURS] if rows.get(OURS, {}).get("status") == "ok" else None
    for name, seconds in samples.items():
        rows[name] |= _speed(problem, seconds, ours)
    return list(rows.values())


def main() -> None:
    """Measure what the command line asks for; rows to the file, tables to the screen."""
    arguments = _arguments()
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    if not set(arguments.types) <= set(work.TYPES):
        raise SystemExit(f"--types {arguments.types}; accepted: any of {work.TYPES}")
    threads = len(machine.cores()) if arguments.threads == "all" else int(arguments.threads)
    wanted = [
        (group, problem)
        for group in ((beta, regime) for regime in arguments.regime for beta in arguments.beta)
        for problem in problems(arguments.problems, arguments.types, *group, threads)
    ]
    done = _done(arguments.out) if arguments.resume else set()
    remotes = _start(arguments.peers, threads, console)
    facts = {"threads": threads, "cpu": machine.processor(), "commit": machine.commit()}
    facts |= {"llvm": machine.llvm(), "l2": machine.cache_bytes(2), "llc": machine.last_level_cache_bytes()}
    # Whoever ends this run in whatever way must not leave the peers' processes behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    tables: dict[tuple[Any, ...], list[tuple[Problem, list[Row]]]] = {}
    said: set[tuple[str, str]] = set()
    columns = (
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    try:
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("", total=len(wanted))
            for (beta, regime), problem in wanted:
                progress.update(task, description=f"{problem.spelling} beta={beta} {regime}")
                if (problem.spelling, beta, regime, threads) not in done:
                    others = machine.busy_cores()
                    if others > _QUIET:
                        progress.console.print(
                            f"other programs use {others:.1f} cores: {problem.spelling} is not to be trusted",
                            style="yellow",
                            highlight=False,
                        )
                    rows = measure(problem, remotes, regime, arguments.rounds)
                    _say_missing(rows, said, console)
                    tables.setdefault((problem.dtype.letter, beta, regime), []).append((problem, rows))
                    point = _named(problem, beta, regime) | facts | {"busy_cores": round(others, 2)}
                    _write(arguments.out, [point | row for row in rows])
                progress.advance(task)
    except KeyboardInterrupt:
        console.print("stopped; what was measured is kept")
    finally:
        for remote in remotes.values():
            remote.close()
    for (letter, beta, regime), measured in tables.items():
        title = f"{letter}, beta={beta}, {regime}, {threads} thread(s): GF/s"
        console.print(table(title, measured, list(remotes)))


def table(title: str, measured: list[tuple[Problem, list[Row]]], names: list[str]) -> Table:
    """GF/s of every peer, ours over the best peer and who that is; at the bottom the geometric means.

    ``ours / peer`` in the last line is the mean of each peer's own ratios, over the sizes that it has.
    """
    out = Table(title=title)
    out.add_column("m x n x k")
    for name in [*names, "ours/best"]:
        out.add_column(name, justify="right")
    out.add_column("best peer")
    speeds: dict[str, list[float]] = {name: [] for name in names}
    ratios: dict[str, list[float]] = {name: [] for name in names}
    worst = []
    for problem, rows in measured:
        right = {row["peer"]: row for row in rows if row.get("status") == "ok"}
        cells = {row["peer"]: "wrong" if row.get("status") == "wrong" else "-" for row in rows}
        for name, row in right.items():
            cells[name] = f"{row['gflops']:.2f}"
            speeds[name].append(row["gflops"])
            if row["ratio"] is not None and name != OURS:
                ratios[name].append(row["ratio"])
        best = best_peer(rows)
        worst += [best[1]] if best else []
        size = (
            str(problem.n) if problem.m == problem.n == problem.k else f"{problem.m}x{problem.n}x{problem.k}"
        )
        last = (f"{best[1]:.2f}", best[0]) if best else ("", "")
        out.add_row(size, *(cells.get(name, "") for name in names), *last)
    out.add_section()
    out.add_row("geomean", *(_mean(speeds[name]) for name in names), _mean(worst))
    out.add_row("ours / peer", *(_mean(ratios[name]) for name in names))
    return out


def best_peer(rows: list[Row]) -> tuple[str, float] | None:
    """The peer that is hardest for ours at this point, and the ratio to it; None without ours or peers."""
    found = [
        (row["ratio"], row["peer"])
        for row in rows
        if row.get("status") == "ok" and row["peer"] != OURS and row["ratio"] is not None
    ]
    return (min(found)[1], min(found)[0]) if found else None


def geomean(values: list[float]) -> float:
    """Geometric mean, NaN of nothing."""
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def _speed(problem: Problem, seconds: list[float], ours: list[float] | None) -> Row:
    median = statistics.median(seconds)
    ratio = statistics.median(s / o for s, o in zip(seconds, ours, strict=True)) if ours else None
    return {
        "median": median,
        "min": min(seconds),
        "gflops": problem.flops * problem.batch / median * 1e-9,
        "gbytes": problem.bytes * problem.batch / median * 1e-9,
        "ratio": ratio,
        "samples": seconds,
    }


def _verdict(check: Row) -> Row:
    error, limit = check["relative_error"], check["limit"]
    if error <= limit:
        return {"status": "ok", "relative_error": error}
    why = f"the relative error is {error:.2g}, a right result's is at most {limit:.2g}"
    return {"status": "wrong", "relative_error": error, "why": why}


def _failure(error: Exception) -> Row:
    return {"status": "unavailable" if isinstance(error, Unavailable) else "failed", "why": str(error)}


def _named(problem: Problem, beta: int, regime: str) -> Row:
    date = datetime.now(UTC).isoformat(timespec="seconds")
    size = {"m": problem.m, "n": problem.n, "k": problem.k, "batch": problem.batch}
    names = {"problem": problem.spelling, "type": problem.dtype.letter, "beta": beta, "regime": regime}
    return names | size | {"date": date}


def _start(names: list[str], threads: int, console: Console) -> dict[str, Remote]:
    remotes = {}
    for name in names:
        try:
            remotes[name] = Remote(name, threads)
            console.print(f"{name}: {remotes[name].version}", highlight=False)
        except (Unavailable, PeerFailed) as error:
            console.print(f"{name} is left out: {error}", style="yellow", highlight=False)
    return remotes


def _say_missing(rows: list[Row], said: set[tuple[str, str]], console: Console) -> None:
    """Name every peer that gave nothing, or nothing right, once for each reason."""
    for row in rows:
        if "why" in row and (row["peer"], row["why"]) not in said:
            said.add((row["peer"], row["why"]))
            console.print(f"{row['peer']}: {row['status']}: {row['why']}", style="yellow", highlight=False)


def _write(path: Path | None, rows: list[Row]) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


def _done(path: Path | None) -> set[tuple[Any, ...]]:
    """What a file already holds: (spelling, beta, regime, threads)."""
    if path is None or not path.exists():
        return set()
    rows = map(json.loads, path.read_text().splitlines())
    return {(row["problem"], row["beta"], row["regime"], row["threads"]) for row in rows}


def _mean(values: list[float]) -> str:
    return f"{geomean(values):.2f}" if values else ""


def _choices(kind: type, accepted: Any) -> Callable[[str], list[Any]]:
    """A parser of comma-separated lists whose every item must be one of ``accepted``."""

    def parse(text: str) -> list[Any]:
        items = [kind(item) for item in text.split(",")]
        for item in items:
            if item not in accepted:
                raise argparse.ArgumentTypeError(f"{item!r}; accepted: {', '.join(map(str, accepted))}")
        return items

    return parse


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("problems", nargs="+", metavar="PROBLEMS")
    add("--types", default="d", help="types of sizes that name none, any of sdcz (default: d)")
    add(
        "--regime",
        type=_choices(str, work.REGIMES),
        default=["memory"],
        help="memory,cached (default: memory)",
    )
    add("--beta", type=_choices(int, (0, 1)), default=[0], help="0,1 (default: 0)")
    add("--threads", default="1", help="a number, or 'all' (default: 1, pinned to one core)")
    add("--peers", type=_choices(str, PEERS), default=list(PEERS), help=f"default: {','.join(PEERS)}")
    add("--rounds", type=int, default=11, help="samples of each peer (default: 11)")
    add("--out", type=Path, help="JSON lines are added to this file")
    add("--resume", action="store_true", help="skip what the file already holds")
    return parser.parse_args()


if __name__ == "__main__":
    main()
