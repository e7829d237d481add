"""The hash of the text that writes a stencil's sources: what changes it, and what must not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import tilewright.stencils
from tilewright.catalog import STENCILS
from tilewright.runtime import build
from tilewright.stencils.cuda.source import program

pytestmark = pytest.mark.pure

STENCILS_FOLDER = Path(tilewright.stencils.__file__).parent
CUDA = sorted(name for name, stencil in STENCILS.items() if stencil.target == "cuda")
HEADERS = sorted(
    path.relative_to(STENCILS_FOLDER / "cuda").as_posix()
    for path in (STENCILS_FOLDER / "cuda").glob("*/*.cuh")
    if path.name != "kernel.cuh"
)
"""Headers in ``lib``, and the parts of kernels in their own folders."""
BORROWS = {
    "segments": ("tensor",),
    "panel": ("tiny",),
    "single": ("middle",),
    "strips": ("segments",),
    "experts": ("segments", "pairs"),
    "dmma": ("warpgroup",),
    "ffma": ("warpgroup",),
    "cfma": ("dmma", "warpgroup"),
    "pairs": ("warpgroup",),
    "emulated": ("warpgroup",),
    "split": ("emulated", "warpgroup"),
}
"""Kernels that multiply with parts of another's."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of all stencils, to be changed."""
    unread = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(STENCILS_FOLDER, tmp_path / "before" / "stencils", ignore=unread))


def changed(folder: Path, file: str) -> Path:
    """Another folder of the same files, of which one has one line more."""
    other = folder.parent.parent / file.replace("/", "-")
    shutil.copytree(folder, other, copy_function=os.link)
    path = other / file
    text = path.read_text()
    # The file of the folder itself stays as it is.
    path.unlink()
    path.write_text(f"{text}\n# touched\n")
    return other


def test_a_copy_has_the_hash_of_the_original(folder: Path) -> None:
    for stencil in STENCILS:
        assert build.generators(stencil, folder) == build.generators(stencil)


def test_every_header_is_included_and_not_all_of_them_everywhere() -> None:
    by_stencil = [{name for name, _ in program(stencil)[1]} for stencil in CUDA]
    assert set().union(*by_stencil) == set(HEADERS)
    assert min(len(included) for included in by_stencil) < len(HEADERS)


@pytest.mark.parametrize("stencil", CUDA)
def test_a_kernel_is_made_of_its_own_parts_and_of_what_is_shared(stencil: str) -> None:
    folders = {name.split("/")[0] for name, _ in program(stencil)[1]}
    assert folders <= {"lib", stencil, *BORROWS.get(stencil, ())}


def counting(folder: Path, file: str) -> set[str]:
    """The stencils of CUDA whose hash a change of a file changes."""
    before = {name: build.generators(name, folder) for name in CUDA}
    path = folder / "cuda" / file
    text = path.read_text()
    # What was read of a folder is remembered by its name, so that the changed one needs another.
    other = folder.parent.parent / file.replace("/", "-")
    other.symlink_to(folder)
    path.write_text(f"{text}\n# touched\n")
    found = {name for name in CUDA if build.generators(name, other) != before[name]}
    path.write_text(text)
    return found


def test_a_header_counts_where_it_is_included(folder: Path) -> None:
    included = {stencil: {name for name, _ in program(stencil)[1]} for stencil in CUDA}
    # All that kernels share, and one of each folder of their own: they are found in the same way.
    own = {header.split("/")[0]: header for header in HEADERS if not header.startswith("lib/")}
    for header in [*own.values(), *(header for header in HEADERS if header.startswith("lib/"))]:
        assert counting(folder, header) == {name for name in CUDA if header in included[name]}, header


def test_a_header_of_a_header_counts(folder: Path) -> None:
    (folder / "cuda" / "lib" / "inner.cuh").write_text("// nothing yet\n")
    gemm = folder / "cuda" / "lib" / "gemm.cuh"
    gemm.write_text(gemm.read_text() + '\n#include "lib/inner.cuh"\n')
    other = changed(folder, "cuda/lib/inner.cuh")
    assert build.generators("classic", other) != build.generators("classic", folder)
    assert build.generators("grouped", other) == build.generators("grouped", folder)


@pytest.mark.parametrize("stencil", CUDA)
def test_the_python_and_the_kernel_of_a_stencil_count_and_not_those_of_others(
    stencil: str, folder: Path
) -> None:
    for file in (f"{stencil}/stencil.py", f"{stencil}/kernel.cuh"):
        assert counting(folder, file) == {stencil}, file


@pytest.mark.parametrize("file", ["source.py", "args.py"])
def test_what_all_stencils_are_written_with_counts_for_all(file: str, folder: Path) -> None:
    assert counting(folder, file) == set(CUDA)


def test_all_that_emits_code_for_a_processor_counts_there_alone(folder: Path) -> None:
    copy = changed(folder, "cpu/ir.py")
    assert build.generators("tile", copy) != build.generators("tile", folder)
    assert build.generators("tiny", copy) == build.generators("tiny", folder)
