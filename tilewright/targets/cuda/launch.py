"""Launches: all that the driver reads of one is laid out beforehand, and its library is called by ``ctypes``.

The conversions of a call are most of its cost, so a launch has none.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import NamedTuple

from tilewright.errors import ArgumentError
from tilewright.model import Kernel, Launch
from tilewright.targets.cuda import library, modules
from tilewright.targets.cuda.bindings import bindings, check, failure

CLUSTER_DIMENSION = 4
"""CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION."""
OVERLAP = 6
"""CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION."""
PORTABLE_CLUSTER = 8
"""Blocks of a cluster that every device with clusters can run; more must be asked for."""


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
        # Else the driver may leave room for caches that keeps resident blocks out.
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
        self._call = library.loaded().cuLaunchKernelEx
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
        if _takes_more(kernel, len(spans)):
            raise ArgumentError(
                f"{entry} is given {len(spans)} parameters; accepted: as many as it takes, more"
            )


def _takes_more(kernel: Kernel, count: int) -> bool:
    """Whether a kernel has more parameters than so many. A driver that does not tell the number is asked for
    the one after them, which tools that watch the driver's calls report as an error."""
    api = bindings()
    with suppress(AttributeError, RuntimeError):
        code, number = api.cuFuncGetParamCount(api.CUfunction(kernel.address))
        if not code:
            return bool(number > count)
    code, *_ = api.cuFuncGetParamInfo(api.CUfunction(kernel.address), count)
    return not code
