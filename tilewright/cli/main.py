"""The command ``tilewright``: doctor, space, explain, show, gaps, tune, set, tune-kernel, bench, ladder,
report, export, import, export-kernels, demo.

Each command gathers plain data (``answers``) and then prints it: by ``screens``, or with ``--json``
as it is.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright import api
from tilewright.calls.explain import explain_plan
from tilewright.calls.gaps import gaps as found_gaps
from tilewright.catalog import TARGETS
from tilewright.cli import compare, kernels, progress, queries, render
from tilewright.cli.queries import accepted
from tilewright.cli.report import differences, markup, pages
from tilewright.errors import ArgumentError, TilewrightError
from tilewright.export.library import export_kernels
from tilewright.export.text import LIBRARY, PREFIX
from tilewright.model import Gemm, Problem, parsed
from tilewright.planning import dispatch
from tilewright.store import gaps as store_gaps
from tilewright.targets.cpu import named
from tilewright.targets.cuda import capability
from tilewright.tuning import timing
from tilewright.tuning.effort import EFFORTS
from tilewright.tuning.gemm.jobs import BETAS, gap_jobs, tuning_jobs
from tilewright.tuning.search.table import SEARCHES
from tilewright.tuning.tuner import Progress, Result, sized

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Generates, prunes, measures and runs small-matrix GEMM kernels for this machine.",
)
# Of its usage errors Typer exports only this one; their common parent has moved between versions.
USAGE: type = typer.BadParameter.__mro__[1]
MEASURING = [name for name, each in EFFORTS.items() if each.search]
"""The rungs of the ladder of effort on which something is measured."""
SPELLED = "TYPE[:TRANS]:MxNxK[@BATCH], or TYPE:LOW..HIGH for squares: d:8x8x8, z:nt:4x4x4, d:2..32"

Json = Annotated[bool, typer.Option("--json", help="Print plain JSON.")]
Spelling = Annotated[str, typer.Argument(help=SPELLED, show_default=False)]
Spellings = Annotated[list[str], typer.Argument(help=SPELLED, show_default=False)]
Beta = Annotated[str, typer.Option(help="Class of beta: 0, 1 or any.")]
Regime = Annotated[str, typer.Option(help="Where the data are: memory or cached.")]
Kind = Annotated[str, typer.Option("--device", help="What to use: cpu or cuda.")]
Modelled = Annotated[
    str, typer.Option("--device", help="What to use: cpu or cuda; with --model a processor by name.")
]
Where = Annotated[
    str,
    typer.Option(
        "--device", help=f"cpu; cuda; or without having it: {', '.join([*capability.DEVICES, *named.CORES])}."
    ),
]
Stencil = Annotated[str | None, typer.Option(help="One stencil, whatever else accepts the problem.")]


def _put(data: Any, as_json: bool, draw: Callable[[Any], object]) -> None:
    """Data on standard output, drawn or plain."""
    if as_json:
        render.show_json(data)
    else:
        draw(data)


def _problems(spellings: Sequence[str], beta: str) -> list[Gemm]:
    """The problems that spellings name, for every class in a list of betas with commas."""
    return [p for text in spellings for each in _betas(beta) for p in parsed(text, beta=each)]


def _betas(text: str) -> list[str]:
    """The classes in a list of betas with commas. Raises ``ArgumentError`` for others."""
    return [accepted("beta", each.strip(), ("0", "1", "any")) for each in text.split(",")]


def _of_one_size(spellings: Sequence[str], beta: str) -> list[Problem]:
    """``_problems`` where lists of products are not accepted."""
    found = _problems(spellings, beta)
    for problem in found:
        if not isinstance(problem, Problem):
            raise ArgumentError(f"problem={problem.spelling} is a list; accepted: products of one size")
    return [problem for problem in found if isinstance(problem, Problem)]


def _usable(kind: str) -> str:
    """A kind of device that is there. Raises ``ArgumentError`` and ``DeviceError``."""
    dispatch.device(accepted("device", kind, list(TARGETS)))
    return kind


def _measured(quiet: bool, again: bool = False) -> None:
    """See to it that the processor's ceilings are known: all of them, an older version had no knee."""
    known = dispatch.device().ceilings
    if again or not any(name.startswith("knee.") for name in known):
        if not quiet:
            render.aside.print("measuring bandwidth, peak and knee (some seconds) ...")
        queries.measure_ceilings()


def _measured_gpus(quiet: bool, again: bool = False) -> dict[str, str]:
    """See to it that the ceilings of the GPUs are known; why they are not, by their keys."""
    failed = queries.measure_gpus(again)
    if not quiet:
        for key, reason in failed.items():
            render.aside.print(f"no bound: {key} was not measured: {reason}", markup=False)
    return failed


def _version(wanted: bool) -> None:
    if wanted:
        try:
            print(f"tilewright {installed('tilewright')}")
        except PackageNotFoundError:
            print("tilewright, not installed")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    pass


# -- looking ---------------------------------------------------------------------------------------
@app.command()
def doctor(
    remeasure: Annotated[bool, typer.Option("--remeasure", help="Measure the ceilings again.")] = False,
    as_json: Json = False,
) -> None:
    """What this machine and its GPUs are, what was measured on them, and what is missing."""
    _measured(as_json, remeasure)
    failed = _measured_gpus(True, remeasure)
    _put(queries.machine(failed), as_json, render.doctor)


@app.command()
def space(
    problem: Spelling,
    stencil: Stencil = None,
    beta: Beta = "0",
    regime: Regime = "memory",
    device: Where = "cpu",
    rules: Annotated[str, typer.Option(help="all; or hardware: without the soft rules.")] = "all",
    guidelines: Annotated[
        str | None, typer.Option(help="Floors of a GPU's space: default, table1 or none.")
    ] = None,
    min_threads: Annotated[int | None, typer.Option(help="Floor of threads of a multiprocessor.")] = None,
    min_blocks: Annotated[int | None, typer.Option(help="Floor of blocks of a multiprocessor.")] = None,
    min_reuse: Annotated[float | None, typer.Option(help="Floor of multiply-adds for each load.")] = None,
    funnel: Annotated[bool, typer.Option(help="Count rule by rule.")] = True,
    why: Annotated[str | None, typer.Option(help="NAME=VALUE,... put into the default: what breaks?")] = None,
    as_json: Json = False,
) -> None:
    """The search space of a problem: how many configs each named rule removes, and why."""
    accepted("rules", rules, ("all", "hardware"))
    accepted("regime", regime, timing.REGIMES)
    asked_floors = {"min_threads": min_threads, "min_blocks": min_blocks, "min_reuse": min_reuse}
    floors = {name: value for name, value in asked_floors.items() if value is not None}
    there = queries.device_of(device)
    data = []
    for found in _problems([problem], beta):
        # What a GPU is given is one product or a batch as it is asked for; a CPU's is a batch.
        asked = found if found.batch > 1 or there.kind != "cpu" else sized(found, regime, there)
        for name in queries.stencils(asked, stencil, there):
            whole = queries.whole(asked, name, there, guidelines, floors)
            row = {"problem": asked.spelling, "beta": asked.beta, "regime": regime, "stencil": name}
            row["device"] = there.key
            if why is None:
                row |= queries.counted(asked, regime, name, there, whole, rules, funnel)
            else:
                row |= queries.broken(asked, name, there, whole, why)
            data.append(row)
    _put(data, as_json, render.spaces if why is None else render.reasons)


@app.command()
def explain(problem: Spelling, beta: Beta = "0", device: Where = "cpu", as_json: Json = False) -> None:
    """What a call would run, and why. The batch, as in d:8x8x8@100000, decides on cores and regime."""
    there = queries.device_of(device)
    plans = [dispatch.plan(found, there) for found in _problems([problem], beta)]
    if as_json:
        render.show_json([queries.planned(plan) for plan in plans])
    else:
        print("\n".join(map(explain_plan, plans)))


@app.command()
def show(
    problem: Spelling,
    stencil: Stencil = None,
    beta: Beta = "0",
    config: Annotated[str | None, typer.Option(help="NAME=VALUE,... put into the stencil's default.")] = None,
    stage: Annotated[
        str | None, typer.Option(help="asm or ir; of a GPU ptx, cuda (the source) or sass.")
    ] = None,
    device: Where = "cpu",
    as_json: Json = False,
) -> None:
    """The program that a call would run, from its source to assembly, with registers and spills."""
    there = queries.device_of(device)
    stages = queries.STAGES[there.kind]
    which = stages[0] if stage is None else accepted("stage", stage, stages)
    data = [queries.shown(found, there, stencil, config, which) for found in _problems([problem], beta)]
    _put(data, as_json, lambda rows: render.programs(rows, which))


@app.command("gaps")
def gaps_(
    device: Annotated[str | None, typer.Option(help="Those of cpu or cuda alone.")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Forget all that was counted.")] = False,
    as_json: Json = False,
) -> None:
    """The calls that programs made without a record, worst expected loss first: what tune --gaps tunes.

    They are counted while TILEWRIGHT_GAPS=1 is set, or after count_gaps() in Python.
    """
    if device is not None:
        accepted("device", device, list(TARGETS))
    rows = queries.gaps(device)
    _put(rows, as_json, render.gaps)
    if clear:
        store_gaps.clear()


# -- working ---------------------------------------------------------------------------------------
@app.command("tune")
def tune_(
    problems: Annotated[list[str] | None, typer.Argument(help=SPELLED, show_default=False)] = None,
    gaps: Annotated[
        bool, typer.Option("--gaps", help="What was called without a record, worst expected loss first.")
    ] = False,
    effort: Annotated[str, typer.Option(help=", ".join(EFFORTS))] = "quick",
    budget: Annotated[float | None, typer.Option(help="Seconds for all of it.")] = None,
    tries: Annotated[int | None, typer.Option(help="Configs measured at most for each.", min=1)] = None,
    search: Annotated[str | None, typer.Option(help=", ".join(SEARCHES))] = None,
    beta: Annotated[str, typer.Option(help="Classes of beta, with commas: 0, 1, any.")] = ",".join(BETAS),
    regime: Annotated[str, typer.Option(help="memory, cached, or both with a comma.")] = "memory,cached",
    device: Modelled = "cpu",
    gpus: Annotated[
        str | None, typer.Option(help="all GPUs, or their numbers with commas: like ones share the tries.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="A dask scheduler, tcp://host:8786: its workers compile and measure.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Measure what was finished before, too.")] = False,
    model: Annotated[
        bool,
        typer.Option("--model", help="Predict by LLVM's scheduling model of --device, and run nothing."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Search, check and time kernels, and record every try.

    Interrupt it at will: what was tried is recorded, and the same command goes on from there. What it
    finished, it does not measure again. Several of it at once, on one records file, share the work.

    With --model the device may be a processor that is not here (neoverse-v2, pwr9, ...): what is found is
    recorded as predicted, and any measurement outranks it.
    """
    accepted("effort", effort, list(EFFORTS))
    regimes = [accepted("regime", name.strip(), timing.REGIMES) for name in regime.split(",")]
    if budget is not None and not budget > 0:
        raise ArgumentError(f"budget={budget:g}; accepted: seconds, more than 0")
    betas = _betas(beta)
    if search is not None:
        accepted("search", search, list(SEARCHES))
    if not problems and not gaps:
        raise ArgumentError("problems is empty; accepted: spellings such as d:2..32, or --gaps")
    more: dict[str, Any] = {"tries": tries, "search": search, "gaps": gaps}
    more |= {"gpus": gpus, "cluster": cluster, "again": again, "model": model}
    kind = device if gpus is None else "cuda"
    there = queries.device_of(kind) if model else dispatch.device(_usable(kind))
    if model and "cached" in regimes:
        # Models know of nothing else, and the screen names what is at work.
        regimes = ["cached"]
    results = tuned(problems or [], effort, budget, regimes, as_json, kind, betas, **more)
    _put([queries.found(result, result.device or there) for result in results], as_json, render.tuned)


@app.command("set")
def set_(
    problems: Spellings,
    within: Annotated[str, typer.Option(help="Most that a problem may lose: 5%, or 0.05.")] = "5%",
    effort: Annotated[str, typer.Option(help=", ".join(EFFORTS))] = "quick",
    budget: Annotated[float | None, typer.Option(help="Seconds for all of it but the last check.")] = None,
    beta: Annotated[str, typer.Option(help="Classes of beta, with commas: 0, 1, any.")] = ",".join(BETAS),
    regime: Annotated[str, typer.Option(help="memory, cached, or both with a comma.")] = "memory,cached",
    device: Kind = "cpu",
    vendor: Annotated[
        bool, typer.Option(help="Leave to the vendor's library what it does faster than any kernel.")
    ] = True,
    output: Annotated[
        Path | None, typer.Option(help="Where to write the set, for tw.use_kernels and import.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The smallest set of kernels that keeps each problem within a share of its best, and what fewer cost.

    What the records do not know is measured. Exit code 1 where the bound does not hold side by side.
    """

    def listen(text: str) -> None:
        if not as_json:
            render.aside.print(text, markup=False)

    found = api.kernel_set(
        problems,
        within=_share(within),
        effort=accepted("effort", effort, list(EFFORTS)),
        budget=budget,
        betas=_betas(beta),
        regimes=[accepted("regime", name.strip(), timing.REGIMES) for name in regime.split(",")],
        device=_usable(device),
        vendor=vendor,
        listen=listen,
    )
    row = queries.kernel_set(found)
    if output is not None:
        found.save(output)
        row["written"] = str(output)
    _put(row, as_json, render.kernel_set)
    if not found.holds:
        raise typer.Exit(1)


def _share(text: str) -> float:
    """A share such as 5% or 0.05. Raises ``ArgumentError`` for what is none."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        found = float(number) / (100 if percent else 1)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 10:
        raise ArgumentError(f"within={text!r}; accepted: a share such as 5% or 0.05")
    return found


@app.command()
def tune_kernel(
    file: Annotated[Path, typer.Argument(help="A description in the T1 format.", show_default=False)],
    reference: Annotated[
        str | None, typer.Option(help="FILE.py:NAME, a function that knows the right answer.")
    ] = None,
    effort: Annotated[str, typer.Option(help=", ".join(MEASURING))] = "quick",
    budget: Annotated[float | None, typer.Option(help="Seconds; the file's if none are given.")] = None,
    regime: Regime = "memory",
    cache: Annotated[
        list[Path] | None, typer.Option(help="Cache files of Kernel Tuner to begin with.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Where to write all tries in the T4 format.")] = None,
    compile_for: Annotated[
        str | None, typer.Option(help="Count and compile for a GPU that need not be here; run nothing.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Tune a kernel that a file describes, as Kernel Tuner and KTT read them, and record every try."""
    accepted("effort", effort, MEASURING)
    accepted("regime", regime, timing.REGIMES)
    kernel = kernels.described(file, reference)
    if compile_for is not None:
        _put(kernels.compiled(kernel, compile_for), as_json, kernels.draw)
        return
    for path in cache or ():
        kernel.take_in(path, {})
    row = kernels.tuned(kernel, effort, budget, regime, as_json)
    if output is not None:
        row["written"] = kernel.export_t4(output, {})
    _put(row, as_json, kernels.draw)


def done_of(state: Progress, points: int | None) -> float:
    """The part of a job that is done: of its seconds, or of all ``points`` of an exhaustive search if that is
    more."""
    whole = state.budget or state.elapsed or 1.0
    return max(state.elapsed / whole, state.tried / points if points else 0.0)


def tuned(
    problems: Sequence[str | Gemm],
    effort: str,
    budget: float | None,
    regimes: Sequence[str],
    quiet: bool,
    device: str = "cpu",
    betas: Sequence[str] = BETAS,
    gaps: bool = False,
    **more: Any,
) -> list[Result]:
    """``api.tune`` under a screen: a line for the device, what became of its tries, and the time left."""
    jobs = tuning_jobs(problems, betas, regimes)
    if gaps:
        jobs += gap_jobs(found_gaps(device), regimes, EFFORTS[effort].seconds, budget)
    names = [f"{render.short(job.problem.spelling)} beta {job.problem.beta}, {job.regime}" for job in jobs]
    whole = EFFORTS[effort][1] == "exhaustive"
    first = queries.device_of(device)
    spaces: dict[str, queries.Points] = {}
    with progress.board(names, quiet) as tell:

        def listen(state: Progress) -> None:
            regime = jobs[state.done].regime
            there = state.device or first
            counted = spaces.setdefault(there.key, queries.Points(there))
            part = done_of(state, queries.points(state.problem, regime, device) if whole else None)
            tell(queries.standing(state, regime, there, part, counted))

        return api.tune(
            problems,
            gaps=gaps,
            effort=effort,
            budget=budget,
            betas=betas,
            regimes=regimes,
            device=device,
            listen=listen,
            **more,
        )


@app.command()
def bench(
    problems: Spellings,
    beta: Annotated[str, typer.Option(help="0 or 1.")] = "0",
    regime: Regime = "memory",
    cores: Annotated[int, typer.Option(help="Cores of a CPU to use; 0: all.", min=0)] = 0,
    device: Kind = "cpu",
    as_json: Json = False,
) -> None:
    """Our product beside NumPy's, PyTorch's and oneMKL's, or on a GPU PyTorch's and CuPy's (cuBLAS): those
    that are installed, in turns, in one run."""
    accepted("regime", regime, timing.REGIMES)
    asked = _of_one_size(problems, accepted("beta", beta, ("0", "1")))
    most = dispatch.device(_usable(device))["cores"]
    if cores > most:
        raise ArgumentError(f"cores={cores}; accepted: up to {most}, or 0 for all")
    if device == "cuda":
        _measured_gpus(as_json)
    else:
        _measured(as_json)
    _put(compared(asked, regime, cores or most, device=device), as_json, render.comparison)


def compared(
    problems: Sequence[Problem], regime: str, cores: int, budget: float = 2.0, device: str = "cpu"
) -> list[dict[str, Any]]:
    """The rows of a comparison, ``budget`` seconds each, under a bar."""
    steps = render.steps(problems, "comparing")
    if device == "cuda":
        return [compare.compare_cuda(problem, regime, budget).to_json() for problem in steps]
    return [compare.compare(problem, regime, cores, budget).to_json() for problem in steps]


@app.command("ladder")
def ladder_(
    n: Annotated[int, typer.Option("--n", help="Order of the square matrices.", min=1)] = 4096,
    device: Annotated[
        str | None, typer.Option(help="Without running: the table of a named device, as h200.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Rounds in turns with cuBLAS.", min=1)] = 11,
    type_: Annotated[str, typer.Option("--type", help="s, h or b.")] = "s",
    as_json: Json = False,
) -> None:
    """Kernels for one product, each one step nearer to cuBLAS, beside it: six in single precision, eight on
    tensor cores in half precision."""

    def listen(text: str) -> None:
        if not as_json:
            render.aside.print(text, markup=False)

    _put(queries.ladder_table(n, device, rounds, listen, type_), as_json, render.ladder)


# -- records ---------------------------------------------------------------------------------------
MOST_NAMED = 10
"""So many of the records that were left out are named; ``--json`` has all of them."""
PAGE = Path("tilewright-report.html")
"""Where a page is written that nobody named."""


@app.command()
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
    written = queries.page(out or PAGE, files or [], peers or [], every=every, library=library)
    _put(written, as_json, render.written)


def _compare(out: Path | None, sides: tuple[str, str], threshold: float, library: str, as_json: bool) -> None:
    """``report --compare``. Raises ``typer.Exit`` with code 1 where there is a regression."""
    data = queries.compared(*sides, threshold)
    if out is not None:
        pages.comparison(out, data, library=library)
    _put(data | {"path": out and str(out)}, as_json, render.differences)
    if data["counts"]["regression"]:
        raise typer.Exit(1)


@app.command("export")
def export_(
    path: Annotated[Path, typer.Argument(help="The file to write.", show_default=False)],
    every: Annotated[bool, typer.Option("--every", help="Every try, not only the best.")] = False,
    device: Where = "cpu",
    as_json: Json = False,
) -> None:
    """Write the best records of a device, and a processor's ceilings, as JSON lines to share."""
    count = queries.exported(path, queries.device_of(device), every)
    _put({"path": str(path), "records": count}, as_json, lambda _: print(f"{path}: {count} records"))


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="The file to read.", show_default=False)], as_json: Json = False
) -> None:
    """Take in records that export wrote, or all of another records file (records.sqlite). What no kernel of
    this version could be is left out and named."""
    taken = queries.imported(path)

    def draw(_: object) -> None:
        print(f"{path}: {taken.new} new records")
        if taken.refused:
            print(f"{len(taken.refused)} left out:", *taken.refused[:MOST_NAMED], sep="\n  ")

    _put({"path": str(path), "new": taken.new, "refused": list(taken.refused)}, as_json, draw)


@app.command("export-kernels")
def export_kernels_(
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
    record = export_kernels(problems, c, targets=wanted, name=name, prefix=prefix)
    _put(record, as_json, lambda record: render.exported(c, record))


# -- the main job ----------------------------------------------------------------------------------
DEMO = (2, 3, 4, 5, 8, 12, 16, 17, 24, 32)
DEMO_BUDGET = 0.8
DEMO_STAGES = (("0", "memory", 3.0), ("1", "memory", 1.2), ("0", "cached", 1.0), ("1", "cached", 0.8))
"""What the demo tunes of each size, and for how many seconds: all that a user of that size is likely to call,
and longest what the table compares. Later stages begin with the winners of earlier ones."""
PYTHON = """\
import numpy as np
import tilewright as tw

a = np.random.rand(100_000, 8, 8)
b = np.random.rand(100_000, 8, 8)
c = tw.matmul(a, b)
print(tw.explain("d:8x8x8@100000"))
"""


def _demo_tuned(problems: Sequence[Problem], quiet: bool) -> None:
    """Tune what of the demo's stages is not settled yet."""
    for beta, regime, seconds in DEMO_STAGES:
        asked = [problem.with_(beta=beta) for problem in problems]
        todo = [problem for problem in asked if not queries.settled(problem, regime)]
        if todo:
            if not quiet:
                what = f"{len(todo)} of {len(asked)} sizes, beta {beta}, {regime}"
                render.aside.print(f"tuning {what}: some {seconds + 2:.0f} s each ...")
            tuned(todo, "quick", seconds * len(todo), (regime,), quiet)


@app.command()
def demo(as_json: Json = False) -> None:
    """The main job, from nothing: measure this machine, tune ten sizes, compare, use it from Python."""
    begin = time.monotonic()
    _measured(as_json)
    machine = queries.machine()
    if not as_json:
        render.doctor(machine)
    problems = [problem for n in DEMO for problem in Problem.parse(f"d:{n}")]
    _demo_tuned(problems, as_json)
    # One core each: NumPy goes through a stack on one whatever there is, so this compares kernels.
    rows = compared(problems, "memory", 1, DEMO_BUDGET)
    if as_json:
        render.show_json({"machine": machine, "comparison": rows, "seconds": time.monotonic() - begin})
        return
    render.comparison(rows)
    print(f"In Python:\n\n{PYTHON}")
    exec(PYTHON, {})
    print(f"\n{time.monotonic() - begin:.0f} s in all. All tries are recorded: a second run takes seconds.")


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point. What goes wrong on purpose is one line and exit code 2, not a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    command = typer.main.get_command(app)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The name of a file may hold bytes that are no text.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with command.make_context("tilewright", given) as context:
            command.invoke(context)
        sys.stdout.flush()
    except typer.Exit as end:
        sys.exit(end.exit_code)
    except TilewrightError as error:
        _stop(str(error), 2)
    except KeyboardInterrupt:
        _stop("stopped; nothing is lost: what was tried is recorded, and tuning goes on from there", 130)
    except BrokenPipeError:
        # The reader has seen enough. Python would complain again when it closes the pipe at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        if not isinstance(error, USAGE):
            raise
        where = getattr(error, "ctx", None)
        name = where.command_path if where else "tilewright"
        _stop(f"{getattr(error, 'format_message', error.__str__)()} (see {name} --help)", 2)


def _stop(message: str, code: int) -> None:
    print("tilewright: " + " ".join(message.split()), file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
