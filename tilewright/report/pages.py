"""One page of what the records hold: winners against the bound, a table of them, and every sweep.

A sweep is all tries of one problem in the order in which they were made, as in figure 4 of Masliah
et al. (2019).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from tilewright import roofline
from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Device, Record
from tilewright.records import Records

SWEEPS_MOST = 24
VENDOR = "vendor"
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f")
STYLE = """body { font: 15px/1.5 sans-serif; max-width: 1200px; margin: 2em auto; color: #222; }
table { border-collapse: collapse; } td, th { padding: 0.15em 0.8em; text-align: right; }
tr:nth-child(even) { background: #f4f4f4; } td:first-child, th:first-child { text-align: left; }
td, th { white-space: nowrap; }
td:last-child, th:last-child { text-align: left; white-space: normal; }"""


@dataclass(frozen=True, slots=True)
class Solved:
    """One problem in one regime: its winner, NumPy's product where it was timed, the bound, and all tries."""

    best: Record
    vendor: Record | None
    bound: float | None
    tries: list[Record]


def gflops(record: Record | None) -> float | None:
    """10^9 operations a second of a record; None for a try without a timing."""
    if record is None or record.timing is None:
        return None
    return record.problem.flops * record.timing.batch / record.timing.median / 1e9


def write(out: Path, records: Records, device: Device) -> dict[str, Any]:
    """Write the page and say what it holds.

    Raises ``DeviceError`` when plotly is not installed, ``ArgumentError`` when there is nothing to
    show or the page cannot be written.
    """
    try:
        import plotly.graph_objects as go
    except ImportError as error:
        raise DeviceError("the report needs plotly: pip install 'tilewright[report]'") from error
    rows = records.all(device=device.key) or records.shipped(device.key)
    solved = _solved(rows, records, device)
    if not solved:
        raise ArgumentError("the records hold no timed kernel of this machine: tilewright tune makes some")
    figures = [_winners(go, group, device) for group in _groups(solved)]
    sweeps = sorted((s for s in solved if len(s.tries) > 2), key=lambda s: -len(s.tries))[:SWEEPS_MOST]
    figures += [_sweep(go, sweep) for sweep in sweeps]
    parts = [f.to_html(full_html=False, include_plotlyjs=number == 0) for number, f in enumerate(figures)]
    head = f"{escape(device.name)} ({escape(device.key)})"
    page = (
        f"<!doctype html>\n<html lang=en><meta charset=utf-8><title>Tilewright on {head}</title>\n"
        f"<style>{STYLE}</style>\n<h1>{head}</h1>\n<p>{len(rows)} tries of {len(solved)} problems, one core. "
        "The bound is what memory or the arithmetic units of this machine allow.</p>\n"
        f"{_table(solved)}\n" + "\n".join(parts) + "\n</html>\n"
    )
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"page {str(out)!r} cannot be written: {error.strerror}") from error
    return {"path": str(out), "problems": len(solved), "tries": len(rows), "sweeps": len(sweeps)}


def _solved(rows: list[Record], records: Records, device: Device) -> list[Solved]:
    """Every problem and regime with a winner, by type, regime, class and size."""
    tries: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for row in rows:
        tries[row.problem.key, row.regime].append(row)
    found = []
    for (key, regime), own in tries.items():
        best = records.best(key, regime, device.key, without=VENDOR)
        if best is None:
            continue
        bound = None
        if device.ceilings:
            # A kernel may stream C or not, so the bound is that of the better way.
            ways = (
                roofline.bound(best.problem, device, regime, 1, streaming=way).flops_per_s
                for way in (False, True)
            )
            bound = max(ways) / 1e9
        vendor = next((row for row in reversed(own) if row.stencil == VENDOR), None)
        found.append(Solved(best, vendor, bound, [row for row in own if row.stencil != VENDOR]))
    return sorted(found, key=_order)


def _order(solved: Solved) -> tuple[Any, ...]:
    p = solved.best.problem
    return (
        "sdcz".find(p.dtype.letter),
        solved.best.regime,
        p.trans,
        p.beta,
        p.layout,
        p.m * p.n * p.k,
        p.m,
        p.n,
    )


def _groups(solved: list[Solved]) -> list[list[Solved]]:
    """The square problems, those of one type and regime together."""
    groups: dict[tuple[str, str], list[Solved]] = defaultdict(list)
    for one in solved:
        p = one.best.problem
        if p.m == p.n == p.k:
            groups[p.dtype.letter, one.best.regime].append(one)
    return list(groups.values())


def _figure(go: Any, title: str, x: str) -> Any:
    layout = {"template": "plotly_white", "height": 420, "title": {"text": title}}
    axes = {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": "GF/s"}, "rangemode": "tozero"}}
    return go.Figure(layout=layout | axes)


def _winners(go: Any, group: list[Solved], device: Device) -> Any:
    """Speed over n: the best kernel, the bound and NumPy, in one colour for one class of problems."""
    first = group[0].best
    figure = _figure(go, f"Winners: type {first.problem.dtype.letter}, {first.regime}", "n")
    lines: dict[str, list[Solved]] = defaultdict(list)
    for one in group:
        p = one.best.problem
        layout = "" if p.layout == "packed" else f" {p.layout}"
        lines[f"{p.trans} alpha {p.alpha} beta {p.beta}{layout}"].append(one)
    for number, (name, points) in enumerate(sorted(lines.items())):
        n, colour = [one.best.problem.n for one in points], COLOURS[number % len(COLOURS)]
        ours = {"color": colour, "width": 2}
        figure.add_scatter(
            x=n, y=[gflops(one.best) for one in points], name=name, mode="lines+markers", line=ours
        )
        others = (
            ("bound", [one.bound for one in points], "dot"),
            ("NumPy", [gflops(one.vendor) for one in points], "dash"),
        )
        for what, y, dash in others:
            figure.add_scatter(
                x=n,
                y=y,
                name=f"{name}: {what}",
                mode="lines",
                line={"color": colour, "dash": dash, "width": 1},
            )
    return figure


def _sweep(go: Any, solved: Solved) -> Any:
    """Every try of one problem, by stencil, with its config to be read off."""
    best = solved.best
    figure = _figure(go, f"Tries: {best.problem.key}, {best.regime}", "try")
    for stencil in sorted({record.stencil for record in solved.tries}):
        own = [(i, r) for i, r in enumerate(solved.tries) if r.stencil == stencil and gflops(r) is not None]
        figure.add_scatter(
            x=[i for i, _ in own],
            y=[gflops(r) for _, r in own],
            text=[repr(r.config) for _, r in own],
            name=stencil,
            mode="markers",
        )
    if solved.bound is not None:
        figure.add_hline(y=solved.bound, line={"dash": "dot", "width": 1}, annotation_text="bound")
    return figure


def _table(solved: list[Solved]) -> str:
    """One row a problem: what was tried, what became of it, and the winner."""
    head = ("problem", "regime", "tried", "failed", "GF/s", "% of bound", "x NumPy", "winner")
    rows = []
    for one in solved:
        speed, vendor = gflops(one.best), gflops(one.vendor)
        status = {row.config: row.status for row in one.tries}
        failed = Counter(s for s in status.values() if s != "ok")
        told = ", ".join(f"{count} {name}" for name, count in sorted(failed.items())) or "-"
        percent = f"{100 * speed / one.bound:.0f}" if speed and one.bound else "-"
        ratio = f"{speed / vendor:.2f}" if speed and vendor else "-"
        cells = (
            one.best.problem.key.replace("|packed|", "|").replace("|ieee", ""),
            one.best.regime,
            str(len(status)),
            told,
            "-" if speed is None else f"{speed:.1f}",
            percent,
            ratio,
            f"{one.best.stencil}: {one.best.config}",
        )
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    top = "<tr>" + "".join(f"<th>{name}</th>" for name in head) + "</tr>"
    return "<table>" + top + "\n".join(rows) + "</table>"
