"""The keyword ``math``: what reaches the problem, what is refused, what tf32 may be wrong by, and what serves
who lets products be made of parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.device_arrays import Bare
from tests.pretended import Log, Pretended
from tilewright.calls.explain import explain_plan
from tilewright.calls.spec import Options
from tilewright.errors import ArgumentError
from tilewright.model import EMULATED, Problem
from tilewright.planning import candidates, dispatch, roofline
from tilewright.runtime import cublaslt
from tilewright.stencils.protocol import refused
from tilewright.targets.cuda import capability
from tilewright.tuning.baselines import cublas
from tilewright.tuning.gemm.operands import operands, reference
from tilewright.tuning.gemm.verify import Case, judge, prepare

pytestmark = pytest.mark.pure

H200 = capability.named("h200")


def arrays(dtype: str = "float32") -> tuple[Any, Any]:
    draw = np.random.default_rng(1)
    return draw.standard_normal((5, 7)).astype(dtype), draw.standard_normal((7, 3)).astype(dtype)


# -- calls -------------------------------------------------------------------------------------------------
def test_it_reaches_the_problem_of_the_kernel(torch: Any, gpu: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pretended, "maths", ("ieee", "tf32"))
    a, b = map(torch.from_numpy, arrays())
    want = a.numpy() @ b.numpy()
    for call in (
        lambda **math: tw.matmul(a, b, **math),
        lambda **math: tw.gemm(a, b, **math),
        lambda **math: tw.plan(a, b, **math)(a, b),
    ):
        # The second of each comes again, and must not be taken for the other.
        for math in ("tf32", "ieee", "tf32", "ieee"):
            found = call(math=math)
            np.testing.assert_allclose(found.numpy(), want, rtol=1e-5)
            assert gpu.last.problem.math == math
            assert gpu.last.problem.key.endswith(f"|{math}")
    assert "cached, tf32)" in tw.plan(a, b, math="tf32").explain()


def test_nothing_else_is_multiplied_so(gpu: Log) -> None:
    """By no kernel, by no library, and on no processor."""
    a, b = arrays()
    with pytest.raises(ArgumentError, match=r"math='tf32'; accepted: 'ieee'.*not in tf32"):
        tw.matmul(Bare(a), Bare(b), Bare(np.zeros((5, 3), "float32")), math="tf32")
    with pytest.raises(ArgumentError, match="math='tf32'; accepted: 'ieee'"):
        tw.gemm(a, b, math="tf32")
    with pytest.raises(ArgumentError, match="math='tf32'; accepted: 'ieee'"):
        tw.plan(a, b, math="tf32")
    with pytest.raises(ArgumentError, match="multiplies in ieee and not in tf32"):
        tw.plan(a, b, math="tf32", stencil="tile")


@pytest.mark.parametrize("dtype", ["float16", "float64", "complex64", "int32"])
def test_it_is_of_float32_alone(dtype: str) -> None:
    a, b = arrays(dtype)
    with pytest.raises(ArgumentError, match=f"math='tf32' for arrays of {dtype}; accepted: 'ieee'"):
        tw.matmul(a, b, math="tf32")


@pytest.mark.parametrize("math", ["TF32", "fast", None, 3])
def test_other_words_are_refused(math: Any) -> None:
    a, b = arrays()
    for call in (tw.matmul, tw.gemm, tw.plan):
        with pytest.raises(ArgumentError, match="accepted: 'ieee', 'tf32'"):
            call(a, b, math=math)


@pytest.mark.parametrize("way", EMULATED)
def test_products_may_be_made_of_parts_and_are_exact_where_they_are_not(way: str) -> None:
    """On a processor, in batches, and interleaved: what is asked for is no more than what may be done."""
    draw = np.random.default_rng(4)
    a, b = (draw.standard_normal((70, 70)).astype("float32") for _ in "ab")
    c, d = (x + 1j * y for x, y in ((a, b), (b, a)))
    for x, y in ((a, b), (c.astype("complex64"), d.astype("complex64")), (a[None], b[None])):
        np.testing.assert_array_equal(tw.matmul(x, y, math=way), tw.matmul(x, y))
        np.testing.assert_array_equal(
            tw.gemm(x[..., :3], y[..., :3, :], math=way), tw.gemm(x[..., :3], y[..., :3, :])
        )
        assert tw.plan(x, y, math=way).plan.problem.math == "ieee"
    last = draw.standard_normal((3, 3, 500)).astype("float32")
    axes = [(0, 1)] * 3
    np.testing.assert_array_equal(
        tw.matmul(last, last, axes=axes, math=way), tw.matmul(last, last, axes=axes)
    )
    with pytest.raises(
        ArgumentError, match=f"math='{way}' for arrays of float64; accepted: 'ieee', or arrays of"
    ):
        tw.matmul(a.astype("f8"), b.astype("f8"), math=way)
    with pytest.raises(ArgumentError, match="emulated"):
        tw.plan(a, b, math=way, stencil="emulated")
    with pytest.raises(ArgumentError, match=f"deterministic=True with math='{way}'"):
        tw.matmul(a, b, math=way, deterministic=True)


def test_a_gpu_runs_parts_where_they_were_measured_to_gain() -> None:
    for text, runs in (("s:4096x4096x4096", True), ("c:2048x2048x2048", True), ("s:512x8x8", False)):
        for way in EMULATED:
            p = Problem.parse(text, math=way)[0]
            assert (dispatch.plan(p, H200).stencil == "emulated") == runs
            assert cublaslt.refusal(p) is None


def test_ieee_is_what_was_asked_before() -> None:
    a, b = arrays()
    np.testing.assert_array_equal(tw.matmul(a, b, math="ieee"), tw.matmul(a, b))
    assert Options.of(1, 0, "n", "n") == Options.of(1, 0, "n", "n", math="ieee")


# -- problems ----------------------------------------------------------------------------------------------
def test_stencils_say_how_they_multiply() -> None:
    p = Problem.parse("s:64x64x64")[0]
    for stencil in candidates.of(H200).values():
        if "tf32" not in stencil.maths and refused(stencil, p, H200) is None:
            assert "not in tf32" in (refused(stencil, p.with_(math="tf32"), H200) or "")
    assert cublaslt.refusal(p.with_(math="tf32")) is cublaslt.refusal(p) is None
    assert "tf32" in str(cublas.vendor(p.with_(math="tf32"), [], 1, 0))


def test_its_bound_is_that_of_its_units() -> None:
    """494.7 Tflop/s at the clock of the white paper, 1.83 GHz; 1.98 at the top."""
    known = replace(H200, ceilings={"bandwidth.copy.1": 4e12, **capability.units(H200)})
    p = Problem.parse("s:8192x8192x8192")[0]
    fast = roofline.bound(p.with_(math="tf32"), known, "cached")
    assert (fast.limit, fast.flops_per_s) == ("tensor", pytest.approx(494.7e12 * 1.98 / 1.83, rel=1e-2))
    assert roofline.bound(p, known, "cached").flops_per_s == pytest.approx(66.9e12, rel=1e-2)
    plain = replace(H200, ceilings={"bandwidth.copy.1": 4e12, "peak.s.1": 1e12})
    assert roofline.bound(p.with_(math="tf32"), plain, "cached").flops_per_s == 1e12


def cut_off(x: Any) -> Any:
    """Numbers as tensor cores see them."""
    return (x.view(np.uint32) & 0xFFFFE000).view(np.float32)


@pytest.mark.parametrize("text", ["s:nt:9x7x33", "s:tn:8x8x400"])
def test_what_it_may_be_wrong_by(text: str) -> None:
    """What cutting off makes is within the bound, is not within that of float32, and as much again is not."""
    p = Problem.parse(text)[0].with_(math="tf32")
    for problem, right in ((p, True), (p.with_(math="ieee"), False)):
        ready = prepare(problem, Case(2), 3)
        made = ready.operands
        a, b = (
            cut_off(x.copy()).swapaxes(1, 2) if turned else cut_off(x.copy())
            for x, turned in ((made.a, p.transposed_a), (made.b, p.transposed_b))
        )
        made.c[...] = np.matmul(a.astype(np.float64), b.astype(np.float64))
        verdict = judge(ready)
        assert verdict.ok == right
        if right:
            assert 0.05 < verdict.error < 1
    made = operands(p, 3)
    fine, coarse = reference(p.with_(math="ieee"), made), reference(p, made)
    np.testing.assert_allclose(coarse.bound - fine.bound, 2.0**-9 * coarse.size, rtol=2e-3)


def test_the_plan_of_a_problem_says_it() -> None:
    p = Problem.parse("s:64x64x64")[0]
    made = dispatch.plan(p, H200, vendor=False)
    assert "tf32" not in explain_plan(made)
    with pytest.raises(ArgumentError, match="accepted: 'ieee'"):
        dispatch.plan(p.with_(math="tf32", batch=3), H200, vendor=False)
