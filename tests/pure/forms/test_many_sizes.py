"""Lists of matrices of many sizes on a GPU, without one."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.pure.forms.launchers import Log, close, halves, op, tensors
from tilewright.calls import batched, list_runs
from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import GroupedProblem, Record, Timing
from tilewright.planning import classes, dispatch
from tilewright.runtime import call_cache, cublaslt, cublaslt_library
from tilewright.store.records import Records
from tilewright.targets.cuda import driver
from tilewright.tuning import timing as measure

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(("name", "trans"), halves("nn", "tn", "nt", "cc"))
def test_many_sizes_are_one_launch(gpu: Log, torch: Any, name: str, trans: str) -> None:
    draw = random.Random(2)
    shapes = [tuple(draw.randrange(1, 33) for _ in range(3)) for _ in range(50)] + [
        (1, 1, 5),
        (3, 1, 1),
        (1, 4, 2),
    ]
    a = tensors(torch, [(m, k) if trans[0] == "n" else (k, m) for m, _, k in shapes], name)
    b = tensors(torch, [(k, n) if trans[1] == "n" else (n, k) for _, n, k in shapes], name, 1)
    c = tensors(torch, [(m, n) for m, n, _ in shapes], name, 2)
    want = [op(x, trans[0]) @ op(y, trans[1]) for x, y in zip(a, b, strict=True)]
    options = {"trans_a": trans[0], "trans_b": trans[1]}
    made = tw.gemm_grouped(a, b, **options)
    assert gpu.names == ["grouped"]
    assert (gpu[0][1].m, gpu[0][1].batch, gpu[0][3]) == (32, 53, 7)
    for got, right in zip(made, want, strict=True):
        close(torch, got, right)
    assert len({x.untyped_storage().data_ptr() for x in made}) == 1
    alphas = [draw.choice((0, 1, -2.0)) for _ in shapes]
    betas = [draw.choice((0, 1, 0.5)) for _ in shapes]
    right = [s * x + t * y for s, t, x, y in zip(alphas, betas, want, c, strict=True)]
    for x, s in zip(a, alphas, strict=True):
        if s == 0:
            x.fill_(float("nan"))
    for got, x in zip(tw.gemm_grouped(a, b, c, alpha=alphas, beta=betas, **options), right, strict=True):
        close(torch, got, x)
    for x, s in zip(c, betas, strict=True):
        if s == 0:
            x.fill_(float("nan"))
    tw.gemm_grouped(a, b, c, alpha=alphas, beta=betas, out=c, **options)
    for got, x in zip(c, right, strict=True):
        close(torch, got, x)
    assert gpu.names == ["grouped"] * 3


def test_layouts_that_differ_are_a_few_launches(gpu: Log, torch: Any) -> None:
    draw = random.Random(4)
    a, b, out = [], [], []
    for _ in range(60):
        m, n, k = (draw.randrange(2, 20) for _ in range(3))
        turn = [draw.random() < 0.5 for _ in range(3)]
        for into, shape, transposed in zip((a, b, out), ((m, k), (k, n), (m, n)), turn, strict=True):
            x = torch.randn(shape[::-1] if transposed else shape, dtype=torch.float64)
            into.append(x.mT if transposed else x)
    a[3] = torch.randn(9, 22, dtype=torch.float64)[::2, ::2]  # 5 x 11, without a unit stride
    b[3] = torch.randn(11, 4, dtype=torch.float64)
    out[3] = torch.empty(5, 4, dtype=torch.float64)
    tw.gemm_grouped(a, b, out=out)
    for got, x, y in zip(out, a, b, strict=True):
        close(torch, got, x @ y)
    assert set(gpu.names) == {"grouped"}
    assert 2 <= len(gpu) <= 4


def test_large_products_beside_small_ones_and_stacks(gpu: Log, torch: Any) -> None:
    a = tensors(torch, [(4, 5), (70, 8), (3, 6, 2), (0, 2), (2, 8, 8)])
    b = tensors(torch, [(5, 6), (8, 9), (3, 2, 4), (2, 3), (8, 65)], seed=1)
    plan = tw.plan_grouped(a, b)
    for _ in range(2):
        made = plan.run()
        for got, x, y in zip(made, a, b, strict=True):
            close(torch, got, x @ y)
        a[0] *= 3
        a[1] *= 3
    assert made is plan.results
    assert gpu.names.count("grouped") == 2
    # Of the stack with one second matrix both products are one batch.
    assert plan.launches == 1 + 2
    assert sorted(p.problem.batch for p in plan.plans) == [1, 2, 4]
    assert "1 products of 9x70x8 (d:nn): " in plan.explain()


def test_like_products_that_lie_evenly_spaced_are_one_batch(gpu: Log, torch: Any) -> None:
    whole = torch.randn(9, 70, 8, dtype=torch.float64)
    b = torch.randn(8, 66, dtype=torch.float64)
    out = torch.zeros(9, 70, 66, dtype=torch.float64)
    # Not in the order of memory; two of them together, one alone, one with another scalar.
    order, alphas = [6, 0, 2, 4, 1, 8], [1.0, 1.0, 1.0, 1.0, 2.0, 1.0]
    results = [out[i] for i in order]
    plan = tw.plan_grouped([whole[i] for i in order], [b] * 6, alpha=alphas, out=results)
    assert sorted(p.problem.batch for p in plan.plans) == [1, 5]
    plan()
    for i, alpha in zip(order, alphas, strict=True):
        close(torch, out[i], alpha * whole[i] @ b)
    assert not out[[3, 5, 7]].any()
    # What goes backwards is no batch of a library.
    plan = tw.plan_grouped([whole[i] for i in (5, 3, 1)], [b] * 3, out=[out[i] for i in (1, 3, 5)])
    assert [p.problem.batch for p in plan.plans] == [1, 1, 1]
    plan()
    close(torch, out[1], whole[5] @ b)


@pytest.mark.parametrize("letter", ["s", "hc"])
def test_lists_go_to_the_library_where_it_was_measured_to_be_faster(
    gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch, letter: str
) -> None:
    cells = {f"{letter}, writes C, any size": {"wins": False, "median": 0.9}}
    monkeypatch.setattr(classes, "table", lambda: {"h200": {"grouped": cells}})
    monkeypatch.setattr(cublaslt_library, "library", lambda: object())
    # The library is not here: whatever takes its place is asked for product by product.
    monkeypatch.setattr(cublaslt, "product", lambda *_: "not here")
    kind, more = (torch.float16, (2,)) if letter == "hc" else (torch.float32, ())
    a, b = ([torch.randn(*shape, *more).to(kind) for shape in shapes] for shapes in LISTED)
    options = {"dtype": "hc"} if letter == "hc" else {}
    plan = tw.plan_grouped(a, b, **options)
    if letter == "hc":
        # No library has complex half.
        assert [p.origin for p in plan.plans] == ["default"]
        return
    assert "grouped" not in {p.stencil for p in plan.plans}
    assert len(plan.plans) == 2
    for got, x, y in zip(plan(), a, b, strict=True):
        close(torch, got, x @ y)
    # Who forces a config wants the kernel, and where there is no library it is all that is left.
    assert tw.plan_grouped(a, b, config={}).plans[0].stencil == "grouped"
    monkeypatch.setattr(cublaslt_library, "library", lambda: None)
    assert tw.plan_grouped(a, b).plans[0].stencil == "grouped"


def test_a_call_on_the_same_pointers_is_planned_once(
    gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = [2, 0, 3, 1]

    def pointed(x: Any) -> tw.Pointers:
        return tw.Pointers([x[i].data_ptr() for i in order], tuple(x.shape[1:]), "d")

    a, b, out = (torch.randn(4, *shape, dtype=torch.float64) for shape in ((5, 6), (6, 7), (5, 7)))
    rows = [pointed(x) for x in (a, b, out)]
    planned: list[Any] = []
    slow = batched.run
    monkeypatch.setattr(batched, "run", lambda *given: planned.append(given) or slow(*given))

    def calls(*given: Any, **options: Any) -> int:
        before = len(planned)
        assert tw.gemm_batched(*given, out=rows[2], **options) is rows[2]
        return len(planned) - before

    assert [calls(rows[0], rows[1]) for _ in range(3)] == [1, 0, 0]
    close(torch, out, a @ b)
    a *= 2
    assert calls(rows[0], rows[1]) == 0
    close(torch, out, a @ b)
    # Scalars, and c in place, are other calls; another c is copied each time.
    assert [calls(rows[0], rows[1], alpha=3) for _ in range(2)] == [1, 0]
    assert [calls(rows[0], rows[1], rows[2], beta=1) for _ in range(2)] == [1, 0]
    close(torch, out, 5 * a @ b)
    assert [calls(rows[0], rows[1], pointed(out.clone()), beta=1) for _ in range(2)] == [1, 1]
    assert [calls(rows[0], list(b[order]), alpha=1) for _ in range(2)] == [1, 1]
    # Other objects, and those of the call cache when it is emptied.
    rows[1] = pointed(b + 1)
    assert calls(rows[0], rows[1]) == 1
    call_cache.clear()
    assert calls(rows[0], rows[1]) == 1
    # What cannot be remembered is refused as ever.
    with pytest.raises(ArgumentError, match="accepted: a number"):
        tw.gemm_batched(rows[0], rows[1], alpha=[1], out=rows[2])


@pytest.mark.parametrize("recorded", [False, True])
def test_many_products_run_on_several_streams_between_a_fork_and_a_join(
    monkeypatch: pytest.MonkeyPatch, recorded: bool
) -> None:
    made: list[list[Any]] = []

    class Sides:
        def __init__(self, count: int):
            self.handles = [100 * (len(made) + 1) + i for i in range(count)]
            self.seen: list[Any] = []
            made.append(self.seen)

        def fork(self, stream: int) -> None:
            self.seen.append(("fork", stream))

        def join(self, stream: int) -> None:
            self.seen.append(("join", stream))

    monkeypatch.setattr(driver, "Sides", Sides)
    monkeypatch.setattr(driver, "capturing", lambda stream: recorded)
    monkeypatch.setattr(list_runs, "_held", threading.local())
    log: list[tuple[int, int]] = []
    starts = [lambda stream, i=i: log.append((i, stream)) for i in range(9)]
    if recorded:
        # No streams can be made any more, so all of it is one after the other.
        list_runs.spread(starts, 0, 7)
        assert log == [(i, 7) for i in range(9)]
        assert not made
        log.clear()
        list_runs.sides(0, recorded=True)
    list_runs.spread(starts, 0, 7)
    assert [stream for _, stream in log] == [7, 100, 101, 102, 7, 100, 101, 102, 7]
    assert made == [[("fork", 7), ("join", 7)]]
    # The same ones again, and a join also after what fails: a recording would be lost without.
    log.clear()

    def fails(stream: int) -> None:
        raise DeviceError("lost")

    with pytest.raises(DeviceError):
        list_runs.spread([*starts, fails], 0, 7)
    assert made == [[("fork", 7), ("join", 7)] * 2]
    # A few are not worth a fork.
    log.clear()
    list_runs.spread(starts[:3], 0, 7)
    assert [stream for _, stream in log] == [7, 7, 7]


LISTED = (((4, 5), (7, 8)), ((5, 6), (8, 9)))
"""Shapes of two products."""


def test_a_forced_config(gpu: Log, torch: Any) -> None:
    a, b = tensors(torch, [(4, 5), (7, 8)]), tensors(torch, [(5, 6), (8, 9)], seed=1)
    plan = tw.plan_grouped(a, b, config={"depth": 4, "warps": 2})
    assert "forced: grouped" in plan.explain()
    assert "depth=4" in plan.explain()
    with pytest.raises(ArgumentError, match="config names 'tiles'"):
        tw.plan_grouped(a, b, config={"tiles": 1})
    # As everywhere: values of the space, and rules that no device forgives.
    with pytest.raises(ArgumentError, match="config says ring=16; accepted: "):
        tw.plan_grouped(a, b, config={"ring": 16})
    with pytest.raises(ArgumentError, match="breaks 'teams'"):
        tw.plan_grouped(a, b, config={"team": 8, "warps": 6})
    with pytest.raises(ArgumentError, match="accepted: a map from names to plain values"):
        tw.plan_grouped(a, b, config={"ring": []})


def test_lists_are_planned_by_the_ladder_and_again_after_new_records(
    gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    store = Records(tmp_path / "records.sqlite", shipped=tmp_path)
    monkeypatch.setattr(dispatch, "records", lambda: store)
    draw = random.Random(7)
    shapes = [tuple(draw.randrange(1, 33) for _ in range(3)) for _ in range(400)]
    a = tensors(torch, [(m, k) for m, _, k in shapes], "float32")
    b = tensors(torch, [(k, n) for _, n, k in shapes], "float32", 1)
    plan = tw.plan_grouped(a, b)
    (before,) = plan.plans
    assert before.origin == "default"
    asked = before.problem
    assert isinstance(asked, GroupedProblem)
    assert (asked.m, asked.batch, asked.key.split("|")[1][:7]) == (32, 400, "grouped")
    other = next(
        before.config.with_(deep=deep) for deep in (1, 2, 4) if deep != (before.config or {})["deep"]
    )
    # A list that the spelling draws, which is of the same class as this one.
    spelled = GroupedProblem.parse("s:1..32x1..32x1..32@350", align=asked.align)
    assert spelled == asked.with_(batch=350)
    timing = Timing((1e-5,), 1e-5, 1e-5, 1e-5, before.regime, 350, measure.INTERLEAVED)
    device = before.device.key
    record = Record(spelled, before.regime, "grouped", other, "ok", device, "test", timing=timing)
    store.append(replace(record, protocol=measure.INTERLEAVED))
    plan()
    assert plan.plans[0].config == before.config
    tw.forget()
    results = plan()
    (tuned,) = plan.plans
    assert (tuned.origin, tuned.config, tuned.problem) == ("tuned", other, asked)
    assert "tuned: grouped" in plan.explain()
    for got, x, y in zip(results, a, b, strict=True):
        close(torch, got, x @ y)
    tw.gemm_grouped(a, b)
    # Other scalars are another class, for which this record is one of a near problem.
    scaled = tw.plan_grouped(a, b, alpha=2)
    assert scaled.plans[0].origin == "near"
    assert scaled.plans[0].config == other
    for got, x, y in zip(scaled.run(), a, b, strict=True):
        close(torch, got, 2 * (x @ y))
    assert set(gpu.names) == {"grouped"}


@pytest.mark.parametrize("order", ["C", "F"])
def test_groups(gpu: Log, torch: Any, order: str) -> None:
    draw = random.Random(6)
    sizes = [tuple(draw.randrange(1, 12) for _ in range(3)) for _ in range(20)]
    m, n, k = (np.array([s[i] for s in sizes]) for i in range(3))

    def room(rows: np.ndarray, columns: np.ndarray) -> list[Any]:
        """Matrices with a gap of two after every row, or column."""
        made = []
        for x, y in zip(rows.tolist(), columns.tolist(), strict=True):
            high, wide = (x, y) if order == "C" else (y, x)
            whole = torch.randn(high, wide + 2, dtype=torch.float64)[:, :wide]
            made.append(whole if order == "C" else whole.mT)
        return made

    a, b, c = room(m, k), room(k, n), room(m, n)
    where = [[x.data_ptr() for x in some] for some in (a, b, c)]
    leading = (k + 2, n + 2, n + 2) if order == "C" else (m + 2, k + 2, m + 2)
    groups = tw.Groups(  # type: ignore[call-arg]
        torch.tensor(m),
        n.tolist(),
        k,
        torch.tensor(where[0]),
        *where[1:],
        *leading,
        torch.float64,
        order=order,
    )
    want = [2 * x @ y + z for x, y, z in zip(a, b, c, strict=True)]
    assert tw.gemm_grouped(groups, alpha=2, beta=1) is None
    for got, right in zip(c, want, strict=True):
        close(torch, got, right)
    assert gpu.names == ["grouped"]
    assert gpu[0][1].trans == "nn"
