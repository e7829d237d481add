"""The ``tile`` stencil: random problems under random configs are right, rules hold, defaults do not spill."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.space import HARDWARE, Space
from tilewright.targets import cpu
from tilewright.verify import Verifier

pytestmark = pytest.mark.cpu

TILE = STENCILS["tile"]
GOLDEN = Path(__file__).parent.parent / "golden"

# Devices as data: what is written for them does not depend on the machine that the test runs on.
AVX512 = Device(
    "cpu",
    "a server with 512-bit vectors",
    "skylake-avx512",
    {"vector_bits": 512, "vector_registers": 32, "masks": 1, "cores": 8, "l1d": 32 << 10, "l2": 1 << 20,
     "l3": 32 << 20},
    features="x86_64/skylake-avx512 +avx512dq,+avx512f,+avx512vl,+fma",
)  # fmt: skip
AVX2 = Device(
    "cpu",
    "a laptop with 256-bit vectors",
    "haswell",
    {"vector_bits": 256, "vector_registers": 16, "masks": 0, "cores": 4, "l1d": 32 << 10, "l2": 256 << 10,
     "l3": 8 << 20},
    features="x86_64/haswell +avx2,+fma",
)  # fmt: skip


def walk(space: Space, seed: int) -> Config | None:
    """A random config that the rules let through, found by going back where a rule says no."""
    draw = random.Random(seed)
    order = {p.name: draw.sample(p.values, len(p.values)) for p in space.params}
    level = {param.name: depth for depth, param in enumerate(space.params)}
    ready: list[list[Any]] = [[] for _ in space.params]
    for rule in space.rules:
        ready[max((level[name] for name in rule.reads), default=0)].append(rule)
    steps = 0

    def extend(chosen: dict[str, Any], depth: int) -> Config | None:
        nonlocal steps
        if depth == len(space.params):
            return Config(chosen)
        name = space.params[depth].name
        for value in order[name]:
            steps += 1
            if steps > 5000:
                return None
            point = {**chosen, name: value}
            if all(rule.test(**{n: point[n] for n in rule.reads}) for rule in ready[depth]):
                found = extend(point, depth + 1)
                if found is not None:
                    return found
        return None

    return extend({}, 0)


def check(problem: Problem, config: Config, device: Device, seed: int = 0) -> None:
    """Compile, load, and verify under every condition of the verifier."""
    binary = cpu.compile(TILE.source(problem, config, device), device)
    kernel = cpu.load(binary)
    call = cpu.PROTOTYPE(kernel.address)
    verdict = Verifier(problem, seed).check(lambda made: call(*made.arguments))
    assert verdict.ok, f"{problem.key}, {config}: {verdict.why}"


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    most = draw(st.sampled_from([4, 9, 20, 20, 33, 64]))
    size = st.integers(1, most)
    dtype = DTYPES[draw(st.sampled_from("sdcz"))]
    m, n = draw(size), draw(size)
    k = draw(st.one_of(size, size, st.just(0)))
    if m * n * k > 20_000:
        m, n = min(m, 17), min(n, 17)
    letter = st.sampled_from("ntcj")
    p = Problem(dtype, m, n, k, draw(letter), draw(letter))
    pad = st.sampled_from([0, 0, 1, 3, 8])
    changed: dict[str, Any] = {f"ld{x}": getattr(p, f"ld{x}") + draw(pad) for x in "abc"}
    shared = draw(st.sampled_from(["", "", "a", "b", "ab"]))
    changed |= {f"stride_{x}": 0 for x in shared}
    changed |= {
        "alpha": draw(st.sampled_from(["1", "any"])),
        "beta": draw(st.sampled_from(["0", "1", "any"])),
    }
    changed |= {f"stride_{x}": None for x in "abc" if x not in shared}
    return p.with_(**changed)


@settings(deadline=None, max_examples=120, suppress_health_check=list(HealthCheck))
@given(problems(), st.integers(0, 10**6), st.booleans())
def test_random_configs_are_right(problem: Problem, seed: int, all_rules: bool) -> None:
    device = cpu.probe()
    assert TILE.accepts(problem, device) is None
    space = TILE.space(problem, device)
    config = walk(space if all_rules else space.only(HARDWARE), seed)
    if config is None:
        config = TILE.default(problem, device)
    assert not [rule for rule in space.why(config) if rule.kind in HARDWARE]
    check(problem, config, device, seed)


@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("tail", ["mask", "narrow", "binary", "overlap"])
def test_every_tail_of_every_width(letter: str, bits: int, tail: str) -> None:
    device = cpu.probe()
    tried = 0
    for m in (3, 5, 7, 11):
        problem = Problem(DTYPES[letter], m, 3, 4, beta="1")
        space = TILE.space(problem, device).only(HARDWARE)
        values = {param.name: param.values for param in space.params}
        if bits in values["vector_bits"] and tail in values["tail"]:
            config = walk(space.restricted(vector_bits=bits, tail=tail), m)
            if config is not None:
                tried += 1
                check(problem, config, device)
    if not tried:
        pytest.skip("no such vectors here")


@pytest.mark.parametrize("letter", "sz")
def test_streaming_stores_where_they_fit_and_where_not(letter: str) -> None:
    device = cpu.probe()
    n = 64 * 8 // DTYPES[letter].real_bits // (2 if DTYPES[letter].is_complex else 1)
    problem = Problem(DTYPES[letter], n, 3, 4)
    space = TILE.space(problem, device).only(HARDWARE).restricted(store="stream")
    for seed in range(3):
        config = walk(space, seed)
        assert config is not None
        check(problem, config, device)


# ---- the code


def defaults(letter: str) -> Iterator[Problem]:
    """What is asked most: square, packed, both plain classes of beta, and a sample of transpositions."""
    for n in range(1, 33):
        for beta in "01":
            yield Problem(DTYPES[letter], n, n, n, beta=beta, batch=2)
    for n, trans in ((4, "tn"), (7, "nt"), (13, "tt"), (24, "cn"), (31, "nc")):
        yield Problem(DTYPES[letter], n, n, n, *trans, batch=2)


@pytest.mark.parametrize("letter", "sdcz")
def test_defaults_do_not_spill(letter: str) -> None:
    device = cpu.probe()
    spilled = set()
    for problem in defaults(letter):
        config = TILE.default(problem, device)
        facts = cpu.compile(TILE.source(problem, config, device), device).facts
        assert facts["fma"] == facts["fma_expected"], f"{problem.key}, {config}"
        assert facts["fma"] > 0 or problem.k == 1, "the first product of a sum is no multiply-add"
        if facts["spills"]:
            spilled.add(problem.spelling.partition("@")[0])
    if device["vector_bits"] == 512:
        assert not spilled


@pytest.mark.parametrize("device", [AVX512, AVX2], ids=lambda d: d.key)
def test_defaults_pass_every_hardware_rule(device: Device) -> None:
    for letter in "sdcz":
        for m, n, k in ((1, 1, 1), (3, 5, 2), (8, 8, 8), (17, 31, 9), (64, 64, 64), (64, 1, 1), (1, 64, 64)):
            for beta in ("0", "any"):
                problem = Problem(DTYPES[letter], m, n, k, beta=beta)
                config = TILE.default(problem, device)
                assert not TILE.space(problem, device).only(HARDWARE).why(config)
                cpu.parse(TILE.source(problem, config, device).text)


KERNELS = {
    "lanes-d-2x2x2": ("lanes", "d:2x2x2", {}),
    "tile-d-4x4x4": ("tile", "d:4x4x4", {}),
    "tile-z-3x3x3": ("tile", "z:3x3x3", {}),
    "tile-s-5x3x4-mask": ("tile", "s:5x3x4", {"tail": "mask"}),
}


@pytest.mark.parametrize("device", [AVX512, AVX2], ids=lambda d: d.key)
@pytest.mark.parametrize("name", KERNELS)
def test_the_programs_are_as_they_were(name: str, device: Device, request: pytest.FixtureRequest) -> None:
    """What is written for a few small kernels, to be read in a review (``--update-golden``)."""
    stencil, spelling, changes = KERNELS[name]
    (problem,) = Problem.parse(spelling)
    default = STENCILS[stencil].default(problem, device)
    if changes.get("tail") == "mask" and not device["masks"]:
        changes = {}
    config = default.with_(**changes)
    text = (
        f"; {problem.key} {device.key}\n; {config}\n{STENCILS[stencil].source(problem, config, device).text}"
    )
    path = GOLDEN / f"{name}.{device.key}.ll"
    if request.config.getoption("--update-golden"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; if it should, run pytest --update-golden"
    cpu.parse(text)


# ---- the rules


def broken_by(rule: str, device: Device) -> Iterator[tuple[Problem, Config]]:
    """Configs that break a rule of the kinds that nobody may break, and no other such rule before it."""
    for spelling in ("d:16x16x16", "d:7x9x5", "z:3x5x9", "s:20x4x3", "s:5x3x4", "d:1x1x4", "c:9x9x9"):
        for beta in "01":
            (problem,) = Problem.parse(spelling, beta=beta)
            space = TILE.space(problem, device).only(HARDWARE)
            base = walk(space, 3)
            assert base is not None
            for start in (TILE.default(problem, device), base):
                for param in space.params:
                    for value in param.values:
                        config = start.with_(**{param.name: value})
                        if [each.name for each in space.why(config)][:1] == [rule]:
                            yield problem, config


RULES = [
    rule.name
    for rule in TILE.space(Problem.parse("z:7x9x5")[0], AVX512).rules
    if rule.kind in ("hard", "queryable")
]


@pytest.mark.parametrize("rule", RULES)
def test_what_breaks_a_rule_is_refused(rule: str) -> None:
    found = next(broken_by(rule, cpu.probe()), None)
    if found is None:
        pytest.skip("nothing breaks this rule first on this machine")
    problem, config = found
    dtype = problem.dtype.name
    # Row-major arrays: the kernel's A is the second operand.
    a, b = np.ones((problem.n, problem.k), dtype), np.ones((problem.k, problem.m), dtype)
    c = np.ones((problem.n, problem.m), dtype)
    options = {"beta": int(problem.beta), "out": c, "stencil": "tile"}
    asked = tw.plan(a, b, c, **options).plan.problem
    assert (asked.m, asked.n, asked.k) == (problem.m, problem.n, problem.k)
    with pytest.raises(ArgumentError, match=f"breaks '{rule}'"):
        tw.plan(a, b, c, **options, config=dict(config))


def test_every_rule_can_be_put_to_the_test() -> None:
    """Three cannot on a processor with masks, where the test above skips them: "masks" itself, and those that
    the shapes there reach on narrower vectors alone."""
    missing = {rule for rule in RULES if next(broken_by(rule, AVX2), None) is None}
    assert missing == set()
    missing = {rule for rule in RULES if next(broken_by(rule, AVX512), None) is None}
    assert missing <= {"masks", "equal-rows", "registers"}


def test_what_the_stencil_does_not_accept() -> None:
    device = cpu.probe()
    for problem, words in (
        (Problem(DTYPES["h"], 4, 4, 4), "type h"),
        (Problem(DTYPES["d"], 65, 4, 4), "larger than 64"),
        (Problem(DTYPES["d"], 0, 4, 4), "nothing to compute"),
    ):
        assert words in str(TILE.accepts(problem, device))
