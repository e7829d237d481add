"""What every test stands on: a home of its own, so that nobody's records or kernels are read or written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from weakref import WeakValueDictionary

import hypothesis
import pytest

from tilewright.calls import settings
from tilewright.runtime import build, fastcall_cpu

pytest_plugins = ["tests.crashes"]

# How long an example takes says what else the machine does, not whether it is right.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="Write the files of tests/golden anew instead of comparing.",
    )
    parser.addoption(
        "--narrow",
        action="store_true",
        help="Take half of the sweeps of tests/compile, which has every type, path and device of theirs.",
    )


@pytest.fixture(scope="session", autouse=True)
def session_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A private ``TILEWRIGHT_HOME`` for the whole run, children included."""
    before = os.environ.get("TILEWRIGHT_HOME")
    folder = tmp_path_factory.mktemp("home")
    os.environ["TILEWRIGHT_HOME"] = str(folder)
    settings.forget()
    yield folder
    os.environ.pop("TILEWRIGHT_HOME") if before is None else os.environ.update(TILEWRIGHT_HOME=before)
    settings.forget()


@pytest.fixture
def new_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home for one test, and nothing in memory that came from another."""
    folder = tmp_path / "home"
    monkeypatch.setenv("TILEWRIGHT_HOME", str(folder))
    settings.forget()
    # Replaced and not emptied: kernels that somebody still holds must stay loaded.
    monkeypatch.setattr(build, "_loaded", WeakValueDictionary())
    monkeypatch.setattr(fastcall_cpu, "_natives", {})
    yield folder
    settings.forget()


@pytest.fixture
def calls_of() -> Callable[[Callable[[], object]], int]:
    """How many Python functions a call goes through: work that no load of the machine changes."""

    def counted(run: Callable[[], object]) -> int:
        count = 0

        def note(frame: FrameType, event: str, argument: object) -> None:
            nonlocal count
            count += event == "call"

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            run()
        finally:
            sys.setprofile(before)
        return count

    return counted
