"""One call cache with one ``clear``: nothing else in the package remembers calls."""

from __future__ import annotations

import ast
import functools
import gc
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilewright
from tilewright.runtime import call_cache, device_calls

pytestmark = pytest.mark.pure

ROOT = Path(tilewright.__file__).parent
MEMOS = {
    name: value for name, value in vars(call_cache).items() if name.isupper() and isinstance(value, dict)
}

# What modules keep that does not follow from records, each with the reason.
EXEMPT = {
    "arrays.pointers._staging": "pinned memory",
    "calls.along._inverse": "arithmetic",
    "calls.along._known": "arithmetic",
    "calls.along._order": "arithmetic",
    "cli.queries.spaces.points": "a count of a space",
    "contract.einsum._dotted": "arithmetic",
    "contract.einsum._program": "follows from layouts alone",
    "custom.definition._RECEIVED": "what a child was sent",
    "custom.expressions._parsed": "text as a tree",
    "custom.shipping.unpacked": "what a child was sent",
    "jax.lowering._made": "what XLA knows of, once and for all",
    "jax.primitive._compiled": "programs of JAX, which jax.clear_caches forgets",
    "planning.classes.table": "what ships",
    "planning.alone.table": "what ships",
    "planning.alone.measured": "what ships",
    "planning.neighbours.table": "what ships",
    "planning.neighbours.measured": "what ships",
    "planning.neighbours.place": "arithmetic",
    "planning.processors.table": "what ships",
    "planning.processors.measured": "what ships",
    "runtime.build._loaded": "loaded code, which callers may hold",
    "runtime.build._recent": "loaded code, of which the least used is let go",
    "runtime.build._resident": "loaded code of GPUs, which recorded graphs may call",
    "runtime.build.generators": "a hash of program text",
    "runtime.call_cache._holders": "what clear calls",
    "cli.compare._mkl_library": "a library",
    "arrays.backend.library": "a library",
    "runtime.bound_cpu._pool": "threads",
    "runtime.bound_cuda._elsewhere": "loaded code",
    "runtime.cublas._handle": "a handle of a library",
    "runtime.cublas.library": "a library",
    "store.tries.shipped_rows": "what ships",
    "torch.entries.loaded": "loaded code",
    "torch.entries._operator": "a name",
    "tuning.cluster._idle": "children of a worker of a cluster",
    "tuning.timing._rank": "arithmetic",
}
PURE = (
    "stencils.",
    "targets.",
    "store.paths.",
    "tutorial.",
    "runtime.fastcall_",
    "runtime.team.",
    "runtime.cublaslt_",
)
"""Stencils are pure functions; targets find out what a machine is, load code and keep handles."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_memo(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return getattr(named, "attr", getattr(named, "id", "")) in ("cache", "lru_cache")


def kept(tree: ast.Module) -> Iterator[str]:
    """Names in a module that begin as an empty dictionary or list of calls, or are functions with memos."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any(map(is_memo, node.decorator_list)):
            yield node.name
        if isinstance(node, ast.Assign | ast.AnnAssign):
            value = node.value
            empty = isinstance(value, ast.Dict) and not value.keys
            made = isinstance(value, ast.Call) and getattr(value.func, "id", "") in ("dict", "OrderedDict")
            if empty or made:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    assert isinstance(target, ast.Name)
                    yield target.id


def test_whatever_remembers_calls_is_emptied_by_the_one_clear() -> None:
    adopted = [function.__wrapped__ for function in call_cache.adopted()]  # type: ignore[attr-defined]
    found = 0
    for path in sorted(ROOT.rglob("*.py")):
        module = module_name(path)
        for name in kept(ast.parse(path.read_text())):
            full = f"{module}.{name}"
            if full in EXEMPT or full.startswith(PURE):
                continue
            found += 1
            value = getattr(importlib.import_module(f"tilewright.{module}"), name)
            if isinstance(value, dict):
                assert any(value is memo for memo in MEMOS.values()), full
            else:
                assert value.__wrapped__ in adopted, full
    assert found >= len(MEMOS) + 3


def test_clear_empties_every_memo_and_keeps_the_dictionaries() -> None:
    before = dict(MEMOS)
    for memo in MEMOS.values():
        memo[int] = "a call"
    call_cache.clear()
    assert all(memo == {} for memo in MEMOS.values())
    assert all(getattr(call_cache, name) is memo for name, memo in before.items())
    assert device_calls.CALLS is call_cache.DEVICE


@pytest.mark.parametrize("clear", [call_cache.clear, tilewright.forget])
def test_functions_that_are_adopted_are_emptied(clear: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_cache, "_functions", [*call_cache.adopted()])

    @functools.lru_cache(maxsize=8)
    def planned(key: int) -> int:
        return key

    call_cache.adopt(planned)
    planned(1)
    assert planned.cache_info().currsize == 1
    clear()  # type: ignore[operator]
    assert planned.cache_info().currsize == 0


def test_a_full_memo_is_emptied_before_it_takes_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_cache, "MOST", 3)
    memo: dict[int, int] = {}
    for key in range(3):
        call_cache.keep(memo, key, key)
    assert len(memo) == 3
    call_cache.keep(memo, 3, 3)
    assert memo == {3: 3}


def test_holders_are_told_while_they_live() -> None:
    class Holder:
        dropped = 0

        def drop(self) -> None:
            self.dropped += 1

    one, other = Holder(), Holder()
    call_cache.watch(one)
    call_cache.watch(other)
    count = len(call_cache._holders)
    call_cache.clear()
    assert (one.dropped, other.dropped) == (1, 1)
    del other
    gc.collect()
    assert len(call_cache._holders) == count - 1
    call_cache.clear()
    assert one.dropped == 2
