"""The universal stencil through NVRTC, for two architectures and without a device; and, compiling
nothing, its launches. What its kernel computes is in test_emulated.py."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.classic.needs as module
from tilewright.errors import CompileError
from tilewright.model import Binary, Config, Device, Problem, Source
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda.classic.stencil import ClassicStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

GOLDEN = Path(__file__).parent.parent / "golden"
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
CLASSIC = ClassicStencil()
A100, H200 = named("a100"), named("h200")
DEVICES = (A100, H200)
VARIANTS = [
    f"{letter}:{a}{b}" for letter in "sdcz" for a, b in product("ntc" if letter in "cz" else "nt", repeat=2)
]
"""Types and transpositions: 2 x 2 of each real type and 3 x 3 of each complex one, 26."""

Test = Callable[..., None]


def compiles(test: Test) -> Test:
    """A test that needs NVRTC."""
    reason = nvrtc.compiler_missing()
    return pytest.mark.compile(pytest.mark.skipif(reason is not None, reason=str(reason))(test))


def one(spelling: str, size: str = "8192x8192x8192", **fields: Any) -> Problem:
    return Problem.parse(f"{spelling}:{size}", **fields)[0]


# ---- what the compiler makes of it


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


MADE: dict[tuple[str, str], Binary] = {}
"""All that was compiled here, by source and architecture: tests ask for the same programs."""


def compiled(points: Iterable[Point]) -> list[tuple[Point, Binary]]:
    """All of them, each different program once, on as many threads as there are cores."""
    wanted = {(point.source.digest, point.device.features): point for point in points}
    missing = {key: point for key, point in wanted.items() if key not in MADE}
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
        made = pool.map(lambda point: nvrtc.compile(point.source, point.device), missing.values())
        MADE.update(zip(missing, made, strict=True))
    return [(point, MADE[key]) for key, point in wanted.items()]


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


@compiles
@pytest.mark.parametrize("device", DEVICES, ids=lambda d: d.features)
def test_the_default_of_every_variant_is_clean(device: Device) -> None:
    # Of the older device every other one, with A and B of each type stored in every way.
    variants = VARIANTS if device is H200 else VARIANTS[::2]
    points = list(defaults([one(variant) for variant in variants], [device]))
    assert len({point.source.digest for point in points}) == len(variants)
    assert blemishes(points) == []


@compiles
@pytest.mark.parametrize("device", DEVICES, ids=lambda d: d.features)
def test_the_defaults_of_other_shapes_are_clean(device: Device) -> None:
    sizes = ("32x32x32", "300x200x100", "8192x16x8192", "16x8192x8192", "64x64x65536")
    problems = [
        one(f"{letter}:{trans}", size)
        for (letter, trans), size in product(zip("sdcz", CROSSED, strict=True), sizes)
    ][device is A100 :: 2]
    for letter, align in (("s", 4), ("s", 8), ("d", 8), ("c", 8)):
        problems += [one(f"{letter}:nt", size, align=align) for size in ("8192x8192x8192", "333x77x555")]
    assert blemishes(defaults(problems, [device])) == []


CROSSED = ("nn", "tn", "nc", "ct")
"""A transposition for each of the types s, d, c and z, so that all stored forms occur."""


@compiles
def test_every_way_of_reading_is_clean() -> None:
    points = []
    for letter, trans in zip("sdcz", CROSSED, strict=True):
        problem = one(f"{letter}:{trans}", "512x512x512")
        # As the paper has it: scalar reads, skewed stripes, one buffer; and our own form of the same.
        paper = module.winner(problem).with_(lanes=8 if letter == "z" else 16)
        # Each way with each of them, in one type or another.
        forms = (paper, good(problem).with_(wide=1))
        for number, read in enumerate(module.READS):
            form = forms[("sdcz".index(letter) + number) % 2]
            points.append(Point(problem, form.with_(read=read), H200))
    assert blemishes(points) == []


@compiles
def test_the_classes_of_scalars_are_different_programs() -> None:
    classes = list(product(("1", "any"), ("0", "1", "any")))
    points = []
    for letter, trans in (("s", "nt"), ("z", "tc")):
        points += defaults(
            [one(f"{letter}:{trans}", "64x64x64", alpha=a, beta=b) for a, b in classes], [H200]
        )
    assert blemishes(points) == []
    for same_type in (points[:6], points[6:]):
        assert len({binary.code for _, binary in compiled(same_type)}) == 6


SINGLE: dict[str, Any] = {"read": "global", "order": 1, "split": 1, "early": 0, "mma": 0}
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


@compiles
def test_the_extras_are_clean_and_change_the_program() -> None:
    """On tiles of 64 x 64 (32 x 32 complex ones), which leave registers for all of them."""
    points = []
    for variant in ("d:nn", "z:ct"):
        problem = one(variant, "4096x4096x4096", beta="any")
        side = 32 if problem.dtype.is_complex else 64
        plain = CLASSIC.default(problem, H200).with_(
            m_dim=16, n_dim=16, m_blk=64, n_blk=side, k_blk=8, buffers=2, lanes=8, min_blocks=1, **SINGLE
        )
        grids = next(grids_of(problem, plain))
        for extra in ({}, *EXTRAS):
            point = Point(problem, plain.with_(**grids, **extra), H200)
            space = CLASSIC.space(problem, H200)
            broken = [rule.name for rule in space.only(HARDWARE).why(point.config)]
            assert broken == [] or extra == {"vec": 1} == {"vec": plain["vec"]}, (point.name, broken)
            points.append(point)
    made = compiled(points)
    # Elements of 16 bytes have vec 1 as they are.
    assert len({binary.code for _, binary in made}) == 2 * (1 + len(EXTRAS)) - 1
    assert blemishes(points) == []


def grids_of(problem: Problem, c: Mapping[str, Any]) -> Iterator[dict[str, int]]:
    """Read grids that overlay the stripes of a config, the ones with long rows first."""
    threads, wide = c["m_dim"] * c["n_dim"], c["wide"]

    def shapes(k_along: bool, free: int) -> list[tuple[int, int]]:
        along, across = (c["k_blk"], free) if k_along else (free, c["k_blk"])
        found = [(m, threads // m) for m in (64, 32, 16, 8, 4, 2, 1) if threads % m == 0]
        return [(m, n) for m, n in found if along % (m * wide) == 0 and across % n == 0]

    pairs = product(shapes(problem.transposed_a, c["m_blk"]), shapes(not problem.transposed_b, c["n_blk"]))
    for (m_dima, n_dima), (m_dimb, n_dimb) in pairs:
        yield {"m_dima": m_dima, "n_dima": n_dima, "m_dimb": m_dimb, "n_dimb": n_dimb}


@compiles
@pytest.mark.parametrize("device", DEVICES, ids=lambda d: d.features)
def test_the_values_written_in_the_kernel_are_a_config(device: Device) -> None:
    problem = one("s:nn")
    facts = nvrtc.compile(
        replace(CLASSIC.source(problem, CLASSIC.default(problem, device), device), defines=()), device
    )
    assert (facts.facts["spills"], facts.facts["warnings"]) == (0, 0)


# ---- what it refuses

ASSERTED = dict(re.findall(r'static_assert\([^;]*?"([a-z-]+): ([^"]+)"', KERNEL))
"""The texts of the kernel's assertions by the names of rules that they begin with."""
# The first two are about operands, which a program does not know; the third about programs that are alike.
UNASSERTED = {"texture-single", "aligned", "resident-matters"}


def asserting(rule: str) -> str | None:
    """The assertion behind a rule: the one whose name its own is, or begins with, some letters apart."""
    stem = rule.replace("-wide-", "-")
    return next((name for name in sorted(ASSERTED, key=len, reverse=True) if stem.startswith(name)), None)


@pytest.mark.pure
@pytest.mark.parametrize("variant", ["s:nn", "z:tc"])
def test_every_hard_rule_is_asserted_in_the_same_words(variant: str) -> None:
    hard = [rule for rule in CLASSIC.space(one(variant), H200).rules if rule.kind == "hard"]
    assert {rule.name for rule in hard if asserting(rule.name) is None} == UNASSERTED
    assert {asserting(rule.name) for rule in hard} - {None} == set(ASSERTED)
    for rule in hard:
        name = asserting(rule.name)
        if name is not None:
            assert rule.why.startswith(ASSERTED[name]), (rule.name, rule.why)


PLAIN = {"k_blk": 32, "wide": 1, "vec": 1}
# For each rule: a problem, and what to change in a good config of it so that nothing else goes wrong.
BROKEN: list[tuple[str, str, dict[str, Any]]] = [
    ("whole-warps", "s:nn", {"m_dim": 8, "n_dim": 2, "m_dima": 2, "n_dima": 8, "m_dimb": 2, "n_dimb": 8}),
    (
        "tile-overlaid-m",
        "s:nn",
        {"m_blk": 136, "m_dima": 8, "n_dima": 32, "m_dimb": 16, "n_dimb": 16} | PLAIN,
    ),
    (
        "tile-overlaid-n",
        "s:nt",
        {"n_blk": 136, "m_dima": 16, "n_dima": 16, "m_dimb": 8, "n_dimb": 32} | PLAIN,
    ),
    ("grid-a-divides", "s:nn", {"m_blk": 192, "m_dima": 48, "n_dima": 4}),
    ("grid-a", "s:nn", {"n_dima": 4}),
    ("grid-b-divides", "s:nt", {"n_blk": 192, "m_dimb": 48, "n_dimb": 4}),
    ("grid-b", "s:nn", {"n_dimb": 64}),
    ("overlay-a", "s:nn", {"m_dima": 1, "n_dima": 256}),
    ("overlay-a", "s:tn", {"m_dima": 32, "n_dima": 8}),
    ("overlay-b", "s:nn", {"m_dimb": 32, "n_dimb": 8}),
    ("overlay-b", "s:nt", {"m_dimb": 1, "n_dimb": 256}),
    ("overlay-wide-a", "s:nn", {"m_dima": 64, "n_dima": 4}),
    ("overlay-wide-b", "s:nn", {"m_dimb": 4, "n_dimb": 64}),
    (
        "access-width-global",
        "d:nn",
        {"wide": 4, "k_blk": 16, "m_dima": 16, "n_dima": 16, "m_dimb": 4, "n_dimb": 64},
    ),
    ("access-width-shared", "d:nn", {"vec": 4}),
    ("vec-divides", "s:nn", {"n_blk": 32, "m_dimb": 8, "n_dimb": 32, "k_blk": 32}),
    ("lanes-divide", "s:nn", {"lanes": 32}),
    ("early-c", "s:nn", {"early": 1}),
    ("mma-type", "s:nn", {"mma": 1, "vec": 2}),
    ("mma-type", "d:nn", {"mma": 1, "lanes": 16}),
    ("mma-tile", "d:nn", {"mma": 1, "vec": 1}),
    ("texel", "s:nn", {"read": "tex1d"}),
]

# What cannot hold either where a rule is broken.
COMPANIONS = {
    "whole-warps": {"lanes-divide"},
    "tile-overlaid-m": {"vec-divides"},
    "tile-overlaid-n": {"vec-divides"},
    "grid-a-divides": {"overlay-a"},
    "grid-b-divides": {"overlay-b"},
    "grid-a": {"overlay-a"},
    "grid-b": {"overlay-b"},
}


def good(problem: Problem) -> Config:
    """A plain config of 16 x 16 threads on 128 x 128 (64 x 64) elements."""
    side = 128 if problem.dtype.itemsize == 4 else 64
    vec = 16 // problem.dtype.itemsize
    config = CLASSIC.default(problem, H200).with_(
        m_dim=16,
        n_dim=16,
        m_blk=side,
        n_blk=side,
        k_blk=8,
        wide=vec,
        vec=vec,
        lanes=8,
        min_blocks=1,
        **SINGLE,
    )
    return config.with_(
        **next(g for g in grids_of(problem, config) if g["m_dima"] <= 32 and g["m_dimb"] <= 32)
    )


def refusals(problem: Problem, changes: Mapping[str, Any]) -> tuple[set[str], set[str], str]:
    """Hard rules that a config breaks, assertions that fail, and what is said of it."""
    config = good(problem).with_(**changes)
    broken = {rule.name for rule in CLASSIC.space(problem, H200).only(("hard",)).why(config)} - UNASSERTED
    source = CLASSIC.source(problem, config, H200)
    failed = re.findall(r'assertion failed with "([a-z-]+): ', nvrtc.log(source, H200))
    try:
        nvrtc.compile(source, H200)
    except CompileError as error:
        return broken, set(failed), str(error)
    return broken, set(failed), ""


@compiles
def test_what_breaks_a_hard_rule_is_refused_by_its_name() -> None:
    problems = [one(variant) for _, variant, _ in BROKEN]
    for problem in problems:
        assert CLASSIC.space(problem, H200).only(("hard",)).why(good(problem)) == []
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
        found = list(pool.map(refusals, problems, [changes for *_, changes in BROKEN]))
    for (rule, variant, changes), (broken, failed, said) in zip(BROKEN, found, strict=True):
        name = asserting(rule)
        case = (rule, variant, changes, broken, failed)
        assert rule in broken, case
        companions = COMPANIONS.get(rule, set())
        assert failed - companions == {name}, case
        assert {asserting(other) for other in broken} - companions == {name}, case
        assert name is not None
        assert ASSERTED[name] in said, (case, said)
    assert {rule for rule, *_ in BROKEN} == {
        rule.name for rule in CLASSIC.space(one("s:nn"), H200).rules if rule.kind == "hard"
    } - UNASSERTED


# ---- what is written

WRITTEN = {
    "h200": ["s:nn:4096x4096x4096", "d:tn:777x555x333", "c:cj:512x512x512", "z:nt:64x64x65536"],
    "a100": ["s:nt:100x100x100@1000", "z:tc:4096x32x4096"],
}


@pytest.mark.pure
@pytest.mark.parametrize("key", WRITTEN)
def test_the_definitions_are_as_they_were(key: str, request: pytest.FixtureRequest) -> None:
    """What a few problems are compiled with and how they are launched, to be read in a review."""
    parts = []
    for spelling in WRITTEN[key]:
        (problem,) = Problem.parse(spelling, alpha="any", beta="1" if spelling[0] in "sz" else "any")
        config = CLASSIC.default(problem, named(key))
        launch = CLASSIC.launch(problem, config)
        head = f"{problem.spelling} alpha={problem.alpha} beta={problem.beta}"
        how = f"grid={launch.grid} block={launch.block} shared={launch.shared} cluster={launch.cluster}"
        defines = [
            f"#define {name} {value}" for name, value in CLASSIC.source(problem, config, named(key)).defines
        ]
        parts.append("\n".join([f"// {head}", f"// {how}", *defines, ""]))
    text, path = "\n".join(parts), GOLDEN / f"classic.{key}.cuh"
    if request.config.getoption("--update-golden"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; if it should, run pytest --update-golden"


# ---- the formulas of classic.cuh, worked through


@st.composite
def points(draw: st.DrawFn) -> tuple[Problem, Config]:
    """A small problem and a config that no rule of the hardware or of correctness removes."""
    letter = draw(st.sampled_from("sdcz"))
    letters = "ntcj" if letter in "cz" else "nt"
    trans = draw(st.sampled_from(letters)) + draw(st.sampled_from(letters))
    size = one(f"{letter}:nn", "1x1x1").dtype.itemsize
    mma = draw(st.sampled_from((0, 1))) if letter in "dz" else 0
    lanes = 8 if mma else draw(st.sampled_from((4, 8, 16, 32)))
    m_dim = draw(st.sampled_from([d for d in (4, 8, 16, 32) if d % lanes == 0]))
    n_dim = draw(st.sampled_from([d for d in (4, 8, 16, 32) if d % (32 // lanes) == 0 and m_dim * d <= 256]))
    vec = {"d": 2, "z": 1}[letter] if mma else draw(st.sampled_from([v for v in (1, 2, 4) if v * size <= 16]))
    wide = draw(st.sampled_from([w for w in (1, 2, 4) if w * size <= 16]))
    columns = (2 if letter == "z" else 4) if mma else vec
    rows = 2 if mma else vec
    blks = (16, 32, 48, 64, 96, 128)
    values = {
        "n_dim": n_dim,
        "m_dim": m_dim,
        "k_blk": draw(st.sampled_from((4, 8, 16, 32))),
        "n_blk": draw(st.sampled_from([b for b in blks if b % (n_dim * columns) == 0])),
        "m_blk": draw(st.sampled_from([b for b in blks if b % (m_dim * rows) == 0])),
    }
    problem = one(f"{letter}:{trans}", "1x1x1")
    grids = list(grids_of(problem, values | {"wide": wide}))
    assume(grids)
    values |= draw(st.sampled_from(grids))
    values |= {
        "read": draw(st.sampled_from(module.READS)) if wide == 1 else "global",
        "wide": wide,
        "vec": vec,
        "lanes": lanes,
        "buffers": draw(st.sampled_from((1, 2))),
        "order": draw(st.sampled_from((0, 1, 2))),
        "split": draw(st.sampled_from((1, 2, 4, 8))),
        "early": 0,
        "mma": mma,
        "min_blocks": 1,
    }
    m, n, k = (wide * draw(st.integers(1, most // wide)) for most in (260, 260, 160))
    texture = str(values["read"]).startswith("tex")
    problem = problem.with_(m=m, n=n, k=k, batch=1 if texture else draw(st.sampled_from((1, 3, 70_000))))
    if values["read"] == "tex2d":
        problem = problem.with_(lda=-(-(problem.lda or 0) // 32) * 32, ldb=-(-(problem.ldb or 0) // 32) * 32)
    config = Config(values)
    space = CLASSIC.space(problem, H200)
    assume(not Space(space.params, [r for r in space.rules if r.kind in HARDWARE]).why(config))
    assert all(config[param.name] in param.values for param in space.params)
    return problem, config


small = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


@pytest.mark.pure
@small
@given(points())
def test_a_launch_covers_c_and_k_and_the_batch_exactly(point: tuple[Problem, Config]) -> None:
    p, c = point
    launch = CLASSIC.launch(p, c)
    tiles_m = -(-p.m // c["m_blk"])
    seen = np.zeros((p.m, p.n), int)
    for x in range(launch.grid[0]):
        first_m, first_n = x % tiles_m * c["m_blk"], x // tiles_m * c["n_blk"]
        part = seen[first_m : first_m + c["m_blk"], first_n : first_n + c["n_blk"]]
        assert part.size, "a tile outside C"
        part += 1
    assert (seen == 1).all()
    taken = [
        first
        for y in range(launch.grid[1])
        for first, last in share_of(p, c, y)
        for first in range(first, last)
    ]
    assert taken == list(range(p.k))
    assert (launch.grid[1], launch.cluster) == (c["split"], c["split"])
    assert launch.block == (c["m_dim"] * c["n_dim"], 1, 1)
    depth = launch.grid[2]
    assert depth <= 65535
    assert sum(len(range(z, p.batch, depth)) for z in range(depth)) == p.batch
    assert launch.reading == (c["read"] if c["read"].startswith("tex") else "")


def share_of(p: Problem, c: Mapping[str, Any], y: int) -> list[tuple[int, int]]:
    """The steps along k of block y of a cluster, as the first k and the one after the last."""
    steps = -(-p.k // c["k_blk"])
    share = -(-steps // c["split"])
    first = min(y * share * c["k_blk"], p.k)
    last = min(first + share * c["k_blk"], p.k)
    steps = -(-(last - first) // c["k_blk"])
    # What k_blk leaves over comes first.
    middle = first + (last - first) - max(steps - 1, 0) * c["k_blk"]
    whole = [(k, k + c["k_blk"]) for k in range(middle, last, c["k_blk"])]
    return [(first, middle), *whole] if steps else []
