"""One page of what the records hold: winners against the bound, a table of them, and every sweep.

Each device has a section of its own, and where there are several one is chosen from a list. A sweep
is all tries of one problem in the order in which they were made, as in figure 4 of Masliah et al.
(2019).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Device, Record
from tilewright.planning import roofline
from tilewright.store.records import Records

SWEEPS_MOST = 24
VENDOR = "vendor"
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f")
STYLE = """body { font: 15px/1.5 sans-serif; max-width: 1200px; margin: 2em auto; color: #222; }
table { border-collapse: collapse; } td, th { padding: 0.15em 0.8em; text-align: right; }
tr:nth-child(even) { background: #f4f4f4; } td:first-child, th:first-child { text-align: left; }
td, th { white-space: nowrap; }
td:last-child, th:last-child { text-align: left; white-space: normal; }"""

CHOICE = """<p><label>Device: <select id=device onchange="chosen()">%s</select></label></p>"""
# A figure that was drawn while it was hidden has no width of its own yet.
SCRIPT = """<script>
function chosen() {
  const which = document.getElementById("device").value;
  for (const section of document.querySelectorAll("section")) {
    section.hidden = section.id !== which;
    if (!section.hidden)
      for (const figure of section.querySelectorAll(".plotly-graph-div")) Plotly.Plots.resize(figure);
  }
}
chosen();
</script>"""


@dataclass(frozen=True, slots=True)
class Words:
    """How the numbers of a kind of device are shown: a unit of so many 10^9 operations a second, the
    format of it, who the vendor is, and on what everything ran."""

    unit: str
    scale: float
    form: str
    vendor: str
    whole: str


WORDS = {
    "cpu": Words("GF/s", 1.0, ".1f", "NumPy", "one core"),
    "cuda": Words("TF/s", 1e3, ".2f", "cuBLAS", "the whole device"),
}


@dataclass(frozen=True, slots=True)
class Solved:
    """One problem in one regime: its winner, the vendor's product where it was timed, the bound, and all
    tries."""

    best: Record
    vendor: Record | None
    bound: float | None
    tries: list[Record]


def gflops(record: Record | None) -> float | None:
    """10^9 operations a second of a record; None for a try without a timing."""
    if record is None or record.timing is None:
        return None
    return float(record.problem.flops * record.timing.batch / record.timing.median / 1e9)


def write(out: Path, records: Records, devices: Sequence[Device]) -> dict[str, Any]:
    """Write a page of these devices, those without a timed kernel left out, and say what it holds.

    Raises ``DeviceError`` when plotly is not installed, ``ArgumentError`` when there is nothing to
    show or the page cannot be written.
    """
    try:
        import plotly.graph_objects as go
    except ImportError as error:
        raise DeviceError("the report needs plotly: pip install 'tilewright[report]'") from error
    shown: list[Device] = []
    sections: list[str] = []
    counts = Counter[str]()
    for device in devices:
        rows = records.all(device=device.key) or records.shipped(device.key)
        solved = _solved(rows, records, device)
        if solved:
            shown.append(device)
            text, sweeps = _section(go, device, rows, solved, script=not sections)
            sections.append(text)
            counts.update(problems=len(solved), tries=len(rows), sweeps=sweeps)
    if not shown:
        raise ArgumentError("the records hold no timed kernel of this machine: tilewright tune makes some")
    title = ", ".join(escape(device.name) for device in shown)
    choice = script = ""
    if len(shown) > 1:
        names = (f"<option value={_anchor(device)}>{_head(device)}</option>" for device in shown)
        choice, script = CHOICE % "".join(names), SCRIPT
    page = (
        f"<!doctype html>\n<html lang=en><meta charset=utf-8><title>Tilewright on {title}</title>\n"
        f"<style>{STYLE}</style>\n{choice}\n" + "\n".join(sections) + f"\n{script}\n</html>\n"
    )
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"page {str(out)!r} cannot be written: {error.strerror}") from error
    return {"path": str(out), "devices": [device.key for device in shown], **counts}


def _head(device: Device) -> str:
    return escape(device.name if device.name == device.key else f"{device.name} ({device.key})")


def _anchor(device: Device) -> str:
    return escape("device-" + "".join(c if c.isalnum() else "-" for c in device.key))


def _section(
    go: Any, device: Device, rows: list[Record], solved: list[Solved], script: bool
) -> tuple[str, int]:
    """A device's part of the page, and its number of sweeps. ``script``: with plotly's own program."""
    words = WORDS[device.kind]
    figures = [_winners(go, group, words) for group in _groups(solved)]
    sweeps = sorted((s for s in solved if len(s.tries) > 2), key=lambda s: -len(s.tries))[:SWEEPS_MOST]
    figures += [_sweep(go, sweep, words) for sweep in sweeps]
    parts = [
        figure.to_html(full_html=False, include_plotlyjs=script and number == 0, config={"responsive": True})
        for number, figure in enumerate(figures)
    ]
    # The program stands in the first section even where that has no figure of its own.
    if script and not parts:
        parts = [go.Figure(layout={"height": 1}).to_html(full_html=False, include_plotlyjs=True)]
    bound = "The bound is what memory or the arithmetic units of this machine allow."
    if device.kind == "cuda":
        bound = "The bound is a measured copy, or the arithmetic units at the top clock."
    if all(one.bound is None for one in solved):
        bound = "No bound: bandwidth and peak of this device are not known here."
    text = (
        f"<section id={_anchor(device)}>\n<h1>{_head(device)}</h1>\n"
        f"<p>{len(rows)} tries of {len(solved)} problems, {words.whole}. {bound}</p>\n"
        f"{_table(solved, words)}\n" + "\n".join(parts) + "\n</section>"
    )
    return text, len(sweeps)


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


def _figure(go: Any, title: str, x: str, words: Words) -> Any:
    layout = {"template": "plotly_white", "height": 420, "title": {"text": title}}
    axes = {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": words.unit}, "rangemode": "tozero"}}
    return go.Figure(layout=layout | axes)


def _scaled(value: float | None, words: Words) -> float | None:
    return None if value is None else value / words.scale


def _winners(go: Any, group: list[Solved], words: Words) -> Any:
    """Speed over n: the best kernel, the bound and the vendor, in one colour for one class of problems."""
    first = group[0].best
    figure = _figure(go, f"Winners: type {first.problem.dtype.letter}, {first.regime}", "n", words)
    lines: dict[str, list[Solved]] = defaultdict(list)
    for one in group:
        p = one.best.problem
        layout = "" if p.layout == "packed" else f" {p.layout}"
        lines[f"{p.trans} alpha {p.alpha} beta {p.beta}{layout}"].append(one)
    for number, (name, points) in enumerate(sorted(lines.items())):
        n, colour = [one.best.problem.n for one in points], COLOURS[number % len(COLOURS)]
        ours = {"color": colour, "width": 2}
        figure.add_scatter(
            x=n,
            y=[_scaled(gflops(one.best), words) for one in points],
            name=name,
            mode="lines+markers",
            line=ours,
        )
        others = (
            ("bound", [_scaled(one.bound, words) for one in points], "dot"),
            (words.vendor, [_scaled(gflops(one.vendor), words) for one in points], "dash"),
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


def _sweep(go: Any, solved: Solved, words: Words) -> Any:
    """Every try of one problem, by stencil, with its config to be read off."""
    best = solved.best
    figure = _figure(go, f"Tries: {best.problem.key}, {best.regime}", "try", words)
    for stencil in sorted({record.stencil for record in solved.tries}):
        own = [(i, r) for i, r in enumerate(solved.tries) if r.stencil == stencil and gflops(r) is not None]
        figure.add_scatter(
            x=[i for i, _ in own],
            y=[_scaled(gflops(r), words) for _, r in own],
            text=[repr(r.config) for _, r in own],
            name=stencil,
            mode="markers",
        )
    if solved.bound is not None:
        figure.add_hline(
            y=_scaled(solved.bound, words), line={"dash": "dot", "width": 1}, annotation_text="bound"
        )
    return figure


def _table(solved: list[Solved], words: Words) -> str:
    """One row a problem: what was tried, what became of it, and the winner."""
    head = ("problem", "regime", "tried", "failed", words.unit, "% of bound", f"x {words.vendor}", "winner")
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
            "-" if speed is None else format(speed / words.scale, words.form),
            percent,
            ratio,
            f"{one.best.stencil}: {one.best.config}",
        )
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    top = "<tr>" + "".join(f"<th>{name}</th>" for name in head) + "</tr>"
    return "<table>" + top + "\n".join(rows) + "</table>"
