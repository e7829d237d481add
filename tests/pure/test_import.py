"""What ``import tilewright`` loads, what the package says of itself, and ``python -m tilewright``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tilewright as tw

pytestmark = pytest.mark.pure

ROOT = Path(tw.__file__).parent
# What only tuning, measuring and the command need.
LATER = ("tuning", "cli", "tutorial")


def child(program: str) -> str:
    path = os.pathsep.join([str(ROOT.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *program], env=os.environ | {"PYTHONPATH": path},
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded(statements: str) -> set[str]:
    """The modules of a fresh process after some statements."""
    return set(
        json.loads(child(["-c", f"import json, sys\n{statements}\nprint(json.dumps(list(sys.modules)))"]))
    )


def of(module: str, modules: set[str]) -> bool:
    return any(name == f"tilewright.{module}" or name.startswith(f"tilewright.{module}.") for name in modules)


def test_importing_the_package_loads_nothing_of_the_tuner() -> None:
    modules = loaded("import tilewright")
    assert [module for module in LATER if of(module, modules)] == []
    for other in ("multiprocessing", "statistics", "typer", "rich", "torch", "cupy", "cuda", "plotly"):
        assert other not in modules, other
    assert "tilewright.api" in modules


def test_a_product_loads_nothing_of_the_tuner(tmp_path: Path) -> None:
    modules = loaded(
        f"import os; os.environ['TILEWRIGHT_HOME'] = {str(tmp_path)!r}\n"
        "import numpy as np, tilewright as tw\nassert (tw.matmul(np.eye(2), np.eye(2)) == np.eye(2)).all()"
    )
    assert [module for module in LATER if of(module, modules)] == []


def test_tune_is_a_function_before_and_after_it_has_loaded_the_tuner() -> None:
    modules = loaded(
        "import tilewright as tw\nbefore = tw.tune\n"
        "try: tw.tune('d:2', effort='mighty')\nexcept tw.ArgumentError: pass\n"
        "assert tw.tune is before and callable(before)"
    )
    assert of("tuning.tuner", modules)


def test_no_module_hides_a_public_name() -> None:
    modules = {path.stem for path in ROOT.glob("*.py")} | {p.name for p in ROOT.iterdir() if p.is_dir()}
    assert modules & set(tw.__all__) == set()


def test_the_version_is_said_in_one_place() -> None:
    project = ROOT.parent / "pyproject.toml"
    if not project.exists():
        pytest.skip("an installed package has no pyproject.toml beside it")
    said = tomllib.loads(project.read_text())
    assert "version" not in said["project"]
    assert said["project"]["dynamic"] == ["version"]
    path = ROOT.parent / said["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{tw.__version__}"' in path.read_text()


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "py.typed").exists()


def test_the_command_by_the_name_of_the_package() -> None:
    said = child(["-m", "tilewright", "--help"])
    for command in ("doctor", "tune", "explain"):
        assert command in said
