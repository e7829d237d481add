"""Plans that cuBLASLt serves, and algorithms that come back from records."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.cpu.cublaslt.library import PLAIN, SPLIT, VERSION, one, stored
from tilewright.arrays import torch_
from tilewright.arrays.layout import Job
from tilewright.arrays.library import Library
from tilewright.calls import explain
from tilewright.model import Config, Plan, Problem
from tilewright.planning import dispatch
from tilewright.runtime import bound_cuda, cublaslt
from tilewright.targets.cuda import capability

pytestmark = pytest.mark.cpu


# ---- recorded algorithms


def test_an_algorithm_comes_back_from_its_config(lt: Any) -> None:
    problem = one("s:8x8x8")
    found = cublaslt.candidates(problem, (1, 0), 0, 8)
    assert not isinstance(found, str)
    assert [made.best.code for _, made in found] == [SPLIT, PLAIN]
    config, _ = found[1]
    assert config == Config(
        {name: 10 * which + 1 for name, which in cublaslt.CONFIG.items()}
        | {"workspace": 0, "version": VERSION, "algorithm": PLAIN.hex()}
    )
    made = cublaslt.product(problem, (1, 0), 0, config)
    assert isinstance(made, cublaslt.Product)
    assert made.best.code == PLAIN
    for other in (
        config.with_(version=1),
        config.with_(algorithm=PLAIN.hex()[:-2]),
        Config({}),
        None,
    ):
        made = cublaslt.product(problem, (1, 0), 0, other)
        assert isinstance(made, cublaslt.Product)
        assert made.best.code == SPLIT, "the library's first choice"
    lt.refuses.add(PLAIN)
    made = cublaslt.product(problem, (1, 0), 0, config)
    assert isinstance(made, cublaslt.Product)
    assert made.best.code == SPLIT


# ---- plans


def plan_of(problem: Problem, config: Config | None = None) -> Plan:
    return Plan(problem, capability.named("h200"), "cached", "vendor", "", config=config)


def test_a_plan_of_the_vendors_is_bound_to_the_library(lt: Any) -> None:
    place = bound_cuda.Gpu(None, 0, 0)
    problem = one("d:9x7x5")
    job = Job(problem, True, (), ())
    bound = place.bind(job, plan_of(problem), (1, 0))
    assert isinstance(bound, bound_cuda.Vendor)
    a, b, c = (stored(problem, name, 1) for name in "abc")
    bound.run(b.ctypes.data, a.ctypes.data, c.ctypes.data, 3)
    np.testing.assert_allclose(c, a @ b)
    # Where the plan says that the array library's own product is faster: that one, if there is a library.
    by_library = plan_of(problem, Config({"by": "library"}))
    assert isinstance(place.bind(job, by_library, (1, 0)), bound_cuda.Vendor)
    assert bound_cuda.Gpu(object.__new__(torch_.Torch), 0, 0).bind(job, by_library, (1, 0)) is None
    hc = one("hc:8x8x8")
    assert place.bind(Job(hc, False, (), ()), plan_of(hc), (1, 0)) is None
    assert place.bind(Job(problem, True, (17,), ((0, 0, 1),)), plan_of(problem), (1, 0)) is None


@pytest.mark.parametrize(("letter", "allowed"), [("h", True), ("h", False), ("b", True), ("b", False)])
def test_parts_of_a_sum_are_added_up_as_the_array_library_would(lt: Any, letter: str, allowed: bool) -> None:
    """In 16 bits where PyTorch's switch of that type says so; in float32 where there is no library."""
    names = {"h": "allow_fp16_reduced_precision_reduction", "b": "allow_bf16_reduced_precision_reduction"}
    matmul = SimpleNamespace(**{name: allowed == (key == letter) for key, name in names.items()})
    library = object.__new__(torch_.Torch)
    library.module = SimpleNamespace(backends=SimpleNamespace(cuda=SimpleNamespace(matmul=matmul)))
    problem = one(f"{letter}:8x8x8")
    for given, want in ((library, 7 if allowed else 2), (None, 2)):
        place = bound_cuda.Gpu(given, 0, 0)
        lt.preferences.clear()
        assert place.bind(Job(problem, False, (), ()), plan_of(problem), (1, 0)) is not None
        assert {wants[cublaslt.PREFERENCE_REDUCTION] for wants in lt.preferences} == {want}
    setattr(matmul, names[letter], (allowed, True))
    assert library.narrows(letter) is allowed
    assert not library.narrows("s")
    assert Library(None).narrows("b")
    assert not Library(None).narrows("d")


def test_batch_axes_that_no_stride_covers(lt: Any) -> None:
    lt.works = False
    problem = one("s:8x8x8@2")
    job = Job(problem, True, (3, 2), ((100, 0, 1000), (0, 10, 500)))
    bound = bound_cuda.Gpu(None, 0, 0).bind(job, plan_of(problem), (1, 0))
    bound.run(10**6, 2 * 10**6, 3 * 10**6, 5)
    assert [call["addresses"] for call in lt.calls] == [
        (2 * 10**6 + 10 * j, 10**6 + 100 * i, 3 * 10**6 + 1000 * i + 500 * j)
        for i in range(3)
        for j in range(2)
    ]


def test_a_record_of_the_vendors_brings_its_algorithm(monkeypatch: pytest.MonkeyPatch, lt: Any) -> None:
    device = capability.named("h200")
    config = Config({"algorithm": PLAIN.hex(), "version": VERSION, "id": 21, "tile": 20})
    for recorded, want in ((config, config), (Config({}), None)):
        monkeypatch.setattr(dispatch, "_tuned", lambda *_, recorded=recorded: ("vendor", recorded))
        plan = dispatch.plan(one("s:64x64x64"), device)
        assert (plan.origin, plan.stencil, plan.config) == ("vendor", None, want)
        text = explain.explain_plan(plan)
        assert ("cuBLASLt, id=21 tile=20" if want else "cuBLASLt, the algorithm that it expects") in text
