"""The cache of compiled kernels: hit by the next process, and never trusted, needed or fought over."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pytest

import tilewright as tw
from tilewright.calls import settings
from tilewright.catalog import STENCILS
from tilewright.model import Binary, Problem
from tilewright.planning import dispatch
from tilewright.runtime import build, fastcall_cpu
from tilewright.store import binaries
from tilewright.targets.cpu import processor

pytestmark = pytest.mark.cpu

# Prints how many programs were compiled for a few products.
COUNT = """
import sys
import numpy as np
from tilewright.targets.cpu import llvm
made, compile = [], llvm.compile
llvm.compile = lambda *a, **k: made.append(a) or compile(*a, **k)
import tilewright as tw
for n in (2, 5, 11):
    a = np.arange(3.0 * n * n).reshape(3, n, n)
    assert np.allclose(tw.matmul(a, a), np.matmul(a, a))
print(len(made))
"""


def started(program: str, home: Path) -> subprocess.Popen[str]:
    root = str(Path(tw.__file__).parent.parent)
    environment = os.environ | {"TILEWRIGHT_HOME": str(home), "PYTHONPATH": root}
    return subprocess.Popen(
        [sys.executable, "-W", "error::UserWarning", "-c", program],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finished(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    return out


def products(*sizes: int) -> None:
    """Products of these sizes, compared with NumPy's."""
    for n in sizes:
        a = np.arange(3.0 * n * n).reshape(3, n, n)
        assert np.allclose(tw.matmul(a, a), np.matmul(a, a))


def kept(home: Path) -> list[Path]:
    return sorted(path for path in (home / "objects").rglob("*") if path.is_file())


def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process: nothing in memory."""
    settings.forget()
    monkeypatch.setattr(build, "_loaded", WeakValueDictionary())
    monkeypatch.setattr(fastcall_cpu, "_natives", {})


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    assert int(finished(started(COUNT, tmp_path))) == 4
    files = kept(tmp_path)
    assert len(files) == 4
    assert int(finished(started(COUNT, tmp_path))) == 0
    assert kept(tmp_path) == files


def test_two_processes_at_once(tmp_path: Path) -> None:
    pair = [started(COUNT, tmp_path) for _ in range(2)]
    assert all(int(finished(each)) <= 4 for each in pair)
    assert len(kept(tmp_path)) == 4, "nothing half-written is left"
    assert int(finished(started(COUNT, tmp_path))) == 0


def truncated(raw: bytes) -> bytes:
    return raw[: len(raw) // 2]


def flipped(raw: bytes) -> bytes:
    middle = len(raw) // 2
    return raw[:middle] + bytes([raw[middle] ^ 1]) + raw[middle + 1 :]


def other_head(raw: bytes) -> bytes:
    return raw.replace(b"tilewright", b"sometwight", 1)


@pytest.mark.parametrize("damage", [truncated, flipped, other_head, lambda raw: b"", lambda raw: raw[:40]])
def test_damage_is_set_aside_and_built_again(
    damage: Callable[[bytes], bytes], new_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = np.arange(75.0).reshape(3, 5, 5)
    want = np.matmul(a, a)
    np.testing.assert_allclose(tw.matmul(a, a), want)
    files = kept(new_home)
    assert len(files) == 2
    whole = {path: path.read_bytes() for path in files}
    for path in files:
        path.write_bytes(damage(whole[path]))
    forgotten(monkeypatch)
    with pytest.warns(UserWarning, match="damaged kernel .* was set aside"):
        np.testing.assert_allclose(tw.matmul(a, a), want)
    for path in files:
        aside = list(path.parent.glob(f"{path.name}.damaged-*"))
        assert [each.read_bytes() for each in aside] == [damage(whole[path])]
        assert binaries.read(path.name) is not None
    forgotten(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(tw.matmul(a, a), want)


def test_kernels_that_were_exchanged_are_built_again(new_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    products(2, 5, 11)
    paths = kept(new_home)
    whole = {path: path.read_bytes() for path in paths}
    for path, other in zip(paths, paths[1:] + paths[:1], strict=True):
        path.write_bytes(whole[other])
    forgotten(monkeypatch)
    with pytest.warns(UserWarning, match="damaged kernel .* was set aside") as told:
        products(2, 5, 11)
    assert len(told) == len(paths)
    assert {path: path.read_bytes() for path in paths} == whole


def test_a_bit_of_the_head_that_turned_is_damage(new_home: Path) -> None:
    binaries.write("ab" + "0" * 30, Binary(b"payload", "entry", "digest"))
    (path,) = kept(new_home)
    whole = path.read_bytes()
    for number in range(len(whole)):
        path.write_bytes(whole[:number] + bytes([whole[number] ^ 1]) + whole[number + 1 :])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert binaries.read(path.name) is None, f"byte {number}"
    path.write_bytes(whole)
    assert binaries.read(path.name) == Binary(b"payload", "entry", "digest")


def test_a_kernel_of_the_first_format_is_built_again_without_a_word(new_home: Path) -> None:
    binaries.write("ab" + "0" * 30, Binary(b"payload", "entry", "digest"))
    (path,) = kept(new_home)
    path.write_bytes(b"tilewright-object\n" + b"0" * 64 + b"\nentry\ndigest\n\npayload")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert binaries.read(path.name) is None
    assert path.exists()


def test_a_kernel_that_cannot_be_linked_is_damage(new_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hash is right: what was kept was wrong already."""
    products(5)
    for path in kept(new_home):
        binary = binaries.read(path.name)
        assert binary is not None
        binaries.write(path.name, replace(binary, entry="nothing"))
    wrong = len(kept(new_home))
    forgotten(monkeypatch)
    with pytest.warns(UserWarning, match=r"damaged kernel .*but .nothing.|damaged kernel .*linked") as told:
        products(5)
    assert len(told) == wrong
    forgotten(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        products(5)


# Products under a limit of bytes a file: what a full disk does, whoever runs the tests.
NO_ROOM = """
import resource, warnings
import numpy as np
import tilewright as tw

resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for n in (3, 4, 5):
        a = np.arange(9.0 * n * n).reshape(9, n, n)
        assert np.allclose(tw.matmul(a, a), np.matmul(a, a))
print(len(told), *[each.message for each in told])
"""


@pytest.mark.skipif(os.name != "posix", reason="needs limits of a process")
@pytest.mark.parametrize("limit", [0, 8192])
@pytest.mark.parametrize("filled", [True, False], ids=["filled", "empty"])
def test_a_full_disk_stops_no_product(new_home: Path, filled: bool, limit: int) -> None:
    if filled:
        dispatch.records().save_ceilings("other", 1, {f"peak.{n}.{'x' * 50}": 1.0 for n in range(500)})
        dispatch.records().close()
    said = finished(started(NO_ROOM.format(limit=limit), new_home))
    if limit:
        # There is room for a small kernel, and for none of the records.
        assert said[:2] in ("0\n", "1 "), said
    else:
        assert said.startswith("1 compiled kernels could not be kept"), said


def test_records_that_cannot_be_read_stop_no_product(new_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    products(5)
    dispatch.records().close()
    forgotten(monkeypatch)
    (new_home / "records.sqlite").unlink()
    (new_home / "records.sqlite").mkdir()
    with pytest.warns(RuntimeWarning, match=r"records\.sqlite.*without records") as told:
        products(2, 5, 11)
    assert len({str(each.message) for each in told}) == len(told)


def test_damage_that_another_process_has_set_aside_just_now(
    new_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = np.ones((3, 3))
    tw.matmul(a, a)
    for path in kept(new_home):
        path.write_bytes(b"")
    forgotten(monkeypatch)

    def gone(path: Path) -> Path:
        raise FileNotFoundError(path)

    monkeypatch.setattr(binaries, "set_aside", gone)
    with pytest.warns(UserWarning, match="could not be set aside"):
        np.testing.assert_array_equal(tw.matmul(a, a), 3 * np.ones((3, 3)))


def test_a_folder_that_cannot_be_written_only_warns(new_home: Path) -> None:
    new_home.mkdir()
    (new_home / "objects").write_text("in the way")
    a = np.ones((4, 4))
    with pytest.warns(UserWarning, match="could not be kept"):
        np.testing.assert_array_equal(tw.matmul(a, a), 4 * a)
    np.testing.assert_array_equal(tw.matmul(a, a), 4 * a)


def test_a_full_disk_only_warns_and_leaves_nothing(new_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    a = np.ones((4, 4))
    with pytest.warns(UserWarning, match="No space left"):
        np.testing.assert_array_equal(tw.matmul(a, a), 4 * a)
    assert kept(new_home) == []


def test_the_name_is_everything_that_decides_the_bytes() -> None:
    device = processor.probe()
    (problem,) = Problem.parse("d:3x4x5@10")
    stencil = STENCILS["tile"]

    def name(p: Problem, **changes: Any) -> str:
        return build.key("tile", p, stencil.default(problem, device).with_(**changes), device)

    same = name(problem)
    assert name(problem.with_(batch=99)) == same
    assert name(problem.with_(stride_a=1000)) == same, "a batch stride is a run-time argument"
    others = [
        name(problem.with_(stride_a=0)),
        name(problem.with_(beta="1")),
        name(problem.with_(alpha="any")),
        name(problem.with_(lda=7)),
        name(problem.with_(k=6)),
        name(problem.with_(trans_a="t")),
        name(problem, blk_n=1),
        build.key("lanes", problem, stencil.default(problem, device), device),
    ]
    assert len({same, *others}) == len(others) + 1
