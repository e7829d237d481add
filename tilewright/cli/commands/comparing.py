"""Products beside those of other libraries: ``bench``, ``ladder``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from tilewright.cli import compare, render
from tilewright.cli.commands import ceilings
from tilewright.cli.commands.arguments import Json, Kind, Regime, Spellings, of_one_size, put, teller, usable
from tilewright.cli.queries.ladder import ladder_table
from tilewright.cli.queries.texts import accepted
from tilewright.errors import ArgumentError
from tilewright.model import Problem
from tilewright.planning import dispatch
from tilewright.tuning import timing


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
    asked = of_one_size(problems, accepted("beta", beta, ("0", "1")))
    most = dispatch.device(usable(device))["cores"]
    if cores > most:
        raise ArgumentError(f"cores={cores}; accepted: up to {most}, or 0 for all")
    if device == "cuda":
        ceilings.of_gpus(as_json)
    else:
        ceilings.of_processor(as_json)
    put(compared(asked, regime, cores or most, device=device), as_json, render.comparison)


def compared(
    problems: Sequence[Problem], regime: str, cores: int, budget: float = 2.0, device: str = "cpu"
) -> list[dict[str, Any]]:
    """The rows of a comparison, ``budget`` seconds each, under a bar."""
    steps = render.steps(problems, "comparing")
    if device == "cuda":
        return [compare.compare_cuda(problem, regime, budget).to_json() for problem in steps]
    return [compare.compare(problem, regime, cores, budget).to_json() for problem in steps]


def ladder(
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
    put(ladder_table(n, device, rounds, teller(as_json), type_), as_json, render.ladder)
