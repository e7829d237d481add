"""What is asked: arrays and options checked, and the shape and type of the result inferred.

Everything here goes by layouts alone. It allocates nothing, reads no element and knows no device, and every
error that a user's arrays and options can make is raised here (what is no array at all, the backend's
``view`` has refused before).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from tilewright.arrays.layout import (
    ACCEPTED,
    LETTERS,
    broadcast,
    no_numbers,
    paired,
    promoted,
    transposed,
)
from tilewright.arrays.view import Layout, broadcast_to, conjugated, with_axis, writeable
from tilewright.dtypes import BFLOAT16, is_complex
from tilewright.errors import ArgumentError, DTypeError
from tilewright.model import DTYPES, MATH_TYPES, MATHS, Config

CASTING: Literal["same_kind"] = "same_kind"
"""What NumPy lets a product be cast by on its way into ``out``."""


# ---- options


def number(value: Any, name: str) -> complex:
    """A scalar of a call. Raises ``ArgumentError`` for what is no number."""
    try:
        kind = np.asarray(value).dtype
        good = np.ndim(value) == 0 and (kind.kind in "biufc" or kind == BFLOAT16)
    except (TypeError, ValueError):
        good = False  # A tensor on a GPU, say: reading it would wait for all work there.
    if not good:
        raise ArgumentError(f"{name}={value!r}; accepted: a number")
    return complex(value)


def one_of(value: Any, name: str, accepted: Collection[str]) -> None:
    """Raises ``ArgumentError`` for what is none of some names."""
    # What has no hash, such as a list, is in no table either.
    if not (isinstance(value, str) and value in accepted):
        raise ArgumentError(f"{name}={value!r}; accepted: {', '.join(accepted)}")


def is_real(value: Any) -> bool:
    """Whether something is one real number, which others can be compared with."""
    return isinstance(value, Real)


def written(value: complex) -> str:
    """A scalar as a caller would have it, who seldom means the zero behind a real number."""
    return str(value if value.imag else value.real)


def forced_config(config: Mapping[str, Any] | None) -> Config | None:
    """Parameters that a caller forces. Raises ``ArgumentError`` for what is no map to plain values."""
    if config is None:
        return None
    try:
        found = Config(config)
        # What is no plain value has no hash, by which plans are looked up.
        hash(found)
        return found
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"config={config!r}; accepted: a map from names to plain values") from error


def of_pairs(dtype: str | None) -> bool:
    """Whether float16 arrays are pairs, by a call's ``dtype``. Raises ``ArgumentError`` for any but "hc"."""
    if dtype is not None and not (isinstance(dtype, str) and dtype == "hc"):
        raise ArgumentError(
            f"dtype={dtype!r}; accepted: 'hc', for float16 arrays (..., 2) that are complex half, or None: "
            "the arrays say their type"
        )
    return dtype is not None


def math_of(math: Any) -> str:
    """How a call is to multiply. Raises ``ArgumentError`` for what is none of ``MATHS``."""
    if not (isinstance(math, str) and math in MATHS):
        raise ArgumentError(f"math={math!r}; accepted: {', '.join(map(repr, MATHS))}")
    return math


def steadily(deterministic: Any, math: str) -> bool:
    """Whether a call is deterministic. Raises ``ArgumentError`` for what is no bool, and beside tf32."""
    if not isinstance(deterministic, bool):
        raise ArgumentError(f"deterministic={deterministic!r}; accepted: True, False")
    if deterministic and math != "ieee":
        raise ArgumentError(f"deterministic=True with math={math!r}; accepted: math='ieee'")
    return deterministic


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller fixed beside the arrays: scalars, transpositions, and what was forced. ``pairs``:
    float16 arrays (..., 2) are complex half. ``math``: one of ``model.MATHS``. ``deterministic``: no row of
    the result depends on how many there are."""

    alpha: complex = 1
    beta: complex = 0
    trans_a: str = "n"
    trans_b: str = "n"
    stencil: str | None = None
    config: Config | None = None
    pairs: bool = False
    math: str = "ieee"
    deterministic: bool = False

    @staticmethod
    def of(
        alpha: Any,
        beta: Any,
        trans_a: str,
        trans_b: str,
        *,
        stencil: str | None = None,
        config: Mapping[str, Any] | None = None,
        pairs: bool = False,
        math: str = "ieee",
        deterministic: bool = False,
    ) -> Options:
        """The options of a call as a user wrote them.

        Raises ``ArgumentError`` for scalars that are no numbers, a config that is no map, another ``math``,
        and ``deterministic`` that is no bool or goes with a stencil, a config or a ``math``. The letters are
        looked at together with the arrays.
        """
        scalars = number(alpha, "alpha"), number(beta, "beta")
        if not (stencil is None or isinstance(stencil, str)):
            raise ArgumentError(f"stencil={stencil!r}; accepted: the name of one, or None")
        how = math_of(math)
        steady = steadily(deterministic, how)
        if steady and (stencil is not None or config is not None):
            raise ArgumentError(
                f"deterministic=True with stencil={stencil!r}, config={config!r}; accepted: one or the "
                "other, for it says itself which kernel runs"
            )
        return Options(*scalars, trans_a, trans_b, stencil, forced_config(config), pairs, how, steady)

    @property
    def scalars(self) -> tuple[complex, complex]:
        """alpha and beta."""
        return self.alpha, self.beta

    @property
    def trans(self) -> tuple[str, str]:
        """The letters of a and b."""
        return self.trans_a, self.trans_b

    @property
    def classes(self) -> tuple[str, str]:
        """The classes of alpha ("1", "any") and beta ("0", "1", "any"), which kernels are compiled for."""
        beta = "0" if self.beta == 0 else "1" if self.beta == 1 else "any"
        return ("1" if self.alpha == 1 else "any"), beta

    @property
    def conj(self) -> tuple[bool, bool]:
        """Whether a and b are asked for conjugated."""
        return self.trans_a == "c", self.trans_b == "c"

    @property
    def forced(self) -> bool:
        """Whether the caller said what is to run."""
        return self.stencil is not None or self.config is not None

    def fits(self, dtype: np.dtype[Any]) -> None:
        """Raises ``ArgumentError`` when a real product is given a complex scalar, and for another ``math``
        than that of the numbers as they are with another type than float32, or complex64 where their products
        may be made of bfloat16."""
        accepted = [DTYPES[letter].name for letter in MATH_TYPES.get(self.math, ())]
        if accepted and dtype not in map(np.dtype, accepted):
            raise ArgumentError(
                f"math={self.math!r} for arrays of {dtype}; accepted: 'ieee', "
                f"or arrays of {' or '.join(accepted)}"
            )
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if value.imag != 0 and not is_complex(dtype):
                raise ArgumentError(f"{name}={written(value)} for arrays of {dtype}; accepted: a real number")

    def conjugated(self, a: Layout, b: Layout) -> tuple[bool, bool]:
        """Which operands' memory enters conjugated. Of real numbers that changes nothing, so "c" is their
        "t", tuned records and all."""
        if not is_complex(a.dtype):
            return False, False
        return self.conj[0] != conjugated(a), self.conj[1] != conjugated(b)


PLAIN = {pairs: Options(pairs=pairs) for pairs in (False, True)}
"""The options of ``matmul``."""


# ---- products


@dataclass(frozen=True, slots=True)
class ProductSpec:
    """One product or stack of them as it was asked, with nothing left to refuse but ``out``.

    ``a`` and ``b`` are the arguments, ``left`` (..., m, k) and ``right`` (..., k, n) op of them with both
    matrix axes; ``update`` is c as it is added, (..., m, n), if it is. ``dtype`` is the result's, and
    ``shape`` (..., m, n); ``final`` is the shape that the caller sees.
    """

    options: Options
    a: Layout
    b: Layout
    left: Layout
    right: Layout
    update: Layout | None
    shape: tuple[int, ...]
    final: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def supported(self) -> bool:
        """Whether kernels know the type; else the product is that of the arrays' own library."""
        return self.dtype in LETTERS

    def matrices(self, result: Layout) -> Layout:
        """A result of shape ``final`` with both matrix axes: the same memory."""
        if self.a.ndim == 1:
            result = with_axis(result, -2 if self.b.ndim > 1 else -1)
        return with_axis(result, -1) if self.b.ndim == 1 else result


def product_shape(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of left @ right, by their shapes. Raises ``ArgumentError`` when there is none."""
    if left[-1] != right[-2]:
        raise ArgumentError(
            f"op(a) has shape {left} and op(b) {right}: {left[-1]} columns do not meet {right[-2]} rows"
        )
    try:
        batch = broadcast(left[:-2], right[:-2])
    except ValueError as error:
        raise ArgumentError(
            f"the leading axes of a {left[:-2]} and b {right[:-2]} do not broadcast"
        ) from error
    return (*batch, left[-2], right[-1])


def matmul_spec(options: Options, a: Layout, b: Layout) -> ProductSpec:
    """``matmul`` of two arrays by NumPy's rules. Its type may be one that no kernel knows.

    Raises ``ArgumentError`` for scalars and shapes without a product, ``DTypeError`` for what holds no
    numbers or has no common type.
    """
    for name, array in (("a", a), ("b", b)):
        if no_numbers(array.dtype):
            raise DTypeError(f"{name} is {array.dtype}; accepted: numbers")
    for name, array in (("a", a), ("b", b)):
        if array.ndim == 0:
            raise ArgumentError(f"{name} is a scalar; accepted: arrays of one or more axes")
    left = with_axis(a, 0) if a.ndim == 1 else a
    right = with_axis(b, -1) if b.ndim == 1 else b
    shape = product_shape(left.shape, right.shape)
    final = shape if b.ndim > 1 else shape[:-1]
    if a.ndim == 1:
        final = (*shape[:-2], shape[-1]) if b.ndim > 1 else shape[:-2]
    dtype = promoted({"a": a, "b": b})
    options.fits(dtype)
    return ProductSpec(options, a, b, left, right, None, shape, final, dtype)


def gemm_spec(options: Options, a: Layout, b: Layout, c: Layout | None = None) -> ProductSpec:
    """alpha op(a) op(b), and beta c if c is an array; c is not looked at if beta is 0.

    Raises ``ArgumentError`` for letters, scalars and shapes that do not fit, ``DTypeError`` for types that
    no kernel knows.
    """
    for name, array in (("a", a), ("b", b)):
        if array.ndim < 2:
            raise ArgumentError(f"{name} has shape {array.shape}; accepted: two or more axes")
    left, _ = transposed(a, options.trans_a, "trans_a")
    right, _ = transposed(b, options.trans_b, "trans_b")
    shape = product_shape(left.shape, right.shape)
    arrays = {"a": a, "b": b}
    update = None
    if c is not None and options.beta != 0:
        arrays["c"] = c
        shape, update = _updated(shape, c)
    dtype = promoted(arrays)
    if dtype not in LETTERS:
        raise DTypeError(f"a and b are {a.dtype} and {b.dtype}; accepted: {ACCEPTED}")
    options.fits(dtype)
    return ProductSpec(options, a, b, left, right, update, shape, shape, dtype)


def _updated(shape: tuple[int, ...], c: Layout) -> tuple[tuple[int, ...], Layout]:
    """The shape of a product and c, and c broadcast to it."""
    try:
        shape = (*broadcast(shape[:-2], c.shape[:-2]), *shape[-2:])
        return shape, broadcast_to(c, shape)
    except ValueError as error:
        raise ArgumentError(f"c has shape {c.shape}; accepted: what broadcasts to {shape}") from error


# ---- where the result goes


def checked_out(
    given: Layout, shape: tuple[int, ...], dtype: np.dtype[Any], *, pairs: bool = False, gpu: bool = False
) -> Layout:
    """``out`` as an array that can take a result of this very shape and type, pairs as complex half.

    Raises ``ArgumentError`` or ``DTypeError``.
    """
    array = paired(given, "out", gpu) if pairs else given
    if array is None:
        raise ArgumentError(
            f"out has strides {given.strides}; accepted with dtype='hc': float16 pairs whose parts lie side "
            "by side in memory, on a GPU at multiples of 4 bytes"
        )
    if array.shape != shape:
        raise ArgumentError(f"out has shape {given.shape}; accepted: {(*shape, 2) if pairs else shape}")
    if array.dtype != dtype:
        raise DTypeError(f"out is {array.dtype}; accepted: {dtype}")
    if not writeable(array):
        raise ArgumentError("out is read-only; accepted: a writeable array")
    if not apart(array):
        raise ArgumentError(f"out has strides {array.strides}: several elements share one place in memory")
    return array


def castable_out(array: Layout, spec: ProductSpec) -> Layout:
    """``out`` of ``matmul``, which NumPy's rule lets a product be cast and repeated into.

    The last axes have their extents, what is before broadcasts to that of ``out``, and the types cast by
    ``CASTING``. Raises ``ArgumentError`` or ``DTypeError``.
    """
    shape, dtype = spec.final, spec.dtype
    core = (spec.a.ndim > 1) + (spec.b.ndim > 1)
    lead, fixed = shape[: len(shape) - core], shape[len(shape) - core :]
    into = array.shape[: max(0, array.ndim - core)]
    if not np.can_cast(dtype, array.dtype, CASTING):
        raise DTypeError(f"out is {array.dtype}; accepted: {dtype}, or a type that it casts to ({CASTING!r})")
    if array.shape[len(into) :] != fixed or not _repeats(lead, into):
        raise ArgumentError(f"out has shape {array.shape}; accepted: {shape}, or what it broadcasts to")
    if not writeable(array):
        raise ArgumentError("out is read-only; accepted: a writeable array")
    return array


def exact(out: Layout, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Whether a product can be written to ``out`` as it is computed, each element to memory of its own."""
    return apart(out) and out.shape == shape and out.dtype == dtype


def apart(array: Layout) -> bool:
    """Whether no axis repeats the same memory."""
    axes = zip(array.strides, array.shape, strict=True)
    return array.size == 0 or not any(step == 0 and extent > 1 for step, extent in axes)


def _repeats(lead: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Whether leading axes broadcast to those of ``out``, which may lack the first ones of extent 1."""
    try:
        wide = broadcast(lead, into)
        return wide == (1,) * (len(wide) - len(into)) + into
    except ValueError:
        return False
