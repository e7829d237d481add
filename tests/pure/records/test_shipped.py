"""Records and ceilings that ship with the package."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import pytest

from tests.pure.records.samples import DEVICE, PROBLEM, best, record, ship
from tilewright.catalog import STENCILS
from tilewright.errors import RecordsError
from tilewright.model import Device, Record
from tilewright.store import tries
from tilewright.store.jsonl import decode, parse
from tilewright.store.records import Records
from tilewright.targets.cuda import capability

pytestmark = pytest.mark.pure


def test_a_shipped_record_answers_until_a_local_one_does(store: Records, shipped: Path) -> None:
    theirs = record(1e-9, config={"n": 1}, protocol=5)
    ship(shipped, theirs, record(2e-9, config={"n": 2}, protocol=5))
    found = best(store)
    assert found is not None
    assert (found.config, found.timing and found.timing.samples) == (theirs.config, ())

    store.append(record(None, status="wrong", config={"n": 3}))
    assert best(store) == found
    ours = record(1.0, config={"n": 4})
    store.append(ours)
    assert best(store) == ours
    assert store.all(status="ok") == [ours]
    assert [each.config["n"] for each in store.shipped(DEVICE)] == [1, 2]


def test_only_the_file_of_the_device_is_read(store: Records, shipped: Path) -> None:
    ship(shipped, record(device="other"), device="other")
    (shipped / "broken.jsonl").write_text("{")
    assert best(store) is None
    assert store.best(PROBLEM.key, "memory", "other") is not None
    with pytest.raises(RecordsError, match=r"broken\.jsonl, line 1"):
        store.best(PROBLEM.key, "memory", "broken")


def test_a_file_is_read_once_by_all_threads_and_stores_until_it_changes(
    store: Records, shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def noted(text: str, *rest: Any) -> Any:
        read.append(text)
        return parse(text, *rest)

    monkeypatch.setattr(tries, "parse", noted)
    ship(shipped, record(config={"once": 1}))
    with ThreadPoolExecutor(1) as pool:
        found = [
            best(store),
            pool.submit(best, store).result(60),
            best(Records(tmp_path / "b", shipped=shipped)),
        ]
    assert [each and each.config["once"] for each in found] == [1, 1, 1]
    assert len(read) == 1
    ship(shipped, record(config={"once": 2}))
    changed = best(Records(tmp_path / "c", shipped=shipped))
    assert changed is not None
    assert changed.config["once"] == 2
    assert len(read) == 2


def test_a_device_key_cannot_lead_out_of_the_folder(store: Records, shipped: Path) -> None:
    ship(shipped.parent, record(device="../secret"), device="secret")
    ship(shipped, record(device="a card/80 GB"), device="a_card_80_GB")
    assert store.best(PROBLEM.key, "memory", "../secret") is None
    assert store.best(PROBLEM.key, "memory", "a card/80 GB") is not None


def test_what_the_package_ships_can_be_read(tmp_path: Path) -> None:
    for each in resources("tilewright.store").joinpath("data").iterdir():
        if each.name.endswith(".jsonl"):
            target = tmp_path / each.name
            target.write_text(each.read_text(encoding="utf-8"), encoding="utf-8")
            taken = Records(tmp_path / f"{each.name}.sqlite")
            assert taken.import_(target).new > 0
            assert {Path(each.name).stem} == {found.device for found in taken.all()}


def test_what_the_package_ships_is_found_under_the_keys_of_its_problems(tmp_path: Path) -> None:
    store, found = Records(tmp_path / "records.sqlite"), 0
    for each in resources("tilewright.store").joinpath("data").iterdir():
        if each.name.endswith(".jsonl"):
            for line in map(json.loads, each.read_text(encoding="utf-8").splitlines()):
                problem = decode(line).problem
                shipped = store.best(problem.key, line["regime"], line["device"])
                assert shipped is not None
                assert shipped.problem == problem
                found += 1
    assert found > 1000


def device_of(key: str) -> Device:
    """The device of a shipped file: a GPU by its name, a processor by its core and instruction set."""
    if key in capability.DEVICES:
        return capability.DEVICES[key]
    core, _, isa = key.rpartition("-")
    assert isa == "avx512"
    caches = {"emeraldrapids": (48, 2048), "znver4": (32, 1024), "znver5": (48, 1024)}
    l1d, l2 = (caches | {"cascadelake": (32, 1024)})[core]
    limits = {"vector_bits": 512, "vector_registers": 32, "masks": 1, "cores": 4}
    limits |= {"l1d": l1d << 10, "l2": l2 << 10, "l3": 64 << 20}
    return Device("cpu", core, key, limits, f"x86_64/{core} +fma")


def test_what_the_package_ships_are_members_of_the_spaces() -> None:
    """One that is not would be passed over by every call."""
    foreign = []
    for each in resources("tilewright.store").joinpath("data").iterdir():
        if each.name.endswith(".jsonl"):
            device = device_of(Path(each.name).stem)
            for line in each.read_text(encoding="utf-8").splitlines():
                found = decode(json.loads(line))
                if isinstance(found, Record) and found.stencil in STENCILS:
                    stencil = STENCILS[found.stencil]
                    reason = stencil.accepts(found.problem, device)
                    reason = reason or stencil.space(found.problem, device).member(found.config)
                    if reason is not None:
                        foreign.append((device.key, found.stencil, found.problem.spelling, reason))
    assert foreign == []


# ---- ceilings


def test_ceilings_are_kept_by_device_and_cores(store: Records) -> None:
    store.save_ceilings(DEVICE, 4, {"bandwidth.read": 1e11, "peak.d": 2e12})
    store.save_ceilings(DEVICE, 1, {"bandwidth.read": 3e10})
    store.save_ceilings(DEVICE, 4, {"peak.d": 3e12})
    assert store.ceilings(DEVICE, 4) == {"bandwidth.read": 1e11, "peak.d": 3e12}
    assert store.ceilings(DEVICE, 1) == {"bandwidth.read": 3e10}
    assert store.ceilings("other", 4) == {}


def test_local_ceilings_win_over_shipped_ones(store: Records, shipped: Path) -> None:
    ship(shipped, {"device": DEVICE, "cores": 4, "ceilings": {"peak.d": 1.0, "peak.s": 2.0}})
    store.save_ceilings(DEVICE, 4, {"peak.d": 3.0})
    assert store.ceilings(DEVICE, 4) == {"peak.d": 3.0, "peak.s": 2.0}
