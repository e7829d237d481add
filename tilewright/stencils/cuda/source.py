"""A CUDA stencil as it is compiled: its kernel, the parts and the shared headers that it includes, and the
definitions that say which product is asked for."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tilewright.model import EMULATED, Config, Device, Gemm, SegmentedProblem, Source

ARGUED = ("band", "blocks")
"""Parameters that kernels of one large product are called with."""
LAUNCHED = ("per_block",)
"""Parameters of launches alone."""
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


FOLDER = Path(__file__).parent


@cache
def program(name: str, folder: Path = FOLDER) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The text of ``name/kernel.cuh``, and (name, text) of each header below it by its name in the includes.

    Headers are sorted by name: those in ``lib``, which kernels share, and the parts of this one in ``name``.
    ``folder`` holds them all, and names are relative to it.
    """
    text = (folder / name / "kernel.cuh").read_text()
    headers: dict[str, str] = {}
    wanted = _INCLUDE.findall(text)
    while wanted:
        header = wanted.pop()
        if header not in headers:
            headers[header] = (folder / header).read_text()
            wanted += _INCLUDE.findall(headers[header])
    return text, tuple(sorted(headers.items()))


def written(name: str, defines: Mapping[str, object]) -> Source:
    """The kernel of a folder, compiled with these definitions."""
    text, headers = program(name)
    return Source(text, name, headers, tuple((each, str(value)) for each, value in defines.items()))


def writers(name: str, folder: Path = FOLDER) -> list[tuple[str, str]]:
    """(file name, text) of all that decides the sources of a stencil: its Python, its kernel, and the headers
    that the kernel includes. Headers of other kernels are left out: a change of them changes nothing here."""
    text, headers = program(name, folder)
    files = (*sorted(path.name for path in (folder / name).glob("*.py")),)
    own = [(f"{name}/{file}", (folder / name / file).read_text()) for file in files]
    python = [
        (file, (folder / file).read_text()) for file in ("args.py", "common.py", "limits.py", "source.py")
    ]
    fitted = folder / "data" / f"{name}.json"
    python += [(f"data/{name}.json", fitted.read_text())] if fitted.exists() else []
    return [*own, *python, (f"{name}/kernel.cuh", text), *headers]


def asked(problem: Gemm | SegmentedProblem) -> dict[str, int]:
    """Type, transpositions and scalars of a problem, as every stencil's block of the problem names them."""
    p = problem
    halves = {"BRAIN": int(p.dtype.letter == "b")} if p.dtype.real_bits == 16 else {}
    math = getattr(p, "math", "ieee")
    terms = {"TERMS": EMULATED[math].terms} if math in EMULATED else {}
    return {
        **halves,
        **terms,
        "TYPE_BITS": p.dtype.real_bits,
        "COMPLEX": int(p.dtype.is_complex),
        "TRANS_A": int(p.transposed_a),
        "TRANS_B": int(p.transposed_b),
        "CONJ_A": int(p.conj_a),
        "CONJ_B": int(p.conj_b),
        "ALPHA_ONE": int(p.alpha == "1"),
        "BETA": {"0": 0, "1": 1}.get(p.beta, 2),
    }


def chosen(config: Config, without: Collection[str] = ()) -> dict[str, Any]:
    """The parameters of a config as every stencil's block of parameters names them, ``without`` those that
    are no definitions."""
    unsaid = (*without, *LAUNCHED)
    return {name.upper(): value for name, value in config.items() if name not in unsaid}


def persistent(config: Config, device: Device, without: Collection[str] = ()) -> dict[str, Any]:
    """The same of a config of persistent blocks: of those of the grid the ones of an SM, for so many of which
    the compiler leaves registers."""
    return chosen(config, without) | {"BLOCKS": -(-config["blocks"] // device["sms"])}
