"""Pages of what the records hold: ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli import render
from tilewright.cli.commands.arguments import Json, put
from tilewright.cli.queries import records
from tilewright.cli.queries.texts import accepted
from tilewright.cli.report import differences, markup, pages
from tilewright.errors import ArgumentError

PAGE = Path("tilewright-report.html")
"""Where a page is written that nobody named."""


def report(
    out: Annotated[
        Path | None, typer.Argument(help=f"The page to write: {PAGE}.", show_default=False)
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option("--from", help="Records to show in place of this user's: lines or a store."),
    ] = None,
    peers: Annotated[
        list[Path] | None,
        typer.Option(help="Speeds to show beside: bench --json, or a file of bench/results."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--every", help="Every try of long sweeps, however large the page.")
    ] = False,
    library: Annotated[
        str, typer.Option(help="The plotting library: embedded in the page, or in a file beside it.")
    ] = "embedded",
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="Two sets of records: files, devices, driver=..., toolchain=..., date=...; commas join."
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="With --compare: percent slower that is a regression.")
    ] = differences.THRESHOLD,
    as_json: Json = False,
) -> None:
    """A page of what the records hold: overview, speeds, rooflines, every try, what won and why.

    With --compare a list of what became slower, worst first, and exit code 1 if anything did; a page of it is
    written where one is named.
    """
    accepted("library", library, markup.LIBRARIES)
    if compare is not None:
        if files or peers or every:
            raise ArgumentError("compare goes with no --from, --peers or --every; accepted: files as A and B")
        _compare(out, compare, threshold, library, as_json)
        return
    written = records.page(out or PAGE, files or [], peers or [], every=every, library=library)
    put(written, as_json, render.written)


def _compare(out: Path | None, sides: tuple[str, str], threshold: float, library: str, as_json: bool) -> None:
    """``report --compare``. Raises ``typer.Exit`` with code 1 where there is a regression."""
    data = records.compared(*sides, threshold)
    if out is not None:
        pages.comparison(out, data, library=library)
    put(data | {"path": out and str(out)}, as_json, render.differences)
    if data["counts"]["regression"]:
        raise typer.Exit(1)
