"""Workspace of cuBLASLt: who has one, and what runs without."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from tests.cpu.cublaslt.library import NEED, PLAIN, SPLIT, one, product_of
from tests.threads import at_once
from tilewright.errors import DeviceError
from tilewright.runtime import cublaslt, cublaslt_spaces, fastcall_cuda

pytestmark = pytest.mark.cpu


def test_a_stream_and_thread_get_a_workspace_once(lt: Any) -> None:
    lt.works = False
    made, start, slow = product_of()
    assert made.best.workspace == NEED
    for stream in (5, 5, 9, 5, 9):
        start(1, 2, 3, stream)
    assert len(slow) == 2, "the first call of each stream"
    spaces = [call["space"] for call in lt.calls]
    assert spaces[0] == spaces[1] == spaces[3] != spaces[2] == spaces[4]
    assert 0 not in spaces
    assert {call["algorithm"] for call in lt.calls} == {SPLIT}
    assert {call["size"] for call in lt.calls} == {NEED}
    # Another plan finds them.
    _, other, slow_other = product_of("s:9x9x9")
    other(1, 2, 3, 9)
    assert slow_other == []
    assert lt.calls[-1]["space"] == spaces[2]


def test_threads_do_not_share_a_workspace(lt: Any) -> None:
    lt.works = False
    _, start, _ = product_of()

    def work(_: int) -> None:
        for _ in range(300):
            start(1, 2, 3, 5)

    at_once(4, work)
    pairs = {(call["thread"], call["space"]) for call in lt.calls}
    assert len(lt.calls) == 1200
    assert len(pairs) == len({thread for thread, _ in pairs}) == len({space for _, space in pairs}) == 4


@pytest.mark.parametrize("why", ["recorded", "per thread", "no memory", "no room"])
def test_where_there_can_be_no_workspace_the_algorithm_needs_none(
    lt: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lt.works = False
    _, start, slow = product_of()
    stream = 5
    if why == "recorded":
        start(1, 2, 3, 5)
        lt.recording.add(5)
    elif why == "per thread":
        stream = cublaslt_spaces.PER_THREAD
    elif why == "no memory":

        def none(size: int) -> Any:
            raise DeviceError("size: the device has not that many bytes")

        monkeypatch.setattr(lt.spaces, "_allocate", none)
    else:
        for number in range(cublaslt_spaces.Workspaces.ROWS):
            assert lt.spaces.of(100 + number) is not None
    for _ in range(2):
        start(1, 2, 3, stream)
        said = lt.calls[-1]
        assert (said["algorithm"], said["space"], said["size"]) == (PLAIN, 0, 0)
    if why == "recorded":
        lt.recording.clear()
        before = len(slow)
        start(1, 2, 3, 5)
        assert lt.calls[-1]["algorithm"] == SPLIT
        assert len(slow) == before


def test_an_algorithm_without_a_workspace_asks_for_nothing(lt: Any) -> None:
    lt.works = False
    lt.offers = [PLAIN]
    made, start, slow = product_of()
    for stream in (0, 5, cublaslt_spaces.PER_THREAD):
        start(1, 2, 3, stream)
    assert slow == []
    assert made.spaces is None
    assert lt.spaces.table[0] == 0
    # A compiled caller makes the same call; of one that needs a workspace it knows none.
    found = fastcall_cuda.raw(start)
    assert found is not None
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint64] * 4)(found[0])
    before = lt.calls[-1]
    assert function(found[1], 1, 2, 3, cublaslt_spaces.PER_THREAD) == 0
    assert lt.calls[-1] == before
    lt.statuses = [13]
    assert function(found[1], 1, 2, 3, 5) == 13
    lt.offers = [SPLIT, PLAIN]
    assert fastcall_cuda.raw(product_of("s:9x9x9")[1]) is None


def test_a_problem_without_an_algorithm_is_not_served(lt: Any) -> None:
    lt.offers = [SPLIT]
    assert "NOT_SUPPORTED" in str(cublaslt.product(one("s:8x8x8"), (1, 0), 0))
    lt.offers = []
    assert "NOT_SUPPORTED" in str(cublaslt.product(one("s:8x8x8"), (1, 0), 0))
