"""Lists of products tuned on a GPU: right kernels win, and calls on lists of their class then run them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from tilewright.catalog import STENCILS
from tilewright.model import GroupedProblem
from tilewright.planning import dispatch
from tilewright.runtime import call_cache
from tilewright.store.records import Records
from tilewright.targets.cuda import devices, nvrtc
from tilewright.tuning import timing
from tilewright.tuning.evaluate import Candidate
from tilewright.tuning.evaluate.cuda_grouped import GroupedEvaluation
from tilewright.tuning.tuner import Tuner

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

LIST = "s:nn:1..32x1..32x1..32@3000"


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Records]:
    made = Records(tmp_path / "records.sqlite", shipped=tmp_path)
    monkeypatch.setattr(dispatch, "records", lambda: made)
    call_cache.clear()
    yield made
    call_cache.clear()
    made.close()


@pytest.mark.parametrize("regime", ["memory", "cached"])
def test_a_list_is_tuned(records: Records, regime: str) -> None:
    problem = GroupedProblem.parse(LIST)
    with Tuner(devices.probe(), records) as tuner:
        result = tuner.tune(problem, regime, search="climb", budget=10.0)
    assert result.best is not None
    assert result.best.stencil == "grouped"
    assert result.best.protocol == timing.DECIDED
    assert "wrong" not in result.statuses, result.statuses
    assert result.statuses["ok"] >= 2
    assert result.vendor is None
    assert "no library" in result.missing
    assert result.best.timing is not None
    assert result.best.timing.batch == 3000
    found = records.best(problem.key, regime, devices.probe().key)
    assert found is not None
    assert found.config == result.best.config


def test_calls_run_what_was_tuned(records: Records) -> None:
    torch = pytest.importorskip("torch")
    # Each matrix of PyTorch has an allocation of its own, and lists in rows are lists in columns swapped.
    m, n, k = GroupedProblem.parse(LIST).sizes(5)
    shapes = list(zip(m.tolist(), n.tolist(), k.tolist(), strict=True))
    a = [torch.randn(x, z, device="cuda") for x, _, z in shapes]
    b = [torch.randn(z, y, device="cuda") for _, y, z in shapes]
    plan = tw.plan_grouped(a, b)
    (before,) = plan.plans
    assert before.origin == "default"
    # Both regimes are tuned: the footprint of the list says which one answers.
    results = tw.tune(LIST, device="cuda", budget=16.0, betas="0")
    best: dict[str, Any] = {result.regime: result.best for result in results}
    for _ in range(2):
        made = plan()
        for got, x, y in zip(made, a, b, strict=True):
            torch.testing.assert_close(got, x @ y, rtol=1e-4, atol=1e-4)
    (after,) = plan.plans
    assert after.origin == "tuned"
    assert after.config == best[after.regime].config
    for got, x, y in zip(tw.gemm_grouped(a, b), a, b, strict=True):
        torch.testing.assert_close(got, x @ y, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("fields", [{}, {"beta": "1"}, {"alpha": "any", "beta": "any"}])
@pytest.mark.parametrize("letter", ["h", "b", "s", "d", "c", "z", "hc"])
def test_the_default_is_right_for_every_type(letter: str, fields: dict[str, str]) -> None:
    device = devices.probe()
    trans = "ct" if letter in ("c", "z", "hc") else "tn"
    problem = GroupedProblem.parse(f"{letter}:{trans}:1..20x1..32x1..24@500+32x32x32@20", **fields)
    stencil = STENCILS["grouped"]
    reason = stencil.accepts(problem, device)
    if reason is not None:
        pytest.skip(reason)
    config = stencil.default(problem, device)
    binary = nvrtc.compile(stencil.source(problem, config, device), device)
    evaluation = GroupedEvaluation(device)
    evaluation.prepare(problem, "cached")
    candidate = Candidate("grouped", config, binary)
    outcome = evaluation.attempt(candidate, 3, 0.03, float("inf"))
    assert outcome.verdict.ok, outcome.verdict.why
    assert outcome.timing is not None
    last_round = evaluation.final([candidate], 5)
    assert last_round.outcomes[0].verdict.ok, last_round.outcomes[0].verdict.why
