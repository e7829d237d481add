"""The commands for GPUs without one: ceilings and bounds as numbers, screens of made-up rows, and a
comparison on host memory that stands for a device's."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import lines, public
from bench.analysis import profiler
from bench.analysis.instructions import Instruction, hottest, instructions, loops, mix
from bench.analysis.occupancy import occupancy
from bench.analysis.options import named, parsed, problems
from bench.analysis.rooflines import interleaved_bytes, planar_bytes, rooflines
from tilewright.calls import explain, settings
from tilewright.catalog import TARGETS
from tilewright.cli import compare, main, queries, render
from tilewright.cli.report import pages
from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Config, Device, Launch, Plan, Problem, Record, Timing
from tilewright.planning import dispatch, roofline
from tilewright.runtime import build
from tilewright.store.records import Records
from tilewright.targets.cuda import bindings, capability, devices, disassemble
from tilewright.tuning import ceilings_cuda
from tilewright.tuning.baselines import cublas

pytestmark = pytest.mark.pure

H200 = capability.named("h200")
CEILINGS = {"bandwidth.copy.1": 4e12, **capability.units(H200)}
KNOWN = replace(H200, ceilings=CEILINGS)


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    capsys.readouterr()
    code = 0
    try:
        main.main(list(words))
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


# ---- ceilings and bounds


def test_units_are_lanes_times_clock() -> None:
    found = capability.units(H200)
    assert found["peak.s.1"] == found["peak.c.1"] == pytest.approx(66.9e12, rel=1e-3)
    assert found["peak.d.1"] == found["peak.z.1"] == pytest.approx(33.45e12, rel=1e-3)
    assert found["peak.h.1"] == found["peak.b.1"] == found["peak.hc.1"] == found["peak.s.1"]
    # 989.4 Tflop/s at the lower clock of the white paper's tensor units.
    assert (
        found["tensor.h.1"] == found["tensor.b.1"] == found["tensor.hc.1"] == pytest.approx(1070e12, rel=1e-2)
    )
    assert capability.units(capability.named("a100"))["tensor.h.1"] == pytest.approx(312e12, rel=1e-2)
    assert found["tensor.d.1"] == found["tensor.z.1"] == pytest.approx(66.9e12, rel=1e-3)
    assert capability.units(capability.named("a100"))["tensor.d.1"] == pytest.approx(19.5e12, rel=1e-2)
    assert not [name for name in capability.units(capability.named("b200")) if "tensor" in name]
    # Table 1 of the paper on the Fermi: 1030 and 515 Gflop/s.
    fermi = capability.units(capability.named("fermi-s2050"))
    assert fermi["peak.s.1"] == pytest.approx(1030e9, rel=1e-2)
    assert fermi["peak.d.1"] == pytest.approx(515e9, rel=1e-2)


def test_a_large_product_is_bound_by_the_units() -> None:
    for letter, limit, speed in (
        ("s", "peak", 66.9e12),
        ("c", "peak", 66.9e12),
        ("d", "tensor", 66.9e12),
        ("z", "tensor", 66.9e12),
    ):
        for regime in ("memory", "cached"):
            bound = roofline.bound(one(f"{letter}:nn:4096x4096x4096"), KNOWN, regime)
            assert bound.limit == limit
            assert bound.flops_per_s == pytest.approx(speed, rel=1e-3)
            assert bound.seconds == pytest.approx(one(f"{letter}:nn:4096x4096x4096").flops / speed, rel=1e-3)
    plain = replace(
        H200, ceilings={name: rate for name, rate in CEILINGS.items() if not name.startswith("tensor")}
    )
    assert roofline.bound(one("d:nn:4096x4096x4096"), plain, "memory").limit == "peak"


def test_a_small_product_is_bound_by_the_copy() -> None:
    n = 16
    product = one(f"d:nn:{n}x{n}x{n}@100000")
    bound = roofline.bound(product, KNOWN, "memory")
    assert bound.limit == "bandwidth.copy"
    assert bound.seconds == pytest.approx(3 * 8 * n * n / 4e12)
    assert bound.flops_per_s == pytest.approx(product.flops / bound.seconds)
    assert "4000.0 GB/s" in bound.formula
    for beta in ("1", "any"):
        update = roofline.bound(product.with_(beta=beta), KNOWN, "memory")
        assert update.seconds == pytest.approx(4 / 3 * bound.seconds)
    # Whatever a CPU's kernel may do with its stores.
    assert roofline.bound(product, KNOWN, "memory", 7, streaming=True) == bound
    # An operand of the whole batch is read once.
    shared = roofline.bound(product.with_(stride_b=0), KNOWN, "memory")
    assert shared.seconds == pytest.approx(2 / 3 * bound.seconds, rel=1e-4)
    assert roofline.bound(product, KNOWN, "cached").limit == "tensor"


def test_what_was_not_measured_is_named() -> None:
    with pytest.raises(DeviceError, match=r"tilewright doctor"):
        roofline.bound(one("s:nn:8x8x8@9"), H200, "cached")
    with pytest.raises(ArgumentError, match="regime='warm'"):
        roofline.bound(one("s:nn:8x8x8@9"), KNOWN, "warm")


class Gpu:
    """Stands for the driver: memory is a number, a copy takes as long as its bytes say."""

    def __init__(self, free: int, rate: float = 4e12):
        self.free, self.rate = free, rate
        self.told: list[tuple[int, int, int]] = []
        self.contexts: list[int] = []
        self.elapsed = 0.0

    def context(self, index: int = 0) -> int:
        self.contexts.append(index)
        return 1

    def allocate(self, size: int) -> Any:
        if size > self.free // 2:
            raise DeviceError(f"size={size}")
        return SimpleNamespace(address=4096 * (1 + len(self.told)), size=size)

    def fill(self, address: int, size: int, byte: int) -> None:
        assert size <= self.free // 2

    def bindings(self) -> Any:
        return SimpleNamespace(cuMemcpyDtoDAsync=self.copy)

    def copy(self, target: int, source: int, size: int, stream: int) -> tuple[int]:
        self.told.append((target, source, size))
        self.elapsed += 2 * size / self.rate
        return (0,)

    @property
    def Stopwatch(self) -> Any:
        def time(run: Callable[[], object], repeats: int, stream: int = 0) -> float:
            before = self.elapsed
            for _ in range(repeats):
                run()
            # Every ninth sample is disturbed.
            return (self.elapsed - before) * (3 if len(self.told) % 9 == 0 else 1)

        return lambda: SimpleNamespace(time=time)


@pytest.mark.parametrize(("free", "size"), [(1 << 34, 1 << 30), (600 << 20, 256 << 20)])
def test_a_copy_is_measured(free: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(free)
    monkeypatch.setattr(ceilings_cuda, "driver", gpu)
    monkeypatch.setattr(bindings, "bindings", gpu.bindings)
    found = ceilings_cuda.measure(H200, 3)
    assert found.keys() == CEILINGS.keys()
    assert found["bandwidth.copy.1"] == pytest.approx(4e12)
    assert {told[2] for told in gpu.told} == {size}
    assert set(gpu.contexts) == {3}


def test_no_room_for_a_copy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings_cuda, "driver", Gpu(1 << 20))
    with pytest.raises(DeviceError, match="no room"):
        ceilings_cuda.measure(H200)


# ---- screens


def test_numbers_are_as_long_as_they_can_be_read() -> None:
    assert render.count(0) == "0"
    assert render.count(9_999_999) == "9,999,999"
    assert render.count(68_000_000_000_000_000) == "6.8e16"
    assert render.count(10_000_000) == "1.0e7"
    assert render.count(1_234_567_890_123_456_789_012) == "1.2e21"
    assert render.rate(None) == "-"
    assert render.rate(9999.0) == "9999.0 GF/s"
    assert render.rate(51300.0) == "51.30 TF/s"
    assert render.speeds([12.34, None]) == ("GF/s", ["12.3", "-"])
    assert render.speeds([51300.0, None, 120.0]) == ("TF/s", ["51.30", "-", "0.12"])
    assert render.speeds([]) == ("GF/s", [])


def result(kind: str, gflops: float) -> dict[str, Any]:
    return {
        "problem": "s:nn:4096x4096x4096@1",
        "beta": "0",
        "kind": kind,
        "regime": "memory",
        "tried": 10,
        "seconds": 6.0,
        "waited": 1.25,
        "gflops": gflops,
        "against_vendor": 1.0,
        "stencil": "classic",
        "config": {"n_dim": 16},
        "missing": "",
        "predicted": None,
        "half_width": 0.002,
        "tied": [{"stencil": "tiny", "config": {}}],
        "note": "a drift of +3%",
    }


def test_tuning_a_gpu_says_how_long_it_waited(capsys: pytest.CaptureFixture[str]) -> None:
    render.tuned([result("cuda", 51300.0)])
    out = capsys.readouterr().out
    assert re.search(r"tried\s+s\s+s waited\s+TF/s\s+±\s+x vendor", out)
    assert re.search(r"10\s+6\.0\s+1\.2\s+51\.30\s+0\.2%\s+1\.00", out)
    assert "memory: tied with 1 other; a fixed order chose" in out
    assert "memory: while the best were timed: a drift of +3%" in out
    render.tuned([result("cpu", 51.3)])
    out = capsys.readouterr().out
    assert "waited" not in out
    assert re.search(r"10\s+6\.0\s+51\.3\s+0\.2%\s+1\.00", out)


def test_a_funnel_of_large_numbers_stays_in_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "space", "z:nn:4096x4096x4096", "--device", "fermi-s2050")
    assert code == 0
    assert re.search(r"\d\.\de\d\d", out)
    assert not re.search(r"\d{1,3}(,\d{3}){3}", out)
    code, out, _ = said(capsys, "space", "z:nn:4096x4096x4096", "--device", "fermi-s2050", "--json")
    (row,) = json.loads(out)
    assert row["all"] == row["funnel"][0]["left"] > 10**15


# ---- looking without a device


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def probe(index: int = 0) -> Device:
        raise DeviceError("no CUDA driver is installed")

    monkeypatch.setattr(devices, "missing", lambda: "no CUDA driver is installed")
    monkeypatch.setattr(devices, "probe", probe)
    settings.forget()


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "s:nn:64x64x64"),
        ("show", "s:nn:64x64x64"),
        ("space", "s:nn:64x64x64"),
        ("bench", "s:nn:64x64x64"),
        ("tune", "s:nn:64x64x64"),
        ("export", "nowhere.jsonl"),
    ],
)
def test_without_a_gpu_one_line_says_so(
    words: tuple[str, ...], no_gpu: None, new_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, *words, "--device", "cuda")
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert "no CUDA driver is installed" in err


def test_a_device_that_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "explain", "s:nn:64x64x64", "--device", "tpu")
    assert code == 2
    assert "device='tpu'; accepted: cpu, cuda, fermi-s2050, a100, h100, h200, b200" in err


def test_explain_on_a_device_that_is_not_here(
    no_gpu: None, new_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dispatch.records().save_ceilings("b200", 1, CEILINGS)
    code, out, _ = said(capsys, "explain", "s:nn:4096x4096x4096", "--device", "b200")
    assert code == 0
    assert "runs   vendor: cuBLAS" in out
    assert "no record speaks for it" in out
    code, out, _ = said(capsys, "explain", "s:nn:4096x4096x4096@2", "--device", "b200")
    assert code == 0
    assert "runs   default: classic" in out
    assert re.search(r"tile   \d+ x \d+ of C a block, k in steps of \d+", out)
    assert re.search(r"starts \d+ blocks of \d+ threads", out)
    assert "reads  memory" in out
    assert "bound  66.91 TF/s, by peak" in out
    assert "core" not in out
    code, out, _ = said(capsys, "explain", "s:nn:4096x4096x4096@2", "--device", "b200", "--json")
    (row,) = json.loads(out)
    assert row["device"] == "b200"
    assert row["bound_gflops"] == pytest.approx(66908, rel=1e-3)
    assert row["launch"]["block"][0] >= 32


def test_a_vendor_plan_names_cublas() -> None:
    plan = Plan(one("s:nn:8x8x8"), KNOWN, "cached", "vendor", "the records say that it is faster")
    text = explain.explain_plan(plan)
    assert "runs   vendor: cuBLAS, by the array library's matmul" in text
    assert "numpy" not in text


def test_registers_are_told_of_what_was_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dispatch.plan(one("s:nn:512x512x512"), KNOWN, vendor=False)
    assert "registers a thread" not in explain.explain_plan(plan)
    kernel = SimpleNamespace(binary=SimpleNamespace(facts={"registers": 77}))
    monkeypatch.setattr(build, "key", lambda *_: "its name")
    monkeypatch.setattr(build, "_loaded", {"its name": kernel})
    assert "77 registers a thread" in explain.explain_plan(plan)


def test_the_source_is_shown_without_a_compiler(
    no_gpu: None, new_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise DeviceError("no compiler")

    monkeypatch.setattr(TARGETS["cuda"], "compile", refuse)
    asked = ("show", "z:tn:64x64x64", "--device", "a100")
    code, out, _ = said(capsys, *asked, "--stage", "cuda")
    assert code == 0
    assert "#define TYPE_BITS 64\n#define COMPLEX 1\n#define TRANS_A 1\n" in out
    assert "__global__" in out
    assert "no facts" in out
    code, out, err = said(capsys, *asked, "--stage", "sass")
    assert (code, out) == (2, "")
    assert "no compiler" in err
    code, _, err = said(capsys, *asked, "--stage", "asm")
    assert code == 2
    assert "stage='asm'; accepted: ptx, cuda, sass" in err


def test_sass_without_a_disassembler_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disassemble, "disassembler", lambda: None)
    with pytest.raises(DeviceError, match="neither nvdisasm nor cuobjdump"):
        disassemble.sass(SimpleNamespace(entry="classic", code=b""))  # type: ignore[arg-type]


# ---- measuring beside others


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A GPU that counts what is done on it, PyTorch that fails, and no CuPy."""
    seen: dict[str, Any] = {"uploads": [], "calls": []}
    device = replace(KNOWN, limits={**KNOWN.limits, "l2": 1 << 20})
    monkeypatch.setattr(dispatch, "device", lambda kind="cpu": device)
    places = iter(range(1, 1 << 20))

    def upload(address: int, array: Any) -> None:
        seen["uploads"].append((address, array.nbytes, array.dtype.name))

    driver = SimpleNamespace(
        context=lambda index=0: 1,
        allocate=lambda size: SimpleNamespace(address=512 * next(places), size=size),
        upload=upload,
        synchronize=lambda: None,
    )
    monkeypatch.setattr(compare, "driver", driver)

    class Watch:
        def time(self, run: Callable[[], object], repeats: int) -> float:
            before = len(seen["calls"])
            for _ in range(repeats):
                run()
            # Ours takes 1 ms, a peer's 2 ms.
            return sum(1e-3 if name == "ours" else 2e-3 for name, *_ in seen["calls"][before:])

        def sample(self, regime: str) -> float:
            return 2e-3

    def plan(a: Any, b: Any, c: Any = None, **options: Any) -> Any:
        def run(a: Any, b: Any, c: Any, *, out: Any) -> None:
            seen["calls"].append(("ours", *(x.__cuda_array_interface__["data"][0] for x in (a, b, out))))

        run.plan = Plan(one("s:nn:64x64x64"), device, "memory", "default", "", "classic", Config({}))  # type: ignore[attr-defined]
        seen["options"] = options
        return run

    def no_cupy() -> str | None:
        raise ImportError("cupy")

    def product(problem: Problem, pointers: tuple[int, int, int], alpha: complex, beta: complex) -> Any:
        return lambda: seen["calls"].append(("torch", *pointers))

    monkeypatch.setattr(compare, "Events", Watch)
    monkeypatch.setattr(compare, "api", SimpleNamespace(plan=plan))
    monkeypatch.setattr(compare, "_viewed", lambda memories, libraries: memories)
    monkeypatch.setattr(cublas, "has_torch", lambda: "cublas by torch 9")
    monkeypatch.setattr(cublas, "has_cupy", no_cupy)
    monkeypatch.setattr(cublas, "torch_product", product)
    return seen


def test_a_comparison_goes_through_copies(host: dict[str, Any]) -> None:
    problem = one("c:nt:256x256x256")
    row = compare.compare_cuda(problem, "memory", 0.01).to_json()
    assert row["kind"] == "cuda"
    assert row["device"] == "h200"
    assert row["missing"] == ["cupy: not installed"]
    assert row["ratios"] == {"torch": pytest.approx(2.0)}
    assert row["gflops"] == pytest.approx(problem.flops / 1e-3 / 1e9)
    assert row["percent_of_bound"] == pytest.approx(100 * row["gflops"] / row["bound_gflops"])
    assert host["options"]["trans_b"] == "t"
    # Twice the cache of 1 MiB: two copies of 1.5 MiB, each used by everybody in turns.
    assert len(host["uploads"]) == 6
    assert {kind for _, _, kind in host["uploads"]} == {"complex64"}
    assert {size for _, size, _ in host["uploads"]} == {8 * 256 * 256}
    for name in ("ours", "torch"):
        assert len({tuple(place) for who, *place in host["calls"] if who == name}) == 2
    cached = compare.compare_cuda(problem.with_(beta="1"), "cached", 0.01)
    assert cached.bound is not None
    assert len(host["uploads"]) == 9
    assert host["options"]["beta"] == 1


def test_a_peer_that_fails_is_left_out(host: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("no memory")

    monkeypatch.setattr(cublas, "torch_product", broken)
    row = compare.compare_cuda(one("s:nn:256x256x256"), "cached", 0.01).to_json()
    assert row["ratios"] == {}
    assert row["missing"] == ["torch: RuntimeError: no memory", "cupy: not installed"]


def test_what_cannot_be_compared(host: dict[str, Any]) -> None:
    for problem in (
        one("s:nn:64x64x64", beta="any"),
        one("s:nn:64x64x64", lda=80),
        one("c:jn:64x64x64"),
    ):
        with pytest.raises(ArgumentError, match="accepted: packed, n, t or c"):
            compare.compare_cuda(problem, "memory")


def test_the_screen_of_a_comparison(host: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    row = compare.compare_cuda(one("s:nn:4096x4096x4096"), "cached", 0.01).to_json()
    render.comparison([row | {"gflops": 51300.0, "percent_of_bound": 76.7}])
    out = capsys.readouterr().out
    assert "cached, beta 0, h200: TF/s" in out
    assert "x torch" in out
    assert "51.30" in out
    assert "not compared with cupy: not installed" in out
    assert "core" not in out


# ---- records


def tried(device: str, spelling: str, stencil: str, seconds: float, toolchain: str, **config: Any) -> Record:
    timing = Timing((seconds,), seconds, seconds, seconds, "memory", 1, 2)
    return Record(
        one(spelling),
        "memory",
        stencil,
        Config(config),
        "ok",
        device,
        toolchain,
        timing=timing,
        seconds=seconds,
        protocol=2,
        when="2026-01-01",
    )


@pytest.fixture
def records(tmp_path: Path) -> Records:
    made = Records(tmp_path / "records.sqlite")
    for n in (512, 1024):
        for k in (8, 16, 32):
            made.append(tried("h200", f"s:nn:{n}x{n}x{n}", "classic", n**3 / (k * 1e12), "nvrtc 13", k_blk=k))
        made.append(tried("h200", f"s:nn:{n}x{n}x{n}", "vendor", n**3 / 25e12, "cublas by torch"))
    made.append(tried("old <gpu>", "d:nn:64x64x64", "classic", 1e-5, "nvrtc 12", k_blk=8))
    made.append(tried("a-cpu", "d:nn:8x8x8", "tile", 1e-7, "llvm 20", blk_n=1))
    return made


def test_a_page_of_several_devices(records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("plotly")
    cpu = Device("cpu", "A processor", "a-cpu", {})
    monkeypatch.setattr(dispatch, "records", lambda: records)
    monkeypatch.setattr(dispatch, "device", lambda kind="cpu": cpu)
    monkeypatch.setattr(devices, "missing", lambda: "no driver")
    records.save_ceilings("h200", 1, CEILINGS)
    rows, known = queries.reported()
    assert [(d.key, d.kind) for d in known] == [("a-cpu", "cpu"), ("h200", "cuda"), ("old <gpu>", "cuda")]
    page = tmp_path / "page.html"
    written = queries.page(page, [], [], every=False, library="embedded")
    assert {name: written[name] for name in ("devices", "problems", "tries", "shown")} == {
        "devices": ["a-cpu", "h200", "old <gpu>"],
        "problems": 4,
        "tries": 8,
        "shown": 8,
    }
    text = page.read_text()
    assert text.count("plotly.js v") == 1
    assert "old &lt;gpu&gt;" in text
    assert "old <gpu>" not in text
    # 64 Tflop/s of 66.9, of cuBLAS 50.
    assert re.search(r">64\.00 TF/s</td><td[^>]*>96</td><td[^>]*>1\.28</td>", text)
    with pytest.raises(ArgumentError, match="no timed kernel"):
        pages.report(page, rows, [Device("cpu", "x", "x", {})])


def test_records_of_a_gpu_are_written_without_ceilings(
    records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records.save_ceilings("h200", 1, CEILINGS)
    records.save_ceilings("a-cpu", 1, {"peak.d.1": 1e10})
    monkeypatch.setattr(dispatch, "records", lambda: records)
    path = tmp_path / "gpu.jsonl"
    assert queries.exported(path, H200, every=False) == 2
    assert [json.loads(line).keys() & {"ceilings"} for line in path.read_text().splitlines()] == [set()] * 2
    assert queries.exported(path, H200, every=True) == 8
    assert len(path.read_text().splitlines()) == 8
    assert queries.exported(path, Device("cpu", "A", "a-cpu", {}), every=False) == 1
    assert len(path.read_text().splitlines()) == 2


# ---- what a kernel is made of


def test_planes_have_half_the_intensity() -> None:
    n = 64
    for beta in ("1", "any"):
        pairs = one(f"hc:{n}x{n}x{n}", beta=beta)
        assert interleaved_bytes(pairs) == pairs.bytes == 16 * n * n
        assert planar_bytes(pairs) == 32 * n * n
        assert pairs.flops / interleaved_bytes(pairs) == n / 2
        real = one(f"h:{n}x{n}x{n}", beta=beta)
        assert pairs.flops / planar_bytes(pairs) == real.flops / real.bytes == n / 4
    fresh = one("hc:8x4x2")
    assert interleaved_bytes(fresh) == fresh.bytes == 4 * (16 + 8 + 32)
    assert planar_bytes(fresh) == 2 * (4 * (16 + 8 + 32) + 2 * 32)
    found = rooflines(one("hc:8x8x8@9", beta="1"), KNOWN)
    assert found["interleaved"]["intensity"] == 2 * found["planar"]["intensity"] == 4
    assert found["interleaved"]["bound_tflops"] == pytest.approx(16)
    assert found["interleaved"]["bound_terabytes"] == pytest.approx(4)
    assert found["interleaved"]["limit"] == "bandwidth.copy"
    large = rooflines(one("d:4096x4096x4096"), KNOWN)
    assert set(large) == {"interleaved"}
    assert large["interleaved"]["limit"] == "tensor"
    assert large["interleaved"]["bound_tflops"] == pytest.approx(66.9, rel=1e-3)


LISTING = """
tiny:
.text.tiny:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   LDG.E.64 R2, [R4.64] ;
        /*0020*/                   DFMA R2, R2, R4, R6 ;
        /*0030*/                   DFMA R2, R2, R4, R6 ;
        /*0040*/                   IADD3 R1, R1, 0x1, RZ ;
        /*0050*/                   STG.E.64 [R4.64], R2 ;
        /*0060*/              @!P1 BRA `(.L_x_1) ;
.L_x_2:
.L_x_3:
        /*0070*/              @!UP0 UBLKCP.S.G [UR10], [UR4], UR12 ;
        /*0080*/                   LDS.128 R8, [R3] ;
        /*0090*/                   DFMA R2, R2, R4, R6 ;
        /*00a0*/               @P0 BRA `(.L_x_3) ;
        /*00b0*/                   EXIT ;
.L_x_4:
        /*00c0*/                   BRA `(.L_x_1) ;
        /*00d0*/                   NOP ;
"""


def test_instructions_are_counted_by_class() -> None:
    found, labels = instructions(LISTING)
    assert labels == {".L_x_1": 0x10, ".L_x_2": 0x70, ".L_x_3": 0x70, ".L_x_4": 0xC0}
    assert len(found) == 13
    assert mix(found) == {
        "float": 3,
        "tensor": 0,
        "convert": 0,
        "integer": 1,
        "shared": 1,
        "device": 3,
        "control": 4,
        "move": 1,
    }
    # The longer loop is for what is left over: the other one asks for data ahead. Behind the end is none.
    assert [len(loop) for loop in loops(LISTING)] == [6, 4]
    assert hottest(LISTING)[0].name == "UBLKCP.S.G"
    # As cuobjdump writes it: addresses in place of labels, the code behind.
    bare = re.sub(r"`\(\.L_x_1\) ;", "0x10 ;                /* 0x00000000000a7947 */", LISTING)
    assert [len(loop) for loop in loops(bare)] == [6, 4]
    assert hottest("") == []
    kinds = {
        "HMMA.16816.F32": "tensor",
        "DMMA.16x8x4": "tensor",
        "HGMMA.64x8x16.F32": "tensor",
        "HADD2.F32": "convert",
        "HADD2": "float",
        "F2FP.F16.F32.PACK_AB": "convert",
        "FFMA": "float",
        "MUFU.RCP": "float",
        "FENCE.VIEW.ASYNC.S": "control",
        "FLO.U32": "integer",
        "IMAD.MOV.U32": "move",
        "IMAD": "integer",
        "LDGSTS.E.BYPASS.128": "device",
        "LDGDEPBAR": "control",
        "LDSM.16.M88.4": "shared",
        "UTMACMDFLUSH": "control",
        "LEA.HI": "integer",
        "SYNCS.ARRIVE.TRANS64": "control",
        "RED.E.ADD": "device",
        "R2UR": "move",
    }
    for name, kind in kinds.items():
        assert Instruction(0, name, "").kind == kind, name


@pytest.mark.parametrize(
    ("a", "b", "elements"),
    [
        ((7, 2, 3), (7, 3, 5), 7 * (6 + 15 + 10)),
        ((2, 3), (7, 3, 5), 6 + 7 * (15 + 10)),
        ((8, 1, 4, 4), (8, 9, 4, 4), 16 * (8 + 72 + 72)),
        ((7, 16, 4), (), 7 * (64 + 256)),
    ],
)
def test_a_public_product_counts_every_operand_once(
    a: tuple[int, ...], b: tuple[int, ...], elements: int
) -> None:
    assert public.Shape("", "c", a, b).bytes == 8 * elements


def test_public_products_fill_a_gpu_where_that_is_left_open() -> None:
    for shape in public.SHAPES:
        full = shape.filled()
        assert public.MANY not in full.a + full.b
        if full != shape:
            assert public.BYTES / 2 < full.bytes <= public.BYTES
    assert len({shape.name for shape in public.SHAPES}) == len(public.SHAPES)


def test_what_holds_back_the_blocks_of_an_sm() -> None:
    launch = Launch(grid=(792, 1, 1), block=(64, 1, 1), shared=32896)
    found = occupancy(launch, {"registers": 101, "shared": 0}, H200)
    assert found["limits"] == {"registers": 9, "shared": 6, "warps": 32, "blocks": 32, "grid": 6}
    assert (found["blocks_per_sm"], found["warps_per_sm"]) == (6, 12)
    assert found["occupancy"] == pytest.approx(12 / 64)


def test_what_the_profiler_prints_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "==PROF== Connected to process 1\n"
        '"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
        '"0","1","tiny","dram__bytes_read.sum","byte","665,600,000"\n'
        '"0","1","tiny","dram__bytes_write.sum","byte","332800000"\n'
        '"0","1","tiny","gpu__time_duration.sum","ns","250000"\n'
        '"0","1","tiny","smsp__inst_executed_pipe_tensor.sum","","n/a"\n'
        '"0","1","tiny","some__other.sum","inst","7"\n'
    )
    assert profiler.measured(text) == {"bytes_read": 665.6e6, "bytes_written": 332.8e6, "seconds": 250e-6}
    assert profiler.measured("==ERROR== ERR_NVGPUCTRPERM") == {}
    problem = one("d:8x8x8@650000")
    monkeypatch.setattr(profiler, "find", lambda: None)
    with pytest.raises(DeviceError, match="ncu"):
        profiler.profiled(problem)
    monkeypatch.setattr(profiler, "find", lambda: "ncu")
    asked: list[list[str]] = []

    def run(command: list[str], **_: Any) -> Any:
        asked.append(command)
        unknown = "==ERROR== Failed to find metric smsp__inst_executed_pipe_tensor.sum\n"
        return SimpleNamespace(stdout=unknown if len(asked) == 1 else text, stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    found = profiler.profiled(problem)
    assert found["bytes_per_second"] == pytest.approx(998.4e6 / 250e-6)
    assert found["bytes_over_least"] == pytest.approx(1.0)
    assert "pipe_tensor" in " ".join(asked[0])
    assert "pipe_tensor" not in " ".join(asked[1])
    assert asked[0][-4:] == ["--launch", "d:nn:8x8x8@650000", "--beta", "0"]
    monkeypatch.setattr(
        subprocess, "run", lambda *_, **__: SimpleNamespace(stdout="==ERROR== no leave", stderr="")
    )
    with pytest.raises(DeviceError, match="no leave"):
        profiler.profiled(problem)


def test_problems_of_an_analysis() -> None:
    options = parsed(["--problems", "d:8x8x8@9,h:16..17@5", "--device", "h200"])
    found = problems(options.problems, lines.words(options.beta))
    assert [(p.spelling, p.beta) for p in found][:2] == [("d:nn:8x8x8@9", "0"), ("d:nn:8x8x8@9", "1")]
    assert len(found) == 6
    with pytest.raises(ArgumentError, match="names nothing"):
        parsed([])
    with pytest.raises(ArgumentError, match="--copy"):
        named("a100")
    assert named("a100", 1.5e12).ceilings["bandwidth.copy.1"] == 1.5e12
    assert named("h200", 4e12).ceilings["tensor.h.1"] > 9e14


def test_the_disassembler_of_the_python_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "nvidia" / "cu13" / "bin" / "nvdisasm"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(disassemble, "TOOLKIT", str(tmp_path / "none"))
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path / "nvidia")])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    assert disassemble.disassembler() == (str(program), "--print-code")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert disassemble.disassembler() is None
