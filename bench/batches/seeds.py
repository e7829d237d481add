"""Where searches begin: the best configs of a file, and where the config that won came from."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from bench import lines
from bench.sweep import best_of
from tilewright.model import Config, Problem


def seeds_of(path: Path, problem: Problem, stencil: str, count: int) -> list[Config]:
    """The fastest configs that a file holds of a problem, whatever its batch: tries, and results.

    Lines that say no layout are of packed matrices.
    """
    name = problem.spelling.partition("@")[0]
    rows = [
        (line["tflops"], Config(line["config"]))
        for line in lines.read(path)
        if line.get("config") and line.get("tflops") and line["problem"].partition("@")[0] == name
        if line["beta"] == problem.beta and line.get("stencil", stencil) == stencil
        if line.get("layout", "packed") == problem.layout
    ]
    rows.sort(key=lambda row: -row[0])
    return list(dict.fromkeys([*best_of(path, problem, count), *(config for _, config in rows)]))[:count]


def origin_of(config: Config, default: Config, seeds: Collection[Config], near: Collection[Config]) -> str:
    """Where a config that won is from, in the words of plans: ``default``, the stencil's own choice;
    ``near``, the record of a near problem; ``tuned``, a search or the seeds of this very problem."""
    if config == default:
        return "default"
    return "near" if config in near and config not in seeds else "tuned"
