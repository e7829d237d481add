"""Records as results in the community's T4 format (1.0.0), for tools that read what any tuner found."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tilewright.kernels import schemas
from tilewright.model import Record
from tilewright.store.jsonl import compact, write_text

VERSION = "1.0.0"
INVALIDITY = {
    "ok": "correct",
    "rejected": "constraints",
    "spills": "constraints",
    "compile_failed": "compile",
    "wrong": "correctness",
    "crashed": "runtime",
    "timeout": "timeout",
}
"""What T4 calls the status of a record."""
MILLI = 1e3


def result(record: Record) -> dict[str, Any]:
    """One try. Times are milliseconds of one launch, as Kernel Tuner's files have them. What T4 has no place
    for (the kernel, the device, the compiler, the protocol) stands among the measurements."""
    timing = record.timing
    values = {"kernel": record.problem.spelling, "device": record.device, "toolchain": record.toolchain}
    values |= {"regime": record.regime, "protocol": record.protocol, "stencil": record.stencil}
    measurements: list[dict[str, Any]] = []
    if record.seconds is not None:
        measurements.append({"name": "time", "value": record.seconds * MILLI, "unit": "ms"})
    if timing is not None:
        ends = [timing.low * MILLI, timing.high * MILLI]
        measurements.append({"name": "time of 95 % confidence", "value": ends, "unit": "ms"})
        measurements.append({"name": "items", "value": timing.batch, "unit": ""})
    if record.error is not None:
        measurements.append({"name": "error over its bound", "value": record.error, "unit": ""})
    if record.detail:
        values["detail"] = record.detail
    measurements += [
        {"name": name, "value": value, "unit": ""} for name, value in values.items() if value != ""
    ]
    runtimes = [] if timing is None else [sample * MILLI for sample in timing.samples or (timing.median,)]
    return {
        "timestamp": record.when,
        "configuration": dict(record.config),
        "objectives": ["time"],
        "times": {"runtimes": runtimes},
        "invalidity": INVALIDITY[record.status],
        "correctness": 1 if record.status == "ok" else 0,
        "measurements": measurements,
    }


def document(records: Iterable[Record]) -> dict[str, Any]:
    """All tries as one document. Raises ``RecordsError`` where it would not be T4."""
    made = {"schema_version": VERSION, "results": [result(record) for record in records]}
    schemas.check(made, schemas.T4, "results")
    return made


def write(path: Path, records: Iterable[Record]) -> int:
    """Writes a file of results, and returns how many there are. Raises ``RecordsError``."""
    made = document(records)
    write_text(path, compact(made) + "\n")
    return len(made["results"])
