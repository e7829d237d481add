"""Images of GPUs in exported libraries compile without spills, and so does what holds and launches them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.export import gpus

pytestmark = pytest.mark.compile

STRICT = ("-std=c99", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude")


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs a C compiler, gcc")
def test_a_library_with_images_builds_and_starts_without_cuda(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One kernel in place of seven: what all of them do is for GPUs.
    monkeypatch.setattr(gpus, "LAYOUTS", ("pointers",))
    monkeypatch.setattr(gpus, "_SERVED_BY", {"pointers": (3, 3, 3, 3)})
    record = tw.export_kernels("s:2x2x2", tmp_path, targets=["sm_80"])
    (kernel,) = record["targets"]["sm_80"]["problems"]["tw_s_nn_2x2x2"]["kernels"]
    assert kernel["key"].split("|")[1] == "packed+pointers+align4"
    assert kernel["facts"]["spills"] == 0
    sources = [*tmp_path.glob("src/*.c"), tmp_path / "test" / "test_cuda.c"]
    subprocess.run(["gcc", *STRICT, "-orun", *sources, "-lm", "-ldl"], cwd=tmp_path, check=True)
    hidden = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([tmp_path / "run"], capture_output=True, text=True, env=hidden, check=False)
    assert (done.returncode, done.stdout) == (77, "there is no GPU\n")
