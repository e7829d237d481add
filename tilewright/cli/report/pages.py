"""One page, from records to a file: of one set of records, or of two beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilewright.cli.report import markup
from tilewright.cli.report.gather import gathered
from tilewright.cli.report.peers import Figures
from tilewright.model import Device, Record

Row = dict[str, Any]


def report(
    out: Path,
    rows: Sequence[Record],
    devices: Sequence[Device],
    figures: Figures | None = None,
    *,
    every: bool = False,
    library: str = "embedded",
) -> Row:
    """Write the page of these records, devices without a right kernel left out, and say what it holds.

    Returns ``path``, the keys of the ``devices``, the numbers of ``problems``, of ``tries`` and of those
    that are ``shown``, and the ``bytes`` of the page without the plotting library. ``library`` is one of
    ``markup.LIBRARIES``; ``figures`` and ``every`` are those of ``gather.gathered``. Raises ``DeviceError``
    when plotly is not installed, ``ArgumentError`` when there is nothing to show or the page cannot be
    written.
    """
    data = gathered(rows, devices, figures, every)
    title = "Tilewright on " + ", ".join(device["name"] for device in data["devices"])
    scripts = ("common.js", "data.js", "overall.js", "list.js", "problem.js")
    size = markup.write(out, markup.report_body(data), scripts, title, data, library)
    return {
        "path": str(out),
        "devices": [device["key"] for device in data["devices"]],
        "problems": sum(device["problems"] for device in data["devices"]),
        "tries": data["tries"],
        "shown": data["shown"],
        "bytes": size,
    }


def comparison(out: Path, data: Row, *, library: str = "embedded") -> int:
    """Write the page of what ``differences.compared`` found; returns its bytes without the plotting library.

    Raises as ``report`` does.
    """
    title = f"Tilewright: {data['after']['label']} beside {data['before']['label']}"
    return markup.write(out, markup.compare_body(data), ("common.js", "compare.js"), title, data, library)
