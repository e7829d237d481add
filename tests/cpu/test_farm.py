"""Kills at random and on purpose: the records in the end are those of an undisturbed run."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from bench import faults
from tilewright.errors import ClusterError
from tilewright.targets.cpu import cc
from tilewright.tuning.cluster import Cluster

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.skipif(cc.compiler() is None, reason="there is no C compiler"),
]
needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="dask.distributed is not installed"
)

WAYS, LIMIT, HANGS = 12, 240.0, 2.0


def check(line: dict[str, object], kills: int) -> None:
    assert (line["lost"], line["twice"], line["differ"]) == (0, 0, [])
    assert line["equal"]
    assert sum(line["kills"].values()) == kills


def test_kills_of_the_tuner_and_its_children_lose_nothing(tmp_path: Path) -> None:
    roles = ("child", "tuner", "child")
    check(faults.disturbed(tmp_path, WAYS, 3, 1, pause=(1.0, 3.0), hangs=HANGS, limit=LIMIT, roles=roles), 3)


@needs_dask
def test_kills_of_the_scheduler_and_of_workers_lose_nothing(tmp_path: Path) -> None:
    options = {"workers": faults.WORKERS, "pause": (4.0, 5.0), "limit": LIMIT, "hangs": HANGS}
    check(faults.disturbed(tmp_path, WAYS, 2, 2, roles=("scheduler", "worker 0"), **options), 2)


@needs_dask
def test_a_cluster_without_a_scheduler_is_named() -> None:
    with pytest.raises(ClusterError, match=r"tcp://127\.0\.0\.1:9.*no scheduler for 0\.2 s.*is recorded"):
        Cluster("tcp://127.0.0.1:9", 0.2)
