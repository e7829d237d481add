"""The tuner's pick against all of its space: ``python -m bench.quality --records FILE.sqlite``.

For each size: (1) an exhaustive run over every stencil's space, its tries kept in ``--records``, so that
it goes on where it was stopped; (2) ``--effort quick`` from nothing, in a records file of its own that is
thrown away; (3) the two winners timed in turns in one process. The ratio is the time of the exhaustive
winner over the time of the pick: 1 is as good, 0.95 is 5 % slower. An interval that holds 1 decides
nothing. Where both are one config the ratio is that of a kernel to itself: what is left is noise.

The rate counts everything that a try takes (compiling, reading the assembly, checking, timing), and not
what comes once a problem: starting the children, making the operands, timing the finalists.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from rich.table import Table

from bench import kernels, lines
from tilewright.catalog import TARGETS
from tilewright.errors import TilewrightError
from tilewright.model import VENDOR, Device, Problem, Record
from tilewright.store.records import Records
from tilewright.tuning import timing
from tilewright.tuning.effort import EFFORTS
from tilewright.tuning.results import Result
from tilewright.tuning.tuner import Tuner

NOWHERE = Path("/nonexistent")
# Seconds between two tries of which no try can be the cause.
PAUSE = 10.0


def reasons(records: Records, problem: Problem, regime: str) -> dict[str, int]:
    """How many configs ended how; the numbers in the details, which differ from try to try, left out."""
    newest = {
        (r.stencil, r.config): r
        for r in records.all(problem_key=problem.key, regime=regime)
        if r.stencil != VENDOR
    }
    return dict(Counter(_reason(record) for record in newest.values()).most_common())


def rate(rows: Sequence[Record]) -> float:
    """Tries per second, from the moments at which they ended; pauses between two runs left out."""
    ends = sorted(datetime.fromisoformat(r.when) for r in rows if r.protocol == timing.ALONE)
    gaps = [(late - early).total_seconds() for early, late in pairwise(ends)]
    gaps = [gap for gap in gaps if gap < PAUSE]
    return len(gaps) / sum(gaps) if gaps else 0.0


def _reason(record: Record) -> str:
    if record.status == "rejected":
        return "rejected: not all multiply-adds are fused"
    words = record.detail.split(":")[0] if record.status == "compile_failed" else ""
    return record.status + (f": {words}" if words else "")


def tuned(
    problem: Problem,
    regime: str,
    device: Device,
    records: Records,
    effort: str,
    limit: float = float("inf"),
    listen: lines.Listener | None = None,
) -> tuple[Result, lines.Line]:
    """A run of the tuner by itself, and its account: tries made here, seconds, tries per second."""
    budget, search = EFFORTS[effort]
    before = len(records.all(problem_key=problem.key, regime=regime))
    begin = time.monotonic()
    with Tuner(device, records, listen=listen) as tuner:
        result = tuner.tune(problem, regime, search=search, budget=min(budget, limit))
        seconds = time.monotonic() - begin
    rows = records.all(problem_key=problem.key, regime=regime)[before:]
    fresh = sum(row.protocol == timing.ALONE for row in rows)
    account = {
        "effort": effort,
        "tried": result.tried,
        "fresh": fresh,
        "seconds": seconds,
        "per_second": rate(records.all(problem_key=problem.key, regime=regime)),
        "statuses": result.statuses,
        "reasons": reasons(records, problem, regime),
        "stencil": result.best.stencil if result.best else None,
        "config": dict(result.best.config) if result.best else None,
    }
    return result, account


def in_turns(
    problem: Problem, regime: str, device: Device, first: Record, second: Record, rounds: int
) -> lines.Line:
    """Two kernels in turns: speeds in GF/s, and the second's time over the first's with its interval."""
    stand = kernels.Stand(problem, regime, device)
    pairs = {name: (r.stencil, r.config) for name, r in (("pick", first), ("best", second))}
    times = stand.in_turns(pairs, rounds)
    ratio, low, high = timing.ratio(times["best"], times["pick"])
    return {
        "pick_gflops": stand.gflops(times["pick"]),
        "best_gflops": stand.gflops(times["best"]),
        "ratio": ratio,
        "low": low,
        "high": high,
    }


def table(found: Sequence[lines.Line]) -> Table:
    """One row a size."""
    drawn = Table(title="quick against exhaustive", title_justify="left")
    for name in (
        "problem",
        "space",
        "s",
        "tries/s",
        "failed",
        "quick tried",
        "s",
        "tries/s",
        "best GF/s",
        "pick/best",
    ):
        drawn.add_column(name, justify="right" if name != "problem" else "left")
    for line in found:
        whole, quick = line["exhaustive"], line["quick"]
        failed = sum(whole["reasons"].values()) - whole["reasons"].get("ok", 0)
        ratio = f"{line['ratio']:.3f} [{line['low']:.3f}, {line['high']:.3f}]" + " same" * line["same"]
        drawn.add_row(
            f"{line['spelling']} beta {line['beta']} {line['regime']}",
            f"{sum(whole['reasons'].values())}" + ("" if line["complete"] else "+"),
            f"{whole['seconds']:.0f}",
            f"{whole['per_second']:.0f}",
            str(failed),
            str(quick["tried"]),
            f"{quick['seconds']:.1f}",
            f"{quick['per_second']:.0f}",
            f"{line['best_gflops']:.1f}",
            ratio,
        )
    return drawn


def main() -> None:
    """Run what the command line asks for."""
    options = _arguments()
    console = lines.console()
    device = TARGETS["cpu"].probe()
    options.records.parent.mkdir(parents=True, exist_ok=True)
    kept = Records(options.records, shipped=NOWHERE)
    sink = lines.Sink(options.out, "quality", device, vars(options))
    found = []
    begin = time.monotonic()
    try:
        for letter in lines.letters(options.types):
            for n in lines.numbers(options.sizes):
                problem = lines.square(letter, n, options.beta)
                others = lines.busy(console)
                with lines.bar(console, f"{letter} n={n}: exhaustive") as listen:
                    left = max(0.0, options.limit - (time.monotonic() - begin))
                    whole, account = tuned(problem, options.regime, device, kept, "exhaustive", left, listen)
                complete = time.monotonic() - begin < options.limit
                with tempfile.TemporaryDirectory() as folder:
                    fresh = Records(Path(folder) / "records.sqlite", shipped=NOWHERE)
                    pick, quick = tuned(problem, options.regime, device, fresh, options.effort)
                    fresh.close()
                if whole.best is None or pick.best is None:
                    raise TilewrightError(f"{problem.spelling}: no right kernel was found")
                same = (whole.best.stencil, whole.best.config) == (pick.best.stencil, pick.best.config)
                line: lines.Line = {
                    "kind": "quality",
                    "date": lines.now(),
                    "spelling": f"{letter}:{n}",
                    "n": n,
                }
                line |= {"type": letter, "beta": options.beta, "regime": options.regime, "same": same}
                line |= {"busy_cores": others, "complete": complete, "exhaustive": account, "quick": quick}
                line |= in_turns(problem, options.regime, device, pick.best, whole.best, options.rounds)
                sink.write(line)
                found.append(line)
                console.print(_short(line), markup=False)
    except KeyboardInterrupt:
        console.print("stopped; what was tried is kept")
    if found:
        console.print(table(found))
        total: Counter[str] = Counter()
        for line in found:
            total.update(line["exhaustive"]["reasons"])
        ended = ", ".join(f"{count} {reason}" for reason, count in total.most_common())
        console.print(f"how the {sum(total.values())} tries of the exhaustive runs ended: {ended}")


def _short(line: lines.Line) -> str:
    whole, quick = line["exhaustive"], line["quick"]
    return (
        f"{line['spelling']}: {whole['fresh']} new tries in {whole['seconds']:.1f} s; quick's pick runs at "
        f"{line['pick_gflops']:.1f} of {line['best_gflops']:.1f} GF/s: {line['ratio']:.3f} "
        f"[{line['low']:.3f}, {line['high']:.3f}] after {quick['tried']} tries"
    )


def _arguments() -> argparse.Namespace:
    parser = lines.parser("bench.quality", __doc__)
    add = parser.add_argument
    add("--records", type=Path, required=True, help="SQLite file of the exhaustive runs; gone on with")
    add("--types", default="d", help="any of s, d, c, z (default: d)")
    add("--sizes", default="4,8,16,17,31", help=f"{lines.SIZES} (default: 4,8,16,17,31)")
    add("--beta", default="0", choices=("0", "1", "any"), help="default: 0")
    add("--regime", default="cached", choices=timing.REGIMES, help="default: cached")
    add(
        "--effort",
        default="quick",
        choices=[name for name, each in EFFORTS.items() if each.search],
        help="whose pick is judged (default: quick)",
    )
    add("--rounds", type=int, default=101, help="rounds of the two winners in turns (default: 101)")
    add("--limit", type=float, default=float("inf"), help="seconds for the exhaustive runs in all")
    add("--out", type=Path, help="lines of JSON are added to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
