"""Where a default beats the library: what the planner goes by, made of measurements and checked on others.

    python -m bench.classes FILE...               make the data of these measurements, and say what is in it
    python -m bench.classes FILE... --only NAME   the same of one stencil, whose configs count where they are
                                                  defaults now; others keep what they have
    python -m bench.classes FILE... --hold 0.3    20 times data of seven problems in ten, and the others
    python -m bench.classes FILE... --check       hold the data that ships against these measurements

FILE is what ``python -m bench.batches classes --out FILE`` wrote on a GPU (or ``skewed``, ``middle``),
``python -m bench.lists --out FILE``, ``python -m bench.chains --defaults --out FILE`` or
``python -m bench.enable FILE``: random problems,
each by the defaults of the stencils that accept it, in turns with cuBLAS (of chains: with the faster of
PyTorch's ways to write them). Batches of equal products become points of ``planning.neighbours``. Lists and
chains have classes (``planning.classes``): one is the stencil's where every problem of it was at least as
fast as the library, give or take ``SLACK``, and at least ``classes.ENOUGH`` were timed. What the data was
made of must not be what it is checked on: draw it by another ``--seed``.
"""

from __future__ import annotations

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
from tilewright.catalog import STENCILS
from tilewright.model import Problem
from tilewright.planning import classes, neighbours
from tilewright.planning.neighbours import Point
from tilewright.targets.cuda.capability import named

DRAWS = 20
"""Times that problems are held apart, others each time: one draw may be lucky."""
SLACK = 0.03
"""By how much samples of the same kernel differ."""
DATA = Path(neighbours.__file__).parent / "data"
Found = list[tuple[str, Line]]


def timed(files: Iterable[Path], only: str = "") -> Found:
    """The device and the line of every default that was timed beside the library; of the stencil ``only``, if
    one is named, of what is its default now, whatever it was then."""
    found = []
    device = ""
    for file in files:
        for line in lines.read(file):
            device = line.get("device", device)
            if not line.get("against_cublas") or (only and line["stencil"] != only):
                continue
            if is_default(device, line) if only else line.get("origin") == "default":
                found.append((device, line))
    return found


def is_default(device: str, line: Line) -> bool:
    """Whether the config of a batch's line is what its stencil chooses now."""
    chosen = STENCILS[line["stencil"]].default(asked(line), named(device))
    return bool(dict(chosen) == line["config"])


def is_batch(line: Line) -> bool:
    """Whether a line is of a batch of equal products; else it is of a list or a chain."""
    return "|" not in line["problem"]


def asked(line: Line) -> Problem:
    """The problem of a batch that a line is of, but for gaps."""
    problem = Problem.parse(line["problem"], beta=line["beta"])[0]
    # Commands of before this field say no more than a class.
    layout = line.get("layout", "packed")
    leads = re.match(r"ld(\d+),(\d+),(\d+)", layout)
    if leads:
        problem = problem.with_(**dict(zip(("lda", "ldb", "ldc"), map(int, leads.groups()), strict=True)))
    shared = re.search(r"\+shared([AB]+)", layout)
    for name in shared[1] if shared else "":
        problem = problem.with_(**{f"stride_{name.lower()}": 0})
    return problem


def point_of(line: Line) -> Point:
    """The point of such a batch."""
    # Commands of before this field say no more than a class.
    regime = line.get("regime") or line["class"].rpartition(", ")[2]
    found = neighbours.point(asked(line), regime)
    return found._replace(gaps=True) if "+gaps" in line.get("layout", "") else found


def gathered(found: Found) -> dict[str, Any]:
    """The points of batches: by device, part and type, each with its gain."""
    points: dict[str, Any] = {}
    for device, line in found:
        if is_batch(line):
            letter = line["problem"].partition(":")[0]
            rows = points.setdefault(device, {}).setdefault(line["stencil"], {}).setdefault(letter, [])
            rows.append([*point_of(line), round(line["against_cublas"], 3)])
    return points


def celled(found: Found) -> dict[str, Any]:
    """The cells of lists and chains: by device, stencil and class, and by what classes have in common."""
    ratios: dict[tuple[str, str, str], list[float]] = {}
    for device, line in found:
        for each in () if is_batch(line) else classes.wider(line["class"]):
            ratios.setdefault((device, line["stencil"], each), []).append(line["against_cublas"])
    cells: dict[str, Any] = {}
    for (device, stencil, name), known in sorted(ratios.items()):
        if len(known) >= classes.ENOUGH:
            cells.setdefault(device, {}).setdefault(stencil, {})[name] = {
                "shapes": len(known),
                "least": round(min(known), 3),
                "median": round(statistics.median(known), 3),
                "wins": min(known) >= 1 - SLACK,
            }
    return cells


class Judge:
    """What points and cells say of lines: whether ours is counted on, and what it is expected to gain."""

    def __init__(self, points: Mapping[str, Any], cells: Mapping[str, Any]):
        self._cells = cells
        self._measured = {device: neighbours.Known(parts) for device, parts in points.items()}

    def standing(self, device: str, line: Line) -> tuple[bool, float]:
        """The same as the planner's of the problem of a line; a device that was not measured goes by the
        first one that was."""
        device = device if device in self._measured else next(iter(self._measured), device)
        if not is_batch(line):
            cell = classes.cell(self._cells.get(device, {}).get(line["stencil"], {}), line["class"])
            return (False, 0.0) if cell is None else (cell["wins"], cell["median"])
        known = self._measured.get(device)
        if known is None or line["stencil"] not in known.parts:
            return False, 0.0
        found = known.foretold(line["stencil"], line["problem"].partition(":")[0], point_of(line))
        if found is None:
            return False, 0.0
        sure, gain = found
        return sure >= 1, gain


def verdicts(found: Iterable[tuple[str, Line]], judge: Judge) -> Iterator[tuple[str, float, bool]]:
    """Of every problem its type, the library's time over ours, and whether ours runs. Ours is the stencil
    that gains most by what is known: of those that are counted on, or where none is of all."""
    problems: dict[tuple[str, ...], Found] = {}
    for device, line in found:
        problems.setdefault(problem_of(device, line), []).append((device, line))
    for some in problems.values():
        device, line = max(some, key=lambda one: judge.standing(*one))
        yield line["problem"].partition(":")[0], line["against_cublas"], judge.standing(device, line)[0]


def problem_of(device: str, line: Line) -> tuple[str, ...]:
    """What the lines of several stencils on one problem have in common."""
    return device, *(str(line.get(name)) for name in ("problem", "layout", "beta", "regime", "class"))


def summary(judged: Iterable[tuple[str, float, bool]]) -> Table:
    """What calls gain by the data: what they ran before it, which is every default; what they run by it; and
    what was missed."""
    shown = Table(title="the library's time over ours, problems that the data was not made of")
    heads = (
        "type",
        "timed",
        "default: mean",
        "least",
        "by the data: ours",
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
    parser = lines.parser("bench.classes", __doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--only", default="", help="the stencil whose data is made")
    parser.add_argument("--hold", type=float, default=0.0, help="the part of all that is held apart")
    parser.add_argument("--check", action="store_true", help="hold what ships against the files")
    options = parser.parse_args()
    console = lines.console()
    found = timed(options.files, options.only)
    if options.hold:
        judged: list[tuple[str, float, bool]] = []
        problems = [problem_of(*one) for one in found]
        for seed in range(DRAWS):
            draw = random.Random(seed)
            held = {problem: draw.random() < options.hold for problem in dict.fromkeys(problems)}
            apart = [held[problem] for problem in problems]
            known = [one for one, out in zip(found, apart, strict=True) if not out]
            others = [one for one, out in zip(found, apart, strict=True) if out]
            judged += verdicts(others, Judge(gathered(known), celled(known)))
        console.print(summary(judged))
        return
    if options.check:
        console.print(summary(verdicts(found, Judge(neighbours.table(), classes.table()))))
        return
    for name, made in (("neighbours", gathered(found)), ("classes", celled(found))):
        file = DATA / f"{name}.json"
        data = json.loads(file.read_text("utf-8"))
        for device, parts in made.items():
            # Other parts were made of other files.
            data["devices"].setdefault(device, {}).update(parts)
        file.write_text(written(data), "utf-8")
        for device, parts in data["devices"].items():
            for part, held in parts.items():
                console.print(f"{name}, {device} {part}: {sum(map(len, held.values()))}")


def written(data: Mapping[str, Any]) -> str:
    """Data as JSON, a point or a cell to a line."""

    def on_a_line(found: re.Match[str]) -> str:
        return " ".join(found[0].split())

    text = re.sub(r"[\[{]\n\s+[^\[\]{}]*?\n\s*[\]}]", on_a_line, json.dumps(data, indent=1))
    # Points begin with a number, and may have a list among what follows it.
    return re.sub(r"\[\n\s+\d(?:[^\[\]{}]|\[[^\[\]{}\n]*\])*?\n\s*\]", on_a_line, text) + "\n"


if __name__ == "__main__":
    main()
