"""Products of public programs beside a copy and PyTorch: ``python -m bench.public``, on a GPU.

``SHAPES`` are what programs multiply whose sources can be read; each names the program, and the file in
which the product stands. Operands are random, and as many as there; where a program leaves that to its user
they have ``BYTES`` or so. Nothing is searched: what is not tuned runs by defaults.

``tw.matmul(a, b, out=out)``, a copy of as many bytes as A, B and C have, and ``torch.matmul(a, b, out=out)``
are timed in turns, as by ``python -m bench.structures``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from bench import lines, structures
from tilewright.model import DTYPES
from tilewright.planning import dispatch

BYTES = 250e6
MANY = 0
"""An extent of the batch that the program leaves to its user."""
EDGES = 78_848
"""Of the systems that fairchem reports times for."""


@dataclass(frozen=True)
class Shape:
    """One product: who multiplies it, its type, and the shapes of A and B. Without B it is A times its own
    conjugate transpose."""

    program: str
    letter: str
    a: tuple[int, ...]
    b: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The program, the type and the shapes."""
        a, b = ("x".join(str(extent or "N") for extent in shape) for shape in (self.a, self.b))
        return f"{self.program}: {self.letter} {a} times {b or 'its own'}"

    def filled(self) -> Shape:
        """With as many matrices as ``BYTES`` hold, where that is left open."""
        if MANY not in self.a + self.b:
            return self
        one = _elements(*(tuple(x or 1 for x in shape) for shape in (self.a, self.b)))
        # What is shared is small beside the rest.
        many = max(1, int(BYTES / DTYPES[self.letter].itemsize / one))
        a, b = (tuple(x or many for x in shape) for shape in (self.a, self.b))
        return Shape(self.program, self.letter, a, b)

    @property
    def bytes(self) -> int:
        """Bytes of A, B and C, each counted once."""
        return _elements(self.a, self.b) * DTYPES[self.letter].itemsize


def _elements(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """Elements of A, B and C; batch axes of length one are broadcast."""
    columns = b[-1] if b else a[-2]
    batch = [1] * max(len(a), len(b))
    for shape in (a, b):
        for at, extent in enumerate(reversed(shape[:-2])):
            batch[at] = max(batch[at], extent)
    return prod(a) + (prod(b) if b else 0) + prod(batch) * a[-2] * columns


UMA = "fairchem, models/uma/nn/execution_backends.py"
KALMAN = "simdkalman, primitives.py"
TORCH_KF = "torch-kf, kalman_filter.py"
KINEMATICS = "pytorch_kinematics, chain.py"
GAUGE = "PyQUDA, quasi_axial_gauge_fixing.py"
RIME = "codex-africanus, rime/predict.py"
SIONNA = "sionna, phy/mimo/equalization.py"
DBCSR = "dbcsr, parameters_H100.json"
CEED = "libCEED, ceed-xsmm-tensor.c"
CIRQ = "Cirq, targeted_left_multiply"
POSE = "pypose, lietensor/operation.py"
VIT = "attention heads of a vision transformer"

SHAPES = (
    Shape(UMA, "s", (EDGES, 9, 9), (EDGES, 9, 256)),
    Shape(UMA, "s", (EDGES, 9, 9), (EDGES, 9, 128)),
    Shape(UMA, "s", (EDGES, 9, 3), (EDGES, 3, 128)),
    Shape(UMA, "s", (EDGES, 19, 25), (EDGES, 25, 256)),
    Shape(UMA, "s", (EDGES, 29, 49), (EDGES, 49, 512)),
    *(Shape(KALMAN, "d", (1, n, n), (MANY, n, n)) for n in (2, 4, 6, 9)),
    Shape(KALMAN, "d", (MANY, 6, 6), (MANY, 6, 1)),
    Shape(TORCH_KF, "s", (MANY, 4, 4), (MANY, 4, 4)),
    Shape(TORCH_KF, "s", (1, 2, 4), (MANY, 4, 4)),
    Shape(TORCH_KF, "s", (MANY, 4, 2), (MANY, 2, 1)),
    Shape(KINEMATICS, "s", (8, 1, 4, 4), (8, 100_000, 4, 4)),
    Shape(KINEMATICS, "d", (8, 1, 4, 4), (8, 100_000, 4, 4)),
    Shape(KINEMATICS, "s", (4, 100_000, 4, 4), (4, 100_000, 4, 4)),
    Shape(GAUGE, "z", (995_328, 3, 3), (995_328, 3, 3)),
    Shape(RIME, "c", (MANY, 2, 2), (MANY, 2, 2)),
    Shape(RIME, "z", (MANY, 2, 2), (MANY, 2, 2)),
    Shape(SIONNA, "c", (MANY, 16, 4)),
    Shape(SIONNA, "c", (MANY, 4, 16), (MANY, 16, 4)),
    Shape(SIONNA, "c", (MANY, 4, 16), (MANY, 16, 16)),
    *(Shape(DBCSR, "d", (MANY, n, n), (MANY, n, n)) for n in (4, 13, 20, 23, 32, 45, 64)),
    Shape(DBCSR, "d", (MANY, 5, 32), (MANY, 32, 13)),
    Shape(DBCSR, "d", (MANY, 9, 22), (MANY, 22, 45)),
    *(Shape(CEED, letter, (p + 1, p), (MANY, p, p * p)) for p in (3, 5, 7, 9) for letter in "ds"),
    *(Shape(CEED, "d", (MANY, p * p, p), (p, p + 1)) for p in (5, 9)),
    Shape("gsplat, cuda/_torch_impl.py", "s", (MANY, 2, 3), (MANY, 3, 3)),
    *(Shape(CIRQ, "c", (2, 2), (MANY, 2, columns)) for columns in (2, 32, 4096)),
    Shape(CIRQ, "c", (4, 4), (MANY, 4, 256)),
    *(Shape(POSE, "s", (MANY, n, n), (MANY, n, n)) for n in (3, 6, 7)),
    Shape(POSE, "s", (MANY, 1, 6), (MANY, 6, 6)),
    Shape("a rotation of points, jax-ml/jax 33004", "s", (10_000_000, 3), (3, 3)),
    *(Shape(VIT, letter, (3072, 197, 64), (3072, 64, 197)) for letter in "hb"),
)


def timed(torch: Any, shape: Shape, rounds: int) -> lines.Line:
    """One product."""
    full = shape.filled()
    kind = getattr(torch, DTYPES[shape.letter].name)
    a = torch.randn(full.a, dtype=kind, device="cuda")
    b = torch.randn(full.b, dtype=kind, device="cuda") if full.b else a.mH
    return {"structure": shape.name} | structures.beside(torch, a, b, full.bytes, rounds)


def main() -> None:
    """The command."""
    parser = lines.parser("bench.public", __doc__)
    parser.add_argument("--out", type=Path, help="a file that lines of JSON are added to")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    import torch

    def each() -> Iterator[lines.Line]:
        for shape in SHAPES:
            yield timed(torch, shape, options.rounds)

    sink = lines.Sink(options.out, "public", dispatch.device("cuda"), vars(options))
    structures.shown(each(), sink, float("inf"), "products of public programs")


if __name__ == "__main__":
    main()
