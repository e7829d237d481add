"""Occupancy: how many blocks and warps of a launch an SM holds, and what holds them back."""

from __future__ import annotations

from bench.lines import Line
from tilewright.model import Device, Launch


def occupancy(launch: Launch, facts: dict[str, int], device: Device) -> Line:
    """Blocks and warps of an SM by what each of its stores allows, and how many there are of the grid.

    Registers are given out by 8 a thread, shared memory with what the system takes of every block.
    """
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    warps = -(-threads // 32)
    registers = 32 * warps * (-(-facts["registers"] // 8) * 8)
    shared = launch.shared + facts.get("shared", 0) + device["shared_reserved"]
    limits = {
        "registers": device["registers_per_sm"] // registers,
        "shared": device["shared_per_sm"] // shared,
        "warps": device["warps_per_sm"] // warps,
        "blocks": device["blocks_per_sm"],
        "grid": -(-(launch.grid[0] * launch.grid[1] * launch.grid[2]) // device["sms"]),
    }
    blocks = min(limits.values())
    return {
        "blocks_per_sm": blocks,
        "warps_per_sm": blocks * warps,
        "occupancy": blocks * warps / device["warps_per_sm"],
        "limited_by": min(limits, key=lambda name: limits[name]),
        "limits": limits,
    }
