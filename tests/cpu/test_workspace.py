"""Memory of launches: what a stream keeps, and what is taken for one launch. A driver in place of the real
one says what it was asked for."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from tilewright.errors import DeviceError
from tilewright.targets.cuda import workspace

pytestmark = pytest.mark.cpu


@dataclass
class Driver:
    """``said``: what was taken, given back and cleared, in order. Streams from 90 on are being recorded."""

    said: list[tuple[object, ...]] = field(default_factory=list)
    full: bool = False
    CUresult = SimpleNamespace(CUDA_ERROR_OUT_OF_MEMORY=2)
    CUmemoryPool = staticmethod(lambda pool: pool)

    def cuCtxGetDevice(self) -> tuple[int, int]:
        return 0, 0

    def cuStreamGetId(self, stream: int) -> tuple[int, int]:
        return 0, 1000 + stream

    def cuMemAllocFromPoolAsync(self, size: int, pool: int, stream: int) -> tuple[int, int]:
        self.said.append(("take", size, stream))
        return (2 if self.full else 0), 256 * len(self.said)

    def cuMemFreeAsync(self, address: int, stream: int) -> tuple[int]:
        self.said.append(("give", address, stream))
        return (0,)

    def cuMemsetD32Async(self, address: int, value: int, words: int, stream: int) -> tuple[int]:
        self.said.append(("clear", address, words, stream))
        return (0,)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    monkeypatch.setattr(workspace, "bindings", lambda: made)
    monkeypatch.setattr(workspace, "check", lambda found, what: found[1] if len(found) > 1 else None)
    monkeypatch.setattr(workspace, "_pool", lambda device: 7)
    monkeypatch.setattr(workspace, "_HELD", {})
    monkeypatch.setattr(workspace.modules, "context", lambda: None)
    monkeypatch.setattr(workspace.memory, "capturing", lambda stream: stream >= 90)
    return made


def address(size: int, stream: int, zeros: int = 0) -> int:
    with workspace.taken(size, zeros, stream) as found:
        return found


def test_a_stream_keeps_what_it_has_until_it_needs_more(driver: Driver) -> None:
    first = address(1000, 1)
    assert address(400, 1) == first
    assert address(1000, 1, zeros=64) == first
    assert driver.said == [("take", 1000, 1), ("clear", first, 16, 1)]
    more = address(1001, 1)
    assert more != first
    assert driver.said[2:] == [("give", first, 1), ("take", 1001, 1)]


def test_streams_and_threads_never_share(driver: Driver) -> None:
    found = [address(8, 1), address(8, 2)]
    thread = threading.Thread(target=lambda: found.append(address(8, 1)))
    thread.start()
    thread.join()
    assert len(set(found)) == 3
    assert [said[0] for said in driver.said] == ["take"] * 3


def test_a_recorded_stream_takes_and_gives_back(driver: Driver) -> None:
    """The graph has the memory, and runs beside whatever the stream does later."""
    address(64, 90, zeros=4)
    address(64, 90)
    assert [said[0] for said in driver.said] == ["take", "clear", "give", "take", "give"]


def test_so_many_streams_keep_theirs_and_no_more(driver: Driver) -> None:
    for stream in range(workspace.STREAMS):
        address(8, stream)
    assert "give" not in [said[0] for said in driver.said]
    address(8, 50)
    assert [said[0] for said in driver.said[-2:]] == ["take", "give"]
    # Those that have some may still have more.
    address(16, 0)
    address(16, 0)
    assert [said[0] for said in driver.said[-2:]] == ["give", "take"]


def test_a_device_without_room_is_said_so_and_nothing_is_kept(driver: Driver) -> None:
    address(8, 1)
    driver.full = True
    with pytest.raises(DeviceError, match="size=4096"):
        address(4096, 1)
    driver.full = False
    assert address(4096, 1) == address(4096, 1)
