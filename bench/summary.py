"""What ``bench.compare`` found, in short: ``python -m bench.summary FILE.jsonl... [--markdown]``.

For each type, beta, regime and number of threads: where ours is closest to (or behind) the best peer, the
geometric means over n = 2..32 against the best peer at each point and against NumPy, and every point
where ours is slower. Where a point was measured again, the last line of each peer counts.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable
from pathlib import Path

from bench.compare import Row, best_peer, geomean
from bench.peers import OURS, PEERS

MARKDOWN_SIZES = (2, 3, 4, 5, 8, 12, 16, 17, 24, 32)
MEAN_SIZES = range(2, 33)

Group = tuple[str, int, str, int]
Shape = tuple[int, int, int]
Points = dict[Shape, dict[str, Row]]


def load(paths: Iterable[Path]) -> dict[Group, Points]:
    """(type, beta, regime, threads) -> (m, n, k) -> peer -> its last row."""
    groups: dict[Group, Points] = {}
    for path in paths:
        for row in map(json.loads, path.read_text().splitlines()):
            group = (row["type"], row["beta"], row["regime"], row["threads"])
            point = groups.setdefault(group, {}).setdefault((row["m"], row["n"], row["k"]), {})
            point[row["peer"]] = row
    return groups


def text(group: Group, points: Points) -> str:
    """One group as a few lines."""
    letter, beta, regime, threads = group
    lines = [f"{letter} beta={beta} {regime} {threads} thread(s), {len(points)} shape(s)"]
    best = {shape: found for shape, rows in points.items() if (found := best_peer(list(rows.values())))}
    if not best:
        lines.append(f"  nothing to compare: {OURS} or every peer is missing")
    else:
        shape = min(best, key=lambda s: best[s][1])
        peer, ratio = best[shape]
        lines.append(f"  smallest ours/best {ratio:.3f} at {_size(shape)} ({peer})")
        square = [shape for shape in sorted(points) if len(set(shape)) == 1 and shape[0] in MEAN_SIZES]
        against_best = [best[shape][1] for shape in square if shape in best]
        against_numpy = [r for shape in square if (r := _ratio(points[shape], "numpy")) is not None]
        for name, ratios in (("best peer", against_best), ("numpy", against_numpy)):
            mean = geomean(ratios)
            shown = "none" if math.isnan(mean) else f"{mean:.3f}"
            lines.append(f"  geomean against {name} {shown} over {len(ratios)} of n=2..32")
        behind = [f"{_size(s)} {best[s][1]:.3f} ({best[s][0]})" for s in sorted(best) if best[s][1] < 1]
        lines.append(
            f"  slower at {len(behind)} of {len(best)}" + (": " + ", ".join(behind) if behind else "")
        )
    missing = {
        (row["peer"], row["status"], row["why"])
        for rows in points.values()
        for row in rows.values()
        if "why" in row
    }
    lines += [f"  {peer} {status}: {why}" for peer, status, why in sorted(missing)]
    return "\n".join(lines)


def markdown(group: Group, points: Points) -> str:
    """One group as a table: GF/s of every peer at the sizes of ``MARKDOWN_SIZES``."""
    letter, beta, regime, threads = group
    names = [name for name in PEERS if any(_right(rows.get(name)) for rows in points.values())]
    lines = [
        f"**{letter}, beta={beta}, {regime}, {threads} thread(s)**, GF/s",
        "",
        "| n | " + " | ".join(names) + " | ours/best | best peer |",
        "|--:|" + "--:|" * len(names) + "--:|:--|",
    ]
    for n in MARKDOWN_SIZES:
        rows = points.get((n, n, n))
        if rows is None:
            continue
        cells = [f"{rows[name]['gflops']:.2f}" if _right(rows.get(name)) else "" for name in names]
        best = best_peer(list(rows.values()))
        cells += [f"{best[1]:.2f}", best[0]] if best else ["", ""]
        lines.append(f"| {n} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the summary of the files that the command line names."""
    parser = argparse.ArgumentParser(
        prog="bench.summary", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.jsonl")
    parser.add_argument("--markdown", action="store_true", help="tables instead of lines")
    arguments = parser.parse_args()
    show = markdown if arguments.markdown else text
    for group, points in sorted(load(arguments.files).items()):
        print(show(group, points))


def _right(row: Row | None) -> bool:
    return row is not None and row["status"] == "ok"


def _ratio(rows: dict[str, Row], name: str) -> float | None:
    row = rows.get(name)
    return row["ratio"] if row is not None and _right(row) else None


def _size(shape: Shape) -> str:
    m, n, k = shape
    return f"n={n}" if m == n == k else f"{m}x{n}x{k}"


if __name__ == "__main__":
    main()
