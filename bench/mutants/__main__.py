"""How many one-line slips the tests see: ``python -m bench.mutants --only build``.

Each slip of ``bench.mutants.slips`` is put into a copy of the repository in a temporary folder, and the
tests that should see it are run there. A test that fails, a crash, or a run that does not end in time kills
the slip.
Tests that fail without any slip prove nothing: what they should see counts as survived.

Exit code: 0 the share of killed slips is at least ``--least``, 1 it is not, 2 a slip no longer fits its file.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from bench.mutants.slip import Slip
from bench.mutants.slips import SLIPS

ROOT = Path(__file__).parent.parent.parent
COPIED = ("tilewright", "tests", "bench", "examples", "docs", "pyproject.toml", "README.md")
LEFT = shutil.ignore_patterns("__pycache__", "results", "out", "*.so")

# What pytest ends with when nothing is wrong, and when a test fails or cannot be imported.
PASSED, FAILED, BROKEN = 0, 1, 2

# What the tests of a copy said last, and how many lines of it are shown.
SAID, LAST = "pytest.log", 20


def main() -> int:
    """Try the slips, say what became of each, and give the exit code."""
    given = _arguments()
    chosen = [slip for slip in SLIPS if given.only in f"{slip.file} {slip.old}"]
    unfit = [slip for slip in chosen if not fits(slip)]
    for slip in unfit:
        print(f"not exactly once in {slip.file}: {slip.old!r}", file=sys.stderr)
    if unfit or not chosen:
        return 2
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        bench = Bench(Path(folder), given.jobs, given.timeout)
        killed = bench.tried(chosen)
    score = 100 * killed / len(chosen)
    minutes = (time.monotonic() - began) / 60
    print(f"{killed} of {len(chosen)} slips are seen: {score:.0f} % ({minutes:.0f} minutes)")
    return int(score < given.least)


def fits(slip: Slip) -> bool:
    """Whether the text that a slip replaces is in its file exactly once."""
    path = ROOT / slip.file
    return path.is_file() and path.read_text().count(slip.old) == 1


class Bench:
    """Copies of the repository, each for one run of tests at a time."""

    def __init__(self, folder: Path, jobs: int, timeout: float):
        self.timeout = timeout
        self.free: SimpleQueue[Path] = SimpleQueue()
        self.jobs = jobs
        for number in range(jobs):
            self.free.put(_copy(folder / str(number)))

    def tried(self, slips: Sequence[Slip]) -> int:
        """How many of the slips are seen; a line is printed for each as soon as it is known."""
        with ThreadPoolExecutor(self.jobs) as pool:
            # Files that several slips name in different company are run once.
            asked = list(dict.fromkeys(part for slip in slips for part in _apart(slip.tests)))
            sound = dict(zip(asked, pool.map(self.without, asked), strict=True))
            good = [all(sound[part] for part in _apart(slip.tests)) for slip in slips]
            return sum(pool.map(self.seen, slips, good))

    def without(self, tests: str) -> bool:
        """Whether tests pass on the program as it is; says why if they do not."""
        root = self.free.get()
        try:
            passed = self.run(root, tests) == PASSED
            if not passed:
                told = "\n".join((root / SAID).read_text(errors="replace").splitlines()[-LAST:])
                print(f"fails without a slip, or is not there: {tests}\n{told}", file=sys.stderr, flush=True)
            return passed
        finally:
            self.free.put(root)

    def seen(self, slip: Slip, sound: bool) -> bool:
        """Whether the tests of a slip see it, if they are of any use; says so."""
        began = time.monotonic()
        code = self.slipped(slip) if sound else PASSED
        killed = code is None or code < 0 or code in (FAILED, BROKEN)
        tests = slip.tests + (": no end" if code is None else "")
        print(
            f"{'killed  ' if killed else 'SURVIVED'} {time.monotonic() - began:4.0f} s "
            f"{slip.file}: {slip.old.strip()!r:.60} ({tests})",
            flush=True,
        )
        return killed

    def slipped(self, slip: Slip) -> int | None:
        """What ``run`` says of the tests of a slip with the slip in place."""
        root = self.free.get()
        path = root / slip.file
        whole = path.read_text()
        try:
            path.write_text(whole.replace(slip.old, slip.new))
            return self.run(root, slip.tests)
        finally:
            path.write_text(whole)
            self.free.put(root)

    def run(self, root: Path, tests: str) -> int | None:
        """The exit code of pytest in a copy; None when it took too long."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *shlex.split(tests)]
        environment = os.environ | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
        with (root / SAID).open("wb") as said:
            process = subprocess.Popen(
                command, cwd=root, env=environment, stdout=said, stderr=said, start_new_session=True
            )
        try:
            return process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            return None
        finally:
            # The children of tests too: they would take the time of others.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _apart(tests: str) -> list[str]:
    """Tests that pass together if each of these passes: each file, what is chosen of a file as it is."""
    parts = shlex.split(tests)
    return parts if all(part.endswith(".py") for part in parts) else [tests]


def _copy(root: Path) -> Path:
    """The repository, without what was built or measured."""
    root.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=LEFT)
        else:
            shutil.copy(source, root / name)
    return root


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="only slips whose file or text contains this")
    parser.add_argument("--least", type=float, default=90.0, help="percent of the slips that must be seen")
    parser.add_argument("--jobs", type=int, default=2, help="runs of tests at a time")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one run of tests")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
