"""Lines of results as figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.batches.names import type_of
from bench.lines import Line

Curve = tuple[list[float], list[float]]
AXES = {
    "squares": ("n", "of_copy", "share of a copy"),
    "rectangles": ("m n k", "of_copy", "share of a copy"),
    "half": ("n", "tflops", "TFLOP/s"),
    "updates": ("n", "tflops", "TFLOP/s"),
    "counts": ("products", "tflops", "TFLOP/s"),
    "crossover": ("n", "tensor_over_fma", "tensor cores over multiply-add units"),
}


def curves(command: str, found: Sequence[Line]) -> dict[str, Curve]:
    """Curves of a command by name, ours and the peer's where speeds are drawn: (x, y) in the order of x."""
    key = AXES[command][1]
    points: dict[str, dict[float, float]] = {}
    for line in found:
        if line["kind"] not in (command, "batches" if command == "squares" else command):
            continue
        m, n, k = (int(size) for size in line["problem"].split(":")[2].partition("@")[0].split("x"))
        x = {"rectangles": m * n * k, "counts": line.get("count")}.get(command, m)
        name = f"{type_of(line)} beta {line['beta']}"
        name += f" k={k}" if command == "updates" else ""
        name += f" n={n}" if command == "counts" else ""
        mine = f"{name} {line.get('stencil', '')}".rstrip() if key == "tflops" else name
        for curve, value in ((mine, line.get(key)), (f"{name} peer", line.get("cublas_tflops"))):
            if value and (curve == mine or key == "tflops"):
                points.setdefault(curve, {})[float(x or 0)] = value
    return {name: _curve(values) for name, values in points.items()}


def _curve(values: Mapping[float, float]) -> Curve:
    xs = sorted(values)
    return xs, [values[x] for x in xs]


def plot(path: Path, command: str, found: Sequence[Line]) -> str:
    """Draw a command's figure as a page; what came of it, in words."""
    if command not in AXES:
        return f"{command} has no figure"
    try:
        from plotly import graph_objects
    except ImportError:
        return "no figure: plotly is not installed"
    x, _, y = AXES[command]
    figure = graph_objects.Figure()
    mode = "markers" if command == "rectangles" else "lines+markers"
    for name, (xs, ys) in curves(command, found).items():
        figure.add_scatter(x=xs, y=ys, name=name, mode=mode)
    figure.update_layout(xaxis_title=x, yaxis_title=y)
    if command in ("counts", "rectangles"):
        figure.update_xaxes(type="log")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.write_html(path, include_plotlyjs="cdn")
    return f"figure: {path}"
