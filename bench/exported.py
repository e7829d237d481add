"""Whether exported libraries build and are right everywhere: ``python -m bench.exported``, ``make
export-check``.

A library of ``--problems`` for each instruction set alone is compiled by gcc and clang as C99 and C++17 with
warnings as errors, and its tests are run: those of this architecture directly, those of others under QEMU,
with the cross compilers that there are. Then CMake builds, tests and installs one for this machine, and
another project uses what was installed, by its package and by pkg-config. What is missing is named, and exit
code 1 says that something failed.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import tilewright as tw
from tilewright.export import processors
from tilewright.targets.cpu.isa import ISAS

PROBLEMS = (
    "d:8x8x8 z:3x3x3 s:ct:16x12x9 c:jn:5x5x5 d:tt:1x7x3 z:nc:9x2x4 s:nt:31x33x20 "
    "h:8x8x8 h:tn:5x7x3 b:nt:9x4x10 hc:3x3x3 hc:jc:4x2x5"
)
STRICT = ("-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude")
SKIPPED = 77
TOOLS = {
    "aarch64": "aarch64-linux-gnu",
    "ppc64le": "powerpc64le-linux-gnu",
    "riscv64": "riscv64-linux-gnu",
    "x86_64": "x86_64-linux-gnu",
}
"""How the names of the cross compilers for an architecture begin."""
USER_CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(tilewright_kernels CONFIG REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE tilewright_kernels::tilewright_kernels)
"""
USER_C = """
#include <tilewright_kernels.h>
int main(void)
{
    double a[64] = {1}, b[64] = {2}, c[64];
    return tw_d_nn_8x8x8(1, 1, a, 64, b, 64, 0, c, 64) || c[0] != 2;
}
"""


def called(words: Sequence[object], folder: Path) -> tuple[int, str]:
    """Exit code and last line of a command."""
    done = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).strip().splitlines()
    return done.returncode, said[-1] if said else ""


def files(folder: Path, *patterns: str) -> list[str]:
    """The files of a folder by patterns."""
    return [str(path) for pattern in patterns for path in sorted(folder.glob(pattern))]


def isa_checks(name: str, problems: Sequence[str], folder: Path) -> Iterator[tuple[str, int, str]]:
    """A library for one instruction set by every compiler: what was tried, its exit code and what it said."""
    arch = next(isa.arch for isa in ISAS if isa.name == name)
    here = arch == platform.machine()
    tool = TOOLS[arch]
    runner = [] if here else [f"qemu-{arch}"]
    pairs = (("gcc", "g++"), ("clang", "clang++")) if here else ((f"{tool}-gcc", f"{tool}-g++"),)
    tw.export_kernels(problems, folder, targets=name)
    static = [] if here else ["-static"]
    for cc, cxx in pairs:
        lacking = [each for each in (cc, *runner) if not shutil.which(each)]
        if lacking:
            yield f"{name} {cc}", SKIPPED, f"{', '.join(lacking)} missing"
            continue
        code, said = called([cc, "-std=c99", *STRICT, "-c", *files(folder, "src/*.c")], folder)
        if code:
            yield f"{name} {cc} c99", code, said
            continue
        objects = files(folder, "*.o", "objects/*/*.o")
        tests = [(cc, "c99", "test.c")] + ([(cxx, "c++17", "test.cpp")] if shutil.which(cxx) else [])
        for compiler, standard, test in tests:
            words = [compiler, f"-std={standard}", *STRICT, f"test/{test}", *objects, *static, "-lm", "-orun"]
            code, said = called(words, folder)
            if not code:
                code, said = called([*runner, folder / "run"], folder)
            yield f"{name} {compiler} {standard}", code, said


def cmake_checks(problems: Sequence[str], folder: Path) -> Iterator[tuple[str, int, str]]:
    """CMake's build, tests and installation, and a project that uses what was installed."""
    if not shutil.which("cmake"):
        yield "cmake", SKIPPED, "cmake missing"
        return
    tw.export_kernels(problems, folder / "library")
    place, user = folder / "installed", folder / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text(USER_CMAKE)
    (user / "user.c").write_text(USER_C)
    for shared in ("OFF", "ON"):
        build = folder / f"build-{shared}"
        steps: tuple[tuple[object, ...], ...] = (
            ("cmake", "-S", folder / "library", "-B", build, f"-DBUILD_SHARED_LIBS={shared}"),
            ("cmake", "--build", build),
            ("ctest", "--test-dir", build),
            ("cmake", "--install", build, "--prefix", place),
            ("cmake", "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={place}"),
            ("cmake", "--build", user / "build", "--clean-first"),
            (user / "build" / "user",),
        )
        for step in steps:
            code, said = called(step, folder)
            if code:
                break
        yield f"cmake, shared {shared}: {Path(str(step[0])).name}", code, said
    pc = next(place.rglob("tilewright_kernels.pc"), place)
    if not shutil.which("pkg-config"):
        yield "pkg-config", SKIPPED, "pkg-config missing"
        return
    flags = subprocess.run(
        ["pkg-config", "--static", "--cflags", "--libs", pc], capture_output=True, text=True, check=False
    ).stdout.split()
    code, said = called(
        ["cc", user / "user.c", *flags, f"-Wl,-rpath,{pc.parent.parent}", "-ouser.bin"], folder
    )
    yield "pkg-config", *((code, said) if code else called([folder / "user.bin"], folder))


def main() -> None:
    """Check what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="bench.exported", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", default=PROBLEMS)
    options = parser.parse_args()
    problems, failed = options.problems.split(), False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checks = [isa_checks(isa, problems, folder / isa) for isa in processors.names()]
        for check in (*checks, cmake_checks([*problems, "d:8x8x8"], folder)):
            for what, code, said in check:
                word = {0: "right", SKIPPED: "skipped"}.get(code, "FAILED")
                failed |= word == "FAILED"
                print(f"{word:8}{what}: {said}", flush=True)
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
