"""The rooms of the package: imports only go down, and what must not meet does not."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import tilewright

pytestmark = pytest.mark.pure

ROOT = Path(tilewright.__file__).parent

# The rooms from the roof down: a room imports only from those that stand after it.
ROOMS = (
    *("__main__", "cli", "api", "tutorial", "tuning", "calls", "runtime", "planning", "catalog"),
    *("arrays", "store", "stencils", "targets", "space", "model", "task", "dtypes", "errors", "forks"),
)
OPTIONAL = {"torch", "plotly", "cuda", "cupy"}
# The one function that loads modules of this package when it is called, so that importing the package does
# not: they are what tuning needs and a product does not.
LAZY_DOOR = ("api", "tune", {"tilewright.tuning.tuner", "tilewright.tuning.gemm.jobs"})
STANDS_ON = ("space", "tuning.timing", "store.records", "store.jsonl", "tuning.workers")
READS_ENVIRONMENT = {"store.paths"}
# Sets variables for its children, and puts back what was there.
SETS_ENVIRONMENT = {"tuning.workers"}


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


def room(module: str) -> str:
    return module.partition(".")[0]


def test_every_module_is_in_a_room() -> None:
    assert {room(module) for module in MODULES if module} == set(ROOMS)


@pytest.mark.parametrize("module", sorted(module for module in MODULES if module))
def test_imports_only_go_down(module: str) -> None:
    below = ROOMS[ROOMS.index(room(module)) + 1 :]
    inside = {name for name, _ in imported(MODULES[module])}
    assert [name for name in inside if room(name) != room(module) and room(name) not in below] == []


def test_no_modules_import_each_other() -> None:
    graph = {module: {name for name, _ in imported(tree)} - {module} for module, tree in MODULES.items()}
    TopologicalSorter(graph).prepare()


def test_planning_and_tuning_do_not_meet() -> None:
    # Each module once: there are many ways down.
    @cache
    def reach(module: str) -> set[str]:
        direct = {name for name, _ in imported(MODULES[module])}
        return direct.union(*(reach(name) for name in direct))

    assert not {name for name in reach("planning.dispatch") if room(name) == "tuning"}
    assert "planning.dispatch" not in reach("tuning.tuner")
    # The same look finds what is there.
    assert {"tuning.tuner", "planning.dispatch"} <= reach("api")


def test_what_tuning_stands_on_knows_nothing_of_arrays_and_calls() -> None:
    for module in (*STANDS_ON, "tuning.search.climb"):
        rooms = {room(name) for name, _ in imported(MODULES[module])}
        assert not {"arrays", "calls", "runtime", "api"} & rooms, module


def test_the_tuner_and_what_it_stands_on_know_nothing_of_matrix_products() -> None:
    named = {"Problem", "GroupedProblem", "Gemm", "DType", "DTYPES", "parsed", "turned_a", "turned_b"}
    attributes = {"m", "n", "k", "trans", "trans_a", "trans_b", "dtype", "alpha", "beta", "lda", "stride_a"}
    searches = {name for name in MODULES if name.startswith("tuning.search")}
    for module in (*STANDS_ON, *searches, "tuning.tuner", "tuning.evaluate", "runtime.build", "task"):
        nodes = list(ast.walk(MODULES[module]))
        found = {name for name, _ in imported(MODULES[module]) if name.startswith("tuning.gemm")}
        found |= {x.id for x in nodes if isinstance(x, ast.Name)} & named
        found |= {x.name for x in nodes if isinstance(x, ast.alias)} & named
        found |= {x.attr for x in nodes if isinstance(x, ast.Attribute)} & attributes
        assert not found, module
    # The same look finds them in the one module of the store that writes them.
    codecs = {x.name for x in ast.walk(MODULES["store.codecs"]) if isinstance(x, ast.alias)}
    assert {"Problem", "GroupedProblem"} <= codecs


def test_no_stencil_is_named_outside_its_own_folder() -> None:
    """By a text that is compared or looked up: the words of ``tile`` and ``tensor`` have other meanings."""
    stencils = {path.parent.name for path in ROOT.glob("stencils/*/*/stencil.py")}
    assert "tile" in stencils
    for module, tree in MODULES.items():
        looked = [x.slice for x in ast.walk(tree) if isinstance(x, ast.Subscript) and _is_table(x.value)]
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and "stencil" in ast.unparse(node):
                looked += [node.left, *node.comparators]
        named = {x.value for x in looked if isinstance(x, ast.Constant)}
        assert not named & stencils, module


def _is_table(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id == "STENCILS"


def test_no_stencil_compares_compute_capabilities() -> None:
    """What a device can do is in ``Device.supports`` and ``rates``: a new generation is one row."""
    stencils = [name for name in MODULES if name.startswith("stencils.")]
    assert "stencils.cuda.tensor.stencil" in stencils
    for module in stencils:
        for node in ast.walk(MODULES[module]):
            if isinstance(node, ast.Compare):
                assert "capability" not in ast.unparse(node), f"{module}: {ast.unparse(node)}"


def test_nothing_of_a_stencil_or_a_target_is_found_by_getattr() -> None:
    members = {
        name
        for protocol in (tilewright.stencils.protocol.Stencil, tilewright.targets.protocol.Target)
        for name in vars(protocol)
        if not name.startswith("_")
    }
    assert {"runs", "needs_record", "size_specific", "probe"} <= members
    for module, tree in MODULES.items():
        for node in ast.walk(tree):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id in {"getattr", "hasattr"}:
                assert isinstance(node, ast.Call)
                assert not {x.value for x in node.args if isinstance(x, ast.Constant)} & members, module


# Who of those that serve a call knows a library of arrays by name: its own file, how libraries are found, and
# how their calls are remembered. What a call is compared with, in the rooms above, makes its own arrays.
LIBRARIES = {"torch", "cupy"}
KNOWS_LIBRARIES = {"arrays.torch_", "arrays.cupy_", "arrays.backend", "runtime.device_calls"}
SHARES_TENSORS = {"arrays.numpy_", *KNOWS_LIBRARIES}
BACKENDS = {"Host", "Gpu", "NumpyArrays", "GpuArrays", "ArrayBackend", "Backend", "HOST"}


@pytest.mark.parametrize("module", sorted(x for x in MODULES if room(x) in {"api", *ROOMS[5:]}))
def test_libraries_of_arrays_are_known_in_their_own_files(module: str) -> None:
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.Constant) and module not in KNOWS_LIBRARIES:
            assert node.value not in LIBRARIES, f"line {node.lineno}"
        if isinstance(node, ast.Name) and module not in KNOWS_LIBRARIES:
            assert node.id not in LIBRARIES, f"line {node.lineno}"
    inside = {name for name, _ in imported(MODULES[module])}
    if module not in SHARES_TENSORS:
        assert not {"arrays.torch_", "arrays.cupy_"} & inside


@pytest.mark.parametrize("module", sorted(MODULES))
def test_nobody_asks_which_backend_serves_a_call(module: str) -> None:
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "type"):
            named = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
            named |= {x.attr for x in ast.walk(node) if isinstance(x, ast.Attribute)}
            assert not named & BACKENDS, f"line {node.lineno}"
        if isinstance(node, ast.Compare):
            named = {getattr(x, "id", "") for x in (node.left, *node.comparators)}
            assert not named & BACKENDS, f"line {node.lineno}"


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
