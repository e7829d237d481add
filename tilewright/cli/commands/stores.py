"""What is kept and handed on: ``gaps``, ``export``, ``import``, ``export-kernels``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilewright.catalog import TARGETS
from tilewright.cli import render
from tilewright.cli.commands.arguments import Json, Spellings, Where, put
from tilewright.cli.queries import devices, records
from tilewright.cli.queries.texts import accepted
from tilewright.export import library
from tilewright.export.text import LIBRARY, PREFIX
from tilewright.store import gaps as store_gaps

MOST_NAMED = 10
"""So many of the records that were left out are named; ``--json`` has all of them."""


def gaps(
    device: Annotated[str | None, typer.Option(help="Those of cpu or cuda alone.")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Forget all that was counted.")] = False,
    as_json: Json = False,
) -> None:
    """The calls that programs made without a record, worst expected loss first: what tune --gaps tunes.

    They are counted while TILEWRIGHT_GAPS=1 is set, or after count_gaps() in Python.
    """
    if device is not None:
        accepted("device", device, list(TARGETS))
    rows = records.gaps(device)
    put(rows, as_json, render.gaps)
    if clear:
        store_gaps.clear()


def export(
    path: Annotated[Path, typer.Argument(help="The file to write.", show_default=False)],
    every: Annotated[bool, typer.Option("--every", help="Every try, not only the best.")] = False,
    device: Where = "cpu",
    as_json: Json = False,
) -> None:
    """Write the best records of a device, and a processor's ceilings, as JSON lines to share."""
    count = records.exported(path, devices.device_of(device), every)
    put({"path": str(path), "records": count}, as_json, lambda _: print(f"{path}: {count} records"))


def import_(
    path: Annotated[Path, typer.Argument(help="The file to read.", show_default=False)], as_json: Json = False
) -> None:
    """Take in records that export wrote, or all of another records file (records.sqlite). What no kernel of
    this version could be is left out and named."""
    taken = records.imported(path)

    def draw(_: object) -> None:
        print(f"{path}: {taken.new} new records")
        if taken.refused:
            print(f"{len(taken.refused)} left out:", *taken.refused[:MOST_NAMED], sep="\n  ")

    put({"path": str(path), "new": taken.new, "refused": list(taken.refused)}, as_json, draw)


def export_kernels(
    problems: Spellings,
    c: Annotated[Path, typer.Option("--c", help="The folder to write.", show_default=False)],
    targets: Annotated[
        str | None,
        typer.Option(
            "--for", help="With commas: avx512, avx2, neon, mma, vsx, sm_90a, sm_80, ptx.", show_default=False
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the library and its headers.")] = LIBRARY,
    prefix: Annotated[str, typer.Option(help="What its symbols begin with.")] = PREFIX,
    as_json: Json = False,
) -> None:
    """Write kernels as a library in C: headers, objects, sources, tests, CMakeLists.txt. Without --for it is
    for the instruction sets of this machine's architecture. The batch of a spelling says what GPUs' kernels
    are chosen for.
    """
    wanted = None if targets is None else [each.strip() for each in targets.split(",")]
    record = library.export_kernels(problems, c, targets=wanted, name=name, prefix=prefix)
    put(record, as_json, lambda record: render.exported(c, record))
