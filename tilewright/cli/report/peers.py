"""Speeds of what else was timed, from files of measurements: beside the records, which know the vendor's
alone.

Three kinds of files are understood: what ``tilewright bench --json`` prints, the lines of ``bench/`` that
name their peer, and those that have cuBLAS beside a kernel. They name no device where they lie in a folder
of its key, as those of ``bench/results`` do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewright.errors import ArgumentError, TilewrightError
from tilewright.model import parsed
from tilewright.store.jsonl import read_text

Figures = dict[tuple[str, str, str], dict[str, float]]
"""10^9 operations a second by peer, of (device, problem's key, regime)."""

COPY = "copy"
"""The name, in place of a problem's key, under which a device's rate of a copy is kept, in bytes/s."""


def read(paths: Iterable[Path], devices: Sequence[str]) -> Figures:
    """The figures in files, of these devices; later files replace what earlier ones say of the same.

    Raises ``RecordsError`` for a file that cannot be read, ``ArgumentError`` for one that holds no figures of
    these devices.
    """
    found: Figures = {}
    for path in paths:
        before = sum(map(len, found.values()))
        here = path.absolute().parent.name
        for row in _rows(path):
            device = str(row.get("device", here))
            if row.get("kind") == "run" or row.get("threads", 1) != 1 or device not in devices:
                continue
            for name, peer, value in _figures(row):
                if math.isfinite(value) and value > 0:
                    found.setdefault((device, *name), {})[peer] = value
        if sum(map(len, found.values())) == before:
            raise ArgumentError(
                f"peers={str(path)!r} has no figure of {', '.join(devices)}; accepted: what "
                "tilewright bench --json prints, and lines of bench/results/DEVICE/"
            )
    return found


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """The objects in a file, a list of them or one a line. Raises ``ArgumentError`` for other text."""
    text = read_text(path)
    try:
        whole = json.loads(text) if text.lstrip().startswith("[") else None
        lines = text.split("\n") if whole is None else []
        rows = whole if whole is not None else [json.loads(line) for line in lines if line.strip()]
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"peers={str(path)!r} is not JSON: {error}") from error
    return (row for row in rows if isinstance(row, dict))


def _figures(row: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str, float]]:
    """((key, regime), peer, speed) of each figure in a row that is not our own."""
    try:
        if row.get("kind") == COPY:
            yield (COPY, ""), COPY, float(row["bytes_per_second"])
            return
        (problem,) = parsed(str(row["problem"]), beta=str(row.get("beta", "0")))
        name = problem.key, str(row.get("regime", "memory"))
        if "ratios" in row:
            for peer, ratio in row["ratios"].items():
                if ratio:
                    yield name, str(peer), float(row["gflops"]) / float(ratio)
        elif "peer" in row and "gflops" in row:
            if row["peer"] != "tilewright" and row.get("status", "ok") == "ok":
                yield name, str(row["peer"]), float(row["gflops"])
        elif row.get("cublas_tflops") and row.get("layout", "packed") == problem.layout:
            planes = str(row.get("peer", "")).startswith("planar")
            yield name, "cuBLAS on planes" if planes else "cuBLAS", 1e3 * float(row["cublas_tflops"])
    except (KeyError, TypeError, ValueError, AttributeError, TilewrightError):
        # A row of another measurement: what has no problem or no speed is no figure of a peer.
        return


def copies(figures: Figures) -> dict[str, dict[str, float]]:
    """The rate of a copy, as a ceiling of ``Device.ceilings``, of the devices of which the files say one."""
    return {
        device: {"bandwidth.copy.1": values[COPY]}
        for (device, key, _), values in figures.items()
        if key == COPY
    }
