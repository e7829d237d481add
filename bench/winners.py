"""Winners to ship, of many problems in little time: ``python -m bench.winners public --limit 90``, on a GPU.

Lists of problems (``LISTS``): ``public`` are the products of public programs (``bench.public``), ``squares``
those of 33 to 64 rows, ``skewed`` batches of one long extent beside two short ones, ``shipped`` what the GPU
has records of that ship with the package, the smallest first but batches of millions. Each is tuned with both
classes of beta in a regime, for ``--seconds``, by the stencils that come near the best one by what was
measured of problems like it. ``--only`` takes the problems of a file of keys, in its order.

Several tuners work side by side (``--lanes``, ``bench.lanes``), each with its own processes.

A line of JSON for each problem goes to ``--out``: what won, at which speed, what the vendor's product did in
the same round, and what a call ran before. Rows of the records that may ship go to ``--export``: the fastest
kernel, or the vendor's product where that is faster. What was slower than the kernel that a call runs
without the record is left out, and so is a winner where that kernel was not tried. Behind a winner come rows
of other stencils, for batches that its own refuses (``runners_up.others``).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import lines
from bench.lanes import EACH, Lane, work
from bench.public import SHAPES, Shape
from tilewright.model import DTYPES, Problem, Record
from tilewright.planning import dispatch, runners_up
from tilewright.store.jsonl import compact, decode, encode
from tilewright.store.records import Records
from tilewright.tuning import timing
from tilewright.tuning.evaluate.table import EVALUATIONS

MANY = 10_000_000
"""Products from which on a problem comes last."""
SQUARES = (64, 48, 40, 56, 36, 33, 60, 44, 52, 45, 50, 63)
SKEWED = (
    (1024, 8, 8),
    (8, 1024, 8),
    (8, 8, 1024),
    (256, 16, 16),
    (16, 256, 16),
    (16, 16, 256),
    (4096, 4, 4),
    (4, 4, 4096),
    (64, 64, 8),
    (128, 128, 16),
    (64, 8, 64),
    (8, 64, 64),
    (64, 1, 64),
    (1, 64, 64),
)


# ---- what is tuned


def of_shape(shape: Shape, beta: str) -> Problem | None:
    """The problem of a product of row-major arrays; None where several batch axes are left, for which no
    record counts."""
    dtype = DTYPES[shape.letter]
    m, k = shape.a[-2:]
    if not shape.b:
        return Problem(dtype, m, m, k, "c", "n", beta=beta)
    many_a, many_b = ([extent for extent in each[:-2] if extent != 1] for each in (shape.a, shape.b))
    if (len(many_a) > 1 and many_a != many_b) or (len(many_b) > 1 and many_a != many_b):
        return None
    alone = not many_a and not many_b
    # Row-major operands are column-major ones in the other order.
    shared_a, shared_b = (0 if not many and not alone else None for many in (many_b, many_a))
    return Problem(dtype, shape.b[-1], m, k, beta=beta, stride_a=shared_a, stride_b=shared_b)


def _public() -> Iterator[Problem]:
    for shape in SHAPES:
        for beta in "01":
            found = of_shape(shape, beta)
            if found is not None:
                yield found


def _squares() -> Iterator[Problem]:
    for n in SQUARES:
        for letter in "dzcshb":
            yield from (Problem(DTYPES[letter], n, n, n, beta=beta) for beta in "01")


def _skewed() -> Iterator[Problem]:
    for size in SKEWED:
        for letter in "sdczhb":
            yield from (Problem(DTYPES[letter], *size, beta=beta) for beta in "01")


def _shipped() -> Iterator[Problem]:
    device = dispatch.device("cuda")
    held = [record.problem for record in Records().shipped(device.key)]
    # Tens of millions of products take minutes to be checked.
    yield from sorted(
        (p for p in held if isinstance(p, Problem)),
        key=lambda p: (p.products > MANY, max(p.extents), p.spelling),
    )


LISTS: dict[str, Callable[[], Iterator[Problem]]] = {
    "public": _public,
    "squares": _squares,
    "skewed": _skewed,
    "shipped": _shipped,
}


def asked(names: Sequence[str], only: Sequence[str] = ()) -> list[Problem]:
    """The problems of these lists, each once; of ``only`` these keys, in that order."""
    found = {problem.key: problem for name in names for problem in LISTS[name]()}
    return [found[key] for key in only if key in found] if only else list(found.values())


# ---- the command


def _arguments() -> argparse.Namespace:
    parser = lines.parser("bench.winners", __doc__)
    add = parser.add_argument
    add("lists", nargs="*", help=f"lists of problems: {', '.join(LISTS)}")
    add("--regime", default="memory", choices=timing.REGIMES, help="default: memory")
    add("--only", type=Path, help="a file of problem keys, a line each: these, in that order")
    add("--seconds", type=float, default=1.6, help="of searching for a problem (default: 1.6)")
    add("--lanes", type=int, default=4, help="tuners side by side (default: 4)")
    add("--limit", type=float, default=90.0, help="seconds for all of it (default: 90)")
    add("--records", type=Path, help="SQLite file of all tries (default: one that is thrown away)")
    add("--out", type=Path, help="a line of JSON for each problem is added to this file")
    add("--export", type=Path, help="where the rows that may ship are written")
    add("--into", type=Path, help="tune nothing: take the rows of --merge into this file of shipped records")
    add("--merge", type=Path, nargs="*", default=[], help="files that --export wrote")
    options = parser.parse_args()
    if unknown := [name for name in options.lists if name not in LISTS]:
        parser.error(f"no list {unknown[0]!r}; accepted: {', '.join(LISTS)}")
    return options


def merged(texts: Sequence[str]) -> str:
    """Lines of records, of one problem in a regime those of the last text alone, in the order of their
    spellings, as ``Records.export`` writes them. Other lines stay as they are, to the letter.

    Rows of the texts before that are to be kept beside a new winner (``runners_up.beside``) stay behind it
    where the last text has none: with the protocol of their timing, for nothing was decided of all together.
    """
    held: dict[tuple[str, str], list[tuple[Record, str]]] = {}
    for text in texts:
        fresh: dict[tuple[str, str], list[tuple[Record, str]]] = {}
        for line in filter(None, text.split("\n")):
            record = decode(json.loads(line))
            fresh.setdefault((record.problem.key, record.regime), []).append((record, line))
        for key, rows in fresh.items():
            held[key] = rows if len(rows) > 1 else rows + _kept(rows[0][0], held.get(key, []))
    found = sorted(held.values(), key=lambda rows: rows[0][0].problem.spelling)
    return "".join(f"{line}\n" for rows in found for _, line in rows)


def _kept(winner: Record, before: Sequence[tuple[Record, str]]) -> list[tuple[Record, str]]:
    """Of the rows of a problem before those that are to be kept beside its new winner."""
    kept: dict[Record, str] = {}
    for names in runners_up.beside(winner) if before else ():
        found = next((each for each in before if each[0].stencil in names), None)
        if found is not None:
            kept.setdefault(*found)
    return [_undecided(record, line) for record, line in kept.items()]


def _undecided(record: Record, line: str) -> tuple[Record, str]:
    """A row with the protocol of its timing."""
    if record.timing is None or record.protocol == record.timing.protocol:
        return record, line
    plain = replace(record, protocol=record.timing.protocol)
    return plain, compact(encode(plain, samples=False))


def main() -> None:
    """Tune, say, export; or merge."""
    options = _arguments()
    if options.into is not None:
        files = (options.into, *options.merge)
        options.into.write_text(merged([file.read_text() for file in files]))
        return
    begin = time.time()
    only = options.only.read_text().split("\n") if options.only else ()
    problems = asked(options.lists, [key for key in only if key])
    device = dispatch.device("cuda")
    sink = lines.Sink(options.out, "winners", device, vars(options))
    cores = EVALUATIONS["cuda"].compilers(device)
    spawn = multiprocessing.get_context("spawn")
    turn, said = spawn.Value("i", 0), spawn.Queue()
    with TemporaryDirectory() as folder:
        path = options.records or Path(folder) / "tries.sqlite"
        lock = Path(folder) / "lock"
        lock.touch()
        # A compiler less than there is room for: the tuners and the timing children want cores, too.
        each = max(1, cores // options.lanes - 1)
        lane = Lane(options.regime, path, str(lock), each, options.seconds, begin + options.limit)
        # Not daemons, which may have no children.
        children = [
            spawn.Process(target=work, args=(lane, problems, turn, said)) for _ in range(options.lanes)
        ]
        for child in children:
            child.start()
        if options.export:
            options.export.write_text("")
        shipping, left = 0, len(children)
        while left and any(child.is_alive() for child in children):
            try:
                line = said.get(timeout=1.0)
            except queue.Empty:
                continue
            if line is None:
                left -= 1
                continue
            sink.write(line)
            print(_short(line), flush=True)
            if line.get("ships"):
                shipping += 1
                _exported(options.export, Records(path), line["problem"], options.regime, device.key)
        for child in children:
            child.join(EACH)
            child.terminate()
    print(f"{shipping} rows of {len(problems)} problems in {time.time() - begin:.1f} s", flush=True)


def _exported(path: Path | None, held: Records, *about: str) -> None:
    """Rows are written as soon as they are known, for a run that is stopped to lose none. ``about``: problem,
    regime and device."""
    first = held.best(*about) if path is not None else None
    if path is not None and first is not None:
        with path.open("a") as file:
            for row in (first, *runners_up.others(held, first)):
                file.write(compact(encode(row, samples=False)) + "\n")


def _short(line: lines.Line) -> str:
    """A line for people."""
    head = f"{line['problem']} {line['seconds']:.1f} s"
    if line["kind"] == "failed":
        return f"{head}: {line['why']}"
    ours, theirs, before = line["gflops"], line["vendor_gflops"], line["before"]
    faster = f"{ours / before['gflops']:.3f}" if ours and before["gflops"] else "?"
    vendor = f"{ours / theirs:.2f}" if ours and theirs else "?"
    return (
        f"{head}: {line['stencil']}, {faster} of {before['origin']} {before['stencil']}, "
        f"{vendor} of the vendor; {line['tried']} tried{'' if line['ships'] else '; does not ship'}"
    )


if __name__ == "__main__":
    main()
