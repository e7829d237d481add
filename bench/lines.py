"""What all measuring commands share: facts of the machine, lines of JSON, sizes, the console."""

from __future__ import annotations

import argparse
import json
import platform
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import TextColumn, TimeElapsedColumn

from bench import machine
from tilewright.catalog import TARGETS
from tilewright.errors import ArgumentError
from tilewright.model import DTYPES, Device, Problem
from tilewright.targets.cuda import devices, driver
from tilewright.tuning.results import Progress
from tilewright.tuning.timing import speed

Line = dict[str, Any]
Listener = Callable[[Progress], None]
SIZES = "sizes such as 2..32 or 4,8,16..20"


def facts(device: Device) -> Line:
    """Where, when and with what a measurement is made: the same for every line of a run."""
    try:
        package = version("tilewright")
    except PackageNotFoundError:
        package = ""
    return (_gpu(device) if device.kind == "cuda" else {}) | {
        "cpu": machine.processor(),
        "device": device.key,
        "limits": dict(device.limits),
        "cores": len(machine.cores()),
        "l2": machine.cache_bytes(2),
        "llc": machine.last_level_cache_bytes(),
        "tilewright": package,
        "commit": machine.commit(),
        "toolchain": TARGETS[device.kind].toolchain(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": platform.platform(),
        "date": now(),
    }


def _gpu(device: Device) -> Line:
    """What else a measurement on a GPU is made with."""
    return {
        "gpu": device.name,
        "driver": devices.driver_version(),
        "clocks": driver.clocks(),
        "peers": {name: version(name) for name in ("torch", "nvidia-cublas") if _there(name)},
    }


def _there(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def parser(command: str, about: str | None) -> argparse.ArgumentParser:
    """The parser of a measuring command: its name, and the module's own text."""
    return argparse.ArgumentParser(
        prog=command, description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def demand_gpu() -> None:
    """Raises ``SystemExit`` with the reason where there is no GPU to measure on."""
    reason = TARGETS["cuda"].missing()
    if reason is not None:
        raise SystemExit(f"nothing to measure on: {reason}")


class Sink:
    """Lines of JSON added to a file as soon as they are known; the first of a run holds the facts."""

    def __init__(self, path: Path | None, command: str, device: Device, options: Line | None = None):
        self.path = path
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        # Names, not folders: where a file lay says nothing of what was measured.
        plain = {name: x.name if isinstance(x, Path) else x for name, x in (options or {}).items()}
        self.write({"kind": "run", "command": command, "options": plain} | facts(device))

    def write(self, line: Line) -> None:
        """Add one line."""
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(line, default=_plain) + "\n")


def read(path: Path) -> Iterator[Line]:
    """The lines of a file."""
    for text in path.read_text().splitlines():
        yield json.loads(text)


def now() -> str:
    """The moment in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def busy(console: Console, quiet: float = 0.2) -> float:
    """Cores that other programs use now; a warning when they are more than ``quiet``."""
    others = round(machine.busy_cores(), 2)
    if others > quiet:
        console.print(f"other programs use {others:.1f} cores: not to be trusted", style="yellow")
    return others


def console() -> Console:
    """The screen; wide enough for a table where it is a file."""
    screen = Console(highlight=False)
    return screen if screen.is_terminal else Console(width=150, highlight=False)


@contextmanager
def bar(screen: Console, words: str) -> Iterator[Listener]:
    """While it is open, a line that says how far the tuner is; it is told through what is yielded."""
    columns = (TextColumn("{task.description}"), TimeElapsedColumn())
    with Bar(*columns, console=screen, transient=True, disable=not screen.is_terminal) as drawn:
        task = drawn.add_task(words)

        def listen(state: Progress) -> None:
            best = f", {state.problem.flops * speed(state.best) / 1e9:.1f} GF/s" if state.best else ""
            rate = state.tried / max(state.elapsed, 1e-9)
            drawn.update(
                task, description=f"{words}: {state.stencil}, {state.tried} tried, {rate:.0f}/s{best}"
            )

        yield listen


def numbers(text: str) -> list[int]:
    """``2..4,8`` as [2, 3, 4, 8], in the order in which they are named."""
    found: list[int] = []
    for part in text.split(","):
        low, dots, high = part.partition("..")
        try:
            found += range(int(low), int(high if dots else low) + 1)
        except ValueError as error:
            raise ArgumentError(f"{text!r} is not understood; accepted: {SIZES}") from error
    return found


def words(text: str) -> list[str]:
    """``a,b`` as ["a", "b"]."""
    return [part.strip() for part in text.split(",") if part.strip()]


def letters(text: str) -> list[str]:
    """Types such as ``sd`` as ["s", "d"], or with commas, such as ``h,b,hc``; ``hc`` is one type in both."""
    found = words(text) if "," in text else re.findall("hc|.", text)
    for letter in found:
        if letter not in DTYPES:
            raise ArgumentError(f"type {letter!r}; accepted: any of {', '.join(DTYPES)}, as sdcz or h,b,hc")
    return found


def square(letter: str, n: int, beta: str) -> Problem:
    """The packed square product of order n."""
    return Problem(DTYPES[letter], n, n, n, beta=beta)


def _plain(value: Any) -> Any:
    """NumPy's numbers and tuples as JSON knows them."""
    return value.item() if hasattr(value, "item") else list(value)
