"""The universal stencil on a device: every variant in every form, right on sizes that no tile divides.

Checked as the tuner checks a candidate (``CudaEvaluation.check``), on sizes of these tests: guards
and padding on all sides, bases aligned to what was promised and no more, NaN in a C that is not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest

from tilewright.catalog import STENCILS
from tilewright.model import Binary, Config, Device, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.classic.needs import READS
from tilewright.targets.cuda import devices, driver, modules, nvrtc
from tilewright.tuning.evaluate import Candidate
from tilewright.tuning.evaluate.cuda import CudaEvaluation
from tilewright.tuning.evaluate.cuda_awkward import UNITS, small

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=str(devices.missing())),
]

VARIANTS = [
    f"{letter}:{a}{b}" for letter in "sdcz" for a, b in product("ntc" if letter in "cz" else "nt", repeat=2)
]
CLASSES = (("1", "0"), ("any", "any"), ("1", "1"), ("any", "0"), ("1", "any"), ("any", "1"))
"""Of alpha and beta; with "any" they are complex numbers where the type is."""

# Sizes, batch, the operand that the batch shares, and whether some values are infinite or NaN.
SHAPES = (
    ((1, 1, 1), 1, "", False),
    ((37, 41, 5), 3, "", True),
    ((129, 127, 65), 3, "a", False),
    ((129, 127, 65), 3, "b", False),
    ((300, 17, 130), 1, "", False),
)
CLASSIC = STENCILS["classic"]
PLAIN = {"read": "global", "split": 1, "early": 0, "mma": 0}
PAPER = (
    {"m_dim": 16, "n_dim": 16, "k_blk": 16, "m_blk": 96, "n_blk": 96}
    | {"m_dima": 16, "n_dima": 16, "m_dimb": 16, "n_dimb": 16}
    | {"wide": 1, "vec": 1, "lanes": 16, "buffers": 1, "order": 0, "min_blocks": 1}
    | PLAIN
)
"""The form of section 6.3 of the paper: scalar reads, one skewed stripe, whole warps along m."""


def forms(variant: str, device: Device) -> dict[str, tuple[Problem, Config]]:
    """Configs of a variant by name, each with a problem of the classes of scalars that it is made for."""
    large, medium = (Problem.parse(f"{variant}:{size}")[0] for size in ("8192x8192x8192", "512x512x512"))
    default, paper = CLASSIC.default(large, device), Config(PAPER)
    other = CLASSIC.default(medium.with_(m=64, n=64), device).with_(**PLAIN)
    found: dict[str, Config] = {
        "default": default,
        "other": other,
        "another": other.with_(buffers=1, order=2, lanes=16 if other["m_dim"] % 16 == 0 else 4),
        "paper": paper,
        "early": other.with_(early=1),
        "split 2": other.with_(split=2),
        "split 4": paper.with_(split=4),
        "split 8": other.with_(split=8),
    }
    found |= {read: paper.with_(read=read) for read in READS[1:]}
    found |= {f"{read}, other": other.with_(read=read, wide=1) for read in READS[1:]}
    if large.dtype.real_bits == 64:
        tile = default.with_(m_dim=16, n_dim=16, m_blk=64, n_blk=64, k_blk=16, lanes=8, min_blocks=1, **PLAIN)
        tile = tile.with_(wide=1, m_dima=16, n_dima=16, m_dimb=16, n_dimb=16, mma=1)
        tile = tile.with_(vec=1 if large.dtype.is_complex else 2)
        found |= {"mma": tile, "mma, split 4": tile.with_(split=4), "mma, one buffer": tile.with_(buffers=1)}
    made: dict[str, tuple[Problem, Config]] = {}
    for number, (name, config) in enumerate(found.items()):
        alpha, beta = CLASSES[(number + VARIANTS.index(variant)) % len(CLASSES)]
        if config["early"]:
            beta = "any"
        made[name] = medium.with_(alpha=alpha, beta=beta), config
    # All classes once for every type.
    for alpha, beta in CLASSES if variant in ("s:nn", "d:tn", "c:nc", "z:ct") else ():
        made[f"default, alpha {alpha}, beta {beta}"] = medium.with_(alpha=alpha, beta=beta), default
    return made


class Shapes(CudaEvaluation):
    """Candidates of ``like`` on the sizes of these tests."""

    like: Problem

    def _chosen(self, candidate: Candidate) -> list[tuple[Problem, bool]]:
        chosen: list[tuple[Problem, bool]] = []
        for size, batch, shared, special in SHAPES:
            like = self.like.with_(**({f"stride_{shared}": 0} if shared else {}))
            # Odd sizes; where reads are wide, odd multiples of what they take; where one texture covers
            # one matrix, one.
            asked = (
                small(like, size, count, units) for count in dict.fromkeys((batch, 1)) for units in UNITS
            )
            found = next((problem for problem in asked if self._allows(candidate, problem)), None)
            if found is not None:
                chosen.append((found, special))
        return chosen


Made = dict[str, dict[str, tuple[Problem, Config, "Future[Binary]"]]]


@pytest.fixture(scope="module")
def evaluation() -> Shapes:
    driver.context()
    return Shapes(devices.probe())


@pytest.fixture(scope="module")
def made() -> Iterator[Made]:
    """Binaries of every form of every variant, compiled on all cores while the first ones are checked."""
    device = devices.probe()
    with ThreadPoolExecutor(min(32, os.cpu_count() or 1)) as pool:
        yield {
            variant: {
                name: (
                    problem,
                    config,
                    pool.submit(nvrtc.compile, CLASSIC.source(problem, config, device), device),
                )
                for name, (problem, config) in forms(variant, device).items()
            }
            for variant in VARIANTS
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_form_is_right_on_odd_sizes(variant: str, made: Made, evaluation: Shapes) -> None:
    wrong: dict[str, Any] = {}
    for name, (problem, config, binary) in made[variant].items():
        candidate = Candidate("classic", config, binary.result())
        evaluation.like = problem
        # Every form meets every size, and the batch, but for textures.
        assert len(evaluation._chosen(candidate)) == len(SHAPES), (name, config)
        verdict = evaluation.check(candidate, modules.load(candidate.binary))
        if not verdict.ok:
            wrong[name] = (verdict.why, config)
    assert wrong == {}


def test_the_forms_obey_the_rules() -> None:
    device = devices.probe()
    for variant in VARIANTS:
        for name, (problem, config) in forms(variant, device).items():
            like = small(problem, (512, 512, 512), 1, (4, 32))
            broken = [rule.name for rule in CLASSIC.space(like, device).only(HARDWARE).why(config)]
            assert broken == [], (variant, name)
