"""What several commands are asked: the types of their arguments, and what these texts mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from tilewright.catalog import TARGETS
from tilewright.cli import render
from tilewright.cli.queries.texts import accepted
from tilewright.errors import ArgumentError
from tilewright.model import MATH_TYPES, MATHS, Gemm, Problem, parsed
from tilewright.planning import dispatch
from tilewright.targets.cpu import named
from tilewright.targets.cuda import capability
from tilewright.tuning import timing
from tilewright.tuning.effort import EFFORTS
from tilewright.tuning.gemm.jobs import BETAS

SPELLED = "TYPE[:TRANS]:MxNxK[@BATCH], or TYPE:LOW..HIGH for squares: d:8x8x8, z:nt:4x4x4, d:2..32"
EVERY_BETA = ",".join(BETAS)

Json = Annotated[bool, typer.Option("--json", help="Print plain JSON.")]
Spelling = Annotated[str, typer.Argument(help=SPELLED, show_default=False)]
Spellings = Annotated[list[str], typer.Argument(help=SPELLED, show_default=False)]
Beta = Annotated[str, typer.Option(help="Class of beta: 0, 1 or any.")]
Betas = Annotated[str, typer.Option(help="Classes of beta, with commas: 0, 1, any.")]
Math = Annotated[
    str, typer.Option(help=f"How float32, and complex64, may be multiplied: {', '.join(MATHS)}.")
]
Regime = Annotated[str, typer.Option(help="Where the data are: memory or cached.")]
Regimes = Annotated[str, typer.Option(help="memory, cached, or both with a comma.")]
Effort = Annotated[str, typer.Option(help=", ".join(EFFORTS))]
Kind = Annotated[str, typer.Option("--device", help="What to use: cpu or cuda.")]
Where = Annotated[
    str,
    typer.Option(
        "--device", help=f"cpu; cuda; or without having it: {', '.join([*capability.DEVICES, *named.CORES])}."
    ),
]
StencilName = Annotated[str | None, typer.Option(help="One stencil, whatever else accepts the problem.")]


def put(data: Any, as_json: bool, draw: Callable[[Any], object]) -> None:
    """Data on standard output, drawn or plain."""
    if as_json:
        render.show_json(data)
    else:
        draw(data)


def problems_of(spellings: Sequence[str], beta: str, math: str = "ieee") -> list[Gemm]:
    """The problems that spellings name, for every class in a list of betas with commas. Raises
    ``ArgumentError`` for a ``math`` that is none, or none of a problem's type."""
    found = [p for text in spellings for each in betas_of(beta) for p in parsed(text, beta=each)]
    return found if accepted("math", math, MATHS) == "ieee" else [_multiplied(p, math) for p in found]


def _multiplied(p: Gemm, math: str) -> Problem:
    """A problem in another math than that of the numbers as they are."""
    types = MATH_TYPES[math]
    if not isinstance(p, Problem) or p.dtype.letter not in types:
        raise ArgumentError(
            f"math={math!r} for {p.spelling}; accepted: products of type {' or '.join(types)}"
        )
    return p.with_(math=math)


def betas_of(text: str) -> list[str]:
    """The classes in a list of betas with commas. Raises ``ArgumentError`` for others."""
    return [accepted("beta", each.strip(), ("0", "1", "any")) for each in text.split(",")]


def regimes_of(text: str) -> list[str]:
    """The regimes in a list with commas. Raises ``ArgumentError`` for others."""
    return [accepted("regime", each.strip(), timing.REGIMES) for each in text.split(",")]


def of_one_size(spellings: Sequence[str], beta: str) -> list[Problem]:
    """``problems_of`` where lists of products are not accepted."""
    found = problems_of(spellings, beta)
    for problem in found:
        if not isinstance(problem, Problem):
            raise ArgumentError(f"problem={problem.spelling} is a list; accepted: products of one size")
    return [problem for problem in found if isinstance(problem, Problem)]


def usable(kind: str) -> str:
    """A kind of device that is there. Raises ``ArgumentError`` and ``DeviceError``."""
    dispatch.device(accepted("device", kind, list(TARGETS)))
    return kind


def share_of(text: str) -> float:
    """A share such as 5% or 0.05. Raises ``ArgumentError`` for what is none."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        found = float(number) / (100 if percent else 1)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 10:
        raise ArgumentError(f"within={text!r}; accepted: a share such as 5% or 0.05")
    return found


def teller(quiet: bool) -> Callable[[str], None]:
    """A function that prints how work goes on, unless ``quiet``."""

    def tell(text: str) -> None:
        if not quiet:
            render.aside.print(text, markup=False)

    return tell
