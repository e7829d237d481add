"""What the fields of a line may hold, in words and as tests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

Check = tuple[str, Callable[[Any], bool]]
"""What a value has to be, in words and as a test."""


def one_of(accepted: Sequence[Any]) -> Check:
    """A check for one of some values; ``True`` is no 1."""
    kind = type(accepted[0])
    return "one of " + ", ".join(map(str, accepted)), lambda value: type(value) is kind and value in accepted


def is_number(value: Any) -> bool:
    if type(value) is int:
        # A larger one has no float.
        return value.bit_length() < 1024
    return type(value) is float or (isinstance(value, str) and value in ("inf", "-inf", "nan"))


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


TEXT: Check = ("a text", lambda value: isinstance(value, str))
TRUTH: Check = ("true or false", lambda value: type(value) is bool)
COUNT: Check = (
    "a whole number from 0 to 2**63 - 1",
    lambda value: type(value) is int and 0 <= value < 2**63,
)
NUMBER: Check = ("a number", is_number)
NUMBERS: Check = (
    "a list of numbers",
    lambda value: isinstance(value, list) and all(is_number(entry) for entry in value),
)
COUNTS: Check = (
    "an object of names and whole numbers from 0 to 2**63 - 1",
    lambda value: isinstance(value, dict) and all(COUNT[1](entry) for entry in value.values()),
)
CONFIG: Check = (
    "an object of names and plain values",
    lambda value: isinstance(value, dict) and all(map(_is_plain, value.values())),
)
ROWS: Check = (
    "a list of lists of whole numbers",
    lambda value: (
        isinstance(value, (list, tuple))
        and all(isinstance(row, (list, tuple)) and all(type(x) is int for x in row) for row in value)
    ),
)
_BY_TYPE = {
    "str": TEXT,
    "tuple[Axis, ...]": ROWS,
    "bool": TRUTH,
    **dict.fromkeys(("int", "int | None"), COUNT),
    **dict.fromkeys(("float", "float | None"), NUMBER),
}
"""What a field accepts in a line, by its annotation."""


def checks(noun: type, apart: Collection[str], choices: Mapping[str, Sequence[Any]]) -> dict[str, Check]:
    """What the fields of a dataclass accept in a line: one of its ``choices``, or any value of its type.

    The fields named ``apart`` are left out: they are written in another way. Raises ``TypeError`` for
    any other field whose type has no form in a line, so that a field is never forgotten.
    """
    found = {}
    for each in fields(noun):
        if each.name in apart:
            continue
        if each.name not in choices and each.type not in _BY_TYPE:
            raise TypeError(f"{noun.__name__}.{each.name} is of type {each.type}, which no line can hold")
        found[each.name] = one_of(choices[each.name]) if each.name in choices else _BY_TYPE[str(each.type)]
    return found
