"""One page of what the records hold: the winners of each type against the bound, and every sweep.

A sweep is all tries of one problem in the order in which they were made, as in figure 4 of Masliah
et al. (2019).
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from tilewright import roofline
from tilewright.errors import DeviceError
from tilewright.model import Device, Record
from tilewright.records import Records

SWEEPS_MOST = 24


def gflops(record: Record) -> float | None:
    """10^9 operations a second of a record; None for a try without a timing."""
    timing = record.timing
    return None if timing is None else record.problem.flops * timing.batch / timing.median / 1e9


def write(out: Path, records: Records, device: Device) -> dict[str, Any]:
    """Write the page and say what it holds. Raises ``DeviceError`` when plotly is not installed."""
    try:
        import plotly.graph_objects as go
    except ImportError as error:
        raise DeviceError("the report needs plotly: pip install 'tilewright[report]'") from error
    rows = records.all(device=device.key) or records.shipped(device.key)
    by_problem: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for row in rows:
        by_problem[row.problem.key, row.regime].append(row)
    figures = [_winners(go, by_problem, records, device)]
    sweeps = sorted(by_problem.items(), key=lambda item: -len(item[1]))[:SWEEPS_MOST]
    figures += [_sweep(go, *name, tries) for name, tries in sweeps if len(tries) > 2]
    parts = [
        figure.to_html(full_html=False, include_plotlyjs=number == 0) for number, figure in enumerate(figures)
    ]
    out.write_text(
        f"<!doctype html><meta charset=utf-8><title>Tilewright on {device.name}</title>"
        f"<h1>{device.name} ({device.key})</h1>" + "\n".join(parts)
    )
    return {"path": str(out), "problems": len(by_problem), "tries": len(rows)}


def _winners(
    go: Any, by_problem: dict[tuple[str, str], list[Record]], records: Records, device: Device
) -> Any:
    """Speed of the best kernel over n, and the bound, for square problems of each type and regime."""
    lines: dict[str, list[tuple[int, float, float | None]]] = defaultdict(list)
    for key, regime in by_problem:
        best = records.best(key, regime, device.key)
        if best is None or not best.problem.m == best.problem.n == best.problem.k:
            continue
        p, speed = best.problem, gflops(best)
        bound = roofline.bound(p, device, regime, 1).flops_per_s / 1e9 if device.ceilings else None
        if speed is not None:
            lines[f"{p.dtype.letter}:{p.trans} beta {p.beta}, {regime}"].append((p.n, speed, bound))
    figure = go.Figure(layout={"title": "Winners and bounds", "xaxis_title": "n", "yaxis_title": "GF/s"})
    for name, points in sorted(lines.items()):
        points.sort()
        n = [point[0] for point in points]
        figure.add_scatter(x=n, y=[point[1] for point in points], name=name, mode="lines+markers")
        figure.add_scatter(x=n, y=[point[2] for point in points], name=f"{name}: bound", line={"dash": "dot"})
    return figure


def _sweep(go: Any, key: str, regime: str, tries: list[Record]) -> Any:
    """Every try of one problem, by stencil, with its config to be read off."""
    figure = go.Figure(layout={"title": f"{key}, {regime}", "xaxis_title": "try", "yaxis_title": "GF/s"})
    for stencil in sorted({record.stencil for record in tries}):
        own = [(i, r) for i, r in enumerate(tries) if r.stencil == stencil and gflops(r) is not None]
        figure.add_scatter(
            x=[i for i, _ in own],
            y=[gflops(r) for _, r in own],
            text=[repr(r.config) for _, r in own],
            name=stencil,
            mode="markers",
        )
    return figure
