"""Records as lines of text: what the store keeps in a row, and what machines exchange as files.

A line is one flat JSON object, either a record or the measured ceilings of a device. Reading is
strict: an unknown key, a missing one or a value of the wrong kind is an error that names it.
"""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from tilewright.errors import ArgumentError, RecordsError
from tilewright.model import STATUSES, Config, Record, Timing
from tilewright.store.codecs import CODECS, Codec
from tilewright.store.fields import CONFIG, COUNT, NUMBER, NUMBERS, TEXT, Check, checks, is_number

T = TypeVar("T")

Ceilings = tuple[str, int, dict[str, float]]
"""Device key, number of cores, and the measured ceilings by name."""


def spelled(config: Config) -> str:
    """One text for one config: ``name=value`` in the order of the names."""
    return " ".join(f"{name}={compact(config[name])}" for name in sorted(config))


def compact(value: object) -> str:
    """JSON on one line. Raises ``RecordsError`` for a value that JSON in UTF-8 cannot hold."""
    try:
        # Of the values of configs, which are most of what is written, nearly all are such numbers.
        text = str(value) if type(value) is int else _JSON.encode(value)
        # JSON that is read may spell half a character, which no file can hold.
        text.encode("utf-8")
        return text
    except (TypeError, ValueError) as error:
        raise RecordsError(f"value={value!r} cannot be written: {error}") from error


def _plain(value: Any) -> Any:
    """The Python number in a NumPy scalar."""
    if not hasattr(value, "item"):
        raise TypeError(f"{type(value).__name__} is no number, text, truth value or sequence of them")
    return value.item()


_JSON = json.JSONEncoder(default=_plain, ensure_ascii=False, allow_nan=False)


def _number(value: float) -> float | str:
    """A float for JSON, which has no spelling for infinities and NaN: these become texts."""
    return value if math.isfinite(value) else str(float(value))


def _codec_of(problem: Any) -> Codec:
    for codec in CODECS.values():
        if type(problem) is codec.noun:
            return codec
    raise RecordsError(
        f"problem={problem!r} is a {type(problem).__name__}, which no line can hold; "
        f"accepted: {', '.join(codec.noun.__name__ for codec in CODECS.values())}"
    )


def _codec_named(kind: Any) -> Codec:
    if not isinstance(kind, str) or kind not in CODECS:
        raise RecordsError(f"kind={kind!r} is no kind of problem; accepted: {', '.join(CODECS)}")
    return CODECS[kind]


# ---- records


_RECORD = checks(Record, ("problem", "config", "timing"), {"status": STATUSES})
_TIMING = checks(Timing, ("samples", "regime", "protocol"), {})
_APART = {"timing_regime": TEXT, "timing_protocol": COUNT, "samples": NUMBERS}
_ACCEPTED = {"kind": TEXT, **_RECORD, "config": CONFIG, **_TIMING, **_APART}
_REQUIRED = tuple(f.name for f in fields(Record) if f.default is MISSING and f.name != "problem")
_OPTIONAL = {f.name: f.default for f in fields(Record) if f.default is not MISSING and f.name in _RECORD}
_EARLY = ("protocol", "seconds", "error", "toolchain")


def _plainly(noun: Any, names: Iterable[str]) -> dict[str, Any]:
    """Fields as they are in a line; those that have their default are left out, but for the protocol."""
    values = {name: getattr(noun, name) for name in names}
    return {
        name: _number(value) if _ACCEPTED[name] is NUMBER else value
        for name, value in values.items()
        if name == "protocol" or name not in _OPTIONAL or value != _OPTIONAL[name]
    }


def encode(record: Record, samples: bool = True) -> dict[str, Any]:
    """A record as flat JSON: the problem by its codec, and of all else what is not the default.

    Raises ``RecordsError`` for a problem of a kind that has no codec.
    """
    problem, timing = record.problem, record.timing
    codec = _codec_of(problem)
    line: dict[str, Any] = {"device": record.device}
    line |= {"kind": codec.kind} if codec is not CODECS["gemm"] else {}
    line |= codec.encode(problem)
    line |= {"regime": record.regime, "stencil": record.stencil, "config": dict(record.config)}
    line |= {"status": record.status}
    line |= _plainly(timing, _TIMING) if timing is not None else {}
    line |= _plainly(record, _EARLY)
    line |= _plainly(record, [name for name in _RECORD if name not in line and name not in _EARLY])
    if timing is not None:
        line |= {"timing_regime": timing.regime} if timing.regime != record.regime else {}
        line |= {"timing_protocol": timing.protocol} if timing.protocol != record.protocol else {}
        line |= {"samples": [_number(s) for s in timing.samples]} if samples else {}
    return line


def decode(line: Mapping[str, Any]) -> Record:
    """The record that ``encode`` wrote, without its raw samples if these were left out.

    Raises ``RecordsError`` naming the key that is missing, unknown or has a value that is not accepted.
    """
    codec = _codec_named(line.get("kind", "gemm"))
    accepted = {**_ACCEPTED, **codec.accepted}
    _check(line, accepted, (*(name for name in codec.accepted if name == "problem"), *_REQUIRED))
    values: dict[str, Any]
    values = {name: float(value) if accepted[name] is NUMBER else value for name, value in line.items()}
    try:
        problem = codec.decode({name: values[name] for name in codec.accepted if name in values})
    except ArgumentError as error:
        raise RecordsError(str(error)) from None
    config = Config({name: _frozen(value) for name, value in line["config"].items()})
    given = {name: values[name] for name in _RECORD if name in values}
    return Record(**given, problem=problem, timing=_timing(values), config=config)


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


def _timing(values: Mapping[str, Any]) -> Timing | None:
    given = {name: values[name] for name in _TIMING if name in values}
    if not given:
        return None
    if len(given) < len(_TIMING):
        *names, last = _TIMING
        raise RecordsError(f"{next(iter(given))!r} is there, but not all of {', '.join(names)} and {last}")
    return Timing(
        **given,
        samples=tuple(float(sample) for sample in values.get("samples", ())),
        regime=values.get("timing_regime", values["regime"]),
        protocol=values.get("timing_protocol", values.get("protocol", 0)),
    )


_CEILINGS: dict[str, Check] = {
    "device": TEXT,
    "cores": COUNT,
    "ceilings": (
        "an object of names and numbers",
        lambda value: isinstance(value, dict) and all(is_number(entry) for entry in value.values()),
    ),
}


def parse(text: str, name: str, made: Callable[[Record, str], T]) -> tuple[list[T], list[Ceilings]]:
    """What a file of JSON lines holds, each record as ``made`` of it and the name of its line.

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
                compact(line)
                ceilings.append((line["device"], line["cores"], line["ceilings"]))
            else:
                rows.append(made(decode(line), f"{name}, line {number}"))
        except RecordsError as error:
            raise RecordsError(f"{name}, line {number}: {error}") from None
        except (ValueError, RecursionError) as error:
            # Beside bad syntax: a number of too many digits, lists that are too deep.
            raise RecordsError(f"{name}, line {number}: not JSON ({error})") from None
    return rows, ceilings


def ceilings_line(entry: Ceilings) -> dict[str, Any]:
    """Measured ceilings as one object for JSON."""
    return dict(zip(_CEILINGS, entry, strict=True))


LONGEST = 1 << 28
"""Bytes of the longest file that is read: some 400,000 records."""


def read_text(path: Path) -> str:
    """What a file holds. Raises ``RecordsError`` for one that cannot be read, or has no end."""
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST + 1)
        if len(content) > LONGEST:
            raise RecordsError(f"records file {str(path)!r} is too long; accepted: up to {LONGEST} bytes")
        return content.decode("utf-8")
    except (OSError, ValueError) as error:
        raise RecordsError(f"records file {str(path)!r} cannot be read: {error}") from error


def write_text(path: Path, text: str) -> None:
    """Writes a file so that a reader sees the old one or the new one, never a part.

    A link is followed. What is there and is no regular file (a pipe, a device) is written into: a file
    in its place would be there instead of it for everybody. Raises ``RecordsError`` where that fails.
    """
    part = None
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        target = Path(os.path.realpath(path))
        if target.is_symlink():
            raise OSError("its links lead nowhere")
        # Not a longer name: the target's may be the longest that there is.
        part = target.with_name(f".tilewright-{os.getpid()}-{threading.get_ident()}.part")
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(target)
    except (OSError, ValueError) as error:
        if part is not None:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        raise RecordsError(f"records file {str(path)!r} cannot be written: {error}") from error
