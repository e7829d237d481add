"""Chains of products on the interpreter of PTX: rings, tensor cores, and what sums in between keep."""

from __future__ import annotations

import numpy as np
import pytest

from bench.sanitize import chains
from bench.sanitize.lists import stored
from tests import marks
from tests.chains import covariance
from tests.emulator.cases import H200
from tests.emulator.chains import chain_wrongs
from tests.emulator.machine import SCHEDULES
from tilewright.model import DTYPES, ChainProblem, Config, Factor, Stored
from tilewright.stencils.cuda.chain.needs import placed

pytestmark = marks.COMPILED


@pytest.mark.parametrize("path", ["async", "bulk"])
@pytest.mark.parametrize("letter", list(DTYPES))
def test_chain_multiplies(letter: str, path: str) -> None:
    """Two groups and a part of one for two blocks, of odd shapes, their operands packed or with gaps."""
    turn = 2 * list(DTYPES).index(letter) + (path == "bulk")
    sizes = ((5, 3, 6, 4), (6, 3, 6), (4, 4, 4, 4))[turn % 3]
    p = chains.chain(DTYPES[letter], sizes, int(path == "async"), turn).with_(batch=19)
    fixed = {"path": path, "mma": 0, "rows": 2, "columns": 2, "warps": 2, "group": 8, "blocks": H200["sms"]}
    config = Config(fixed | {"stages": 2 + turn % 2, "in_place": int(placed(p))})
    assert list(chain_wrongs(p, config, H200, schedule=SCHEDULES[turn % len(SCHEDULES)])) == []


@pytest.mark.parametrize("in_place", [0, 1])
@pytest.mark.parametrize("path", ["async", "bulk"])
def test_chain_waits_for_its_ring(path: str, in_place: int) -> None:
    """One block through more groups than it has stages, so that each is filled again, by three warps; also
    where results have to leave a stage before it is filled."""
    p = covariance("d", 4, 15) if in_place else chains.chain(DTYPES["d"], (4, 4, 4, 4), 0, 1).with_(batch=15)
    config = Config(
        {"path": path, "mma": 0, "rows": 1, "columns": 2, "warps": 3, "group": 2, "stages": 2}
        | {"in_place": in_place, "blocks": 132}
    )
    for schedule in SCHEDULES[1:3]:
        assert list(chain_wrongs(p, config, H200, schedule=schedule, grid=1)) == []


@pytest.mark.parametrize(
    ("letter", "mma", "sizes", "first", "turn"),
    [
        ("h", 16, (17, 18, 7, 11), 0, 1),
        ("b", 16, (5, 3, 20, 4), 1, 2),
        ("h", 16, (6, 8, 6), 0, 3),
        ("d", 16, (17, 4, 9, 8), 1, 0),
        ("z", 8, (9, 5, 8, 3), 0, 3),
        # More columns of C than are summed at a time.
        ("z", 16, (5, 3, 4, 19), 0, 2),
    ],
)
def test_chain_on_tensor_cores(letter: str, mma: int, sizes: tuple[int, ...], first: int, turn: int) -> None:
    """Several strips of C and of its transpose, with rows, columns and k beyond their ends."""
    p = chains.chain(DTYPES[letter], sizes, 0, turn).with_(batch=9, first=first)
    fixed = {
        "path": "bulk",
        "mma": mma,
        "rows": 1,
        "columns": 1,
        "warps": 2,
        "group": 8,
        "blocks": H200["sms"],
    }
    for in_place in range(1 + placed(p)):
        config = Config(fixed | {"stages": 2, "in_place": in_place})
        assert list(chain_wrongs(p, config, H200, grid=1)) == []


@pytest.mark.parametrize("letter", ["h", "b"])
@pytest.mark.parametrize("first", [0, 1])
def test_sums_between_keep_more_bits_than_16_bit_types_have(letter: str, first: int) -> None:
    """(64 1) (32 32, 1 0) (1 -1)^T is 2049 - 2048, and the same from the other side; infinity stays one,
    whether it is in between or comes after."""
    dtype, row, column = DTYPES[letter], Stored(1, 2, 1, 2), Stored(2, 1, 2, 2)
    operands, factors = (row, Stored(2, 2, 2, 4), column), (Factor(0), Factor(1), Factor(2))
    p = ChainProblem(dtype, operands, factors, Stored(1, 1, 1, 1), 1, first=first)
    numbers = [(1, -1), (32, 32, 1, 0), (64, 1)] if first else [(64, 1), (32, 1, 32, 0), (1, -1)]
    config = {
        "path": "async",
        "mma": 16,
        "rows": 1,
        "columns": 1,
        "warps": 1,
        "group": 1,
        "stages": 2,
        "in_place": 0,
    }
    many, few, ones = (np.inf, np.inf), (1, 1), (1, 1, 1, 1)
    for result, given in ((1, numbers), (np.inf, [many, ones, few]), (np.inf, [few, ones, many])):
        read = chains.parts(p)
        for part, values in zip(read, given, strict=False):
            part.elements[: len(values)] = stored(np.array(values, np.complex128), dtype)
        wanted = stored(np.array([result], np.complex128), dtype)
        assert list(chain_wrongs(p, Config(config | {"blocks": 132}), H200, read=read, wanted=wanted)) == []
