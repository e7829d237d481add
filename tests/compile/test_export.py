"""Images of GPUs in exported libraries compile without spills, and so does what holds and launches them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.export import gpus

pytestmark = pytest.mark.compile

STRICT = ("-std=c99", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude")


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs a C compiler, gcc")
def test_a_library_with_images_builds_without_cuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # One class in place of three: a kernel for each layout.
    monkeypatch.setattr(gpus, "_SERVED_BY", dict.fromkeys(gpus.LAYOUTS, (3, 3, 3, 3)))
    record = tw.export_kernels("s:2x2x2", tmp_path, targets=["sm_80"])
    kernels = record["targets"]["sm_80"]["problems"]["tw_s_nn_2x2x2"]["kernels"]
    assert [kernel["key"].split("|")[1] for kernel in kernels] == [
        "packed",
        "packed+gaps+align4",
        "packed+pointers+align4",
    ]
    assert [kernel["facts"]["spills"] for kernel in kernels] == [0, 0, 0]
    sources = [*tmp_path.glob("src/*.c"), tmp_path / "test" / "test_cuda.c"]
    subprocess.run(["gcc", *STRICT, "-orun", *sources, "-lm", "-ldl"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "run"], capture_output=True, text=True, check=False)
    # 77: there is no GPU, or none that these images are for. What it prints says which.
    assert done.returncode in (0, 77), done.stdout
    assert done.stdout.splitlines()[-1] in (
        "there is no GPU",
        "no kernel of this library runs on this device",
        "GPU: 1 problems, 0 wrong",
    )
