"""The commands for GPUs without one: ceilings and bounds as numbers, screens of made-up rows, and a
comparison on host memory that stands for a device's."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import analysis, batches, lines
from tilewright import answers, api, cli, compare, dispatch, roofline, roofline_cuda, screens
from tilewright.catalog import TARGETS
from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Binary, Config, Device, Launch, Plan, Problem, Record, Timing, Verdict
from tilewright.records import Records
from tilewright.report import pages
from tilewright.targets import capability, cuda, listing
from tilewright.trials import Finals, Outcome, cublas
from tilewright.tune import Result
from tilewright.workers import Answer

pytestmark = pytest.mark.pure

H200 = capability.named("h200")
CEILINGS = {"bandwidth.copy.1": 4e12, **roofline_cuda.units(H200)}
KNOWN = replace(H200, ceilings=CEILINGS)


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    capsys.readouterr()
    code = 0
    try:
        cli.main(list(words))
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


# ---- ceilings and bounds


def test_units_are_lanes_times_clock() -> None:
    found = roofline_cuda.units(H200)
    assert found["peak.s.1"] == found["peak.c.1"] == pytest.approx(66.9e12, rel=1e-3)
    assert found["peak.d.1"] == found["peak.z.1"] == pytest.approx(33.45e12, rel=1e-3)
    assert found["peak.h.1"] == found["peak.b.1"] == found["peak.hc.1"] == found["peak.s.1"]
    # 989.4 Tflop/s at the lower clock of the white paper's tensor units.
    assert (
        found["tensor.h.1"] == found["tensor.b.1"] == found["tensor.hc.1"] == pytest.approx(1070e12, rel=1e-2)
    )
    assert roofline_cuda.units(capability.named("a100"))["tensor.h.1"] == pytest.approx(312e12, rel=1e-2)
    assert found["tensor.d.1"] == found["tensor.z.1"] == pytest.approx(66.9e12, rel=1e-3)
    assert roofline_cuda.units(capability.named("a100"))["tensor.d.1"] == pytest.approx(19.5e12, rel=1e-2)
    assert not [name for name in roofline_cuda.units(capability.named("b200")) if "tensor" in name]
    # Table 1 of the paper on the Fermi: 1030 and 515 Gflop/s.
    fermi = roofline_cuda.units(capability.named("fermi-s2050"))
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
    monkeypatch.setattr(roofline_cuda, "driver", gpu)
    monkeypatch.setattr(cuda, "bindings", gpu.bindings)
    found = roofline_cuda.measure(H200, 3)
    assert found.keys() == CEILINGS.keys()
    assert found["bandwidth.copy.1"] == pytest.approx(4e12)
    assert {told[2] for told in gpu.told} == {size}
    assert set(gpu.contexts) == {3}


def test_no_room_for_a_copy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline_cuda, "driver", Gpu(1 << 20))
    with pytest.raises(DeviceError, match="no room"):
        roofline_cuda.measure(H200)


# ---- screens


def test_numbers_are_as_long_as_they_can_be_read() -> None:
    assert screens.count(0) == "0"
    assert screens.count(9_999_999) == "9,999,999"
    assert screens.count(68_000_000_000_000_000) == "6.8e16"
    assert screens.count(10_000_000) == "1.0e7"
    assert screens.count(1_234_567_890_123_456_789_012) == "1.2e21"
    assert screens.rate(None) == "-"
    assert screens.rate(9999.0) == "9999.0 GF/s"
    assert screens.rate(51300.0) == "51.30 TF/s"
    assert screens.speeds([12.34, None]) == ("GF/s", ["12.3", "-"])
    assert screens.speeds([51300.0, None, 120.0]) == ("TF/s", ["51.30", "-", "0.12"])
    assert screens.speeds([]) == ("GF/s", [])


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
    }


def test_tuning_a_gpu_says_how_long_it_waited(capsys: pytest.CaptureFixture[str]) -> None:
    screens.tuned([result("cuda", 51300.0)])
    out = capsys.readouterr().out
    assert re.search(r"tried\s+s\s+s waited\s+TF/s\s+x vendor", out)
    assert re.search(r"10\s+6\.0\s+1\.2\s+51\.30\s+1\.00", out)
    screens.tuned([result("cpu", 51.3)])
    out = capsys.readouterr().out
    assert "waited" not in out
    assert re.search(r"10\s+6\.0\s+51\.3\s+1\.00", out)


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

    monkeypatch.setattr(cuda, "missing", lambda: "no CUDA driver is installed")
    monkeypatch.setattr(cuda, "probe", probe)
    api.forget()


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
    text = api.explain_plan(plan)
    assert "runs   vendor: cuBLAS, by the array library's matmul" in text
    assert "numpy" not in text


def test_registers_are_told_of_what_was_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dispatch.plan(one("s:nn:512x512x512"), KNOWN, vendor=False)
    assert "registers a thread" not in api.explain_plan(plan)
    kernel = SimpleNamespace(binary=SimpleNamespace(facts={"registers": 77}))
    monkeypatch.setattr(api.build, "key", lambda *_: "its name")
    monkeypatch.setattr(api.build, "_loaded", {"its name": kernel})
    assert "77 registers a thread" in api.explain_plan(plan)


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
    monkeypatch.setattr(listing, "disassembler", lambda: None)
    with pytest.raises(DeviceError, match="neither nvdisasm nor cuobjdump"):
        listing.sass(SimpleNamespace(entry="classic", code=b""))  # type: ignore[arg-type]


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
    screens.comparison([row | {"gflops": 51300.0, "percent_of_bound": 76.7}])
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
    cpu = Device("cpu", "A processor", "a-cpu", {"cores": 1})
    monkeypatch.setattr(dispatch, "records", lambda: records)
    monkeypatch.setattr(dispatch, "device", lambda kind="cpu": cpu)
    monkeypatch.setattr(cuda, "missing", lambda: "no driver")
    records.save_ceilings("h200", 1, CEILINGS)
    devices = answers.reported()
    assert [(d.key, d.kind) for d in devices] == [("a-cpu", "cpu"), ("h200", "cuda"), ("old <gpu>", "cuda")]
    page = tmp_path / "page.html"
    written = pages.write(page, records, devices)
    assert written == {
        "path": str(page),
        "devices": ["a-cpu", "h200", "old <gpu>"],
        "problems": 4,
        "tries": 10,
        "sweeps": 2,
    }
    text = page.read_text()
    assert text.count("<section id=") == 3
    assert text.count("<option value=") == 3
    assert "<option value=device-old--gpu->old &lt;gpu&gt;</option>" in text
    assert text.count("function chosen()") == 1
    assert text.count("plotly.js v") == 1
    assert "x cuBLAS" in text
    assert "x NumPy" in text
    assert "No bound" in text
    # 64 Tflop/s of 66.9.
    assert re.search(r"<td>64\.00</td><td>96</td><td>1\.28</td>", text)
    # One device needs no choice.
    pages.write(page, records, [devices[1]])
    assert "<select" not in page.read_text()
    with pytest.raises(ArgumentError, match="no timed kernel"):
        pages.write(page, records, [Device("cpu", "x", "x", {})])


def test_records_of_a_gpu_are_written_without_ceilings(
    records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records.save_ceilings("h200", 1, CEILINGS)
    records.save_ceilings("a-cpu", 1, {"peak.d.1": 1e10})
    monkeypatch.setattr(dispatch, "records", lambda: records)
    path = tmp_path / "gpu.jsonl"
    assert answers.exported(path, H200, every=False) == 2
    assert [json.loads(line).keys() & {"ceilings"} for line in path.read_text().splitlines()] == [set()] * 2
    assert answers.exported(path, H200, every=True) == 8
    assert len(path.read_text().splitlines()) == 8
    assert answers.exported(path, Device("cpu", "A", "a-cpu", {}), every=False) == 1
    assert len(path.read_text().splitlines()) == 2


# ---- the commands of bench for batches


def test_types_are_spelled_with_commas_or_without() -> None:
    assert lines.letters("sdcz") == ["s", "d", "c", "z"]
    assert lines.letters("h,b,hc") == ["h", "b", "hc"]
    assert lines.letters("hc") == ["hc"]
    assert lines.letters("h, s") == ["h", "s"]
    for text in ("x", "h,cz", "s,d,q"):
        with pytest.raises(ArgumentError, match="accepted: any of h, b, s, d, c, z, hc"):
            lines.letters(text)


def test_whole_sectors_are_counted() -> None:
    packed = [one(text) for text in ("d:8x8x8", "h:3x3x3", "s:7x13x24", "hc:5x5x5", "z:tn:3x8x13")]
    for problem in packed:
        for beta in ("0", "1"):
            asked = problem.with_(beta=beta)
            assert batches.sectors(asked) == pytest.approx(asked.bytes)
    # Columns of 24 bytes, 64 apart: one sector each, and two where they cross into the next.
    wide = one("d:3x3x3", lda=8, ldb=8, ldc=8)
    assert batches.sectors(wide) == 3 * 3 * 32
    assert batches.sectors(wide.with_(beta="1")) == 4 * 3 * 32
    # 32 bytes from column to column: each has a sector of its own, of which 24 bytes are wanted.
    assert batches.sectors(one("d:3x3x3", lda=4, ldb=4, ldc=4)) == 3 * 3 * 32
    # Gaps of two bytes cost as much as no gaps: every sector is touched.
    assert batches.sectors(one("h:3x3x3", lda=4, ldb=4, ldc=4)) == 3 * 24
    # 17 doubles: columns begin anywhere in a sector, and share those at their ends with the next.
    assert batches.sectors(one("d:16x16x16", lda=17, ldb=17, ldc=17)) == 3 * 17 * 16 * 8
    # By hand: columns of 40 bytes, 72 apart, four of them in 288 bytes, which are 9 sectors; touched are
    # 0-1, 2-3, 4-5, 6-7: the last is not.
    assert batches.sectors(one("d:5x4x4", lda=9, ldb=4, ldc=9)) == 2 * 8 * 32 + 4 * 4 * 8
    shared = one("d:8x8x8@10", stride_b=0)
    assert batches.sectors(shared) == pytest.approx(8 * 64 * 2.1)


def test_shapes_are_the_same_every_time() -> None:
    shapes = batches.mixed()
    assert len(set(shapes)) == len(shapes) == 60
    assert shapes == batches.mixed()
    assert not any(m == n == k for m, n, k in shapes)
    assert {extent for shape in shapes for extent in shape} == {3, 7, 8, 13, 16, 24, 32}
    assert [batches.paddings(n) for n in (3, 8, 16)] == [(4, 6, 16), (9, 11, 16), (17, 19, 24)]
    assert batches.filling(one("d:8x8x8"), 1e9).batch == 651041
    assert batches.filling(one("d:8x8x8"), 1e9, most=100).batch == 100
    assert batches.filling(one("d:8x8x8"), 1.0).batch == 1


def test_a_command_of_batches_has_its_own_defaults() -> None:
    squares = batches.parsed(["squares"])
    assert squares.types == ["h", "b", "s", "d", "c", "z", "hc"]
    assert lines.numbers(squares.sizes) == list(range(1, 33))
    assert (squares.betas, squares.bytes, squares.budget) == ("0,1", 1e9, 20.0)
    assert batches.parsed(["rectangles"]).budget == 0
    told = batches.parsed(["counts", "--types", "h,hc", "--n", "8", "--counts", "1,10", "--bytes", "1e6"])
    assert (told.types, told.sizes, told.counts, told.bytes) == (["h", "hc"], "8", "1,10", 1e6)
    for words, match in (
        (["half", "--betas", "2"], "'2'; accepted: 0, 1, any"),
        (["rectangles", "--parts", "all"], "'all'; accepted: shapes, padded"),
        (["half", "--types", "hx"], "type 'x'"),
        (["half", "--draw", "a.jsonl"], "needs --plot"),
    ):
        with pytest.raises(ArgumentError, match=match):
            batches.parsed(words)


class Bench:
    """Stands for the timing child: ours moves 4 TB/s, tensor cores and the peer half as much."""

    def __init__(self, missing: str = "") -> None:
        self.missing = missing
        self.asked: list[Any] = []

    def ask(self, request: Any, timeout: float | None = None, meanwhile: Any = None) -> Answer:
        self.asked.append(request)
        kind, *rest = request
        if kind == "prepare":
            self.problem, self.regime = rest
            if self.problem.m == 16:
                return Answer(request, "failed", detail="no room")
            return Answer(request, "ok")
        candidates, rounds = rest

        def timing(seconds: float) -> Timing:
            samples = (seconds,) * rounds
            return Timing(samples, seconds, seconds, seconds, self.regime, self.problem.batch, 2)

        once = self.problem.bytes * self.problem.batch / 4e12
        outcomes = [
            Outcome(Verdict(True, 0.1), timing(once * (2 if c.config.get("mma") else 1)), "1980 MHz")
            for c in candidates
        ]
        vendor = None if self.missing else ("cublas by torch 9", timing(2 * once))
        return Answer(request, "ok", Finals(outcomes, vendor, self.missing))

    def stop(self) -> None:
        self.asked.append("stop")


class FakeTuner:
    """Stands for the tuner: compiles nothing, and searches by taking the default."""

    def __init__(self, device: Device, records: Records):
        self.device, self.bench, self.compilers, self.patience = device, Bench(), [], 1.0
        self.searched: list[Any] = []

    def __exit__(self, *_: object) -> None:
        pass

    def tune(self, problem: Problem, regime: str, *, stencils: Any, **options: Any) -> Result:
        self.searched.append((problem, options))
        if problem.m == 7:
            raise ArgumentError(f"problem={problem.spelling}: no stencil accepts it")
        seconds = problem.bytes * problem.batch / 3.96e12
        timing = Timing((seconds,) * 5, seconds, seconds, seconds, regime, problem.batch, 2)
        config = Config({"path": "bulk", "mma": 0})
        best = Record(problem, regime, "tiny", config, "ok", "h200", "", timing=timing, protocol=2)
        vendor = replace(best, stencil="vendor", config=Config({}), toolchain="cublas by torch 9")
        return Result(problem, regime, best, vendor, tried=4)


class Compiled:
    """Stands for the stream of compilers: everything at once, in another order."""

    def __init__(self, workers: Any, requests: Any, ahead: int):
        self.left = [Answer(request, "ok", Binary(b"", "tiny", "")) for request in reversed(requests)]

    def __next__(self) -> Answer:
        return self.left.pop(0)

    def drop(self) -> None:
        pass


@pytest.fixture
def bench_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, new_home: Path
) -> Callable[..., tuple[batches.Run, list[dict[str, Any]]]]:
    """Run a command on a GPU that is not there; the run, and the lines that it wrote."""
    monkeypatch.setattr(batches, "Tuner", FakeTuner)
    monkeypatch.setattr(batches, "stream", Compiled)
    monkeypatch.setattr(batches, "conversion", lambda problem: 1.0)

    def go(*words: str) -> tuple[batches.Run, list[dict[str, Any]]]:
        out = tmp_path / "out.jsonl"
        out.unlink(missing_ok=True)
        options = batches.parsed([*words, "--out", str(out), "--records", str(tmp_path / "records.sqlite")])
        with batches.Run(options, KNOWN, lines.console()) as run:
            run.copy = 4e12
            batches.COMMANDS[options.command].run(run)
        return run, [line for line in lines.read(out) if line["kind"] != "run"]

    return go


def test_squares_are_searched_and_summed_up(bench_run: Any, tmp_path: Path) -> None:
    run, found = bench_run("squares", "--types", "d,hc", "--sizes", "4,7,8")
    assert len(found) == 12
    assert [line for line in found if "of_copy" not in line] == [
        line for line in found if "7x7x7" in line["problem"]
    ]
    best = found[0]
    assert best["of_copy"] == pytest.approx(0.99)
    assert best["against_cublas"] == 1.0
    assert (best["stencil"], best["peer"]) == ("tiny", "cublas by torch 9")
    texts = batches.summary(found)
    assert len(texts) == 4
    assert "2 of 3 points at 95% of a copy or more, least 99.0 % at n=4" in texts[0]
    assert "n=2..16: 1.00 x peer (geometric mean of 2)" in texts[0]
    assert "97%" in texts[1]
    # What was measured once is where the next run begins, the fastest first.
    seeds = tmp_path / "seeds.jsonl"
    line = {"kind": "squares", "problem": "d:nn:4x4x4@9", "beta": "0", "stencil": "tiny"}
    rows = [line | {"config": {"path": "bulk", "group": g}, "tflops": g} for g in (1, 3, 2)]
    rows += [line | {"config": {"path": "bulk", "group": 9}, "tflops": 9, "stencil": "tensor"}]
    rows += [line | {"config": None, "tflops": None}]
    seeds.write_text("\n".join(json.dumps(row) for row in rows))
    configs = batches.seeds_of(seeds, one("d:4x4x4@77"), "tiny", 2)
    assert [config["group"] for config in configs] == [3, 2]
    run, found = bench_run("squares", "--types", "d", "--sizes", "4", "--betas", "0", "--seeds", str(seeds))
    (_, options) = run.tuner.searched[0]
    assert options["search"] == "exhaustive"
    assert found[0]["stage"] == "seeds"


def test_rectangles_are_timed_as_dispatch_chooses(bench_run: Any) -> None:
    run, found = bench_run("rectangles", "--types", "d", "--count", "5")
    assert len(found) == 5 + 15
    for line in found:
        problem = one(line["problem"])
        if problem.m == 16:
            assert line["wrong"] == line["missing"] == "no room"
            continue
        # Tensor cores take twice as long, which the peer does too.
        faster = 1.0 if line["config"]["mma"] else 2.0
        assert line["against_cublas"] == pytest.approx(faster)
        assert line["origin"] in ("tuned", "near", "default")
        assert line["tflops"] == pytest.approx(faster * line["cublas_tflops"])
        # Packed bytes move at the speed of a copy here, so a padded layout has more than all of it.
        assert line["of_copy"] == pytest.approx(line["bytes_per_second"] / 4e12)
        assert line["of_copy"] >= 0.499 * faster
    assert {line["layout"] for line in found} >= {"packed", "ld4,4,4", "ld6,6,6", "ld16,16,16"}
    assert "stop" in run.tuner.bench.asked
    padded = next(line for line in found if line["layout"] == "ld4,4,4")
    assert padded["of_copy"] == pytest.approx(288 / 216, rel=1e-3)
    run, found = bench_run("rectangles", "--types", "d", "--parts", "padded", "--budget", "1")
    assert len(run.tuner.searched) == 15
    assert {line["stencil"] for line in found} == {"tiny"}
    assert not run.tuner.bench.asked


def test_half_times_every_stencil_and_counts_the_conversion(bench_run: Any) -> None:
    _, found = bench_run("half", "--sizes", "32,128", "--betas", "0")
    where = [(line["problem"].partition("@")[0], line["stencil"]) for line in found]
    assert ("h:nn:32x32x32", "tiny") in where
    assert ("h:nn:32x32x32", "tensor") in where
    assert ("hc:nn:128x128x128", "tensor") in where
    assert ("hc:nn:128x128x128", "tiny") not in where
    for line in found:
        assert line["regime"] == "memory"
        assert one(line["problem"]).batch <= 100_000
        counted = (line["cublas_seconds"] + 1.0) / line["seconds"]
        assert line.get("against_counted") == (
            pytest.approx(counted) if line["problem"].startswith("hc") else None
        )
    named = batches.curves("half", found)
    assert named["hc beta 0 tensor"][0] == [32.0, 128.0]
    assert named["h beta 0 peer"][1] == pytest.approx(
        [line["cublas_tflops"] for line in found if line["problem"][1] == ":" and line["stencil"] == "tensor"]
    )


def test_updates_and_counts(bench_run: Any) -> None:
    _, found = bench_run("updates", "--types", "h,s", "--ks", "8", "--sizes", "32,128")
    assert {(line["alpha"], line["beta"], line["k"]) for line in found} == {("any", "1", 8)}
    assert len(found) == 4
    assert set(batches.curves("updates", found)) >= {"h beta 1 k=8 peer", "s beta 1 k=8 peer"}
    _, found = bench_run("counts", "--types", "d", "--n", "8", "--counts", "1,1000,1000000", "--bytes", "1e8")
    assert [line["count"] for line in found] == [1000000, 1, 1000]
    assert found[0]["missing"] == "1.5 GB, more than --bytes"
    assert {line["regime"] for line in found[1:]} == {"cached"}
    (curve, peer) = batches.curves("counts", found).values()
    assert curve[0] == peer[0] == [1.0, 1000.0]


def test_the_crossover_is_found(bench_run: Any) -> None:
    _, found = bench_run("crossover", "--types", "h", "--sizes", "4,8", "--count", "3")
    assert [line["problem"].partition("@")[0] for line in found] == ["h:nn:4x4x4", "h:nn:8x8x8"]
    for line in found:
        assert line["tried"] in (6, 7)
        assert line["fma"]["config"]["mma"] == 0
        assert line["tensor"]["config"]["mma"] == 16
        assert line["tensor_over_fma"] == pytest.approx(0.5)
    assert batches.summary(found) == ["h beta 0: tensor cores win at none of 2 sizes"]
    ratios = {2: 0.7, 4: 1.1, 6: 0.9, 8: 1.2, 10: 1.5}
    made = [
        {"kind": "crossover", "problem": f"h:nn:{n}x{n}x{n}@9", "beta": "0", "tensor_over_fma": ratio}
        for n, ratio in ratios.items()
    ]
    assert batches.summary(made) == ["h beta 0: tensor cores win first at n=4, at every size from n=8 on"]


def test_time_runs_out(bench_run: Any) -> None:
    _, found = bench_run("squares", "--types", "d", "--sizes", "4,8", "--limit", "0")
    assert found == []
    _, found = bench_run("rectangles", "--types", "d", "--parts", "shapes", "--limit", "0")
    assert len(found) == 1


def test_calls_are_clocked_in_turns() -> None:
    done: list[str] = []
    ways = {"a": lambda: done.append("a"), "b": lambda: done.append("b")}
    waits: list[int] = []
    single = batches.clocked(ways, batches.Synchronized(lambda: waits.append(len(done)), 1), 7)
    assert set(single) == {"a", "b"}
    assert all(0 < figures["low"] <= figures["us"] <= figures["high"] for figures in single.values())
    # After every call, and around it.
    assert len(waits) >= 2 * 7 * 3
    assert done.count("a") == done.count("b")
    watch = batches.Synchronized(lambda: None, 0)
    assert watch.sample("cached") > 0
    assert watch.time(lambda: None, 3) > 0


def test_a_figure_without_plotly_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert batches.plot(tmp_path / "x.html", "calls", []) == "calls has no figure"
    monkeypatch.setitem(sys.modules, "plotly", None)
    assert batches.plot(tmp_path / "x.html", "half", []) == "no figure: plotly is not installed"


# ---- what a kernel is made of


def test_planes_have_half_the_intensity() -> None:
    n = 64
    for beta in ("1", "any"):
        pairs = one(f"hc:{n}x{n}x{n}", beta=beta)
        assert analysis.interleaved_bytes(pairs) == pairs.bytes == 16 * n * n
        assert analysis.planar_bytes(pairs) == 32 * n * n
        assert pairs.flops / analysis.interleaved_bytes(pairs) == n / 2
        real = one(f"h:{n}x{n}x{n}", beta=beta)
        assert pairs.flops / analysis.planar_bytes(pairs) == real.flops / real.bytes == n / 4
    fresh = one("hc:8x4x2")
    assert analysis.interleaved_bytes(fresh) == fresh.bytes == 4 * (16 + 8 + 32)
    assert analysis.planar_bytes(fresh) == 2 * (4 * (16 + 8 + 32) + 2 * 32)
    found = analysis.rooflines(one("hc:8x8x8@9", beta="1"), KNOWN)
    assert found["interleaved"]["intensity"] == 2 * found["planar"]["intensity"] == 4
    assert found["interleaved"]["bound_tflops"] == pytest.approx(16)
    assert found["interleaved"]["bound_terabytes"] == pytest.approx(4)
    assert found["interleaved"]["limit"] == "bandwidth.copy"
    large = analysis.rooflines(one("d:4096x4096x4096"), KNOWN)
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
    found, labels = analysis.instructions(LISTING)
    assert labels == {".L_x_1": 0x10, ".L_x_2": 0x70, ".L_x_3": 0x70, ".L_x_4": 0xC0}
    assert len(found) == 13
    assert analysis.mix(found) == {
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
    assert [len(loop) for loop in analysis.loops(LISTING)] == [6, 4]
    assert analysis.hottest(LISTING)[0].name == "UBLKCP.S.G"
    # As cuobjdump writes it: addresses in place of labels, the code behind.
    bare = re.sub(r"`\(\.L_x_1\) ;", "0x10 ;                /* 0x00000000000a7947 */", LISTING)
    assert [len(loop) for loop in analysis.loops(bare)] == [6, 4]
    assert analysis.hottest("") == []
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
        assert analysis.Instruction(0, name, "").kind == kind, name


def test_what_holds_back_the_blocks_of_an_sm() -> None:
    launch = Launch(grid=(792, 1, 1), block=(64, 1, 1), shared=32896)
    found = analysis.occupancy(launch, {"registers": 101, "shared": 0}, H200)
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
    assert analysis.measured(text) == {"bytes_read": 665.6e6, "bytes_written": 332.8e6, "seconds": 250e-6}
    assert analysis.measured("==ERROR== ERR_NVGPUCTRPERM") == {}
    problem = one("d:8x8x8@650000")
    monkeypatch.setattr(analysis, "profiler", lambda: None)
    with pytest.raises(DeviceError, match="ncu"):
        analysis.profiled(problem)
    monkeypatch.setattr(analysis, "profiler", lambda: "ncu")
    asked: list[list[str]] = []

    def run(command: list[str], **_: Any) -> Any:
        asked.append(command)
        unknown = "==ERROR== Failed to find metric smsp__inst_executed_pipe_tensor.sum\n"
        return SimpleNamespace(stdout=unknown if len(asked) == 1 else text, stderr="")

    monkeypatch.setattr(analysis.subprocess, "run", run)
    found = analysis.profiled(problem)
    assert found["bytes_per_second"] == pytest.approx(998.4e6 / 250e-6)
    assert found["bytes_over_least"] == pytest.approx(1.0)
    assert "pipe_tensor" in " ".join(asked[0])
    assert "pipe_tensor" not in " ".join(asked[1])
    assert asked[0][-4:] == ["--launch", "d:nn:8x8x8@650000", "--beta", "0"]
    monkeypatch.setattr(
        analysis.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout="==ERROR== no leave", stderr="")
    )
    with pytest.raises(DeviceError, match="no leave"):
        analysis.profiled(problem)


def test_problems_of_an_analysis() -> None:
    options = analysis.parsed(["--problems", "d:8x8x8@9,h:16..17@5", "--device", "h200"])
    found = analysis.problems(options.problems, lines.words(options.beta))
    assert [(p.spelling, p.beta) for p in found][:2] == [("d:nn:8x8x8@9", "0"), ("d:nn:8x8x8@9", "1")]
    assert len(found) == 6
    with pytest.raises(ArgumentError, match="names nothing"):
        analysis.parsed([])
    with pytest.raises(ArgumentError, match="--copy"):
        analysis.named("a100")
    assert analysis.named("a100", 1.5e12).ceilings["bandwidth.copy.1"] == 1.5e12
    assert analysis.named("h200", 4e12).ceilings["tensor.h.1"] > 9e14


def test_the_disassembler_of_the_python_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "nvidia" / "cu13" / "bin" / "nvdisasm"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(listing, "TOOLKIT", str(tmp_path / "none"))
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path / "nvidia")])
    monkeypatch.setattr(listing.importlib.util, "find_spec", lambda name: spec)
    assert listing.disassembler() == (str(program), "--print-code")
    monkeypatch.setattr(listing.importlib.util, "find_spec", lambda name: None)
    assert listing.disassembler() is None
