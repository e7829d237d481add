"""Search spaces of published benchmarks, with the number of points that their sources give.

The eight that F.-J. Willemsen, R. van Nieuwpoort, B. van Werkhoven, "Efficient construction of large search
spaces for auto-tuning" (2025) compares constructions on: dedispersion, ExpDist, Hotspot, GEMM (of CLBlast,
C. Nugteren 2018), MicroHH, and PRL (probabilistic record linkage, from ATF: A. Rasch et al. 2021) of inputs
of 2, 4 and 8. Beside them PRL of 16 and 32, the Gaussian filter of ATF (its second side has names of its own
here), the second GEMM kernel of CLBlast, and a GEMM space after MAGMA's.

Rules are of arrays: ``&`` and ``|`` in place of ``and`` and ``or``.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tilewright.space import Param, Rule, Space, arguments


@dataclass(frozen=True)
class Published:
    """A space by name: values of every parameter, tests, and how many combinations and points there are."""

    name: str
    values: Mapping[str, Sequence[Any]]
    tests: tuple[Callable[..., Any], ...]
    size: int
    points: int

    def space(self, shuffled: int | None = None, elementwise: bool = True) -> Space:
        """The space; its parameters in another order where that order's number is given."""
        params = [Param(name, tuple(values)) for name, values in self.values.items()]
        if shuffled is not None:
            random.Random(shuffled).shuffle(params)
        rules = [Rule(f"rule {number}", "hard", "published", test) for number, test in enumerate(self.tests)]
        return Space(params, rules, elementwise)

    def joined(self) -> Space:
        """The space with all tests in one."""
        return Space(
            self.space().params, [Rule("all", "hard", "published", _All(self.tests))], elementwise=True
        )


class _All:
    """Tests as one test, of all the parameters that they read."""

    def __init__(self, tests: Sequence[Callable[..., Any]]):
        self._tests = [(test, arguments(test)) for test in tests]
        self.reads = tuple(dict.fromkeys(read for _, reads in self._tests for read in reads))

    def __call__(self, **values: Any) -> Any:
        answers = [test(**{read: values[read] for read in reads}) for test, reads in self._tests]
        return reduce(operator.and_, answers)


def powers(first: int, last: int) -> tuple[int, ...]:
    """Powers of two from one to another."""
    return tuple(1 << e for e in range(first.bit_length() - 1, last.bit_length()))


def upto(last: int, step: int = 1, first: int = 1) -> tuple[int, ...]:
    """Numbers from one to another, both included."""
    return tuple(range(first, last + 1, step))


DEDISPERSION = Published(
    "dedispersion",
    {
        "block_size_x": powers(1, 32),
        "block_size_y": upto(256, 8, 32),
        "block_size_z": (1,),
        "tile_size_x": upto(4),
        "tile_size_y": upto(8),
        "tile_stride_x": (0, 1),
        "tile_stride_y": (0, 1),
        "loop_unroll_factor_channel": (0,),
    },
    (
        lambda block_size_x, block_size_y: (
            (block_size_x * block_size_y >= 32) & (block_size_x * block_size_y <= 1024)
        ),
        lambda tile_size_x, tile_stride_x: (tile_size_x > 1) | (tile_stride_x == 0),
        lambda tile_size_y, tile_stride_y: (tile_size_y > 1) | (tile_stride_y == 0),
    ),
    22_272,
    11_130,
)

EXPDIST = Published(
    "expdist",
    {
        "block_size_x": powers(32, 1024),
        "block_size_y": powers(1, 32),
        "tile_size_x": upto(8),
        "tile_size_y": upto(8),
        "use_shared_mem": (0, 1, 2),
        "loop_unroll_factor_x": upto(8),
        "loop_unroll_factor_y": upto(8),
        "use_column": (0, 1),
        "use_separate_acc": (0,),
        "n_y_blocks": powers(1, 1024),
    },
    (
        lambda use_column, n_y_blocks: (use_column == 1) | (n_y_blocks <= 1),
        lambda use_column, use_shared_mem: (use_column == 1) | (use_shared_mem != 2),
        lambda tile_size_x, loop_unroll_factor_x: tile_size_x % loop_unroll_factor_x == 0,
        lambda tile_size_y, loop_unroll_factor_y: tile_size_y % loop_unroll_factor_y == 0,
        lambda block_size_x, block_size_y: block_size_x * block_size_y <= 1024,
    ),
    9_732_096,
    294_000,
)


def _hotspot_bytes(bx: Any, by: Any, tx: Any, ty: Any, t: Any, power: Any) -> Any:
    return (bx * tx + t * 2) * (by * ty + t * 2) * (2 + power) * 4


def _hotspot_shared(
    block_size_x: Any,
    block_size_y: Any,
    tile_size_x: Any,
    tile_size_y: Any,
    temporal_tiling_factor: Any,
    sh_power: Any,
    max_shared: Any,
) -> Any:
    x, y = (block_size_x, tile_size_x), (block_size_y, tile_size_y)
    return _hotspot_bytes(x[0], y[0], x[1], y[1], temporal_tiling_factor, sh_power) <= max_shared


def _hotspot_blocks(
    block_size_x: Any,
    block_size_y: Any,
    tile_size_x: Any,
    tile_size_y: Any,
    temporal_tiling_factor: Any,
    sh_power: Any,
    blocks_per_sm: Any,
    shared_of_sm: Any,
) -> Any:
    x, y = (block_size_x, tile_size_x), (block_size_y, tile_size_y)
    shared = _hotspot_bytes(x[0], y[0], x[1], y[1], temporal_tiling_factor, sh_power)
    return (blocks_per_sm == 0) | (shared * blocks_per_sm <= shared_of_sm)


HOTSPOT = Published(
    "hotspot",
    {
        "block_size_x": (1, 2, 4, 8, 16, *upto(1024, 32, 32)),
        "block_size_y": powers(1, 32),
        "tile_size_x": upto(10),
        "tile_size_y": upto(10),
        "temporal_tiling_factor": upto(10),
        "loop_unroll_factor_t": upto(10),
        "sh_power": (0, 1),
        "blocks_per_sm": upto(4, first=0),
        "max_tfactor": (10,),
        "max_threads": (1024,),
        "max_shared": (49_152,),
        "shared_of_sm": (102_400,),
    },
    (
        lambda block_size_x, block_size_y, max_threads: (
            (block_size_x * block_size_y >= 32) & (block_size_x * block_size_y <= max_threads)
        ),
        lambda temporal_tiling_factor, loop_unroll_factor_t: (
            temporal_tiling_factor % loop_unroll_factor_t == 0
        ),
        _hotspot_shared,
        _hotspot_blocks,
    ),
    22_200_000,
    349_853,
)

GEMM = Published(
    "gemm",
    {
        "MWG": powers(16, 128),
        "NWG": powers(16, 128),
        "KWG": (16, 32),
        "MDIMC": (8, 16, 32),
        "NDIMC": (8, 16, 32),
        "MDIMA": (8, 16, 32),
        "NDIMB": (8, 16, 32),
        "KWI": (2,),
        "VWM": powers(1, 8),
        "VWN": powers(1, 8),
        "STRM": (0, 1),
        "STRN": (0, 1),
        "SA": (0, 1),
        "SB": (0, 1),
        "GEMMK": (0,),
        "KREG": (1,),
        "PRECISION": (32,),
    },
    (
        lambda KWG, KWI: KWG % KWI == 0,
        lambda MWG, MDIMC, VWM: MWG % (MDIMC * VWM) == 0,
        lambda NWG, NDIMC, VWN: NWG % (NDIMC * VWN) == 0,
        lambda MWG, MDIMA, VWM: MWG % (MDIMA * VWM) == 0,
        lambda NWG, NDIMB, VWN: NWG % (NDIMB * VWN) == 0,
        lambda KWG, MDIMC, NDIMC, MDIMA: (KWG * MDIMA) % (MDIMC * NDIMC) == 0,
        lambda KWG, MDIMC, NDIMC, NDIMB: (KWG * NDIMB) % (MDIMC * NDIMC) == 0,
        lambda MWG, NWG, MDIMC, NDIMC: (MWG != 128) | (NWG != 128) | (MDIMC != 8) | (NDIMC != 8),
    ),
    663_552,
    116_928,
)

MICROHH = Published(
    "microhh",
    {
        "BLOCK_SIZE_X": (1, 2, 4, 8, 16, 32, 128, 256, 512, 1024),
        "BLOCK_SIZE_Y": powers(1, 32),
        "BLOCK_SIZE_Z": powers(1, 4),
        "TILING_FACTOR_X": powers(1, 8),
        "TILING_FACTOR_Y": powers(1, 4),
        "TILING_FACTOR_Z": powers(1, 4),
        "LOOP_UNROLL_FACTOR_X": powers(1, 8),
        "LOOP_UNROLL_FACTOR_Y": powers(1, 4),
        "LOOP_UNROLL_FACTOR_Z": powers(1, 4),
        "BLOCKS_PER_MP": upto(4, first=0),
        "STATIC_STRIDES": (0,),
        "TILING_STRATEGY": (0,),
        "REWRITE_INTERP": (0,),
    },
    (
        lambda BLOCK_SIZE_X, BLOCK_SIZE_Y, BLOCK_SIZE_Z, BLOCKS_PER_MP: (
            BLOCK_SIZE_X * BLOCK_SIZE_Y * BLOCK_SIZE_Z * BLOCKS_PER_MP <= 1024
        ),
        lambda BLOCK_SIZE_X, BLOCK_SIZE_Y, BLOCK_SIZE_Z: (
            (BLOCK_SIZE_X * BLOCK_SIZE_Y * BLOCK_SIZE_Z >= 32)
            & (BLOCK_SIZE_X * BLOCK_SIZE_Y * BLOCK_SIZE_Z <= 1536)
        ),
        lambda TILING_FACTOR_X, LOOP_UNROLL_FACTOR_X: TILING_FACTOR_X % LOOP_UNROLL_FACTOR_X == 0,
        lambda TILING_FACTOR_Y, LOOP_UNROLL_FACTOR_Y: TILING_FACTOR_Y % LOOP_UNROLL_FACTOR_Y == 0,
        lambda TILING_FACTOR_Z, LOOP_UNROLL_FACTOR_Z: TILING_FACTOR_Z % LOOP_UNROLL_FACTOR_Z == 0,
        lambda LOOP_UNROLL_FACTOR_X: LOOP_UNROLL_FACTOR_X > 0,
        lambda LOOP_UNROLL_FACTOR_Y: LOOP_UNROLL_FACTOR_Y > 0,
        lambda LOOP_UNROLL_FACTOR_Z: LOOP_UNROLL_FACTOR_Z > 0,
    ),
    1_166_400,
    138_600,
)


def _side(side: str, inputs: int, values: Sequence[int]) -> dict[str, Sequence[int]]:
    return {
        f"INPUT_{side}": (inputs,),
        f"L_CB_{side}": values,
        f"P_CB_{side}": values,
        f"NUM_WG_{side}": values,
        f"NUM_WI_{side}": values,
        f"OCL_DIM_{side}": (0, 1),
    }


_SHARED_PRL = (
    lambda L_CB_DEST, G_CB_DEST: L_CB_DEST <= G_CB_DEST,
    lambda P_CB_DEST, L_CB_DEST: P_CB_DEST <= L_CB_DEST,
    lambda OCL_DIM_L, OCL_DIM_R: OCL_DIM_L != OCL_DIM_R,
)
_LEFT = (
    lambda INPUT_L, L_CB_L: INPUT_L % L_CB_L == 0,
    lambda L_CB_L, P_CB_L: L_CB_L % P_CB_L == 0,
    lambda INPUT_L, L_CB_L, NUM_WG_L: INPUT_L // L_CB_L % NUM_WG_L == 0,
    lambda L_CB_L, P_CB_L, NUM_WI_L: L_CB_L // P_CB_L % NUM_WI_L == 0,
    lambda INPUT_L, NUM_WG_L, NUM_WI_L: NUM_WI_L <= (INPUT_L + NUM_WG_L - 1) // NUM_WG_L,
)
_RIGHT = (
    lambda INPUT_R, L_CB_R: INPUT_R % L_CB_R == 0,
    lambda L_CB_R, P_CB_R: L_CB_R % P_CB_R == 0,
    lambda INPUT_R, L_CB_R, NUM_WG_R: INPUT_R // L_CB_R % NUM_WG_R == 0,
    lambda L_CB_R, P_CB_R, NUM_WI_R: L_CB_R // P_CB_R % NUM_WI_R == 0,
    lambda INPUT_R, NUM_WG_R, NUM_WI_R: NUM_WI_R <= (INPUT_R + NUM_WG_R - 1) // NUM_WG_R,
)


def prl(inputs: int, size: int, points: int) -> Published:
    """Probabilistic record linkage of so many records a side."""
    values = upto(inputs)
    return Published(
        f"prl {inputs}x{inputs}",
        {
            "CACHE_L_CB": (0, 1),
            "CACHE_P_CB": (0, 1),
            "G_CB_DEST": (2,),
            "L_CB_DEST": (0, 1, 2),
            "P_CB_DEST": (0, 1, 2),
            **_side("L", inputs, values),
            **_side("R", inputs, values),
        },
        (
            *_SHARED_PRL,
            *_LEFT,
            *_RIGHT,
            lambda NUM_WG_R, L_CB_R: (NUM_WG_R == 1) | (NUM_WG_R % L_CB_R == 0),
        ),
        size,
        points,
    )


_POWERS = powers(1, 4096)
GAUSSIAN = Published(
    "gaussian 4096",
    {
        "CACHE_L_CB": (0, 1),
        "CACHE_P_CB": (0, 1),
        "G_CB_DEST": (2,),
        "L_CB_DEST": (0, 1, 2),
        "P_CB_DEST": (0, 1, 2),
        **_side("L", 4096, _POWERS),
        **_side("R", 4096, _POWERS),
    },
    (*_SHARED_PRL, *_LEFT, *_RIGHT, lambda NUM_WI_L, NUM_WI_R: NUM_WI_L * NUM_WI_R <= 1024),
    117_465_223_824,
    149_281_440,
)

GEMM12 = Published(
    "gemm kernel 1",
    {
        "MWG": powers(8, 128),
        "NWG": powers(8, 128),
        "MDIMC": powers(2, 32),
        "NDIMC": powers(2, 32),
        "MDIMA": powers(2, 32),
        "NDIMB": powers(2, 32),
        "VWM": powers(1, 8),
        "VWN": powers(1, 8),
        "KREG": powers(1, 16),
    },
    (
        lambda MWG, MDIMC, VWM: MWG % (MDIMC * VWM) == 0,
        lambda NWG, NDIMC, VWN: NWG % (NDIMC * VWN) == 0,
        lambda MWG, MDIMA, VWM: MWG % (MDIMA * VWM) == 0,
        lambda NWG, NDIMB, VWN: NWG % (NDIMB * VWN) == 0,
        lambda KREG, VWN: KREG % VWN == 0,
        lambda MDIMC, MDIMA: MDIMC == MDIMA,
        lambda NDIMC, NDIMB: NDIMC == NDIMB,
    ),
    1_250_000,
    16_566,
)

MAGMA = Published(
    "magma-like gemm",
    {
        "DIM_X": upto(64, 8, 8),
        "DIM_Y": upto(64, 8, 8),
        "BLK_M": upto(256, 16, 16),
        "BLK_N": upto(256, 16, 16),
        "BLK_K": powers(4, 64),
        "DIM_XA": upto(64, 8, 8),
        "DIM_YA": powers(2, 64),
        "DIM_XB": powers(2, 64),
        "DIM_YB": upto(64, 8, 8),
        "TEX": (0, 1),
        "PAD": (0, 1),
    },
    (
        lambda DIM_X, DIM_Y: DIM_X * DIM_Y <= 1024,
        lambda DIM_X, DIM_Y: DIM_X * DIM_Y % 32 == 0,
        lambda BLK_M, DIM_X: BLK_M % DIM_X == 0,
        lambda BLK_N, DIM_Y: BLK_N % DIM_Y == 0,
        lambda BLK_M, DIM_XA: BLK_M % DIM_XA == 0,
        lambda BLK_K, DIM_YA: BLK_K % DIM_YA == 0,
        lambda BLK_K, DIM_XB: BLK_K % DIM_XB == 0,
        lambda BLK_N, DIM_YB: BLK_N % DIM_YB == 0,
        lambda DIM_XA, DIM_YA, DIM_X, DIM_Y: DIM_XA * DIM_YA == DIM_X * DIM_Y,
        lambda DIM_XB, DIM_YB, DIM_X, DIM_Y: DIM_XB * DIM_YB == DIM_X * DIM_Y,
        lambda BLK_M, BLK_N, BLK_K: (BLK_M + BLK_N) * BLK_K * 4 <= 49_152,
        lambda BLK_M, BLK_N, DIM_X, DIM_Y: BLK_M * BLK_N >= 4 * (DIM_X * DIM_Y),
        lambda BLK_M, BLK_N, DIM_X, DIM_Y: BLK_M * BLK_N <= 64 * (DIM_X * DIM_Y),
    ),
    754_974_720,
    56_472,
)

EIGHT = (
    DEDISPERSION,
    EXPDIST,
    HOTSPOT,
    GEMM,
    MICROHH,
    prl(2, 36_864, 1_200),
    prl(4, 9_437_184, 10_800),
    prl(8, 2_415_919_104, 48_720),
)
OTHERS = (
    prl(16, 618_475_290_624, 181_440),
    prl(32, 158_329_674_399_744, 514_080),
    GAUSSIAN,
    GEMM12,
    MAGMA,
)
