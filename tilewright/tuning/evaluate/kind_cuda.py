"""Tuning on an NVIDIA GPU as the tuner's own process sees it: what evaluates there is loaded by the child."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tilewright.loading import load
from tilewright.model import Device
from tilewright.targets.cuda import devices
from tilewright.tuning.evaluate import Kind
from tilewright.tuning.evaluate.cuda_sizes import BUDGETS, EARLY_STOP, sized


def factory(device: Device) -> Callable[[tuple[Any, ...]], Any]:
    """The handler of the timing child, which holds the context of the GPU."""
    made: Callable[[tuple[Any, ...]], Any] = load("tilewright.tuning.evaluate.cuda:handler")(device)
    return made


def compilers(device: Device) -> int:
    """All cores of the host but two (the tuner, and the child that launches), up to 32."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(max(1, cores - 2), 32)


KIND = Kind(
    factory,
    sized,
    compilers,
    budgets=BUDGETS,
    ahead=64,
    early_stop=EARLY_STOP,
    # PyTorch alone takes half a minute to be imported from a cold disk.
    patience=300.0,
    driver=devices.driver_version,
    room=2,
    shared=True,
)
