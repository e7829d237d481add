"""Exported libraries on a GPU: the test that they bring along, with machine code and with PTX."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import tilewright as tw

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not shutil.which("gcc"), reason="needs a C compiler, gcc"),
]


@pytest.mark.parametrize("targets", [("sm_90a", "sm_80"), ("ptx",)])
def test_an_exported_library_is_right_on_this_gpu(targets: tuple[str, ...], tmp_path: Path) -> None:
    tw.export_kernels("c:ct:17x9x6", tmp_path, targets=targets)
    sources = [*tmp_path.glob("src/*.c"), tmp_path / "test" / "test_cuda.c"]
    subprocess.run(
        ["gcc", "-std=c99", "-Iinclude", "-orun", *sources, "-lm", "-ldl"], cwd=tmp_path, check=True
    )
    done = subprocess.run([tmp_path / "run"], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip(done.stdout)
    assert (done.returncode, done.stdout) == (0, "GPU: 1 problems, 0 wrong\n")
