"""How long Python takes until there is something: ``python -m bench.imports``.

Fresh processes of each kind, in turns:

nothing  the interpreter alone
numpy    ``import numpy``
import   ``import tilewright``
first    ``import tilewright as tw``, ``import numpy as np`` and the first ``tw.matmul`` of two 8x8 matrices,
         whose kernel is on disk

Bytecode is cached. Printed and kept are medians, and the fastest process, of the time that passed and of the
processor's time, in ms: on a machine that is shared the second says more. ``--other FOLDER`` runs another
checkout of the package in the same turns.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from rich.table import Table

from bench import lines
from tilewright.planning import dispatch

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = {
    "nothing": "pass",
    "numpy": "import numpy",
    "import": "import tilewright",
    "first": "import tilewright as tw, numpy as np\na = np.ones((8, 8))\nassert tw.matmul(a, a)[0, 0] == 8",
}


def once(program: str, folder: Path, home: str) -> tuple[float, float]:
    """Milliseconds that one fresh process took, and those of the processor's time."""
    environment = os.environ | {"TILEWRIGHT_HOME": home, "PYTHONPATH": str(folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    # A program given by ``-c`` finds packages where it is run first of all.
    subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, check=True)
    took, after = perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1e3 * took, 1e3 * worked


def measured(folders: dict[str, Path], rounds: int) -> list[lines.Line]:
    """A line for each program and checkout, all of them run in turns."""
    taken: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as home:
        # The first round compiles what the others find: bytecode and the kernel.
        for number in range(-1, rounds):
            for name, program in PROGRAMS.items():
                for where, folder in folders.items():
                    sample = once(program, folder, f"{home}/{where}")
                    if number >= 0:
                        taken.setdefault((name, where), []).append(sample)
    found: list[lines.Line] = []
    for (name, where), samples in taken.items():
        line: lines.Line = {"kind": "process", "program": name, "of": where}
        for what, values in zip(("wall", "cpu"), zip(*samples, strict=True), strict=True):
            line |= {f"{what}_ms": statistics.median(values), f"{what}_least_ms": min(values)}
        found.append(line)
    return found


def main() -> None:
    """Measure what the command line asks for."""
    options = _arguments()
    console = lines.console()
    sink = lines.Sink(options.out, "imports", dispatch.device(), vars(options))
    busy = lines.busy(console)
    folders = {"this": ROOT} | ({"other": options.other.resolve()} if options.other else {})
    drawn = Table(title="fresh processes, ms", title_justify="left")
    for name in ("", "of", "passed", "least", "processor", "least"):
        drawn.add_column(name, justify="left" if name in ("", "of") else "right")
    for line in measured(folders, options.rounds):
        sink.write({"date": lines.now(), "busy": busy} | line)
        figures = (line[name] for name in ("wall_ms", "wall_least_ms", "cpu_ms", "cpu_least_ms"))
        drawn.add_row(line["program"], line["of"], *(f"{figure:.0f}" for figure in figures))
    console.print(drawn)


def _arguments() -> argparse.Namespace:
    parser = lines.parser("bench.imports", __doc__)
    add = parser.add_argument
    add("--rounds", type=int, default=15, help="fresh processes of each kind (default: 15)")
    add("--other", type=Path, help="the folder of another checkout, run in the same turns")
    add("--out", type=Path, help="lines of JSON are added to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
