"""The command as a user calls it, in this process."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tilewright.cli import main


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


def answered(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """What a command says in JSON."""
    code, out, err = said(capsys, *words, "--json")
    assert code == 0, err
    return json.loads(out)
