"""The CUDA compiler: machine code and facts for devices that are not there."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright.errors import CompileError, DeviceError
from tilewright.model import Binary, Device, Kernel, Launch, Source
from tilewright.targets.cuda import bindings, devices, driver, nvrtc
from tilewright.targets.cuda import launch as launches
from tilewright.targets.cuda import library as libraries
from tilewright.targets.cuda.capability import key_of, named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

HEADER = """#pragma once
struct Arguments { const float *from; float *to; int n; };
"""
SMALL = Source(
    """#include "lib/arguments.cuh"
#ifndef FACTOR
#define FACTOR 1
#endif
extern "C" __global__ void small(const __grid_constant__ Arguments g) {
    __shared__ float kept[64];
    kept[threadIdx.x] = g.from[threadIdx.x] * FACTOR;
    __syncthreads();
    g.to[threadIdx.x] = kept[63 - threadIdx.x];
}
""",
    "small",
    headers=(("lib/arguments.cuh", HEADER),),
)
# 128 values that are all alive, in the 64 registers that 1024 threads leave to each.
SPILLING = Source(
    """#include "lib/arguments.cuh"
extern "C" __global__ void other(const __grid_constant__ Arguments g) { g.to[threadIdx.x] = 1; }
extern "C" __global__ void __launch_bounds__(1024) spilling(const __grid_constant__ Arguments g) {
    float r[128];
#pragma unroll
    for (int i = 0; i < 128; i++) r[i] = g.from[i * 32 + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < g.n; j++)
#pragma unroll
        for (int i = 0; i < 128; i++) r[i] = r[i] * r[(i * 7 + 1) % 128] + g.from[j];
#pragma unroll
    for (int i = 0; i < 128; i++) g.to[i * 32 + threadIdx.x] = r[i];
}
""",
    "spilling",
    headers=SMALL.headers,
)
A100, H200 = named("a100"), named("h200")


@pytest.mark.parametrize("device", [A100, H200], ids=lambda d: d.features)
def test_a_kernel_and_its_facts(device: Device) -> None:
    made = nvrtc.compile(SMALL, device)
    assert made.code[:4] == b"\x7fELF"
    assert (made.entry, made.digest) == ("small", SMALL.digest)
    facts = dict(made.facts)
    assert 0 < facts.pop("registers") < 64
    assert facts == {"spills": 0, "stack": 0, "shared": 256, "warnings": 0, "code_bytes": len(made.code)}


@pytest.mark.parametrize("device", [A100, H200], ids=lambda d: d.features)
def test_spills_are_those_of_the_entry(device: Device) -> None:
    spilling = nvrtc.compile(SPILLING, device).facts
    assert spilling["spills"] > 0
    assert spilling["stack"] > 0
    assert spilling["registers"] <= 64
    other = nvrtc.compile(replace(SPILLING, entry="other"), device).facts
    assert (other["spills"], other["stack"]) == (0, 0)


def test_the_same_source_gives_the_same_bytes_in_any_process() -> None:
    made = nvrtc.compile(SMALL, H200)
    again = nvrtc.compile(SMALL, H200)
    assert (again.code, again.facts) == (made.code, made.facts)
    program = (
        "import hashlib\nfrom tilewright.model import Source\nfrom tilewright.targets.cuda import nvrtc\n"
        "from tilewright.targets.cuda.capability import named\n"
        f"source = Source({SMALL.text!r}, 'small', headers={SMALL.headers!r})\n"
        "print(hashlib.sha256(nvrtc.compile(source, named('h200')).code).hexdigest())"
    )
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == hashlib.sha256(made.code).hexdigest()


def test_definitions_reach_the_program_and_enter_its_digest() -> None:
    tripled = replace(SMALL, defines=(("FACTOR", "3"),))
    assert tripled.digest != SMALL.digest
    assert nvrtc.compile(tripled, H200).code != nvrtc.compile(SMALL, H200).code


def test_an_error_is_told_with_its_true_line() -> None:
    wrong = replace(SMALL, text=SMALL.text + "int wrong = ;\n", defines=(("FACTOR", "3"),))
    line = wrong.text.count("\n")
    with pytest.raises(CompileError, match=rf"NVRTC refused small for sm_90a: small\.cu\({line}\): error"):
        nvrtc.compile(wrong, H200)
    assert f"small.cu({line}): error" in nvrtc.log(wrong, H200)


def test_errors_of_every_stage_are_told() -> None:
    asm = 'extern "C" __global__ void k() { asm volatile("no.such;"); }'
    with pytest.raises(CompileError, match="ptxas application ptx input"):
        nvrtc.compile(Source(asm, "k"), H200)
    with pytest.raises(CompileError, match=r'cannot open source file "gone\.cuh"'):
        nvrtc.compile(Source('#include "gone.cuh"\n', "k"), H200)
    large = 'extern "C" __global__ void k(int* p) { __shared__ int s[20000]; s[*p] = 1; *p = s[p[1]]; }'
    with pytest.raises(CompileError, match=r"^NVRTC refused k for sm_80: ptxas error .*too much shared data"):
        nvrtc.compile(Source(large, "k"), A100)
    with pytest.raises(CompileError, match=r"the program has no kernel 'absent'"):
        nvrtc.compile(replace(SMALL, entry="absent"), H200)


def test_a_device_that_the_compiler_has_dropped() -> None:
    with pytest.raises(CompileError, match=r"for sm_20: .*gpu-architecture"):
        nvrtc.compile(SMALL, named("fermi-s2050"))


def test_warnings_are_counted() -> None:
    text = SMALL.text.replace("    __syncthreads();", "    int unused;\n    __syncthreads();")
    assert nvrtc.compile(replace(SMALL, text=text), H200).facts["warnings"] == 1


LOG = """k.cu(4): warning #177-D: variable "unused" was declared but never referenced

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

ptxas warning : Value of threads per SM for entry k is out of range. .minnctapersm will be ignored
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'kk' for 'sm_90a'
ptxas info    : Function properties for kk
ptxas         .     8 bytes stack frame, 1 bytes spill stores, 1 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 8 bytes cumulative stack size, 4 bytes smem
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    704 bytes stack frame, 1264 bytes spill stores, 1448 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 704 bytes cumulative stack size, 128 bytes smem
ptxas info    : Function properties for _Z1fPfi
ptxas         .     16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
"""


def test_facts_are_read_from_a_log_of_several_entries() -> None:
    """A function that is called counts with its caller; the layout of nvcc's ptxas is read, too."""
    facts = nvrtc.facts_of(LOG, "k")
    assert facts == {"registers": 32, "spills": 1264 + 1448 + 12, "stack": 704, "shared": 128, "warnings": 3}
    assert nvrtc.facts_of(LOG, "kk")["registers"] == 8


def test_the_toolchain_names_the_build() -> None:
    words, version = nvrtc.toolchain().split()
    assert words == "nvrtc"
    assert [part.isdigit() for part in version.split(".")] == [True] * 3


# ---- what is missing


@pytest.fixture
def forgotten() -> Any:
    devices.missing.cache_clear()
    nvrtc.compiler_missing.cache_clear()
    yield
    devices.missing.cache_clear()
    nvrtc.compiler_missing.cache_clear()


class Result(int):
    """A code of the driver."""

    CUDA_ERROR_NO_DEVICE = 100


def pretended(version: int, start: int = 0, devices: int = 1) -> SimpleNamespace:
    return SimpleNamespace(
        CUresult=Result,
        cuDriverGetVersion=lambda: (0, version),
        cuInit=lambda flags: (start,),
        cuDeviceGetCount=lambda: (0, devices),
    )


@pytest.mark.parametrize(
    ("library", "reason"),
    [
        (
            pretended(12080),
            "the CUDA driver is too old: it is of CUDA 12.8, and NVRTC 13.4 needs one of CUDA 13",
        ),
        (pretended(0), "no CUDA driver is installed"),
        (pretended(13000, start=100), "the CUDA driver finds no device"),
        (pretended(13000, devices=0), "the CUDA driver finds no device"),
        (pretended(13000, start=803), "the CUDA driver cannot be initialised"),
        (SimpleNamespace(), "no CUDA driver is installed"),
    ],
)
def test_what_is_missing_is_said(
    library: Any, reason: str, forgotten: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "bindings", lambda: library)
    monkeypatch.setattr(devices, "_nvrtc_version", lambda nvrtc: (13, 4))
    assert (devices.missing() or "").startswith(reason)
    assert devices.count() == 0
    with pytest.raises(DeviceError, match="CUDA driver"):
        devices.probe.__wrapped__()


def test_a_driver_of_the_same_major_version_will_do(forgotten: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "bindings", lambda: pretended(13000))
    monkeypatch.setattr(devices, "_nvrtc_version", lambda nvrtc: (13, 4))
    assert devices.missing() is None


def test_bindings_that_are_not_there(forgotten: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "cuda" or name.startswith("cuda.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cuda", None)
    reason = nvrtc.compiler_missing()
    assert reason is not None
    assert "pip install 'tilewright[cuda]'" in reason
    assert devices.missing() == reason
    with pytest.raises(DeviceError, match="bindings"):
        nvrtc.compile(SMALL, H200)


def test_a_compiler_that_is_not_there(forgotten: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(nvrtc: Any) -> tuple[int, int]:
        raise RuntimeError("libnvrtc.so.13 cannot be found")

    monkeypatch.setattr(nvrtc, "_nvrtc_version", lost)
    assert "NVRTC" in (nvrtc.compiler_missing() or "")


def test_keys_of_devices() -> None:
    assert key_of("NVIDIA H200") == "h200"
    assert key_of("NVIDIA A100-SXM4-40GB") == "a100-sxm4-40gb"
    assert key_of("Tesla V100-SXM2-16GB") == "v100-sxm2-16gb"


# ---- what is laid out by hand for the driver


def test_the_driver_is_told_what_its_headers_say() -> None:
    """Sizes and offsets: cuda.h of CUDA 13.0, as a C compiler lays it out."""
    api = bindings.bindings()
    assert driver.CLUSTER_DIMENSION == api.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    assert ctypes.sizeof(driver.Attribute) == 72
    assert driver.Attribute.value.offset == 8
    layout = driver.Configuration
    assert ctypes.sizeof(layout) == 56
    assert (layout.shared.offset, layout.stream.offset) == (24, 32)
    assert (layout.attributes.offset, layout.count.offset) == (40, 48)
    for name in devices._QUERIES.values():
        assert hasattr(api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    assert all(hasattr(api.CUresult, name) for name in bindings._STICKY)


@pytest.mark.parametrize("cluster", [1, 4])
def test_a_launch_hands_over_what_was_asked(cluster: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    @ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * 4)
    def launch(configuration: int, function: int, parameters: int, extra: int | None) -> int:
        told = driver.Configuration.from_address(configuration)
        first = ctypes.c_void_p.from_address(parameters).value
        assert first is not None
        clusters = [
            (told.attributes[i].id, tuple(told.attributes[i].value.cluster)) for i in range(told.count)
        ]
        seen.append(
            (tuple(told.grid), tuple(told.block), told.shared, told.stream, clusters, function, extra)
        )
        seen.append(ctypes.string_at(first, 4))
        return 0

    monkeypatch.setattr(libraries, "loaded", lambda: SimpleNamespace(cuLaunchKernelEx=launch))
    monkeypatch.setattr(launches, "prepare", lambda *_: None)
    monkeypatch.setattr(launches, "_fits", lambda *_: None)
    block = bytearray(b"abcd")
    kernel = Kernel(0x1234, Binary(b"", "k", ""))
    asked = Launch(grid=(5, 4, 3), block=(128, 1, 1), shared=60000, cluster=cluster)
    launcher = driver.Launcher(kernel, asked, block)
    launcher(7)
    block[:2] = b"xy"
    launcher()
    clusters = [(4, (1, 4, 1))] if cluster > 1 else []
    assert seen[0] == ((5, 4, 3), (128, 1, 1), 60000, 7, clusters, 0x1234, None)
    assert seen[2][3] is None
    assert (seen[1], seen[3]) == (b"abcd", b"xycd")
