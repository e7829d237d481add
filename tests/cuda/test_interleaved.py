"""Interleaved matrices on a live GPU: configs on awkward batches, and the public call on any layout."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.model import DTYPES, Config, Problem, Verdict
from tilewright.runtime import launch
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.interleaved.stencil import InterleavedStencil
from tilewright.targets.cuda import devices, driver, modules, nvrtc
from tilewright.tuning.evaluate.cuda_placed import Placed
from tilewright.tuning.gemm.verify import Case, judge, prepare

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

STENCIL = InterleavedStencil()
FIRST = [(0, 1), (0, 1), (0, 1)]


def verdict(p: Problem, config: Config, special: bool = False) -> Verdict:
    """What one launch makes of a batch whose runs are aligned to what the problem says and no more."""
    driver.context()
    device = devices.probe()
    kernel = modules.load(nvrtc.compile(STENCIL.source(p, config, device), device))
    ready = prepare(p, Case(p.batch, special=special), seed=p.batch)
    made = ready.operands
    placed = [Placed(region) for region in made.regions]
    for memory, region in zip(placed, made.regions, strict=True):
        memory.move(p.align)
        driver.upload(memory.start, region.words)
    a, b, c = (memory.base for memory in placed)
    launch.bind(STENCIL, kernel, p, config, (made.alpha, made.beta), (a, b, c))(0)
    driver.synchronize()
    for memory, region in zip(placed, made.regions, strict=True):
        driver.download(region.words, memory.start)
    return judge(ready)


@pytest.mark.parametrize("letter", tuple(DTYPES))
def test_random_configs_are_right(letter: str) -> None:
    rng, device = random.Random(ord(letter[0]) + len(letter)), devices.probe()
    for number in range(4):
        m, n, k = (rng.randint(1, 13) for _ in range(3))
        trans = "".join(rng.choice("nj") for _ in "ab")
        beta = rng.choice(("0", "1", "any"))
        odd = number % 2
        count = rng.choice((1, 33, 1001) if odd else (16, 160, 4096))
        (p,) = Problem.parse(f"{letter}:{trans}:{m}x{n}x{k}@{count}/all", alpha="any", beta=beta)
        shared = rng.choice(({}, {}, {"stride_a": 0}, {"stride_b": 0}))
        apart = {"stride_c": m * n + 1} if beta == "0" and rng.random() < 0.5 else {}
        p = p.with_(m=m, align=p.dtype.itemsize if odd else 16, **shared, **apart)
        space = STENCIL.space(p, device).only((*HARDWARE, "hard"))
        for config in (STENCIL.default(p, device), *space.sample(1, number)):
            found = verdict(p, config, special=number % 3 == 0)
            assert found.ok, (p.key, count, config, found.why)


def on_gpu(values: np.ndarray) -> Any:
    torch = pytest.importorskip("torch")
    return torch.from_numpy(np.ascontiguousarray(values)).cuda()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "float16"])
@pytest.mark.parametrize("count", [2, 63, 64, 1000])
def test_the_call_takes_arrays_whose_last_axis_is_the_batch(dtype: str, count: int) -> None:
    draw = np.random.default_rng(count).standard_normal
    turn = 1 + 2j if dtype.startswith("complex") else 1
    a, b = (on_gpu((turn * draw(shape)).astype(dtype)) for shape in ((3, 4, count + 1), (4, 5, count)))
    a = a[..., 1:]
    want = np.einsum("ijn,jkn->ikn", *(x.cpu().numpy().astype("c16") for x in (a, b)))
    out = on_gpu(np.full((3, 5, count), 7, dtype))
    loose = {"float16": 3e-2, "float32": 1e-4, "complex64": 1e-4}.get(dtype, 1e-11)
    for _ in range(2):  # planned, and from the call cache
        new = tw.matmul(a, b, axes=FIRST)
        assert tuple(new.stride()) == (5, 1, 15)
        assert tw.matmul(a, b, out, axes=FIRST) is out
        for got in (new, out):
            np.testing.assert_allclose(got.cpu().numpy(), want, rtol=loose, atol=loose)
    views = [x.movedim(-1, 0) for x in (a, b, out)]
    assert "interleaved, " in tw.plan(views[0], views[1], out=views[2]).explain()


def test_packs_updates_and_conjugates() -> None:
    draw = np.random.default_rng(2).standard_normal
    a, b, c = (draw(shape) + 1j * draw(shape) for shape in ((9, 3, 4, 8), (9, 4, 2, 8), (9, 3, 2, 8)))
    want = 0.5 * np.einsum("gikp,gkjp->gijp", a, b.conj()) - 2 * c
    left, right, out = (on_gpu(x).movedim(-1, 1) for x in (a, b, c))
    tw.gemm(left, right.conj(), out, alpha=0.5, beta=-2, out=out)
    np.testing.assert_allclose(out.movedim(1, -1).cpu().numpy(), want, rtol=1e-12, atol=1e-12)


def test_a_recorded_graph_multiplies_again() -> None:
    torch = pytest.importorskip("torch")
    a, b, out = (torch.randn(3, 3, 500, device="cuda", dtype=torch.float64) for _ in range(3))
    tw.matmul(a, b, out, axes=FIRST)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tw.matmul(a, b, out, axes=FIRST)
    a.normal_()
    graph.replay()
    torch.testing.assert_close(out, torch.einsum("ijn,jkn->ikn", a, b))
