"""What the command prints: tables, bars and JSON. It is handed plain data and decides nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from tilewright.model import DTYPES
from tilewright.targets.cpu.nodes import listed

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


def count(value: int) -> str:
    """A count, to the last digit while it can be read: 9,999,999 and then 6.8e16."""
    return f"{value:,}" if abs(value) < 10**7 else re.sub(r"e\+0*", "e", f"{value:.1e}")


LARGE = 1e4
"""GF/s from which speeds are told in TF/s."""


def rate(gflops: float | None) -> str:
    """A speed with its unit, or a dash."""
    if gflops is None:
        return "-"
    return f"{gflops / 1e3:.2f} TF/s" if gflops >= LARGE else f"{gflops:.1f} GF/s"


def speeds(values: Sequence[float | None]) -> tuple[str, list[str]]:
    """Speeds in 10^9 operations a second as a column: its unit, and the numbers."""
    if max((value for value in values if value is not None), default=0.0) >= LARGE:
        return "TF/s", [number(value and value / 1e3, ".2f") for value in values]
    return "GF/s", [number(value, ".1f") for value in values]


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
            *_nodes(data["nodes"]),
            ("knee", _knees(data["knees"], measured=any(name.startswith("knee.") for name in ceilings))),
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
        ["", *(f"{cores} core{'s' if cores > 1 else ''}" for cores in counts), "unit"],
        [
            [
                name,
                *(number(ceilings.get(f"{name}.{cores}", 0) / 1e9, ".1f") for cores in counts),
                "GB/s" if name.startswith("bandwidth") else "GF/s",
            ]
            for name in names
        ],
    )
    for each in data["gpus"]:
        _gpu(each)
    if data["gpu_missing"] is not None:
        print(f"no GPU: {data['gpu_missing']}")


def _nodes(nodes: Sequence[Row]) -> list[tuple[str, str]]:
    """A line for each node of memory: its cores, its memory, and how far the others are."""
    found = []
    for node in nodes:
        cores = f"cores {listed(tuple(node['cores']))}" if node["cores"] else "no cores"
        sizes = f"{node['memory'] / (1 << 30):.1f} GiB, {node['free'] / (1 << 30):.1f} free"
        # The distance of the only node to itself says nothing.
        far = f"; distances {' '.join(map(str, node['distances']))}" if len(nodes) > 1 else ""
        found.append((f"node {node['number']}", f"{cores}; {sizes}{far}"))
    return found


def _knees(knees: Sequence[tuple[int, int]], measured: bool) -> str:
    """Up to how many bytes data count as cached, by the number of cores."""
    parts = [f"{size / (1 << 20):.1f} MB for {cores} core{'s' if cores > 1 else ''}" for cores, size in knees]
    where = "where bandwidth falls to that of memory" if measured else "a guess until it is measured"
    return f"{', '.join(parts)}: {where}"


def _gpu(data: Row) -> None:
    """A GPU, its limits and its ceilings."""
    limits, ceilings = data["limits"], data["ceilings"]
    console.print(f"GPU {data['index']}: {data['name']} ({data['key']})", style="bold", markup=False)
    kilo = {name: limits[name] >> 10 for name in ("shared_per_sm", "shared_per_block_optin", "l2")}
    capability = f"{limits['capability'] / 10:.1f}, code for {data['features']}"
    pairs = [
        ("capability", capability),
        (
            "SMs",
            f"{limits['sms']}, up to {limits['clock_khz'] / 1e3:.0f} MHz; multiply-adds a clock and SM: "
            f"{data['rates']['fma.s']:.0f} single, {data['rates']['fma.d']:.0f} double",
        ),
        (
            "an SM",
            f"{limits['threads_per_sm']} threads, {limits['blocks_per_sm']} blocks, "
            f"{limits['registers_per_sm']} registers, {kilo['shared_per_sm']} KB of shared memory "
            f"({kilo['shared_per_block_optin']} KB a block)",
        ),
        ("L2", f"{kilo['l2']} KB"),
        ("driver", data["driver"]),
        ("compiler", data["toolchain"]),
        ("records", f"{data['shipped_records']} came with the package"),
    ]
    if not ceilings:
        why = f"not measured ({data['not_measured']})" if data["not_measured"] else "not measured yet"
        pairs.append(("ceilings", f"{why}: tilewright doctor --remeasure"))
    lines(pairs)
    if ceilings:
        table(
            "ceilings: a copy, measured; arithmetic units at the top clock",
            ["", "", "unit"],
            [
                [
                    name.rpartition(".")[0],
                    number(value / (1e9 if name.startswith("bandwidth") else 1e12), ".1f"),
                    "GB/s" if name.startswith("bandwidth") else "TF/s",
                ]
                for name, value in sorted(ceilings.items())
            ],
        )
    if ceilings and data["not_measured"]:
        print(f"  not measured again: {data['not_measured']}")


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
                [s["rule"], s["kind"], count(s["removed"]), count(s["left"]), *([s["why"]] if wide else [])]
                for s in data["funnel"]
            ],
            left=("kind", "why"),
        )
    else:
        console.print(f"{title}: {count(data['all'])} combinations, {count(data['left'])} valid")
    tried = data["tried"]
    if tried:
        counts = ", ".join(f"{times} {status}" for status, times in sorted(tried.items()))
        console.print(f"tried so far: {sum(tried.values())}: {counts}")


def programs(rows: Sequence[Row], stage: str) -> None:
    """Programs as text. A GPU's begins with a line of what it is and what its compiler says of it."""
    for row in rows:
        if row["kind"] == "cuda":
            facts = ", ".join(f"{name} {value}" for name, value in row["facts"].items())
            config = " ".join(f"{name}={value}" for name, value in row["config"].items())
            print(f"// {row['stencil']} for {row['device']} ({row['features']}): {config}")
            print(f"// {facts or 'not compiled: no facts'}")
        print(row[stage])


def gaps(rows: Sequence[Row]) -> None:
    """Calls without a record, worst expected loss first."""
    if not rows:
        print("nothing counted is without a record; TILEWRIGHT_GAPS=1 or tw.count_gaps() counts calls")
        return
    table(
        "called without a record, worst expected loss first",
        ["problem", "beta", "regime", "runs", "calls", "ns", "x tuned", "s lost"],
        [
            [
                short(row["problem"]) + ("" if row["layout"] == "packed" else f" {row['layout']}"),
                *(row["beta"], row["regime"], row["origin"], count(row["calls"])),
                f"{1e9 * row['seconds']:.4g}{'' if row['timed'] else ' ?'}",
                *(f"{row['seconds'] / row['tuned_seconds']:.2f}", f"{row['loss']:.3g}"),
            ]
            for row in rows
        ],
        left=("beta", "regime", "runs"),
    )
    print("ns: of one product, as seen at best; ?: supposed. x tuned: over what tuning is expected to give.")
    print("To tune them: tilewright tune --gaps")


def tuned(rows: Sequence[Row]) -> None:
    """What a tuning run found; of a GPU also how many seconds it waited for compilers."""
    gpu = any(row["kind"] == "cuda" for row in rows)
    unit, numbers = speeds([row["gflops"] for row in rows])
    table(
        "tuned",
        ["problem", "beta", "regime", "tried", "s", *(["s waited"] if gpu else []), unit, "±", "x vendor"],
        [
            [
                short(row["problem"]),
                row["beta"],
                row["regime"],
                str(row["tried"]),
                f"{row['seconds']:.1f}",
                *([f"{row['waited']:.1f}"] if gpu else []),
                ours,
                number(row["half_width"], ".1%"),
                number(row["against_vendor"], ".2f"),
            ]
            for row, ours in zip(rows, numbers, strict=True)
        ],
        left=("beta", "regime"),
    )
    if gpu:
        console.print("s waited: the GPU stood idle until a compiler had something for it", markup=False)
    for row in rows:
        config = " ".join(f"{name}={value}" for name, value in (row["config"] or {}).items())
        what = f"{row['stencil']}: {config}" if row["stencil"] else "nothing right was found in time"
        print(f"{short(row['problem'])} {row['regime']}: {what}")
        if row["predicted"]:
            print(f"{short(row['problem'])} {row['regime']}: predicted, not measured: {row['predicted']}")
        elif row["missing"]:
            print(f"{short(row['problem'])} {row['regime']}: nothing to compare with: {row['missing']}")
        if row["tied"]:
            others = f"{len(row['tied'])} other{'s' if len(row['tied']) > 1 else ''}"
            print(f"{short(row['problem'])} {row['regime']}: tied with {others}; a fixed order chose")
        if row["note"]:
            print(f"{short(row['problem'])} {row['regime']}: while the best were timed: {row['note']}")


def kernel_set(data: Row) -> None:
    """A set of kernels: the curve of size against loss, who serves what, and what is left to the vendor."""
    kernels, cases = data["kernels"], data["cases"]
    if data["curve"]:
        table(
            "kernels, and what is lost to the best of each problem",
            ["kernels", "largest loss", "mean loss", ""],
            [
                [
                    str(point["kernels"]),
                    *(f"{point['worst']:.1%}", f"{point['mean']:.1%}"),
                    "" if point["exact"] else "or fewer kernels",
                ]
                for point in data["curve"]
            ],
        )
    if cases:
        unit, numbers = speeds([case["gflops"] for case in cases])
        table(
            f"the set within {data['within']:.3g}",
            ["problem", "beta", "regime", "kernel", "loss", unit],
            [
                [
                    *(short(case["problem"]), case["beta"], case["regime"], str(case["kernel"])),
                    f"{case['loss']:.1%}{'' if case['beside'] else ' ?'}",
                    ours,
                ]
                for case, ours in zip(cases, numbers, strict=True)
            ],
            left=("beta", "regime"),
        )
    for number, kernel in enumerate(kernels):
        config = " ".join(f"{name}={value}" for name, value in kernel["config"].items())
        serves, binaries = (f"{kernel[name]}" for name in ("serves", "binaries"))
        print(f"{number}: serves {serves} in {binaries} binaries: {kernel['stencil']}: {config}")
    for case in data["left"]:
        print(f"{short(case['problem'])}, beta {case['beta']}, {case['regime']}: the library is faster")
    least = "no fewer do" if data["exact"] else "fewer may do"
    held = "as measured side by side" if all(case["beside"] for case in cases) else "?: by records alone"
    binaries = sum(kernel["binaries"] for kernel in kernels)
    print(f"{len(kernels)} kernels ({least}), {binaries} binaries, for {len(cases)} problems;", end=" ")
    print(f"largest loss {data['worst']:.1%}, {held}")
    if not data["holds"]:
        print(f"the bound of {data['within']:.1%} does not hold")
    if data.get("written"):
        print(f"{data['written']}: for tw.use_kernels, or tilewright import")


def comparison(rows: Sequence[Row]) -> None:
    """Our speed, the bound, and how many times as fast as each peer."""
    peers = list(dict.fromkeys(peer for row in rows for peer in row["ratios"]))
    first = rows[0]
    where = f"{first['cores']} core{'s' if first['cores'] > 1 else ''}"
    where = first["device"] if first["kind"] == "cuda" else where
    unit, numbers = speeds([row["gflops"] for row in rows])
    table(
        f"{first['regime']}, beta {first['beta']}, {where}: {unit}, and how many times as fast as each peer",
        ["problem", unit, "% of bound", *(f"x {peer}" for peer in peers), "kernel"],
        [
            [
                short(row["problem"]),
                ours,
                number(row["percent_of_bound"], ".0f"),
                *(number(row["ratios"].get(peer), ".2f") for peer in peers),
                f"{row['origin']} {row['stencil'] or ''}".strip(),
            ]
            for row, ours in zip(rows, numbers, strict=True)
        ],
        left=("kernel",),
    )
    for text in dict.fromkeys(text for row in rows for text in row["missing"]):
        console.print(f"not compared with {text}", markup=False)
    if any((row["percent_of_bound"] or 0) > ABOVE for row in rows):
        console.print("Above 100 %: the bound was measured in a slower moment; tilewright doctor --remeasure")


def written(data: Row) -> None:
    """What a page holds, and how large it is."""
    shown = f", {count(data['shown'])} of them shown" if 0 < data["shown"] < data["tries"] else ""
    size = f"{data['bytes'] / 1e3:.0f} kB besides the plotting library"
    print(f"{data['path']}: {data['problems']} problems, {data['tries']} tries{shown}; {size}")


LISTED = 40
"""So many rows of a comparison are printed; the page and ``--json`` have all of them."""


def differences(data: Row) -> None:
    """What became slower, worst first; without regressions the counts alone."""
    regressions = [row for row in data["rows"] if row["verdict"] == "regression"]
    if regressions:
        table(
            f"regressions: more than {data['threshold']:g} % slower, worst first",
            ["problem", "regime", "before", "after", "after / before", "vendor's", "kernel"],
            [
                [
                    row["label"],
                    row["regime"],
                    rate(row["before_gflops"]),
                    rate(row["after_gflops"]),
                    f"{row['ratio']:.3f}",
                    number(row["vendor_ratio"], ".3f"),
                    _change(row["before"], row["after"]),
                ]
                for row in regressions[:LISTED]
            ],
            left=("regime", "kernel"),
        )
        if len(regressions) > LISTED:
            print(f"and {len(regressions) - LISTED} more")
    counts = ", ".join(f"{times} {name}" for name, times in data["counts"].items())
    print(
        f"{data['before']['label']} -> {data['after']['label']}: {data['problems']} problems: {counts}; "
        f"geometric mean {data['geometric_mean']:.3f}"
    )
    alone = len(data["only_before"]), len(data["only_after"])
    if any(alone):
        print(f"not compared: {alone[0]} only before, {alone[1]} only after")
    if data["path"]:
        print(data["path"])


def _change(before: str, after: str) -> str:
    """Which kernel it is, or was and is, without the values of its config."""
    names = [text.partition(":")[0] for text in (before, after)]
    if names[0] != names[1]:
        return f"{names[0]} -> {names[1]}"
    return f"{names[0]}, another config" if before != after else names[0]


# -- long work ---------------------------------------------------------------------------------------------
def steps(items: Sequence[T], what: str) -> Iterator[T]:
    """The items one by one, under a bar with the time that is left."""
    yield from track(items, what, console=aside, transient=True, disable=not aside.is_terminal)


def ladder(data: Row) -> None:
    """The table of the ladder, measured or static, and what is missing."""
    vendor = data["vendor_tflops"]
    title = f"{data['device']}, order {data['n']}, {DTYPES[data['type']].name}, row-major"
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
                number(row["document"] and 100 * row["document"], ".2f"),
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
        "multiply-adds (of 16 bits: on tensor cores) at the top clock; flop/B: in theory, without caches; "
        "KB: shared memory of a block; occ.: % of the warps that an SM can hold"
    )
    for row in data.get("tried", ()):
        if not row["right"]:
            config = " ".join(f"{name}={value}" for name, value in row["config"].items())
            console.print(f"WRONG: rung {row['rung']}, {config}: {row['error']:.3g} times the bound")
    for text in data["missing"]:
        console.print(f"missing: {text}", markup=False)


def exported(folder: Path, record: Row) -> None:
    """What a library in C has, and how it is built."""
    for target, row in record["targets"].items():
        functions = [each["function"] for problem in row["problems"].values() for each in problem["kernels"]]
        count, problems = len(set(functions)), len(row["problems"])
        print(f"{target}: {count} kernels of {problems} problems, compiled for {row['compiled_for']}")
    print(f"{folder}: cmake -S {folder} -B build && cmake --build build && ctest --test-dir build")
