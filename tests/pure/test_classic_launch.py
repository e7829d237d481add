"""What the universal stencil is compiled with and launched on, without a compiler and without a device."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.classic.needs as module
from tests.classic import CLASSIC, H200, grids_of, one
from tilewright.model import Config, Problem
from tilewright.space import HARDWARE, Space
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

GOLDEN = Path(__file__).parent.parent / "golden"
WRITTEN = {
    "h200": ["s:nn:4096x4096x4096", "d:tn:777x555x333", "c:cj:512x512x512", "z:nt:64x64x65536"],
    "a100": ["s:nt:100x100x100@1000", "z:tc:4096x32x4096"],
}


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


# ---- the formulas of its kernel, worked through


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
