"""Problems, their plans and programs: ``doctor``, ``space``, ``explain``, ``show``."""

from __future__ import annotations

from typing import Annotated

import typer

from tilewright.calls.explain import explain_plan
from tilewright.cli import render
from tilewright.cli.commands import ceilings
from tilewright.cli.commands.arguments import (
    Beta,
    Json,
    Math,
    Regime,
    Spelling,
    StencilName,
    Where,
    problems_of,
    put,
)
from tilewright.cli.queries import devices, plans, spaces
from tilewright.cli.queries.texts import accepted
from tilewright.planning import dispatch
from tilewright.tuning import timing
from tilewright.tuning.tasks import sized


def doctor(
    remeasure: Annotated[bool, typer.Option("--remeasure", help="Measure the ceilings again.")] = False,
    as_json: Json = False,
) -> None:
    """What this machine and its GPUs are, what was measured on them, and what is missing."""
    ceilings.of_processor(as_json, remeasure)
    failed = ceilings.of_gpus(True, remeasure)
    put(devices.machine(failed), as_json, render.doctor)


def space(
    problem: Spelling,
    stencil: StencilName = None,
    beta: Beta = "0",
    math: Math = "ieee",
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
    there = devices.device_of(device)
    data = []
    for found in problems_of([problem], beta, math):
        # What a GPU is given is one product or a batch as it is asked for; a CPU's is a batch.
        asked = found if found.batch > 1 or there.kind != "cpu" else sized(found, regime, there)
        for name in spaces.stencils(asked, stencil, there):
            whole = spaces.whole(asked, name, there, guidelines, floors)
            row = {"problem": asked.spelling, "beta": asked.beta, "regime": regime, "stencil": name}
            row["device"] = there.key
            if why is None:
                row |= spaces.counted(asked, regime, name, there, whole, rules, funnel)
            else:
                row |= spaces.broken(asked, name, there, whole, why)
            data.append(row)
    put(data, as_json, render.spaces if why is None else render.reasons)


def explain(
    problem: Spelling,
    beta: Beta = "0",
    math: Math = "ieee",
    device: Where = "cpu",
    as_json: Json = False,
) -> None:
    """What a call would run, and why. The batch, as in d:8x8x8@100000, decides on cores and regime."""
    there = devices.device_of(device)
    found = [dispatch.allowed(asked, there) for asked in problems_of([problem], beta, math)]
    if as_json:
        render.show_json([plans.planned(plan) for plan in found])
    else:
        print("\n".join(map(explain_plan, found)))


def show(
    problem: Spelling,
    stencil: StencilName = None,
    beta: Beta = "0",
    math: Math = "ieee",
    config: Annotated[str | None, typer.Option(help="NAME=VALUE,... put into the stencil's default.")] = None,
    stage: Annotated[
        str | None, typer.Option(help="asm or ir; of a GPU ptx, cuda (the source) or sass.")
    ] = None,
    device: Where = "cpu",
    as_json: Json = False,
) -> None:
    """The program that a call would run, from its source to assembly, with registers and spills."""
    there = devices.device_of(device)
    stages = plans.STAGES[there.kind]
    which = stages[0] if stage is None else accepted("stage", stage, stages)
    data = [plans.shown(found, there, stencil, config, which) for found in problems_of([problem], beta, math)]
    put(data, as_json, lambda rows: render.programs(rows, which))
