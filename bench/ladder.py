"""The ladders' tables, measured: ``python -m bench.ladder --types h,b --sizes 4096 --write docs/ladder.md``.

Every config of every rung is checked and timed alone; the best of each rung takes turns with cuBLAS
(``tilewright.tutorial.ladder.climb``). ``--write`` puts the tables of single precision, and those of half,
between their marks of a page; ``--out`` adds all figures, every config among them, to a file, as one JSON
object a line.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench import machine
from bench.lines import now
from tilewright.model import DTYPES
from tilewright.tutorial import ladder, outlines

MARKS = {"s": "measured", "h": "measured in half", "b": "measured in half"}
"""What the comments of a page say between which the tables of a type stand."""
NAMES = {letter: DTYPES[letter].name for letter in outlines.LADDERS}
GOAL = 0.9
"""A rung holds when it reaches this part of the document's share of cuBLAS; the last one 91 %."""
LAST = 0.91


def goal(row: dict[str, Any]) -> float:
    """The share of cuBLAS that a rung should reach, 0 where the document has none."""
    if row["document"] is None:
        return 0.0
    last = row["rung"] == outlines.LADDERS["s"][-1].number
    return LAST if last else GOAL * float(row["document"])


def config_of(row: dict[str, Any]) -> str:
    """A row's config as text."""
    return " ".join(f"{name}={value}" for name, value in row["config"].items())


def markdown(table: dict[str, Any]) -> str:
    """A table of ``climb`` as a page shows it."""
    vendor, told = table["vendor_tflops"], table["rows"][0]["document"] is not None
    against = "no cuBLAS was found" if vendor is None else f"{table['vendor']}: {vendor:.2f} TFLOP/s"
    lines = [
        f"{NAMES[table['type']]}, order {table['n']}, {table['device']} ({table['clocks']}), "
        f"driver {table['driver']}, {table['toolchain']}; cuBLAS through {against}.",
        "",
        f"| rung | TFLOP/s | of cuBLAS | interval |{' document |' * told} of peak | flop/B | registers "
        "| shared | occupancy | config |",
        f"|---|--:|--:|---|{'--:|' * told}--:|--:|--:|--:|--:|---|",
    ]
    for row in table["rows"]:
        share = row["of_cublas"]
        interval = "" if row["interval"] is None else "{:.1%} to {:.1%}".format(*row["interval"])
        cells = [
            f"{row['rung']} {row['name']}",
            f"{row['tflops']:.2f}",
            "" if share is None else f"{share:.1%}" + ("" if share >= goal(row) else " (below its goal)"),
            interval,
            *([f"{row['document']:.2%}"] if told else []),
            "" if row["of_peak"] is None else f"{row['of_peak']:.1%}",
            f"{row['intensity']:.2f}",
            str(row["registers"]),
            f"{row['shared']:,} B",
            f"{row['occupancy']:.1%}",
            f"`{config_of(row)}`",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def put(page: Path, mark: str, text: str) -> None:
    """Replace what is between the marks of a page. Raises ``SystemExit`` when there are none."""
    first, last = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    before, begin, rest = page.read_text().partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        sys.exit(f"{page} has no {first} ... {last}")
    page.write_text(f"{before}{first}\n\n{text}\n\n{last}{after}")


def main() -> None:
    """Climb for each order, print, and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--types", default="s", help="of s, h and b, with commas")
    parser.add_argument("--sizes", default="4096", help="orders, with commas")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--write", type=Path, help="the page with the marks")
    parser.add_argument("--out", type=Path, help="lines of JSON are added to this file")
    given = parser.parse_args()

    def listen(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    tables = []
    _keep(given.out, {"kind": "run", "command": "ladder", "commit": machine.commit(), "date": now()})
    types = given.types.split(",")
    for n in map(int, given.sizes.split(",")):
        for letter in types:
            tables.append(ladder.climb(n, given.device, given.rounds, listen, letter))
            _keep(given.out, tables[-1])
            print(markdown(tables[-1]))
            _tell(tables[-1])
    if given.write is not None:
        for mark in dict.fromkeys(MARKS[letter] for letter in types):
            put(given.write, mark, "\n\n".join(markdown(x) for x in tables if MARKS[x["type"]] == mark))


def _keep(path: Path | None, line: dict[str, Any]) -> None:
    """Add a line to a file, if one was named."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def _tell(table: dict[str, Any]) -> None:
    """Say what every config does alone."""
    print("\nEvery config alone:")
    for row in table["tried"]:
        speed = f"{row['tflops']:7.2f} TFLOP/s" if row["right"] else f"WRONG, {row['error']:.3g} bounds"
        spills = f", {row['spills']} B spilled" if row["spills"] else ""
        print(f"{row['rung']}  {speed}  {row['registers']} registers{spills}  {config_of(row)}")
    print(flush=True)


if __name__ == "__main__":
    main()
