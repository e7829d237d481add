"""Half precision: eight steps from wmma to clusters, for float16 and bfloat16 with sums in float32.

The article promises such a ladder and ends before it; what it names (WMMA, ldmatrix, a swizzle) are the first
three steps. The last four are those of CUTLASS' kernels for Hopper: V. Thakkar et al., "CUTLASS" (2023), and
P. Shankhdhar, "Outperforming cuBLAS on H100" (2024).

Sizes are in elements of 16 bits, shared memory in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.model import DTYPES, Device, Launch
from tilewright.stencils.cuda import args
from tilewright.targets.cuda.arguments import A, Argument, B, TensorMap
from tilewright.targets.cuda.capability import FEATURES
from tilewright.tutorial.rung import Rung, configs_of

SLICE = 64
"""Steps of k of a slot, and rows or columns of a box: 128 bytes."""
GROUP = 128
"""Threads of a warp group."""
BARRIER = 8
"""Bytes of a barrier in shared memory."""


@dataclass(frozen=True, slots=True)
class HalfRung(Rung):
    """A kernel in half precision. ``needs`` is what a device has to support. ``groups`` of warps multiply in
    the kernels that are given tensor maps, 0 in the others; ``barriers`` are those of each slot of the ring;
    ``stays`` where there are as many blocks as multiprocessors, and not one to a tile; ``cluster`` blocks
    share what comes of B, of tiles one below the other."""

    unit: int = 8
    needs: str = "cp_async"
    groups: int = 0
    barriers: int = 0
    stays: bool = False
    cluster: int = 1

    @property
    def file(self) -> str:
        return f"half/{self.number:02}_{self.name}.cuh"

    def missing(self, device: Device) -> str | None:
        if self.needs in device.supports:
            return None
        return f"rung {self.number} ({self.name}): {FEATURES[self.needs]}, which {device.name} has not"

    def defines(self, config: Mapping[str, int]) -> dict[str, int]:
        return {**config, "BRAIN": int(self.letter == "b")}

    def tile(self, config: Mapping[str, int]) -> tuple[int, int]:
        if "WARPS_M" in config:
            return 16 * config["WARPS_M"], 16 * config["WARPS_N"]
        return config["BM"], config["BN"]

    def shares(self, config: Mapping[str, int]) -> tuple[int, int]:
        # Warps that read for themselves share nothing.
        rows, columns = (16, 16) if "WARPS_M" in config else self.tile(config)
        return rows * self.cluster, columns

    def threads(self, config: Mapping[str, int]) -> int:
        if self.groups:
            # One group alone copies for itself.
            return GROUP * (self.groups + (self.groups > 1))
        rows, columns = self.tile(config)
        return 32 * (rows // config.get("WM", 16) * (columns // config.get("WN", 16)))

    def shared(self, config: Mapping[str, int]) -> int:
        if "STAGES" not in config:
            return 0
        rows, columns = self.tile(config)
        return config["STAGES"] * ((rows + columns) * SLICE * self.itemsize + self.barriers * BARRIER)

    def launch(self, config: Mapping[str, int], m: int, n: int, device: Device) -> Launch:
        rows, columns = self.tile(config)
        down, across, blocks = -(-m // (rows * self.cluster)), -(-n // columns), self.cluster
        grid = (min(down * across, device["sms"] // blocks), blocks, 1) if self.stays else (across, down, 1)
        threads, shared = (self.threads(config), 1, 1), self.shared(config)
        return Launch(grid=grid, block=threads, shared=shared, cluster=self.cluster)

    def arguments(
        self, config: Mapping[str, int], m: int, n: int, k: int, pitches: args.Three | None = None
    ) -> tuple[Argument, ...]:
        leading = pitches or (k, n, n)
        gemm = args.struct_gemm((m, n, k), leading, (0, 0, 0), 1)
        if not self.groups:
            return (gemm,)
        return (
            gemm,
            self._map("map_a", A, (m, k), leading[0], config["BM"]),
            self._map("map_b", B, (k, n), leading[1], SLICE // self.cluster),
        )

    def _map(self, name: str, operand: int, sizes: tuple[int, int], pitch: int, rows: int) -> TensorMap:
        """A matrix in boxes of so many rows of 128 bytes. One without elements, which is never read, is
        described as one of a row or a column."""
        down, across = (max(size, 1) for size in sizes)
        row = max(pitch, self.unit) * self.itemsize
        return TensorMap(
            name,
            operand,
            DTYPES[self.letter].name,
            (across, down, 1),
            (row, row * down),
            (SLICE, rows, 1),
            swizzle=128,
            promotion=256,
        )


def _rungs(letter: str) -> tuple[Rung, ...]:
    return (
        HalfRung(
            1,
            "wmma",
            "tensor cores, from device memory",
            configs_of("WARPS_M WARPS_N", "4 4", "2 4", "4 2", "8 4"),
            letter=letter,
            unit=16,
            whole=16,
        ),
        HalfRung(
            2,
            "wmma_shared",
            "tiles in shared memory, many sums in a warp",
            configs_of(
                "BM BN BK WM WN MIN_BLOCKS",
                "128 128 32 64 32 2",
                "128 128 64 64 32 1",
                "128 128 32 32 64 2",
                "128 64 32 32 32 3",
            ),
            letter=letter,
        ),
        HalfRung(
            3,
            "mma_swizzled",
            "mma.sync with ldmatrix, swizzled tiles",
            configs_of(
                "BM BN WM WN MIN_BLOCKS",
                "128 128 64 32 2",
                "128 128 64 64 2",
                "128 128 32 64 2",
                "128 64 32 32 3",
            ),
            letter=letter,
        ),
        HalfRung(
            4,
            "pipelined",
            "a ring of tiles, asynchronous copies",
            configs_of(
                "BM BN WM WN STAGES MIN_BLOCKS",
                "128 128 64 64 3 2",
                "128 128 64 64 2 2",
                "128 256 64 64 3 1",
                "256 128 64 64 3 1",
            ),
            letter=letter,
        ),
        HalfRung(
            5,
            "wgmma",
            "products of warp groups, copies of boxes by TMA",
            configs_of(
                "BM BN STAGES MIN_BLOCKS",
                "128 128 3 2",
                "128 128 2 3",
                "64 256 2 2",
                "128 192 2 2",
            ),
            letter=letter,
            needs="wgmma",
            groups=1,
            barriers=1,
        ),
        HalfRung(
            6,
            "warp_specialised",
            "one warp copies, two groups multiply",
            configs_of("BM BN STAGES", "128 256 4", "256 128 4", "128 192 5"),
            letter=letter,
            needs="wgmma",
            groups=2,
            barriers=2,
        ),
        HalfRung(
            7,
            "persistent",
            "blocks that stay",
            configs_of(
                "BM BN STAGES TURNS",
                "128 256 4 0",
                "256 128 4 0",
                "128 192 5 1",
                "128 128 6 1",
                "64 256 5 1",
            ),
            letter=letter,
            needs="wgmma",
            groups=2,
            barriers=2,
            stays=True,
        ),
        HalfRung(
            8,
            "multicast",
            "clusters of two blocks share copies",
            configs_of(
                "BM BN STAGES TURNS",
                "128 256 4 0",
                "256 128 4 0",
                "128 192 5 1",
                "128 128 6 1",
                "64 256 5 1",
            ),
            letter=letter,
            needs="wgmma",
            groups=2,
            barriers=2,
            stays=True,
            cluster=2,
        ),
    )


RUNGS: dict[str, tuple[Rung, ...]] = {letter: _rungs(letter) for letter in ("h", "b")}
"""The ladder of each type."""
