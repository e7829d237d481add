"""What CUDA stencils say alike of the problems and the devices that they accept: each function is a reason of
several of them, None where it does not speak against a problem, so that ``or`` puts them in a row.

What is accepted decides no source: a change of this file leaves the tries that are recorded as they are.
"""

from __future__ import annotations

from collections.abc import Collection

from tilewright.model import ChainProblem, Device, Problem, SegmentedProblem
from tilewright.stencils.cuda.common import modern
from tilewright.stencils.protocol import Stencil


class CudaStencil(Stencil):
    """A stencil for the GPUs that have asynchronous copies."""

    target = "cuda"

    def runs(self, device: Device) -> str | None:
        return too_old(device)


def too_old(device: Device) -> str | None:
    """Why no kernel runs on a device."""
    if modern(device):
        return None
    return f"compute capability {device['capability'] / 10:.1f}; the kernel needs asynchronous copies (8.0)"


def no_gpu(device: Device) -> str | None:
    """Why a device is none of those that CUDA stencils write for, or runs no kernel."""
    return f"{device.name} is no CUDA device" if device.kind != "cuda" else too_old(device)


def no_bulk_copies(device: Device) -> str | None:
    """Why kernels that copy in bulk do not run on a device."""
    return None if "bulk_copy" in device.supports else "the device has no bulk copies (9.0 and above)"


def no_warp_groups(device: Device) -> str | None:
    """Why kernels in which warp groups multiply do not run on a device."""
    return None if "wgmma" in device.supports else "the device has no products of warp groups (9.0 alone)"


def other_type(p: Problem | SegmentedProblem, letters: Collection[str]) -> str | None:
    """Why a problem is none of those of some types, by their letters."""
    letter = p.dtype.letter
    return None if letter in letters else f"type {letter} is not one of {', '.join(letters)}"


def misaligned(p: Problem | SegmentedProblem | ChainProblem) -> str | None:
    """Why elements cannot be read one by one: they begin between two."""
    if p.align % p.dtype.itemsize == 0:
        return None
    return f"addresses are multiples of {p.align} bytes only, not of an element's {p.dtype.itemsize}"


def overwritten(p: Problem) -> str | None:
    """Why the products of a batch along one axis have no place each."""
    return "all products would be written to one C" if p.batch > 1 and p.strides[2] == 0 else None


def unserved(p: Problem, device: Device) -> str | None:
    """Why none of the stencils for batches along one axis serves a problem on a device, whatever its sizes:
    no GPU, an empty operand, one C for many products, elements that begin between two."""
    empty = "there is nothing to multiply" if min(p.m, p.n, p.k, p.batch) < 1 else None
    return no_gpu(device) or empty or overwritten(p) or misaligned(p)
