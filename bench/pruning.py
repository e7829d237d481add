"""Is the pruning safe? ``python -m bench.pruning d:32x32x32 --count 500 --plot FILE.html``.

The check of Masliah et al. (2019), section 5 and figure 4: the space is tuned under all rules, and again
with only the hardware's rules (queryable, tabled, hard), without the aggressive ones (soft, guideline). No
config that the aggressive rules remove should come near the best that they keep.

group     what is tried of it (uniformly drawn, at most --count; all with --all)
kept      what every rule lets through
removed   what the hardware allows and an aggressive rule removes
rule      what one aggressive rule alone removes, for each of them (at most --each): a uniform draw seldom
          holds what only one rule removes, and that is where a rule would be wrong
default   what the cost model begins with, if it was not drawn
climbed   what a search without the aggressive rules comes to in --climb seconds, if that is asked for

All are tried in one shuffled order, so that a slow minute of the machine meets every group. The best few of
what is kept and of what is removed are then timed in turns, and only these figures are compared. The records
go to a file of their own, which is thrown away if ``--records`` does not name it (then it is gone on with).
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import kernels, lines
from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import ArgumentError
from tilewright.model import VENDOR, Config, Device, Problem, Record
from tilewright.space import HARDWARE, Rule, Space
from tilewright.store.records import Records
from tilewright.tuning import timing
from tilewright.tuning.tasks import sized
from tilewright.tuning.timing import speed
from tilewright.tuning.tuner import Tuner

ROUNDS, SECONDS = 51, 6.0


class Listed(Space):
    """A space of which only some configs are walked, in a given order."""

    def __init__(self, space: Space, configs: Sequence[Config]):
        super().__init__(space.params, space.rules)
        self.configs = configs

    def __iter__(self) -> Iterator[Config]:
        return iter(self.configs)


@dataclass(slots=True)
class Draw:
    """A uniform sample of a stream whose length nobody knows, at most ``most`` of it (None: all)."""

    most: int | None
    rng: random.Random
    seen: int = 0
    held: list[Config] = field(default_factory=list)

    def take(self, config: Config) -> None:
        """One more of the stream (Vitter's algorithm R)."""
        self.seen += 1
        if self.most is None or len(self.held) < self.most:
            self.held.append(config)
        elif (place := self.rng.randrange(self.seen)) < self.most:
            self.held[place] = config


@dataclass(slots=True)
class Parts:
    """A stencil's space by what its rules do: counts, and which configs are to be tried in which group."""

    stencil: str
    space: Space
    size: int
    hardware: int
    kept: int
    default: Config
    alone: dict[str, int]
    groups: dict[str, list[Config]]

    def rules(self, config: Config) -> list[Rule]:
        """The aggressive rules that a config breaks."""
        return [rule for rule in self.space.why(config) if rule.kind not in HARDWARE]


def parts(
    name: str, problem: Problem, device: Device, count: int | None, each: int | None, seed: int
) -> Parts:
    """Walk a stencil's space and draw from it."""
    space = STENCILS[name].space(problem, device)
    default = STENCILS[name].default(problem, device)
    rng = random.Random(seed)
    kept, removed = Draw(count, rng), Draw(count, rng)
    good = set()
    for config in space:
        good.add(config)
        kept.take(config)
    for config in space.only(HARDWARE):
        if config not in good:
            removed.take(config)
    groups = {"kept": kept.held, "removed": removed.held}
    alone = {}
    for rule in space.rules:
        if rule.kind in HARDWARE:
            continue
        draw = Draw(each, rng)
        for config in Space(space.params, [other for other in space.rules if other is not rule]):
            if config not in good:
                draw.take(config)
        alone[rule.name] = draw.seen
        groups[f"rule {rule.name}"] = draw.held
    return Parts(name, space, space.size, removed.seen + kept.seen, kept.seen, default, alone, groups)


def tried(record: Record, part: Parts, groups: dict[Config, str]) -> lines.Line:
    """One try as a line: GF/s of the problem's operations, and which rules remove the config."""
    broken = part.rules(record.config)
    usable = record.status == "ok" and record.timing is not None
    return {
        "kind": "try",
        "stencil": record.stencil,
        "config": dict(record.config),
        "group": groups.get(record.config, "default" if record.config == part.default else "climbed"),
        "kept": not broken,
        "rules": [rule.name for rule in broken],
        "status": record.status,
        "detail": record.detail,
        "gflops": record.problem.flops * speed(record) / 1e9 if usable else None,
    }


def finals(
    problem: Problem, regime: str, device: Device, found: Sequence[lines.Line], most: int
) -> lines.Line | None:
    """The best few of what is kept and of what is removed, in turns; the time of the best kept over the
    best removed (below 1: the removed one is slower) with its interval. None where one side is empty."""
    sides = {}
    for side in (True, False):
        right = [line for line in found if line["kept"] is side and line["gflops"] is not None]
        sides[side] = sorted(right, key=lambda line: -line["gflops"])[:most]
    if not all(sides.values()):
        return None
    stand = kernels.Stand(problem, regime, device)
    chosen = {f"{side} {i}": line for side, best in sides.items() for i, line in enumerate(best)}
    pairs = {name: (line["stencil"], Config(line["config"])) for name, line in chosen.items()}
    times = stand.in_turns(pairs, ROUNDS, SECONDS)
    winner = {
        side: min((name for name in times if name.startswith(str(side))), key=lambda x: times[x].median)
        for side in (True, False)
    }
    ratio, low, high = timing.ratio(times[winner[True]], times[winner[False]])
    out: lines.Line = {"kind": "finals", "ratio": ratio, "low": low, "high": high}
    for side, word in ((True, "kept"), (False, "removed")):
        line = chosen[winner[side]]
        out[word] = {key: line[key] for key in ("stencil", "config", "rules", "group")}
        out[word]["gflops"] = stand.gflops(times[winner[side]])
    return out


def ordered(found: Iterable[lines.Line]) -> list[lines.Line]:
    """The tries with their numbers: kept ones first, removed ones at the end, as in the paper's figure."""
    ranked = sorted(found, key=lambda line: (not line["kept"], line["group"] != "removed", line["group"]))
    return [{"id": number} | line for number, line in enumerate(ranked)]


def table(found: Sequence[lines.Line], population: dict[str, int], best: float) -> Table:
    """One row a group: how many there are and were tried, how they ended, how fast they are."""
    drawn = Table(title="tries (timed alone)", title_justify="left")
    drawn.add_column("group")
    for name in ("configs", "tried", "right", "median GF/s", "best GF/s", "of best kept", "over 90 %"):
        drawn.add_column(name, justify="right")
    for group in dict.fromkeys(line["group"] for line in found):
        rows = [line for line in found if line["group"] == group]
        speeds = [line["gflops"] for line in rows if line["gflops"] is not None]
        row = [f"{population[group]:,}" if group in population else "", str(len(rows)), str(len(speeds))]
        if speeds:
            near = sum(value >= 0.9 * best for value in speeds)
            row += [f"{statistics.median(speeds):.1f}", f"{max(speeds):.1f}"]
            row += [f"{max(speeds) / best:.0%}", str(near)]
        drawn.add_row(group, *row)
    return drawn


def plot(path: Path, title: str, found: Sequence[lines.Line]) -> None:
    """Figure 4 of the paper: GF/s of every try; what the aggressive rules remove lies at the right."""
    import plotly.graph_objects as go

    figure = go.Figure(layout={"title": title, "xaxis_title": "config", "yaxis_title": "GF/s"})
    for group in dict.fromkeys(line["group"] for line in found):
        rows = [line for line in found if line["group"] == group and line["gflops"] is not None]
        figure.add_scatter(
            x=[line["id"] for line in rows],
            y=[line["gflops"] for line in rows],
            text=[_hover(line) for line in rows],
            name=group,
            mode="markers",
            marker={"size": 4},
        )
    kept = sum(line["kept"] for line in found)
    figure.add_vline(x=kept - 0.5, line_dash="dot", annotation_text="removed by the aggressive rules")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.write_html(path, include_plotlyjs="cdn")


def _hover(line: lines.Line) -> str:
    config = " ".join(f"{name}={value}" for name, value in line["config"].items())
    return f"{line['stencil']} {config}" + (f"<br>{', '.join(line['rules'])}" if line["rules"] else "")


def run(
    problem: Problem,
    spaces: Sequence[Parts],
    device: Device,
    records: Records,
    options: argparse.Namespace,
    console: Console,
) -> None:
    """Try every group of every stencil in one shuffled order, then climb; the records keep what came out."""
    deadline = time.monotonic() + options.limit
    with Tuner(device, records) as tuner, lines.bar(console, problem.spelling) as listen:
        tuner.listen = listen
        for part in spaces:
            configs = list(dict.fromkeys(config for group in part.groups.values() for config in group))
            random.Random(options.seed).shuffle(configs)
            common: dict[str, Any] = {"stencils": [part.stencil]}
            left = deadline - time.monotonic()
            listed = Listed(part.space, configs)
            tuner.tune(
                problem,
                options.regime,
                search="exhaustive",
                budget=left,
                spaces=lambda _, listed=listed: listed,  # type: ignore[misc]
                **common,
            )
            if options.climb:
                tuner.tune(
                    problem,
                    options.regime,
                    search="climb",
                    budget=options.climb,
                    seed=options.seed,
                    spaces=lambda space: space.only(HARDWARE),
                    **common,
                )


def main() -> None:
    """Count, try, compare, plot."""
    options = _arguments()
    console = lines.console()
    device = TARGETS["cpu"].probe()
    problems = Problem.parse(options.problem, beta=options.beta)
    if len(problems) != 1:
        raise ArgumentError(f"problem={options.problem!r}; accepted: one problem, such as d:32x32x32")
    problem = problems[0]
    at = sized(problem, options.regime, device)
    names = [name for name, stencil in STENCILS.items() if stencil.accepts(at, device) is None]
    count, each = (None, None) if options.all else (options.count, options.each)
    name = problem.spelling.partition("@")[0]
    console.print(f"walking the space of {name}, beta {options.beta}, {options.regime} ...")
    spaces = [parts(name, at, device, count, each, options.seed) for name in names]
    sink = lines.Sink(options.out, "pruning", device, vars(options))
    population: dict[str, int] = {"kept": 0, "removed": 0}
    for part in spaces:
        population["kept"] += part.kept
        population["removed"] += part.hardware - part.kept
        for rule, number in part.alone.items():
            group = f"rule {rule}"
            population[group] = population.get(group, 0) + number
        sink.write(
            {"kind": "space", "problem": problem.key, "regime": options.regime, "stencil": part.stencil}
            | {"all": part.size, "hardware": part.hardware, "aggressive": part.kept, "alone": part.alone}
        )
        console.print(
            f"{part.stencil}: {part.size:,} combinations, {part.hardware:,} under the hardware's rules, "
            f"{part.kept:,} under all ({part.hardware / max(1, part.kept):.0f} times fewer)"
        )
    lines.busy(console)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        records = Records(options.records or Path(folder) / "records.sqlite", shipped=Path(folder) / "none")
        try:
            run(problem, spaces, device, records, options, console)
        except KeyboardInterrupt:
            console.print("stopped; this is what was tried")
        rows = records.all(problem_key=problem.key, regime=options.regime, device=device.key)
        records.close()
    found = ordered(_lines(rows, spaces))
    for line in found:
        sink.write(line)
    seconds = time.monotonic() - begin
    console.print(f"{len(found)} tries in {seconds:.0f} s")
    speeds = [line["gflops"] for line in found if line["kept"] and line["gflops"] is not None]
    if speeds:
        console.print(table(found, population, max(speeds)))
        last = finals(problem, options.regime, device, found, options.finalists)
        if last is not None:
            sink.write(last)
            _say(last, found, console)
    if options.plot:
        counts = f"{population['kept']:,} configs kept, {population['removed']:,} removed"
        plot(options.plot, f"{name}, beta {options.beta}, {options.regime}: {counts}", found)
        console.print(f"plot: {options.plot}")


def _lines(rows: Sequence[Record], spaces: Sequence[Parts]) -> Iterator[lines.Line]:
    """The tries timed alone, each config's newest, in the first group that holds it."""
    newest = {(r.stencil, r.config): r for r in rows if r.protocol == timing.ALONE and r.stencil != VENDOR}
    for part in spaces:
        groups: dict[Config, str] = {}
        for group, configs in part.groups.items():
            for config in configs:
                groups.setdefault(config, group)
        for (name, _), record in newest.items():
            if name == part.stencil:
                yield tried(record, part, groups)


def _say(last: lines.Line, found: Sequence[lines.Line], console: Console) -> None:
    kept, removed = last["kept"], last["removed"]
    console.print(
        f"in turns: the best kept runs at {kept['gflops']:.1f} GF/s, the best removed at "
        f"{removed['gflops']:.1f}: {last['ratio']:.3f} [{last['low']:.3f}, {last['high']:.3f}] of it"
    )
    console.print(f"  kept     {kept['stencil']} {Config(kept['config'])}", markup=False)
    console.print(f"  removed  {removed['stencil']} {Config(removed['config'])}", markup=False)
    console.print(f"           by {', '.join(removed['rules'])}")
    drawn = [line for line in found if line["group"] == "removed"]
    kept_alone = [line["gflops"] for line in found if line["kept"] and line["gflops"] is not None]
    above = sum(line["gflops"] is not None and line["gflops"] > max(kept_alone) for line in drawn)
    if drawn:
        console.print(
            f"  {above} of {len(drawn)} drawn removed configs were faster than the best kept, alone"
        )
    if drawn and not above:
        # The rule of three: nothing among n draws means fewer than 3 in n with 95 % confidence.
        console.print(f"  so fewer than {3 / len(drawn):.2%} of all removed are, with 95 % confidence")


def _arguments() -> argparse.Namespace:
    parser = lines.parser("bench.pruning", __doc__)
    add = parser.add_argument
    add("problem", nargs="?", default="d:32x32x32", help="one problem (default: d:32x32x32)")
    add("--beta", default="1", choices=("0", "1", "any"), help="default: 1")
    add("--regime", default="cached", choices=timing.REGIMES, help="default: cached")
    add("--count", type=int, default=500, help="at most so many of kept and of removed (default: 500)")
    add("--each", type=int, default=60, help="at most so many of what one rule alone removes (default: 60)")
    add("--all", action="store_true", help="everything (some ten tries a second)")
    add(
        "--climb", type=float, default=0.0, help="seconds of climbing under the hardware's rules (default: 0)"
    )
    add("--finalists", type=int, default=5, help="of each side, timed in turns (default: 5)")
    add("--limit", type=float, default=float("inf"), help="seconds for the tries")
    add("--seed", type=int, default=0, help="of the draws and the order (default: 0)")
    add("--records", type=Path, help="SQLite file of the tries, kept and gone on with")
    add("--plot", type=Path, help="an HTML page as the paper's figure 4")
    add("--out", type=Path, help="lines of JSON are added to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
