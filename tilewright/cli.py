"""The command: ``tilewright doctor | space | tune | bench | explain | show | report | export | import``.

Each command gathers plain data first and then prints it, as a table or (``--json``) as it is.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tilewright import api, compare, dispatch, roofline
from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import ArgumentError, TilewrightError
from tilewright.model import Problem
from tilewright.report import pages
from tilewright.space import HARDWARE, KINDS
from tilewright.targets.native import find_team
from tilewright.tune import EFFORTS, VENDOR, Result, speed
from tilewright.tune import Progress as Step

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help=__doc__.partition("\n")[0] if __doc__ else "",
)
console = Console()
DEMO = ["2", "3", "4", "5", "8", "12", "16", "17", "24", "32"]

Json = Annotated[bool, typer.Option("--json", help="Print plain JSON.")]
Spelling = Annotated[str, typer.Argument(help="TYPE[:TRANS]:MxNxK[@BATCH] or TYPE:LOW..HIGH")]
Beta = Annotated[str, typer.Option(help="Class of beta: 0, 1 or any.")]
Regime = Annotated[str, typer.Option(help="memory or cached.")]


def show_json(data: Any) -> None:
    """Plain data on standard output."""
    print(json.dumps(data, indent=1, default=str))


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Rows on the screen, numbers to the right."""
    drawn = Table(*columns, title=title, title_justify="left")
    for column in drawn.columns[1:]:
        column.justify = "right"
    for row in rows:
        drawn.add_row(*row)
    console.print(drawn)


@app.command()
def doctor(
    remeasure: Annotated[bool, typer.Option(help="Measure the ceilings again.")] = False,
    as_json: Json = False,
) -> None:
    """What this machine is, what was measured on it, and what is missing."""
    device = dispatch.device()
    if remeasure or not device.ceilings:
        if not as_json:
            console.print("measuring bandwidth and peak (a few seconds) ...")
        ceilings = roofline.measure(TARGETS["cpu"], device)
        dispatch.records().save_ceilings(device.key, device["cores"], ceilings)
        api.forget()
        device = dispatch.device()
    team = find_team()
    data: dict[str, Any] = {
        "name": device.name,
        "key": device.key,
        "limits": dict(device.limits),
        "ceilings": dict(device.ceilings),
        "threads": team.path if team else "Python's own (no OpenMP runtime found)",
        "toolchain": TARGETS["cpu"].toolchain(),
        "records": str(dispatch.records().path),
        "shipped_records": len(dispatch.records().shipped(device.key)),
    }
    if as_json:
        show_json(data)
        return
    rows: list[list[str]] = [
        [name, str(value)] for name, value in data.items() if not isinstance(value, dict)
    ]
    rows += [[name, str(value)] for name, value in device.limits.items()]
    for name, value in device.ceilings.items():
        unit = "GB/s" if name.startswith("bandwidth") else "GF/s"
        rows.append([name, f"{value / 1e9:.1f} {unit}" if value > 1e6 else f"{value:g}"])
    table("this machine", ["", ""], rows)


@app.command()
def space(
    problem: Spelling,
    stencil: Annotated[str, typer.Option(help="Whose space.")] = "tile",
    beta: Beta = "0",
    rules: Annotated[str, typer.Option(help="all, or hardware: without the soft rules.")] = "all",
    funnel: Annotated[bool, typer.Option(help="Count rule by rule.")] = True,
    why: Annotated[
        str | None, typer.Option(help="NAME=VALUE,... on top of the default: which rules break?")
    ] = None,
    as_json: Json = False,
) -> None:
    """The search space of a problem: how many configs each named rule removes, and why."""
    if stencil not in STENCILS:
        raise ArgumentError(f"stencil={stencil!r}; accepted: {', '.join(STENCILS)}")
    if rules not in ("all", "hardware"):
        raise ArgumentError(f"rules={rules!r}; accepted: all, hardware")
    device = dispatch.device()
    for found in Problem.parse(problem, beta=beta):
        reason = STENCILS[stencil].accepts(found, device)
        if reason is not None:
            raise ArgumentError(f"stencil {stencil} does not accept {found.spelling}: {reason}")
        whole = STENCILS[stencil].space(found, device).only(KINDS if rules == "all" else HARDWARE)
        if why is not None:
            config = STENCILS[stencil].default(found, device).with_(**_values(why))
            broken = [{"rule": r.name, "kind": r.kind, "why": r.why} for r in whole.why(config)]
            show_json(broken) if as_json else console.print(
                "\n".join(f"{b['rule']} ({b['kind']}): {b['why']}" for b in broken) or "valid"
            )
            continue
        steps = whole.funnel() if funnel else []
        left = steps[-1].left if steps else sum(1 for _ in whole)
        if as_json:
            stages = [{"rule": s.stage, "kind": s.kind, "removed": s.removed, "left": s.left} for s in steps]
            show_json(
                {"problem": found.key, "stencil": stencil, "all": whole.size, "left": left, "funnel": stages}
            )
            continue
        reasons = {rule.name: rule.why for rule in whole.rules}
        table(
            f"{found.spelling}, beta {beta}, stencil {stencil}",
            ["rule", "kind", "removed", "left", "why"],
            [[s.stage, s.kind, f"{s.removed:,}", f"{s.left:,}", reasons.get(s.stage, "")] for s in steps],
        )


def _values(text: str) -> dict[str, Any]:
    """``name=value,...`` with whole numbers as such."""
    pairs = [item.partition("=") for item in text.split(",")]
    return {name.strip(): int(value) if value.lstrip("-").isdigit() else value for name, _, value in pairs}


@app.command("tune")
def tune_(
    problems: Annotated[list[str], typer.Argument(help="Spellings such as d:2..32 or z:nt:4x4x4")],
    effort: Annotated[str, typer.Option(help=", ".join(EFFORTS))] = "quick",
    budget: Annotated[float | None, typer.Option(help="Seconds for all of it.")] = None,
    beta: Beta = "0",
    regime: Annotated[str, typer.Option(help="memory, cached, or both with a comma.")] = "memory,cached",
    as_json: Json = False,
) -> None:
    """Search, check and time kernels, and record every try. Interrupt it at will; it goes on where it stopped."""
    asked = [p for text in problems for b in beta.split(",") for p in Problem.parse(text, beta=b)]
    results = tuned(asked, effort, budget, tuple(regime.split(",")), quiet=as_json)
    data = [
        {
            "problem": r.problem.key,
            "regime": r.regime,
            "tried": r.tried,
            "seconds": r.seconds,
            "statuses": r.statuses,
            "gflops": _gflops(r.problem, r.best),
            "vendor_gflops": _gflops(r.problem, r.vendor),
            "stencil": r.best.stencil if r.best else None,
            "config": dict(r.best.config) if r.best else None,
        }
        for r in results
    ]
    if as_json:
        show_json(data)
        return
    table(
        "tuned, on one core",
        ["problem", "regime", "tried", "s", "GF/s", "NumPy", "config"],
        [
            [
                d["problem"],
                d["regime"],
                str(d["tried"]),
                f"{d['seconds']:.1f}",
                f"{d['gflops']:.1f}",
                f"{d['vendor_gflops']:.1f}",
                f"{r.best.stencil}: {r.best.config}" if r.best else "",
            ]
            for d, r in zip(data, results, strict=True)
        ],
    )


def _gflops(problem: Problem, record: Any) -> float:
    return 0.0 if record is None else problem.flops * speed(record) / 1e9


def tuned(
    problems: list[Problem], effort: str, budget: float | None, regimes: tuple[str, ...], quiet: bool
) -> list[Result]:
    """``api.tune`` with a bar: problem, best so far, tries a second, time left."""
    if quiet:
        return api.tune(problems, effort=effort, budget=budget, regimes=regimes)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("tuning", total=1.0, note="")

        def listen(state: Step) -> None:
            best = f"{_gflops(state.problem, state.best):.1f} GF/s" if state.best else "-"
            part = min(1.0, state.elapsed / state.budget) if state.budget < float("inf") else 0.0
            bar.update(
                task,
                completed=(state.done + part) / state.problems,
                description=state.problem.key.partition("|")[0],
                note=f"{state.stencil} {state.tried} tried, {state.tried / max(state.elapsed, 1e-9):.0f}/s, {best}",
            )

        return api.tune(problems, effort=effort, budget=budget, regimes=regimes, listen=listen)


@app.command()
def bench(
    problems: Annotated[list[str], typer.Argument(help="Spellings such as d:2..32")],
    beta: Beta = "0",
    regime: Regime = "memory",
    cores: Annotated[int, typer.Option(help="Cores to use; 0: all.")] = 0,
    as_json: Json = False,
) -> None:
    """Our product beside NumPy's, and PyTorch's and oneMKL's where installed, in turns, in one run."""
    asked = [p for text in problems for p in Problem.parse(text, beta=beta)]
    rows = [compare.compare(p, regime, cores or dispatch.device()["cores"]) for p in asked]
    if as_json:
        show_json([row.to_json() for row in rows])
        return
    comparison(rows)


def comparison(rows: list[compare.Row]) -> None:
    """The table of a comparison."""
    peers = sorted({peer for row in rows for peer in row.timings if peer != "tilewright"})

    def cell(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    table(
        f"{rows[0].regime}, beta {rows[0].problem.beta}, {rows[0].cores} core(s): times as fast as",
        ["problem", "GF/s", "% of bound", *(f"x {peer}" for peer in peers), "kernel"],
        [
            [
                row.problem.spelling,
                f"{row.gflops:.1f}",
                cell(row.percent(), ".0f"),
                *(cell(row.against(peer), ".2f") for peer in peers),
                f"{row.plan.origin} {row.plan.stencil or ''}",
            ]
            for row in rows
        ],
    )


@app.command()
def explain(problem: Spelling, beta: Beta = "0", as_json: Json = False) -> None:
    """What a call would run, and why."""
    for found in Problem.parse(problem, beta=beta):
        plan = dispatch.plan(found, dispatch.device())
        if as_json:
            config = dict(plan.config) if plan.config else None
            show_json(
                {
                    "problem": found.key,
                    "regime": plan.regime,
                    "origin": plan.origin,
                    "why": plan.why,
                    "stencil": plan.stencil,
                    "config": config,
                    "threads": plan.threads,
                }
            )
        else:
            console.print(api.explain_plan(plan), highlight=False)


@app.command()
def show(
    problem: Spelling,
    beta: Beta = "0",
    stage: Annotated[str, typer.Option(help="ir or asm.")] = "asm",
    config: Annotated[str | None, typer.Option(help="NAME=VALUE,... on top of the plan's config.")] = None,
    as_json: Json = False,
) -> None:
    """The program that a call would run: LLVM IR or assembly, with registers and spills to be seen."""
    device = dispatch.device()
    for found in Problem.parse(problem, beta=beta):
        plan = dispatch.plan(found, device, config=_values(config) if config else None, vendor=False)
        assert plan.stencil is not None
        assert plan.config is not None
        source = STENCILS[plan.stencil].source(found, plan.config, device)
        if stage not in ("ir", "asm"):
            raise ArgumentError(f"stage={stage!r}; accepted: ir, asm")
        text = source.text if stage == "ir" else TARGETS["cpu"].assembly(source, device)
        if as_json:
            facts = TARGETS["cpu"].compile(source, device, facts=True).facts
            show_json({"problem": found.key, "config": dict(plan.config), "facts": facts, stage: text})
        else:
            print(text)


@app.command()
def report(
    out: Annotated[Path, typer.Argument(help="The page to write.")] = Path("tilewright-report.html"),
    as_json: Json = False,
) -> None:
    """A page of what the records hold: winners against the bound, and every sweep."""
    written = pages.write(out, dispatch.records(), dispatch.device())
    show_json(written) if as_json else console.print(f"{written['path']}: {written['problems']} problems")


@app.command("export")
def export_(
    path: Path, every: Annotated[bool, typer.Option(help="All tries.")] = False, as_json: Json = False
) -> None:
    """Write this machine's best records, and its ceilings, as JSON lines to share."""
    count = dispatch.records().export(path, dispatch.device().key, best_only=not every)
    show_json({"path": str(path), "records": count}) if as_json else console.print(f"{path}: {count} records")


@app.command("import")
def import_(path: Path, as_json: Json = False) -> None:
    """Take in records that ``export`` wrote: all of them or none."""
    count = dispatch.records().import_(path)
    show_json({"path": str(path), "new": count}) if as_json else console.print(f"{path}: {count} new records")


@app.command()
def demo() -> None:
    """The main job, from nothing: measure the machine, tune ten sizes, compare, and show the Python."""
    begin = time.monotonic()
    device = dispatch.device()
    if not device.ceilings or not dispatch.records().ceilings(device.key, device["cores"]):
        doctor()
    problems = [p for n in DEMO for p in Problem.parse(f"d:{n}")]
    todo = [
        p
        for p in problems
        if not any(r.stencil != VENDOR for r in dispatch.records().all(problem_key=p.key, device=device.key))
    ]
    if todo:
        console.print(f"tuning {len(todo)} sizes on {device.name} (about {10 * len(todo)} s) ...")
        tuned(todo, "quick", None, ("memory",), quiet=False)
    rows = []
    for problem in problems:
        rows.append(compare.compare(problem, "memory", device["cores"]))
    comparison(rows)
    console.print("\nIn Python:\n", highlight=False)
    console.print(PYTHON, highlight=False, markup=False)
    console.print(f"{time.monotonic() - begin:.0f} s in all; a second run starts from the records.")


PYTHON = """    import numpy as np
    import tilewright as tw
    a = np.random.rand(100_000, 8, 8)
    b = np.random.rand(100_000, 8, 8)
    c = tw.matmul(a, b)
    print(tw.explain("d:8x8x8@100000"))
"""


def main(run: Callable[[], object] = app) -> None:
    """The entry point: errors of our own are one line, not a traceback."""
    try:
        run()
    except TilewrightError as error:
        print(f"tilewright: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("stopped; what was tried is recorded", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
