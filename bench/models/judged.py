"""The lines of a product: what each config took, and what came of the turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bench import lines
from bench.models.tries import DEFAULT, PROPOSED, Shape
from tilewright.model import Config


def tried(shape: Shape) -> Iterator[lines.Line]:
    """Of each stencil what each config took, in microseconds, and what is wrong."""
    for name in shape.stencils:
        tries = shape.best(name)
        names = list(tries[0].config)
        rows = [
            [each.origin, round(1e6 * shape.seconds(each), 2), *(each.config[n] for n in names)]
            for each in tries
        ]
        wrong = [[why, *(c[n] for n in names)] for (own, c), why in shape.wrong.items() if own == name]
        yield {
            "kind": "tries",
            "problem": shape.problem.spelling,
            "stencil": name,
            "cublas_us": 1e6 * shape.cublas,
            "names": ["origin", "us", *names],
            "rows": rows,
            "wrong": wrong,
        }


def judged(shape: Shape, took: Mapping[tuple[str, Config], float], cublas: float) -> Iterator[lines.Line]:
    """Of each stencil what its default, the best of those proposed and the best of all took in turns."""
    for name in dict.fromkeys(stencil for stencil, _ in took):
        of = {config: seconds for (stencil, config), seconds in took.items() if stencil == name}
        origin = {config: shape.tries[name, config].origin for config in of}
        defaults = [config for config in of if origin[config] == DEFAULT]
        if not defaults:
            continue
        first = min((config for config in of if origin[config] in (DEFAULT, PROPOSED)), key=lambda c: of[c])
        best = min(of, key=lambda config: of[config])
        p = shape.problem
        yield {
            "kind": "models",
            "problem": p.spelling,
            "stencil": name,
            "tried": sum(stencil == name for stencil, _ in shape.took),
            "wrong": sum(stencil == name for stencil, _ in shape.wrong),
            "cublas_us": 1e6 * cublas,
            "default_us": 1e6 * of[defaults[0]],
            "first_us": 1e6 * of[first],
            "best_us": 1e6 * of[best],
            "default": dict(defaults[0]),
            "first": dict(first),
            "best": dict(best),
            "best_origin": origin[best],
        }


def said(line: lines.Line) -> str:
    """A line of the screen."""
    us = [line[f"{name}_us"] for name in ("default", "first", "best", "cublas")]
    shown = f"{line['problem']:26} {line['stencil']:10} best {us[2]:9.1f} us"
    ratios = f"default {us[2] / us[0]:.3f} first {us[2] / us[1]:.3f} over cublas {us[3] / us[2]:.3f}"
    return f"{shown} {ratios} of {line['tried']} ({line['best_origin']})"
