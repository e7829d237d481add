"""Every example runs as a user would run it and finds its results right; the pages name what there is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.catalog import STENCILS
from tilewright.dispatch import device
from tilewright.model import Problem

pytestmark = pytest.mark.cpu

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(path)], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout
    assert "False" not in done.stdout


def test_the_page_on_the_space_names_every_parameter_and_rule() -> None:
    text = (ROOT / "docs" / "space.md").read_text()
    for problem in (*Problem.parse("z:4x4x4"), *Problem.parse("d:17x17x17")):
        for name, stencil in STENCILS.items():
            if stencil.accepts(problem, device()) is not None:
                continue
            space = stencil.space(problem, device())
            unnamed = [x.name for x in (*space.params, *space.rules) if f"`{x.name}`" not in text]
            assert not unnamed, f"docs/space.md does not say what {', '.join(unnamed)} of {name} is"
