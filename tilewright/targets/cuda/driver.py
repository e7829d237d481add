"""A live GPU: memory, launches, textures and time, through CUDA's driver interface.

What runs once goes through NVIDIA's bindings. A launch goes to the driver's library by ``ctypes``, with
every structure that it reads laid out beforehand: the conversions of a call are most of its cost.

All of it works on the context that is current on the thread; ``context`` makes the device's primary one
current. A stream is the driver's own number of it, 0 for the default stream, so those of PyTorch and
CuPy can be given as they are.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Kernel, Launch
from tilewright.targets.cuda import devices, modules
from tilewright.targets.cuda.bindings import bindings, check, failure
from tilewright.targets.cuda.modules import Owned

CLUSTER_DIMENSION = 4
"""CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION."""
OVERLAP = 6
"""CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION."""
PORTABLE_CLUSTER = 8
"""Blocks of a cluster that every device with clusters can run; more must be asked for."""


# ---- the context


def context(index: int = 0) -> int:
    """Make the primary context of a device current on this thread if none is; the current one's address.

    Raises ``DeviceError`` when CUDA cannot be used, ``ArgumentError`` for a device that is not there.
    """
    return modules.context(index)


def current_device() -> int:
    """The number of the device whose context is current."""
    modules.context()
    return int(check(bindings().cuCtxGetDevice(), "asking for the current device"))


def synchronize() -> None:
    """Wait for all that was started on the device. Raises ``DeviceError`` when any of it failed."""
    modules.context()
    check(bindings().cuCtxSynchronize(), "waiting for the device")


# ---- memory


class Memory(Owned):
    """``size`` bytes of device memory at ``address`` (a multiple of 256), freed with the object.

    Freeing waits for the kernels that run.
    """

    def __init__(self, address: int, size: int):
        super().__init__(address, "cuMemFree", address)
        self.address, self.size = address, size


def allocate(size: int) -> Memory:
    """Device memory of ``size`` bytes, with anything in it.

    Raises ``DeviceError`` with the bytes asked for and free when there is not enough.
    """
    if size < 0:
        raise ArgumentError(f"size={size}; accepted: a number of bytes, 0 or more")
    modules.context()
    api = bindings()
    # The driver refuses 0 bytes, and an empty array has an address as well.
    code, address = api.cuMemAlloc(max(1, size))
    if code == api.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        free, total = check(api.cuMemGetInfo(), "asking for free memory")
        raise DeviceError(
            f"size={size}: the device has not that many bytes in one piece; {free} of its {total} are free "
            "(CUDA_ERROR_OUT_OF_MEMORY)"
        )
    check((code,), f"allocating {size} bytes")
    return Memory(int(address), size)


def upload(address: int, array: np.ndarray[Any, Any]) -> None:
    """Copy an array's elements, in the order they lie in memory, to a device address. Waits for it.

    Raises ``ArgumentError`` when they do not lie without gaps.
    """
    _gapless(array)
    if array.nbytes:
        modules.context()
        copied = bindings().cuMemcpyHtoD(address, array.ctypes.data, array.nbytes)
        check(copied, f"copying {array.nbytes} bytes to the device")


def download(array: np.ndarray[Any, Any], address: int) -> None:
    """Fill an array, in the order it lies in memory, from a device address. Waits for it.

    Raises ``ArgumentError`` when it has gaps or is read-only.
    """
    _gapless(array)
    if not array.flags.writeable:
        raise ArgumentError("array is read-only; accepted: one that can be written to")
    if array.nbytes:
        modules.context()
        copied = bindings().cuMemcpyDtoH(array.ctypes.data, address, array.nbytes)
        check(copied, f"copying {array.nbytes} bytes from the device")


def _gapless(array: np.ndarray[Any, Any]) -> None:
    if not array.flags.forc:
        raise ArgumentError(
            f"array of shape {array.shape} has strides {array.strides}; accepted: contiguous, in either order"
        )


def fill(address: int, size: int, byte: int) -> None:
    """Set ``size`` bytes of device memory to ``byte`` (0 to 255), in the order of the default stream."""
    if not 0 <= byte <= 255:
        raise ArgumentError(f"byte={byte}; accepted: 0 to 255")
    if size:
        modules.context()
        check(bindings().cuMemsetD8(address, byte, size), f"filling {size} bytes")


def stream_new() -> Owned:
    """A stream, by its ``handle``; it keeps the order of the default stream, so copies see its results."""
    modules.context()
    stream = check(bindings().cuStreamCreate(0), "making a stream")
    return Owned(int(stream), "cuStreamDestroy", stream)


# ---- launches


class _Value(ctypes.Union):
    _fields_ = (("pad", ctypes.c_char * 64), ("cluster", ctypes.c_uint * 3), ("yes", ctypes.c_int))


class Attribute(ctypes.Structure):
    """``CUlaunchAttribute`` of cuda.h."""

    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", _Value))


class Configuration(ctypes.Structure):
    """``CUlaunchConfig`` of cuda.h."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    )


@functools.cache
def _library() -> ctypes.CDLL:
    """The driver's library itself, with what a launch and a stopwatch call in it."""
    library = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    library.cuLaunchKernelEx.argtypes = (ctypes.c_void_p,) * 4
    library.cuEventRecord.argtypes = (ctypes.c_void_p,) * 2
    library.cuLaunchKernelEx.restype = library.cuEventRecord.restype = ctypes.c_int
    return library


def call(name: str, *arguments: Any) -> int:
    """The code that a function of the driver's library returns for arguments of ``ctypes``: for what its
    Python interface has no room for. Raises ``DeviceError`` where the driver is older than the function."""
    try:
        function = getattr(_library(), name)
    except AttributeError as error:
        raise DeviceError(f"the CUDA driver has no {name}: it is too old") from error
    return int(function(*arguments))


def entry(name: str) -> int:
    """The address of one of the driver's functions, for compiled code to call."""
    return ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value or 0


def capturing(stream: int) -> bool:
    """Whether what goes to a stream is recorded into a graph, or a recording keeps it from being asked."""
    api = bindings()
    code, status = api.cuStreamIsCapturing(api.CUstream(stream))
    return bool(code) or status != api.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE


def prepare(kernel: Kernel, shared: int, cluster: int) -> None:
    """Let a kernel have ``shared`` bytes of dynamic shared memory and clusters of ``cluster`` blocks.

    Costs nothing when it has been allowed as much before. Raises ``DeviceError`` beyond what the device
    has.
    """
    modules.context()
    # Kept with the loaded code, so that it is forgotten with it.
    allowed: dict[str, int] = vars(kernel.owner).setdefault("allowed", {}) if kernel.owner is not None else {}
    entry = kernel.binary.entry
    if shared > allowed.get("shared", 0):
        _raise_limit(
            kernel.address,
            "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
            shared,
            f"giving {entry} shared={shared} bytes of dynamic shared memory",
        )
        # Else the driver may leave room for caches that keeps promised blocks out.
        what = f"preferring shared memory for {entry}"
        _raise_limit(kernel.address, "CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT", 100, what)
        allowed["shared"] = shared
    if cluster > max(PORTABLE_CLUSTER, allowed.get("cluster", 0)):
        what = f"giving {entry} clusters of cluster={cluster} blocks"
        _raise_limit(kernel.address, "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1, what)
        allowed["cluster"] = cluster


def _raise_limit(function: int, attribute: str, value: int, what: str) -> None:
    api = bindings()
    which = getattr(api.CUfunction_attribute, attribute)
    check(api.cuFuncSetAttribute(api.CUfunction(function), which, value), what)


Spans = tuple[tuple[int, int], ...]
"""Where the parameters of a kernel lie in a block: (offset, bytes) of each."""


class Parameters(NamedTuple):
    """What a launch hands to the driver, by addresses: ``function(configuration, kernel, ..., NULL)``.

    ``configuration`` is a ``Configuration``. ``block`` are the ``size`` bytes of all the kernel's parameters,
    each of which begins at one of ``offsets``.
    """

    function: int
    kernel: int
    configuration: int
    block: int
    size: int
    offsets: tuple[int, ...]


class Launcher:
    """A kernel with its launch and its parameters, ready to be started again and again.

    ``block`` holds the bytes of all parameters and ``spans`` the offset and the bytes of each; without
    ``spans`` it is one parameter. Parameters are passed by value: their bytes are those of ``block`` at the
    moment of the call, so addresses may be put over between calls. One launcher is for one thread at a time.
    The context in which the kernel was loaded has to be current.

    Raises ``ArgumentError`` when the kernel takes other parameters, ``DeviceError`` beyond what the device
    has.
    """

    __slots__ = ("_call", "_configuration", "_handed", "_held", "_offsets", "_said")

    def __init__(
        self,
        kernel: Kernel,
        launch: Launch,
        block: bytearray,
        spans: Spans | None = None,
    ):
        prepare(kernel, launch.shared, launch.cluster)
        spans = ((0, len(block)),) if spans is None else spans
        _fits(kernel, spans)
        held = (ctypes.c_char * len(block)).from_buffer(block)
        self._offsets = tuple(offset for offset, _ in spans)
        begin = ctypes.addressof(held)
        parameters = (ctypes.c_void_p * len(spans))(*(begin + offset for offset in self._offsets))
        attributes, count = (Attribute * 2)(), 0
        if launch.cluster > 1:
            attributes[count].id = CLUSTER_DIMENSION
            # The blocks of a cluster are neighbours along y, the axis that shares the k of one tile.
            attributes[count].value.cluster[:] = (1, launch.cluster, 1)
            count += 1
        if launch.overlap:
            attributes[count].id = OVERLAP
            attributes[count].value.yes = 1
            count += 1
        self._configuration = Configuration(launch.grid, launch.block, launch.shared, None, attributes, count)
        # Of the two functions that launch, this one reads all sizes from memory: a third of the cost
        # of converting eleven arguments. Every driver of CUDA 12 and later has it.
        self._call = _library().cuLaunchKernelEx
        self._handed = (
            ctypes.addressof(self._configuration),
            kernel.address,
            ctypes.addressof(parameters),
            None,
        )
        self._held = (kernel, block, held, parameters, attributes)
        self._said = (
            f"launching {kernel.binary.entry} with grid={launch.grid}, block={launch.block}, "
            f"shared={launch.shared}, cluster={launch.cluster}"
        )

    @property
    def parameters(self) -> Parameters:
        """Where all that a launch reads lies for as long as this launcher lives: for who starts the kernel
        from copies of it, with a stream and addresses of their own."""
        configuration, kernel, *_ = self._handed
        _, _, held, *_ = self._held
        function = ctypes.cast(self._call, ctypes.c_void_p).value or 0
        block, size = ctypes.addressof(held), ctypes.sizeof(held)
        return Parameters(function, kernel, configuration, block, size, self._offsets)

    def __call__(self, stream: int = 0) -> None:
        """Start the kernel and return at once. Raises ``DeviceError`` when the driver refuses."""
        self._configuration.stream = stream
        code = self._call(*self._handed)
        if code:
            raise failure(code, self._said)


def _fits(kernel: Kernel, spans: Spans) -> None:
    """Refuse parameters of other sizes than the kernel's: the driver may read beyond them."""
    api, entry = bindings(), kernel.binary.entry
    with suppress(AttributeError, RuntimeError):  # Before CUDA 12.4 nobody can ask.
        for number, (_, given) in enumerate(spans):
            code, _, size = api.cuFuncGetParamInfo(api.CUfunction(kernel.address), number)
            if not code and given != size:
                raise ArgumentError(
                    f"parameter {number} of {entry} is given {given} bytes; accepted: {size}, its size"
                )
        code, *_ = api.cuFuncGetParamInfo(api.CUfunction(kernel.address), len(spans))
        if not code:
            raise ArgumentError(
                f"{entry} is given {len(spans)} parameters; accepted: as many as it takes, more"
            )


# ---- textures


class Texture(Owned):
    """A texture object over device memory: ``handle`` is what a kernel reads through. The memory is the
    caller's to keep."""


def texture1d(address: int, count: int, itemsize: int) -> Texture:
    """A row of ``count`` matrix elements as texels of 32-bit words (1, 2 or 4 of them for 4, 8 or 16 bytes).

    Raises ``ArgumentError`` beyond a limit of the device.
    """
    index, channels = current_device(), _channels(itemsize)
    _within("count", count, _texels1d(index, channels))
    _aligned("address", address, devices.attribute("TEXTURE_ALIGNMENT", index))
    api = bindings()
    resource = api.CUDA_RESOURCE_DESC()
    resource.resType = api.CUresourcetype.CU_RESOURCE_TYPE_LINEAR
    linear = resource.res.linear
    linear.devPtr = api.CUdeviceptr(address)
    linear.format = api.CUarray_format.CU_AD_FORMAT_UNSIGNED_INT32
    linear.numChannels = channels
    linear.sizeInBytes = count * itemsize
    return _texture(resource, f"making a texture of {count} elements")


def texture2d(address: int, width: int, height: int, pitch_bytes: int, itemsize: int) -> Texture:
    """``height`` runs of ``width`` matrix elements, ``pitch_bytes`` apart, as texels like ``texture1d``'s.

    What lies outside is read from the nearest texel. Raises ``ArgumentError`` beyond a limit of the
    device, or when the pitch is not a multiple of what textures need.
    """
    index, channels = current_device(), _channels(itemsize)
    device = devices.probe(index)
    _within("width", width, device["texture2d_linear_width"])
    _within("height", height, device["texture2d_linear_height"])
    _within("pitch_bytes", pitch_bytes, device["texture2d_linear_pitch"], least=width * itemsize)
    _aligned("pitch_bytes", pitch_bytes, device["texture_pitch_alignment"])
    _aligned("address", address, devices.attribute("TEXTURE_ALIGNMENT", index))
    api = bindings()
    resource = api.CUDA_RESOURCE_DESC()
    resource.resType = api.CUresourcetype.CU_RESOURCE_TYPE_PITCH2D
    pitched = resource.res.pitch2D
    pitched.devPtr = api.CUdeviceptr(address)
    pitched.format = api.CUarray_format.CU_AD_FORMAT_UNSIGNED_INT32
    pitched.numChannels = channels
    pitched.width, pitched.height, pitched.pitchInBytes = width, height, pitch_bytes
    return _texture(resource, f"making a texture of {width} x {height} elements")


def _channels(itemsize: int) -> int:
    if itemsize not in {4, 8, 16}:
        raise ArgumentError(f"itemsize={itemsize}; accepted: 4, 8 or 16 bytes, one texel an element")
    return itemsize // 4


def _within(name: str, value: int, most: int, least: int = 1) -> None:
    if not least <= value <= most:
        raise ArgumentError(f"{name}={value}; accepted by textures of this device: {least} to {most}")


def _aligned(name: str, value: int, unit: int) -> None:
    if value % unit:
        raise ArgumentError(f"{name}={value}; accepted by textures of this device: multiples of {unit} bytes")


@functools.cache
def _texels1d(index: int, channels: int) -> int:
    """Texels that a linear texture can have: fewer of wide ones on some devices."""
    api, most = bindings(), devices.probe(index)["texture1d_linear"]
    with suppress(AttributeError, RuntimeError):
        device = check(api.cuDeviceGet(index), f"opening device {index}")
        code, texels = api.cuDeviceGetTexture1DLinearMaxWidth(
            api.CUarray_format.CU_AD_FORMAT_UNSIGNED_INT32, channels, device
        )
        if not code:
            return min(most, int(texels))
    return most


def _texture(resource: Any, what: str) -> Texture:
    api = bindings()
    reading = api.CUDA_TEXTURE_DESC()
    # Coordinates count texels; without normalised ones the edge is the only thing to read beyond it.
    reading.addressMode = [api.CUaddress_mode.CU_TR_ADDRESS_MODE_CLAMP] * 3
    reading.filterMode = api.CUfilter_mode.CU_TR_FILTER_MODE_POINT
    reading.flags = api.CU_TRSF_READ_AS_INTEGER
    made = check(api.cuTexObjectCreate(resource, reading, None), what)
    return Texture(int(made), "cuTexObjectDestroy", made)


# ---- time


class Stopwatch:
    """Two events of the current device, to time what runs between them on a stream."""

    def __init__(self) -> None:
        modules.context()
        api = bindings()
        self._events = [check(api.cuEventCreate(0), "making an event") for _ in range(2)]
        self._owners = [Owned(int(event), "cuEventDestroy", event) for event in self._events]
        self._record = _library().cuEventRecord

    def time(self, run: Callable[[], object], repeats: int, stream: int = 0) -> float:
        """Seconds that ``repeats`` calls of ``run`` take together on the device, by its own clock
        (0.5 us fine). ``run`` starts work on ``stream``. Waits once, for the end.

        Raises ``DeviceError`` when a kernel failed.
        """
        start, stop = (owner.handle for owner in self._owners)
        self._mark(start, stream)
        for _ in range(repeats):
            run()
        self._mark(stop, stream)
        api = bindings()
        check(api.cuEventSynchronize(self._events[1]), "running what is timed")
        return 1e-3 * float(check(api.cuEventElapsedTime(*self._events), "reading the stopwatch"))

    def _mark(self, event: int, stream: int) -> None:
        code = self._record(event, stream)
        if code:
            raise failure(code, "starting or stopping the stopwatch")


_SM_CLOCK = 1
"""NVML_CLOCK_SM."""


@functools.cache
def _nvml() -> ctypes.CDLL:
    library = ctypes.CDLL("nvml.dll" if os.name == "nt" else "libnvidia-ml.so.1")
    if library.nvmlInit_v2():
        raise DeviceError("NVML cannot be initialised")
    return library


@functools.cache
def _nvml_device(index: int) -> ctypes.c_void_p:
    # By its place on the bus: NVML counts devices that the environment hides from CUDA.
    api = bindings()
    device = check(api.cuDeviceGet(index), f"opening device {index}")
    place = check(api.cuDeviceGetPCIBusId(32, device), "asking for the device's place")
    found = ctypes.c_void_p()
    if _nvml().nvmlDeviceGetHandleByPciBusId_v2(place.partition(b"\0")[0], ctypes.byref(found)):
        raise DeviceError(f"NVML does not know the device {place!r}")
    return found


def clocks(index: int = 0) -> str:
    """The clock of the multiprocessors and the power drawn at this moment: ``1980 MHz, 480 W``.

    Empty where NVIDIA's management library does not tell. Never raises.
    """
    parts = []
    with suppress(Exception):
        if devices.missing() is None:
            library, device, value = _nvml(), _nvml_device(index), ctypes.c_uint()
            if not library.nvmlDeviceGetClockInfo(device, _SM_CLOCK, ctypes.byref(value)):
                parts.append(f"{value.value} MHz")
            if not library.nvmlDeviceGetPowerUsage(device, ctypes.byref(value)):
                parts.append(f"{value.value / 1000:.0f} W")
    return ", ".join(parts)
