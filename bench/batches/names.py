"""What a line of results says of its problem: type, order, and a name to show."""

from __future__ import annotations

from bench.lines import Line


def type_of(line: Line) -> str:
    """The letter of its type."""
    return str(line["problem"].partition(":")[0])


def order_of(line: Line) -> int:
    """Rows of C."""
    return int(line["problem"].split(":")[2].partition("x")[0])


def name_of(line: Line) -> str:
    """A point without its batch, except where that is what differs, and its stencil where there are two."""
    name = str(line["problem"])
    name = name if "count" in line else name.partition("@")[0]
    layout = line.get("layout", "packed")
    name += "" if layout == "packed" else f" {layout}"
    return name + (f" {line['stencil']}" if line["kind"] == "half" and line.get("stencil") else "")
