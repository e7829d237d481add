"""The rooms of the package: imports only go down, and what must not meet does not."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import tilewright
from tilewright.stencils.protocol import Stencil
from tilewright.targets.protocol import Target

pytestmark = pytest.mark.pure

ROOT = Path(tilewright.__file__).parent

# The rooms from the roof down: a room imports only from those that stand after it.
ROOMS = (
    "jax",
    *("__main__", "cli", "api", "contract", "tutorial", "kernels", "tuning", "torch", "calls", "runtime"),
    "export",
    *("planning", "catalog", "arrays", "store", "stencils", "targets", "custom", "space", "diagram"),
    *("model", "task", "dtypes"),
    *("errors", "loading", "forks"),
)
OPTIONAL = {"torch", "jax", "plotly", "cuda", "cupy", "cloudpickle", "jsonschema", "sklearn", "distributed"}
# The functions that import modules of this package when they are called: what tuning needs and a product does
# not, and what GPUs need and a product of this process's memory does not.
DOORS = {
    ("api", "tune"): {
        *("tilewright.tuning.fleet", "tilewright.tuning.cluster", "tilewright.tuning.gemm.jobs"),
        *("tilewright.tuning.effort", "tilewright.tuning.search.table", "tilewright.calls.gaps"),
        *("tilewright.tuning.modelled", "tilewright.targets.cpu.named"),
    },
    ("api", "_doors"): {"tilewright.torch.doors"},
    ("api", "plan"): {"tilewright.tuning.effort"},
    ("api", "einsum"): {"tilewright.contract.einsum", "tilewright.contract.steps"},
    ("api", "tensordot"): {"tilewright.contract.einsum"},
    ("api", "explain"): {"tilewright.contract.explain"},
    ("contract.einsum", "_foreign"): {"tilewright.runtime.backends"},
    ("contract.einsum", "_linked"): {"tilewright.runtime.backends"},
    ("api", "kernel_set"): {
        *("tilewright.tuning.tuner", "tilewright.tuning.gemm.jobs", "tilewright.tuning.effort"),
        "tilewright.tuning.sets.kernel_set",
    },
    ("kernels.stencil", "tune"): {
        "tilewright.tuning.effort",
        "tilewright.tuning.evaluate.kernels",
        "tilewright.tuning.search.table",
        "tilewright.tuning.tuner",
    },
    ("kernels.calls", "_bound_cuda"): {"tilewright.runtime.custom_cuda"},
    ("targets.cpu.target", "compile"): {"tilewright.targets.cpu.cc"},
    ("targets.cpu.target", "other_toolchain"): {"tilewright.targets.cpu.cc"},
    ("runtime.backends", "_gpu"): {"tilewright.runtime.bound_cuda"},
    ("runtime.build", "generators"): {"tilewright.stencils.cuda.source"},
    ("calls.explain", "_cublas"): {"tilewright.runtime.cublaslt", "tilewright.runtime.cublaslt_library"},
    ("arrays.dlpack", "device_of"): {"tilewright.targets.cuda.bindings"},
}
# What may be loaded by name, ``loading.load``: what is public, the rows of tables, and what is rarely needed.
LOADS = {"", "catalog", "runtime.bound_cpu", "tuning.evaluate.kind_cpu", "tuning.evaluate.kind_cuda"}
NAMED = re.compile(r"(tilewright(?:\.\w+)*)(?::\w+)?")
STANDS_ON = (
    "space",
    "tuning.timing",
    "store.records",
    "store.jsonl",
    "store.leases",
    "store.jobs",
    "tuning.workers",
)
READS_ENVIRONMENT = {"store.paths"}
# Sets variables for its children, and puts back what was there.
SETS_ENVIRONMENT = {"tuning.workers"}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# Read when the first test asks: each process of a parallel run loads this file, and one or two run its tests.
@cache
def texts() -> dict[str, str]:
    return {name_of(path): path.read_text() for path in sorted(ROOT.rglob("*.py"))}


@cache
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(text) for name, text in texts().items()}


@cache
def walked() -> dict[str, list[ast.AST]]:
    return {name: list(ast.walk(tree)) for name, tree in trees().items()}


@cache
def imports(module: str) -> set[str]:
    """The names that ``imported`` finds in a module."""
    return {name for name, _ in imported(walked()[module])}


def imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Modules of this package that a module names, by their names without the package's: in its imports, and
    in texts such as ``loading.load`` takes."""
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {getattr(node, 'lineno', 0)}: a relative import"
            # ``from package import thing``: the thing may be a module, or belong to the package.
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            known = [name for name in inside if name.removeprefix("tilewright.") in trees()]
            names = known or [str(node.module)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = NAMED.fullmatch(node.value)
            # A name of the package alone is a word.
            names = [found[1]] if found and found[1].removeprefix("tilewright.") in trees() else []
        else:
            continue
        for name in names:
            if name == "tilewright" or name.startswith("tilewright."):
                yield name.removeprefix("tilewright").removeprefix("."), node


def room(module: str) -> str:
    return module.partition(".")[0]


def test_every_module_is_in_a_room() -> None:
    assert {room(module) for module in trees() if module} == set(ROOMS)


def test_imports_only_go_down() -> None:
    wrong = [
        f"{module} imports {name}"
        for module in trees()
        if module
        for name in imports(module)
        if room(name) not in ROOMS[ROOMS.index(room(module)) :]
    ]
    assert wrong == []


def test_no_modules_import_each_other() -> None:
    graph = {module: imports(module) - {module} for module in trees()}
    TopologicalSorter(graph).prepare()


def test_planning_and_tuning_do_not_meet() -> None:
    # Each module once: there are many ways down.
    @cache
    def reach(module: str) -> set[str]:
        direct = imports(module)
        return direct.union(*(reach(name) for name in direct))

    assert not {name for name in reach("planning.dispatch") if room(name) == "tuning"}
    assert "planning.dispatch" not in reach("tuning.tuner")
    # The same look finds what is there.
    assert {"tuning.tuner", "planning.dispatch"} <= reach("api")


def test_what_tuning_stands_on_knows_nothing_of_arrays_and_calls() -> None:
    for module in (*STANDS_ON, "tuning.search.climb"):
        rooms = {room(name) for name in imports(module)}
        assert not {"arrays", "calls", "runtime", "api"} & rooms, module


def test_the_tuner_and_what_it_stands_on_know_nothing_of_matrix_products() -> None:
    named = {"Problem", "GroupedProblem", "Gemm", "DType", "DTYPES", "parsed", "transposed_a", "transposed_b"}
    attributes = {"m", "n", "k", "trans", "trans_a", "trans_b", "dtype", "alpha", "beta", "lda", "stride_a"}
    searches = {name for name in trees() if name.startswith("tuning.search")}
    for module in (
        *STANDS_ON,
        *searches,
        "tuning.tuner",
        "tuning.tasks",
        "tuning.results",
        "tuning.evaluate",
        "runtime.build",
        "task",
    ):
        nodes = walked()[module]
        found = {name for name in imports(module) if name.startswith("tuning.gemm")}
        found |= {x.id for x in nodes if isinstance(x, ast.Name)} & named
        found |= {x.name for x in nodes if isinstance(x, ast.alias)} & named
        found |= {x.attr for x in nodes if isinstance(x, ast.Attribute)} & attributes
        assert not found, module
    # The same look finds them in the one module of the store that writes them.
    codecs = {x.name for x in ast.walk(trees()["store.codecs"]) if isinstance(x, ast.alias)}
    assert {"Problem", "GroupedProblem"} <= codecs


def test_no_stencil_is_named_outside_its_own_folder() -> None:
    """By a text that is compared or looked up: the words of ``tile`` and ``tensor`` have other meanings."""
    stencils = {path.parent.name for path in ROOT.glob("stencils/*/*/stencil.py")}
    assert "tile" in stencils
    for module, nodes in walked().items():
        looked = [x.slice for x in nodes if isinstance(x, ast.Subscript) and _is_table(x.value)]
        for node in nodes:
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                if any(isinstance(x, ast.Constant) for x in sides) and "stencil" in ast.unparse(node):
                    looked += sides
        named = {x.value for x in looked if isinstance(x, ast.Constant)}
        assert not named & stencils, module


def _is_table(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id == "STENCILS"


def test_no_stencil_compares_compute_capabilities() -> None:
    """What a device can do is in ``Device.supports`` and ``rates``: a new generation is one row."""
    stencils = [name for name in trees() if name.startswith("stencils.")]
    assert "stencils.cuda.tensor.stencil" in stencils
    for module in stencils:
        for node in walked()[module]:
            if isinstance(node, ast.Compare):
                assert "capability" not in ast.unparse(node), f"{module}: {ast.unparse(node)}"


def test_nothing_of_a_stencil_or_a_target_is_found_by_getattr() -> None:
    members = {name for protocol in (Stencil, Target) for name in vars(protocol) if not name.startswith("_")}
    assert {"runs", "needs_record", "size_specific", "probe"} <= members
    for module, nodes in walked().items():
        for node in nodes:
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id in {"getattr", "hasattr"}:
                assert isinstance(node, ast.Call)
                assert not {x.value for x in node.args if isinstance(x, ast.Constant)} & members, module


# Who of those that serve a call knows a library of arrays by name: its own file, how libraries are found, and
# how their calls are remembered. What a call is compared with, in the rooms above, makes its own arrays.
LIBRARIES = {"torch", "cupy"}
KNOWS_LIBRARIES = {"arrays.torch_", "arrays.cupy_", "arrays.backend", "runtime.device_calls"}
SHARES_TENSORS = {"arrays.numpy_", "api", *KNOWS_LIBRARIES}
BACKENDS = {"Host", "Gpu", "NumpyArrays", "GpuArrays", "ArrayBackend", "Backend", "HOST"}


ABOVE = ROOMS.index("calls")


def test_libraries_of_arrays_are_known_in_their_own_files() -> None:
    for module in (x for x in trees() if room(x) in {"api", "contract", *ROOMS[ABOVE:]}):
        if module not in KNOWS_LIBRARIES:
            for node in walked()[module]:
                if isinstance(node, ast.Constant):
                    assert node.value not in LIBRARIES, f"{module}, line {node.lineno}"
                if isinstance(node, ast.Name):
                    assert node.id not in LIBRARIES, f"{module}, line {node.lineno}"
        if module not in SHARES_TENSORS:
            assert not {"arrays.torch_", "arrays.cupy_"} & imports(module), module


def test_nobody_asks_which_backend_serves_a_call() -> None:
    for module, nodes in walked().items():
        for node in nodes:
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "type"):
                named = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
                named |= {x.attr for x in ast.walk(node) if isinstance(x, ast.Attribute)}
                assert not named & BACKENDS, f"{module}, line {node.lineno}"
            if isinstance(node, ast.Compare):
                named = {getattr(x, "id", "") for x in (node.left, *node.comparators)}
                assert not named & BACKENDS, f"{module}, line {node.lineno}"


def test_functions_import_only_what_may_be_missing() -> None:
    for module, nodes in walked().items():
        for function in nodes:
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            through = DOORS.get((module, function.name), set())
            for node in ast.walk(function):
                names = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom):
                    names = [str(node.module)]
                names = [name for name in names if name not in through]
                assert {name.partition(".")[0] for name in names} <= OPTIONAL, f"{module}: {names}"


def functions(module: str) -> Iterator[ast.FunctionDef]:
    return (node for node in walked()[module] if isinstance(node, ast.FunctionDef))


def at_import(module: str) -> set[str]:
    """The modules of this package that a module's own imports load, those for type checkers left out."""
    lines = [node for node in trees()[module].body if isinstance(node, ast.Import | ast.ImportFrom)]
    return {name for line in lines for name, _ in imported(ast.walk(line))}


def loaded_with(*modules: str) -> set[str]:
    """All modules of this package that are loaded with some, and the packages that they are in."""
    seen: set[str] = set()
    todo = list(modules)
    while todo:
        here = todo.pop()
        if here not in seen:
            seen.add(here)
            todo += [*at_import(here), *(here.rpartition(".")[0],)]
    return seen


def test_doors_lead_to_what_they_are_for() -> None:
    for (module, name), through in DOORS.items():
        (door,) = (found for found in functions(module) if found.name == name)
        assert {f"tilewright.{other}" for other, _ in imported(ast.walk(door))} == through


def test_only_tables_load_by_name() -> None:
    users = {
        module
        for module, nodes in walked().items()
        for node in nodes
        if isinstance(node, ast.Name) and node.id in ("load", "_load") and module != "loading"
        if "loading" in at_import(module)
    }
    assert users == LOADS
    for module, text in texts().items():
        assert "import_module" not in text or module == "loading", module


def test_importing_the_package_imports_nothing_else() -> None:
    assert loaded_with("") == {"", "loading", "forks"}


def test_what_multiplies_is_loaded_without_the_tuner_and_without_what_is_for_gpus() -> None:
    seen = loaded_with("api", "stencils.cpu.lanes.stencil", "stencils.cpu.tile.stencil", "targets.cpu.target")
    assert {"runtime.bound_cpu", "planning.dispatch"} <= seen
    for other in ("tuning", "cli", "tutorial", "stencils.cuda", "targets.cuda"):
        assert not {name for name in seen if name == other or name.startswith(f"{other}.")}, other
    assert not {"runtime.bound_cuda", "runtime.cublaslt", "runtime.device_calls"} & seen
    # The same look finds what is there.
    assert {"stencils.cuda", "targets.cuda.driver"} <= loaded_with("runtime.bound_cuda", "calls.list_forms")


def test_what_may_be_missing_is_imported_in_functions_only() -> None:
    for module, tree in trees().items():
        # The rooms for PyTorch and JAX are opened by who has them.
        if room(module) in {"jax", "torch"}:
            continue
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                source = getattr(node, "module", None) or ""
                # ``from tilewright.targets import cuda`` is a module of this package.
                ours = source.partition(".")[0] == "tilewright"
                words = set() if ours else {*(a.name for a in node.names), source}
                assert not {word.partition(".")[0] for word in words} & OPTIONAL, module


def test_the_environment_is_read_in_one_place() -> None:
    users = set()
    for module, nodes in walked().items():
        for node in nodes:
            if isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv", "putenv"}:
                users.add(module)
            if isinstance(node, ast.ImportFrom) and node.module == "os":
                assert not {alias.name for alias in node.names} & {"environ", "getenv"}, module
    assert users == READS_ENVIRONMENT | SETS_ENVIRONMENT


def test_all_is_what_is_public() -> None:
    for name in tilewright.__all__:
        assert getattr(tilewright, name).__doc__, name
    public = {
        name
        for name, value in vars(tilewright).items()
        if not name.startswith("_") and type(value) is not type(sys)
    }
    assert set(tilewright.__all__) == public
    assert len(set(tilewright.__all__)) == len(tilewright.__all__)


def test_what_is_public_is_said_alike_to_type_checkers_and_to_programs() -> None:
    (either,) = (node for node in trees()[""].body if isinstance(node, ast.If))
    read = {
        alias.name: line.module
        for line in either.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }
    assert read == tilewright._MODULE_OF  # type: ignore[attr-defined]
    assert set(read) == set(tilewright.__all__)
    assert set(dir(tilewright)) >= {*tilewright.__all__, "__version__"}
    with pytest.raises(AttributeError, match="nonsense"):
        tilewright.nonsense  # type: ignore[attr-defined]  # noqa: B018
