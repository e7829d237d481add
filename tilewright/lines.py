"""Records as lines of text: what the store keeps in a row, and what machines exchange as files.

A line is one flat JSON object, either a record or the measured ceilings of a device. Reading is
strict: an unknown key, a missing one or a value of the wrong kind is an error that names it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from tilewright.errors import ArgumentError, RecordsError
from tilewright.model import STATUSES, Config, GroupedProblem, Problem, Record, Task, Timing

T = TypeVar("T")

Ceilings = tuple[str, int, dict[str, float]]
"""Device key, number of cores, and the measured ceilings by name."""


def spelled(config: Config) -> str:
    """One text for one config: ``name=value`` in the order of the names."""
    return " ".join(f"{name}={compact(config[name])}" for name in sorted(config))


def compact(value: object) -> str:
    """JSON on one line. Raises ``RecordsError`` for a value that JSON cannot hold."""
    try:
        return json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise RecordsError(f"value={value!r} cannot be written: {error}") from error


def _plain(value: Any) -> Any:
    """The Python number in a NumPy scalar."""
    if not hasattr(value, "item"):
        raise TypeError(f"{type(value).__name__} is no number, text, truth value or sequence of them")
    return value.item()


def _number(value: float) -> float | str:
    """A float for JSON, which has no spelling for infinities and NaN: these become texts."""
    return value if math.isfinite(value) else str(float(value))


_LAYOUT = ("lda", "ldb", "ldc", "stride_a", "stride_b", "stride_c")
_CLASSES = {"alpha": ("1", "any"), "beta": ("0", "1", "any"), "math": ("ieee", "tf32")}
_TEXTS = ("source", "detail", "clocks", "driver", "when")


def encode(record: Record, samples: bool = True) -> dict[str, Any]:
    """A record as flat JSON: the problem by its spelling, and of all else what is not the default."""
    problem, timing = record.problem, record.timing
    line: dict[str, Any] = {"device": record.device}
    line |= problem.to_json() if isinstance(problem, GroupedProblem) else _spelled_problem(problem)
    line |= {"regime": record.regime, "stencil": record.stencil, "config": dict(record.config)}
    line |= {"status": record.status}
    if timing is not None:
        line |= {name: _number(getattr(timing, name)) for name in ("median", "low", "high")}
        line |= {"batch": timing.batch}
    line |= {"protocol": record.protocol}
    line |= {
        name: _number(value) for name in ("seconds", "error") if (value := getattr(record, name)) is not None
    }
    line |= {"toolchain": record.toolchain}
    line |= {name: value for name in _TEXTS if (value := getattr(record, name))}
    if timing is not None:
        line |= {"timing_regime": timing.regime} if timing.regime != record.regime else {}
        line |= {"timing_protocol": timing.protocol} if timing.protocol != record.protocol else {}
        line |= {"samples": [_number(s) for s in timing.samples]} if samples else {}
    return line


def _spelled_problem(problem: Problem) -> dict[str, Any]:
    """A problem by its spelling, and of all else what is not the default."""
    plain = Problem.parse(problem.spelling)[0]
    line: dict[str, Any] = {"problem": problem.spelling}
    # The layout goes as a whole: what one of its parts is by default may follow from another.
    for names in (_LAYOUT, *((name,) for name in _CLASSES)):
        values = {name: getattr(problem, name) for name in names}
        line |= values if any(getattr(plain, name) != value for name, value in values.items()) else {}
    return line


Check = tuple[str, Callable[[Any], bool]]
"""What a value has to be, in words and as a test."""


def _one_of(accepted: tuple[str, ...]) -> Check:
    return "one of " + ", ".join(accepted), lambda value: value in accepted


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) or value in ("inf", "-inf", "nan")


_TEXT: Check = ("a text", lambda value: isinstance(value, str))
_COUNT: Check = (
    "a whole number from 0 to 2**63 - 1",
    lambda value: type(value) is int and 0 <= value < 2**63,
)
_NUMBER: Check = ("a number", _is_number)
_NUMBERS: Check = (
    "a list of numbers",
    lambda value: isinstance(value, list) and all(_is_number(entry) for entry in value),
)
_CONFIG: Check = (
    "an object of names and plain values",
    lambda value: isinstance(value, dict) and not any(isinstance(entry, dict) for entry in value.values()),
)
_ACCEPTED = {
    "device": _TEXT,
    "problem": _TEXT,
    **dict.fromkeys(_LAYOUT, _COUNT),
    **{name: _one_of(values) for name, values in _CLASSES.items()},
    "align": _COUNT,
    "regime": _TEXT,
    "stencil": _TEXT,
    "config": _CONFIG,
    "status": _one_of(STATUSES),
    **dict.fromkeys(("median", "low", "high"), _NUMBER),
    **dict.fromkeys(("batch", "protocol"), _COUNT),
    **dict.fromkeys(("seconds", "error"), _NUMBER),
    "toolchain": _TEXT,
    **dict.fromkeys(_TEXTS, _TEXT),
    "timing_regime": _TEXT,
    "timing_protocol": _COUNT,
    "samples": _NUMBERS,
}
_REQUIRED = tuple(f.name for f in fields(Record) if f.default is MISSING)


def decode(line: Mapping[str, Any]) -> Record:
    """The record that ``encode`` wrote, without its raw samples if these were left out.

    Raises ``RecordsError`` naming the key that is missing, unknown or has a value that is not accepted.
    """
    _check(line, _ACCEPTED, _REQUIRED)
    values: dict[str, Any]
    values = {name: float(value) if _ACCEPTED[name] is _NUMBER else value for name, value in line.items()}
    given = {f.name: values[f.name] for f in fields(Record) if f.name in values}
    config = Config({name: _frozen(value) for name, value in line["config"].items()})
    return Record(**given | {"problem": _problem(values), "timing": _timing(values), "config": config})


def _frozen(value: Any) -> Any:
    """A value of a config as it was before JSON, which makes lists of tuples."""
    return tuple(_frozen(entry) for entry in value) if isinstance(value, list) else value


def _check(line: Mapping[str, Any], accepted: Mapping[str, Check], required: Iterable[str]) -> None:
    for name in required:
        if name not in line:
            raise RecordsError(f"{name!r} is missing")
    for name, value in line.items():
        if name not in accepted:
            raise RecordsError(f"{name!r} is no key here; accepted: {', '.join(accepted)}")
        words, test = accepted[name]
        if not test(value):
            raise RecordsError(f"{name}={value!r} is not accepted; accepted: {words}")


def _problem(values: Mapping[str, Any]) -> Task:
    if GroupedProblem.spells(values["problem"]):
        try:
            return GroupedProblem.from_json(values)
        except ArgumentError as error:
            raise RecordsError(str(error)) from None
    layout = {name: values[name] for name in (*_LAYOUT, *_CLASSES) if name in values}
    try:
        problems = Problem.parse(values["problem"], **layout)
    except ArgumentError as error:
        raise RecordsError(str(error)) from None
    if len(problems) != 1:
        raise RecordsError(f"problem={values['problem']!r} is not one problem")
    return problems[0]


def _timing(values: Mapping[str, Any]) -> Timing | None:
    given = [name for name in ("median", "low", "high", "batch") if name in values]
    if not given:
        return None
    if len(given) < 4:
        raise RecordsError(f"{given[0]!r} is there, but not all of median, low, high and batch")
    return Timing(
        samples=tuple(float(sample) for sample in values.get("samples", ())),
        median=values["median"],
        low=values["low"],
        high=values["high"],
        regime=values.get("timing_regime", values["regime"]),
        batch=values["batch"],
        protocol=values.get("timing_protocol", values.get("protocol", 0)),
    )


_CEILINGS: dict[str, Check] = {
    "device": _TEXT,
    "cores": _COUNT,
    "ceilings": (
        "an object of names and numbers",
        lambda value: isinstance(value, dict) and all(_is_number(entry) for entry in value.values()),
    ),
}


def parse(text: str, name: str, made: Callable[[Record], T]) -> tuple[list[T], list[Ceilings]]:
    """What a file of JSON lines holds, each record as ``made`` of it.

    Raises ``RecordsError`` naming the line and what is wrong.
    """
    rows: list[T] = []
    ceilings: list[Ceilings] = []
    # Not splitlines(): that also breaks at characters which JSON may hold inside a text.
    for number, text_of_line in enumerate(text.split("\n"), start=1):
        if not text_of_line.strip():
            continue
        try:
            line = json.loads(text_of_line)
            if not isinstance(line, dict):
                raise RecordsError("not an object of keys and values")
            if "ceilings" in line:
                _check(line, _CEILINGS, _CEILINGS)
                ceilings.append((line["device"], line["cores"], line["ceilings"]))
            else:
                rows.append(made(decode(line)))
        except json.JSONDecodeError as error:
            raise RecordsError(f"{name}, line {number}: not JSON ({error})") from None
        except RecordsError as error:
            raise RecordsError(f"{name}, line {number}: {error}") from None
    return rows, ceilings


def ceilings_line(entry: Ceilings) -> dict[str, Any]:
    """Measured ceilings as one object for JSON."""
    return dict(zip(_CEILINGS, entry, strict=True))


def write_text(path: Path, text: str) -> None:
    """Writes a file so that a reader sees the old one or the new one, never a part."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise RecordsError(f"records file {str(path)!r} cannot be written: {error}") from error
