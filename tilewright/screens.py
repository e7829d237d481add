"""What the command prints: tables, bars and JSON. It is handed plain data and decides nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn, track
from rich.table import Table
from rich.text import Text

T = TypeVar("T")
Row = dict[str, Any]

console = Console(highlight=False)
aside = Console(highlight=False, stderr=True)
"""For bars and remarks, so that standard output holds results only."""

WIDE = 120
"""From this many columns on there is room for reasons within a table."""

ABOVE = 105
"""A percentage of the bound from which noise alone is not the likely reason."""


def show_json(data: Any) -> None:
    """Plain data on standard output."""
    print(json.dumps(data, indent=1, default=str))


def short(text: str) -> str:
    """A spelling or a record's key without what is usual: no batch, no ``nn``, no layout."""
    return re.split(r"[@|]", text)[0].replace(":nn", "")


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str] = ()
) -> None:
    """Rows on the screen: the first column and those named in ``left`` begin at the left edge."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        aligned = number == 0 or column in left
        drawn.add_column(column, justify="left" if aligned else "right", overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text, row))
    console.print(title, style="bold", markup=False)
    console.print(drawn)


def lines(pairs: Iterable[tuple[str, str]]) -> None:
    """Names and values under one another, long values on lines of their own indent."""
    grid = Table.grid(padding=(0, 2))
    for name, value in pairs:
        grid.add_row(f"  {name}", Text(value))
    console.print(grid)


def number(value: float | None, form: str) -> str:
    """A number, or a dash where there is none."""
    return "-" if value is None else format(value, form)


# -- one screen a command ------------------------------------------------------------------------------
def doctor(data: Row) -> None:
    """The machine, its ceilings, and what is missing."""
    limits, ceilings = data["limits"], data["ceilings"]
    console.print(f"{data['name']} ({data['key']})", style="bold")
    masks = ", masks" if limits["masks"] else ""
    caches = ", ".join(f"{name} {limits[name.lower()] >> 10} KB" for name in ("L1d", "L2", "L3"))
    lines(
        [
            ("vectors", f"{limits['vector_bits']} bits, {limits['vector_registers']} registers{masks}"),
            ("cores", f"{limits['cores']}; {caches}"),
            ("threads", data["threads"]),
            ("calls", data["calls"]),
            ("compiler", data["toolchain"]),
            ("records", f"{data['records']}; {data['shipped_records']} came with the package"),
            *[("missing", text) for text in data["missing"]],
        ]
    )
    counts = sorted({int(name.rpartition(".")[2]) for name in ceilings if name.count(".") == 2})
    names = sorted({name.rpartition(".")[0] for name in ceilings if name.count(".") == 2})
    table(
        "measured ceilings",
        ["", *(f"{count} core{'s' if count > 1 else ''}" for count in counts), "unit"],
        [
            [
                name,
                *(number(ceilings.get(f"{name}.{count}", 0) / 1e9, ".1f") for count in counts),
                "GB/s" if name.startswith("bandwidth") else "GF/s",
            ]
            for name in names
        ],
    )


def spaces(rows: Sequence[Row]) -> None:
    """Spaces, rule by rule, and what has been tried of them."""
    for row in rows:
        _funnel(row)


def reasons(rows: Sequence[Row]) -> None:
    """Why a config is not in a space."""
    for row in rows:
        told = [f"{b['rule']} ({b['kind']}): {b['why']}" for b in row["broken"]] or ["valid"]
        print(f"{short(row['problem'])}, {row['stencil']}: {'; '.join(told)}")


def _funnel(data: Row) -> None:
    wide = console.width >= WIDE
    title = f"{short(data['problem'])}, beta {data['beta']}, {data['regime']}: stencil {data['stencil']}"
    title += f" on {data['device']}"
    if data["funnel"]:
        table(
            title,
            ["rule", "kind", "removed", "left", *(["why"] if wide else [])],
            [
                [s["rule"], s["kind"], f"{s['removed']:,}", f"{s['left']:,}", *([s["why"]] if wide else [])]
                for s in data["funnel"]
            ],
            left=("kind", "why"),
        )
    else:
        console.print(f"{title}: {data['all']:,} combinations, {data['left']:,} valid")
    tried = data["tried"]
    if tried:
        counts = ", ".join(f"{count} {status}" for status, count in sorted(tried.items()))
        console.print(f"tried so far: {sum(tried.values())}: {counts}")


def tuned(rows: Sequence[Row]) -> None:
    """What a tuning run found."""
    table(
        "tuned",
        ["problem", "beta", "regime", "tried", "s", "GF/s", "x vendor"],
        [
            [
                short(row["problem"]),
                row["beta"],
                row["regime"],
                str(row["tried"]),
                f"{row['seconds']:.1f}",
                number(row["gflops"], ".1f"),
                number(row["against_vendor"], ".2f"),
            ]
            for row in rows
        ],
        left=("beta", "regime"),
    )
    for row in rows:
        config = " ".join(f"{name}={value}" for name, value in (row["config"] or {}).items())
        what = f"{row['stencil']}: {config}" if row["stencil"] else "nothing right was found in time"
        print(f"{short(row['problem'])} {row['regime']}: {what}")
        if row["missing"]:
            print(f"{short(row['problem'])} {row['regime']}: nothing to compare with: {row['missing']}")


def comparison(rows: Sequence[Row]) -> None:
    """Our speed, the bound, and how many times as fast as each peer."""
    peers = list(dict.fromkeys(peer for row in rows for peer in row["ratios"]))
    first = rows[0]
    cores = f"{first['cores']} core{'s' if first['cores'] > 1 else ''}"
    table(
        f"{first['regime']}, beta {first['beta']}, {cores}: GF/s, and how many times as fast as each peer",
        ["problem", "GF/s", "% of bound", *(f"x {peer}" for peer in peers), "kernel"],
        [
            [
                short(row["problem"]),
                number(row["gflops"], ".1f"),
                number(row["percent_of_bound"], ".0f"),
                *(number(row["ratios"].get(peer), ".2f") for peer in peers),
                f"{row['origin']} {row['stencil'] or ''}".strip(),
            ]
            for row in rows
        ],
        left=("kernel",),
    )
    if any((row["percent_of_bound"] or 0) > ABOVE for row in rows):
        console.print("Above 100 %: the bound was measured in a slower moment; tilewright doctor --remeasure")


# -- long work ---------------------------------------------------------------------------------------------
def steps(items: Sequence[T], what: str) -> Iterator[T]:
    """The items one by one, under a bar with the time that is left."""
    yield from track(items, what, console=aside, transient=True, disable=not aside.is_terminal)


@contextmanager
def tuning(jobs: Sequence[str], quiet: bool) -> Iterator[Callable[[int, float, str], None]]:
    """A bar over named jobs; what it gives is told (number of the job, the part of it done, a note).

    A line stays for every job that ends, so that a log has something to show too; not if ``quiet``.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    state: dict[str, Any] = {"job": 0, "note": ""}
    with Progress(*columns, console=aside, transient=True, disable=not aside.is_terminal) as bar:
        task = bar.add_task(jobs[0] if jobs else "", total=max(1, len(jobs)), note="starting")

        def ended() -> None:
            if state["note"] and not quiet:
                bar.console.print(
                    f"{jobs[state['job']]}: {state['note']} ({state['job'] + 1} of {len(jobs)})"
                )

        def tell(job: int, part: float, note: str) -> None:
            if job != state["job"]:
                ended()
            state.update(job=job, note=note)
            bar.update(task, completed=job + min(1.0, part), description=jobs[job], note=note)

        yield tell
        ended()


def ladder(data: Row) -> None:
    """The table of the ladder, measured or static, and what is missing."""
    vendor = data["vendor_tflops"]
    title = f"{data['device']}, order {data['n']}, single precision, row-major"
    if vendor is not None:
        title += f": cuBLAS {vendor:.2f} TFLOP/s through {data['vendor']}"
    table(
        title,
        ["rung", "TF/s", "% of", "doc.", "peak", "flop/B", "regs", "KB", "occ."],
        [
            [
                f"{row['rung']} {row['name'].replace('_', ' ')}",
                number(row["tflops"], ".2f"),
                number(row["of_cublas"] and 100 * row["of_cublas"], ".1f"),
                f"{100 * row['document']:.2f}",
                number(row["of_peak"] and 100 * row["of_peak"], ".1f"),
                f"{row['intensity']:.2f}",
                number(row["registers"], "d"),
                number(row["shared"] and row["shared"] / 1024, ".1f"),
                "-" if row["occupancy"] is None else f"{100 * row['occupancy']:.1f}",
            ]
            for row in data["rows"]
        ],
    )
    console.print(
        "% of: cuBLAS in the same rounds; doc.: the article's share, on another device; peak: % of "
        "multiply-adds at the top clock; flop/B: in theory, without caches; KB: shared memory of a "
        "block; occ.: % of the warps that an SM can hold"
    )
    for row in data.get("tried", ()):
        if not row["right"]:
            config = " ".join(f"{name}={value}" for name, value in row["config"].items())
            console.print(f"WRONG: rung {row['rung']}, {config}: {row['error']:.3g} times the bound")
    for text in data["missing"]:
        console.print(f"missing: {text}", markup=False)
