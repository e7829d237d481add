"""Where a default beats the library: the table of the planner, made and checked.

    python -m bench.classes FILE...               make the table of these measurements, and say what is in it
    python -m bench.classes FILE... --hold 0.3    20 times a table of seven problems in ten, and the others
    python -m bench.classes FILE... --check       hold the table that ships against these measurements

FILE is what ``python -m bench.batches classes --out FILE`` wrote on a GPU, ``python -m bench.lists --out
FILE``, or ``python -m bench.chains --defaults --out FILE``: random problems of every class, each by the
defaults of the stencils that an untuned call asks, in turns with cuBLAS (of chains: with the faster of
PyTorch's ways to write them). A class is the stencil's where every problem of it was at least as fast as the
library, give or take ``SLACK``, half of them no slower at all, and at least ``classes.ENOUGH`` were timed.
What the table was made of must not be what it is checked on: draw it by another ``--seed``.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from bench import lines
from bench.lines import Line
from tilewright.model import Problem
from tilewright.planning import classes

DRAWS = 20
"""Times that problems are held apart, others each time: one draw may be lucky."""
SLACK = 0.03
"""By how much samples of the same kernel differ."""
DATA = Path(classes.__file__).parent / "data" / "classes.json"


def timed(files: Iterable[Path]) -> list[tuple[str, Line]]:
    """The device and the line of every default that was timed beside the library."""
    found = []
    device = ""
    for file in files:
        for line in lines.read(file):
            device = line.get("device", device)
            if line.get("against_cublas") and line.get("origin") == "default":
                found.append((device, line | {"class": line.get("class") or class_of(line)}))
    return found


def class_of(line: Line) -> str:
    """The class of a line of an older command, which tells problem and layout but no class."""
    problem = Problem.parse(line["problem"], beta=line["beta"])[0]
    leads = re.match(r"ld(\d+),(\d+),(\d+)", line["layout"])
    if leads:
        problem = problem.with_(**dict(zip(("lda", "ldb", "ldc"), map(int, leads.groups()), strict=True)))
    return classes.of(problem, line["regime"])


def made(found: Iterable[tuple[str, Line]]) -> dict[str, Any]:
    """The cells of the table: by device, stencil and class, and by what classes have in common."""
    ratios: dict[tuple[str, str, str], list[float]] = {}
    for device, line in found:
        for each in classes.wider(line["class"]):
            ratios.setdefault((device, line["stencil"], each), []).append(line["against_cublas"])
    cells: dict[str, Any] = {}
    for (device, stencil, name), known in sorted(ratios.items()):
        if len(known) >= classes.ENOUGH:
            cells.setdefault(device, {}).setdefault(stencil, {})[name] = {
                "shapes": len(known),
                "least": round(min(known), 3),
                "median": round(statistics.median(known), 3),
                "wins": min(known) >= 1 - SLACK and statistics.median(known) >= 1,
            }
    return cells


def verdicts(
    found: Iterable[tuple[str, Line]], cells: Mapping[str, Any]
) -> Iterator[tuple[str, float, bool]]:
    """Of every problem its type, the library's time over ours, and whether the table gives it to us. Ours is
    the stencil that gains most by the table: of those that win the class, or where none does of all."""
    problems: dict[tuple[str, ...], list[tuple[str, Line]]] = {}
    for device, line in found:
        problems.setdefault(problem_of(device, line), []).append((device, line))

    def standing(device: str, line: Line) -> tuple[bool, float]:
        held = cells.get(device, {}).get(line["stencil"], {})
        cell = classes.cell(held, line["class"])
        return (False, 0.0) if cell is None else (cell["wins"], cell["median"])

    for some in problems.values():
        device, line = max(some, key=lambda one: standing(*one))
        yield line["problem"].partition(":")[0], line["against_cublas"], standing(device, line)[0]


def problem_of(device: str, line: Line) -> tuple[str, ...]:
    """What the lines of several stencils on one problem have in common."""
    return device, *(str(line.get(name)) for name in ("problem", "layout", "beta", "regime", "class"))


def summary(judged: Iterable[tuple[str, float, bool]]) -> Table:
    """What calls gain by a table: what they ran before it, which is every default; what they run by it; and
    what was missed."""
    shown = Table(title="the library's time over ours, problems that the table was not made of")
    heads = (
        "type",
        "timed",
        "default: mean",
        "least",
        "by the table: ours",
        "mean",
        "least",
        "< 0.97",
        "missed",
    )
    for head in heads:
        shown.add_column(head)
    rows: dict[str, list[tuple[float, bool]]] = {}
    for letter, ratio, wins in judged:
        rows.setdefault(letter, []).append((ratio, wins))
    for letter, each in rows.items():
        every = [ratio for ratio, _ in each]
        taken = sum(wins for _, wins in each)
        ran = [ratio if wins else 1.0 for ratio, wins in each]
        missed = sum(ratio > 1 + SLACK for ratio, wins in each if not wins)
        shown.add_row(
            *(letter, str(len(every)), f"{statistics.geometric_mean(every):.2f}", f"{min(every):.2f}"),
            *(str(taken), f"{statistics.geometric_mean(ran):.2f}", f"{min(ran):.2f}"),
            *(str(sum(ratio < 1 - SLACK for ratio in ran)), str(missed)),
        )
    return shown


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="bench.classes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--hold", type=float, default=0.0, help="the part of all that is held apart")
    parser.add_argument("--check", action="store_true", help="hold what ships against the files")
    options = parser.parse_args()
    console = lines.console()
    found = timed(options.files)
    if options.hold:
        judged: list[tuple[str, float, bool]] = []
        problems = [problem_of(*one) for one in found]
        for seed in range(DRAWS):
            draw = random.Random(seed)
            held = {problem: draw.random() < options.hold for problem in dict.fromkeys(problems)}
            apart = [held[problem] for problem in problems]
            cells = made(one for one, out in zip(found, apart, strict=True) if not out)
            judged += verdicts((one for one, out in zip(found, apart, strict=True) if out), cells)
        console.print(summary(judged))
        return
    if options.check:
        console.print(summary(verdicts(found, classes.table())))
        return
    data = json.loads(DATA.read_text("utf-8"))
    for device, parts in made(found).items():
        # Other parts of the table were made of other files.
        data["devices"].setdefault(device, {}).update(parts)
    DATA.write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    for device, stencils in data["devices"].items():
        for stencil, cells in stencils.items():
            wins = sum(cell["wins"] for cell in cells.values())
            console.print(f"{device} {stencil}: {wins} of {len(cells)} classes are its own")


if __name__ == "__main__":
    main()
