"""The gallery, whole programs as they are and with their products by Tilewright: ``python -m bench.gallery``.

Each script of ``examples/gallery`` runs in a process of its own and says what it measured: seconds of the
whole program in every way, in turns, how far results are apart, and a copy of as many bytes beside a product
alone. simdkalman's gets two cores. What cannot run here (a library is missing) is left out and said.
``--draw FOLDER`` makes the pictures of docs/gallery.md from such files instead.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

from bench import lines, machine
from tilewright.catalog import TARGETS

ROOT = Path(__file__).parent.parent
CORES = {"kalman_numpy": 2}
"""Cores of programs that do not get all."""
PROGRAMS = ("kalman_numpy", "kalman_torch", "links", "groups")


def measured(name: str, rounds: int, more: list[str]) -> Iterator[lines.Line]:
    """The lines of a program; what it says instead, or how it fails, goes to the screen."""
    cores = sorted(machine.cores())[: CORES.get(name)]
    limit = ["taskset", "-c", ",".join(map(str, cores))] if name in CORES else []
    script = ROOT / "examples" / "gallery" / f"{name}.py"
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [*limit, sys.executable, str(script), "--json", "--rounds", str(rounds), *more]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        for text in program.stdout:
            if text.startswith("{"):
                yield json.loads(text) | {"script": name, "cores": len(cores), "date": lines.now()}
            else:
                print(f"{name}: {text}", end="")
    if program.returncode:
        print(f"{name}: ended with {program.returncode}")


def shown(line: lines.Line) -> str:
    """A line of the screen."""
    seconds, (first, *_) = line["seconds"], line["seconds"].values()
    ways = ", ".join(f"{name} {1e3 * taken:.3f} ({first / taken:.2f})" for name, taken in seconds.items())
    return f"{line['program']}, {line['piece']}: {line['work']}; ms: {ways}; the same: {line['right']}"


WIDTH, LABEL, LEFT, ROW = 720, 250, 16, 30
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 15px }
.note { fill: #57606a }
.before { fill: #8c959f }
.ours { fill: #1a7f37 }
.beside { fill: #bf8700 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .note { fill: #9198a1 }
  .before { fill: #6e7681 }
  .ours { fill: #3fb950 }
  .beside { fill: #d29922 }
}
"""


def picture(line: lines.Line) -> str:
    """One comparison as bars, an SVG that is readable on white and on black."""
    seconds = line["seconds"]
    first, longest = next(iter(seconds.values())), max(seconds.values())
    room = WIDTH - LABEL - 190
    parts = [
        f'<text class="title" x="{LEFT}" y="26">{escape(line["piece"])}</text>',
        f'<text class="note" x="{LEFT}" y="46">{escape(line["work"])}</text>',
    ]
    for place, (name, taken) in enumerate(seconds.items()):
        y = 62 + ROW * place
        kind = "before" if place == 0 else "beside" if name in line["beside"] else "ours"
        long = max(1.5, room * taken / longest)
        times = f", {first / taken:.3g} times" if kind == "ours" else ""
        parts += [
            f'<text x="{LEFT}" y="{y + 16}">{escape(name)}</text>',
            f'<rect class="{kind}" x="{LEFT + LABEL}" y="{y + 3}" width="{long:.1f}" height="18" rx="3"/>',
            f'<text x="{LEFT + LABEL + long + 8:.1f}" y="{y + 16}">{_duration(taken)}{times}</text>',
        ]
    height = 62 + ROW * len(seconds) + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-label="{escape(line["piece"], quote=True)}">\n'
        f"<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _duration(seconds: float) -> str:
    """A time with three figures and its unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


def drawn(files: list[Path], folder: Path) -> list[Path]:
    """A picture of the last comparison of each name in the files; where they lie."""
    last = {_name(line): line for file in files for line in lines.read(file) if line["kind"] == "gallery"}
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, line in last.items():
        made.append(folder / f"{name}.svg")
        made[-1].write_text(picture(line))
    return made


def _name(line: lines.Line) -> str:
    """A file's name: the script, the piece, and the type."""
    words = f"{line['script']} {line['piece']} {line['work'].split(', ')[-1]}"
    return "-".join("".join(c if c.isalnum() else " " for c in words.lower()).split())


def main() -> None:
    """Measure, print and keep, or draw."""
    parser = lines.parser("bench.gallery", __doc__)
    add = parser.add_argument
    add("files", nargs="*", type=Path, help="with --draw: lines of earlier runs")
    add("--programs", default=",".join(PROGRAMS), help=f"default: {','.join(PROGRAMS)}")
    add("--rounds", type=int, default=7, help="samples of each way (default: 7)")
    add("--small", action="store_true", help="sizes that take a moment")
    add("--cpu", action="store_true", help="this process's memory, also where there is a GPU")
    add("--out", type=Path, help="lines of JSON are added to this file")
    add("--draw", type=Path, metavar="FOLDER", help="make pictures of the files instead")
    options = parser.parse_args()
    if options.draw is not None:
        for path in drawn(options.files, options.draw):
            print(path)
        return
    kind = "cpu" if options.cpu or TARGETS["cuda"].missing() is not None else "cuda"
    sink = lines.Sink(options.out, "gallery", TARGETS[kind].probe(), vars(options))
    more = [f"--{name}" for name in ("small", "cpu") if getattr(options, name)]
    for name in lines.words(options.programs):
        for line in measured(name, options.rounds, more):
            sink.write(line)
            print(shown(line), flush=True)


if __name__ == "__main__":
    main()
