"""A live GPU: what is loaded runs, what is refused is said, and what is measured is of the right size."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tilewright.errors import ArgumentError, CompileError, DeviceError
from tilewright.model import Kernel, Launch, Source
from tilewright.targets.cuda import bindings, devices, driver, modules, nvrtc
from tilewright.targets.cuda.capability import limits_of

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=str(devices.missing())),
]

HEADER = """#pragma once
struct Arguments { const unsigned *from; unsigned *to; long long n; };
"""


def loaded(text: str, entry: str) -> Kernel:
    source = Source(f'#include "arguments.cuh"\n{text}', entry, headers=(("arguments.cuh", HEADER),))
    return modules.load(nvrtc.compile(source, devices.probe()))


def arguments(source: int, to: int, n: int) -> bytearray:
    return bytearray(np.array([source, to, n], np.uint64).tobytes())


COPY = """
extern "C" __global__ void copy(const __grid_constant__ Arguments g) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < g.n) g.to[i] = g.from[i];
}
"""


def numbers(count: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2**32, count, np.uint32)


# ---- the device


def test_the_probe_makes_no_context_and_finds_what_the_table_says() -> None:
    program = (
        "from tilewright.targets.cuda import bindings, devices\ndevices.probe()\n"
        "print(int(bindings.check(bindings.bindings().cuCtxGetCurrent(), 'x')),"
        " bindings.check(bindings.bindings().cuDevicePrimaryCtxGetState(0), 'x'))"
    )
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert child.stdout.split() == ["0", "(0,", "0)"]


def test_the_table_agrees_with_what_the_device_says() -> None:
    device = devices.probe()
    assert devices.probe() is device
    assert device.features.startswith(f"sm_{device['capability']}")
    for limit, query in {
        "threads_per_sm": "MAX_THREADS_PER_MULTIPROCESSOR",
        "blocks_per_sm": "MAX_BLOCKS_PER_MULTIPROCESSOR",
        "registers_per_sm": "MAX_REGISTERS_PER_MULTIPROCESSOR",
        "shared_per_sm": "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
        "shared_reserved": "RESERVED_SHARED_MEMORY_PER_BLOCK",
    }.items():
        assert limits_of(device["capability"])[limit] == devices.attribute(query, 0), limit
    assert min(device.limits.values()) >= 0
    assert devices.driver_version()


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(ArgumentError, match=rf"index=99; accepted: 0 to {devices.count() - 1}"):
        devices.probe(99)


# ---- memory


def test_what_is_uploaded_comes_back() -> None:
    host = numbers(1000).reshape(10, 100).T
    memory = driver.allocate(host.nbytes)
    driver.upload(memory.address, host)
    back = np.zeros_like(host)
    driver.download(back, memory.address)
    np.testing.assert_array_equal(back, host)
    driver.fill(memory.address + 4, 8, 0xA5)
    driver.download(back, memory.address)
    flat = back.T.reshape(-1)
    assert (flat[1], flat[2]) == (0xA5A5A5A5, 0xA5A5A5A5)
    np.testing.assert_array_equal(flat[3:], host.T.reshape(-1)[3:])


def test_arrays_with_gaps_and_read_only_ones_are_refused() -> None:
    memory = driver.allocate(64)
    with pytest.raises(ArgumentError, match="contiguous"):
        driver.upload(memory.address, np.zeros(8, np.uint32)[::2])
    locked = np.zeros(8, np.uint32)
    locked.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        driver.download(locked, memory.address)
    with pytest.raises(ArgumentError, match="byte=256"):
        driver.fill(memory.address, 1, 256)


def test_nothing_can_be_allocated_and_copied() -> None:
    memory = driver.allocate(0)
    driver.upload(memory.address, np.zeros(0, np.uint32))
    driver.fill(memory.address, 0, 0)
    with pytest.raises(ArgumentError, match="size=-1"):
        driver.allocate(-1)


def test_memory_is_freed_with_its_object() -> None:
    driver.context()

    def free() -> int:
        return int(bindings.check(bindings.bindings().cuMemGetInfo(), "free")[0])

    size = 1 << 30
    before = free()
    memory = driver.allocate(size)
    held = free()
    del memory
    gc.collect()
    assert before - held >= size
    # Others may use the device at the same time.
    assert free() - held >= size // 2


def test_too_much_memory_is_refused_with_the_numbers() -> None:
    with pytest.raises(DeviceError, match=rf"size={1 << 45}: .* \d+ of its \d+ are free"):
        driver.allocate(1 << 45)
    # Such a failure is no end of anything.
    driver.synchronize()


# ---- launches


def test_a_kernel_copies() -> None:
    n = 100_000
    host = numbers(n)
    source, to = driver.allocate(4 * n), driver.allocate(4 * n)
    driver.upload(source.address, host)
    driver.fill(to.address, 4 * n, 0)
    block = arguments(source.address, to.address, n)
    launcher = driver.Launcher(
        loaded(COPY, "copy"), Launch(grid=(-(-n // 256), 1, 1), block=(256, 1, 1)), block
    )
    launcher(0)
    back = np.empty_like(host)
    driver.download(back, to.address)
    np.testing.assert_array_equal(back, host)
    # The pointers of the next call are packed over those of the last.
    third = driver.allocate(4 * n)
    block[:] = arguments(source.address, third.address, n)
    stream = driver.stream_new()
    launcher(stream.handle)
    driver.synchronize()
    back[:] = 0
    driver.download(back, third.address)
    np.testing.assert_array_equal(back, host)


def test_a_kernel_has_all_the_shared_memory_of_the_device() -> None:
    device = devices.probe()
    kernel = loaded(
        """
extern "C" __global__ void turn(const __grid_constant__ Arguments g) {
    extern __shared__ unsigned kept[];
    for (long long i = threadIdx.x; i < g.n; i += blockDim.x) kept[i] = g.from[i];
    __syncthreads();
    for (long long i = threadIdx.x; i < g.n; i += blockDim.x) g.to[i] = kept[g.n - 1 - i];
}
""",
        "turn",
    )
    size = device["shared_per_block_optin"]
    host = numbers(size // 4)
    source, to = driver.allocate(size), driver.allocate(size)
    driver.upload(source.address, host)
    block = arguments(source.address, to.address, size // 4)
    driver.Launcher(kernel, Launch(block=(256, 1, 1), shared=size), block)(0)
    back = np.empty_like(host)
    driver.download(back, to.address)
    np.testing.assert_array_equal(back, host[::-1])
    with pytest.raises(DeviceError, match=rf"giving turn shared={size + 4} bytes"):
        driver.prepare(kernel, size + 4, 1)


CLUSTER = """
extern "C" __global__ void gather(const __grid_constant__ Arguments g) {
    unsigned rank, size;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    const unsigned at = blockIdx.x + gridDim.x * blockIdx.y;
    if (threadIdx.x == 0) { g.to[2 * at] = rank; g.to[2 * at + 1] = size; }
}
"""


@pytest.mark.skipif(
    devices.missing() is None and devices.probe()["capability"] < 90,
    reason="clusters need compute capability 9.0",
)
@pytest.mark.parametrize("cluster", [2, 8, 16])
def test_the_blocks_of_a_cluster_are_neighbours_along_y(cluster: int) -> None:
    columns = 3
    to = driver.allocate(8 * columns * cluster)
    block = arguments(0, to.address, 0)
    launch = Launch(grid=(columns, cluster, 1), block=(32, 1, 1), cluster=cluster)
    driver.Launcher(loaded(CLUSTER, "gather"), launch, block)(0)
    back = np.empty((cluster, columns, 2), np.uint32)
    driver.download(back, to.address)
    np.testing.assert_array_equal(back[..., 0], np.arange(cluster)[:, None].repeat(columns, 1))
    assert (back[..., 1] == cluster).all()


def test_a_launch_that_the_device_cannot_do_is_refused_and_harms_nothing() -> None:
    block = arguments(0, 0, 0)
    kernel = loaded(COPY, "copy")
    launcher = driver.Launcher(kernel, Launch(block=(2048, 1, 1)), block)
    with pytest.raises(
        DeviceError, match=r"launching copy with grid=.*block=\(2048, 1, 1\).*CUDA_ERROR_INVALID"
    ):
        launcher(0)
    driver.synchronize()
    driver.Launcher(kernel, Launch(block=(32, 1, 1)), block)(0)
    driver.synchronize()


def test_an_argument_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(ArgumentError, match="parameter 0 of copy is given 8 bytes; accepted: 24"):
        driver.Launcher(loaded(COPY, "copy"), Launch(), bytearray(8))


def test_a_binary_for_another_device_or_without_its_kernel_is_refused() -> None:
    device = devices.probe()
    source = Source(f"{HEADER.replace('#pragma once', '')}{COPY}", "copy")
    foreign = "sm_80" if device["capability"] >= 90 else "sm_90"
    with pytest.raises(CompileError, match="does not run on this device"):
        modules.load(nvrtc.compile(source, replace(device, features=foreign)))
    with pytest.raises(CompileError, match="the binary has no kernel 'other'"):
        modules.load(replace(nvrtc.compile(source, device), entry="other"))
    with pytest.raises(CompileError, match="does not run on this device"):
        modules.load(replace(nvrtc.compile(source, device), code=b"no machine code" * 100))


def test_a_bad_address_loses_the_context_and_says_so() -> None:
    """In a process of its own, for nothing runs in it afterwards."""
    program = f"""
import numpy as np
from tilewright.errors import DeviceError
from tilewright.model import Launch, Source
from tilewright.targets.cuda import devices, driver, modules, nvrtc
source = Source({HEADER.replace("#pragma once", "") + COPY!r}, "copy")
kernel = modules.load(nvrtc.compile(source, devices.probe()))
memory = driver.allocate(64)
block = bytearray(np.array([8, 16, 64], np.uint64).tobytes())
driver.Launcher(kernel, Launch(block=(64, 1, 1)), block)(0)
try:
    driver.synchronize()
except DeviceError as error:
    print(error)
"""
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in child.stdout
    assert "the context is lost" in child.stdout
    assert child.stderr == ""


# ---- textures


WORDS = {4: "unsigned", 8: "uint2", 16: "uint4"}


@pytest.mark.parametrize("itemsize", WORDS)
def test_a_row_is_read_through_a_texture(itemsize: int) -> None:
    word, n = WORDS[itemsize], 1000
    kernel = loaded(
        f"""
extern "C" __global__ void fetch(const __grid_constant__ Arguments g) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < g.n) (({word} *)g.to)[i] = tex1Dfetch<{word}>((cudaTextureObject_t)g.from, i);
}}
""",
        "fetch",
    )
    host = numbers(n * itemsize // 4)
    source, to = driver.allocate(host.nbytes), driver.allocate(host.nbytes)
    driver.upload(source.address, host)
    texture = driver.texture1d(source.address, n, itemsize)
    block = arguments(texture.handle, to.address, n)
    driver.Launcher(kernel, Launch(grid=(-(-n // 128), 1, 1), block=(128, 1, 1)), block)(0)
    back = np.empty_like(host)
    driver.download(back, to.address)
    np.testing.assert_array_equal(back, host)


@pytest.mark.parametrize("itemsize", WORDS)
def test_a_matrix_is_read_through_a_texture(itemsize: int) -> None:
    """100 elements in each of 30 runs, which lie 128 elements apart."""
    word, width, height, lead = WORDS[itemsize], 100, 30, 128
    kernel = loaded(
        f"""
extern "C" __global__ void fetch(const __grid_constant__ Arguments g) {{
    const int x = threadIdx.x, y = blockIdx.x;
    (({word} *)g.to)[x + (int)g.n * y] = tex2D<{word}>((cudaTextureObject_t)g.from, x + 0.5f, y + 0.5f);
}}
""",
        "fetch",
    )
    host = numbers(height * lead * itemsize // 4).reshape(height, -1)
    source, to = driver.allocate(host.nbytes), driver.allocate(height * width * itemsize)
    driver.upload(source.address, host)
    texture = driver.texture2d(source.address, width, height, lead * itemsize, itemsize)
    block = arguments(texture.handle, to.address, width)
    driver.Launcher(kernel, Launch(grid=(height, 1, 1), block=(width, 1, 1)), block)(0)
    back = np.empty((height, width * itemsize // 4), np.uint32)
    driver.download(back, to.address)
    np.testing.assert_array_equal(back, host[:, : width * itemsize // 4])


def test_textures_beyond_a_limit_are_refused() -> None:
    device, memory = devices.probe(), driver.allocate(1 << 16)
    with pytest.raises(ArgumentError, match="count="):
        driver.texture1d(memory.address, device["texture1d_linear"] + 1, 4)
    with pytest.raises(ArgumentError, match="itemsize=12"):
        driver.texture1d(memory.address, 8, 12)
    with pytest.raises(ArgumentError, match="address="):
        driver.texture1d(memory.address + 4, 8, 4)
    with pytest.raises(ArgumentError, match="height="):
        driver.texture2d(memory.address, 8, device["texture2d_linear_height"] + 1, 512, 4)
    with pytest.raises(ArgumentError, match="pitch_bytes=36"):
        driver.texture2d(memory.address, 8, 8, 36, 4)
    with pytest.raises(ArgumentError, match="pitch_bytes=32"):
        driver.texture2d(memory.address, 64, 8, 32, 4)


# ---- time


def test_the_stopwatch_measures_what_a_kernel_waits() -> None:
    kernel = loaded(
        """
extern "C" __global__ void wait(const __grid_constant__ Arguments g) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - start < g.n);
}
""",
        "wait",
    )
    launcher = driver.Launcher(kernel, Launch(block=(32, 1, 1)), arguments(0, 0, 5_000_000))
    watch = driver.Stopwatch()
    watch.time(launcher, 1)
    seconds = watch.time(launcher, 4)
    # The timer that the kernel reads may tick as seldom as once a millisecond.
    assert 0.015 < seconds < 0.1
    stream = driver.stream_new()
    assert 0.003 < watch.time(lambda: launcher(stream.handle), 1, stream.handle) < 0.1
    assert watch.time(lambda: None, 1) < 0.01


def test_clocks_are_words_or_nothing() -> None:
    assert re.fullmatch(r"(\d+ MHz)?(, )?(\d+ W)?", driver.clocks())
    assert driver.clocks(99) == ""
