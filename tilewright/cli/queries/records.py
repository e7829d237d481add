"""Records: a page of them, what differs between two sets, files of them, and the calls that have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tilewright.calls import gaps as open_gaps
from tilewright.cli.queries.devices import described, gpus
from tilewright.cli.report import differences, pages, peers, sources
from tilewright.model import Device, Record
from tilewright.planning import dispatch, runners_up
from tilewright.store.records import Taken


def reported() -> tuple[list[Record], list[Device]]:
    """All records of this user, of this machine's devices those that ship where there are no others, and the
    devices that they are of, this machine's first."""
    rows = sources.products(dispatch.records().all())
    here = [dispatch.device(), *gpus()]
    local = {row.device for row in rows}
    rows += [
        row for device in here if device.key not in local for row in dispatch.records().shipped(device.key)
    ]
    first = {device.key: place for place, device in enumerate(here)}
    return rows, sorted(described(rows), key=lambda device: first.get(device.key, len(first)))


def page(
    out: Path, files: Sequence[Path], peer_files: Sequence[Path], *, every: bool, library: str
) -> dict[str, Any]:
    """Write the page of the records in files, or of this user's; with the speeds of peers in other files."""
    if files:
        source = sources.together(map(sources.read, files))
        rows, known = source.rows, described(source.rows, source.ceilings)
    else:
        rows, known = reported()
    figures = peers.read(peer_files, [device.key for device in known])
    copies = peers.copies(figures)
    known = [replace(each, ceilings={**copies.get(each.key, {}), **each.ceilings}) for each in known]
    return pages.report(out, rows, known, figures, every=every, library=library)


def compared(before: str, after: str, threshold: float) -> dict[str, Any]:
    """Two sets of records beside each other, each named as ``sources.part`` reads it."""
    store = dispatch.records()
    return differences.compared(sources.part(before, store), sources.part(after, store), threshold)


def exported(path: Path, device: Device, every: bool) -> int:
    """Write a device's records as JSON lines, the best or all; a processor's ceilings with them.

    Those of a GPU stay: a copy is measured within a second wherever the records are taken to.
    """
    ceilings = device.kind == "cpu"
    held = dispatch.records()
    beside = partial(runners_up.others, held)
    return held.export(path, device.key, best_only=not every, ceilings=ceilings, beside=beside)


def imported(path: Path) -> Taken:
    """Take in records as JSON lines; those that this machine can tell are of no kernel are left out."""
    return dispatch.records().import_(path, dispatch.misfit)


def gaps(device: str | None) -> list[dict[str, Any]]:
    """The calls without a record, worst expected loss first."""
    return [
        {
            "problem": gap.problem.spelling,
            "layout": gap.problem.layout,
            "alpha": gap.problem.alpha,
            "beta": gap.problem.beta,
            "regime": gap.regime,
            "device": gap.device,
            "origin": gap.origin,
            "calls": gap.calls,
            "products": gap.products,
            "seconds": gap.seconds,
            "tuned_seconds": gap.tuned,
            "timed": gap.timed,
            "loss": gap.loss,
        }
        for gap in open_gaps.gaps(device)
    ]
