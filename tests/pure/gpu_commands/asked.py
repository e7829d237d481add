"""A GPU whose ceilings are known, and what a command says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tilewright.cli import main
from tilewright.model import Problem
from tilewright.targets.cuda import capability

H200 = capability.named("h200")
CEILINGS = {"bandwidth.copy.1": 4e12, **capability.units(H200)}
KNOWN = replace(H200, ceilings=CEILINGS)


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    capsys.readouterr()
    code = 0
    try:
        main.main(list(words))
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out, err
