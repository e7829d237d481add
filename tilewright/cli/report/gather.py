"""The data of a page, once and compact: devices, problems as columns, their tries, what the rules removed.

Everything on the page is drawn from this by its script, so that whoever has the page has the figures.
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import geometric_mean, median
from typing import Any

from tilewright.catalog import STENCILS
from tilewright.cli.report.packing import Spaces, kept, packed, shares, short, sweep
from tilewright.cli.report.peers import Figures
from tilewright.cli.report.solved import (
    WORDS,
    Solved,
    by_problem,
    class_of,
    gflops,
    label_of,
    solved,
    type_of,
    types,
    winners_alone,
)
from tilewright.errors import ArgumentError, TilewrightError
from tilewright.model import VENDOR, Device, Record
from tilewright.space import KINDS
from tilewright.stencils.protocol import refused
from tilewright.store.jsonl import spelled

Row = dict[str, Any]

ROOM, BESIDE = 900_000, 12
"""Bytes that the tries of a page may take unless all of them are asked for, and how many each takes beside
its config, which is a byte for each parameter."""
MESSAGES, LONGEST = 400, 160
"""How many different messages of failed tries a page holds, and how many characters of each."""
COUNTING, CHOOSING = 6.0, 6.0
"""Seconds after which no further space is counted, and after which no cost model is asked any more."""


def gathered(
    rows: Sequence[Record], devices: Sequence[Device], figures: Figures | None = None, every: bool = False
) -> Row:
    """All that a page of these records shows, as plain data, devices without a right kernel left out.

    ``figures`` are the speeds of peers beside the vendor's. Sweeps are thinned out to ``ROOM`` unless
    ``every`` one is wanted. Raises ``ArgumentError`` where no record has a right kernel.
    """
    own: dict[str, list[Record]] = defaultdict(list)
    for row in rows:
        own[row.device].append(row)
    found = [(device, solved(own[device.key], device)) for device in devices]
    found = [(device, problems) for device, problems in found if problems]
    if not found:
        raise ArgumentError("the records hold no timed kernel of this machine: tilewright tune makes some")
    figures = figures or {}
    found = [(device, [_rivalled(one, device, figures) for one in problems]) for device, problems in found]
    everything = [one for _, problems in found for one in problems]
    counts = [len(one.tries) for one in everything]
    weights = [len(one.best.config) + BESIDE for one in everything]
    most = max(counts) if every else shares(counts, ROOM * len(weights) // sum(weights))
    spaces, messages = Spaces(), _Messages()
    columns: dict[str, list[Any]] = defaultdict(list)
    sweeps: list[Row | None] = []
    asked = _Clock(CHOOSING)
    for number, (device, problems) in enumerate(found):
        for one in problems:
            for name, value in _problem(one, device, spaces, messages, figures, asked).items():
                columns[name].append(value)
            columns["device"].append(number)
            # A single try is the winner, which the columns have.
            shown = kept(one.tries, most) if len(one.tries) > 1 else []
            sweeps.append(sweep(one.tries, shown, spaces) if shown else None)
    return {
        "version": 1,
        "devices": [_device(device, own[device.key], problems) for device, problems in found],
        "overview": [row for n, (device, own) in enumerate(found) for row in _overview(n, device, own)],
        "problems": {name: packed(values) for name, values in columns.items()},
        "sweeps": sweeps,
        "funnels": _funnels(found),
        "spaces": spaces.listed(),
        "alphabet": spaces.alphabet(),
        "messages": messages.listed,
        "tries": sum(counts),
        "shown": sum(len(each["what"]) if each else 1 for each in sweeps),
    }


class _Clock:
    """Whether there is still time for what a page is better with but can do without."""

    def __init__(self, seconds: float):
        self._end = time.monotonic() + seconds

    def left(self) -> bool:
        return time.monotonic() < self._end


class _Messages:
    """Messages by number, each once."""

    def __init__(self) -> None:
        self.listed: list[str] = []
        self._known: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a message; -1 for an empty one, and where there is no room for more."""
        text = text.strip()[:LONGEST]
        if text and text not in self._known and len(self.listed) < MESSAGES:
            self._known[text] = len(self.listed)
            self.listed.append(text)
        return self._known.get(text, -1)


def _rivalled(one: Solved, device: Device, figures: Figures) -> Solved:
    """A problem whose records lack the vendor's product with its figure among those of peers, if it is
    there."""
    if one.vendor is not None:
        return one
    peers = figures.get((device.key, one.best.problem.key, one.best.regime), {})
    own = WORDS[device.kind].vendor.lower()
    return replace(one, rival=next((value for peer, value in peers.items() if peer.lower() == own), None))


# -- problems ----------------------------------------------------------------------------------------------
def _problem(
    one: Solved, device: Device, spaces: Spaces, messages: _Messages, figures: Figures, asked: _Clock
) -> Row:
    """One problem in one regime: what it is, what won, beside what, and what failed."""
    best, problem = one.best, one.best.problem
    assert best.timing is not None
    space, config = spaces.packed(best.stencil, best.config)
    default, outside = _asked(best, device, spaces, asked)
    status = {(row.stencil, row.config): row for row in one.tries}
    failed: dict[str, list[int]] = {}
    for row in status.values():
        if row.status != "ok":
            entry = failed.setdefault(row.status, [0, -1])
            entry[0] += 1
            entry[1] = messages.number(row.detail) if entry[1] < 0 else entry[1]
    return {
        "label": label_of(problem),
        "type": type_of(problem),
        "class": class_of(problem),
        "m": problem.extents[0],
        "n": problem.extents[1],
        "k": problem.extents[2],
        "batch": best.timing.batch,
        "regime": best.regime,
        "space": space,
        "config": config,
        "gflops": short(gflops(best), 5),
        "spread": short(50 * (best.timing.high - best.timing.low) / best.timing.median, 2),
        "final": int(best.protocol),
        "vendor": short(one.vendor_gflops, 5),
        "algorithm": spelled(one.vendor.config) if one.vendor and one.vendor.config else "",
        "bound": short(one.bound.flops_per_s / 1e9 if one.bound else None, 5),
        "limit": one.bound.limit if one.bound else "",
        "intensity": short(problem.flops / problem.bytes if problem.bytes else None, 4),
        "tried": len(status),
        "failed": failed,
        "default": default,
        "outside": outside,
        "when": best.when[:16],
        "driver": best.driver,
        "toolchain": best.toolchain,
        "clocks": best.clocks,
        "note": best.detail[:LONGEST],
        "peers": {
            peer: short(value, 5)
            for peer, value in figures.get((device.key, problem.key, best.regime), {}).items()
            if peer.lower() != WORDS[device.kind].vendor.lower()
        },
    }


def _asked(best: Record, device: Device, spaces: Spaces, clock: _Clock) -> tuple[list[Any] | None, str]:
    """What the winner's own cost model would have chosen without measuring, None where it cannot be asked,
    and why the winner is no point of its space any more, nothing where it is."""
    if best.stencil not in STENCILS or "cores" not in device.limits or not clock.left():
        return None, ""
    stencil = STENCILS[best.stencil]
    try:
        if refused(stencil, best.problem, device) is not None:
            return None, ""
        default = list(spaces.packed(best.stencil, stencil.default(best.problem, device)))
        return default, stencil.space(best.problem, device).member(best.config, KINDS) or ""
    except (TilewrightError, KeyError):
        return None, ""


# -- devices -----------------------------------------------------------------------------------------------
def _device(device: Device, rows: Sequence[Record], problems: Sequence[Solved]) -> Row:
    words = WORDS[device.kind]
    moments = sorted(row.when for row in rows if row.when)
    kernels = [row for row in rows if row.stencil != VENDOR]
    newest = {
        (name, row.stencil, row.config): row.status
        for name, own in by_problem(kernels).items()
        for row in own
    }
    return {
        "key": device.key,
        "name": device.name,
        "kind": device.kind,
        "unit": words.unit,
        "scale": words.scale,
        "decimals": words.decimals,
        "vendor": words.vendor,
        "whole": words.whole,
        "ceilings": {name: short(value, 5) for name, value in sorted(device.ceilings.items())},
        "types": types(problems),
        "problems": len(problems),
        "tries": len(kernels),
        "statuses": dict(Counter(newest.values()).most_common()),
        "stencils": dict(Counter(one.best.stencil for one in problems).most_common()),
        "drivers": sorted({row.driver for row in rows if row.driver}),
        "toolchains": sorted({row.toolchain for row in kernels if row.toolchain}),
        "alone": winners_alone(problems),
        "first": moments[0][:16] if moments else "",
        "last": moments[-1][:16] if moments else "",
    }


def _overview(number: int, device: Device, problems: Sequence[Solved]) -> list[Row]:
    """A row for each type and regime of a device: how many problems, how near the bound, how against the
    vendor."""
    groups: dict[tuple[str, str], list[Solved]] = defaultdict(list)
    for one in problems:
        groups[type_of(one.best.problem), one.best.regime].append(one)
    return [
        {"device": number, "type": letter, "regime": regime, "problems": len(group), **_summary(group)}
        for (letter, regime), group in groups.items()
    ]


def _summary(group: Sequence[Solved]) -> Row:
    speeds = [(gflops(one.best) or math.nan, one.vendor_gflops, one.bound) for one in group]
    # Where winners alone were recorded, the vendor's product is there only if it won: its mean would mislead.
    biased = winners_alone(group) and all(one.rival is None for one in group)
    ratios = [ours / theirs for ours, theirs, _ in speeds if theirs and not biased]
    shares = [100e9 * ours / bound.flops_per_s for ours, _, bound in speeds if bound]
    return {
        "tried": sum(len(one.tries) for one in group),
        "best": short(max(ours for ours, _, _ in speeds), 5),
        "percent": short(median(shares), 3) if shares else None,
        "compared": len(ratios),
        "ahead": sum(ratio >= 1 for ratio in ratios),
        "ratio": short(geometric_mean(ratios), 3) if ratios else None,
        "worst": short(min(ratios), 3) if ratios else None,
    }


# -- funnels -----------------------------------------------------------------------------------------------
def _funnels(found: Sequence[tuple[Device, Sequence[Solved]]]) -> list[Row]:
    """What each rule removed of the spaces: of each device, stencil and type that of the problem with most
    tries, as long as there is time; devices whose limits are not known here have none."""
    clock, funnels = _Clock(COUNTING), []
    for number, (device, problems) in enumerate(found):
        seen = set()
        for one in sorted(problems, key=lambda one: -len(one.tries)):
            problem, name = one.best.problem, one.best.stencil
            kind = name, type_of(problem)
            if kind in seen or name not in STENCILS or "cores" not in device.limits or not clock.left():
                continue
            seen.add(kind)
            steps = _counted(name, problem, device)
            if steps:
                funnels.append(
                    {
                        "device": number,
                        "stencil": name,
                        "type": kind[1],
                        "label": label_of(problem),
                        "steps": steps,
                    }
                )
    return funnels


def _counted(name: str, problem: Any, device: Device) -> list[Any]:
    """[rule, kind, removed, left, why] of each rule of a space, those that removed nothing left out."""
    try:
        if refused(STENCILS[name], problem, device) is not None:
            return []
        space = STENCILS[name].space(problem, device)
        why = {rule.name: rule.why for rule in space.rules}
        return [
            [step.stage, step.kind, step.removed, step.left, why.get(step.stage, "")]
            for number, step in enumerate(space.funnel())
            if step.removed or not number
        ]
    except (TilewrightError, KeyError):
        return []
