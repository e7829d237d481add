"""Calls of this processor without a record: what counting them costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.arrays.numpy_ import empty_aligned
from tilewright.store import gaps as file

pytestmark = pytest.mark.cpu


@pytest.fixture(autouse=True)
def switched(new_home: Path) -> Iterator[None]:
    yield
    tw.count_gaps(False)


def test_a_call_that_is_not_counted_goes_through_nothing_more(
    calls_of: Callable[[Callable[[], object]], int],
) -> None:
    rng = np.random.default_rng(0)
    # No processor has a shipped record of these extents.
    a, b = rng.random((7, 9, 7)), rng.random((7, 7, 11))
    out = empty_aligned((7, 9, 11), a.dtype)
    planned = tw.plan(a, b, out=out)
    served = [lambda: tw.matmul(a, b), lambda: tw.matmul(a, b, out=out), lambda: planned(a, b, out=out)]

    def costs() -> list[int]:
        for call in served:
            for _ in range(70):
                call()
        return [calls_of(call) for call in served]

    off = costs()
    assert file.read() == []
    tw.count_gaps(True)
    on = costs()
    assert [more - usual for more, usual in zip(on, off, strict=True)] == [1, 1, 1]
    np.testing.assert_allclose(out, a @ b)
    (gap,) = tw.gaps()
    # What the profiler saw is counted, too.
    assert (gap.calls, gap.products, gap.timed) == (3 * 71, 3 * 71 * 7, True)
    assert 0 <= gap.seconds < 1e-2
    tw.count_gaps(False)
    assert costs() == off
