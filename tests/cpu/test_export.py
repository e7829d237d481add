"""Exported libraries build and are right: the tests that they bring along, and what they call."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.cli.main import main
from tilewright.export import processors
from tilewright.planning import dispatch
from tilewright.targets.cpu.isa import ISAS

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.skipif(not shutil.which("gcc"), reason="needs a C compiler, gcc"),
]

STRICT = ("-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude")
# What a library may call: copies, what compilers keep of this processor, and on ARM Linux about it. Nothing
# that allocates or exits.
CALLED = {"memcpy", "memset", "__cpu_model", "__cpu_indicator_init", "_GLOBAL_OFFSET_TABLE_"}
CALLED |= {"prctl", "getauxval"}
# Compilers of some distributions guard every stack unasked.
CALLED |= {"__stack_chk_fail"}


def best() -> str:
    """This processor's instruction set: the first of its architecture that it has."""
    key = dispatch.device().key
    return next(name for name in processors.here() if key.endswith(f"-{name}"))


def compiled(folder: Path, *words: str) -> None:
    """The compiler in a library's folder, with patterns of files."""
    files = [str(path) for word in words if "*" in word for path in sorted(folder.glob(word))]
    subprocess.run([word for word in words if "*" not in word] + files, cwd=folder, check=True)


def ran(folder: Path, program: str) -> tuple[int, str]:
    """Exit code and output of a program in a library's folder."""
    done = subprocess.run([folder / program], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    """Three problems for this machine's best instruction set, written by the command and compiled."""
    folder = tmp_path_factory.mktemp("library")
    names = ("--name", "mine", "--prefix", "my")
    problems = ("d:2x3x1", "c:ct:2x1x3", "hc:2x1x2")
    main(["export-kernels", *problems, "--c", str(folder), *names, "--for", best()])
    compiled(folder, "gcc", "-std=c99", *STRICT, "-c", "src/*.c")
    return folder


def test_the_library_passes_its_own_tests(library: Path) -> None:
    compiled(library, "gcc", "-std=c99", *STRICT, "test/test.c", "-otest-c", "*.o", "objects/*/*.o", "-lm")
    assert ran(library, "test-c") == (0, f"{best()}: 3 problems, 0 wrong\n")


@pytest.mark.skipif(not shutil.which("g++"), reason="needs a C++ compiler, g++")
def test_its_operators_do_in_cpp(library: Path) -> None:
    compiled(
        library, "g++", "-std=c++17", *STRICT, "-O0", "test/test.cpp", "-otest-cpp", "*.o", "objects/*/*.o"
    )
    assert ran(library, "test-cpp") == (0, f"{best()}: 0 wrong\n")


def test_its_tests_see_a_wrong_kernel(library: Path) -> None:
    """Kernels of two classes of scalars exchanged: C is overwritten where it should be added to."""
    table = library / "src" / "processors.c"
    text = table.read_text()
    swapped, count = re.subn(r"\{(\w+), (\w+), (\w+), (\w+)\}", r"{\2, \1, \3, \4}", text)
    assert count == 12
    wrong = library / "wrong.c"
    wrong.write_text(swapped.replace('"runtime.h"', '"src/runtime.h"'))
    others = [f"src/{name}" for name in ("problems.c", "runtime.c", "../test/test.c")]
    compiled(library, "gcc", *STRICT, "wrong.c", *others, "-otest-wrong", "objects/*/*.o", "-lm")
    code, said = ran(library, "test-wrong")
    assert code == 1
    assert "WRONG d:nn:2x3x1 packed: count 1, alpha 1+0i, beta 0+0i, status 0 (done)" in said
    assert "-0.75" not in said


def test_it_calls_nothing_that_allocates_exits_or_waits(library: Path) -> None:
    objects = [*library.glob("*.o"), *library.glob("objects/*/*.o")]
    said = subprocess.run(["nm", "-g", *objects], capture_output=True, text=True, check=True).stdout
    symbols = [line.split()[-2:] for line in said.splitlines() if re.search(r" [A-Za-z] \w+$", line)]
    defined = {name for kind, name in symbols if kind != "U"}
    assert {"my_gemm", "my_d_nn_2x3x1", "my_c_ct_2x1x3_pointers", "my_hc_nn_2x1x2"} <= defined
    assert all(name.startswith("my_") for name in defined)
    assert {name for kind, name in symbols if kind == "U"} - defined <= CALLED


def test_its_record_says_where_each_kernel_comes_from(library: Path) -> None:
    record = json.loads((library / "record.json").read_text())
    assert record["targets"].keys() == {best()}
    for name, problem in record["targets"][best()]["problems"].items():
        assert {kernel["origin"] for kernel in problem["kernels"]} <= {"tuned", "near", "kin", "default"}
        assert len(problem["kernels"]) == 16
        facts = problem["facts"]
        assert facts["fma"] == facts["fma_expected"] > 0
        # With 16 registers a complex product of eight matrices at once that is scaled keeps some in memory.
        few = best() == "avx2" and name == "my_c_ct_2x1x3"
        assert facts["spills"] <= (12 if few else 0)


def test_float16_is_asked_for_where_it_is_converted(library: Path, tmp_path: Path) -> None:
    """Not every processor with AVX2 need have the instructions; compilers differ in whether they can ask."""
    assert "has_f16c()" in (library / "src" / "processors.c").read_text() or not best().startswith("avx")
    tw.export_kernels("b:1x1x1", tmp_path, targets="avx2")
    assert "f16c" not in (tmp_path / "src" / "processors.c").read_text()
    plain, float16 = (processors.device_of(ISAS[1], which) for which in (False, True))
    assert not plain.features.endswith("+f16c")
    assert float16.features == f"{plain.features},+f16c"


def test_objects_are_made_for_other_architectures_and_an_older_export_goes(tmp_path: Path) -> None:
    tw.export_kernels("s:2x2x2", tmp_path, targets="neon", name="mine", prefix="my")
    machine = {path.name: path.read_bytes()[18] for path in tmp_path.glob("objects/*/*.o")}
    assert machine == {"my_s_nn_2x2x2_neon.o": 183}  # EM_AARCH64
    assert "int my_s_nn_2x2x2(size_t count, float alpha" in (tmp_path / "include" / "mine.h").read_text()
    tw.export_kernels("s:1x1x1", tmp_path, targets="neon", name="mine", prefix="my")
    assert [path.name for path in tmp_path.glob("objects/*/*.o")] == ["my_s_nn_1x1x1_neon.o"]


EMULATED = ("aarch64-linux-gnu-gcc", "qemu-aarch64")


@pytest.mark.skipif(not all(map(shutil.which, EMULATED)), reason=f"needs {' and '.join(EMULATED)}")
def test_a_library_for_another_architecture_is_right_under_an_emulator(tmp_path: Path) -> None:
    tw.export_kernels("c:tn:2x3x1", tmp_path, targets="neon")
    sources = ("src/*.c", "objects/aarch64/*.o", "test/test.c", "-lm", "-static", "-orun")
    compiled(tmp_path, EMULATED[0], "-std=c99", *STRICT, *sources)
    done = subprocess.run([EMULATED[1], tmp_path / "run"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "neon: 1 problems, 0 wrong\n")
