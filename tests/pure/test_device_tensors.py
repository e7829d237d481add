"""Calls on tensors of a GPU, without one: PyTorch's on the CPU, which the library is told lie on a GPU."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from timeit import repeat
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.device_arrays import Bare, close, in_turns, only_remembered
from tests.pretended import Log, Pretended, tensor
from tests.products import filled, op
from tilewright.arrays import backend as lookup
from tilewright.arrays.view import (
    address_of,
)
from tilewright.errors import ArgumentError, DTypeError
from tilewright.planning import dispatch
from tilewright.runtime import device_calls
from tilewright.targets.cuda import driver

pytestmark = pytest.mark.pure


TYPES = ["float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", TYPES)
def test_tensors(gpu: Log, torch: Any, name: str) -> None:
    for a, b in (
        ((4, 5), (5, 3)),
        ((6, 4, 5), (6, 5, 3)),
        ((6, 1, 4, 5), (2, 5, 3)),
        ((5,), (5, 3)),
        ((2, 4, 5), (5,)),
        ((5,), (5,)),
        ((1, 5), (5, 1)),
    ):
        x, y = tensor(torch, a, name, 1), tensor(torch, b, name, 2)
        want = np.matmul(x.numpy(), y.numpy())
        for _ in range(3):
            got = tw.matmul(x, y)
            assert isinstance(got, torch.Tensor)
            close(got.numpy(), np.asarray(want))
            assert gpu.last.stream == 7
        out = torch.full(tuple(want.shape), float("nan"), dtype=x.dtype)
        for _ in range(2):
            assert tw.matmul(x, y, out=out) is out
            close(out.numpy(), np.asarray(want))


@pytest.mark.parametrize(("name", "trans_a", "trans_b"), in_turns(TYPES))
def test_gemm_of_tensors(gpu: Log, torch: Any, name: str, trans_a: str, trans_b: str) -> None:
    m, n, k = 5, 3, 7
    a = tensor(torch, (2, *((m, k) if trans_a == "n" else (k, m))), name, 1)
    b = tensor(torch, (2, *((k, n) if trans_b == "n" else (n, k))), name, 2)
    c = tensor(torch, (2, m, n), name, 3)
    scalars = [(1, 0), (2.5, 1), (-1, 0.5)] + ([(1j, 2 - 1j)] if name.startswith("c") else [])
    for lazy_a, lazy_b in ((False, False), (True, False), (True, True)):
        x, y = a.conj() if lazy_a else a, b.conj() if lazy_b else b
        for alpha, beta in scalars:
            left, right = (z.resolve_conj().numpy() for z in (x, y))
            want = alpha * np.matmul(op(left, trans_a), op(right, trans_b)) + beta * c.numpy()
            want = want.astype(name)
            options: dict[str, Any] = {"alpha": alpha, "beta": beta, "trans_a": trans_a, "trans_b": trans_b}
            made = tw.plan(x, y, c, **options)
            assert made.copies == ()
            for run in (lambda *u, o=options, **v: tw.gemm(*u, **o, **v), made):
                for _ in range(3):
                    close(run(x, y, c).numpy(), want)
                    out = c.clone()
                    assert run(x, y, out, out=out) is out
                    close(out.numpy(), want)
                    out = c.clone()
                    assert run(x, y, out=out) is out
                    close(out.numpy(), want)
                    out = torch.full_like(c, float("nan"))
                    assert run(x, y, c, out=out) is out
                    close(out.numpy(), want)


def test_the_second_call_is_short(gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c = (tensor(torch, (3, 8, 8), seed=seed) for seed in range(3))
    made = tw.plan(a, b, c, alpha=2, beta=3)
    for turn in range(2):
        results = [
            tw.matmul(a, b),
            tw.matmul(a, b, out=torch.empty_like(a)),
            tw.gemm(a, b, trans_a="t"),
            tw.gemm(a, b, c, beta=1),
            tw.gemm(a, b, beta=1, out=c.clone()),
            made(a, b, c),
            made(a, b, out=c.clone()),
        ]
        if turn == 0:
            first = results
            only_remembered(monkeypatch)
    for one, two in zip(first, results, strict=True):
        assert torch.equal(one, two)
    weights = torch.nn.Parameter(b)
    with torch.no_grad():
        assert torch.equal(tw.matmul(a, weights), first[0])
    assert tw.matmul(a, weights).requires_grad
    for change in (
        lambda: tw.matmul(a, b.mT),
        lambda: tw.matmul(a.float(), b),
        lambda: tw.matmul(a, b, out=a),
        lambda: tw.matmul(a.flatten()[1:193].view(3, 8, 8), b),
        lambda: tw.gemm(a, b, trans_a="c"),
        lambda: tw.gemm(a, b, trans_a=[]),
        lambda: tw.gemm(a, b, c, beta=2),
        lambda: made(a, b[:2], c),
    ):
        with pytest.raises((AssertionError, RuntimeError)):
            change()


def test_out_over_an_operand(gpu: Log, torch: Any) -> None:
    for _ in range(2):
        for which in range(2):
            pair = [tensor(torch, (5, 4, 4), seed=1), tensor(torch, (5, 4, 4), seed=2)]
            want = pair[0] @ pair[1]
            assert tw.matmul(*pair, out=pair[which]) is pair[which]
            close(pair[which].numpy(), want.numpy())
        memory = tensor(torch, (6, 4, 4))
        b = tensor(torch, (5, 4, 4), seed=3)
        want = memory[:5] @ b
        tw.matmul(memory[:5], b, out=memory[1:])
        close(memory[1:].numpy(), want.numpy())
        memory = tensor(torch, (6, 4, 4))
        want = b @ b - memory[:5]
        tw.gemm(b, b, memory[:5], beta=-1, out=memory[1:])
        close(memory[1:].numpy(), want.numpy())


def test_layouts_that_are_copied(gpu: Log, torch: Any) -> None:
    a, b = tensor(torch, (4, 6, 16))[:, :, ::2], tensor(torch, (4, 8, 5))
    assert tw.plan(a, b).copies == ("a",)
    close(tw.matmul(a, b).numpy(), (a @ b).numpy())
    out = torch.zeros(4, 6, 10, dtype=torch.float64)[:, :, ::2]
    assert tw.plan(a, b, out=out).copies == ("a", "out")
    for _ in range(2):
        tw.gemm(a, b, out=out, beta=0)
        close(out.numpy(), (a @ b).numpy())
    z = torch.view_as_complex(tensor(torch, (200,), "float32").view(-1, 2))
    lazy = z[:96].view(6, 16)[:, ::2].conj()
    close(tw.gemm(lazy, lazy, trans_a="c").numpy(), (lazy.mH @ lazy).numpy())
    negated = lazy.imag
    assert negated.is_neg()
    close(tw.matmul(negated, negated.mT).numpy(), (negated @ negated.mT).numpy())


def test_elements_that_are_not_aligned(gpu: Log) -> None:
    """NumPy is content with the alignment of a complex number's parts; a GPU reads the whole."""
    flat = np.zeros(2 * 40, "f4")
    flat[...] = filled((80,), "f4")
    odd = int(address_of(flat) % 8 == 0)
    a = flat[odd : odd + 32].view("c8").reshape(4, 4)
    assert a.flags.aligned
    assert address_of(a) % 8 == 4
    assert tw.plan(Bare(a), Bare(a)).copies == ("a", "b")


def test_promotion(gpu: Log, torch: Any) -> None:
    a, b = tensor(torch, (3, 4, 5), "float32"), tensor(torch, (5, 6), "complex128")
    got = tw.matmul(a, b)
    assert got.dtype == torch.complex128
    close(got.numpy(), np.matmul(a.numpy(), b.numpy()))
    c = tensor(torch, (3, 4, 6), "complex64")
    got = tw.gemm(a, b, c, beta=2)
    close(got.numpy(), np.matmul(a.numpy(), b.numpy()) + 2 * c.numpy())
    for shape in ((6,), (1, 3, 6), (2, 1, 3, 6)):
        u, v, w = tensor(torch, (4, 3, 5)), tensor(torch, (5, 6)), tensor(torch, shape)
        if len(shape) > 1:
            close(tw.gemm(u, v, w, beta=1).numpy(), (u @ v + w).numpy())


def test_other_types_are_the_librarys(gpu: Log, torch: Any) -> None:
    for dtype in (torch.bfloat16, torch.int64, torch.float16, torch.int32):
        a = torch.ones(3, 4, 4).to(dtype)
        for _ in range(2):
            got = tw.matmul(a, a)
            assert got.dtype == dtype
            assert torch.equal(got, a @ a)
        out = torch.zeros_like(a)
        assert tw.matmul(a, a, out=out) is out
        assert torch.equal(out, a @ a)
        for run in (tw.gemm, tw.plan):
            if dtype.is_floating_point:
                assert torch.equal(run(a, a) if run is tw.gemm else run(a, a)(a, a), a @ a)
                continue
            with pytest.raises(DTypeError, match="accepted: float16, bfloat16, float32"):
                run(a, a)
    assert gpu.starts == []
    wide = tw.matmul(torch.ones(4, 4, dtype=torch.bfloat16), torch.ones(4, 4))
    assert torch.equal(wide, torch.full((4, 4), 4.0))
    with pytest.raises(DTypeError, match="same dtype"):
        tw.matmul(torch.ones(4, 4, dtype=torch.int32), torch.ones(4, 4, dtype=torch.int64))


@pytest.mark.parametrize("name", ["float64", "complex64"])
def test_what_no_stencil_takes_is_the_librarys(gpu: Log, torch: Any, name: str, monkeypatch: Any) -> None:
    for batch in ((), (2,), (2, 2)):
        a, b, c = (tensor(torch, (*batch, 97, 97), name, seed) for seed in range(3))
        want = torch.matmul(a, b)
        for turn in range(2):
            with monkeypatch.context() as patch:
                if turn:
                    only_remembered(patch)
                close(tw.matmul(a, b).numpy(), want.numpy())
                np.testing.assert_allclose(
                    tw.gemm(a, b, c, alpha=2, beta=0.5, trans_a="c").numpy(),
                    (2 * a.mH @ b + 0.5 * c).numpy(),
                    rtol=1e-3,
                    atol=1e-3,
                )
                nan = torch.full_like(c, float("nan"))
                np.testing.assert_allclose(
                    tw.gemm(a, b, alpha=2, trans_b="t", out=nan).numpy(),
                    (2 * a @ b.mT).numpy(),
                    rtol=1e-3,
                    atol=1e-3,
                )
        square = a.clone()
        tw.matmul(square, b, out=square)
        np.testing.assert_allclose(square.numpy(), want.numpy(), rtol=1e-4, atol=1e-4)
    assert gpu.starts == []
    assert tw.plan(a, b).plan.origin == "vendor"
    assert "the array library's matmul" in tw.explain(a, b)


def test_empty_and_alpha_zero_and_nan(gpu: Log, torch: Any) -> None:
    for a, b in (((3, 0), (0, 4)), ((0, 3, 2), (2, 2)), ((2, 0, 3), (2, 3, 3))):
        x, y = torch.zeros(a), torch.zeros(b)
        assert torch.equal(tw.matmul(x, y), x @ y)
        out = torch.full((x @ y).shape, float("nan"))
        assert torch.equal(tw.gemm(x, y, out=out), x @ y)
        tw.plan(x, y)(x, y)
    nan, a = torch.full((4, 4), float("nan")), tensor(torch, (4, 4), "float32")
    for _ in range(2):
        assert torch.equal(tw.gemm(nan, nan, alpha=0), torch.zeros(4, 4))
        assert torch.equal(tw.gemm(nan, nan, a, alpha=0, beta=2), 2 * a)
        close(tw.gemm(a, a, nan, beta=0).numpy(), (a @ a).numpy())
        close(tw.gemm(a, a, out=nan.clone()).numpy(), (a @ a).numpy())
    three = torch.full((2, 2), 3.0)
    tw.gemm(torch.zeros(2, 0), torch.zeros(0, 2), out=three, beta=2)
    assert torch.equal(three, torch.full((2, 2), 6.0))


def frames(run: Callable[[], object]) -> list[str]:
    """The functions of the package that a call goes through."""
    found: list[str] = []

    def note(frame: Any, event: str, argument: object) -> None:
        if event == "call" and "/tilewright/" in frame.f_code.co_filename:
            found.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def test_gradients(gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    a = tensor(torch, (3, 3))
    wants = torch.nn.Parameter(a.clone())
    seed, into = torch.ones_like(a), torch.zeros_like(a)
    for _ in range(2):
        for run in (lambda: tw.matmul(wants, a, into), lambda: tw.plan(a, a)(wants, a)):
            with pytest.raises(DTypeError, match="requires a gradient"):
                run()
        for run in (lambda: tw.matmul(wants, a), lambda: tw.gemm(wants, a)):
            started = len(gpu.starts)
            (made,) = torch.autograd.grad(run(), wants, seed)
            close(made.numpy(), (seed @ a.mT).numpy())
            assert len(gpu.starts) == started + 2
        with torch.no_grad():
            close(tw.matmul(wants, a).numpy(), (a @ a).numpy())
            close(tw.gemm(a, wants).numpy(), (a @ a).numpy())
    # What nobody listens to goes through the call, the look and its key, and nothing of PyTorch's room; then
    # it is launched, here in Python.
    tw.matmul(a, a)
    assert frames(lambda: tw.matmul(a, a))[:4] == ["matmul", "__call__", "key", "_slow"]
    only_remembered(monkeypatch)
    with torch.no_grad():
        close(tw.matmul(wants, a).numpy(), (a @ a).numpy())
    with pytest.raises(DTypeError, match="layout"):
        lookup.library("torch").check(a.to_sparse(), "a")


def test_tensors_and_arrays_of_others(gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    found = lookup.library("torch")
    monkeypatch.setattr(found, "wait", lambda index, stream: waited.append(stream))
    a, b = tensor(torch, (4, 4)), filled((4, 4))
    want = a.numpy() @ b
    for stream in (None, 7, 1, 30):
        close(tw.matmul(a, Bare(b, stream=stream)).numpy(), want)
        assert gpu.last.stream == 7
    assert waited == [0, 30]
    out = np.zeros((4, 4))
    tw.matmul(Bare(b), a, out=Bare(out))
    close(out, b @ a.numpy())
    with pytest.raises(ArgumentError, match="is not on a GPU"):
        tw.matmul(a, b)
    with pytest.raises(ArgumentError, match="lazily conjugated"):
        tw.matmul(a, a, out=torch.zeros(4, 4, dtype=torch.complex128).conj())
    monkeypatch.setattr(lookup, "default_library", lambda: found)
    monkeypatch.setattr(gpu, "computes", False)
    assert isinstance(tw.matmul(Bare(b), Bare(b)), torch.Tensor)


def test_threads_share_a_kernel(gpu: Log, torch: Any) -> None:
    pairs = [(tensor(torch, (30, 6, 6), seed=i), tensor(torch, (30, 6, 6), seed=9 + i)) for i in range(4)]
    wrong = []

    def work(x: Any, y: Any) -> None:
        want = np.matmul(x.numpy(), y.numpy())
        for _ in range(100):
            if not np.allclose(tw.matmul(x, y).numpy(), want):
                wrong.append(1)

    threads = [threading.Thread(target=work, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert len(gpu.starts) == 400


def test_time_around_the_launch(gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Python adds to a launch: some microseconds, where planning takes hundreds."""
    monkeypatch.setattr(driver.Launcher, "__call__", lambda self, stream=0: None)
    a, b, c = (tensor(torch, (64, 64), seed=seed) for seed in range(3))
    made = tw.plan(a, b, out=c)
    for run in (lambda: tw.gemm(a, b), lambda: made(a, b, out=c)):
        run()
        best = min(repeat(run, number=200, repeat=20)) / 200
        print(f"{best * 1e6:.2f} us")
        assert best < 40e-6


def test_addresses_that_no_texture_covers(gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library multiplies there, and a batch of several runs is not planned with textures at all."""
    refused = []

    def refuse(address: int, *_: int) -> None:
        refused.append(address)
        raise ArgumentError("address: accepted by textures of this device: multiples of 512 bytes")

    monkeypatch.setattr(driver, "texture1d", refuse)
    monkeypatch.setattr(Pretended, "reading", "tex1d")
    a, b, c = (tensor(torch, (6, 6), "complex64", seed) for seed in range(3))
    want = 2 * a.mH @ b.conj() + 3 * c
    made = tw.plan(a, b.conj(), c, alpha=2, beta=3, trans_a="c")
    assert made.plan.stencil == "pretend"
    for turn in range(1, 3):
        out = c.clone()
        made(a, b.conj(), out=out)
        np.testing.assert_allclose(out.numpy(), want.numpy(), rtol=1e-4, atol=1e-4)
        assert len(refused) >= turn
    assert gpu.starts == []
    with pytest.raises(ArgumentError, match="512"):
        tw.plan(a, b, stencil="pretend")(a, b)
    stack = tensor(torch, (2, 6, 6))
    assert tw.plan(stack, stack).plan.origin == "vendor"
    close(tw.matmul(stack, stack).numpy(), (stack @ stack).numpy())


def test_a_call_that_comes_again_and_again(gpu: Log, torch: Any) -> None:
    """From the third on it is compared with the last one alone; anything else about it is seen."""
    a, b, c = (tensor(torch, (3, 6, 6), seed=seed) for seed in range(3))
    for _ in range(4):
        assert tw.matmul(a, b, out=c.fill_(0)) is c
        close(c.numpy(), (a @ b).numpy())
    calls = device_calls.CALLS[type(a)]
    assert isinstance(calls, device_calls.TorchCalls)
    assert calls.again is not None
    for x, y in ((b, a), (a.mT, b), (a[:2], b[:2]), (a.to(torch.float32), b.to(torch.float32))):
        out = torch.zeros(x.shape, dtype=x.dtype)
        for _ in range(3):
            tw.matmul(x, y, out=out.fill_(0))
            close(out.numpy(), (x @ y).numpy())
            tw.gemm(x, y, alpha=2, out=out.fill_(0))
            close(out.numpy(), (2 * x @ y).numpy())
    with pytest.raises(ArgumentError):
        tw.matmul(a, b, out=c[:, :, :5])
    tw.matmul(a, a, out=a)
    tw.forget()
    assert device_calls.CALLS == {}


def test_forget(gpu: Log, torch: Any) -> None:
    a = tensor(torch, (4, 4))
    tw.matmul(a, a)
    assert type(a) in device_calls.CALLS
    tw.forget()
    assert device_calls.CALLS == {}
    tw.matmul(a, a)
    assert dispatch.device("cuda").key == "h200"
