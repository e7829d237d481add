"""Records of a similar device: which one that is, what of it serves, and what a device is called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilewright.calls import explain
from tilewright.catalog import STENCILS
from tilewright.cli.queries import devices, records
from tilewright.errors import ArgumentError
from tilewright.model import VENDOR, Config, Device, Problem, Record, Timing
from tilewright.planning import dispatch, kin
from tilewright.runtime import call_cache
from tilewright.store.records import Records
from tilewright.targets.cuda import capability

pytestmark = pytest.mark.pure

KB = 1 << 10
AVX512 = {"vector_bits": 512, "vector_registers": 32, "masks": 1}
AVX2 = {"vector_bits": 256, "vector_registers": 16, "masks": 0}


def processor(core: str, isa: str = "avx512", l1d: int = 48, l2: int = 2048, **limits: int) -> Device:
    wide = AVX512 if isa == "avx512" else AVX2
    found = {**wide, "cores": 4, "l1d": l1d * KB, "l2": l2 * KB, "l3": 64 << 20, **limits}
    return Device("cpu", core, f"{core}-{isa}", found, f"x86_64/{core} +fma")


XEON = processor("sapphirerapids")
H200, H100 = capability.named("h200"), capability.named("h100")


# ---- which device it is


@pytest.mark.parametrize(
    ("device", "keys", "found"),
    [
        (XEON, ["znver4-avx512", "emeraldrapids-avx512"], "emeraldrapids-avx512"),
        (XEON, ["znver4-avx512"], "znver4-avx512"),
        (processor("znver5", l2=1024), ["emeraldrapids-avx512", "znver4-avx512"], "znver4-avx512"),
        # One maker: then the caches, and a core that nobody knows comes last.
        (XEON, ["cascadelake-avx512", "icelake-server-avx512"], "icelake-server-avx512"),
        (XEON, ["a-new-one-avx512", "cascadelake-avx512"], "cascadelake-avx512"),
        (processor("skylake-avx512", l1d=32, l2=1024), ["emeraldrapids-avx512"], "emeraldrapids-avx512"),
        # Its own records are not those of another.
        (XEON, ["sapphirerapids-avx512", "znver4-avx512"], "znver4-avx512"),
        # Another instruction set, another kind, nothing at all.
        (processor("znver3", "avx2"), ["znver4-avx512", "emeraldrapids-avx512", "h200"], None),
        (XEON, ["znver3-avx2", "neoverse-v2-neon", "h200", "nonsense"], None),
        (XEON, [], None),
        (H100, ["znver4-avx512", "a100", "h200"], "h200"),
        (H100, ["a100", "b200", "l40s"], None),
        (H200, ["h100-80gb-hbm3"], "h100-80gb-hbm3"),
        (H100, ["h100", "h100-80gb-hbm3"], None),
    ],
)
def test_the_most_similar_device(device: Device, keys: list[str], found: str | None) -> None:
    assert kin.nearest(device, keys) == found
    assert kin.nearest(device, reversed(keys)) == found


@pytest.mark.parametrize(
    ("core", "name", "found"),
    [
        # A Xeon whose virtual machine is called by what it can do, and one that LLVM does not know at all.
        ("rocketlake", "Intel(R) Xeon(R) Processor @ 2.70GHz", "emeraldrapids-avx512"),
        ("sapphirerapids", "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", "emeraldrapids-avx512"),
        ("x86-64-v4", "Intel Xeon Processor (SapphireRapids)", "emeraldrapids-avx512"),
        ("x86-64-v4", "AMD EPYC-Genoa Processor", "znver4-avx512"),
        ("generic", "AMD Ryzen 9 7950X", "znver4-avx512"),
        # A model's name that says nothing leaves it to the core's.
        ("znver5", "", "znver4-avx512"),
        ("a-new-one", "QEMU Virtual CPU version 9.2", "emeraldrapids-avx512"),
    ],
)
@pytest.mark.parametrize("l2", [512, 2048])
def test_a_virtual_machine_finds_the_records_of_its_maker(core: str, name: str, found: str, l2: int) -> None:
    """Whatever it calls its core, and whatever caches it claims."""
    device = replace(processor(core, l2=l2), name=name)
    keys = ["znver4-avx512", "emeraldrapids-avx512", "h200"]
    assert kin.nearest(device, keys) == kin.nearest(device, keys[::-1]) == found


@pytest.mark.parametrize(
    ("core", "keys", "found"),
    [
        # Zen 5 and Zen 4, and Xeons with other caches: what serves one of them is slow on the other.
        ("znver5", ["znver4-avx512"], None),
        ("cascadelake", ["emeraldrapids-avx512"], None),
        ("znver5", ["znver4-avx512", "emeraldrapids-avx512", "znver6-avx512"], "znver6-avx512"),
        ("cascadelake", ["emeraldrapids-avx512", "skylake-avx512-avx512"], "skylake-avx512-avx512"),
        ("rocketlake", ["cascadelake-avx512", "emeraldrapids-avx512"], "emeraldrapids-avx512"),
        # A core that the table lacks may be of any family.
        ("x86-64-v4", ["znver5-avx512"], "znver5-avx512"),
    ],
)
def test_records_of_processors_that_do_otherwise_with_memory_do_not_serve(
    core: str, keys: list[str], found: str | None
) -> None:
    assert kin.serving(processor(core), keys) == kin.serving(processor(core), keys[::-1]) == found


def test_a_gpu_with_nearly_as_many_multiprocessors_is_more_similar(monkeypatch: pytest.MonkeyPatch) -> None:
    few = replace(H200, key="h20", limits={**H200.limits, "sms": 78})
    monkeypatch.setitem(capability.DEVICES, "h20", few)
    assert kin.nearest(H100, ["h20", "h200"]) == "h200"
    assert kin.nearest(replace(H100, limits={**H100.limits, "sms": 80}), ["h200", "h20"]) == "h20"


# ---- what of its records serves


def record(spelling: str, regime: str, stencil: str, device: Device, **fields: Any) -> Record:
    (problem,) = Problem.parse(spelling, **fields)
    config = Config({}) if stencil == VENDOR else STENCILS[stencil].default(problem, device)
    timing = Timing((1e-3,), 1e-3, 1e-3, 1e-3, regime, max(1, problem.batch), 2)
    return Record(
        problem,
        regime,
        stencil,
        config,
        "ok",
        device.key,
        "1",
        timing=timing,
        seconds=1e-3,
        protocol=2,
        when="2026-01-01",
    )


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes dispatch go by these records and no shipped ones."""
    shelf = tmp_path / "data"
    shelf.mkdir()
    store = Records(tmp_path / "records.sqlite", shipped=shelf)

    def tell(*rows: Record) -> Records:
        for row in rows:
            store.append(row)
        call_cache.clear()
        return store

    monkeypatch.setattr(dispatch, "records", lambda: store)
    monkeypatch.setattr(dispatch.records, "cache_clear", lambda: None, raising=False)
    yield tell
    store.close()
    call_cache.clear()


EMERALD = processor("emeraldrapids")
ZEN = processor("znver4", l1d=32, l2=1024)
LARGE, SMALL = "d:8x8x8@1000000", "d:8x8x8@100"


def planned(spelling: str, device: Device, **options: Any) -> Any:
    return dispatch.plan(Problem.parse(spelling)[0], device, **options)


def test_a_similar_processors_record_serves_batches_in_memory(recorded: Any) -> None:
    theirs = record(LARGE, "memory", "tile", EMERALD)
    recorded(theirs, record(LARGE, "memory", "lanes", ZEN))
    plan = planned(LARGE, XEON)
    assert (plan.origin, plan.stencil, plan.config) == ("kin", "tile", theirs.config)
    assert "emeraldrapids-avx512" in plan.why
    assert theirs.problem.key in plan.why
    text = explain.explain_plan(plan)
    assert "runs   kin: tile" in text
    assert "why    record of d:nn:8x8x8|" in text
    assert "on the similar device emeraldrapids-avx512" in text


def test_a_similar_processors_record_of_a_near_problem_serves_too(recorded: Any) -> None:
    theirs = record(LARGE, "memory", "tile", EMERALD, alpha="any")
    recorded(theirs)
    plan = planned(LARGE, XEON)
    assert (plan.origin, plan.stencil) == ("kin", "tile")
    assert theirs.problem.key in plan.why


def test_cached_batches_of_a_processor_have_the_default(recorded: Any) -> None:
    recorded(record(SMALL, "cached", "tile", EMERALD))
    assert planned(SMALL, XEON).origin == "default"
    # Nor does what was tuned cached there serve batches in memory here.
    assert planned(LARGE, XEON).origin == "default"
    recorded(record(LARGE, "memory", "tile", EMERALD))
    assert planned(SMALL, XEON).origin == "default"
    assert planned(LARGE, XEON).origin == "kin"


def test_records_of_the_device_itself_come_first(recorded: Any) -> None:
    recorded(record(LARGE, "memory", "tile", EMERALD), record(LARGE, "memory", "tile", XEON, alpha="any"))
    assert planned(LARGE, XEON).origin == "near"
    recorded(record(LARGE, "memory", "lanes", XEON))
    assert planned(LARGE, XEON).origin == "tuned"


@pytest.mark.parametrize("device", [XEON, EMERALD], ids=["kin", "near"])
def test_records_of_the_caches_or_of_a_c_that_is_read_do_not_stand_in(recorded: Any, device: Device) -> None:
    """From memory how C is written and what is asked for early is most of what there is to gain. What is read
    or not tells little in the caches."""
    recorded(
        record(LARGE, "memory", "tile", EMERALD, beta="any"),
        record(LARGE, "cached", "tile", EMERALD, alpha="any"),
    )
    assert planned(LARGE, device).origin == "default"
    recorded(record(LARGE, "memory", "tile", EMERALD, alpha="any"))
    assert planned(LARGE, device).origin == ("near" if device is EMERALD else "kin")
    recorded(record(SMALL, "cached", "tile", EMERALD, beta="any"))
    assert planned(SMALL, EMERALD).origin == "near"


def test_a_processors_own_records_serve_their_sizes_alone(recorded: Any) -> None:
    """There the default is the better guess; of the same sizes under another alpha they serve."""
    other = Problem.parse("d:8x16x8@1000000")[0]
    recorded(replace(record(LARGE, "memory", "tile", EMERALD), problem=other))
    assert planned(LARGE, EMERALD).origin == "default"
    small = Problem.parse("d:8x16x8@100")[0]
    recorded(replace(record(SMALL, "cached", "tile", EMERALD), problem=small))
    assert planned(SMALL, EMERALD).origin == "default"
    recorded(record(LARGE, "memory", "tile", EMERALD, alpha="any"))
    assert planned(LARGE, EMERALD).origin == "near"


def test_a_record_that_breaks_a_rule_here_is_passed_over(recorded: Any) -> None:
    wide = record(LARGE, "memory", "tile", EMERALD)
    recorded(replace(wide, config=wide.config.with_(vector_bits=1024)))
    assert planned(LARGE, XEON).origin == "default"
    # Streaming is a rule of every device's own caches: here the batch is cached, and nothing is streamed.
    large = {**XEON.limits, "l3": 2**40}
    roomy = replace(XEON, limits=large, ceilings={"knee.1": 2.0**40, "knee.4": 2.0**40})
    recorded(record(LARGE, "memory", "tile", EMERALD))
    assert planned(LARGE, roomy).origin == "default"


def test_numpy_on_another_processor_is_another_library(recorded: Any) -> None:
    recorded(record(LARGE, "memory", "vendor", EMERALD))
    assert planned(LARGE, XEON).origin == "default"


@pytest.mark.parametrize(
    ("spelling", "regime"), [("s:300x200x100@5000", "memory"), ("s:96x96x96@9", "cached")]
)
def test_a_similar_gpus_records_serve_both_regimes(recorded: Any, spelling: str, regime: str) -> None:
    recorded(record(spelling, regime, "classic", H200))
    plan = planned(spelling, H100)
    assert (plan.origin, plan.stencil, plan.regime) == ("kin", "classic", regime)
    assert "similar device h200" in plan.why
    assert planned(spelling, capability.named("a100")).origin == "default"


def test_a_similar_gpu_has_the_same_library(recorded: Any) -> None:
    recorded(record("s:300x200x100@5000", "memory", "vendor", H200))
    plan = planned("s:300x200x100@5000", H100)
    assert (plan.origin, plan.stencil) == ("vendor", None)
    assert "the similar device h200" in plan.why
    assert planned("s:300x200x100@5000", H100, vendor=False).origin == "default"


def test_devices_with_records(recorded: Any, tmp_path: Path) -> None:
    store = recorded(record(LARGE, "memory", "tile", EMERALD), record(SMALL, "cached", "tile", EMERALD))
    assert store.devices() == [EMERALD.key]
    store.export(tmp_path / "data" / "h200.jsonl")
    (tmp_path / "data" / "notes.txt").write_text("nothing")
    assert store.devices() == [EMERALD.key, "h200"]
    assert Records(tmp_path / "none.sqlite", shipped=tmp_path / "no-folder").devices() == []


# ---- one name


@pytest.mark.parametrize("key", capability.DEVICES)
def test_a_device_is_called_what_the_commands_call_it(key: str) -> None:
    device = capability.named(key)
    assert capability.key_of(device.name) == key
    for name in capability.keys(key):
        assert capability.canonical(name) == key
        assert capability.named(name) is device
        assert devices.device_of(name).key == key


def test_names_of_other_devices_stay() -> None:
    assert capability.keys("h100") == ("h100", "h100-80gb-hbm3")
    assert capability.keys("h200") == ("h200",)
    assert capability.keys("l40s") == ("l40s",)
    assert capability.key_of("NVIDIA H100 PCIe") == "h100-pcie"
    assert capability.key_of("NVIDIA GeForce RTX 4090") == "rtx-4090"
    with pytest.raises(ArgumentError, match="device='h100-pcie' is not known"):
        capability.named("h100-pcie")


def test_what_was_filed_under_an_older_key_is_found(recorded: Any) -> None:
    old = replace(H100, key="h100-80gb-hbm3")
    store = recorded(record("s:300x200x100@5000", "memory", "classic", old))
    assert planned("s:300x200x100@5000", H100).origin == "tuned"
    assert planned("s:300x200x104@5000", H100).origin == "near"
    store.save_ceilings(old.key, 1, {"bandwidth.copy.1": 3e12, "peak.s.1": 1.0})
    store.save_ceilings("h100", 1, {"peak.s.1": 2.0})
    assert dispatch.ceilings(H100) == {"bandwidth.copy.1": 3e12, "peak.s.1": 2.0}
    store.append(record("s:300x200x104@5000", "memory", "classic", H100))
    gpus = [device for device in records.reported()[1] if device.kind == "cuda"]
    assert [(device.name, device.key) for device in gpus] == [(H100.name, old.key), (H100.name, "h100")]
