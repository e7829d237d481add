"""The rooms of the package: imports only go down, and what must not meet does not."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilewright

pytestmark = pytest.mark.pure

ROOT = Path(tilewright.__file__).parent

# A module may import modules of lower rank and no others, so siblings never meet.
RANKS = {
    "errors": 0,
    "halves": 0,
    "tracing": 0,
    "call_cache": 0,
    "model": 1,
    "home": 1,
    "space": 2,
    "measure": 2,
    "operands": 2,
    "roofline": 2,
    "lines": 2,
    "objects": 2,
    "arrays": 2,
    "workers": 2,
    "targets.isa": 2,
    "targets.capability": 2,
    "stencils.cuda.call": 2,
    "stencils.cuda.program": 2,
    "stencils.cpu.emit": 2,
    "records": 3,
    "kin": 3,
    "verify": 3,
    "targets.cpu": 3,
    "targets.cuda": 3,
    "stencils": 3,
    "stencils.cpu.transpose": 3,
    "stencils.cpu.staging": 3,
    "stencils.cpu.common": 3,
    "search": 3,
    "targets.native": 4,
    "targets.driver": 4,
    "targets.listing": 4,
    "targets.starter": 5,
    "targets.cublaslt": 6,
    "roofline_cuda": 5,
    "stencils.cuda.tiny": 4,
    "stencils.cuda.classic": 4,
    "stencils.cuda.grouped": 4,
    "stencils.cuda.tensor": 4,
    "stencils.cpu.lanes": 4,
    "stencils.cpu.tile_code": 4,
    "stencils.cpu.tile": 5,
    "search.climb": 4,
    "search.exhaustive": 4,
    "search.sample": 4,
    "catalog": 6,
    "build": 7,
    "execute": 8,
    "dispatch": 8,
    "tuner": 8,
    "report.pages": 8,
    "ladder": 8,
    "device_arrays": 5,
    "warm": 6,
    "execute_cuda": 8,
    "trials": 4,
    "trials.cpu": 5,
    "trials.cublas": 5,
    "trials.cuda_timing": 5,
    "trials.cuda_grouped": 6,
    "trials.cuda": 7,
    "api": 9,
    "addresses": 6,
    "lists": 10,
    "batched": 11,
    "grouping": 11,
    "forms": 12,
    "answers": 10,
    "compare": 10,
    "screens": 10,
    "cli": 11,
    "__main__": 12,
    "": 13,
    # Folders that hold modules and nothing else.
    "targets": 0,
    "stencils.cpu": 0,
    "stencils.cuda": 0,
    "report": 0,
}
OPTIONAL = {"torch", "plotly", "cuda", "cupy"}
# The one function that loads modules of this package when it is called, so that importing the package does
# not: they are what tuning needs and a product does not.
LAZY_DOOR = ("api", "tune", {"tilewright.tuning.tuner"})
READS_ENVIRONMENT = {"home"}
# Sets variables for its children, and puts back what was there.
SETS_ENVIRONMENT = {"workers"}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}


def imported(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Modules of this package that a module names in its imports, by their names without the package's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {getattr(node, 'lineno', 0)}: a relative import"
            # ``from package import thing``: the thing may be a module, or belong to the package.
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            known = [name for name in inside if name.removeprefix("tilewright.") in MODULES]
            names = known or [str(node.module)]
        else:
            continue
        for name in names:
            if name == "tilewright" or name.startswith("tilewright."):
                yield name.removeprefix("tilewright").removeprefix("."), node


def test_every_module_has_a_rank() -> None:
    assert set(RANKS) == set(MODULES)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_only_go_down(module: str) -> None:
    up = [name for name, _ in imported(MODULES[module]) if RANKS[name] >= RANKS[module]]
    assert up == []


def test_the_folders_that_hold_nothing_import_nothing() -> None:
    assert [name for name, rank in RANKS.items() if rank == 0 and list(imported(MODULES[name]))] == []


def test_dispatch_and_the_tuner_do_not_meet() -> None:
    def reach(module: str) -> set[str]:
        direct = {name for name, _ in imported(MODULES[module])}
        return direct.union(*(reach(name) for name in direct))

    assert "tuner" not in reach("dispatch")
    assert "dispatch" not in reach("tuner")
    # The same look finds what is there.
    assert {"tuner", "dispatch"} <= reach("api")


def test_what_tuning_stands_on_knows_nothing_of_arrays_and_calls() -> None:
    for module in ("space", "measure", "records", "lines", "workers", "search.climb"):
        assert not {"arrays", "execute", "api", "operands"} & {name for name, _ in imported(MODULES[module])}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_functions_import_only_what_may_be_missing(module: str) -> None:
    for function in ast.walk(MODULES[module]):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [str(node.module)]
            if (module, function.name) == LAZY_DOOR[:2]:
                names = [name for name in names if name not in LAZY_DOOR[2]]
            assert {name.partition(".")[0] for name in names} <= OPTIONAL, f"{module}: {names}"


def test_the_lazy_door_is_the_only_way_to_what_it_loads() -> None:
    module, name, through = LAZY_DOOR
    found = next(
        node for node in MODULES[module].body if isinstance(node, ast.FunctionDef) and node.name == name
    )
    inside = {f"tilewright.{other}" for other, _ in imported(found)}
    assert inside == through

    # At the top of a module nobody whom the package imports comes by them.
    def top(module: str) -> set[str]:
        lines = [x for x in MODULES[module].body if isinstance(x, ast.Import | ast.ImportFrom)]
        return {other for line in lines for other, _ in imported(line)}

    seen, todo = set(), [""]
    while todo:
        here = todo.pop()
        if here not in seen:
            seen.add(here)
            todo += top(here)
    assert not {f"tilewright.{other}" for other in seen} & through
    assert "api" in seen


def test_what_may_be_missing_is_imported_in_functions_only() -> None:
    for module, tree in MODULES.items():
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                source = getattr(node, "module", None) or ""
                # ``from tilewright.targets import cuda`` is a module of this package.
                ours = source.partition(".")[0] == "tilewright"
                words = set() if ours else {*(a.name for a in node.names), source}
                assert not {word.partition(".")[0] for word in words} & OPTIONAL, module


def test_the_environment_is_read_in_one_place() -> None:
    users = set()
    for module, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv", "putenv"}:
                users.add(module)
            if isinstance(node, ast.ImportFrom) and node.module == "os":
                assert not {alias.name for alias in node.names} & {"environ", "getenv"}, module
    assert users == READS_ENVIRONMENT | SETS_ENVIRONMENT


def test_all_is_what_is_public() -> None:
    public = {
        name
        for name, value in vars(tilewright).items()
        if not name.startswith("_") and type(value) is not type(sys)
    }
    assert set(tilewright.__all__) == public
    assert len(set(tilewright.__all__)) == len(tilewright.__all__)
    for name in tilewright.__all__:
        assert getattr(tilewright, name).__doc__, name
