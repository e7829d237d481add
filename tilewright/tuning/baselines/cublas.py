"""What a user would call on a GPU instead: cuBLAS, through PyTorch, or through CuPy where that is absent.

cuBLAS has no complex half. What stands in for it is the planar way (A. Abdelfattah, S. Tomov, J. Dongarra,
"Matrix multiplication on batches of small matrices in half and half-complex precisions", 2020): real and
imaginary parts in matrices of their own, multiplied by four products of float16,

    C.re = A.re B.re - A.im B.im,    C.im = A.re B.im + A.im B.re.

The parts are taken from each other before and put together after: that is not part of its time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.dtypes import BFLOAT16
from tilewright.model import Problem

Product = Callable[[], object]
# bfloat16 goes by integers, which the libraries are told are none, and complex half by its parts.
TYPES = {"h": "<f2", "b": "<i2", "s": "<f4", "d": "<f8", "c": "<c8", "z": "<c16", "hc": "<f2"}
PLANAR_ROUNDINGS = 4
"""How often the planar way may store, and so round, what becomes an element: a sum of two products, and each
of the two scaled by a complex number."""


class Memory:
    """Device memory as the array interface of CUDA describes it: shape, strides in bytes, address.

    Complex half has one more axis, of its two parts; bfloat16 is integers.
    """

    def __init__(self, address: int, problem: Problem, shape: tuple[int, int, int], ld: int, stride: int):
        size = problem.dtype.itemsize
        strides = (stride * size, size, ld * size)
        # A single matrix has two axes, and so has one that the whole batch shares.
        first = 1 if problem.batch == 1 or not stride else 0
        self.letter = problem.dtype.letter
        parts, apart = ((2,), (size // 2,)) if self.letter == "hc" else ((), ())
        self.__cuda_array_interface__ = {
            "shape": (*shape[first:], *parts),
            "strides": (*strides[first:], *apart),
            "typestr": TYPES[problem.dtype.letter],
            "data": (address, False),
            "version": 3,
        }


def memories(problem: Problem, pointers: tuple[int, int, int]) -> tuple[Memory, Memory, Memory]:
    """A, B and C as they are stored, (batch, row, column) with steps of 1 along the rows."""
    p = problem
    stride_a, stride_b, stride_c = p.strides
    a, b, c = ((p.batch, *shape) for shape in p.stored)
    lda, ldb, ldc = (ld or 0 for ld in (p.lda, p.ldb, p.ldc))  # Problem has filled them in
    return (
        Memory(pointers[0], p, a, lda, stride_a),
        Memory(pointers[1], p, b, ldb, stride_b),
        Memory(pointers[2], p, c, ldc, stride_c),
    )


def tensor(memory: Memory) -> Any:
    """Device memory as PyTorch's tensor."""
    import torch

    made = torch.as_tensor(memory, device="cuda")
    if memory.letter == "hc":
        return torch.view_as_complex(made)
    return made.view(torch.bfloat16) if memory.letter == "b" else made


def cupy_array(memory: Memory) -> Any:
    """Device memory as CuPy's array; complex half as float16 pairs (..., 2)."""
    import cupy

    made = cupy.asarray(memory)
    return made.view(BFLOAT16) if memory.letter == "b" else made


def torch_product(problem: Problem, pointers: tuple[int, int, int], alpha: complex, beta: complex) -> Product:
    """C = alpha op(A) op(B) + beta C by PyTorch, in the operands' own precision, on memory at ``pointers``.

    A conjugation is a mark on the view: cuBLAS takes it with a transposition; alone it costs a copy, as
    it does every user. Of complex half it is ``Planar``.
    """
    import torch

    p = problem
    if p.dtype.letter == "hc":
        return Planar(torch, p, [tensor(memory) for memory in memories(p, pointers)], alpha, beta)
    # Column-major C = op(A) op(B) is row-major C' = op(B)' op(A)'; views share the memory.
    a, b, c = (tensor(memory).mT for memory in memories(p, pointers))
    a = a.mT if p.transposed_a else a
    b = b.mT if p.transposed_b else b
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
    if p.dtype.letter == "hc":
        raise TypeError("CuPy has no complex half")
    a, b, c = (cupy_array(memory).swapaxes(-1, -2) for memory in memories(p, pointers))
    a = a.swapaxes(-1, -2) if p.transposed_a else a
    b = b.swapaxes(-1, -2) if p.transposed_b else b

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


class Planar:
    """The product of complex half by four of float16. Called, it multiplies the planes, which are taken from
    the operands once; ``whole`` takes C from them, multiplies, and puts C back.

    ``operands``: A, B and C as stored, complex tensors (batch, row, column), or (row, column) of one matrix.
    ``module`` is PyTorch. Sums are kept in float32 and stored after each product, ``PLANAR_ROUNDINGS`` times
    at most.
    """

    def __init__(self, module: Any, problem: Problem, operands: Sequence[Any], alpha: complex, beta: complex):
        self.torch, p = module, problem
        # Row-major, as in ``torch_product``: the left factor is B.
        a, b, c = (module.view_as_real(x.mT) for x in operands)
        self.parts = c[..., 0], c[..., 1]
        self.real, self.imag = (part.contiguous() for part in self.parts)

        def planes(x: Any, transposed: bool) -> tuple[Any, Any]:
            re, im = (x[..., part].contiguous() for part in (0, 1))
            re, im = (re.mT, im.mT) if transposed else (re, im)
            if p.batch > 1 and re.dim() == 2:
                re, im = (part.expand(p.batch, -1, -1) for part in (re, im))
            return re, im

        self.left, self.right = planes(b, p.transposed_b), planes(a, p.transposed_a)
        # Signs of the imaginary parts.
        self.signs = (-1.0 if p.conj_b else 1.0), (-1.0 if p.conj_a else 1.0)
        self.alpha, self.beta = complex(alpha), complex(beta)
        self.fresh = p.beta == "0"
        self.simple = not (self.alpha.imag or self.beta.imag)
        if not self.simple:
            self.scratch = module.empty_like(self.real), module.empty_like(self.imag)

    def __call__(self) -> None:
        if self.simple:
            self._products((self.real, self.imag), self.alpha.real, 0.0 if self.fresh else self.beta.real)
            return
        re, im = self.scratch
        self._products((re, im), 1.0, 0.0)
        al, be, old_re, old_im = self.alpha, self.beta, self.real, self.imag
        new_re, new_im = re * al.real, re * al.imag
        new_re.add_(im, alpha=-al.imag)
        new_im.add_(im, alpha=al.real)
        if not self.fresh:
            new_re.add_(old_re, alpha=be.real).add_(old_im, alpha=-be.imag)
            new_im.add_(old_im, alpha=be.real).add_(old_re, alpha=be.imag)
        old_re.copy_(new_re)
        old_im.copy_(new_im)

    def _products(self, out: tuple[Any, Any], alpha: float, beta: float) -> None:
        """out = alpha left right + beta out, plane by plane."""
        (re_l, im_l), (re_r, im_r), (sign_l, sign_r) = self.left, self.right, self.signs
        self._product(re_l, re_r, out[0], alpha, beta)
        self._product(im_l, im_r, out[0], -alpha * sign_l * sign_r, 1.0)
        self._product(re_l, im_r, out[1], alpha * sign_r, beta)
        self._product(im_l, re_r, out[1], alpha * sign_l, 1.0)

    def _product(self, a: Any, b: Any, c: Any, alpha: float, beta: float) -> None:
        if (alpha, beta) == (1.0, 0.0):
            (self.torch.bmm if c.dim() == 3 else self.torch.mm)(a, b, out=c)
        else:
            (c.baddbmm_ if c.dim() == 3 else c.addmm_)(a, b, alpha=alpha, beta=beta)

    def whole(self) -> None:
        """The product of what C holds, in C."""
        for plane, part in zip((self.real, self.imag), self.parts, strict=True):
            plane.copy_(part)
        self()
        for plane, part in zip((self.real, self.imag), self.parts, strict=True):
            part.copy_(plane)


def has_torch() -> str | None:
    """PyTorch's version with its cuBLAS set to full precision, sums of 16-bit types in float32; None where
    it has no CUDA."""
    import torch

    if not torch.cuda.is_available():
        return None
    matmul = torch.backends.cuda.matmul
    # The newer name of the same switch, which refuses to be mixed with the older one.
    if hasattr(matmul, "fp32_precision"):
        matmul.fp32_precision = "ieee"
    else:
        matmul.allow_tf32 = False
    # A library may otherwise add up parts of a sum of 16-bit numbers in 16 bits.
    matmul.allow_fp16_reduced_precision_reduction = False
    matmul.allow_bf16_reduced_precision_reduction = False
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
    """Version, the product on the first copy of the operands (to be checked), and one that goes through the
    copies in turns (to be timed); or why there is none."""
    if problem.math != "ieee":
        return f"its product in {problem.math} is not timed"
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
        first = products[0]
        if isinstance(first, Planar):
            return f"planar {version}", first.whole, _turns(products)
        return version, first, _turns(products)
    return "; ".join(reasons)


def roundings(problem: Problem) -> int:
    """How often what becomes an element may be stored on its way by the vendor's product.

    cuBLAS keeps sums in float32, and in 16 bits rounds a product once more before C is added to it.
    """
    if problem.dtype.letter == "hc":
        return PLANAR_ROUNDINGS
    return 2 if problem.dtype.real_bits == 16 and problem.beta != "0" else 1
