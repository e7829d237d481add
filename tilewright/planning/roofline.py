"""The bound of a problem on a device, and the measurements that it is made of.

Memory. A product reads A, B and C and writes C. When every batch member comes from memory, its time
is at least its bytes over the bandwidth; for square matrices of order n of doubles

    P = 2 n^3 operations / (4 n^2 elements * 8 bytes / beta) = 2 n^3 beta / (32 n^2) = n beta / 16,

with beta in bytes/s (I. Masliah et al., "Algorithms and optimization techniques for high-performance
matrix-matrix multiplications of very small matrices", 2019, section 3). A kernel that does not read C
(beta class "0") has the same bound as long as its stores go through the caches, because a store that
misses first fetches the line it writes to (the write-allocate). Streaming stores fetch nothing, and
three of the four streams are left:

    P = 2 n^3 beta / (24 n^2) = n beta / 12.

========================  ==========  ==========  ==========  ==========
square, order n           double      single      z           c
========================  ==========  ==========  ==========  ==========
C read, or allocated      n beta/16   n beta/8    n beta/8    n beta/4
C streamed                n beta/12   n beta/6    n beta/6    n beta/3
========================  ==========  ==========  ==========  ==========

(complex: 8 n^3 operations on elements of twice the size). An operand that the whole batch shares
stays in a cache and costs no stream.

Bandwidth. The two cases are different mixes of reads and writes, and memory runs them at different
rates, so each has its own beta, measured by a loop that does nothing else. Counted are the bytes that
the program names:

=======  ==================================================  =======================
mix      an element of                                       streams counted
=======  ==================================================  =======================
update   c = a + b + c, in place                             4: A, B, C read; C written
stream   c = a + b, streaming stores                         3: A, B read; C written
write    c = a + b, plain stores (the hardware moves 4)      3: A, B read; C written
read     s = s + a + b + c                                   3: A, B, C read
=======  ==================================================  =======================

Caches. Where they end is a matter of measurement, too: the same loop (``update``) over ever larger
footprints falls to the speed of memory at the machine's knee (``knee.<cores>``, in bytes), and what a
call touches beyond it is planned for memory. A flat curve has its knee at its beginning.

Compute. The peak is what independent fused multiply-adds reach. A vector that is not full costs as
much as a full one, and a core that splits its widest vectors in halves sells them by the half: on
Zen 4 a 512-bit operation is two of 256 bits (LLVM ``X86ScheduleZnver4.td``), 4 doubles are the unit
of price, and a product with columns of n doubles reaches at most n / (4 ceil(n/4)) of the peak. The
unit is the narrowest vector whose measured peak is that of the widest.

GPUs. Their ceilings are those of ``roofline_cuda``: the rate of a copy, and what the arithmetic units
do at the top clock. A store of whole sectors fetches nothing there, so C counts once more only when it
is read, and the operands of a whole batch count once each, shared ones too.

Medians of several passes, not best ones: a bound has to be what the machine sustains, and the best
moment of a machine shared with others is reached by no kernel twice. So a kernel may exceed its bound
a little, by the noise of both.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Device, Gemm, GroupedProblem


# -- bounds ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Bound:
    """The least time of one product in seconds, the speed that it means in flop/s, which ceiling
    sets it (``bandwidth.update``, ``bandwidth.stream``, ``peak``; on a GPU ``bandwidth.copy``, ``peak``,
    ``tensor``), and the arithmetic in words."""

    seconds: float
    flops_per_s: float
    limit: str
    formula: str


def _ceiling(device: Device, name: str, cores: int) -> float:
    """A measured ceiling, as ``Device.ceiling`` says. Raises ``DeviceError`` where there is none."""
    found = device.ceiling(name, cores)
    if found is None:
        raise DeviceError(
            f"{name} of {device.name} was never measured; tilewright doctor --remeasure does it"
        )
    return found


def _letter(problem: Gemm, device: Device) -> str:
    """The type whose peak is that of a problem: a processor sums numbers of 16 bits in float32; what is not
    multiplied as it is goes by the name of that where a device has units for it."""
    letter = problem.dtype.letter
    if f"tensor.{(math := getattr(problem, 'math', 'ieee'))}.1" in device.ceilings:
        return str(math)
    return letter if device.kind == "cuda" else {"h": "s", "b": "s", "hc": "c"}.get(letter, letter)


def known(problem: Gemm, device: Device) -> bool:
    """Whether ``bound`` knows the speed of a problem's type."""
    names = [f"{limit}.{_letter(problem, device)}" for limit in ("peak", "tensor")]
    return any(key.rpartition(".")[0] in names for key in device.ceilings)


def efficiency(problem: Gemm, device: Device) -> float:
    """The part of the lanes that do work when columns of C are cut into units of price, 0 to 1."""
    unit = int(device.ceilings.get("price_unit_bits") or device["vector_bits"])
    lanes = unit // problem.dtype.sum_bits
    rows = problem.m * (2 if problem.dtype.is_complex else 1)
    return rows / (lanes * -(-rows // lanes)) if rows else 1.0


def ceiling(problem: Gemm, device: Device, cores: int = 1) -> float:
    """Operations per second that no kernel with vectors along the columns of C exceeds."""
    return _ceiling(device, f"peak.{_letter(problem, device)}", cores) * efficiency(problem, device)


def traffic(problem: Gemm, streaming: bool = False) -> int:
    """Bytes that one product moves to and from memory, the write-allocate included unless streamed.

    Without ``streaming`` C counts twice in any case: it is read because beta asks for it, or because
    a store that misses the caches fetches its line.
    """
    p = problem
    twice = p.beta != "0" or not streaming
    if isinstance(p, GroupedProblem):
        return int((p.inputs + (2 if twice else 1) * p.outputs) * p.dtype.itemsize)
    reads = (p.m * p.k if p.stride_a else 0) + (p.k * p.n if p.stride_b else 0)
    return (reads + (2 if twice else 1) * p.m * p.n) * p.dtype.itemsize


def bound(problem: Gemm, device: Device, regime: str, cores: int = 1, *, streaming: bool = False) -> Bound:
    """The least time of one product of a large batch in a cache regime, ``memory`` or ``cached``.

    ``memory`` is the paper's bound: the bytes of ``traffic`` over ``bandwidth.update``, for beta class
    "0" too, where plain stores allocate. With ``streaming`` a product that does not read C is bound by
    three streams over ``bandwidth.stream`` instead. Where computing takes longer, and in the regime
    ``cached``, the limit is ``ceiling``. Of a GPU all of it is used, whatever ``cores``, and nothing
    depends on ``streaming``.

    Raises ``DeviceError`` when the ceilings of the device were not measured.
    """
    if regime not in ("cached", "memory"):
        raise ArgumentError(f"regime={regime!r} is not known; accepted: cached, memory")
    if device.kind == "cuda":
        return _bound_cuda(problem, device, regime)
    p, speed = problem, ceiling(problem, device, cores)
    compute = p.flops / speed
    lanes = f"{p.flops} flop / ({speed / 1e9:.1f} Gflop/s, {efficiency(p, device):.0%} of the lanes)"
    if regime == "cached":
        return Bound(compute, speed, "peak", lanes)
    mix = "stream" if streaming and p.beta == "0" else "update"
    beta, moved = _ceiling(device, f"bandwidth.{mix}", cores), traffic(p, streaming)
    if compute >= moved / beta:
        return Bound(compute, speed, "peak", lanes)
    text = f"{moved} bytes / {beta / 1e9:.1f} GB/s = {p.flops / moved:.3g} flop/byte * beta"
    return Bound(moved / beta, p.flops * beta / moved, f"bandwidth.{mix}", text)


def _bound_cuda(problem: Gemm, device: Device, regime: str) -> Bound:
    """``bound`` on a GPU."""
    p = problem
    # Where there are tensor units for a type, every precise product may use them.
    letter = _letter(p, device)
    limit = "tensor" if f"tensor.{letter}.1" in device.ceilings else "peak"
    speed = _ceiling(device, f"{limit}.{letter}", 1)
    compute = p.flops / speed
    arithmetic = Bound(compute, speed, limit, f"{p.flops} flop / {speed / 1e12:.1f} Tflop/s")
    if regime == "cached":
        return arithmetic
    count = getattr(p, "products", p.batch)
    beta, moved = _ceiling(device, "bandwidth.copy", 1), (p.footprint + p.updated) / max(1, count)
    if compute >= moved / beta:
        return arithmetic
    text = f"{moved:.0f} bytes / {beta / 1e9:.1f} GB/s = {p.flops / moved:.3g} flop/byte * beta"
    return Bound(moved / beta, p.flops * beta / moved, "bandwidth.copy", text)
