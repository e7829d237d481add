"""Plans that a caller holds: what they serve, say and are forced to, and what ``tune`` refuses."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.products import close, filled
from tilewright.calls import product
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError
from tilewright.model import Config, Problem, Record, Timing
from tilewright.planning import dispatch
from tilewright.runtime import call_cache
from tilewright.tuning import timing as measure

pytestmark = pytest.mark.cpu


def test_a_plan_serves_other_arrays_too() -> None:
    a, b = filled((5, 4, 3)), filled((5, 3, 2))
    call = tw.plan(a, b)
    assert call._function is not None
    assert call.copies == ()
    for x, y in (
        (a, b),
        (filled((5, 4, 3), seed=9), b),
        (filled((9, 7, 7)), filled((9, 7, 7))),
        (a.astype("f4"), b),
        (a[::-1], b),
        (a.tolist(), b),
        (filled((0, 2, 2)), filled((0, 2, 2))),
    ):
        close(call(x, y), np.matmul(x, y))
    with pytest.raises(ArgumentError):
        call(a, a)
    with pytest.raises(ArgumentError):
        call(a[0, 0], b)


def test_a_plan_is_of_its_process() -> None:
    """Pickled, its kernel would be an address that another process calls."""
    a = filled((5, 3, 3))
    call, lists = tw.plan(a, a), tw.plan_grouped(list(a), list(a))
    for copied in (copy.copy(call), copy.deepcopy({"step": call})["step"]):
        assert copied is call
    for made in (call, lists):
        with pytest.raises(TypeError, match=r"bound to .*accepted: tw.plan"):
            pickle.dumps(made)
    # The decision is data, which goes anywhere.
    assert pickle.loads(pickle.dumps(call.plan)) == call.plan


def test_a_plan_of_nothing() -> None:
    for a, b in (((0, 3, 3), (0, 3, 3)), ((2, 0), (0, 2)), ((0, 2), (2, 4))):
        call = tw.plan(filled(a), filled(b))
        for _ in range(2):
            close(call(filled(a), filled(b)), np.matmul(filled(a), filled(b)))


def test_a_plan_says_what_it_copies() -> None:
    a = filled((6, 8, 16))[:, :, ::2]
    call = tw.plan(a, filled((6, 8, 8)))
    assert call.copies == ("a",)
    close(call(a, filled((6, 8, 8))), np.matmul(a, filled((6, 8, 8))))


def test_a_plan_shows_itself() -> None:
    a = filled((100, 8, 8))
    assert "d:nn:8x8x8@100" in repr(tw.plan(a, a))
    # A machine that records ship for starts tuned.
    assert any(f"runs   {origin}: " in tw.explain(a, a) for origin in ("tuned", "near", "kin", "default"))
    assert tw.explain("d:8x8x8@100").count("runs") == 1
    assert tw.explain(Problem.parse("d:8x8x8")[0]).count("runs") == 1
    assert tw.explain("d:2..4").count("runs") == 3
    with pytest.raises(ArgumentError, match="alpha goes with arrays"):
        tw.explain("d:8x8x8", alpha=2)
    with pytest.raises(ArgumentError, match="problem=5"):
        tw.explain(5)
    with pytest.raises(ArgumentError, match="is not understood"):
        tw.explain("8x8")


@pytest.mark.parametrize("stencil", ["lanes", "tile"])
def test_a_stencil_can_be_forced(stencil: str) -> None:
    a = filled((20, 4, 4))
    call = tw.plan(a, a, stencil=stencil)
    assert (call.plan.stencil, call.plan.origin) == (stencil, "forced")
    close(call(a, a), np.matmul(a, a))


def test_a_config_can_be_forced() -> None:
    a = filled((20, 4, 4))
    default = tw.plan(a, a, stencil="tile").plan.config
    for blk_n in (1, 2, 4):
        call = tw.plan(a, a, stencil="tile", config={"blk_n": blk_n, "inner": "column"})
        assert call.plan.config is not None
        assert default is not None
        assert call.plan.config["blk_n"] == blk_n
        assert {**call.plan.config, "blk_n": 0} == {**default, "blk_n": 0, "inner": "column"}
        close(call(a, a), np.matmul(a, a))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stencil": "none"}, "stencil='none'; accepted: outer, sme, lanes, tile"),
        ({"stencil": "tile", "config": {"colour": 3}}, "config names 'colour'; accepted: vector_bits"),
        ({"stencil": "tile", "config": {"blk_n": 0}}, "config says blk_n=0; accepted: 1, 2"),
        ({"stencil": "tile", "config": {"vector_bits": 333}}, "vector_bits=333"),
        ({"stencil": "tile", "config": {"tail": "curly"}}, "tail='curly'; accepted: mask"),
        ({"stencil": "tile", "config": {"tail": ["mask"]}}, "accepted: a map"),
        ({"stencil": "tile", "config": "blk_n"}, "accepted: a map"),
        ({"stencil": "tile", "config": {"blk_m": 1, "reg_a": 2}}, "breaks 'reg-a-in-tile'"),
    ],
)
def test_what_cannot_be_forced(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        tw.plan(filled((16, 16)), filled((16, 16)), **options)


def test_a_stencil_that_does_not_fit() -> None:
    with pytest.raises(ArgumentError, match="does not accept"):
        tw.plan(filled((150, 150)), filled((150, 150)), stencil="tile")
    with pytest.raises(ArgumentError, match="no stencil accepts"):
        tw.plan(filled((150, 150)), filled((150, 150)), config={"blk_n": 1})


def test_what_no_stencil_takes_goes_to_numpy() -> None:
    a, b, c = filled((2, 190, 170), "c16"), filled((2, 170, 180), "c16"), filled((2, 190, 180), "c16")
    call = tw.plan(a, b)
    assert (call.plan.origin, call.plan.stencil) == ("vendor", None)
    close(call(a, b), np.matmul(a, b), k=512)
    close(tw.matmul(a, b), np.matmul(a, b), k=512)
    want = (2 - 1j) * np.matmul(a.conj(), b) + 1j * c
    got = tw.gemm(a.swapaxes(1, 2), b, c, alpha=2 - 1j, beta=1j, trans_a="c")
    close(got, want, k=512)
    close(tw.gemm(a, b, c, beta=1, out=c), np.matmul(a, b) + filled((2, 190, 180), "c16"), k=512)


# ---- tuning, as far as arguments go


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (
            ("d:2",),
            {"effort": "mighty"},
            "effort='mighty'; accepted: records-only, estimate, quick, patient, exhaustive",
        ),
        (("d:2",), {"regimes": ("disk",)}, "regime='disk'; accepted: "),
        (("d:2",), {"regimes": "disk"}, "regime='disk'"),
        (("d:2",), {"betas": ("0", "2")}, "beta='2'; accepted: 0, 1, any"),
        (("d:2",), {"betas": "yes"}, "beta='yes'"),
        (("d:2",), {"budget": -1}, "budget=-1"),
        (("d:2",), {"budget": float("nan")}, "budget=nan"),
        (("e:2",), {}, "problem='e:2' is not understood"),
        ((["d:2", 7],), {}, "problems holds 7"),
        ((7,), {}, "problems=7; accepted: spellings"),
        (("d:2",), {"effort": ["quick"]}, r"effort=\['quick'\]; accepted: records-only"),
        (("d:2",), {"search": []}, r"search=\[\]; accepted: "),
        (("d:2",), {"device": {}}, r"device=\{\}; accepted: cpu, cuda"),
        (("d:2",), {"budget": "3"}, "budget='3'; accepted: seconds from 0"),
        (("d:2",), {"tries": "3"}, "tries='3'; accepted: configs from 1"),
        (("d:2",), {"betas": None}, "betas=None; accepted: some of 0, 1, any"),
        (("d:2",), {"regimes": 5}, "regimes=5; accepted: some of cached, memory"),
        (("d:150",), {"budget": 1}, "no stencil accepts it"),
    ],
)
def test_what_tune_refuses(arguments: tuple[Any, ...], options: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        tw.tune(*arguments, **options)


# ---- plans that a caller holds, and the call cache


def recorded(problem: Problem, regime: str, stencil: str, config: Config, device: str) -> Record:
    timing = Timing((1e-9,), 1e-9, 1e-9, 1e-9, regime, 1000, measure.INTERLEAVED)
    return Record(
        problem,
        regime,
        stencil,
        config,
        "ok",
        device,
        "test",
        timing=timing,
        seconds=1e-9,
        protocol=measure.INTERLEAVED,
    )


@pytest.mark.parametrize("kernels", [5, [], b"x"])
def test_what_is_no_set_of_kernels_is_named(kernels: Any) -> None:
    with pytest.raises(ArgumentError, match=r"kernels=.*; accepted: a KernelSet"):
        tw.use_kernels(kernels)


def test_a_stencil_is_named_by_a_word() -> None:
    a = filled((2, 3, 3))
    with pytest.raises(ArgumentError, match=r"stencil=\['lanes'\]; accepted: the name of one"):
        tw.plan(a, a, stencil=["lanes"])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"effort=\[\]; accepted: records-only"):
        tw.plan(a, a, effort=[])  # type: ignore[arg-type]


@pytest.mark.parametrize("ask", ["call", "look"])
def test_a_plan_in_hand_follows_new_records(
    new_home: Path, ask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No processor has a shipped record of these extents.
    a, b = filled((50, 9, 7)), filled((50, 7, 11), seed=1)
    plan = tw.plan(a, b)
    before = plan.plan
    assert before.origin != "tuned"
    stencil, config = before.stencil, before.config
    assert stencil is not None
    assert config is not None
    space = STENCILS[stencil].space(before.problem, before.device)
    other = next(
        config.with_(**{param.name: value})
        for param in space.params
        for value in param.values
        if value != config[param.name] and not space.why(config.with_(**{param.name: value}))
    )
    dispatch.records().append(recorded(before.problem, before.regime, stencil, other, before.device.key))
    assert plan.plan is before
    tw.forget()
    if ask == "call":
        close(plan(a, b), np.matmul(a, b))
        # What is planned again is as fast as before.
        monkeypatch.setattr(product, "gemm", None)
        close(plan(a, b), np.matmul(a, b))
    assert (plan.plan.origin, plan.plan.config) == ("tuned", other)
    assert "tuned" in plan.explain()


def test_a_plan_keeps_no_memory_of_the_callers(new_home: Path) -> None:
    a, b = filled((50, 6, 6)), filled((50, 6, 6), seed=1)
    alive = weakref.ref(a)
    plan = tw.plan(a, b)
    del a
    tw.forget()
    gc.collect()
    assert alive() is None
    assert plan.plan.problem.m == 6


def test_a_forced_kernel_is_no_kernel_of_other_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    tw.forget()
    a, b = filled((40, 7, 7)), filled((40, 7, 7), seed=1)
    out = np.empty((40, 7, 7))
    config = tw.plan(a, b).plan.config
    assert config is not None
    plan = tw.plan(filled((2, 3, 3)), filled((2, 3, 3)), stencil="tile")
    # Arrays of another shape: the plan goes the slow path with its forced stencil.
    for _ in range(2):
        close(plan(a, b, out=out), np.matmul(a, b))
    assert call_cache.GEMM == {}
    said = []
    real = dispatch.plan

    def spy(*args: Any, **options: Any) -> Any:
        said.append(options["stencil"])
        return real(*args, **options)

    monkeypatch.setattr(dispatch, "plan", spy)
    call_cache.clear()
    tw.gemm(a, b, out=out)
    assert said == [None]
    assert len(call_cache.GEMM) == 1
