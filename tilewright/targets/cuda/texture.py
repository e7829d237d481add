"""Textures over device memory."""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import Any

from tilewright.errors import ArgumentError
from tilewright.targets.cuda import devices
from tilewright.targets.cuda.bindings import bindings, check
from tilewright.targets.cuda.modules import Owned, current_device


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
