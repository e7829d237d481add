"""The universal stencil through NVRTC: no spills, no warnings, and no more registers than there are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import pytest

import tilewright.stencils.cuda.classic.needs as module
from tests import marks
from tests.classic import CLASSIC, H200, SINGLE, good, grids_of, one
from tilewright.model import Binary, Config, Device, Problem, Source
from tilewright.space import HARDWARE
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = marks.COMPILED

A100 = named("a100")
DEVICES = (A100, H200)


class Point(NamedTuple):
    """A config of a problem on a device."""

    problem: Problem
    config: Config
    device: Device

    @property
    def source(self) -> Source:
        return CLASSIC.source(self.problem, self.config, self.device)

    @property
    def name(self) -> str:
        p = self.problem
        return f"{self.device.features} {p.key} {self.config}"


def defaults(problems: Iterable[Problem], devices: Iterable[Device] = DEVICES) -> Iterator[Point]:
    for device, problem in product(devices, problems):
        yield Point(problem, CLASSIC.default(problem, device), device)


def compiled(points: Iterable[Point]) -> list[tuple[Point, Binary]]:
    """All of them, each different program once, on as many threads as there are cores."""
    wanted = {(point.source.digest, point.device.features): point for point in points}
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
        made = pool.map(lambda point: nvrtc.compile(point.source, point.device), wanted.values())
        return list(zip(wanted.values(), made, strict=True))


def allowed(config: Mapping[str, Any], device: Device) -> int:
    """Registers of a thread that ``__launch_bounds__`` leaves: given out eight at a time."""
    share = device["registers_per_sm"] // (config["min_blocks"] * config["m_dim"] * config["n_dim"])
    return min(device["registers_per_thread"], share // 8 * 8)


def blemishes(points: Iterable[Point]) -> list[str]:
    """What is not as it should be: spills, warnings, more registers or shared memory than there are."""
    found = []
    for point, binary in compiled(points):
        facts, shared = binary.facts, CLASSIC.launch(point.problem, point.config).shared
        for what, bad in (
            (f"{facts['spills']} bytes spilled", facts["spills"] > 0),
            (f"{facts['stack']} bytes of stack", facts["stack"] > 0),
            (f"{facts['warnings']} warnings", facts["warnings"] > 0),
            (f"{facts['shared']} bytes of static shared memory", facts["shared"] > 0),
            (f"{facts['registers']} registers", facts["registers"] > allowed(point.config, point.device)),
            (f"{shared} bytes of shared memory", shared > point.device["shared_per_block_optin"]),
        ):
            if bad:
                found.append(f"{what}: {point.name}")
    return found


def variants(device: Device) -> list[str]:
    """A and B of each type stored in every way, in other pairs for the next type and for the other device."""
    found = []
    for turn, letter in enumerate("sdcz", device is A100):
        ways = "ntc" if letter in "cz" else "nt"
        found += [f"{letter}:{a}:{ways[(i + turn) % len(ways)]}" for i, a in enumerate(ways)]
    return found


VARIANTS = [(variant, device) for device in DEVICES for variant in variants(device)]


@pytest.mark.sweep
@pytest.mark.parametrize(("variant", "device"), VARIANTS, ids=marks.key)
def test_the_default_of_every_variant_is_clean(variant: str, device: Device) -> None:
    letter, a, b = variant.split(":")
    assert blemishes(defaults([one(f"{letter}:{a}{b}")], [device])) == []


def test_the_defaults_of_all_variants_are_different_programs() -> None:
    for device in DEVICES:
        problems = [one("{}:{}{}".format(*variant.split(":"))) for variant in variants(device)]
        assert len({point.source.digest for point in defaults(problems, [device])}) == len(problems) == 10


CROSSED = ("nn", "tn", "nc", "ct")
"""A transposition for each of the types s, d, c and z, so that all stored forms occur."""
SIZES = ("32x32x32", "300x200x100", "8192x16x8192", "16x8192x8192", "64x64x65536")
# Each size once on a device, of one type or another.
SHAPES = [
    (f"{letter}:{trans}", size, device)
    for device in DEVICES
    for (letter, trans), size in list(product(zip("sdcz", CROSSED, strict=True), SIZES))[
        2 * (device is A100) :: 4
    ]
]
ENDS = ("8192x8192x8192", "333x77x555")
NARROW = [
    (letter, align, ENDS[turn % 2], device)
    for device in DEVICES
    for turn, (letter, align) in enumerate((("s", 4), ("s", 8), ("d", 8), ("c", 8)), device is A100)
]


@pytest.mark.sweep
@pytest.mark.parametrize(("variant", "size", "device"), SHAPES, ids=marks.key)
def test_the_defaults_of_other_shapes_are_clean(variant: str, size: str, device: Device) -> None:
    assert blemishes(defaults([one(variant, size)], [device])) == []


@pytest.mark.sweep
@pytest.mark.parametrize(("letter", "align", "size", "device"), NARROW, ids=marks.key)
def test_defaults_of_what_is_aligned_less_than_a_vector_are_clean(
    letter: str, align: int, size: str, device: Device
) -> None:
    assert blemishes(defaults([one(f"{letter}:nt", size, align=align)], [device])) == []


@pytest.mark.parametrize("device", DEVICES, ids=lambda d: d.features)
def test_defaults_that_share_an_sm_keep_their_sums(device: Device) -> None:
    """Two blocks leave a thread half of the registers; no index of one matrix is held for the next."""
    texts = [("d:nn:64x64x64@100000", "0"), ("d:tt:47x47x47@100000", "any"), ("d:nt:128x128x65536", "0")]
    if device is not A100:  # There the compiler of CUDA 13.0 leaves 16 bytes.
        texts.append(("s:tt:111x111x111@20000", "1"))
    problems = [Problem.parse(text, beta=beta)[0] for text, beta in texts]
    assert blemishes(defaults(problems, [device])) == []


def test_every_way_of_reading_is_clean() -> None:
    points = []
    for turn, (letter, trans) in enumerate(zip("sdcz", CROSSED, strict=True)):
        problem = one(f"{letter}:{trans}", "512x512x512")
        # As the paper has it: scalar reads, skewed stripes, one buffer; and our own form of the same.
        paper = module.winner(problem).with_(lanes=8 if letter == "z" else 16)
        # Each way with each of them, in one type or another.
        forms = (paper, good(problem).with_(wide=1))
        for number, read in enumerate(module.READS):
            if (number + turn) % 2 == 0:
                points.append(Point(problem, forms[turn // 2].with_(read=read), H200))
    assert blemishes(points) == []


def test_the_classes_of_scalars_are_different_programs() -> None:
    classes = list(product(("1", "any"), ("0", "1", "any")))
    points = list(defaults([one("z:tc", "64x64x64", alpha=a, beta=b) for a, b in classes], [H200]))
    assert blemishes(points) == []
    assert len({binary.code for _, binary in compiled(points)}) == len(classes)


EXTRAS: list[dict[str, Any]] = [
    {"early": 1},
    {"mma": 1, "lanes": 8},
    {"split": 2},
    {"split": 8},
    {"mma": 1, "lanes": 8, "split": 4},
    {"buffers": 1},
    {"order": 0},
    {"order": 2},
    {"lanes": 4},
    {"lanes": 16},
    {"min_blocks": 2},
    {"vec": 1},
]


def test_the_extras_are_clean_and_change_the_program() -> None:
    """On tiles of 64 x 64 (32 x 32 complex ones), which leave registers for all of them."""
    points = []
    # Half of them in each type.
    for variant, extras in (("d:nn", EXTRAS[1::2]), ("z:ct", EXTRAS[::2])):
        problem = one(variant, "4096x4096x4096", beta="any")
        side = 32 if problem.dtype.is_complex else 64
        plain = CLASSIC.default(problem, H200).with_(
            m_dim=16, n_dim=16, m_blk=64, n_blk=side, k_blk=8, buffers=2, lanes=8, min_blocks=1, **SINGLE
        )
        grids = next(grids_of(problem, plain))
        for extra in ({}, *extras):
            point = Point(problem, plain.with_(**grids, **extra), H200)
            space = CLASSIC.space(problem, H200)
            assert space.only(HARDWARE).why(point.config) == [], point.name
            points.append(point)
    assert len({binary.code for _, binary in compiled(points)}) == len(points) == 2 + len(EXTRAS)
    assert blemishes(points) == []


@pytest.mark.parametrize("device", DEVICES, ids=lambda d: d.features)
def test_the_values_written_in_the_kernel_are_a_config(device: Device) -> None:
    problem = one("s:nn")
    facts = nvrtc.compile(
        replace(CLASSIC.source(problem, CLASSIC.default(problem, device), device), defines=()), device
    )
    assert (facts.facts["spills"], facts.facts["warnings"]) == (0, 0)
