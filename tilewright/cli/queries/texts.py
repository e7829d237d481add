"""What is written on a command line, read: one of some choices, and ``name=value,...``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tilewright.errors import ArgumentError


def accepted(name: str, value: str, choices: Sequence[str]) -> str:
    """The value. Raises ``ArgumentError`` when it is none of the choices."""
    if value not in choices:
        raise ArgumentError(f"{name}={value!r}; accepted: {', '.join(choices)}")
    return value


_WHOLE = re.compile(r"-?[0-9]{1,18}")


def values(text: str, names: Sequence[str]) -> dict[str, Any]:
    """``name=value,...`` with whole numbers as such. Raises ``ArgumentError`` for other forms and names."""
    found: dict[str, Any] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise ArgumentError(f"{item!r} is not understood; accepted: NAME=VALUE,NAME=VALUE")
        found[accepted("name", name, names)] = int(value) if _WHOLE.fullmatch(value) else value
    return found
