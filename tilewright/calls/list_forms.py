"""The batch forms beside strided ones: lists of matrices of one size, and of many sizes.

``gemm_batched`` takes matrices of one shape that lie anywhere; ``gemm_grouped`` takes products that all
differ, in one launch; ``plan_grouped`` prepares such a list for being run again. Lists of arrays in this
process's memory are served too, by the kernels of the processor.

On a GPU, addresses and descriptors are written to pinned memory and copied in the order of the caller's
stream, once a call; a list that is used again is better put into ``Pointers``, ``Groups`` or a plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.arrays.pointers import Groups, Pointers
from tilewright.arrays.tracing import untraced
from tilewright.calls import batched, grouped, small_lists
from tilewright.calls.grouped import Grouped
from tilewright.calls.matrix_lists import backend_of_lists, counted, listed
from tilewright.calls.spec import Options, of_pairs, written
from tilewright.errors import ArgumentError

__all__ = ["Grouped", "Groups", "Pointers", "gemm_batched", "gemm_grouped", "plan_grouped"]


@untraced
def gemm_batched(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: complex = 1,
    beta: complex = 0,
    trans_a: str = "n",
    trans_b: str = "n",
    out: Any = None,
    dtype: str | None = None,
) -> Any:
    """alpha * op(a[i]) @ op(b[i]) + beta * c[i] for many matrices of one size that lie anywhere.

    ``a``, ``b``, ``c`` and ``out`` are sequences of two-dimensional arrays, each of one shape and all of
    one type, or ``Pointers``. op(a[i]): (m, k), op(b[i]): (k, n), c[i]: (m, n); ``c`` is read only when
    beta is not 0. Returns ``out``; without it a list of new arrays, which are views of one allocation.
    ``out`` may be ``c``, in place; without ``c`` and with a beta, ``out`` itself is updated.
    ``dtype="hc"`` as for ``gemm``.

    On a GPU it is one launch where matrices have up to 64 rows and columns or lie evenly spaced, else one
    call of cuBLAS over arrays of addresses, or, where that is not here or has no such product, one launch for
    each. The matrices of one operand should have the same strides: if they have not, they are
    copied into one new array first. Addresses of lists are copied to the GPU at every call, in the order
    of the caller's stream; ``Pointers`` need no copy, and may be used while a CUDA graph is recorded.

    Raises ``ArgumentError`` for lists of different length, matrices of different shapes or in different
    memories, outputs that share memory with one another or with an input, and what ``gemm`` refuses;
    ``DTypeError`` for different types.
    """
    asked = alpha, beta, trans_a, trans_b, dtype
    result = small_lists.again("batched", a, b, c, out, asked)
    if result is not NotImplemented:
        return result
    key = batched.key_of((a, b, out), c, asked)
    if key is not None and batched.again(key):
        return out
    options = Options.of(alpha, beta, trans_a, trans_b, pairs=of_pairs(dtype))
    given = {"a": a, "b": b} | ({"c": c} if options.beta != 0 and c is not None else {})
    lists = {name: listed(value, name) for name, value in given.items()}
    if out is not None:
        lists["out"] = lists["c"] if out is c and "c" in lists else listed(out, "out")
    if options.beta != 0 and "c" not in lists and out is None:
        raise ArgumentError(
            f"beta={written(options.beta)} without c; accepted: c, or out to be updated in place"
        )
    if not counted(lists):
        return [] if out is None else out
    backend = backend_of_lists(lists)
    with backend.current():
        made = batched.run(backend, options, lists, c is out, key)
    small_lists.remember("batched", a, b, c, out, asked, made)
    return made if out is None else out


@untraced
def gemm_grouped(
    a: Any,
    b: Any = None,
    c: Any = None,
    *,
    alpha: Any = 1,
    beta: Any = 0,
    trans_a: str = "n",
    trans_b: str = "n",
    out: Any = None,
    dtype: str | None = None,
) -> Any:
    """alpha * op(a[i]) @ op(b[i]) + beta * c[i] for many products of different sizes.

    ``a``, ``b``, ``c`` and ``out`` are sequences of arrays of one type: op(a[i]) is (m_i, k_i), op(b[i])
    (k_i, n_i) and c[i] (m_i, n_i). An element may be a stack of three axes, in all of them at the same
    place; a ``b[i]`` of two axes then serves all of the stack. ``alpha`` and ``beta`` are numbers, or
    sequences with one number for each element; a ``c[i]`` is read only where its beta is not 0. Returns
    ``out``; without it a list of new arrays, which are views of one allocation. ``out`` may be ``c``, in
    place; without ``c`` and with a beta, ``out`` itself is updated. Instead of ``a``, ``b`` and ``c``
    there may be one ``Groups``, which says where C is; the call then returns None.

    On a GPU all products with extents up to 64 are one launch, or a few where some matrices are stored by
    rows and others by columns, in the classes of lists where that was measured to beat the library. Of the
    others, larger ones above all, like ones that lie evenly spaced are one batch, and each batch is run as
    ``gemm`` runs it; where there are many, several at once. Matrices without a
    unit stride are copied first, and not accepted as outputs. In this process's memory products run one
    by one.

    Raises ``ArgumentError`` for lists of different length, shapes that do not fit, arrays in different
    memories, outputs that share memory with one another or with an input, ``DTypeError`` for other types.
    """
    asked = alpha, beta, trans_a, trans_b, dtype
    result = small_lists.again("grouped", a, b, c, out, asked)
    if result is not NotImplemented:
        return result
    made = grouped.planned(
        a, b, c, (alpha, beta), (trans_a, trans_b), out, dtype, config=None, lasting=False
    )()
    small_lists.remember("grouped", a, b, c, out, asked, made)
    return made


@untraced
def plan_grouped(
    a: Any,
    b: Any = None,
    c: Any = None,
    *,
    alpha: Any = 1,
    beta: Any = 0,
    trans_a: str = "n",
    trans_b: str = "n",
    out: Any = None,
    dtype: str | None = None,
    config: Mapping[str, Any] | None = None,
) -> Grouped:
    """The call ``gemm_grouped(a, b, c, ...)`` prepared: a call of what it returns looks at nothing again.

    A call (or ``run()``, which is the same) multiplies what the same memory then holds and writes to the
    same results. On a GPU it costs a few microseconds however long the list is, and may be recorded into a
    CUDA graph; after ``tune`` or ``forget`` the next one plans again first. ``config`` forces parameters of
    the kernel, for people who tune. Raises as ``gemm_grouped`` does.
    """
    return grouped.planned(
        a, b, c, (alpha, beta), (trans_a, trans_b), out, dtype, config=config, lasting=True
    )
