"""What ``import tilewright`` loads, what the package says of itself, and ``python -m tilewright``."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tilewright as tw
from tilewright import catalog
from tilewright.stencils.protocol import Stencil
from tilewright.targets.protocol import Target

pytestmark = pytest.mark.pure

ROOT = Path(tw.__file__).parent
# What only tuning, measuring and the command need.
LATER = ("tuning", "cli", "tutorial")
# What only arrays on GPUs need.
FOR_GPUS = ("stencils.cuda", "targets.cuda", "runtime.bound_cuda", "runtime.cublaslt", "runtime.device_calls")

FIRST_IN_A_THREAD = """
import os, sys, threading, time
import tilewright as tw
from tilewright import catalog
from tilewright.stencils.protocol import Stencil
from tilewright.targets.protocol import Target

threads = [threading.Thread(target=lambda: tw.matmul) for _ in range(4)]
for thread in threads:
    thread.start()
time.sleep(0.01)
child = os.fork()
if child == 0:
    os._exit(0 if callable(tw.matmul) else 1)
deadline = time.monotonic() + 60
while not (done := os.waitpid(child, os.WNOHANG))[0]:
    if time.monotonic() > deadline:
        os.kill(child, 9)
        sys.exit('the child waits for a thread that it does not have')
    time.sleep(0.01)
assert os.waitstatus_to_exitcode(done[1]) == 0
for thread in threads:
    thread.join()
"""


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


def test_importing_the_package_loads_nothing_else() -> None:
    modules = loaded("import tilewright")
    ours = {name for name in modules if name.startswith("tilewright")}
    assert ours == {"tilewright", "tilewright.loading", "tilewright.forks"}
    for other in ("numpy", "llvmlite", "sqlite3", "multiprocessing", "typer", "rich", "torch", "cuda"):
        assert other not in modules, other


def product(home: Path) -> str:
    return (
        f"import os; os.environ['TILEWRIGHT_HOME'] = {str(home)!r}\n"
        "import numpy as np, tilewright as tw\nassert (tw.matmul(np.eye(2), np.eye(2)) == np.eye(2)).all()"
    )


def test_a_product_loads_nothing_of_the_tuner_and_nothing_that_is_for_gpus(tmp_path: Path) -> None:
    modules = loaded(product(tmp_path))
    assert [module for module in (*LATER, *FOR_GPUS) if of(module, modules)] == []
    for other in ("multiprocessing", "statistics", "subprocess", "typer", "rich", "torch", "cupy", "cuda"):
        assert other not in modules, other
    assert of("stencils.cpu", modules)


def test_a_plan_and_what_is_said_of_it_load_nothing_that_is_for_gpus(tmp_path: Path) -> None:
    modules = loaded(f"{product(tmp_path)}\na = np.ones((3, 3))\nprint(end=tw.plan(a, a).explain()[:0])")
    assert [module for module in (*LATER, *FOR_GPUS) if of(module, modules)] == []


def test_a_public_name_is_a_plain_attribute_once_it_was_asked_for() -> None:
    loaded(
        "import tilewright as tw\nassert 'matmul' not in vars(tw)\nfirst = tw.matmul\n"
        "assert vars(tw)['matmul'] is first is tw.matmul and first.__module__ == 'tilewright.api'\n"
        "from tilewright import *\nassert matmul is first and set(tw.__all__) <= set(vars(tw))"
    )


def test_what_is_public_may_be_pickled() -> None:
    for name in tw.__all__:
        value = getattr(tw, name)
        assert pickle.loads(pickle.dumps(value)) is value


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_threads_and_forks_may_ask_for_the_first_name_at_once() -> None:
    """A child that is made while a thread of its parent loads the package finishes loading it."""
    loaded(FIRST_IN_A_THREAD)


def test_names_are_known_without_what_they_name() -> None:
    modules = loaded(
        "from tilewright.catalog import STENCILS, TARGETS\n"
        "assert 'tiny' in STENCILS and 'cuda' in TARGETS and len(list(STENCILS)) == len(STENCILS) > 5"
    )
    assert not of("targets.cuda", modules)
    assert not any(name.endswith(".stencil") for name in modules)


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


def test_every_row_of_the_tables_is_what_it_says() -> None:
    # A fresh process still has rows: here another test may have asked for what they name.
    loaded(
        "from tilewright.catalog import STENCILS, TARGETS\n"
        "kinds = {name: row.target for name, row in STENCILS.entries.items()}\n"
        "assert kinds == {name: one.target for name, one in STENCILS.items()}\n"
        "assert all(row.target == name for name, row in TARGETS.entries.items())"
    )
    for table, protocol in ((catalog.STENCILS, Stencil), (catalog.TARGETS, Target)):
        for name, value in table.items():
            assert isinstance(value, protocol)
            assert table[name] is value
            assert name == (value.name if isinstance(value, Stencil) else value.kind)
    assert {*catalog.of_target("cpu"), *catalog.of_target("cuda")} == set(catalog.STENCILS)
    assert "tiny" not in catalog.of_target("cpu")
    assert "tiny" in catalog.of_target("cuda")
    with pytest.raises(KeyError):
        catalog.STENCILS["nonsense"]
