"""Several commands in one process: ``python -m bench.batches plan FILE --limit SECONDS``.

FILE holds one command line a row, each with its own ``--limit`` and ``--out``; ``#`` begins a comment, and
$NAME is read from the environment:

    squares --types d --sizes 17..32 --seeds seeds.jsonl --top 2 --limit 40 --out $OUT/squares.jsonl
    half --limit 35 --out $OUT/half.jsonl     # a comment

Where time on a GPU is short this saves minutes: imports, the children with their contexts and cuBLAS, and the
speed of a copy are had once. All rows use one file of records. A row that fails is reported with its
traceback, and the next goes on; a row whose turn comes when no time is left is named and not run. Rows that
are not understood are reported before anything is measured. The exit status is 1 if any row failed.
"""

from __future__ import annotations

import argparse
import os
import shlex
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

import tilewright
from bench import lines
from bench.batches.commands import parsed, perform
from bench.batches.run import Run
from tilewright.errors import ArgumentError
from tilewright.planning import dispatch

LEAST = 5.0
"""Seconds without which a command is not begun: it would hardly measure anything, but overrun."""


def understood(row: str) -> argparse.Namespace | None:
    """The options of a row, None of an empty one. Raises ``ArgumentError`` for what is no command, and for
    what has no place in a plan."""
    try:
        words = [os.path.expandvars(word) for word in shlex.split(row, comments=True)]
        options = parsed(words) if words else None
    except (ValueError, SystemExit) as error:
        # The parser has said on the screen why it ends.
        why = "" if isinstance(error, SystemExit) else f": {error}"
        raise ArgumentError(f"row {row!r} is not understood{why}") from error
    for name in ("records", "summary", "draw"):
        if getattr(options, name, None) is not None:
            accepted = "--records of the plan" if name == "records" else "commands that measure"
            raise ArgumentError(f"--{name} in the row {row!r}; accepted: {accepted}")
    return options


def carried_out(run: Run, commands: Sequence[tuple[str, argparse.Namespace]]) -> int:
    """Carry out commands, rows with their options, within the seconds of the run; how many failed."""
    failed, end = 0, run.end
    for row, options in commands:
        begin = time.monotonic()
        left = end - begin
        if left < LEAST:
            run.console.print(f"== {row}: no time left", markup=False, soft_wrap=True)
            continue
        options.limit = min(options.limit, left)
        # What one command has recorded the next one's choices rest on, as in processes of their own.
        tilewright.forget()
        outcome, whole = "", True
        try:
            run.begin(options)
            whole = perform(run)
        except Exception:
            failed += 1
            outcome = ", failed"
            run.console.print(traceback.format_exc(), markup=False, soft_wrap=True)
        seconds = time.monotonic() - begin
        text = f"== {row} {seconds:.0f} s, {len(run.found)} lines{outcome}"
        run.console.print(text, markup=False, soft_wrap=True)
        if not whole:
            break
    return failed


def main(words: Sequence[str], console: Console) -> int:
    """Carry out the plan of a command line; the exit status."""
    parser = lines.parser("bench.batches plan", __doc__)
    parser.add_argument("file", type=Path, help="one command line a row")
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds for all rows")
    parser.add_argument("--records", type=Path, help="SQLite file of the tries (default: the user's)")
    # The plan writes no lines of its own.
    parser.set_defaults(command="plan", out=None)
    options = parser.parse_args(words)
    commands, failed = [], 0
    for row in map(str.strip, options.file.read_text().splitlines()):
        try:
            if (asked := understood(row)) is not None:
                commands.append((row, asked))
        except ArgumentError as error:
            failed += 1
            console.print(f"== {error}", markup=False, soft_wrap=True)
    lines.demand_gpu()
    with Run(options, dispatch.device("cuda"), console) as run:
        failed += carried_out(run, commands)
    return int(failed > 0)
