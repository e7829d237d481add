"""The text of a CUDA stencil as it is compiled: its own file, and the shared headers that it includes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_INCLUDE = re.compile(r'^#include "(lib/[^"]+)"', re.M)


@cache
def program(name: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The text of ``name.cuh``, and (name, text) of each header below it, by the names in its includes."""
    folder = Path(__file__).parent
    text = (folder / f"{name}.cuh").read_text()
    headers: dict[str, str] = {}
    wanted = _INCLUDE.findall(text)
    while wanted:
        header = wanted.pop()
        if header not in headers:
            headers[header] = (folder / header).read_text()
            wanted += _INCLUDE.findall(headers[header])
    return text, tuple(sorted(headers.items()))
