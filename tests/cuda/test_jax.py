"""Products from JAX's programs on a GPU: right in every type, inside command buffers, and on XLA's stream."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tilewright.targets.cuda import devices

# JAX takes most of a GPU's memory as it starts, and other tests need some.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]
jax: Any = pytest.importorskip("jax")


@pytest.fixture
def tj() -> Iterator[Any]:
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU here")
    jax.config.update("jax_enable_x64", True)
    import tilewright.jax

    yield tilewright.jax
    jax.config.update("jax_enable_x64", False)


def drawn(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    x = random.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * random.standard_normal(shape)
    return jax.numpy.asarray(x.astype(dtype))


def launches(tj: Any) -> list[Any]:
    """The plans that handlers have."""
    from tilewright.jax import lowering

    return list(lowering.lowered().handlers.table.made.values())


BOUNDS = {"float16": 2e-2, "bfloat16": 2e-1, "float32": 1e-5, "complex64": 1e-5}


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((5000, 3, 4), (5000, 4, 5)),
        ((5000, 4, 4), (4, 4)),
        ((3, 1, 8, 8), (700, 8, 8)),
        ((50, 16, 16), (50, 16, 16)),
        ((7, 3, 20), (7, 20)),
    ],
)
def test_products_are_those_of_numpy(tj: Any, kind: str, one: Any, other: Any) -> None:
    if len(one) > len(other) and one[-1] == 20:
        other = (20,)
    dtype = jax.numpy.dtype(kind)
    a, b = drawn(*one, dtype=dtype), drawn(*other, dtype=dtype, seed=1)
    got = tj.matmul(a, b)
    wide = np.complex128 if kind.startswith("complex") else np.float64
    want = np.matmul(np.asarray(a).astype(wide), np.asarray(b).astype(wide))
    assert got.dtype == dtype
    np.testing.assert_allclose(np.asarray(got).astype(wide), want, atol=8 * BOUNDS.get(kind, 1e-13))


def test_gradients_maps_and_transposed_operands(tj: Any) -> None:
    from jax.test_util import check_grads

    a, b = drawn(40, 4, 3, dtype=np.complex128), drawn(40, 5, 4, dtype=np.complex128, seed=1)

    def call(a: Any, b: Any) -> Any:
        return tj.gemm(a, b, alpha=2j, trans_a="t", trans_b="c")

    want = 2j * np.asarray(a).swapaxes(1, 2) @ np.asarray(b).conj().swapaxes(1, 2)
    np.testing.assert_allclose(call(a, b), want, rtol=1e-12)
    check_grads(call, (a, b), 2, rtol=1e-5, atol=1e-5)
    c = drawn(40, 3, 5, dtype=np.complex128, seed=2)
    update = jax.jit(lambda a, b, c: tj.gemm(a, b, c, beta=1j, trans_a="t", trans_b="t"), donate_argnums=2)
    want = np.asarray(a).swapaxes(1, 2) @ np.asarray(b).swapaxes(1, 2) + 1j * np.asarray(c)
    kept = c + 0
    for _ in range(2):
        np.testing.assert_allclose(update(a, b, c), want, rtol=1e-12)
        c = kept
    x, y = drawn(6, 50, 7), drawn(7, 6, 50, seed=1)
    found = jax.vmap(tj.matmul, (1, 2))(x, y)
    np.testing.assert_allclose(found, np.einsum("axk,kcx->xac", x, y), rtol=1e-12)


def test_results_wait_for_what_is_before_them_and_are_waited_for(tj: Any) -> None:
    a, b = drawn(200_000, 4, 4), drawn(200_000, 4, 4, seed=1)

    @jax.jit
    def program(a: Any, b: Any) -> Any:
        for _ in range(10):
            a = jax.numpy.tanh(tj.matmul(jax.numpy.cos(a), b))
        return a

    want = np.asarray(a)
    for _ in range(10):
        want = np.tanh(np.cos(want) @ np.asarray(b))
    np.testing.assert_allclose(program(a, b), want, rtol=1e-9, atol=1e-12)


COUNTED = """
import ctypes, os, sys
import numpy as np
import jax
jax.config.update("jax_enable_x64", True)
import tilewright.jax as tj
from tilewright.jax import lowering
a = jax.numpy.asarray(np.random.default_rng(0).standard_normal((500, 4, 4)))
@jax.jit
def program(x, y):
    for _ in range(8):
        x = jax.numpy.cos(tj.matmul(x, y))
    return x
compiled = program.lower(a, a).compile()
calls = []
# The word of the plan that says what launches: a function that counts, and launches.
for plan in list(lowering.lowered().handlers.table.made.values()):
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint64] * 4)
    launch = kind(plan.words[0])
    counting = kind(lambda *given: calls.append(1) or launch(*given))
    plan.words[0] = ctypes.cast(counting, ctypes.c_void_p).value
want = np.asarray(a)
for _ in range(8):
    want = np.cos(want @ np.asarray(a))
for _ in range(20):
    # What is made is given back, so that the next one lies where it lay: XLA records for addresses.
    assert np.abs(np.asarray(compiled(a, a)) - want).max() < 1e-9
print(len(calls))
"""


@pytest.mark.parametrize("recorded", [False, True])
def test_calls_are_recorded_into_command_buffers(tj: Any, recorded: bool) -> None:
    import subprocess
    import sys

    flags = "--xla_gpu_graph_min_graph_size=1 --xla_gpu_enable_command_buffer=" + (
        "FUSION,CUSTOM_CALL" if recorded else ""
    )
    made = subprocess.run(
        [sys.executable, "-c", COUNTED],
        env={**os.environ, "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert made.returncode == 0, made.stderr[-2000:]
    # Eight products twenty times, or no more often than XLA records them.
    assert (int(made.stdout) < 160) is recorded, made.stdout


def forced(stencil: str, held: dict[str, int], letter: str, lies: Any) -> Any:
    """A config of a stencil with these values, the nearest to its default; skipped where it accepts nothing
    of the sort."""
    from tilewright.catalog import STENCILS
    from tilewright.jax import plans

    call = plans.Call("cuda", letter, *lies)
    plan, _ = plans.planned(call, 0, alone=True)
    why = STENCILS[stencil].accepts(plan.problem, plan.device)
    if why is not None:
        pytest.skip(why)
    space = STENCILS[stencil].space(plan.problem, plan.device)
    config = space.restricted(**held).nearest(STENCILS[stencil].default(plan.problem, plan.device))
    if config is None:
        pytest.skip(f"{stencil} has nothing with {held} here")
    return config


@pytest.mark.parametrize(
    ("stencil", "held", "kind", "shapes"),
    [
        ("inner", {"spread": 2}, "float32", ((8, 40_000), (40_000, 8))),
        ("dmma", {"cut": 1}, "float64", ((1500, 1500), (1500, 1500))),
        ("warpgroup", {"cut": 1}, "bfloat16", ((2304, 2304), (2304, 2304))),
        ("unaligned", {}, "float16", ((1501, 1501), (1501, 1501))),
        ("panel", {"tickets": 1}, "float64", ((3_000_000, 8), (8, 8))),
    ],
)
def test_kernels_have_their_workspace(
    tj: Any, monkeypatch: pytest.MonkeyPatch, stencil: str, held: Any, kind: str, shapes: Any
) -> None:
    from functools import partial

    from tilewright.arrays.layout import LETTERS
    from tilewright.calls import settings
    from tilewright.jax import plans

    lies = [((1, *x), (x[0] * x[1], x[1], 1)) for x in (*shapes, (shapes[0][0], shapes[1][1]))]
    config = forced(stencil, held, LETTERS[np.dtype(jax.numpy.dtype(kind))].letter, lies)
    given = partial(plans.Options, stencil=stencil, config=config)
    monkeypatch.setattr(plans, "Options", given)
    a, b = (drawn(*shape, dtype=jax.numpy.dtype(kind), seed=seed) for seed, shape in enumerate(shapes))

    def program(a: Any, b: Any) -> Any:
        # Others write to the memory between the calls, and of two calls none waits for the other. They are
        # so many that XLA records them by itself, in the second run.
        found = []
        for factor in (1, 2):
            x, y = tj.matmul(factor * a, b), tj.matmul(a, jax.numpy.flip(b, 1))
            found += [x, y, jax.numpy.cos(x) + y]
        return found

    settings.forget()
    jax.clear_caches()
    try:
        compiled = jax.jit(program).lower(a, b).compile()
        assert any(plan.room and plan.bound.plan.config == config for plan in launches(tj))
        wide = np.asarray(a).astype(np.float64) @ np.asarray(b).astype(np.float64)
        bound = BOUNDS.get(kind, 1e-13) * np.abs(wide).max()
        for _ in range(6):
            made = [np.asarray(x).astype(np.float64) for x in compiled(a, b)]
            for at, want in ((0, wide), (1, wide[:, ::-1]), (3, 2 * wide), (4, wide[:, ::-1])):
                np.testing.assert_allclose(made[at], want, atol=2 * bound)
    finally:
        settings.forget()
        jax.clear_caches()


def test_a_launch_that_fails_is_an_error_of_the_program(tj: Any) -> None:
    a = drawn(300, 5, 5)
    before = {id(plan) for plan in launches(tj)}
    compiled = jax.jit(tj.matmul).lower(a, a).compile()
    (plan,) = [plan for plan in launches(tj) if id(plan) not in before]
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint64] * 4)
    refused = kind(lambda *_: 700)
    was = plan.words[0]
    plan.words[0] = ctypes.cast(refused, ctypes.c_void_p).value
    try:
        with pytest.raises(Exception, match="code 700"):
            jax.block_until_ready(compiled(a, a))
    finally:
        plan.words[0] = was
    np.testing.assert_allclose(compiled(a, a), np.asarray(a) @ np.asarray(a), rtol=1e-9)
