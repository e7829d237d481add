"""Products from JAX's programs on this processor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilewright.errors import ArgumentError, DTypeError

pytestmark = pytest.mark.cpu
jax: Any = pytest.importorskip("jax")
jnp: Any = jax.numpy


def drawn(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    x = random.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * random.standard_normal(shape)
    return jnp.asarray(x.astype(dtype))


def plans() -> dict[int, Any]:
    """The plans that handlers have, by key."""
    from tilewright.jax import lowering

    return lowering.lowered().handlers.table.made


def test_what_was_measured_beside_numpy_alone_is_left_to_xla(tj: Any) -> None:
    """float16 has a kernel of ours at any such size, whatever processor this is."""
    before = len(plans())
    got = tj.matmul(drawn(3, 90, 4, dtype=np.float16), drawn(3, 4, 5, dtype=np.float16, seed=1))
    assert got.shape == (3, 90, 5)
    assert len(plans()) == before
    tj.matmul(drawn(3, 9, 4, dtype=np.float16), drawn(3, 4, 5, dtype=np.float16, seed=1))
    assert len(plans()) == before + 1


# ---- what comes out


@pytest.mark.parametrize(
    ("kind", "one", "other", "bound"),
    [
        ("float64", (2, 1, 3, 4), (5, 4, 6), 1e-13),
        ("complex128", (4,), (2, 4, 3), 1e-13),
        ("float32", (30, 3, 4), (4, 5), 1e-5),
        ("complex64", (30, 3, 4), (30, 4), 1e-5),
        ("float16", (9, 4, 4), (9, 4, 4), 2e-2),
        ("bfloat16", (9, 4, 4), (9, 4, 4), 2e-1),
    ],
)
def test_products_are_those_of_numpy(tj: Any, kind: str, one: Any, other: Any, bound: float) -> None:
    dtype = jnp.dtype(kind)
    a, b = drawn(*one, dtype=dtype), drawn(*other, dtype=dtype, seed=1)
    if b.ndim == 2 and a.ndim == 3 and b.shape[0] == a.shape[0]:
        b = b[0]
    got = tj.matmul(a, b)
    wide = np.complex128 if kind.startswith("complex") else np.float64
    want = np.matmul(np.asarray(a).astype(wide), np.asarray(b).astype(wide))
    assert isinstance(got, jax.Array)
    assert (got.shape, got.dtype) == (want.shape, dtype)
    np.testing.assert_allclose(np.asarray(got).astype(wide), want, atol=8 * bound)


def test_edges_have_the_results_of_jax(tj: Any) -> None:
    for one, other in (((0, 3, 4), (0, 4, 2)), ((3, 0), (0, 2)), ((4,), (4,))):
        a, b = drawn(*one), drawn(*other)
        np.testing.assert_allclose(tj.matmul(a, b), jnp.matmul(a, b))
    # A type that no kernel knows is JAX's, and types are promoted as JAX does.
    np.testing.assert_array_equal(tj.matmul(jnp.ones((2, 3), int), jnp.ones((3, 2), int)), np.full((2, 2), 3))
    assert tj.matmul(drawn(2, 3, dtype=np.float32), drawn(3, 2)).dtype == np.float64


def test_what_does_not_fit_is_refused_by_name(tj: Any) -> None:
    a = drawn(3, 4)
    with pytest.raises(ArgumentError, match="4 columns do not meet 3 rows"):
        tj.matmul(a, a)
    for given, what in (
        ({"trans_a": "x"}, "trans_a='x'"),
        ({"alpha": "2"}, "alpha='2'"),
        ({"alpha": 1j, "trans_b": "t"}, "alpha=1j for arrays of float64"),
    ):
        with pytest.raises(ArgumentError, match=what):
            tj.gemm(a, a, **given)
    with pytest.raises(ArgumentError, match="a has shape"):
        tj.gemm(a[0], a)
    with pytest.raises(DTypeError, match="int"):
        tj.gemm(jnp.ones((2, 2), int), jnp.ones((2, 2), int))
    with pytest.raises(ArgumentError, match="label 'j'"):
        tj.einsum("ij,jk->ik", a, a)


# ---- what JAX makes of it


def test_gradients_and_letters_of_gemm(tj: Any) -> None:
    from jax.test_util import check_grads

    a, b, c = (drawn(*shape, dtype=np.complex128) for shape in ((5, 4, 3), (5, 2, 4), (3, 2)))

    def call(a: Any, b: Any, c: Any) -> Any:
        return tj.gemm(a, b, c, alpha=2 - 1j, beta=0.5j, trans_a="t", trans_b="c")

    want = (2 - 1j) * np.swapaxes(a, 1, 2) @ np.conj(np.swapaxes(b, 1, 2)) + 0.5j * np.asarray(c)
    np.testing.assert_allclose(call(a, b, c), want, rtol=1e-12)
    check_grads(call, (a, b, c), 2, rtol=1e-5, atol=1e-5)


def test_updates_are_made_in_place_and_mapped(tj: Any) -> None:
    a, b, c = drawn(7, 3, 4), drawn(4, 3), drawn(7, 3, 3)

    def call(a: Any, b: Any, c: Any) -> Any:
        return tj.gemm(a, b, c, beta=-2.0)

    text = jax.jit(call).lower(a, a.swapaxes(1, 2), c).as_text()
    assert "output_operand_alias" in text
    for axes in ((0, None, 0), (None, None, 0), (0, 0, None)):
        pairs = zip((a, b, c), axes, strict=True)
        given = [x if axis is None else jnp.stack([x, 3 * x], axis) for x, axis in pairs]
        want = jax.vmap(lambda a, b, c: a @ b - 2 * c, axes)(*given)
        np.testing.assert_allclose(jax.vmap(call, axes)(*given), want, rtol=1e-12, atol=1e-12)
    # More of c than of the product, and what does not fit.
    np.testing.assert_allclose(call(a[0], b, c), np.asarray(a[0] @ b) - 2 * np.asarray(c), rtol=1e-12)
    with pytest.raises(ArgumentError, match="c has shape"):
        call(a, b, c[:, :2])


def test_gradients_of_complex_and_broadcast_operands_are_those_of_jax(tj: Any) -> None:
    a, b = drawn(3, 1, 2, 4, dtype=np.complex128), drawn(5, 4, 2, dtype=np.complex128, seed=1)

    def gradients(multiply: Callable[..., Any]) -> Any:
        def loss(a: Any, b: Any) -> Any:
            return jnp.sum(jnp.abs(multiply(a, b)) ** 2)

        return jax.jit(jax.grad(loss, (0, 1)))(a, b)

    for got, want in zip(gradients(tj.matmul), gradients(jnp.matmul), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)


@pytest.mark.parametrize("axes", [(None, 0), (2, 1)])
def test_mapped_axes_are_read_where_they_lie(tj: Any, axes: Any) -> None:
    a = drawn(*((3, 4) if axes[0] is None else (3, 4, 40)))
    b = drawn(*((40, 4, 5) if axes[1] == 0 else (4, 40, 5)))
    call = jax.jit(jax.vmap(tj.matmul, axes))
    np.testing.assert_allclose(call(a, b), jax.vmap(jnp.matmul, axes)(a, b), rtol=1e-12)
    text = call.lower(a, b).as_text()
    assert "tilewright_cpu" in text
    if axes == (None, 0):
        assert "broadcast_in_dim" not in text


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("xab,xbc->xca", [(6, 3, 4), (6, 4, 5)]),
        ("ii,ij,jk->k", [(4, 4), (4, 5), (5, 6)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 6)]),
        ("abij,bjk->aik", [(3, 4, 5, 6), (4, 6, 7)]),
        ("ab,cd->abcd", [(3, 4), (2, 5)]),
    ],
)
def test_contractions_are_those_of_numpy(tj: Any, equation: str, shapes: Any) -> None:
    operands = [drawn(*shape) for shape in shapes]
    want = np.einsum(equation, *map(np.asarray, operands))
    for optimize in ("auto", [(0, 1)] * (len(operands) - 1)):
        found = tj.einsum(equation, *operands, optimize=optimize)
        np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-12)


def test_parts_of_arrays_on_several_devices(tj: Any) -> None:
    part = jax.sharding.PartitionSpec
    mesh = jax.sharding.Mesh(np.array(jax.devices("cpu")[:2]), ("x",))
    spread = jax.jit(jax.shard_map(tj.matmul, mesh=mesh, in_specs=(part("x"), part()), out_specs=part("x")))
    a, b = drawn(6, 3, 4), drawn(4, 5)
    np.testing.assert_allclose(spread(a, b), np.asarray(a) @ np.asarray(b), rtol=1e-12)
    # The gradient of what both devices have is a sum over both.
    found = jax.grad(lambda a, b: jnp.sum(spread(a, b) ** 2), (0, 1))(a, b)
    want = jax.grad(lambda a, b: jnp.sum((a @ b) ** 2), (0, 1))(a, b)
    for got, right in zip(found, want, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-10)


# ---- programs of other processes


def test_calls_that_nobody_lowered_here_are_planned_when_they_run(tj: Any) -> None:
    from tilewright.jax.handler import TARGETS
    from tilewright.jax.plans import Call
    from tilewright.jax.table import key_of

    a, b = drawn(11, 3, 4), drawn(11, 4, 5)
    one, other = ((x.shape, (x.shape[1] * x.shape[2], x.shape[2], 1)) for x in (a, b))
    call = Call("cpu", "d", one, other, ((11, 3, 5), (15, 5, 1)), alpha=3)
    assert Call.parse(call.text) == call

    tj.register()

    def run(text: str) -> Any:
        shape = jax.ShapeDtypeStruct((11, 3, 5), np.float64)
        made = jax.ffi.ffi_call(TARGETS["cpu"], shape)
        return jax.jit(lambda a, b: made(a, b, call=text, key=np.int64(key_of(text))))(a, b)

    before = len(plans())
    np.testing.assert_allclose(run(call.text), 3 * np.asarray(a) @ np.asarray(b), rtol=1e-12)
    assert len(plans()) == before + 1
    with pytest.raises(Exception, match="tilewright: "):
        run(call.text[:-9])
