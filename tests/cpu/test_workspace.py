"""Memory of launches: what a stream keeps, and what is taken for one launch. A driver in place of the real
one says what it was asked for."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tests.streams import RECORDED, Code, Streams
from tilewright.errors import DeviceError, RoomError
from tilewright.targets.cuda import workspace

pytestmark = pytest.mark.cpu


def address(size: int, stream: int, zeros: int = 0) -> int:
    with workspace.taken(size, zeros, stream) as found:
        return found


def test_a_stream_keeps_what_it_has_until_it_needs_more(streams: Streams) -> None:
    first = address(1000, 1)
    assert address(400, 1) == first
    assert address(1000, 1, zeros=64) == first
    assert streams.said == [("take", 1000, 1), ("clear", first, 16, 1)]
    more = address(1001, 1)
    assert more != first
    assert streams.said[2:] == [("give", first, 1), ("take", 1001, 1)]


def test_streams_and_threads_never_share(streams: Streams) -> None:
    found = [address(8, 1), address(8, 2)]
    thread = threading.Thread(target=lambda: found.append(address(8, 1)))
    thread.start()
    thread.join()
    assert len(set(found)) == 3
    assert [said[0] for said in streams.said] == ["take"] * 3


def test_a_recorded_stream_takes_and_gives_back(streams: Streams) -> None:
    """The graph has the memory, and runs beside whatever the stream does later."""
    address(64, RECORDED, zeros=4)
    address(64, RECORDED)
    assert [said[0] for said in streams.said] == ["take", "clear", "give", "take", "give"]


def test_so_many_streams_keep_theirs_and_no_more(streams: Streams) -> None:
    for stream in range(workspace.STREAMS):
        address(8, stream)
    assert "give" not in [said[0] for said in streams.said]
    address(8, 50)
    assert [said[0] for said in streams.said[-2:]] == ["take", "give"]
    # Those that have some may still have more.
    address(16, 0)
    address(16, 0)
    assert [said[0] for said in streams.said[-2:]] == ["give", "take"]


def test_a_device_without_room_is_said_so_and_nothing_is_kept(streams: Streams) -> None:
    address(8, 1)
    streams.room = 100
    with pytest.raises(DeviceError, match="size=4096: the device has no room"):
        address(4096, 1)
    streams.room = 10_000
    assert address(4096, 1) == address(4096, 1)


def patiently(size: int, stream: int) -> int:
    """The address for who has another way."""
    with workspace.taken(size, 0, stream, insist=False) as found:
        return found


def test_a_device_without_room_is_asked_ever_more_rarely(streams: Streams) -> None:
    kept = patiently(64, 1)
    streams.room = 1000
    waits = []
    for _ in range(8):
        asked, began = streams.taken, streams.clock
        with pytest.raises(RoomError):
            patiently(2000, 1)
        assert streams.taken == asked + 1
        while True:
            streams.clock += 0.25
            before = streams.taken
            # As much and more is not asked for, of whichever stream.
            for size, stream in ((2000, 1), (3000, 2), (2000, RECORDED)):
                if workspace._REFUSED[0].until > streams.clock:
                    with pytest.raises(RoomError, match=f"size={size}: the device has no room"):
                        patiently(size, stream)
            if workspace._REFUSED[0].until <= streams.clock:
                break
            assert streams.taken == before
        waits.append(streams.clock - began)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    assert kept in streams.memory


def test_what_there_is_room_for_is_had_meanwhile(streams: Streams) -> None:
    large = patiently(2000, 1)
    small = patiently(64, 2)
    streams.room = 1000
    with pytest.raises(RoomError):
        patiently(2000, 3)
    # A stream has what it has, and less than was refused is asked for.
    assert patiently(2000, 1) == large
    assert patiently(64, 2) == small
    assert patiently(500, 3)
    # Whoever has no other way asks at every call.
    before = streams.taken
    for _ in range(3):
        with pytest.raises(RoomError):
            address(2000, 4)
    assert streams.taken == before + 3
    # And had it: what was free is free for all.
    streams.room = 10_000
    assert address(2000, 4)
    assert patiently(2000, 5)


def test_a_stream_keeps_what_it_has_while_more_is_not_asked_for(streams: Streams) -> None:
    streams.room = 1000
    with pytest.raises(RoomError):
        patiently(2000, 1)
    kept = patiently(500, 1)
    with pytest.raises(RoomError):
        patiently(2000, 1)
    assert patiently(500, 1) == kept
    assert "give" not in [said[0] for said in streams.said]


def test_memory_of_a_graph_says_nothing_of_that_of_streams(streams: Streams) -> None:
    """A graph's is not there before the graph runs."""
    streams.room = 1000
    with pytest.raises(RoomError):
        patiently(2000, 1)
    streams.room = 10_000
    assert address(2000, RECORDED)
    before = streams.taken
    with pytest.raises(RoomError):
        patiently(2000, 1)
    assert streams.taken == before
    # Part of a graph may have none: that says nothing of streams.
    workspace._REFUSED.clear()
    streams.room, streams.code = 0, 900
    with pytest.raises(RoomError):
        patiently(2000, RECORDED)
    assert workspace._REFUSED == {}


def test_a_device_without_pools_has_no_room(streams: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    location = SimpleNamespace(type=0, id=0)
    api: Any = SimpleNamespace(
        CUresult=Streams.CUresult,
        CUmemPoolProps=lambda: SimpleNamespace(allocType=0, location=location),
        CUmemAllocationType=SimpleNamespace(CU_MEM_ALLOCATION_TYPE_PINNED=1),
        CUmemLocationType=SimpleNamespace(CU_MEM_LOCATION_TYPE_DEVICE=1),
        cuMemPoolCreate=lambda asked: (Code(801), None),
    )
    monkeypatch.setattr(workspace, "bindings", lambda: api)
    with pytest.raises(RoomError, match="GPU 0 makes no pools of memory"):
        workspace._pool.__wrapped__(0)
