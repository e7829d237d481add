"""Every example runs as a user would run it and finds its results right; the pages name what there is."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


NO_GPU = r"needs PyTorch and an NVIDIA GPU; there is no such pair here\."
# What each prints, line by line as far as it matters. On a GPU the last two have more to say.
PRINTED: dict[str, list[str]] = {
    "01_batch": [
        r"largest difference to numpy\.matmul: (0\.0|\d\.\d+e-1[3-9])$",
        r"\(100000, 8, 8\) float64 right: True",
        "the same: True",
    ],
    "02_gemm_in_place": ["in place: True right: True", "clean: True right: True"],
    "03_plan": [
        r"kernel: (lanes|tile) from: \w+ copies: \(\)",
        *(rf"{name} +\d+\.\d us a call of 100 products" for name in ("plan", r"tw\.matmul", r"np\.matmul")),
        "right: True",
    ],
    "04_tune": [
        r"\d+ tries in \d+\.\d s: \{'ok': \d+",
        r"winner: (lanes|tile) ",
        r"before:\nd:nn:6x5x7@100000 .*\n  runs   (?!tuned)",
        r"after:\nd:nn:6x5x7@100000 .*\n  runs   tuned: ",
    ],
    "05_force_a_config": [
        r"[\d,]+ combinations, [\d,]+ pass every rule",
        r"with too many registers: \['",
        "origin: forced right: True",
        r"facts: \{.*'spills': 0",
        "fmadd|fmla",
    ],
    "06_gpu": [f"{NO_GPU}|right: True(.*\n)+in place: True.*\nreplayed: True"],
    "08_kalman": [
        "right: True",
        *(rf"{name} +\d+\.\d us for 20000 predictions" for name in (r"tw\.chain", "three calls")),
        r"there is no such pair here\.|on .*\nright: True",
    ],
    "09_rotations": ["right: True", "and back: True", "no trace: True"],
    "10_spectral_elements": [
        "volume 8: True",
        "right: True",
        *(rf"{name} +\d+\.\d us for 1000 elements" for name in (r"tw\.matmul", "library's")),
        r"there is no such pair here\.|on .*\nright: True",
    ],
    "11_jacobi": [
        r"needs a C compiler|untuned right: True\n\d+ tries in .*\n.*\n  runs   tuned .*\ntuned right: True",
    ],
    "12_cholesky": [
        "cholesky: 216 configs of 432",
        r"compiled: \d+ registers, spills: 0|not compiled:",
        "solve: 124 configs of 432",
        f"{NO_GPU}|right: True",
    ],
    "17_export": [
        r"instruction sets: \w+",
        r"what runs here: \w+\nstatus: 0 right: True|needs a C compiler; there is none here\.",
    ],
    "14_pytorch": [
        r"needs PyTorch; it is not here\.|"
        r"right: True gradients: True\ncompiled: True\nserved alike: True\n\d+ calls",
    ],
    "13_transpose": ["22 configs", "spills: 0|not compiled:", f"{NO_GPU}|right: True"],
    "07_many_sizes": ["^right: True", "^scattered: True", f"{NO_GPU}|on the GPU: True"],
}


def test_every_example_is_known() -> None:
    assert [path.stem for path in EXAMPLES] == sorted(PRINTED)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(path)], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "False" not in done.stdout
    rest = done.stdout
    for line in PRINTED[path.stem]:
        found = re.search(line, rest, re.M)
        assert found, f"{line!r} does not come next in:\n{rest}"
        rest = rest[found.end() :]


# What the programs of the gallery compare, in order.
COMPARED = {
    "groups": ["energy and forces: 20 atoms", "the product of groups: 20 atoms"],
    "kalman_numpy": ["simdkalman: 2000 tracks"],
    "kalman_torch": ["4 steps: 2000 tracks", "4 steps, nothing missing: 2000 tracks"],
    "links": ["rotation and plaquettes: a lattice", "one contraction: xab,xbc->xac"],
}


def test_every_program_of_the_gallery_is_known() -> None:
    found = {path.stem for path in (ROOT / "examples" / "gallery").glob("*.py")}
    assert found == {*COMPARED, "tracks", "turns"}


@pytest.mark.parametrize("name", COMPARED)
def test_a_program_of_the_gallery_finds_the_same_both_ways(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # In this process: its libraries take longer to load than the small sizes to run.
    path = ROOT / "examples" / "gallery" / f"{name}.py"
    monkeypatch.syspath_prepend(str(path.parent))
    monkeypatch.setattr(sys, "argv", [str(path), "--small", "--cpu", "--rounds", "1"])
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit:
        pytest.skip(capsys.readouterr().out.strip())
    printed = capsys.readouterr().out
    for line in COMPARED[name]:
        assert f"\n{line}" in f"\n{printed}"
    assert re.findall("the same results: (.*)", printed) == ["True"] * len(COMPARED[name])
