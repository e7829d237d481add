"""Which products alone run our kernels: the planner's data made of measurements, and checked on others.

    python -m bench.foretold FILE...               make the data of these measurements
    python -m bench.foretold FILE... --add         add these to the data, in place of the same products there
    python -m bench.foretold FILE... --hold 0.2    20 times data of eight products in ten, and the others
    python -m bench.foretold FILE... --check       hold the data that ships against these measurements
    python -m bench.foretold FILE... --draws       foretell each random draw of these files by what ships
                                                   without its products, ``--doubt`` instead of the planner's

FILE is what ``python -m bench.alone random --out FILE`` wrote, or ``skinny``, on a GPU, or
``python -m bench.large``, or ``unaligned`` (the last time of a product counts), or ``bench.models``, of which
a line counts if what is the default now was in its turns. Of each product that is held apart the stencil runs
that gains most of those that are counted on, else cuBLAS, whose gain is 1; the summary has, by type, the
geometric mean, the least, how many are below 0.98, and what the best default, or cuBLAS, would have made of
it.

Draws are told by their seeds; one that no call ran is parted in ten, each foretold with the others' points.
Where a call ran the library's product, that counts as it was timed, and as 1 where PyTorch's own routine is
called since. What was timed lately counts as the gain of a stencil, the draw's own time where nothing is.
"""

from __future__ import annotations

import json
import random
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from bench import lines
from bench.classes import written
from bench.lines import Line
from tilewright.catalog import STENCILS, TARGETS
from tilewright.model import DTYPES, EMULATED, MATH_TYPES, Config, Device, Problem
from tilewright.planning import alone, vectors

DRAWS = 20
"""Times that products are held apart, others each time."""
PARTS = 10
"""Parts of a draw by defaults alone."""
LOW = 0.98
"""The gain below which a product is counted as a loss."""
DATA = Path(alone.__file__).parent / "data" / "alone.json"
PADDED = re.compile(r"ld(\d+),(\d+),(\d+)(?:\+align(?P<align>\d+))?")
"""A ``Problem.layout`` of matrices with elements between their columns, or that begin anywhere."""
LETTERS = (*DTYPES, *(f"{letter} {math}" for math in EMULATED for letter in MATH_TYPES[math]))
"""Types, as points of theirs are filed."""
Product = tuple[str, Problem]
"""The key of a device, and what was multiplied on it."""
Gains = dict[Product, dict[str, float]]


def timed(files: Iterable[Path]) -> Gains:
    """The gain of every default that was timed, by itself or as what a call ran, by product and stencil."""
    found: Gains = {}
    device = ""
    for file in files:
        for line in lines.read(file):
            device = line.get("device", device)
            if line.get("kind") == "models":
                of = Problem.parse(line["problem"])[0]
                gain = _as_default(line, of, TARGETS["cuda"].devices[device])
                if gain is not None:
                    found.setdefault((device, of), {})[line["stencil"]] = gain
                continue
            if line.get("kind") not in ("alone", "large") or line.get("math") == "tf32":
                continue
            p = problem_of(line)
            if p is not None and "default" in (line.get("origin"), line.get("from")):
                # How columns are aligned is said of the point, and not of the stencil as it is of batches.
                stencil = line["stencil"].split()[0]
                # Of a call that asked for another math a kernel of the numbers as they are says nothing.
                if p.math in STENCILS[stencil].maths:
                    found.setdefault((device, p), {})[stencil] = line["against_cublas"]
    return found


def _as_default(line: Line, p: Problem, device: Device) -> float | None:
    """The gain of what is a stencil's default now, of a line of turns; None where it was not among them."""
    now = STENCILS[line["stencil"]].default(p, device)
    took = [line[f"{name}_us"] for name in ("default", "first", "best") if Config(line[name]) == now]
    return line["cublas_us"] / took[0] if took else None


def problem_of(line: Line) -> Problem | None:
    """What a line was timed on; None where its layout is none of a product alone."""
    p = Problem.parse(line["problem"], math=line.get("math", "ieee"), beta=line.get("beta", "0"))[0]
    layout = line.get("layout", "packed")
    if layout == "packed":
        return p
    found = PADDED.fullmatch(layout)
    if found is None:
        return None
    lda, ldb, ldc = (int(digits) for digits in found.groups()[:3])
    return p.with_(lda=lda, ldb=ldb, ldc=ldc, align=int(found["align"] or vectors.WIDE))


def gathered(found: Gains) -> dict[str, Any]:
    """The points: by device, stencil and type."""
    table: dict[str, Any] = {}
    for (device, p), gains in found.items():
        if alone.is_alone(p):
            units = None if p.layout == "packed" else alone.point(p).units
            for stencil, gain in gains.items():
                rows = table.setdefault(device, {}).setdefault(stencil, {}).setdefault(alone.filed(p), [])
                rows.append([*p.extents, p.trans, alone.point(p).beta, units, round(gain, 3)])
    return table


def added(held: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables in one, new rows in place of those of the same product."""
    found: dict[str, Any] = {}
    for device, stencil, letter in dict.fromkeys((*_lists(held), *_lists(new))):
        rows = {
            tuple(map(str, row[:-1])): row
            for table in (held, new)
            for row in table.get(device, {}).get(stencil, {}).get(letter, ())
        }
        found.setdefault(device, {}).setdefault(stencil, {})[letter] = list(rows.values())
    return found


def _lists(table: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for device, stencils in table.items():
        for stencil, letters in stencils.items():
            yield from ((device, stencil, letter) for letter in letters)


def verdicts(
    found: Gains, table: Mapping[str, Any], library: Mapping[Product, float] | None = None
) -> list[Line]:
    """What runs of each product by a table, and what would have been best; ``library``: what a call of the
    library's product made of some."""
    known = {
        (stencil, letter): measured
        for stencils in table.values()
        for stencil, letters in stencils.items()
        for letter in LETTERS
        if (measured := alone.points(letters, letter)) is not None
    }
    judged = []
    for (device, p), gains in found.items():
        theirs = 1.0 if alone.by_own_routine(p) else (library or {}).get((device, p), 1.0)
        letter, offers = alone.filed(p), [(1.0, "cublas", theirs)]
        for stencil, gain in gains.items():
            if (stencil, letter) in known:
                sure, expected = known[stencil, letter].foretold(alone.point(p))
                if sure >= 1:
                    offers.append((max(expected, 1.0), stencil, gain))
        _, stencil, gain = max(offers)
        best = max(1.0, *gains.values()) if gains else 1.0
        judged.append({"problem": p.spelling, "type": letter, "runs": stencil, "gain": gain, "best": best})
    return judged


def summary(judged: Sequence[Line]) -> Table:
    """By type."""
    shown = Table(title="cuBLAS's time over that of what runs")
    for head in ("type", "products", "ours", "mean", "least", f"< {LOW}", "best: mean"):
        shown.add_column(head)
    for letter in dict.fromkeys(line["type"] for line in judged):
        of = [line for line in judged if line["type"] == letter]
        gains = [line["gain"] for line in of]
        shown.add_row(
            *(letter, str(len(of)), str(sum(line["runs"] != "cublas" for line in of))),
            *(f"{statistics.geometric_mean(gains):.3f}", f"{min(gains):.3f}"),
            str(sum(gain < LOW for gain in gains)),
            f"{statistics.geometric_mean([line['best'] for line in of]):.3f}",
        )
    return shown


def apart(found: Gains, part: float) -> list[Line]:
    """What data of some products says of the others, several times."""
    judged: list[Line] = []
    for seed in range(DRAWS):
        draw = random.Random(seed)
        held = {product for product in found if draw.random() < part}
        table = gathered({product: gains for product, gains in found.items() if product not in held})
        judged += verdicts({product: found[product] for product in held}, table)
    return judged


def drawn(files: Iterable[Path]) -> tuple[dict[str, list[Product]], dict[Product, float]]:
    """The products of each random draw, and what a call of the library's product made of some of them."""
    draws: dict[str, set[Product]] = {}
    library: dict[Product, float] = {}
    called: set[str] = set()
    for file in files:
        device = seed = ""
        for line in lines.read(file):
            if line.get("kind") == "run":
                options = line.get("options") or {}
                device, random_ = line.get("device", device), options.get("what") == "random"
                seed = str(options["seed"]) if random_ and options.get("seed") is not None else ""
            p = problem_of(line) if seed and line.get("kind") == "alone" else None
            if p is None or not alone.is_alone(p):
                continue
            draws.setdefault(seed, set()).add((device, p))
            if line["origin"] == "call":
                called.add(seed)
                if line["from"] == "vendor":
                    library[device, p] = line["against_cublas"]
    parted: dict[str, list[Product]] = {}
    for seed, products in draws.items():
        order = sorted(products, key=lambda product: product[1].spelling)
        random.Random(seed).shuffle(order)
        count = 1 if seed in called else PARTS
        parted |= {f"{seed}.{part}": order[part::count] for part in range(count)}
    return parted, library


def without(table: Mapping[str, Any], products: Iterable[Product]) -> dict[str, Any]:
    """A table without the points of these products, in any type whose points are one with theirs."""
    gone = {
        (device, letter, *row[:-1])
        for device, stencils in gathered({product: {"any": 1.0} for product in products}).items()
        for own, rows in stencils["any"].items()
        for letter in (alone.HALVES if own in alone.HALVES else (own,))
        for row in map(_hashable, rows)
    }
    found: dict[str, Any] = {}
    for device, stencil, letter in _lists(table):
        rows = table[device][stencil][letter]
        kept = [row for row in rows if (device, letter, *_hashable(row)[:-1]) not in gone]
        found.setdefault(device, {}).setdefault(stencil, {})[letter] = kept
    return found


def _hashable(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(tuple(each) if isinstance(each, list | tuple) else each for each in row)


def by_draws(files: Sequence[Path], table: Mapping[str, Any]) -> list[Line]:
    """What runs of the products of each draw by a table without them, and what it made."""
    draws, library = drawn(files)
    gains = timed(files)
    shipped: dict[tuple[Any, ...], dict[str, float]] = {}
    for device, stencil, letter in _lists(table):
        for row in map(_hashable, table[device][stencil][letter]):
            shipped.setdefault((device, letter, *row[:-1]), {})[stencil] = row[-1]
    judged: list[Line] = []
    for products in draws.values():
        found: Gains = {}
        for product in products:
            ((letter, (row,)),) = gathered({product: {"any": 1.0}})[product[0]]["any"].items()
            point = (product[0], letter, *_hashable(row)[:-1])
            found[product] = gains.get(product, {}) | shipped.get(point, {})
        judged += verdicts(found, without(table, products), library)
    letters = list(LETTERS)
    return sorted(judged, key=lambda line: letters.index(line["type"]))


def main() -> None:
    """The command."""
    parser = lines.parser("bench.foretold", __doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--hold", type=float, default=0.0, help="the part of all that is held apart")
    parser.add_argument("--check", action="store_true", help="hold what ships against the files")
    parser.add_argument("--add", action="store_true", help="keep what ships of other products")
    parser.add_argument("--draws", action="store_true", help="foretell random draws without their own points")
    parser.add_argument("--doubt", type=float, help="of --draws, for all types (default: the planner's)")
    options = parser.parse_args()
    console = lines.console()
    if options.draws:
        if options.doubt is not None:
            alone.DOUBTS.update(dict.fromkeys(DTYPES, options.doubt))
        console.print(summary(by_draws(options.files, alone.table())))
        return
    found = timed(options.files)
    if options.hold or options.check:
        judged = apart(found, options.hold) if options.hold else verdicts(found, alone.table())
        console.print(summary(judged))
        return
    data = json.loads(DATA.read_text("utf-8"))
    new = gathered(found)
    data["devices"] = added(data["devices"], new) if options.add else data["devices"] | new
    DATA.write_text(written(data), "utf-8")
    for device, stencils in data["devices"].items():
        for stencil, letters in stencils.items():
            console.print(f"{device} {stencil}: {sum(map(len, letters.values()))}")


if __name__ == "__main__":
    main()
