"""Recorded search spaces: every config of a space with what it took, read from a table.

A table is a CSV file, gzipped or not: a column for each parameter, then ``time_ms`` (empty: the config
failed), ``compile_ms`` and ``benchmark_ms``, what trying it cost. Those of this package's own stencils are in
``bench/spaces`` (``bench.record``), with ``time_ms`` of the whole batch. Public ones are in the benchmark hub
of the autotuning community (F.-J. Willemsen et al., "A methodology for comparing optimization algorithms for
auto-tuning", 2024; zenodo 10.5281/zenodo.15364124); this repository holds none of them.
"""

from __future__ import annotations

import csv
import gzip
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tilewright.model import Config, Record, Timing
from tilewright.space import Param, Rule, Space

COSTS = ("time_ms", "compile_ms", "benchmark_ms")


class _Listed:
    """A rule's test: whether a point is among those of a list."""

    def __init__(self, names: tuple[str, ...], points: set[tuple[Any, ...]]):
        self.reads, self._points = names, points

    def __call__(self, **values: Any) -> bool:
        return tuple(values[name] for name in self.reads) in self._points


@dataclass(frozen=True)
class Recorded:
    """A space with the time of every config, ms (inf: it failed), and the seconds that trying it took."""

    name: str
    params: dict[str, tuple[Any, ...]]
    times: dict[Config, float]
    seconds: dict[Config, float]

    def space(self) -> Space:
        """The space, made anew: searches of one process share nothing."""
        names = tuple(self.params)
        points = {tuple(config[name] for name in names) for config in self.times}
        rule = Rule("recorded", "hard", "there is no record of it", _Listed(names, points))
        return Space([Param(name, values) for name, values in self.params.items()], [rule])

    @cached_property
    def records(self) -> dict[Config, Record]:
        """What a tuner would have sent back to a search."""
        return {config: self._record(config, time) for config, time in self.times.items()}

    def _record(self, config: Config, time: float) -> Record:
        right = math.isfinite(time)
        seconds = time / 1e3
        timing = Timing((seconds,), seconds, seconds, seconds, "memory", 1, 1) if right else None
        return Record(None, "memory", self.name, config, "ok" if right else "crashed", "", "", timing=timing)

    @property
    def best(self) -> float:
        """The least time, ms."""
        return min(self.times.values())


def number(text: str) -> Any:
    """A whole number, another number, or the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def read(path: Path) -> Recorded:
    """A recorded space from a file. Raises ``SystemExit`` for one that lacks a column."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    rows = list(csv.DictReader(text.splitlines()))
    missing = [name for name in COSTS if not rows or name not in rows[0]]
    if missing:
        raise SystemExit(f"{path}: no column {missing[0]!r}; accepted: parameters, then {', '.join(COSTS)}")
    names = [name for name in rows[0] if name not in COSTS]
    points = [Config({name: number(row[name]) for name in names}) for row in rows]
    return Recorded(
        path.name.split(".")[0],
        {name: tuple(sorted({point[name] for point in points})) for name in names},
        {point: float(row["time_ms"] or "inf") for point, row in zip(points, rows, strict=True)},
        {
            point: (float(row["compile_ms"] or 0) + float(row["benchmark_ms"] or 0)) / 1e3
            for point, row in zip(points, rows, strict=True)
        },
    )
