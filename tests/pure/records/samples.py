"""Records to put into stores, and what of them is asked for."""

from __future__ import annotations

import json
import os
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilewright.model import Config, Problem, Record, Timing
from tilewright.store.jsonl import encode
from tilewright.store.records import Records

PROBLEM = Problem.parse("d:8x8x8@1000")[0]
DEVICE = "zen-avx2"


def timing(median: float, batch: int = 1000, regime: str = "memory", protocol: int = 1) -> Timing:
    samples = (median, median * 1.25, median * 0.75)
    return Timing(samples, median, median * 0.75, median * 1.25, regime, batch, protocol)


def record(
    median: float | None = 1e-3,
    problem: Problem | str = PROBLEM,
    regime: str = "memory",
    config: dict[str, Any] | None = None,
    protocol: int = 1,
    batch: int = 1000,
    **changes: Any,
) -> Record:
    """A usable result, or a failed try when there is no median."""
    if isinstance(problem, str):
        (problem,) = Problem.parse(problem)
    plain = Record(
        problem, regime, "tile", Config(config or {"mr": 8, "nr": 4}), "ok", DEVICE, "llvm 20",
        timing=None if median is None else timing(median, batch, regime, protocol), protocol=protocol,
    )  # fmt: skip
    return replace(plain, **changes)


def ship(folder: Path, *lines: Record | dict[str, Any], device: str = DEVICE) -> None:
    plain = [encode(line, samples=False) if isinstance(line, Record) else line for line in lines]
    (folder / f"{device}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in plain))


def best(store: Records, problem: Problem = PROBLEM, regime: str = "memory") -> Record | None:
    return store.best(problem.key, regime, DEVICE)


def points_n(store: Records) -> list[int]:
    return [each.config["n"] for each in store.all()]


def damaged(folder: Path, name: str = "records.sqlite") -> list[Path]:
    return sorted(folder.glob(f"{name}.damaged-*"))


def only_reads(monkeypatch: pytest.MonkeyPatch, code: int = sqlite3.SQLITE_READONLY) -> None:
    """Lets no store be set up for writing, whoever runs the tests: as on a full disk, or a read-only one."""

    def refuse(*_: Any) -> None:
        failure = sqlite3.OperationalError("not here")
        failure.sqlite_errorcode = code
        raise failure

    monkeypatch.setattr("tilewright.store.connections._prepare", refuse)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
