"""Kernels of one's own on the command line: what ``tilewright tune-kernel`` finds out, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from tilewright.cli import progress, render
from tilewright.errors import ArgumentError
from tilewright.kernels.stencil import Stencil
from tilewright.planning import dispatch
from tilewright.tuning.effort import EFFORTS
from tilewright.tuning.results import Progress

Row = dict[str, Any]


def described(path: Path, reference: str | None) -> Stencil:
    """The kernel of a T1 file, with the function ``FILE.py:NAME`` as its reference."""
    return Stencil.from_t1(path, reference=None if reference is None else function(reference))


def function(where: str) -> Callable[..., Any]:
    """A function of a file. Raises ``ArgumentError`` where there is none."""
    name, _, attribute = where.rpartition(":")
    path = Path(name)
    if not name or not path.is_file():
        raise ArgumentError(f"reference={where!r}; accepted: FILE.py:NAME, a function in a file that exists")
    spec = spec_from_file_location(f"reference_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"reference={where!r}: {name} is no file of Python")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., Any] | None = vars(module).get(attribute)
    if not callable(found):
        raise ArgumentError(f"reference={where!r}: {name} has no function {attribute!r}")
    return found


def compiled(kernel: Stencil, device: str | None) -> Row:
    """How many configs there are, and what the compiler says of the default; nothing runs."""
    space = kernel.space({})
    return {
        "kernel": kernel.definition.name,
        "combinations": space.size,
        "configs": space.count(),
        "facts": dict(kernel.facts({}, device=device)),
        "said": list(kernel.search.get("said", ())),
    }


def tuned(kernel: Stencil, effort: str, budget: float | None, regime: str, quiet: bool) -> Row:
    """Tune a kernel under a bar, within its file's budget if none is given."""
    asked: Mapping[str, Any] = kernel.search
    granted = budget if budget is not None else asked.get("budget")
    whole = EFFORTS[effort].seconds if granted is None else granted
    device = dispatch.device(kernel.definition.target).key
    with progress.board([kernel.definition.name], quiet) as tell:

        def listen(state: Progress) -> None:
            tell(
                progress.Standing(
                    device,
                    0,
                    min(1.0, state.elapsed / (whole or 1.0)),
                    state.stencil,
                    state.tried,
                    state.elapsed,
                    None,
                    statuses=state.statuses,
                    told="" if state.best is None else f"{1e6 * (state.best.seconds or 0.0):.2f} us",
                )
            )

        result = kernel.tune({}, effort=effort, budget=granted, regime=regime, listen=listen)
    best = result.best
    assert best is not None
    assert best.timing is not None
    return {
        "kernel": kernel.definition.name,
        "regime": regime,
        "config": dict(best.config),
        "microseconds": 1e6 * best.timing.median,
        "low": 1e6 * best.timing.low,
        "high": 1e6 * best.timing.high,
        "verified": kernel.definition.reference is not None,
        "tries": result.tried,
        "statuses": dict(result.statuses),
        "seconds": result.seconds,
        "said": list(asked.get("said", ())),
    }


def draw(row: Row) -> None:
    """One row on the screen."""
    for line in row["said"]:
        render.aside.print(f"note: {line}", markup=False)
    shown = [(name, _word(value)) for name, value in row.items() if name != "said"]
    render.lines(shown)


def _word(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name}={each}" for name, each in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)
