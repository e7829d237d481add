"""The ceilings of this machine are plausible, and the bounds made of them are the paper's."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Device, Problem
from tilewright.planning import roofline
from tilewright.targets.cpu import llvm, processor
from tilewright.tuning import ceilings_cpu

pytestmark = pytest.mark.cpu

LIMITS = {"vector_bits": 512, "vector_registers": 32, "masks": 1, "cores": 2, "l3": 32 << 20}
CEILINGS = {
    "bandwidth.update.1": 20e9,
    "bandwidth.update.2": 30e9,
    "bandwidth.stream.1": 24e9,
    "peak.d.1": 60e9,
    "peak.d.2": 120e9,
    "peak.s.1": 120e9,
    "peak.z.1": 60e9,
    "peak.c.1": 120e9,
    "price_unit_bits": 256.0,
}
DEVICE = Device("cpu", "made up", "made-up", LIMITS, ceilings=CEILINGS)


def one(spelling, **fields):
    return Problem.parse(spelling, **fields)[0]


# -- bounds, on made-up ceilings ----------------------------------------------------------------
@pytest.mark.parametrize(("letter", "parts"), [("d", 16), ("s", 8), ("z", 8), ("c", 4)])
@pytest.mark.parametrize("beta", ["0", "1", "any"])
def test_the_memory_bound_is_the_papers(letter, parts, beta):
    n, problem = 8, one(f"{letter}:8x8x8", beta=beta)
    bound = roofline.bound(problem, DEVICE, "memory")
    assert bound.limit == "bandwidth.update"
    assert bound.flops_per_s == pytest.approx(n * 20e9 / parts)
    assert bound.seconds == pytest.approx(problem.flops / bound.flops_per_s)
    assert "20.0 GB/s" in bound.formula


@pytest.mark.parametrize(("letter", "parts"), [("d", 12), ("s", 6), ("z", 6), ("c", 3)])
def test_streaming_saves_a_quarter_of_the_bytes_where_c_is_not_read(letter, parts):
    problem = one(f"{letter}:8x8x8")
    bound = roofline.bound(problem, DEVICE, "memory", streaming=True)
    assert bound.limit == "bandwidth.stream"
    assert bound.flops_per_s == pytest.approx(8 * 24e9 / parts)
    update = roofline.bound(problem.with_(beta="1"), DEVICE, "memory", streaming=True)
    assert update.limit == "bandwidth.update"


def test_a_shared_operand_costs_no_stream():
    alone = roofline.bound(one("d:8x8x8@10"), DEVICE, "memory")
    shared = roofline.bound(one("d:8x8x8@10", stride_b=0), DEVICE, "memory")
    assert shared.seconds == pytest.approx(0.75 * alone.seconds)


def test_large_products_are_bound_by_the_peak_even_from_memory():
    bound = roofline.bound(one("d:64x64x64"), DEVICE, "memory")
    assert bound.limit == "peak"
    assert bound.flops_per_s == pytest.approx(60e9)


@pytest.mark.parametrize(("n", "part"), [(1, 1 / 4), (4, 1), (5, 5 / 8), (9, 9 / 12), (12, 1), (16, 1)])
def test_the_compute_ceiling_has_the_price_unit(n, part):
    problem = one(f"d:{n}..{n}")
    assert roofline.ceiling(problem, DEVICE) == pytest.approx(60e9 * part)
    bound = roofline.bound(problem, DEVICE, "cached")
    assert bound.limit == "peak"
    assert bound.seconds == pytest.approx(problem.flops / (60e9 * part))


def test_the_price_unit_counts_reals_and_follows_the_device():
    assert roofline.efficiency(one("s:12x4x4"), DEVICE) == 0.75
    assert roofline.efficiency(one("z:3x4x4"), DEVICE) == 0.75
    assert roofline.efficiency(one("c:4x4x4"), DEVICE) == 1
    whole = replace(DEVICE, ceilings=CEILINGS | {"price_unit_bits": 512.0})
    assert roofline.efficiency(one("d:12x4x4"), whole) == 0.75
    unknown = replace(DEVICE, ceilings={})
    assert roofline.efficiency(one("d:12x4x4"), unknown) == 0.75


def test_other_counts_of_cores_are_neither_free_nor_lost():
    small = one("d:8x8x8")
    both = roofline.bound(small, DEVICE, "memory", 2)
    assert both.flops_per_s == pytest.approx(8 * 30e9 / 16)
    four = replace(DEVICE, ceilings={k.replace(".2", ".8"): v for k, v in CEILINGS.items()})
    assert roofline.bound(small, four, "memory", 4).flops_per_s == pytest.approx(8 * 30e9 / 16)
    assert roofline.ceiling(small, four, 4) == pytest.approx(120e9)


def test_what_was_not_measured_is_named():
    with pytest.raises(DeviceError, match=r"peak\.d.*never measured"):
        roofline.bound(one("d:8x8x8"), replace(DEVICE, ceilings={}), "cached")
    with pytest.raises(ArgumentError, match="regime='warm'"):
        roofline.bound(one("d:8x8x8"), DEVICE, "warm")


# -- programs -------------------------------------------------------------------------------------
def loaded(source):
    kernel = llvm.load(llvm.compile(source, processor.probe()))
    return kernel, llvm.PROTOTYPE(kernel.address)


@pytest.mark.parametrize("mix", ceilings_cpu.MIXES)
def test_a_bandwidth_loop_does_what_its_mix_says(mix):
    bits = processor.probe()["vector_bits"]
    step, steps = ceilings_cpu.UNROLL * bits // 64, 5
    raw = [np.empty(step * steps + 64 + step, np.float64) for _ in range(4)]
    a, b, c, sink = (x[(-x.ctypes.data % 64) // 8 :][: step * steps + step] for x in raw)
    rng = np.random.default_rng(0)
    for x in (a, b, c):
        x[:] = rng.standard_normal(x.size)
    sink[:] = 7
    before = c.copy()
    kernel, call = loaded(ceilings_cpu.bandwidth_ir(mix, bits))
    call(a.ctypes.data, b.ctypes.data, c.ctypes.data, 0, 0, 0, steps, sink.ctypes.data)
    used = step * steps
    assert (c[used:] == before[used:]).all(), "no step too many"
    if mix == "read":
        assert (c == before).all()
        total = (a + b + before)[:used].reshape(steps, step).sum(axis=0)
        assert sink[:step] == pytest.approx(total)
    else:
        old = before if mix == "update" else 0
        assert c[:used] == pytest.approx((a + b + old)[:used])
    assert kernel.owner is not None


def test_a_bandwidth_loop_goes_through_its_first_steps_again_and_again():
    bits = processor.probe()["vector_bits"]
    step = ceilings_cpu.UNROLL * bits // 64
    raw = [np.ones(5 * step + 64) for _ in range(4)]
    a, b, c, sink = (x[(-x.ctypes.data % 64) // 8 :][: 5 * step] for x in raw)
    _, call = loaded(ceilings_cpu.bandwidth_ir("update", bits))
    call(a.ctypes.data, b.ctypes.data, c.ctypes.data, 3, 0, 0, 7, sink.ctypes.data)
    # Three steps, three steps, and one: each adds a + b = 2 to what it meets.
    assert (c.reshape(5, step) == np.array([7, 5, 5, 1, 1])[:, None]).all()


def test_a_knee_is_at_a_footprint_that_was_measured(ceilings):
    device = processor.probe()
    for cores in {1, device["cores"]}:
        knee = ceilings[f"knee.{cores}"]
        assert knee > 0
        # However noisy: no less than a core has for itself, no more than the caches of these cores claim.
        most = cores * (device["l2"] + device["l3"]) if "l3" in device.limits else knee
        assert replace(device, ceilings=ceilings).knee(cores) == max(min(knee, most), device["l2"])


def test_only_the_mix_stream_streams():
    device = processor.probe()
    if not device.features.startswith("x86_64"):
        pytest.skip("names of x86 instructions")
    for mix in ceilings_cpu.MIXES:
        text = llvm.assembly(ceilings_cpu.bandwidth_ir(mix, device["vector_bits"]), device)
        count = len(re.findall(r"\tvmovntpd", text))
        assert count == (ceilings_cpu.UNROLL if mix == "stream" else 0), mix


@pytest.mark.parametrize("real", [32, 64])
def test_a_peak_loop_keeps_its_multiply_adds_and_spills_nothing(real):
    device = processor.probe()
    source = ceilings_cpu.peak_ir(real, device["vector_bits"])
    binary = llvm.compile(source, device)
    assert binary.facts["fma"] >= ceilings_cpu.CHAINS * ceilings_cpu.TURNS
    assert binary.facts["spills"] == 0
    _, call = loaded(source)
    lanes, kind = device["vector_bits"] // real, f"f{real // 8}"
    x, y, out = (
        np.full(lanes, 0.5, kind),
        np.full(lanes, 3.0, kind),
        np.zeros(lanes * ceilings_cpu.CHAINS, kind),
    )
    call(x.ctypes.data, y.ctypes.data, 0, 0, 0, 0, 1, out.ctypes.data)
    assert (out == 3 * (1 + 0.5 + 0.25 + 0.125)).all(), "TURNS steps of s = s/2 + 3"


# -- this machine ---------------------------------------------------------------------------------
def test_all_ceilings_are_there(ceilings):
    found = ceilings
    counts = {1, processor.probe()["cores"]}
    names = [f"bandwidth.{mix}" for mix in ceilings_cpu.MIXES] + [f"peak.{letter}" for letter in "sdcz"]
    names.append("knee")
    assert set(found) == {f"{name}.{count}" for name in names for count in counts} | {"price_unit_bits"}
    assert all(isinstance(value, float) for value in found.values())


def test_ceilings_are_plausible(ceilings):
    found = ceilings
    for name, value in found.items():
        if name.startswith("bandwidth"):
            assert 0.5e9 < value < 2e12, name
    assert 1e9 < found["peak.d.1"] < 1e12
    assert 1.6 < found["peak.s.1"] / found["peak.d.1"] < 2.4
    assert found["peak.z.1"] == found["peak.d.1"]
    assert found["price_unit_bits"] in (128, 256, 512)
    assert found["price_unit_bits"] <= processor.probe()["vector_bits"]
    # Bytes that are counted for plain stores leave out the write-allocate, so they look slower.
    assert found["bandwidth.write.1"] < 1.1 * found["bandwidth.update.1"]


def test_more_cores_have_no_lower_ceiling(ceilings):
    found = ceilings
    cores = processor.probe()["cores"]
    for name, value in found.items():
        if name.endswith(".1"):
            assert found[f"{name[:-2]}.{cores}"] >= value


def test_bounds_can_be_made_of_what_was_measured(ceilings):
    device = replace(processor.probe(), ceilings=ceilings)
    memory = roofline.bound(one("d:4x4x4"), device, "memory")
    cached = roofline.bound(one("d:4x4x4"), device, "cached")
    assert memory.seconds > cached.seconds > 0
    assert memory.limit == "bandwidth.update"


def test_a_failing_work_ends_the_team():
    def broken():
        raise ValueError("broken on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        ceilings_cpu._together([[lambda: None, broken]], rounds=3)
