"""Devices by name, those of records, and this machine: what it is, what it can do, what it lacks."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tilewright.calls import settings
from tilewright.catalog import TARGETS
from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Device, Record
from tilewright.planning import dispatch
from tilewright.runtime.fastcall_cpu import native
from tilewright.runtime.team import find_team
from tilewright.targets.cpu import named
from tilewright.targets.cpu import nodes as memory
from tilewright.targets.cpu.isa import ISAS
from tilewright.targets.cuda import capability, devices, nvrtc
from tilewright.tuning import ceilings_cpu, ceilings_cuda


def device_of(name: str) -> Device:
    """``cpu``, ``cuda`` (the first GPU), or a GPU or a processor by name that need not be here.

    Raises ``ArgumentError`` for other names, with those that are nearly so, ``DeviceError`` when there is no
    GPU.
    """
    if name in named.CORES or name in named.devices():
        return _known(named.device(name))
    if capability.canonical(name) in capability.DEVICES:
        return _known(capability.named(name))
    try:
        return dispatch.device(_one_of(name, [*TARGETS, *capability.DEVICES, *named.CORES]))
    except DeviceError as error:
        raise DeviceError(
            f"device={name!r}: {error}; for these none is needed: {', '.join(capability.DEVICES)}"
        ) from error


def _one_of(name: str, names: list[str]) -> str:
    """The name of a device. Raises ``ArgumentError`` for one that is none of ``names``."""
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=3)
    meant = f"; did you mean {', '.join(near)}?" if near else ""
    raise ArgumentError(f"device={name!r}; accepted: {', '.join(names)}{meant}")


def _known(device: Device) -> Device:
    """A device with the ceilings that the records hold of it."""
    return replace(device, ceilings=dispatch.ceilings(device))


def gpus() -> list[Device]:
    """All GPUs of this machine that can be used; ``cuda.missing`` says why there are none."""
    return [_known(devices.probe(index)) for index in range(devices.count())]


def described(
    rows: Sequence[Record], ceilings: Mapping[str, Mapping[str, float]] | None = None
) -> list[Device]:
    """The devices that records are of, in the order in which they come: this machine's own, named ones, and
    others as far as their keys tell. ``ceilings`` are those that came with the records, by device."""
    here = {device.key: device for device in (dispatch.device(), *gpus())}
    found: dict[str, Device] = {}
    for record in rows:
        if record.device not in found:
            device = here.get(record.device) or _described(record)
            known = {**device.ceilings, **(ceilings or {}).get(record.device, {})}
            found[record.device] = replace(device, ceilings=known)
    return list(found.values())


def _described(record: Record) -> Device:
    """The device of a record that was made elsewhere."""
    key = record.device
    if capability.canonical(key) in capability.DEVICES:
        # Under the key of its records, which may be an older one of the device. Peaks need no measurement.
        named = capability.named(key)
        return replace(named, key=key, ceilings={**capability.units(named), **dispatch.ceilings(named)})
    kind = "cuda" if record.toolchain.startswith(GPU_TOOLCHAINS) else "cpu"
    isa = next((isa for isa in ISAS if kind == "cpu" and key.endswith(f"-{isa.name}")), None)
    limits = {"vector_bits": isa.vector_bits, "vector_registers": isa.vector_registers} if isa else {}
    return Device(kind, key, key, limits)


GPU_TOOLCHAINS = ("nvrtc", "cublas")
"""What the toolchain of a record begins with that was made on a GPU."""


def measure_ceilings() -> None:
    """Measure the processor's bandwidth, peak and knee (some seconds) and keep them."""
    device = dispatch.device()
    _keep(device, ceilings_cpu.measure(TARGETS["cpu"], device))


def measure_gpus(again: bool) -> dict[str, str]:
    """Measure the GPUs of which nothing is known, or all of them ``again``, one of each model, and keep it.

    Returns why that failed, by the key of the device: another process may have all of its memory.
    """
    failed, done = {}, set()
    for index, device in enumerate(gpus()):
        if device.key in done or (device.ceilings and not again):
            continue
        try:
            _keep(device, ceilings_cuda.measure(device, index))
        except DeviceError as error:
            failed[device.key] = str(error)
        done.add(device.key)
    return failed


def _keep(device: Device, ceilings: Mapping[str, float]) -> None:
    dispatch.records().save_ceilings(device.key, device["cores"], ceilings)
    settings.forget()


PACKAGES = {"plotly": "tilewright report", "torch": "PyTorch in bench", "mkl": "oneMKL in bench"}


def machine(failed: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What this machine is, its GPUs too, what was measured on it, and what is missing.

    ``failed``: why the ceilings of a GPU could not be measured, by its key.
    """
    device, team = dispatch.device(), find_team()
    return {
        "name": device.name,
        "key": device.key,
        "limits": dict(device.limits),
        "ceilings": dict(device.ceilings),
        "knees": [(cores, device.knee(cores)) for cores in sorted({1, device["cores"]})],
        "nodes": [asdict(node) for node in memory.nodes()],
        "threads": team.path if team else "Python's own",
        "calls": "fast" if native(device).trusted else "careful",
        "toolchain": TARGETS["cpu"].toolchain(),
        "records": str(dispatch.records().path),
        "shipped_records": len(dispatch.records().shipped(device.key)),
        "missing": _missing(device),
        "gpus": [_gpu(number, gpu, (failed or {}).get(gpu.key)) for number, gpu in enumerate(gpus())],
        "gpu_missing": devices.missing(),
    }


def _gpu(index: int, device: Device, failed: str | None) -> dict[str, Any]:
    """One GPU, as ``machine`` tells it."""
    return {
        "index": index,
        "name": device.name,
        "key": device.key,
        "features": device.features,
        "supports": sorted(device.supports),
        "rates": dict(device.rates),
        "limits": dict(device.limits),
        "ceilings": dict(device.ceilings),
        "driver": devices.driver_version(),
        "toolchain": nvrtc.toolchain(),
        "shipped_records": len(dispatch.records().shipped(device.key)),
        "not_measured": failed,
    }


def _missing(device: Device) -> list[str]:
    """What is not there, and what is lost without it."""
    found = []
    if find_team() is None:
        found.append("an OpenMP runtime (libgomp, libomp): a call on several cores costs more")
    if not native(device).trusted:
        found.append("a Python whose arrays can be read directly: every call takes the slower way")
    for package, loss in PACKAGES.items():
        try:
            version(package)
        except PackageNotFoundError:
            found.append(f"the package {package}: no {loss}")
    return found
