"""``tw.export_kernels``: a folder that builds to a library in C, with everything that it needs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tilewright
from tilewright.catalog import TARGETS
from tilewright.errors import ArgumentError
from tilewright.export import processors, text
from tilewright.export.problems import of
from tilewright.export.processors import Written
from tilewright.model import Problem
from tilewright.planning import dispatch

SCHEMA = 1
"""The version of ``record.json``."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def export_kernels(
    problems: str | Problem | Sequence[str | Problem],
    path: str | Path,
    *,
    targets: str | Sequence[str] | None = None,
    name: str = text.LIBRARY,
    prefix: str = text.PREFIX,
) -> dict[str, Any]:
    """Write a library in C with the kernels of some problems into the folder ``path``; what its record says.

    ``problems``: spellings or ``Problem``s of packed matrices of float32, float64, complex64 and complex128
    (``"d:8x8x8"``, ``"z:nt:3x3x3@100000"``); sizes and transpositions are fixed, and the number of products,
    strides (in elements), alpha and beta are arguments in C. ``targets``: instruction sets of processors (avx512,
    avx2, neon, vsx), those of this machine's architecture where None; at run time the best one that is there
    is taken. ``name`` is that of the library and its headers, ``prefix`` begins its symbols: two libraries of one
    program need other ones.

    The folder is made if need be, and files of an earlier export in it are replaced. It holds headers for C99 and
    C++17, sources, objects (ELF, position independent, of the platform's C convention), ``CMakeLists.txt``, tests,
    a bench and ``record.json``.

    Kernels are what calls in this process would run on one core: records and measured ceilings of this machine
    count for its own instruction set; others get the default of the cost model.

    Raises ``ArgumentError`` for no problems, unknown targets, bad names and a path that is no folder,
    ``UnsupportedError`` for problems that have no form in C or no kernel, ``CompileError`` where the compiler
    refuses a kernel.
    """
    for what, given in (("name", name), ("prefix", prefix)):
        if not _NAME.fullmatch(given):
            raise ArgumentError(f"{what}={given!r}; accepted: letters, digits and _, a letter first")
    asked = of(problems)
    wanted = _targets(targets)
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise ArgumentError(f"path={str(path)!r} is no folder; accepted: a folder, or a path where one is made")
    written = [processors.write(asked, isa) for isa in wanted]
    files: dict[str, str | bytes] = {
        "CMakeLists.txt": text.fixed("CMakeLists.txt"),
        f"{text.LIBRARY}.pc.in": text.fixed(f"{text.LIBRARY}.pc.in"),
        f"include/{text.LIBRARY}.h": text.header(asked, False),
        f"include/{text.LIBRARY}.hpp": text.fixed(f"{text.LIBRARY}.hpp"),
        "src/problems.c": text.problems_c(asked, False),
        "src/processors.c": text.processors_c(written),
        **{f"src/{file}": text.fixed(file) for file in ("runtime.h", "runtime.c")},
        **{f"test/{file}": text.fixed(file) for file in ("test.c", "test.cpp", "bench.c")},
    }
    record = _record(asked, written, name, prefix)
    files["record.json"] = json.dumps(record, indent=1) + "\n"
    for each in written:
        files |= {f"objects/{each.isa.arch}/{x}_{each.isa.name}.o": y for x, y in each.objects.items()}
    _put(folder, files, name, prefix)
    return record


def _targets(targets: str | Sequence[str] | None) -> list[str]:
    """The instruction sets that were asked for, the best of each architecture first."""
    known = processors.names()
    given = processors.here() if targets is None else [targets] if isinstance(targets, str) else list(targets)
    unknown = [each for each in given if each not in known]
    if unknown or not given:
        raise ArgumentError(f"targets={targets!r}; accepted: {', '.join(known)}")
    return [each for each in known if each in given]


def _record(asked: Sequence[Any], written: Sequence[Written], name: str, prefix: str) -> dict[str, Any]:
    """What the library is made of and by whom, as plain data."""
    device = dispatch.device()
    return {
        "schema": SCHEMA,
        "library": name,
        "prefix": prefix,
        "made_by": f"tilewright {tilewright.__version__}",
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "licence": "BSD-3-Clause",
        "compiler": TARGETS["cpu"].toolchain(),
        "device": {"key": device.key, "name": device.name},
        "problems": [each.problem.key for each in asked],
        "targets": {
            each.isa.name: {
                "compiled_for": f"{each.isa.arch}/{each.isa.baseline}",
                "cached_bytes": each.knee,
                "problems": each.told,
            }
            for each in written
        },
    }


def _put(folder: Path, files: dict[str, str | bytes], name: str, prefix: str) -> None:
    """Write files. Objects of an earlier export, which the build would take in, are removed."""
    for old in (*folder.glob("objects/*/*.o"), *folder.glob("src/*.c")):
        old.unlink()
    for where, content in files.items():
        to = folder / text.named(where, name, prefix)
        to.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            to.write_bytes(content)
        else:
            to.write_text(text.named(content, name, prefix), encoding="utf-8")
