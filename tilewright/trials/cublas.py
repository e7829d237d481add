"""What a user would call on a GPU instead: cuBLAS, through PyTorch, or through CuPy where that is absent."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.model import Problem

Product = Callable[[], object]
TYPES = {"s": "<f4", "d": "<f8", "c": "<c8", "z": "<c16"}


class Memory:
    """Device memory as the array interface of CUDA describes it: shape, strides in bytes, address."""

    def __init__(self, address: int, problem: Problem, shape: tuple[int, int, int], ld: int, stride: int):
        size = problem.dtype.itemsize
        strides = (stride * size, size, ld * size)
        # A single matrix has two axes, and so has one that the whole batch shares.
        first = 1 if problem.batch == 1 or not stride else 0
        self.__cuda_array_interface__ = {
            "shape": shape[first:],
            "strides": strides[first:],
            "typestr": TYPES[problem.dtype.letter],
            "data": (address, False),
            "version": 3,
        }


def memories(problem: Problem, pointers: tuple[int, int, int]) -> tuple[Memory, Memory, Memory]:
    """A, B and C as they are stored, (batch, row, column) with steps of 1 along the rows."""
    p = problem
    stride_a, stride_b, stride_c = p.strides
    a = (p.batch, *((p.k, p.m) if p.turned_a else (p.m, p.k)))
    b = (p.batch, *((p.n, p.k) if p.turned_b else (p.k, p.n)))
    lda, ldb, ldc = (ld or 0 for ld in (p.lda, p.ldb, p.ldc))  # Problem has filled them in
    return (
        Memory(pointers[0], p, a, lda, stride_a),
        Memory(pointers[1], p, b, ldb, stride_b),
        Memory(pointers[2], p, (p.batch, p.m, p.n), ldc, stride_c),
    )


def torch_product(problem: Problem, pointers: tuple[int, int, int], alpha: complex, beta: complex) -> Product:
    """C = alpha op(A) op(B) + beta C by PyTorch, in the operands' own precision, on memory at ``pointers``.

    A conjugation is a mark on the view: cuBLAS takes it with a transposition; alone it costs a copy, as
    it does every user.
    """
    import torch

    p = problem
    # Column-major C = op(A) op(B) is row-major C' = op(B)' op(A)'; views share the memory.
    a, b, c = (torch.as_tensor(memory, device="cuda").mT for memory in memories(p, pointers))
    a = a.mT if p.turned_a else a
    b = b.mT if p.turned_b else b
    a = a.conj() if p.conj_a else a
    b = b.conj() if p.conj_b else b
    if p.batch > 1:
        a, b = (x if x.dim() == 3 else x.expand(p.batch, -1, -1) for x in (a, b))
    plain = p.alpha == "1" and p.beta == "0"
    if plain:
        multiply = torch.bmm if p.batch > 1 else torch.mm
        return lambda: multiply(b, a, out=c)
    kind = complex if p.dtype.is_complex else (lambda value: complex(value).real)
    scalars = {"alpha": kind(alpha), "beta": kind(beta)}
    update = c.baddbmm_ if p.batch > 1 else c.addmm_
    return lambda: update(b, a, **scalars)


def cupy_product(problem: Problem, pointers: tuple[int, int, int], alpha: complex, beta: complex) -> Product:
    """The same by CuPy: its product, and the scalars in steps of their own, which it has no call for."""
    import cupy

    p = problem
    a, b, c = (cupy.asarray(memory).swapaxes(-1, -2) for memory in memories(p, pointers))
    a = a.swapaxes(-1, -2) if p.turned_a else a
    b = b.swapaxes(-1, -2) if p.turned_b else b

    def conjugated() -> tuple[Any, Any]:
        return (b.conj() if p.conj_b else b), (a.conj() if p.conj_a else a)

    if p.alpha == "1" and p.beta == "0":
        return lambda: cupy.matmul(*conjugated(), out=c)
    temporary = cupy.empty(c.shape, c.dtype)
    real = not p.dtype.is_complex

    def update() -> None:
        cupy.matmul(*conjugated(), out=temporary)
        if p.alpha != "1":
            cupy.multiply(temporary, complex(alpha).real if real else alpha, out=temporary)
        if p.beta == "any":
            cupy.multiply(c, complex(beta).real if real else beta, out=c)
        if p.beta == "0":
            c[...] = temporary
        else:
            cupy.add(c, temporary, out=c)

    return update


def has_torch() -> str | None:
    """PyTorch's version with its cuBLAS set to full precision; None where it has no CUDA."""
    import torch

    if not torch.cuda.is_available():
        return None
    matmul = torch.backends.cuda.matmul
    # The newer name of the same switch, which refuses to be mixed with the older one.
    if hasattr(matmul, "fp32_precision"):
        matmul.fp32_precision = "ieee"
    else:
        matmul.allow_tf32 = False
    return f"cublas by torch {torch.__version__}"


def has_cupy() -> str | None:
    """CuPy's version; None where it has no CUDA."""
    import cupy

    return f"cublas by cupy {cupy.__version__}" if cupy.cuda.is_available() else None


def _turns(products: Sequence[Product]) -> Product:
    """One product after the other, round and round."""
    turn = itertools.cycle(products)
    return lambda: next(turn)()


def vendor(
    problem: Problem, copies: Sequence[tuple[int, int, int]], alpha: complex, beta: complex
) -> tuple[str, Product, Product] | str:
    """Version, the product on the first copy of the operands, and one that goes through the copies in
    turns; or why there is none."""
    reasons = []
    for name, found, product in (("torch", has_torch, torch_product), ("cupy", has_cupy, cupy_product)):
        try:
            version = found()
            if version is None:
                reasons.append(f"{name}: no CUDA")
                continue
            products = [product(problem, pointers, alpha, beta) for pointers in copies]
        except Exception as error:
            reasons.append(f"{name}: {type(error).__name__}: {error}")
            continue
        return version, products[0], _turns(products)
    return "; ".join(reasons)
