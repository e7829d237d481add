"""How long published search spaces take to count, index and search: ``python -m bench.space``.

Each space (``bench.published``) in a fresh process. Printed, in ms unless said otherwise:

cold       the first count in a process that has imported the package: from here on points are found by number
warm       the same again on a new space, the median of seven
sample     one of 10,000 points drawn at once, in microseconds
at         one point by its number, in microseconds
near       the neighbours of one point, in microseconds
left       what each parameter may be once one is held
nearest    the nearest point to a config drawn from all combinations
edges      of the diagram; "columns" where it would be too large
MiB        by which the process's peak memory grew with the first count
shuffled   the slowest count of ten orders of the parameters, and how many times the given order's it takes
by order   the slowest diagram that numbers points in their order, of these ten, and how many of them are
           refused because they would be too large
joined     the count with all rules in one

A count that is not the published one ends the command. Kernel Tuner and pyATF are timed beside them where
Python can import them (``kernel_tuner``: a list of all points, which is all it offers; ``pyatf``: its trees),
with the same rules, each at the last parameter that it reads for pyATF. ``--only gemm,hotspot`` narrows the
spaces, ``--json FILE`` keeps the lines.
"""

from __future__ import annotations

import argparse
import json
import operator
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from bench import published
from tilewright.diagram.terms import Term, symbol, traced
from tilewright.model import Config
from tilewright.space import Space, arguments

Line = dict[str, Any]
SPACES = {each.name: each for each in (*published.EIGHT, *published.OTHERS)}
ORDERS = 10
SECONDS = 120
"""The longest that one tool may take for one space."""


def seconds(action: Callable[[], Any]) -> float:
    """How long one call takes."""
    begin = perf_counter()
    action()
    return perf_counter() - begin


def peak() -> float:
    """The most memory that this process has had, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def ours(given: published.Published) -> Line:
    """This project's figures of a space, in a process that has looked at no other."""

    def counted(space: Space) -> float:
        took = seconds(space.count)
        if space.count() != given.points:
            raise SystemExit(f"{given.name}: {space.count()} points, published: {given.points}")
        return 1e3 * took

    before = peak()
    space = given.space()
    line: Line = {"cold": counted(space), "MiB": peak() - before, "points": space.count()}
    line["warm"] = statistics.median(counted(given.space()) for _ in range(7))
    points = space.sample(1000, seed=1)
    line["sample"] = 1e6 * seconds(lambda: space.sample(10_000, seed=2)) / min(10_000, given.points)
    numbers = [space.number(point) for point in points]
    line["at"] = 1e6 * seconds(lambda: [space.at(number) for number in numbers]) / len(numbers)
    line["near"] = 1e6 * seconds(lambda: [space.neighbours(point) for point in points]) / len(points)
    held = next(param for param in space.params if len(param.values) > 1)
    line["left"] = 1e3 * seconds(lambda: space.left(**{held.name: held.values[-1]}))
    far = Config({param.name: param.values[-1] for param in space.params})
    line["nearest"] = 1e3 * seconds(lambda: space.nearest(far))
    line["edges"] = "columns" if space.diagram is None else space.diagram.size
    orders = [given.space(order) for order in range(ORDERS)]
    line["shuffled"] = max(1e3 * seconds(partial(getattr, space, "compact")) for space in orders)
    line["times"] = line["shuffled"] / line["warm"]
    line["by order"] = max(1e3 * seconds(partial(getattr, space, "diagram")) for space in orders)
    line["refused"] = sum(space.diagram is None for space in orders)
    line["joined"] = 1e3 * seconds(given.joined().count)
    return line


SIGNS: dict[Any, str] = {
    getattr(operator, word): sign
    for word, sign in zip(
        ("add", "sub", "mul", "floordiv", "mod", "eq", "ne", "lt", "le", "gt", "ge", "or_", "and_"),
        ("+", "-", "*", "//", "%", "==", "!=", "<", "<=", ">", ">=", "or", "and"),
        strict=True,
    )
}


def rendered(term: Any) -> str:
    """An expression as text."""
    if not isinstance(term, Term):
        return repr(term)
    if isinstance(term.operation, str):
        return term.operation
    return "(" + f" {SIGNS[term.operation]} ".join(rendered(each) for each in term.operands) + ")"


def rules_as_text(given: published.Published) -> list[str]:
    """The tests of a space as strings, what is joined by ``and`` apart, as their users write them."""
    texts = []
    for test in given.tests:
        term = traced(test, {read: symbol(read, whole=True) for read in arguments(test)})
        assert term is not None
        parts = term.operands if term.operation is operator.and_ else (term,)
        texts += [rendered(part) for part in parts]
    return texts


def kernel_tuner(given: published.Published) -> Line:
    """Kernel Tuner's list of a space."""
    searchspace: Any = import_module("kernel_tuner.searchspace")
    before, texts = peak(), rules_as_text(given)
    values = {name: list(each) for name, each in given.values.items()}
    begin = perf_counter()
    found = searchspace.Searchspace(values, texts, 1 << 30)
    return {"cold": 1e3 * (perf_counter() - begin), "points": found.size, "MiB": peak() - before}


def pyatf(given: published.Published) -> Line:
    """pyATF's trees of a space."""
    module: Any = import_module("pyatf")
    trees: Any = import_module("pyatf.search_space")
    names = list(given.values)
    at: dict[str, list[str]] = {name: [] for name in names}
    texts = rules_as_text(given)
    for text in texts:
        inside = compile(text, "", "eval").co_names
        at[max(inside, key=names.index)].append(text)
    params = []
    for name, rules in at.items():
        code = " and ".join(rules)
        reads = sorted(set(compile(code, "", "eval").co_names)) if rules else []
        # The tests are texts of this file's own expressions.
        test = eval(f"lambda {', '.join(reads)}: {code}") if rules else None
        params.append(module.TP(name, module.Set(*given.values[name]), test))
    before, begin = peak(), perf_counter()
    found = trees.SearchSpace(*params, verbosity=0)
    return {
        "cold": 1e3 * (perf_counter() - begin),
        "points": found.constrained_size,
        "MiB": peak() - before,
    }


TOOLS: dict[str, Callable[[published.Published], Line]] = {
    "tilewright": ours,
    "kernel_tuner": kernel_tuner,
    "pyatf": pyatf,
}


def in_a_process(tool: str, name: str) -> Line:
    """One tool's figures of one space, from a fresh process."""
    program = [sys.executable, "-m", "bench.space", "--child", tool, "--only", name]
    line: Line = {"tool": tool, "space": name}
    try:
        done = subprocess.run(program, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return line | {"failed": f"more than {SECONDS} s"}
    if done.returncode:
        return line | {"failed": (done.stderr.strip().splitlines() or ["no word"])[-1]}
    found: Line = json.loads(done.stdout.strip().splitlines()[-1])
    return line | found


def shown(line: Line) -> str:
    """A line for the console."""
    if "failed" in line:
        return f"{line['space']:16} {line['tool']:12} {line['failed']}"
    figures = {k: v for k, v in line.items() if k not in ("space", "tool", "points")}
    cells = (f"{k} {v if isinstance(v, str | int) else format(v, '.3g')}" for k, v in figures.items())
    return f"{line['space']:16} {line['tool']:12} {line['points']:>11,}  {'  '.join(cells)}"


def main() -> None:
    """Measure every space with every tool that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default=",".join(SPACES), help="names of spaces, by commas")
    parser.add_argument("--json", type=Path, help="where the lines are kept")
    parser.add_argument("--child", choices=TOOLS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := [name for name in names if name not in SPACES]:
        parser.error(f"no space {unknown[0]!r}; accepted: {', '.join(SPACES)}")
    if options.child:
        print(json.dumps(TOOLS[options.child](SPACES[names[0]])))
        return
    lines = []
    for tool in (tool for tool in TOOLS if tool == "tilewright" or find_spec(tool)):
        for name in names:
            lines.append(in_a_process(tool, name))
            print(shown(lines[-1]), flush=True)
        eight = [line for line in lines if line["tool"] == tool and line["space"] in names]
        eight = [line for line in eight if SPACES[line["space"]] in published.EIGHT and "cold" in line]
        print(f"{tool}: cold, {len(eight)} of the eight: {sum(line['cold'] for line in eight):.1f} ms")
    failed = [line for line in lines if line["tool"] == "tilewright" and "failed" in line]
    if options.json:
        options.json.write_text("".join(json.dumps(line) + "\n" for line in lines))
    if failed:
        raise SystemExit(f"{len(failed)} spaces failed")


if __name__ == "__main__":
    main()
