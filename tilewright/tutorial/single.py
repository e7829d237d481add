"""Single precision: six steps from the definition of the product to cuBLAS' speed, any M, N and K.

The steps, their order and the shares of cuBLAS are those of the article "GEMM" (November 2025), measured on
an RTX 5070 Ti at order 4096.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.model import Device, Launch
from tilewright.tutorial.rung import Rung, configs_of


@dataclass(frozen=True, slots=True)
class SingleRung(Rung):
    """A kernel in single precision. ``square`` blocks have BLOCK_DIM x BLOCK_DIM threads and elements;
    ``dynamic`` kernels are given their shared memory at the launch."""

    square: bool = False
    dynamic: bool = False

    @property
    def file(self) -> str:
        return f"{self.number:02}_{self.name}.cuh"

    def tile(self, config: Mapping[str, int]) -> tuple[int, int]:
        if self.square:
            return config["BLOCK_DIM"], config["BLOCK_DIM"]
        return config["BM"], config["BN"]

    def shares(self, config: Mapping[str, int]) -> tuple[int, int]:
        # The naive kernel's blocks share nothing.
        return (1, 1) if self.number == 1 else self.tile(config)

    def threads(self, config: Mapping[str, int]) -> int:
        rows, columns = self.tile(config)
        if self.square:
            return rows * columns
        if "WM" in config:
            return rows // config["WM"] * (columns // config["WN"]) * 32
        return rows // config["TM"] * (columns // config["TN"])

    def shared(self, config: Mapping[str, int]) -> int:
        if not self.dynamic:
            return 0
        copies = 2 if config["PREFETCH"] == 2 else 1
        return copies * config["BK"] * (config["BM"] + 4 + config["BN"]) * self.itemsize

    def launch(self, config: Mapping[str, int], m: int, n: int, device: Device) -> Launch:
        rows, columns = self.tile(config)
        threads = (columns, rows, 1) if self.square else (self.threads(config), 1, 1)
        return Launch(grid=(-(-n // columns), -(-m // rows), 1), block=threads, shared=self.shared(config))


RUNGS = (
    SingleRung(
        1,
        "naive",
        "one thread, one element",
        configs_of("BLOCK_DIM UNROLL", "32 4", "32 8", "16 4", "16 8"),
        square=True,
        document=0.0647,
    ),
    SingleRung(
        2,
        "block_tiling",
        "tiles in shared memory",
        configs_of("BLOCK_DIM", "32", "16"),
        square=True,
        document=0.1102,
    ),
    SingleRung(
        3,
        "thread_coarsening",
        "a patch of C in a thread's registers",
        configs_of("BM BN BK TM TN MIN_BLOCKS", "128 128 8 8 8 2", "128 128 16 8 8 2", "128 128 8 16 8 2"),
        document=0.6333,
    ),
    SingleRung(
        4,
        "vectorised",
        "16 bytes at a time, A turned around",
        configs_of(
            "BM BN BK TM TN MIN_BLOCKS",
            "128 128 16 8 8 2",
            "128 128 8 8 8 2",
            "128 128 16 16 8 2",
            "128 128 16 16 4 2",
        ),
        document=0.8263,
    ),
    SingleRung(
        5,
        "warp_tiling",
        "a compact tile for each warp",
        configs_of(
            "BM BN BK WM WN TM TN MIN_BLOCKS",
            "128 128 16 32 128 16 8 2",
            "128 128 16 64 64 16 8 2",
            "128 128 16 32 64 8 8 2",
            "128 128 16 64 32 16 4 2",
        ),
        document=0.8272,
    ),
    SingleRung(
        6,
        "warp_tiling_subdivided",
        "subtiles without bank conflicts, tiles read ahead",
        configs_of(
            "BM BN BK WM WN WMITER WNITER TM TN PREFETCH PAIRED ORDER MIN_BLOCKS",
            "128 128 16 64 64 2 4 4 4 2 1 2 2",
            "128 128 16 64 64 4 2 4 4 2 1 1 2",
            "128 128 16 64 64 2 4 4 4 2 0 2 2",
            "128 128 16 64 64 2 4 4 4 1 1 2 2",
            "128 128 8 64 64 2 4 4 4 2 1 2 2",
            "128 256 16 64 64 2 4 4 4 2 1 2 1",
            "256 128 16 64 64 4 2 4 4 2 1 1 1",
            "128 128 16 32 64 2 2 4 4 2 1 0 2",
            "128 128 16 32 128 2 2 8 4 0 0 0 2",
        ),
        dynamic=True,
        document=0.9065,
    ),
)
