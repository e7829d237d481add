"""The memory nodes of this machine: which cores and how much memory each has, and how far they are apart.

Read from where Linux keeps it (``/sys/devices/system/node``, the kernel's sysfs-devices-node), without a
library. Distances are the firmware's, 10 for a node's own memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tilewright.errors import ArgumentError

FOLDER = Path("/sys/devices/system/node")


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its number, its cores (none where it is memory alone), its memory in bytes, all of it and what
    was free, and its distance to each node in the order of their numbers."""

    number: int
    cores: tuple[int, ...]
    memory: int
    free: int
    distances: tuple[int, ...]


def nodes(folder: Path = FOLDER) -> tuple[Node, ...]:
    """The nodes of a machine by their numbers; none where the system tells of none."""
    found = []
    for each in folder.glob("node*"):
        number = each.name.removeprefix("node")
        try:
            if number.isdecimal():
                found.append(_node(int(number), each))
        except (OSError, ArgumentError):
            continue  # A node that goes while it is read, or one that cannot be understood.
    return tuple(sorted(found, key=lambda node: node.number))


def _node(number: int, folder: Path) -> Node:
    memory = (folder / "meminfo").read_text()
    distances = tuple(int(word) for word in (folder / "distance").read_text().split() if word.isdecimal())
    cores = numbers((folder / "cpulist").read_text())
    return Node(number, cores, _bytes(memory, "MemTotal"), _bytes(memory, "MemFree"), distances)


def _bytes(text: str, name: str) -> int:
    found = re.search(rf"\b{name}:\s*(\d+) kB", text)
    return int(found[1]) << 10 if found else 0


def numbers(text: str) -> tuple[int, ...]:
    """The numbers of a list as Linux writes it: ``0-3,8`` is 0, 1, 2, 3, 8. Raises ``ArgumentError`` for what
    is no such list."""
    found: list[int] = []
    for part in text.strip().split(",") if text.strip() else ():
        ends = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip())
        if not ends:
            raise ArgumentError(
                f"{text.strip()!r} is not understood; accepted: numbers and ranges such as 0-3,8"
            )
        found += range(int(ends[1]), int(ends[2] or ends[1]) + 1)
    return tuple(sorted(set(found)))


def listed(values: tuple[int, ...]) -> str:
    """Numbers as such a list."""
    parts: list[list[int]] = []
    for value in values:
        if parts and value == parts[-1][1] + 1:
            parts[-1][1] = value
        else:
            parts.append([value, value])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
