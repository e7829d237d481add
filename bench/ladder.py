"""The ladder's table, measured: ``python -m bench.ladder --sizes 4096 --rounds 21 --write docs/ladder.md``.

Every config of every rung is checked and timed alone; the best of each rung takes turns with cuBLAS
(``tilewright.tutorial.ladder.climb``). ``--write`` puts the tables between the marks of a page; ``--out``
keeps all figures, every config among them, as one JSON object a line.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench import machine
from bench.lines import now
from tilewright.tutorial import ladder

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
GOAL = 0.9
"""A rung holds when it reaches this part of the document's share of cuBLAS; the last one 91 %."""
LAST = 0.91


def goal(row: dict[str, Any]) -> float:
    """The share of cuBLAS that a rung should reach."""
    last = row["rung"] == ladder.RUNGS[-1].number
    return LAST if last else GOAL * float(row["document"])


def config_of(row: dict[str, Any]) -> str:
    """A row's config as text."""
    return " ".join(f"{name}={value}" for name, value in row["config"].items())


def markdown(table: dict[str, Any]) -> str:
    """A table of ``climb`` as a page shows it."""
    vendor = table["vendor_tflops"]
    against = "no cuBLAS was found" if vendor is None else f"{table['vendor']}: {vendor:.2f} TFLOP/s"
    lines = [
        f"Order {table['n']}, {table['device']} ({table['clocks']}), driver {table['driver']}, "
        f"{table['toolchain']}; cuBLAS through {against}.",
        "",
        "| rung | TFLOP/s | of cuBLAS | interval | document | of peak | flop/B | registers | shared "
        "| occupancy | config |",
        "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    for row in table["rows"]:
        share = row["of_cublas"]
        interval = "" if row["interval"] is None else "{:.1%} to {:.1%}".format(*row["interval"])
        cells = [
            f"{row['rung']} {row['name']}",
            f"{row['tflops']:.2f}",
            "" if share is None else f"{share:.1%}" + ("" if share >= goal(row) else " (below its goal)"),
            interval,
            f"{row['document']:.2%}",
            f"{row['of_peak']:.1%}",
            f"{row['intensity']:.2f}",
            str(row["registers"]),
            f"{row['shared']:,} B",
            f"{row['occupancy']:.1%}",
            f"`{config_of(row)}`",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def put(page: Path, text: str) -> None:
    """Replace what is between the marks of a page. Raises ``SystemExit`` when there are none."""
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{page} has no {BEGIN} ... {END}")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def main() -> None:
    """Climb for each order, print, and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="4096", help="orders, with commas")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--write", type=Path, help="the page with the marks")
    parser.add_argument("--out", type=Path, help="a file for JSON lines")
    given = parser.parse_args()

    def listen(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    tables = [ladder.climb(int(n), given.device, given.rounds, listen) for n in given.sizes.split(",")]
    text = "\n\n".join(map(markdown, tables))
    print(text)
    for table in tables:
        print(f"\nEvery config alone, order {table['n']}:")
        for row in table["tried"]:
            speed = f"{row['tflops']:7.2f} TFLOP/s" if row["right"] else f"WRONG, {row['error']:.3g} bounds"
            spills = f", {row['spills']} B spilled" if row["spills"] else ""
            print(f"{row['rung']}  {speed}  {row['registers']} registers{spills}  {config_of(row)}")
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        made = {"kind": "run", "command": "ladder", "commit": machine.commit(), "date": now()}
        given.out.write_text("".join(json.dumps(line) + "\n" for line in (made, *tables)))
    if given.write is not None:
        put(given.write, text)


if __name__ == "__main__":
    main()
