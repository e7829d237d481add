"""What a rung of a ladder is: a kernel in a file of this folder, and what a run has to know of it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilewright.model import DTYPES, Config, Device, Launch, Source
from tilewright.stencils.cuda import args
from tilewright.stencils.cuda.source import FOLDER as KERNELS
from tilewright.targets.cuda.arguments import Argument

FOLDER = Path(__file__).parent

_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


@cache
def program(file: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The text of a file of this folder, and (name, text) of each header below it: of ``lib``, which is that
    of the package's own kernels, or of this folder."""
    text = (FOLDER / file).read_text()
    headers: dict[str, str] = {}
    wanted = _INCLUDE.findall(text)
    while wanted:
        header = wanted.pop()
        if header not in headers:
            headers[header] = ((KERNELS if header.startswith("lib/") else FOLDER) / header).read_text()
            wanted += _INCLUDE.findall(headers[header])
    return text, tuple(sorted(headers.items()))


def configs_of(names: str, *points: str) -> tuple[Config, ...]:
    """Configs with these parameters, their values in the same order."""
    keys = names.split()
    return tuple(Config(dict(zip(keys, map(int, point.split()), strict=True))) for point in points)


@dataclass(frozen=True, slots=True)
class Rung(ABC):
    """One kernel of a ladder: its number and name, the idea that it adds, and the configs that a run tries,
    which name every definition of the file.

    ``document`` is the share of cuBLAS that the article measured, None where it did not. ``unit`` elements
    divide the distance from one row to the next and every base, ``whole`` elements M, N and K.
    """

    number: int
    name: str
    technique: str
    configs: tuple[Config, ...]
    document: float | None = None
    letter: str = "s"
    unit: int = 1
    whole: int = 1

    @property
    @abstractmethod
    def file(self) -> str:
        """The file's name in ``FOLDER``."""

    @abstractmethod
    def tile(self, config: Mapping[str, int]) -> tuple[int, int]:
        """Rows and columns of C of a block, or of each tile of blocks that stay."""

    @abstractmethod
    def threads(self, config: Mapping[str, int]) -> int:
        """Threads of a block."""

    @abstractmethod
    def shared(self, config: Mapping[str, int]) -> int:
        """Bytes of shared memory that the launch must give."""

    def shares(self, config: Mapping[str, int]) -> tuple[int, int]:
        """Rows and columns of C for which what comes of A and B is asked of device memory once."""
        return self.tile(config)

    def missing(self, device: Device) -> str | None:
        """Why a device cannot run the kernel; None if it can."""
        return None

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return DTYPES[self.letter].itemsize

    def defines(self, config: Mapping[str, int]) -> dict[str, int]:
        """What is defined when the file is compiled."""
        return dict(config)

    def source(self, config: Mapping[str, int]) -> Source:
        """The program of a config."""
        text, headers = program(self.file)
        defines = tuple((name, str(value)) for name, value in self.defines(config).items())
        return Source(text, self.name, headers, defines)

    def launch(self, config: Mapping[str, int], m: int, n: int, device: Device) -> Launch:
        """Blocks and threads for a result of m x n."""
        rows, columns = self.tile(config)
        block = (self.threads(config), 1, 1)
        return Launch(grid=(-(-n // columns), -(-m // rows), 1), block=block, shared=self.shared(config))

    def arguments(
        self, config: Mapping[str, int], m: int, n: int, k: int, pitches: args.Three | None = None
    ) -> tuple[Argument, ...]:
        """What the kernel is called with, for a row-major product; ``pitches`` are the elements from a row of
        A, of B and of C to the next, packed when None."""
        return (args.struct_gemm((m, n, k), pitches or (k, n, n), (0, 0, 0), 1),)

    def intensity(self, config: Mapping[str, int], m: int, n: int, k: int) -> float:
        """Operations per byte asked of device memory, were there no caches.

        2MN(K + 1) operations, as alpha and beta count; A is read once for each ``shares`` of columns and B
        for each of rows; C is read and written once.
        """
        rows, columns = self.shares(config)
        elements = m * n * k / columns + m * n * k / rows + 2 * m * n
        return 2 * m * n * (k + 1) / (self.itemsize * elements)
