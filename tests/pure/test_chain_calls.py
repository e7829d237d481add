"""Chains that were computed before: which calls are like them, and what is launched for those."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tilewright.arrays.view import ArrayView, Looker, view_at
from tilewright.runtime import call_cache, chain_calls

pytestmark = pytest.mark.pure

FLOAT = np.dtype("f4")


@dataclass(frozen=True)
class Tensor:
    """An array on a GPU, as a library would have it."""

    at: int
    shape: tuple[int, ...] = (9, 6, 6)
    requires_grad: bool = False


class Library:
    """What makes arrays."""

    made = Tensor(9 << 20)

    def empty(self, shape: tuple[int, ...], dtype: Any, index: int) -> Tensor:
        assert (shape, dtype, index) == ((9, 6, 6), FLOAT, 3)
        return self.made

    def stream(self, index: int) -> int:
        return 77


@pytest.fixture
def launched() -> Iterator[list[tuple[list[int], int]]]:
    """Addresses and streams of launches. Classes of arrays are known, as after a first call."""
    call_cache.clear()
    call_cache.LOOKERS[Tensor] = Looker(lambda x: x.shape if type(x) is Tensor else None, lambda x: x.at)
    yield []
    call_cache.clear()


def view(tensor: Tensor) -> ArrayView:
    return view_at(tensor.at, tensor.shape, None, FLOAT)


F, P, Q, OUT = (Tensor(number << 20) for number in (1, 2, 3, 4))


def remembered(launched: list[Any], out: Tensor | None, *, current: bool = True, f: Tensor = F) -> None:
    """F P F + Q was computed, into a new array or into ``out``."""

    def run(addresses: Sequence[int], stream: int) -> None:
        launched.append((list(addresses), stream))

    result = Tensor(8 << 20) if out is None else out
    chain_calls.remember(
        (f, P, f, Q, out),
        [view(x) for x in (f, P, f, Q, result)],
        (P.at, f.at, Q.at, result.at),
        run,
        (Library(), 3, lambda: current),  # type: ignore[arg-type]
    )


def test_a_call_like_it_is_launched_at_once(launched: list[Any]) -> None:
    remembered(launched, None)
    assert chain_calls.again((F, P, F, Q, None)) is Library.made
    other, more = Tensor(5 << 20), Tensor(6 << 20)
    assert chain_calls.again((other, more, other, Q, None)) is Library.made
    # In the order of the kernel's operands, whatever that of the arguments.
    assert launched == [
        ([2 << 20, 1 << 20, 3 << 20, 9 << 20], 77),
        ([6 << 20, 5 << 20, 3 << 20, 9 << 20], 77),
    ]


def test_into_an_array(launched: list[Any]) -> None:
    remembered(launched, OUT)
    assert chain_calls.again((F, P, F, Q, OUT)) is OUT
    assert launched[-1][0][-1] == OUT.at
    # Bytes that are still to be read would be overwritten.
    assert chain_calls.again((F, P, F, Q, Tensor(P.at + 16))) is NotImplemented
    assert chain_calls.again((F, P, F, Q, Tensor(P.at + 9 * 36 * 4))) is not NotImplemented


@pytest.mark.parametrize(
    "arguments",
    [
        (F, P, OUT, Q, None),  # The third is not the first.
        (F, P, F, None, None),
        (F, P, F, Q, OUT),
        (F, P, F, Tensor(Q.at + 4), None),  # Addresses are less aligned.
        (F, Tensor(2 << 20, (9, 6, 5)), F, Q, None),
        (F, P, F, object(), None),
        (object(), P, F, Q, None),
        (F, P, F, F, None),  # What is added is a factor.
    ],
)
def test_other_calls_go_the_slow_path(launched: list[Any], arguments: Any) -> None:
    remembered(launched, None)
    assert chain_calls.again(arguments) is NotImplemented
    assert launched == []


def test_what_is_not_remembered(launched: list[Any]) -> None:
    remembered(launched, None, f=Tensor(F.at, requires_grad=True))
    assert call_cache.CHAINS == {}
    remembered(launched, None, current=False)
    assert chain_calls.again((F, P, F, Q, None)) is NotImplemented
    call_cache.clear()
    assert chain_calls.again((F, P, F, Q, None)) is NotImplemented
