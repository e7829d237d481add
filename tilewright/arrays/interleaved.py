"""Batches whose matrices lie element beside element, as problems: arrays (m, n, batch), and packs.

What ``layout.problem_of`` would have copied, because no axis of a matrix has a unit stride, mostly has it
along the batch. Such arrays are taken as they are, whatever the strides of their rows and columns.
"""

from __future__ import annotations

import math

from tilewright.arrays.layout import LETTERS, WIDEST, Job, collapsed
from tilewright.arrays.view import Layout, address_of, aligned
from tilewright.model import Interleaved, Problem, Three

Axis = tuple[int, Three]
"""The extent of a batch axis, and the elements from one matrix to the next along it, of A, B and C."""


def interleaved_of(
    a: Layout, b: Layout, out: Layout, *, conj_a: bool, conj_b: bool, alpha: str, beta: str, gpu: bool = False
) -> Job | None:
    """The job that computes out = alpha a b + beta out on interleaved matrices; None where they are not.

    a, b, out: (..., m, k), (..., k, n), (..., m, n) of one supported type, batch axes broadcast to out's.
    Along one batch axis a and b have unit stride, or one of them has stride 0; so has out, or any stride if
    it is not read. Nothing else is asked of strides but that they are whole elements, of which on a GPU all
    addresses are multiples: ``Problem.align`` says of how much more.
    """
    m, k = a.shape[-2:]
    n, size, arrays = b.shape[-1], out.itemsize, (a, b, out)
    if max(m, n, k) == 1:
        return None  # Numbers side by side are a packed batch, too.
    for array in arrays:
        if any(step % size for step in array.strides) or not aligned(array):
            return None
        if gpu and address_of(array) % size:
            return None
    axes: list[Axis] = []
    for extent, (step_a, step_b, step_c) in zip(*collapsed(a, b, out), strict=True):
        axes.append((extent, (step_a // size, step_b // size, step_c // size)))
    inner = _inner(axes, read=beta != "0")
    if inner is None:
        return None
    count, steps = axes.pop(inner)
    axes.sort(key=lambda axis: -axis[0])
    (turns, packs), rest = (axes[0], axes[1:]) if axes else ((1, (0, 0, 0)), [])
    rows = [_step(array, -2) for array in arrays]
    columns = [_step(array, -1) for array in arrays]
    align = WIDEST
    if gpu:
        # Bytes that divide the address of every run of matrices side by side.
        for array, step, *others in zip(arrays, steps, rows, columns, packs, strict=True):
            if step == 1:
                align = math.gcd(align, address_of(array), *(other * size for other in others))
        align = math.gcd(
            align, *(s * size for _, far in rest for s, x in zip(far, steps, strict=True) if x == 1)
        )
    problem = Problem(
        LETTERS[out.dtype],
        m,
        n,
        k,
        "j" if conj_a else "n",
        "j" if conj_b else "n",
        batch=count * turns,
        lda=columns[0],
        ldb=columns[1],
        ldc=columns[2],
        stride_a=steps[0],
        stride_b=steps[1],
        stride_c=steps[2],
        alpha=alpha,
        beta=beta,
        align=align,
        interleaved=Interleaved(count if turns > 1 else 0, (rows[0], rows[1], rows[2]), packs),
    )
    bytes_of = [(x * size, y * size, z * size) for _, (x, y, z) in rest]
    return Job(problem, False, tuple(extent for extent, _ in rest), tuple(bytes_of))


def _inner(axes: list[Axis], read: bool) -> int | None:
    """The batch axis along which matrices are interleaved, one where out is too if there is one."""
    fit = [at for at, (_, (a, b, c)) in enumerate(axes) if {a, b} in ({1}, {0, 1}) and (c == 1 or not read)]
    return min(fit, key=lambda at: (axes[at][1][2] != 1, -axes[at][0]), default=None)


def _step(array: Layout, axis: int) -> int:
    """Elements from one row or column to the next; 0 where there is one alone."""
    return array.strides[axis] // array.itemsize if array.shape[axis] > 1 else 0
