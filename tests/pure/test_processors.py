"""Which products of a processor are ours and which are its BLAS's, where no record tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tilewright.model import DTYPES, Device, Problem
from tilewright.planning import dispatch, processors
from tilewright.planning.neighbours import Point

pytestmark = pytest.mark.pure

DEVICE = Device(
    "cpu",
    "a server with 512-bit vectors",
    "skylake-avx512",
    {"vector_bits": 512, "vector_registers": 32, "masks": 1, "cores": 1, "l1d": 32 << 10, "l2": 1 << 20,
     "l3": 32 << 20},
    features="x86_64/skylake-avx512 +avx512dq,+avx512f,+avx512vl,+fma",
    supports=frozenset({"half"}),
)  # fmt: skip
WINS = [[256, n, 16, "nn", "0", "", False, "cached", 2.0] for n in (8, 16, 32)]
LOSES = [[256, n, 16, "tn", "0", "", False, "cached", 0.5] for n in (2, 3, 4)]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """A device of which points were measured: those of one sort win, those of another lose."""
    points = {DEVICE.key: {"blocked": {"d": WINS + LOSES}}}
    monkeypatch.setattr(processors, "table", lambda: points)
    processors.measured.cache_clear()
    yield DEVICE
    processors.measured.cache_clear()


def stands(problem: Problem, device: Device) -> bool:
    return processors.standing("blocked", problem, "cached", device)[0]


def test_what_is_near_a_winner_is_ours(told: Device) -> None:
    wide = Problem(DTYPES["d"], 250, 15, 17, batch=100)
    narrow = Problem(DTYPES["d"], 250, 3, 17, "t", batch=100)
    assert stands(wide, told)
    assert not stands(narrow, told)
    plans = [dispatch.plan(one, told) for one in (wide, narrow)]
    assert [plan.stencil for plan in plans] == ["blocked", None]
    assert "blocked: no record speaks for it" in plans[1].why
    # Where no library may be asked, who loses serves.
    assert dispatch.plan(narrow, told, vendor=False).stencil == "blocked"


def test_a_few_large_products_are_shared_among_cores_by_the_library(told: Device) -> None:
    many = replace(told, limits={**told.limits, "cores": 8})
    small = Problem(DTYPES["d"], 256, 16, 16, batch=1)
    large = Problem(DTYPES["d"], 256, 32, 64, batch=1)
    assert stands(small, many)
    assert stands(large, told)
    assert not stands(large, many)
    assert stands(large.with_(batch=8), many)
    # A matrix times a vector is shared from fewer numbers on, and complex ones from fewer still.
    alone = [
        Problem(DTYPES[letter], 100, 1, k, "t") for letter, k in (("d", 92), ("d", 93), ("z", 40), ("z", 41))
    ]
    assert [processors.shared(p, 8) for p in alone] == [1.0, 1 / 8, 1.0, 1 / 8]
    assert processors.shared(alone[1].with_(batch=16), 8) == 1.0


def test_of_an_unknown_processor_nothing_is_known(told: Device) -> None:
    other = replace(told, key="neoverse-v1-neon", features="aarch64/neoverse-v1 +neon")
    other = replace(other, limits={**other.limits, "vector_bits": 128})
    assert not stands(Problem(DTYPES["d"], 256, 16, 16, batch=100), other)
    assert stands(Problem(DTYPES["h"], 256, 16, 16, batch=100), other)


def test_what_ships_says_what_it_was_made_of() -> None:
    for parts in processors.table().values():
        for types in parts.values():
            for rows in types.values():
                for row in rows:
                    at, gain = Point(*row[:-1]), row[-1]
                    assert max(at[:3]) > 64
                    assert at.where in ("cached", "memory")
                    assert 0.05 < gain < 100
