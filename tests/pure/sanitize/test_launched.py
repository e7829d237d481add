"""What ``bench.sanitize`` would launch."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from bench.sanitize import chains, forms, groups, large, lists, nests, small
from bench.sanitize.job import Job, fits
from bench.sanitize.jobs import jobs
from tests.pure.sanitize.logs import CUDA
from tilewright.model import DTYPES, Config, Device, GroupedProblem, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda import capability
from tilewright.tutorial import outlines

pytestmark = pytest.mark.pure


class Made(NamedTuple):
    """What a job of a stencil was made of; rungs of the ladder have none of it."""

    stencil: Stencil
    problem: Problem
    config: Config


class Listed(NamedTuple):
    """All jobs for a device, and what those of stencils were made of, by name."""

    device: Device
    jobs: list[Job]
    made: dict[str, Made]


def watched(make: Callable[..., Job], kept: dict[str, Made]) -> Callable[..., Job]:
    """The same maker of jobs, which also keeps what it makes them of."""

    def keeping(stencil: Any, problem: Any, config: Any, name: str, *rest: Any, **more: Any) -> Job:
        kept[name] = Made(stencil, problem, config)
        return make(stencil, problem, config, name, *rest, **more)

    return keeping


NEEDS = {
    "whole": "bulk_copy",
    "single": "bulk_copy",
    "boxes": "wgmma",
    "experts": "wgmma",
    "warpgroup": "wgmma",
    "dmma": "wgmma",
    "ffma": "wgmma",
    "cfma": "wgmma",
    "pairs": "wgmma",
    "emulated": "wgmma",
    "split": "wgmma",
    "unaligned": "wgmma",
}
"""What stencils need that not every device has."""


@pytest.fixture(scope="module", params=["h200", "a100"])
def listed(request: pytest.FixtureRequest) -> Listed:
    device = capability.named(request.param)
    kept: dict[str, Made] = {}
    with pytest.MonkeyPatch.context() as patch:
        for module in (chains, forms, groups, large, nests, small):
            patch.setattr(module, "made", watched(module.made, kept))
        return Listed(device, list(jobs(device)), kept)


def test_names_tell_jobs_apart(listed: Listed) -> None:
    (most,) = Counter(job.name for job in listed.jobs).most_common(1)
    assert most[1] == 1, most
    for job in listed.jobs:
        # One word of a log, and the name of the kernel in the program.
        assert re.fullmatch(r"[a-z]\w*", job.name)
        assert job.source.entry == job.name
        (entry,) = (before for before, now in job.source.defines if now == job.name)
        assert re.search(rf"__global__[^;{{]*\b{entry}\b", job.source.text), job.name


def test_every_stencil_and_every_rung_is_launched(listed: Listed) -> None:
    of = {name: [job for job in listed.jobs if job.stencil == name] for name in CUDA}
    for name, mine in of.items():
        if NEEDS.get(name, "ldg") not in listed.device.supports:
            assert not mine
            continue
        assert mine, f"{name} has no job"
        assert {listed.made[job.name].stencil.name for job in mine} == {name}
        # Each with a C that is read and with one that is not; of groups it never is.
        assert {job.problem.beta == "0" for job in mine} == ({True} if CUDA[name].segments else {False, True})
    rungs = [job for job in listed.jobs if job.name not in listed.made]
    steps = [
        (letter, rung)
        for letter, rungs_of in outlines.LADDERS.items()
        for rung in rungs_of
        if rung.missing(listed.device) is None
    ]
    assert {job.stencil for job in rungs} == {rung.name for _, rung in steps}
    assert len(rungs) + sum(map(len, of.values())) == len(listed.jobs)
    for letter, rung in steps:
        name = rung.name if letter == "s" else f"half_{letter}_{rung.name}"
        mine = [job for job in rungs if re.fullmatch(rf"{name}_\d+", job.name)]
        assert len(mine) == len(rung.configs), rung.name
        for job, config in zip(mine, rung.configs, strict=True):
            assert job.source.text == rung.source(config).text
            assert set(rung.source(config).defines) < set(job.source.defines)
            assert job.swapped
    assert len(rungs) == sum(len(rung.configs) for _, rung in steps)


def test_every_type_of_a_stencil_is_launched(listed: Listed) -> None:
    found: dict[str, set[str]] = {name: set() for name in CUDA}
    for stencil, problem, _ in listed.made.values():
        found[stencil.name].add(problem.dtype.letter)
    for kernel in ("tiny", "panel", "grouped", "chain", "segments", "strips", "interleaved"):
        assert found[kernel] == set(DTYPES), kernel
    assert found["tensor"] == {"h", "b", "hc", "d", "z"}
    types = {"single": {"s", "d", "c", "z"}, "whole": {"h", "b", "hc"}}
    types |= {
        "dmma": {"d", "z"},
        "ffma": {"s", "c"},
        "cfma": {"c"},
        "warpgroup": {"h", "b", "s"},
        "pairs": {"hc"},
        "emulated": {"s", "c"},
        "split": {"s", "c"},
        "experts": {"h", "b", "hc"},
    }
    for kernel, feature in NEEDS.items():
        served = types.get(kernel, {"h", "b"})
        assert found[kernel] == (served if feature in listed.device.supports else set())
    for kernel in ("classic", "middle"):
        assert found[kernel] == {"s", "d", "c", "z"}
    sizes = {
        (m.problem.dtype.letter, m.problem.m)
        for m in listed.made.values()
        if m.stencil is CUDA["tiny"] and m.problem.m == m.problem.n == m.problem.k
    }
    assert sizes >= {(letter, n) for letter in DTYPES for n in range(1, 41)}


def test_every_config_obeys_the_hardware(listed: Listed) -> None:
    for name, (stencil, problem, config) in listed.made.items():
        assert stencil.accepts(problem, listed.device) is None, name
        rules = stencil.space(problem, listed.device).why(config)
        broken = [rule.name for rule in rules if rule.kind in HARDWARE]
        assert not broken, f"{name}: {broken}"
    for job in listed.jobs:
        x, y, z = job.launch.block
        assert x * y * z <= listed.device["threads_per_block"], job.name
        assert job.launch.shared <= listed.device["shared_per_block_optin"], job.name
        assert min(job.launch.grid) > 0, job.name


def test_operands_lie_as_kernels_are_told(listed: Listed) -> None:
    """Operands are made for the problem with its batch named again, which packs interleaved matrices."""
    batches = [job for job in listed.jobs if isinstance(job.problem, Problem) and not job.problem.outer]
    assert batches
    for job in batches:
        assert job.problem.with_(batch=job.problem.batch) == job.problem, job.name


def test_a_config_beyond_the_hardware_does_not_fit(listed: Listed) -> None:
    tensor = CUDA["tensor"]
    (problem,) = Problem.parse("h:nn:64x64x64@3", beta="0")
    default = tensor.default(problem, listed.device)
    assert fits(tensor, problem, default, listed.device)
    # What would come early is not read.
    assert not fits(tensor, problem, default.with_(early_c=1), listed.device)


def test_c_comes_early_where_it_is_read(listed: Listed) -> None:
    tensor = {name: m for name, m in listed.made.items() if m.stencil is CUDA["tensor"]}
    early = {name: m for name, m in tensor.items() if m.config["early_c"]}
    assert early.keys() == {name for name in tensor if name.endswith("_early")}
    assert {m.problem.dtype.letter for m in early.values()} == {"h", "b", "hc"}
    launched = {job.name: job for job in listed.jobs}
    for name, (_, problem, config) in early.items():
        assert problem.beta != "0", name
        defines = dict(launched[name].source.defines)
        assert defines["EARLY_C"] == "1"
        assert defines["BETA"] != "0"
        other = listed.made[name.removesuffix("_early")]
        assert other.problem == problem
        assert other.config == config.with_(early_c=0)


def test_operands_begin_as_oddly_as_they_may(listed: Listed) -> None:
    odd: Counter[str] = Counter()
    for job in listed.jobs:
        # What is promised of the addresses must hold.
        assert job.shift % job.problem.align == 0, job.name
        odd[job.stencil] += job.shift == job.problem.dtype.itemsize
    assert odd["tiny"]
    assert odd["tensor"]


def test_what_lists_add_up_to_is_exact_in_their_type(listed: Listed) -> None:
    mine = [m.problem for m in listed.made.values() if isinstance(m.problem, GroupedProblem)]
    assert mine
    for problem in mine:
        right = lists.drawn(problem).right()
        again = lists.wide(lists.stored(right, problem.dtype), problem.dtype)
        assert (again == right).all(), problem.key
