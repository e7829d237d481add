"""What a worker process of pytest-xdist said when it died, shown where the run's result is.

Python's fault handler writes to standard error at the moment of the crash, which in a long log is far from
the end and is often not kept at all. Here each worker has a file for it, which is read when all is over. The
frames of installed packages are left out, so that the end of a log has room for it.
"""

from __future__ import annotations

import faulthandler
from pathlib import Path
from typing import Any, TextIO

import pytest

_FOLDER = Path(".pytest_cache", "crashes")
_open: list[TextIO] = []


def _folder(config: pytest.Config) -> Path:
    return config.rootpath / _FOLDER


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give a worker its file, after pytest has turned the fault handler on for standard error."""
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    folder = _folder(config)
    if worker is None:
        for path in folder.glob("*.txt"):
            path.unlink(missing_ok=True)
        return
    folder.mkdir(parents=True, exist_ok=True)
    _open.append((folder / f"{worker['workerid']}.txt").open("w"))
    faulthandler.enable(file=_open[-1])


def pytest_unconfigure() -> None:
    """Close the file; what crashes from here on is told on standard error again."""
    if _open:
        faulthandler.enable()
        _open.pop().close()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Show what workers left."""
    for path in sorted(_folder(config).glob("*.txt")):
        said = [line for line in path.read_text().splitlines() if line and "site-packages" not in line]
        if said:
            terminalreporter.section(f"{path.stem} died")
            terminalreporter.write_line("\n".join(line[:200] for line in said))
