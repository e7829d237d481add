"""Kernels for GPUs that need a workspace, in JAX's programs: XLA has the memory, and no GPU is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.cpu.jax.pretence import TARGET, Driver, Roomy, h200, numbers, pretence
from tests.cpu.patches.driver import fake
from tilewright.catalog import STENCILS
from tilewright.model import Binary, Kernel
from tilewright.runtime import bound_cuda
from tilewright.targets.cuda.arguments import workspaces

__all__ = ["fake", "h200", "pretence"]

pytestmark = pytest.mark.cpu
jax: Any = pytest.importorskip("jax")


@pytest.fixture
def product(pretence: Driver, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A product as it is compiled for GPUs, in programs that run on the processor."""
    from tilewright.jax import lowering

    monkeypatch.setattr(lowering, "TARGETS", {"cuda": TARGET})
    given = {"a": "ab", "b": "bc", "out": "ac", "conj_a": False, "conj_b": False, "alpha": 1}

    def multiply(x: Any, y: Any, *z: Any, **parameters: Any) -> Any:
        return lowering.by_kernel("cuda", x, y, *z, **{**given, **parameters})

    return multiply


def text(program: Any, *arguments: Any) -> str:
    """A program as it is lowered for GPUs."""
    found: str = jax.jit(program).trace(*arguments).lower(lowering_platforms=("cuda",)).as_text()
    return found


def plans() -> list[Any]:
    from tilewright.jax import lowering

    return list(lowering.lowered().handlers.table.made.values())


def test_programs_have_memory_for_a_workspace(tj: Any, pretence: Driver) -> None:
    a, b, c = numbers(5, 3), numbers(3, 4), numbers(5, 4)
    said = text(tj.matmul, a, b)
    assert "stablehlo.custom_call @tilewright_cuda" in said
    assert "-> (tensor<5x4xf64>, tensor<4096xui8>)" in said
    # Of a stack, as many bytes as one launch takes; and what is updated is still the first result.
    said = text(lambda a, b, c: tj.gemm(a, b, c, beta=2.0), a, b, c)
    assert "-> (tensor<5x4xf64>, tensor<4096xui8>)" in said
    assert "output_tuple_indices = [0], operand_index = 2" in said
    assert {plan.room for plan in plans()} >= {4096}


def test_each_call_has_a_workspace_of_its_own(product: Any, pretence: Driver) -> None:
    a, b, c = numbers(6, 5), numbers(5, 6), numbers(6, 6)

    @jax.jit
    def program(a: Any, b: Any, c: Any) -> Any:
        # The first two may run at once, and all operands are needed afterwards.
        x, y = product(a, b), product(c, c)
        z = product(x, y)
        return product(z, z, c, beta=-2.0), x, y, z, a + 1, b + 1, c + 1

    one, other, third = map(np.asarray, (a, b, c))
    x, y = one @ other, third @ third
    want = x @ y @ (x @ y) - 2 * third, x, y, x @ y, one + 1, other + 1, third + 1
    for _ in range(3):
        for got, right in zip(program(a, b, c), want, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-10, atol=1e-10)
    assert len(pretence.launches) == 12
    stamps = {launch.stamp for launch in pretence.launches}
    assert len(stamps) == 12
    assert 0 not in stamps
    assert all(launch.space % 16 == 0 for launch in pretence.launches)
    assert pretence.cleared == [launch.space for launch in pretence.launches]


def test_loops_and_stacks_have_one_workspace_for_their_launches(product: Any, pretence: Driver) -> None:
    a, b = numbers(4, 4), numbers(4, 4, seed=1) / 3

    @jax.jit
    def program(a: Any, b: Any) -> Any:
        return jax.lax.fori_loop(0, 5, lambda _, x: product(x, b), a)

    want = np.asarray(a) @ np.linalg.matrix_power(np.asarray(b), 5)
    np.testing.assert_allclose(program(a, b), want, rtol=1e-10, atol=1e-12)
    assert len({launch.stamp for launch in pretence.launches}) == 5
    pretence.launches.clear()
    # Two axes of the stack that no stride covers: a launch for each of one of them.
    x, y = numbers(3, 2, 5, 4), numbers(3, 2, 4, 6, seed=1)
    run = jax.jit(partial(product, a="xyab", b="xybc", out="yxac"))
    np.testing.assert_allclose(run(x, y), np.einsum("xyab,xybc->yxac", x, y), rtol=1e-10)
    assert len(pretence.launches) > 1
    assert len({launch.space for launch in pretence.launches}) == 1


def test_calls_of_other_processes_have_what_their_text_says(
    tj: Any, pretence: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tilewright.jax.plans import Call
    from tilewright.jax.table import key_of

    a, b = numbers(7, 3), numbers(3, 4)
    lies = [((1, *x.shape), (x.size, x.shape[1], 1)) for x in (a, b)]
    asked = Call("cuda", "d", lies[0], lies[1], ((1, 7, 4), (28, 4, 1)), room=4096)
    assert Call.parse(asked.text) == asked

    def run(call: Call) -> Any:
        results = [jax.ShapeDtypeStruct((7, 4), np.float64), jax.ShapeDtypeStruct((call.room,), np.uint8)]
        made = jax.ffi.ffi_call(TARGET, results[: 1 + (call.room > 0)])
        return jax.jit(lambda a, b: made(a, b, call=call.text, key=np.int64(key_of(call.text))))(a, b)[0]

    # There is more than the kernel needs, or so little that one has to do that needs none.
    for room in (4096, 9999, 4095, 0):
        np.testing.assert_allclose(run(replace(asked, room=room)), np.asarray(a) @ np.asarray(b))
    assert [launch.stamp > 0 for launch in pretence.launches] == [True, True, False, False]
    # Where there is none, XLA is told.
    monkeypatch.setattr(Roomy, "needs", (1,))
    with pytest.raises(Exception, match="tilewright: no kernel runs"):
        jax.block_until_ready(run(replace(asked, room=8)))


def test_what_jax_makes_of_calls_has_workspaces_too(tj: Any, pretence: Driver) -> None:
    a, b = numbers(2, 5, 3), numbers(3, 4)
    said = text(jax.grad(lambda a, b: tj.matmul(a, b).sum(), (0, 1)), a, b)
    assert said.count("xui8>)") == 2
    # One product, of all rows.
    assert text(jax.vmap(tj.matmul, (0, None)), a, b).count("tensor<4096xui8>)") == 1
    part = jax.sharding.PartitionSpec
    mesh = jax.sharding.AbstractMesh((2,), ("x",))
    spread = jax.shard_map(tj.matmul, mesh=mesh, in_specs=(part("x"), part()), out_specs=part("x"))
    assert "-> (tensor<5x4xf64>, tensor<4096xui8>)" in text(spread, a, b)
    allowed = [jax.export.DisabledSafetyCheck.custom_call("tilewright_cuda")]
    made = jax.export.export(jax.jit(tj.matmul), platforms=["cuda"], disabled_checks=allowed)(a[0], b)
    assert "tensor<4096xui8>" in made.mlir_module()


@pytest.mark.parametrize(
    ("letter", "stencil", "columns", "without"),
    [
        ("d", "dmma", 8192, 0),
        ("b", "warpgroup", 8192, 0),
        ("s", "inner", 16, 0),
        # All of its configs copy operands.
        ("b", "unaligned", 8191, None),
    ],
)
def test_kernels_that_exist_are_planned_with_their_workspace_or_without(
    h200: None,
    fake: Any,
    monkeypatch: pytest.MonkeyPatch,
    letter: str,
    stencil: str,
    columns: int,
    without: int | None,
) -> None:
    """Of an H200 that is not here, no kernel of which is launched."""
    from tilewright.jax import plans

    monkeypatch.setattr(bound_cuda, "kernel", lambda *_: Kernel(0x1234, Binary(b"", "k", "")))
    monkeypatch.setattr(plans, "Options", partial(plans.Options, stencil=stencil))
    lies = [((1, *x), (x[0] * x[1], x[1], 1)) for x in ((8192, 8192), (8192, columns), (8192, columns))]
    call = plans.Call("cuda", letter, lies[0], lies[1], lies[2])
    plan, found = plans.planned(call, 0)
    assert plan.stencil == stencil
    assert found is not None
    room = sum(part.size for part in workspaces(STENCILS[stencil].arguments(plan.problem, plan.config)))
    assert found.room == room > 0
    for given, needed in ((room, room), (room - 1, without), (0, without)):
        _, found = plans.planned(replace(call, room=given), 0, alone=True)
        assert (None if found is None else found.room) == needed
