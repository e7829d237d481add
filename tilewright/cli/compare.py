"""What a user would call instead, timed beside our own call in one run: on a CPU NumPy, PyTorch and oneMKL,
on a GPU PyTorch and CuPy, whose products are cuBLAS'.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from tilewright import api
from tilewright.arrays.numpy_ import new_output
from tilewright.arrays.torch_ import tensor_of
from tilewright.calls import settings
from tilewright.dtypes import is_half, narrowed
from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Plan, Problem, Timing
from tilewright.planning import dispatch, roofline
from tilewright.targets.cuda import driver
from tilewright.tuning import timing
from tilewright.tuning.baselines import cublas
from tilewright.tuning.evaluate.cuda_placed import spans
from tilewright.tuning.evaluate.cuda_sizes import COPIES
from tilewright.tuning.evaluate.cuda_timing import Events
from tilewright.tuning.tasks import sized

ROUNDS = 15
BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Row:
    """One problem: our plan, everybody's timings, and the bound, all of one run on ``cores`` cores (a GPU's
    host has one). ``missing`` says which peers there were not."""

    problem: Problem
    regime: str
    cores: int
    plan: Plan
    timings: dict[str, Timing]
    bound: float | None
    missing: tuple[str, ...] = ()

    @property
    def gflops(self) -> float:
        """Our speed in 10^9 operations a second."""
        return self.problem.flops * self.timings["tilewright"].batch / self.timings["tilewright"].median / 1e9

    def percent(self) -> float | None:
        """Our speed in percent of the bound; None when the bound was never measured."""
        return None if self.bound is None else 100 * self.gflops / self.bound

    def against(self, peer: str) -> float | None:
        """How many times as fast as a peer, by the median of ratios within rounds; None without it."""
        if peer not in self.timings:
            return None
        return timing.ratio(self.timings[peer], self.timings["tilewright"])[0]

    def to_json(self) -> dict[str, Any]:
        """The row as plain data."""
        return {
            "problem": self.problem.spelling,
            "beta": self.problem.beta,
            "regime": self.regime,
            "device": self.plan.device.key,
            "kind": self.plan.device.kind,
            "cores": self.cores,
            "origin": self.plan.origin,
            "stencil": self.plan.stencil,
            "config": dict(self.plan.config or {}),
            "gflops": self.gflops,
            "bound_gflops": self.bound,
            "percent_of_bound": self.percent(),
            "ratios": {peer: self.against(peer) for peer in self.timings if peer != "tilewright"},
            "seconds": {peer: t.median for peer, t in self.timings.items()},
            "missing": list(self.missing),
        }


def compare(problem: Problem, regime: str, cores: int, budget: float = 2.0) -> Row:
    """Our product and the peers' on the same arrays, in turns, on random data, for ``budget`` seconds.

    The batch is the regime's. The problem is packed and untransposed, with beta class 0 or 1; raises
    ``ArgumentError`` otherwise.
    """
    if problem.trans != "nn" or problem.layout != "packed" or problem.beta == "any" or problem.alpha != "1":
        raise ArgumentError(f"problem={problem.key}; accepted: packed, nn, alpha 1, beta 0 or 1")
    device = dispatch.device()
    p = sized(problem, regime, device)
    a, b, c = (_random(shape, p) for shape in ((p.batch, p.n, p.k), (p.batch, p.k, p.m), (p.batch, p.n, p.m)))
    settings.set_threads(cores)
    beta = int(p.beta)
    call = api.plan(a, b, c if beta else None, beta=beta, out=c)
    runs: dict[str, Callable[[], object]] = {"tilewright": lambda: call(a, b, c, out=c)}
    for name, peer in (("numpy", _numpy), ("torch", _torch), ("mkl", _mkl)):
        run = peer(a, b, c, p, cores)
        if run is not None:
            runs[name] = run
    timings = timing.interleaved(runs, rounds=ROUNDS, regime=regime, batch=p.batch, budget=budget)
    settings.set_threads(None)
    bound = None
    if roofline.known(p, device):
        # A kernel may stream C or not, so the bound is that of the better way.
        ways = (roofline.bound(p, device, regime, cores, streaming=way) for way in (False, True))
        bound = max(way.flops_per_s for way in ways) / 1e9
    return Row(p, regime, cores, call.plan, timings, bound)


# -- on a GPU -----------------------------------------------------------------------------------------
Arrays = tuple[Any, Any, Any]


def compare_cuda(problem: Problem, regime: str, budget: float = 2.0) -> Row:
    """Our product and cuBLAS' through PyTorch and CuPy on the first GPU, in turns, for ``budget`` seconds.

    Everybody is called from Python with arrays that are ready, and nothing waits between two calls: what
    takes the device longer than it takes to start (some 10 us) is timed on the device, smaller products
    at the rate of their callers. In the regime ``memory`` the calls go through copies of the operands
    that are together twice as large as the cache. The batch is the regime's. Raises ``ArgumentError``
    unless the problem is packed with alpha 1 and beta 0 or 1, ``DeviceError`` without room for it.
    """
    p = problem
    if p.layout != "packed" or p.beta == "any" or p.alpha != "1" or not set(p.trans) <= set("ntc"):
        raise ArgumentError(f"problem={p.key}; accepted: packed, n, t or c, alpha 1, beta 0 or 1")
    device = dispatch.device("cuda")
    p = sized(p, regime, device)
    driver.context()
    sizes = spans(p)
    copies = 1 if regime == "cached" else min(COPIES, max(1, -(-2 * device.knee() // sum(sizes))))
    memory = [[driver.allocate(size) for size in sizes] for _ in range(copies)]
    for number, size in enumerate(sizes):
        values = _random((size // p.dtype.itemsize,), p)
        for copy in memory:
            driver.upload(copy[number].address, values)
    pointers = [(a.address, b.address, c.address) for a, b, c in memory]
    runs, missing = _products(p, pointers)
    # The very arrays that a user of the library would have, so that everybody's calls cost what they do.
    arrays = [_viewed(cublas.memories(p, where), list(runs)) for where in pointers]
    beta = int(p.beta)
    a, b, c = arrays[0]
    # CuPy and bare memory have complex half as float16 pairs.
    pairs = "hc" if p.dtype.letter == "hc" and "planar" not in runs else None
    call = api.plan(
        a, b, c if beta else None, beta=beta, trans_a=p.trans_a, trans_b=p.trans_b, out=c, dtype=pairs
    )
    turn = cycle(arrays)

    def ours() -> object:
        a, b, c = next(turn)
        return call(a, b, c, out=c)

    timings = timing.interleaved(
        {"tilewright": ours, **runs},
        rounds=ROUNDS,
        regime=regime,
        batch=p.batch,
        watch=Events(),
        budget=budget,
    )
    driver.synchronize()
    bound = roofline.bound(p, device, regime).flops_per_s / 1e9 if roofline.known(p, device) else None
    return Row(p, regime, 1, call.plan, timings, bound, tuple(missing))


def _products(
    problem: Problem, pointers: list[tuple[int, int, int]]
) -> tuple[dict[str, Callable[[], object]], list[str]]:
    """The product of each library that can use the GPU, going through copies of the operands, and why the
    others are not there."""
    found: dict[str, Callable[[], object]] = {}
    missing = []
    for name, there, product in (
        ("torch", cublas.has_torch, cublas.torch_product),
        ("cupy", cublas.has_cupy, cublas.cupy_product),
    ):
        try:
            if there() is None:
                missing.append(f"{name}: it sees no GPU")
                continue
            products = [product(problem, where, 1, int(problem.beta)) for where in pointers]
            products[0]()
            driver.synchronize()
        except ImportError:
            missing.append(f"{name}: not installed")
        except DeviceError:
            raise
        except Exception as error:  # Whatever ails a peer, it is no reason not to time the others.
            missing.append(f"{name}: {type(error).__name__}: {error}")
        else:
            # Of complex half it is not the library's product, but four of its products of planes.
            found["planar" if problem.dtype.letter == "hc" else name] = _turns(products)
    return found, missing


def _turns(products: list[Callable[[], object]]) -> Callable[[], object]:
    turn = cycle(products)
    return lambda: next(turn)()


def _viewed(memories: Arrays, libraries: list[str]) -> Arrays:
    """Device memory as arrays of the first library that is there; without any, as it is."""
    if "torch" in libraries or "planar" in libraries:
        a, b, c = (cublas.tensor(memory) for memory in memories)
    elif "cupy" in libraries:
        a, b, c = (cublas.cupy_array(memory) for memory in memories)
    else:
        a, b, c = memories
    return a, b, c


# -- on a CPU -----------------------------------------------------------------------------------------
def _random(shape: tuple[int, ...], problem: Problem) -> Any:
    """A cache-line aligned stack of random numbers, small enough that sums stay bounded."""
    out = new_output(shape, problem.dtype.numpy)
    flat = out.reshape(-1)
    block = np.random.default_rng(0).uniform(-1, 1, min(BLOCK, flat.size)) / problem.k
    for first in range(0, flat.size, BLOCK):
        part = flat[first : first + BLOCK]
        values = block[: part.size] * (1 + 1j if problem.dtype.is_complex else 1)
        part[...] = narrowed(values, out.dtype)
    return out


def _numpy(a: Any, b: Any, c: Any, problem: Problem, cores: int) -> Callable[[], object] | None:
    if is_half(c.dtype):
        return None  # It has a product of float16 alone, without BLAS.
    if problem.beta == "0":
        return lambda: np.matmul(a, b, out=c)
    temporary = np.empty_like(c)
    return lambda: np.add(c, np.matmul(a, b, out=temporary), out=c)


def _torch(a: Any, b: Any, c: Any, problem: Problem, cores: int) -> Callable[[], object] | None:
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    torch.set_num_threads(cores)
    if problem.dtype.letter == "hc":
        return None
    x, y, z = (tensor_of(array) for array in (a, b, c))
    if problem.beta == "0":
        return lambda: torch.bmm(x, y, out=z)
    return lambda: torch.baddbmm(z, x, y, out=z)


@cache
def _mkl_library() -> Any:
    """oneMKL as the ``mkl`` package installs it; None where it is not there."""
    for folder in (Path(sys.prefix) / "lib", Path(sys.prefix) / "Library" / "bin"):
        # Its threads would spin for 200 ms after a call, into the samples of its neighbours.
        for path in sorted(folder.glob("libiomp5.so")):
            with suppress(OSError, AttributeError):
                ctypes.CDLL(str(path)).kmp_set_blocktime(1)
        for path in sorted(folder.glob("*mkl_rt*")):
            with suppress(OSError):
                return ctypes.CDLL(str(path))
    return None


def _mkl(a: Any, b: Any, c: Any, problem: Problem, cores: int) -> Callable[[], object] | None:
    library = None if is_half(c.dtype) else _mkl_library()
    if library is None:
        return None
    library.MKL_Set_Num_Threads(cores)
    p = problem
    function = getattr(library, f"cblas_{p.dtype.letter}gemm_batch_strided")
    number = p.dtype.numpy.type
    one, beta = (np.array([number(value)]) for value in (1, int(p.beta)))

    def scalar(value: Any) -> Any:
        if p.dtype.is_complex:
            return ctypes.c_void_p(value.ctypes.data)
        return (ctypes.c_float if p.dtype.letter == "s" else ctypes.c_double)(value[0])

    def pointer(array: Any) -> Any:
        return ctypes.c_void_p(array.ctypes.data)

    row_major, plain = 101, 111
    arguments: tuple[Any, ...] = (
        row_major,
        plain,
        plain,
        p.n,
        p.m,
        p.k,
        scalar(one),
        pointer(a),
        p.k,
        p.n * p.k,
    )
    arguments += (pointer(b), p.m, p.k * p.m, scalar(beta), pointer(c), p.m, p.n * p.m, p.batch)
    return lambda: function(*arguments)
