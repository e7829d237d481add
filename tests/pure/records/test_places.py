"""Stores in places that cannot be written, and the folder that they are in."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

import tilewright
from tests.pure.records.samples import DEVICE, PROBLEM, damaged, needs_fork, record, ship
from tilewright.errors import ArgumentError, RecordsError
from tilewright.store.paths import home, set_aside, warn_once
from tilewright.store.records import Records

pytestmark = pytest.mark.pure


def as_a_stranger(work: Callable[[], None]) -> None:
    """Runs work in a child that may not write where it has no permission, whoever runs the tests."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture
def open_place(tmp_path: Path) -> Path:
    """A folder that every user may reach; the folders above are opened up for it."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    return tmp_path


@needs_fork
@pytest.mark.parametrize("locked", ["folder", "file", "both"])
def test_a_store_that_cannot_be_written_can_be_read(open_place: Path, shipped: Path, locked: str) -> None:
    path = open_place / "place" / "records.sqlite"
    store = Records(path, shipped=shipped)
    store.append(record())
    store.close()
    shipped.chmod(0o755)
    path.parent.chmod(0o755 if locked == "file" else 0o555)
    path.chmod(0o644 if locked == "folder" else 0o444)

    def look() -> None:
        stranger = Records(path, shipped=shipped)
        assert stranger.all() == [record()]
        assert stranger.best(PROBLEM.key, "memory", DEVICE) == record()
        with pytest.raises(RecordsError, match=r"records\.sqlite.*cannot be written"):
            stranger.append(record(5.0))
        assert stranger.all() == [record()]

    try:
        as_a_stranger(look)
    finally:
        path.parent.chmod(0o755)


@needs_fork
def test_a_store_that_cannot_be_made_reads_as_empty(open_place: Path, shipped: Path) -> None:
    ship(shipped, record())
    shipped.chmod(0o755)
    place = open_place / "place"
    place.mkdir()
    place.chmod(0o555)

    def look() -> None:
        stranger = Records(place / "new" / "records.sqlite", shipped=shipped)
        assert stranger.all() == []
        assert stranger.best(PROBLEM.key, "memory", DEVICE) is not None
        with pytest.raises(RecordsError, match=r"records\.sqlite.*cannot be written"):
            stranger.append(record())

    as_a_stranger(look)


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(RecordsError, match="folder"):
        Records(tmp_path / "folder").all()


# Reads and writes under a limit of 8192 bytes a file: what a full disk does, whoever runs the tests.
NO_ROOM = """
import resource, sys
from pathlib import Path
from tests.pure.records.samples import DEVICE, PROBLEM, record
from tilewright.errors import RecordsError
from tilewright.store.records import Records

resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
store = Records(Path(sys.argv[1]))
print(len(store.all()), store.best(PROBLEM.key, "memory", DEVICE) == record())
try:
    for n in range(100):
        store.append(record(config={"n": n}))
except RecordsError as error:
    print(error)
"""


@needs_fork
@pytest.mark.parametrize("filled", [True, False], ids=["filled", "empty"])
def test_on_a_full_disk_what_is_there_can_be_read(store: Records, filled: bool) -> None:
    if filled:
        store.append(record())
        store.append(record(None, PROBLEM.with_(beta="any"), status="spills", detail="x" * 20_000))
        store.close()
    environment = os.environ | {"PYTHONPATH": str(Path(tilewright.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM, str(store.path)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.splitlines()
    assert first == ("2 True" if filled else "0 False")
    assert str(store.path) in last
    assert damaged(store.path.parent) == []
    if filled:
        assert record() in store.all()


def test_home_is_made_where_the_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "a" / "b"))
    assert home() == tmp_path / "a" / "b"
    assert home().is_dir()
    Records().append(record())
    assert (tmp_path / "a" / "b" / "records.sqlite").is_file()


def test_home_may_be_written_as_a_shell_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_HOME", "~/tw")
    assert home() == tmp_path / "tw"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEWRIGHT_HOME", "here")
    assert home() == tmp_path / "here"


def test_home_is_the_cache_folder_without_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TILEWRIGHT_HOME", raising=False)
    monkeypatch.setattr("tilewright.store.paths.user_cache_path", lambda name: tmp_path / "cache" / name)
    assert home() == tmp_path / "cache" / "tilewright"


def test_a_home_that_cannot_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    value = str(tmp_path / "file" / "home")
    monkeypatch.setenv("TILEWRIGHT_HOME", value)
    with pytest.raises(ArgumentError, match="cannot be made") as refusal:
        home()
    assert f"TILEWRIGHT_HOME={value!r}" in str(refusal.value)


@needs_fork
@pytest.mark.parametrize("named", [True, False])
def test_a_home_that_cannot_be_written_is_read(
    open_place: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    place = open_place / "home"
    monkeypatch.setenv("TILEWRIGHT_HOME", str(place))
    store = Records()
    store.append(record())
    store.close()
    place.chmod(0o555)
    if not named:
        monkeypatch.delenv("TILEWRIGHT_HOME")
        monkeypatch.setattr("tilewright.store.paths.user_cache_path", lambda name: place)

    def look() -> None:
        assert home() == place
        stranger = Records()
        assert stranger.best(PROBLEM.key, "memory", DEVICE) == record()
        with pytest.raises(RecordsError, match=r"home/records\.sqlite' cannot be written"):
            stranger.append(record())

    try:
        as_a_stranger(look)
    finally:
        place.chmod(0o755)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("~nobodyhere/x", "home directory"),
        (os.fsdecode(b"/tmp/\xff"), "UTF-8"),
        ("/tmp/" + "x" * 300, "be made"),
    ],
    ids=["user", "bytes", "length"],
)
def test_a_home_that_is_no_name_is_named(monkeypatch: pytest.MonkeyPatch, value: str, told: str) -> None:
    monkeypatch.setenv("TILEWRIGHT_HOME", value)
    with pytest.raises(ArgumentError, match=told) as refusal:
        home()
    assert f"TILEWRIGHT_HOME={value!r}" in str(refusal.value)


def test_a_warning_is_given_once() -> None:
    with pytest.warns(RuntimeWarning, match="once and for all") as told:
        [warn_once("once and for all") for _ in range(3)]
    assert len(told) == 1


def test_a_system_without_a_cache_folder_works_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.delenv("TILEWRIGHT_HOME", raising=False)
    monkeypatch.setattr("tilewright.store.paths.user_cache_path", lambda name: tmp_path / "file" / name)
    with pytest.warns(UserWarning, match="kept for this process only"):
        folder = home()
    assert folder.is_dir()
    assert home() == folder
    Records().append(record())
    assert (folder / "records.sqlite").is_file()


def test_making_a_store_touches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "home"))
    Records()
    assert not (tmp_path / "home").exists()


def test_setting_aside_overwrites_nothing(tmp_path: Path) -> None:
    kept = []
    for content in ("first", "second", "third"):
        (tmp_path / "a.bin").write_text(content)
        kept.append(set_aside(tmp_path / "a.bin"))
    assert [path.read_text() for path in kept] == ["first", "second", "third"]
    assert all(path.name.startswith("a.bin.damaged-2") and path.parent == tmp_path for path in kept)
    assert not (tmp_path / "a.bin").exists()
