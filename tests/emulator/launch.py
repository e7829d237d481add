"""Launches: every block of a grid, one cluster after the other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tests.emulator.arithmetic import LANES
from tests.emulator.compiler import Compiler
from tests.emulator.machine import BLOCK, FIRST, SCHEDULES, Block, Cluster, Schedule, Texture, Warp
from tests.emulator.memory import Memory, Segment
from tests.emulator.races import Watch


def launch(
    compiled: Compiler,
    grid: tuple[int, int, int],
    threads: int,
    shared: int,
    parameters: bytes,
    memory: Memory,
    *,
    cluster: int = 1,
    schedule: Schedule = SCHEDULES[0],
    textures: Mapping[int, Texture] | None = None,
) -> None:
    """Every block of a grid, one cluster (of blocks along y) after the other. Raises ``Fault``."""
    # Words of 16 bytes are read of it.
    block = np.frombuffer(parameters + bytes(-len(parameters) % 16), np.uint8).copy()
    given = Memory([Segment("the arguments", 0, block, None, np.zeros(block.size, bool))])
    with np.errstate(all="ignore"):
        for z in range(grid[2]):
            for y in range(0, grid[1], cluster):
                for x in range(grid[0]):
                    places = [(x, y + rank, z) for rank in range(cluster)]
                    _cluster(
                        compiled, grid, threads, shared, given, memory, places, schedule, textures or {}
                    ).run()


def _cluster(
    compiled: Compiler,
    grid: tuple[int, int, int],
    threads: int,
    shared: int,
    parameters: Memory,
    memory: Memory,
    places: list[tuple[int, int, int]],
    schedule: Schedule,
    textures: Mapping[int, Texture],
) -> Cluster:
    room = compiled.program.dynamic + -(-shared // 16) * 16
    banks = [
        Segment("shared memory", rank * BLOCK + FIRST, np.full(room, 0xFF, np.uint8), None, None)
        for rank in range(len(places))
    ]
    watch = Watch(FIRST, room, BLOCK, len(places))
    cluster = Cluster(schedule, Memory(banks), textures, watch)
    for rank, place in enumerate(places):
        block = Block(compiled.program, cluster, rank, threads, memory, parameters)
        for number in range(threads // LANES):
            registers = list(compiled.initial)
            values = {"%tid.x": np.arange(LANES, dtype=np.uint32) + np.uint32(LANES * number)}
            for name, value in zip("xyz", place, strict=True):
                values[f"%ctaid.{name}"] = np.full(LANES, value, np.uint32)
            for name, value in zip("xyz", grid, strict=True):
                values[f"%nctaid.{name}"] = np.full(LANES, value, np.uint32)
            values["%ntid.x"] = np.full(LANES, threads, np.uint32)
            for name, array in values.items():
                registers[compiled.index[name]] = array
            # Addresses of shared memory tell the blocks of a cluster apart.
            for index in compiled.shared if rank else ():
                registers[index] = registers[index] + registers[index].dtype.type(rank * BLOCK)
            cluster.warps.append(Warp(number, block, compiled.code, registers))
    return cluster
