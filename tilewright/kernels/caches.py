"""Cache files of Kernel Tuner as records, so that its users bring what they measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.custom.definition import Definition
from tilewright.custom.problem import KernelProblem
from tilewright.errors import RecordsError
from tilewright.kernels import schemas
from tilewright.model import Config, Record, Timing
from tilewright.tuning.timing import median_interval

PROTOCOL = 0
"""The protocol of figures that others took: every figure of our own outranks them."""
MILLI = 1e-3


def read(path: Path, problem: KernelProblem, device: str | None = None) -> list[Record]:
    """The tries in a cache file as records of a kernel, filed under ``device``, or under the name that the
    file gives if that is None. They are of the regime ``cached``: Kernel Tuner launches on the same operands
    again.

    A file whose last braces are missing is read all the same. Raises ``RecordsError`` for a file that is not
    a cache, or is one of other parameters; configs that the kernel's parameters do not have are left out.
    """
    document = schemas.read(path, schemas.CACHE, open_ended=True)
    made = problem.made
    names = [param.name for param in made.params]
    theirs = document["tune_params_keys"]
    if sorted(theirs) != sorted(names):
        raise RecordsError(
            f"{str(path)!r} is of parameters {', '.join(theirs)}; accepted: those of {made.name}: "
            f"{', '.join(names)}"
        )
    key = device or slug(document["device_name"])
    said = f"kernel_tuner cache {document.get('schema_version', 'without a version')}"
    rows = []
    for entry in document["cache"].values():
        config = _config(entry, made)
        if config is not None:
            rows.append(_record(entry, config, problem, key, said))
    return rows


def slug(name: str) -> str:
    """A device's name as a key of records."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _config(entry: Mapping[str, Any], made: Definition) -> Config | None:
    """A config of the kernel's own values; None where it has no such value."""
    values = {}
    for param in made.params:
        found = [value for value in param.values if value == entry.get(param.name)]
        if not found:
            return None
        values[param.name] = found[0]
    return Config(values)


def _record(
    entry: Mapping[str, Any], config: Config, problem: KernelProblem, device: str, said: str
) -> Record:
    time = entry["time"]
    failed = isinstance(time, str)
    status = schemas.FAILURES[time] if failed else "ok"
    timing = None
    if not failed:
        samples = tuple(float(each) * MILLI for each in entry.get("times", ())) or (float(time) * MILLI,)
        timing = Timing(samples, *median_interval(samples), "cached", problem.batch, PROTOCOL)
    return Record(
        problem,
        "cached",
        f"custom-{problem.made.target}",
        config,
        status,
        device,
        said,
        seconds=None if failed else float(time) * MILLI,
        timing=timing,
        detail=time if failed else "",
        protocol=PROTOCOL,
        when=str(entry.get("timestamp", "")).replace(" ", "T"),
    )
