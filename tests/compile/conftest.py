"""What the compiler makes of a program, made once in a run of the tests.

Tests ask for the same programs: the definitions of a default, its machine code, its PTX. Most of the time of
these tests is NVRTC's, so what it made of a source for an architecture is kept in the folder of the run,
which all of its processes share. With --narrow a half is taken of what is marked as a sweep, and of long
tests on the interpreter of PTX, which is slow.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.covering import covering
from tilewright.errors import CompileError
from tilewright.model import Device, Source
from tilewright.targets.cuda import disassemble, nvrtc

Compiles = Callable[[Source, Device], Any]
EMULATED = Path(__file__).parent / "emulated"
LONG = 8
"""Cases of a test on the interpreter from which on a half of them is taken."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--narrow"):
        return
    tests = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            tests[item.nodeid.partition("[")[0]].append(item)
    left = set[pytest.Item]()
    for cases in tests.values():
        if cases[0].get_closest_marker("sweep"):
            taken = covering([case.callspec.params for case in cases])
        elif len(cases) >= LONG and EMULATED in cases[0].path.parents:
            taken = list(range(0, len(cases), 2))
        else:
            continue
        left |= {case for place, case in enumerate(cases) if place not in taken}
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


def once(compiles: Compiles, folder: Path) -> Compiles:
    """The same function, whose results are kept in a folder; what it raises is not."""

    def kept(source: Source, device: Device) -> Any:
        if nvrtc.compiler_missing() is not None:
            return compiles(source, device)
        asked = "\\n".join((compiles.__name__, source.digest, *nvrtc.options(source, device)))
        path = folder / hashlib.sha256(asked.encode()).hexdigest()
        if path.exists():
            return pickle.loads(path.read_bytes())
        made = compiles(source, device)
        part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        part.write_bytes(pickle.dumps(made))
        part.replace(path)
        return made

    return kept


def alone(ptx: Compiles) -> Compiles:
    """The same PTX without machine code made of it behind, which takes as long again."""

    @functools.wraps(ptx)
    def virtual(source: Source, device: Device) -> Any:
        try:
            return ptx(source, replace(device, features=device.features.replace("sm_", "compute_")))
        except CompileError:
            return ptx(source, device)  # What it says names the device.

    return virtual


@pytest.fixture(scope="session", autouse=True)
def programs(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The folder of what was compiled in this run."""
    base = tmp_path_factory.getbasetemp()
    # Each worker has a folder of its own in that of the run.
    folder = (base.parent if hasattr(request.config, "workerinput") else base) / "programs"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nvrtc, "_compiled", once(nvrtc._compiled, folder))
        patch.setattr(disassemble, "ptx", once(alone(disassemble.ptx), folder))
        yield folder
