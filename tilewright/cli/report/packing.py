"""Tries as short texts: a page holds some 10^5 of them, and none may cost more than a few bytes.

A config is one character for each of its parameters, the value's place among those that the parameter had
anywhere on the page. Configs with the same names, of one stencil, share a *space*: the names and their
values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tilewright.cli.report.solved import gflops
from tilewright.model import STATUSES, Record
from tilewright.tuning.timing import INTERLEAVED

ALPHABET = "".join(
    chr(code) for code in (*range(0x21, 0x7F), *range(0xA1, 0xD800)) if chr(code) not in "\"'\\<>&"
)
"""The characters of values, in order: none that a page or a text in JSON has to spell in another way."""

FINAL = "F"
"""The letter of a try of a final round. Other tries have the first letter of their status, crashes ``x``."""
LETTERS = {name: "x" if name == "crashed" else name[0] for name in STATUSES}


class Spaces:
    """The spaces that configs on a page have come from, as far as these configs show them."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[str, ...]], int] = {}
        self._values: list[list[dict[Any, int]]] = []

    def number(self, stencil: str, names: Sequence[str]) -> int:
        """The number of a stencil's space of these parameters."""
        key = (stencil, tuple(names))
        if key not in self._known:
            self._known[key] = len(self._values)
            self._values.append([{} for _ in names])
        return self._known[key]

    def packed(self, stencil: str, config: Any) -> tuple[int, str]:
        """The number of a config's space, and its text."""
        names = sorted(config)
        number = self.number(stencil, names)
        seen = self._values[number]
        places = [known.setdefault(config[name], len(known)) for name, known in zip(names, seen, strict=True)]
        return number, "".join(ALPHABET[place] for place in places)

    def listed(self) -> list[dict[str, Any]]:
        """All spaces in the order of their numbers, as plain data."""
        return [
            {
                "stencil": stencil,
                "names": list(names),
                "values": [list(known) for known in self._values[number]],
            }
            for (stencil, names), number in self._known.items()
        ]

    def alphabet(self) -> str:
        """As much of ``ALPHABET`` as the values need."""
        return ALPHABET[: max((len(known) for each in self._values for known in each), default=0)]


def short(value: float | None, digits: int = 4) -> float | int | None:
    """A number with few digits, whole where it is; None stays None."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def packed(column: Sequence[Any]) -> Any:
    """A column as it is; one of texts that mostly repeat as these texts, ``of``, and which one stands
    where, ``at``."""
    if not all(isinstance(value, str) for value in column) or 2 * len(set(column)) > len(column):
        return list(column)
    places = {value: place for place, value in enumerate(dict.fromkeys(column))}
    return {"of": list(places), "at": [places[value] for value in column]}


def kept(tries: Sequence[Record], most: int) -> list[int]:
    """Which tries stay where no more than some ``most`` are to: every one that was the best so far, those of
    final rounds, and of the others as many as there is room for, evenly spaced."""
    if len(tries) <= most:
        return list(range(len(tries)))
    best, wanted = 0.0, set[int]()
    for at, record in enumerate(tries):
        speed = gflops(record) or 0.0
        if speed > best or record.protocol >= INTERLEAVED:
            wanted.add(at)
        best = max(best, speed)
    others = [at for at in range(len(tries)) if at not in wanted]
    room = max(0, most - len(wanted))
    return sorted(wanted | {others[at * len(others) // room] for at in range(room)})


def shares(counts: Sequence[int], budget: int) -> int:
    """The largest number of tries that every sweep may have, those with fewer all of theirs, so that they are
    no more than ``budget`` together."""
    left, most = budget, 0
    for place, count in enumerate(sorted(counts)):
        most = left // (len(counts) - place)
        if count > most:
            return most
        left -= count
    return max(counts, default=0)


def sweep(tries: Sequence[Record], which: Sequence[int], spaces: Spaces) -> dict[str, Any]:
    """Tries as columns: runs of one space and their lengths, the configs' texts one after the other, speeds
    in 10^9 operations a second (0 without one), a letter each for what became of them; ``at`` says which
    tries these are if they are not all."""
    runs: list[list[int]] = []
    texts, speeds, letters = [], [], []
    for at in which:
        record = tries[at]
        number, text = spaces.packed(record.stencil, record.config)
        if not runs or runs[-1][0] != number:
            runs.append([number, 0])
        runs[-1][1] += 1
        texts.append(text)
        speeds.append(short(gflops(record)) or 0)
        final = record.status == "ok" and record.protocol >= INTERLEAVED
        letters.append(FINAL if final else LETTERS[record.status])
    found = {
        "n": len(tries),
        "runs": runs,
        "configs": "".join(texts),
        "speeds": speeds,
        "what": "".join(letters),
    }
    if len(which) < len(tries):
        found["at"] = list(which)
    return found
