"""A live GPU: memory, launches, textures and time, through CUDA's driver interface.

One name for what the modules beside this one do, each of which is about one thing. What runs once goes
through NVIDIA's bindings; a launch goes to the driver's library by ``ctypes``.

All of it works on the context that is current on the thread; ``context`` makes the device's primary one
current. A stream is the driver's own number of it, 0 for the default stream, so those of PyTorch and
CuPy can be given as they are.
"""

from __future__ import annotations

from tilewright.targets.cuda.launch import (
    CLUSTER_DIMENSION,
    OVERLAP,
    Attribute,
    Configuration,
    Launcher,
    Parameters,
    prepare,
)
from tilewright.targets.cuda.library import entry
from tilewright.targets.cuda.memory import (
    Memory,
    allocate,
    capturing,
    download,
    fill,
    stream_new,
    upload,
)
from tilewright.targets.cuda.modules import context, current_device, synchronize, within
from tilewright.targets.cuda.streams import Sides
from tilewright.targets.cuda.texture import Texture, texture1d, texture2d
from tilewright.targets.cuda.timer import Stopwatch, clocks

__all__ = [
    "CLUSTER_DIMENSION",
    "OVERLAP",
    "Attribute",
    "Configuration",
    "Launcher",
    "Memory",
    "Parameters",
    "Sides",
    "Stopwatch",
    "Texture",
    "allocate",
    "capturing",
    "clocks",
    "context",
    "current_device",
    "download",
    "entry",
    "fill",
    "prepare",
    "stream_new",
    "synchronize",
    "texture1d",
    "texture2d",
    "upload",
    "within",
]
