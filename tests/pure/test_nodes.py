"""Nodes of memory: what a system says of them, pretended here by a folder, and what is placed on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from bench import machine, numa, pages
from tilewright.cli import render
from tilewright.errors import ArgumentError, DeviceError
from tilewright.targets.cpu.nodes import listed, nodes, numbers

pytestmark = pytest.mark.pure

GB = 1 << 30


def system(folder: Path, given: Mapping[int, tuple[str, int, str]]) -> Path:
    """A tree as Linux shows it: of each node its cores, its memory in GB and its distances."""
    (folder / "online").write_text("0-1\n")
    for number, (cores, memory, distances) in given.items():
        node = folder / f"node{number}"
        node.mkdir()
        (node / "cpulist").write_text(f"{cores}\n")
        (node / "distance").write_text(f"{distances}\n")
        lines = [f"Node {number} MemTotal:       {memory << 20} kB", f"Node {number} MemFree: 1048576 kB"]
        (node / "meminfo").write_text("\n".join(lines))
    return folder


TWO = {0: ("0-2,6", 64, "10 21 31"), 1: ("3-5,7", 32, "21 10 31"), 10: ("", 128, "31 31 10")}


def test_nodes_have_cores_memory_and_distances(tmp_path: Path) -> None:
    first, second, far = nodes(system(tmp_path, TWO))
    assert (first.number, first.cores, first.memory, first.free) == (0, (0, 1, 2, 6), 64 * GB, GB)
    assert (second.number, second.cores, second.distances) == (1, (3, 4, 5, 7), (21, 10, 31))
    assert (far.number, far.cores, far.memory) == (10, (), 128 * GB)


def test_what_is_not_told_or_not_understood_is_left_out(tmp_path: Path) -> None:
    assert nodes(tmp_path / "nowhere") == ()
    system(tmp_path, {0: ("0-1", 8, "10"), 1: ("two", 8, "10"), 2: ("3", 8, "10")})
    (tmp_path / "node2" / "meminfo").unlink()
    (tmp_path / "nodes").mkdir()
    assert [node.number for node in nodes(tmp_path)] == [0]


def test_lists_of_numbers() -> None:
    assert numbers("0-3,8,10-11\n") == (0, 1, 2, 3, 8, 10, 11)
    assert numbers("\n") == ()
    assert listed((0, 1, 2, 3, 8, 10, 11)) == "0-3,8,10-11"
    assert listed(()) == ""
    for wrong in ("3-", "a", "1;2", "-1"):
        with pytest.raises(ArgumentError, match="accepted: numbers and ranges"):
            numbers(wrong)


def test_doctor_shows_them(tmp_path: Path) -> None:
    rows = [asdict(node) for node in nodes(system(tmp_path, TWO))]
    assert render._nodes(rows) == [
        ("node 0", "cores 0-2,6; 64.0 GiB, 1.0 free; distances 10 21 31"),
        ("node 1", "cores 3-5,7; 32.0 GiB, 1.0 free; distances 21 10 31"),
        ("node 10", "no cores; 128.0 GiB, 1.0 free; distances 31 31 10"),
    ]
    assert render._nodes(rows[:1]) == [("node 0", "cores 0-2,6; 64.0 GiB, 1.0 free")]


def test_one_node_is_said_and_nothing_is_placed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "cores", lambda: [0, 1, 2])
    out = tmp_path / "lines.jsonl"
    # The cores of the second node are not this process's, and the third has none.
    numa.main(["--system", str(system(tmp_path, TWO)), "--out", str(out)])
    said = " ".join(capsys.readouterr().out.split())
    assert "node 0: cores 0-2,6, 64.0 GiB, distances 10 21 31" in said
    assert "one node of memory for these cores: nothing to place and nothing measured (own, one" in said
    assert not out.exists()


def test_nodes_that_are_used_have_memory_and_cores_of_this_process(tmp_path: Path) -> None:
    found = nodes(system(tmp_path, TWO))
    assert [node.number for node in numa.usable(found, range(8))] == [0, 1]
    assert [node.number for node in numa.usable(found, [3])] == [1]


def test_shares_are_all_of_it_in_order() -> None:
    parts = numa.shares(10, 4)
    assert [(part.start, part.stop) for part in parts] == [(0, 2), (2, 5), (5, 7), (7, 10)]


def test_masks_of_nodes() -> None:
    words, bits = pages.mask([0, 2])
    assert (list(words), bits) == ([5], 65)
    words, bits = pages.mask([64])
    assert (list(words), bits) == ([0, 1], 129)


def test_a_system_that_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    array = pages.fresh(1, np.float64)
    # No machine has so many nodes.
    with pytest.raises(DeviceError, match=r"mbind is (refused|known for Linux)"):
        pages.interleave(array, [1000])
    monkeypatch.setattr("platform.machine", lambda: "s390x")
    with pytest.raises(DeviceError, match=r"known for Linux on x86_64, .*, not on s390x"):
        pages.placed(array)
