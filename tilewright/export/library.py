"""``tw.export_kernels``: a folder that builds to a library in C, with everything that it needs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tilewright.catalog import TARGETS
from tilewright.errors import ArgumentError, UnsupportedError
from tilewright.export import gpus, processors, text
from tilewright.export.gpus import Built
from tilewright.export.problems import HALVES, Exported, of
from tilewright.export.processors import Written
from tilewright.model import Problem
from tilewright.planning import dispatch

SCHEMA = 1
"""The version of ``record.json``."""
_FIXED = (
    *(
        "CMakeLists.txt",
        f"{text.LIBRARY}.pc.in",
        f"include/{text.LIBRARY}.hpp",
        "src/runtime.h",
        "src/runtime.c",
    ),
    *("test/check.h", "test/test.c", "test/test.cpp", "test/bench.c"),
)
"""Files that are the same in every library, by where they go."""
_FIXED_CUDA = ("src/cuda.h", "src/cuda.c", "test/test_cuda.c")
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

    ``problems``: spellings or ``Problem``s of packed matrices of any type (``"d:8x8x8"``,
    ``"z:nt:3x3x3@100000"``); sizes and transpositions are fixed, and the number of products, strides (in
    elements), alpha and beta are arguments in C. Numbers of 16 bits (h, b, hc) are their bits there,
    ``uint16_t`` and pairs of it, and are for processors alone. ``targets``: instruction sets of processors
    (avx512, avx2, sve512, sve256, sme1024, sme512, sme256, sme128, sve128, neon_fcma, neon, mma, vsx), those
    of this machine's architecture where None, and architectures of GPUs (sm_90a, sm_80, and ptx for all
    others from 8.0 on); at run time the best one that is there is taken.
    ``name`` is that of the library and its headers, ``prefix`` begins its symbols: two libraries of one
    program need other ones.

    The folder is made if need be, and files of an earlier export in it are replaced. It holds headers for C99
    and C++17, sources, objects (ELF, position independent, of the platform's C convention),
    ``CMakeLists.txt``, tests, a bench and ``record.json``.

    Kernels are what calls in this process would run on one core: records and measured ceilings of this
    machine count for its own instruction set; others get the default of the cost model.

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
        raise ArgumentError(
            f"path={str(path)!r} is no folder; accepted: a folder, or a path where one is made"
        )
    _check_types(asked, wanted)
    written = [processors.write(asked, each, prefix) for each in wanted if each in processors.names()]
    built = [gpus.build(asked, each) for each in wanted if each in gpus.names()]
    record = text.named(json.dumps(_record(asked, written, built), indent=1) + "\n", name, prefix)
    files: dict[str, str | bytes] = {
        f"include/{text.LIBRARY}.h": text.header(asked, bool(built)),
        "src/problems.c": text.problems_c(asked, bool(built)),
        "src/processors.c": text.processors_c(written),
        "record.json": record,
    }
    if built:
        files["src/gpus.c"] = text.gpus_c(built)
    files |= {where: text.fixed(Path(where).name) for where in (*_FIXED, *(_FIXED_CUDA if built else ()))}
    for each in written:
        files |= {f"objects/{each.isa.arch}/{x}_{each.isa.name}.o": y for x, y in each.objects.items()}
    _put(folder, files, name, prefix)
    found: dict[str, Any] = json.loads(record)
    return found


def _targets(targets: str | Sequence[str] | None) -> list[str]:
    """The instruction sets and architectures that were asked for, the best of each kind first."""
    known = [*processors.names(), *gpus.names()]
    given = processors.here() if targets is None else [targets] if isinstance(targets, str) else list(targets)
    if not given or any(each not in known for each in given):
        raise ArgumentError(f"targets={targets!r}; accepted: {', '.join(known)}")
    return [each for each in known if each in given]


def _check_types(asked: Sequence[Exported], wanted: Sequence[str]) -> None:
    """Refuse numbers of 16 bits where GPUs are asked for: their images are of the other types."""
    images = [each for each in wanted if each in gpus.names()]
    for each in asked if images else ():
        if each.problem.dtype.letter in HALVES:
            raise UnsupportedError(
                f"problem={each.problem.spelling!r} with targets {', '.join(images)}; "
                "accepted for GPUs: types s, d, c, z"
            )


def _record(asked: Sequence[Exported], written: Sequence[Written], built: Sequence[Built]) -> dict[str, Any]:
    """What the library is made of and by whom, as plain data."""
    device = dispatch.device()
    return {
        "schema": SCHEMA,
        "library": text.LIBRARY,
        "made_by": f"tilewright {_version()}",
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "licence": "BSD-3-Clause",
        "compilers": [
            *([TARGETS["cpu"].toolchain()] if written else []),
            *([TARGETS["cuda"].toolchain()] if built else []),
        ],
        "device": {"key": device.key, "name": device.name},
        "problems": [each.problem.key for each in asked],
        "targets": {
            each.isa.name: {
                "compiled_for": f"{each.isa.arch}/{each.isa.baseline}",
                "cached_bytes": each.knee,
                "problems": each.told,
            }
            for each in written
        }
        | {
            each.arch.name: {
                "compiled_for": each.arch.device.features,
                "chosen_for": each.arch.device.name,
                "problems": each.told,
            }
            for each in built
        },
    }


def _version() -> str:
    try:
        return version("tilewright")
    except PackageNotFoundError:
        return "not installed"


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
