"""Searches: ``tune``, ``set``, ``tune-kernel``, and the screen under which kernels are tuned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright import api
from tilewright.calls.gaps import gaps as found_gaps
from tilewright.cli import kernels, progress, render
from tilewright.cli.commands.arguments import (
    EVERY_BETA,
    SPELLED,
    Betas,
    Effort,
    Json,
    Kind,
    Math,
    Regime,
    Regimes,
    Spellings,
    betas_of,
    problems_of,
    put,
    regimes_of,
    share_of,
    teller,
    usable,
)
from tilewright.cli.queries import devices, runs, spaces
from tilewright.cli.queries.texts import accepted
from tilewright.errors import ArgumentError
from tilewright.model import Gemm
from tilewright.planning import dispatch
from tilewright.tuning import timing
from tilewright.tuning.effort import EFFORTS
from tilewright.tuning.gemm.jobs import BETAS, gap_jobs, tuning_jobs
from tilewright.tuning.results import Progress, Result
from tilewright.tuning.search.table import SEARCHES

MEASURING = [name for name, each in EFFORTS.items() if each.search]
"""The rungs of the ladder of effort on which something is measured."""

Modelled = Annotated[
    str, typer.Option("--device", help="What to use: cpu or cuda; with --model a processor by name.")
]


def tune(
    problems: Annotated[list[str] | None, typer.Argument(help=SPELLED, show_default=False)] = None,
    gaps: Annotated[
        bool, typer.Option("--gaps", help="What was called without a record, worst expected loss first.")
    ] = False,
    effort: Effort = "quick",
    budget: Annotated[float | None, typer.Option(help="Seconds for all of it.")] = None,
    tries: Annotated[int | None, typer.Option(help="Configs measured at most for each.", min=1)] = None,
    search: Annotated[str | None, typer.Option(help=", ".join(SEARCHES))] = None,
    beta: Betas = EVERY_BETA,
    math: Math = "ieee",
    regime: Regimes = "memory,cached",
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
    regimes = regimes_of(regime)
    if budget is not None and not budget > 0:
        raise ArgumentError(f"budget={budget:g}; accepted: seconds, more than 0")
    betas = betas_of(beta)
    if search is not None:
        accepted("search", search, list(SEARCHES))
    if not problems and not gaps:
        raise ArgumentError("problems is empty; accepted: spellings such as d:2..32, or --gaps")
    more: dict[str, Any] = {"tries": tries, "search": search, "gaps": gaps}
    more |= {"gpus": gpus, "cluster": cluster, "again": again, "model": model}
    kind = device if gpus is None else "cuda"
    there = devices.device_of(kind) if model else dispatch.device(usable(kind))
    if model and "cached" in regimes:
        # Models know of nothing else, and the screen names what is at work.
        regimes = ["cached"]
    asked = problems or [] if math == "ieee" else problems_of(problems or [], beta, math)
    results = tuned(asked, effort, budget, regimes, as_json, kind, betas, **more)
    put([runs.found(result, result.device or there) for result in results], as_json, render.tuned)


def set_(
    problems: Spellings,
    within: Annotated[str, typer.Option(help="Most that a problem may lose: 5%, or 0.05.")] = "5%",
    effort: Effort = "quick",
    budget: Annotated[float | None, typer.Option(help="Seconds for all of it but the last check.")] = None,
    beta: Betas = EVERY_BETA,
    regime: Regimes = "memory,cached",
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
    found = api.kernel_set(
        problems,
        within=share_of(within),
        effort=accepted("effort", effort, list(EFFORTS)),
        budget=budget,
        betas=betas_of(beta),
        regimes=regimes_of(regime),
        device=usable(device),
        vendor=vendor,
        listen=teller(as_json),
    )
    row = runs.kernel_set(found)
    if output is not None:
        found.save(output)
        row["written"] = str(output)
    put(row, as_json, render.kernel_set)
    if not found.holds:
        raise typer.Exit(1)


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
        put(kernels.compiled(kernel, compile_for), as_json, kernels.draw)
        return
    for path in cache or ():
        kernel.take_in(path, {})
    row = kernels.tuned(kernel, effort, budget, regime, as_json)
    if output is not None:
        row["written"] = kernel.export_t4(output, {})
    put(row, as_json, kernels.draw)


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
    first = devices.device_of(device)
    known: dict[str, spaces.Points] = {}
    with progress.board(names, quiet) as tell:

        def listen(state: Progress) -> None:
            regime = jobs[state.done].regime
            there = state.device or first
            counted = known.setdefault(there.key, spaces.Points(there))
            part = done_of(state, spaces.points(state.problem, regime, device) if whole else None)
            tell(runs.standing(state, regime, there, part, counted))

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
