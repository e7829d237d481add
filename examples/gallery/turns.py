"""What the programs of the gallery share: ways to do the same, one after the other, and what each takes."""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any


def options(words: str) -> argparse.Namespace:
    """What every program can be asked."""
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument("--small", action="store_true", help="sizes that take a moment on any machine")
    parser.add_argument("--cpu", action="store_true", help="this process's memory, also where there is a GPU")
    parser.add_argument("--rounds", type=int, default=7, help="samples of each way (default: 7)")
    parser.add_argument("--json", action="store_true", help="lines of JSON in place of tables")
    return parser.parse_args()


def largest(x: Any) -> float:
    """The largest magnitude in an array of any library."""
    return float(abs(x).max())


def apart(got: Any, want: Any) -> float:
    """How far results are apart, over the largest element wanted; the worst where there are several."""
    if isinstance(want, (tuple, list)):
        return max(apart(x, y) for x, y in zip(got, want, strict=True))
    return largest(got - want) / max(largest(want), 1e-300)


@dataclass
class Comparison:
    """One piece of work done in several ways, the first of which is the program as it was.

    ``wait`` returns when a GPU is done; ``within`` is how far a result may be from the first way's, over its
    largest element. A way without a result to compare, such as a copy, is in ``beside``. ``around`` are
    context managers that a way runs in, which are entered, and the way run once, before it is timed.
    """

    program: str
    piece: str
    work: str
    ways: dict[str, Callable[[], Any]]
    within: float
    wait: Callable[[], Any] = lambda: None
    beside: dict[str, Callable[[], Any]] = field(default_factory=dict)
    around: dict[str, Callable[[], Any]] = field(default_factory=dict)

    def run(self, rounds: int) -> dict[str, Any]:
        """Every way once, for its result and for what is made in a first call; then in turns, by the clock.

        The time of a way is the median of its samples: seconds until its last result is there.
        """
        results = {}
        for name, way in self.ways.items():
            with self.around.get(name, nullcontext)():
                results[name] = way()
        first, *others = results
        far = {name: apart(results[name], results[first]) for name in others}
        del results
        everything = {**self.ways, **self.beside}
        samples: dict[str, list[float]] = {name: [] for name in everything}
        for number in range(rounds + 1):
            for name, way in everything.items():
                with self.around.get(name, nullcontext)():
                    if name in self.around:
                        way()
                    self.wait()
                    begin = time.perf_counter()
                    way()
                    self.wait()
                    if number:  # The first turn warms what the turns of others have left.
                        samples[name].append(time.perf_counter() - begin)
        seconds = {name: statistics.median(taken) for name, taken in samples.items()}
        return {
            "kind": "gallery",
            "program": self.program,
            "piece": self.piece,
            "work": self.work,
            "seconds": seconds,
            "range": {name: (min(taken), max(taken)) for name, taken in samples.items()},
            "apart": far,
            "right": all(value <= self.within for value in far.values()),
            "beside": [*self.beside],
        }


def show(line: dict[str, Any], as_json: bool) -> None:
    """A comparison as a table, or as a line of JSON."""
    if as_json:
        print(json.dumps(line), flush=True)
        return
    print(f"{line['piece']}: {line['work']}")
    first = next(iter(line["seconds"].values()))
    for name, seconds in line["seconds"].items():
        times = "" if name in line["beside"] else f"{first / seconds:8.2f} times as fast"
        print(f"  {name:44} {1e3 * seconds:9.3f} ms{times}")
    print(f"  the same results: {line['right']}", flush=True)
