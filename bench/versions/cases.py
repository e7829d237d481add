"""What is timed: statements over arrays, by the public interface alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """One product that users make.

    ``kind``: ``matmul`` (a new result each time), ``into`` (with ``out``), ``plan`` (a plan called again with
    ``out``), ``update`` (``gemm`` with beta 1, in place) or ``library`` (NumPy's or PyTorch's product, with
    ``out``). Arrays are (batch, m, k) and (batch, k, n), without the first axis where ``batch`` is 0. With
    ``shared`` the first operand is one matrix for the whole batch. ``offset`` is how many bytes behind the
    beginning of a cache line the result starts.
    """

    device: str
    kind: str
    dtype: str
    m: int
    n: int
    k: int
    batch: int = 0
    shared: bool = False
    offset: int = 0

    def to_json(self) -> dict[str, Any]:
        """The case as a plain dictionary, for a worker."""
        return asdict(self)


CPU_TYPES = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}
GPU_TYPES = {"h": "float16", "b": "bfloat16"} | CPU_TYPES
CACHED, MEMORY = 256 << 10, 96 << 20
"""Bytes of the operands of batches that stay in a second-level cache, and of some that fill no cache."""


def _batch(letter: str, n: int, footprint: int) -> int:
    size = {"h": 2, "b": 2, "s": 4, "d": 8, "c": 8, "z": 16}[letter]
    return max(1, footprint // (3 * n * n * size))


def cpu(sizes: tuple[int, ...], letters: str) -> Iterator[Case]:
    """Single calls, batches in a cache and in memory, updates, and results that start within a line."""
    for kind in ("matmul", "into", "plan", "library"):
        yield Case("cpu", kind, "float64", 8, 8, 8)
    for count in (100, 10_000):
        for kind in ("matmul", "library"):
            yield Case("cpu", kind, "float64", 8, 8, 8, count)
    for letter in letters:
        for n in sizes:
            for footprint in (CACHED, MEMORY):
                count = _batch(letter, n, footprint)
                for kind in ("into", "update", "library"):
                    yield Case("cpu", kind, CPU_TYPES[letter], n, n, n, count)
            # NumPy's own arrays start 16 bytes behind a line.
            yield Case("cpu", "into", CPU_TYPES[letter], n, n, n, _batch(letter, n, MEMORY), offset=16)


def gpu(sizes: tuple[int, ...], letters: str) -> Iterator[Case]:
    """Calls of 100 products, and batches of squares that move 1 GB."""
    for kind in ("matmul", "into", "plan", "library"):
        yield Case("cuda", kind, "float64", 8, 8, 8, 100)
    for letter in letters:
        for n in sizes:
            for kind in ("into", "update", "library"):
                yield Case("cuda", kind, GPU_TYPES[letter], n, n, n, _batch(letter, n, 1 << 30))


def shapes(count: int, letters: str, seed: int = 7) -> Iterator[Case]:
    """Single products of random sizes from 64 to 5,000 on a GPU, which nobody tuned."""
    rng = random.Random(seed)
    for number in range(count):
        letter = letters[number % len(letters)]
        m, n, k = (int(64 * (5000 / 64) ** rng.random()) for _ in range(3))
        for kind in ("into", "library"):
            yield Case("cuda", kind, GPU_TYPES[letter], m, n, k)
