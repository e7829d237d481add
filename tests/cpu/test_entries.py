"""Compiled entries in PyTorch's tables: what they run, what they hand on, and what they leave behind."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import tilewright as tw

pytestmark = pytest.mark.cpu
torch: Any = pytest.importorskip("torch")

from tilewright.runtime import fastcall_cpu, multiplying  # noqa: E402  # after it is known that PyTorch is there
from tilewright.torch import disable, enable, entries, report, serving, worth  # noqa: E402
from tilewright.torch.switch import SERVING  # noqa: E402


@pytest.fixture(autouse=True)
def wins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a kernel of ours takes is worth it; and there are entries."""
    for name in ("HOST", "COMPILED"):
        monkeypatch.setattr(worth, name, {"cpu": (1e-3, 0.0)})
    for name in ("SMALL", "SMALL_ENTRY"):
        monkeypatch.setattr(serving, name, {"CPU": 0, "CUDA": 0})
    assert entries.loaded() is not None
    yield
    disable()
    SERVING.drop()


def pair(*, dtype: Any = torch.float64, count: int = 60) -> tuple[Any, Any]:
    return torch.randn(count, 5, 4, dtype=dtype), torch.randn(count, 4, 3, dtype=dtype)


def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often Python was asked, from the next ``enable`` on."""
    numbers: list[int] = []
    ask = serving.Serving._asked

    def counting(self: Any, which: int, *rest: Any) -> int:
        numbers.append(which)
        return ask(self, which, *rest)

    monkeypatch.setattr(serving.Serving, "_asked", counting)
    monkeypatch.setattr(SERVING, "entries", None)
    return numbers


def test_python_is_asked_once_about_a_kind_of_call(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = asked(monkeypatch)
    a, b = pair()
    x, y = torch.randn(8, 6).double(), torch.randn(6, 6).double()
    wanted, alone, out = torch.bmm(a, b), x @ y, torch.empty(60, 5, 3, dtype=torch.float64)
    with enable():
        for _ in range(4):
            torch.testing.assert_close(torch.bmm(a, b), wanted)
            torch.testing.assert_close(torch.mm(x, y), alone)
            assert torch.bmm(a, b, out=out) is out
            torch.testing.assert_close(out, wanted)
            out.zero_()
    assert sorted(numbers) == [0, 1, 2]
    assert sorted(row.calls for row in report().rows) == [4, 8]
    assert report().served == 12


def test_errors_are_pytorchs_and_operands_are_given_back() -> None:
    a, b = pair()
    with enable():
        for shape, dtype in (((60, 5, 3), a.dtype), ((60, 4, 3), torch.float32), ((4, 3), a.dtype)):
            wrong = torch.randn(shape, dtype=dtype)
            with pytest.raises(RuntimeError) as told:
                torch.bmm(a, wrong)
            disable()
            with pytest.raises(RuntimeError) as plain:
                torch.bmm(a, wrong)
            enable()
            assert str(told.value) == str(plain.value)
            held = weakref.ref(wrong)
            del wrong, told, plain
            gc.collect()
            assert held() is None
        torch.bmm(a, b)
        held = weakref.ref(torch.bmm(a, b))
        assert held() is None
    assert report().served == 2


def test_results_go_where_they_may() -> None:
    # Permutations, whose powers are exact.
    a = torch.stack([torch.eye(3, dtype=torch.float64)[torch.randperm(3)] for _ in range(60)])
    room = torch.cat([a, a[:1]])
    wanted, over = torch.bmm(a, a), room.clone()
    # Where it begins within an operand, PyTorch's reads what it wrote, and ours would read other things.
    torch.bmm(over[:60], over[:60], out=over[1:])
    with enable():
        apart = torch.empty(122, 3, 3, dtype=torch.float64)
        apart[:60] = a
        for _ in range(2):
            out = torch.empty(60, 3, 3, dtype=torch.float64).mT
            torch.testing.assert_close(torch.bmm(a, a, out=out), wanted)
            with pytest.raises(RuntimeError):
                torch.bmm(a, a, out=torch.empty(60, 3, 3))
            # The same kind of call, once on either side of the border.
            torch.testing.assert_close(torch.bmm(apart[:60], apart[:60], out=apart[61:121]), wanted)
            again = room.clone()
            torch.testing.assert_close(torch.bmm(again[:60], again[:60], out=again[1:]), over[1:])
    assert report().served >= 4


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_conjugation_that_was_put_off_is_seen(dtype: Any) -> None:
    a, b = pair(dtype=dtype)
    wanted = [torch.bmm(a, b), torch.bmm(a.conj().resolve_conj(), b)]
    with enable():
        for _ in range(2):
            torch.testing.assert_close([torch.bmm(a, b), torch.bmm(a.conj(), b)], wanted)
    assert any("conjugation" in row.why for row in report().rows)
    assert report().served == 2


def test_what_python_alone_can_launch_is_launched_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastcall_cpu, "raw", lambda function, threads: None)
    numbers = asked(monkeypatch)
    a, b = pair()
    wanted, out = torch.bmm(a, b), torch.empty(60, 5, 3, dtype=torch.float64)
    with enable():
        for _ in range(3):
            torch.testing.assert_close(torch.bmm(a, b), wanted)
            torch.testing.assert_close(torch.bmm(a, b, out=out.zero_()), wanted)
    assert len(numbers) == 6
    assert report().served == 6


def test_operands_of_one_number_are_copied_first() -> None:
    a, b = pair()
    x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
    wanted = torch.autograd.grad((x @ y).sum(), (x, y))
    one = torch.randn(60, 1, 1).double().expand(60, 5, 4)
    gaps = torch.randn(60, 8, 8).double()[:, ::2, ::3]
    held, out = weakref.ref(one), torch.empty(60, 5, 3).double()
    products = [torch.bmm(one, b), torch.bmm(one, gaps)]
    with enable():
        for _ in range(3):
            torch.testing.assert_close(torch.autograd.grad((x @ y).sum(), (x, y)), wanted)
            torch.testing.assert_close([torch.bmm(one, b), torch.bmm(one, gaps)], products)
            torch.testing.assert_close(torch.bmm(one, gaps, out=out), products[1])
    assert report().served == 18
    del one
    assert held() is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
def test_what_is_added_is_of_any_layout(dtype: Any) -> None:
    a, b = pair(dtype=dtype)
    c = torch.randn(60, 3, 5, dtype=dtype).mT
    nothing = torch.full_like(c, float("nan"))
    calls = [(c, 1, 1), (c, 0.5, -2), (c[:1], 2, 1), (c.conj(), 1, 1), (nothing, 0, 3), (c[0], 1, 1)]

    def results() -> list[Any]:
        return [torch.baddbmm(x, a, b, beta=beta, alpha=alpha) for x, beta, alpha in calls]

    wanted = results()
    with enable():
        for _ in range(3):
            torch.testing.assert_close(results(), wanted)
        with pytest.raises(RuntimeError, match="size"):
            torch.baddbmm(c, a, a)
        held = weakref.ref(torch.baddbmm(c, a, b))
        assert held() is None
    assert report().served >= 3 * 5


def test_no_more_threads_than_pytorchs_are_used() -> None:
    a, b = torch.randn(4000, 20, 20), torch.randn(4000, 20, 20)
    before = torch.get_num_threads()
    found = []
    try:
        for most in (2, 1):
            torch.set_num_threads(most)
            with enable():
                torch.bmm(a, b)
                context = next(iter(SERVING.choices.values())).context
                found.append(int.from_bytes(context[8 * multiplying.AT["threads"] :][:8], "little"))
    finally:
        torch.set_num_threads(before)
    assert found[0] <= 2
    assert found[1] == 1


def test_a_full_table_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST", 3)
    with enable():
        for count in (2, 3, 4, 5, 6, 7, 2, 3):
            a, b = pair(count=count)
            torch.testing.assert_close(torch.bmm(a, b), (a[..., None] * b[:, None]).sum(2))
    assert report().served + report().passed == 8


def test_a_kernel_that_is_not_pytorchs_own_is_kept_behind_ours() -> None:
    came: list[int] = []
    library = torch.library.Library("aten", "IMPL")
    before = torch.library.get_kernel("aten::mm", "CPU").call_boxed
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

    def kernel(a: Any, b: Any) -> Any:
        came.append(1)
        return before(keys, a, b)

    library.impl("mm", kernel, "CPU", allow_override=True)
    try:
        large = torch.randn(100, 100)
        with enable():
            torch.testing.assert_close(large @ large, torch.bmm(large[None], large[None])[0])
        assert came == [1]
    finally:
        library._destroy()


def test_without_entries_python_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "loaded", lambda: None)
    monkeypatch.setattr(SERVING, "entries", None)
    a, b = pair()
    wanted, out = torch.bmm(a, b), torch.empty(60, 5, 3, dtype=torch.float64)
    with enable():
        for _ in range(2):
            torch.testing.assert_close(torch.bmm(a, b), wanted)
            torch.testing.assert_close(torch.bmm(a, b, out=out), wanted)
            torch.testing.assert_close(a[0] @ b[0], wanted[0])
    assert report().served >= 4


def test_calls_are_decided_on_again_when_records_change() -> None:
    a, b = pair()
    with enable():
        torch.bmm(a, b)
        torch.bmm(a, b)
        tw.forget()
        assert not SERVING.choices
        torch.bmm(a, b)
    assert [row.calls for row in report().rows] == [3]
