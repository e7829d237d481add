"""PyTorch's operators on a GPU: gradients, graphs, and a program whose batched products are served."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]
torch: Any = pytest.importorskip("torch")


@pytest.fixture
def tt() -> Iterator[Any]:
    import tilewright.torch

    yield tilewright.torch
    tilewright.torch.disable()


def drawn(*shape: int, dtype: Any = torch.float64, grad: bool = False) -> Any:
    return torch.randn(shape, dtype=dtype, device="cuda").requires_grad_(grad)


SHAPES = [
    ((7, 3, 4), (7, 4, 2)),
    ((7, 3, 4), (4, 2)),
    ((3, 4), (5, 4, 2)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((4,), (5, 4, 2)),
]


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize(("one", "other"), SHAPES)
def test_gradients_of_first_and_second_order(tt: Any, dtype: Any, one: Any, other: Any) -> None:
    a, b = drawn(*one, dtype=dtype, grad=True), drawn(*other, dtype=dtype, grad=True)
    for call in (tt.matmul, torch.ops.tilewright.matmul):
        torch.testing.assert_close(call(a, b), a @ b)
        assert torch.autograd.gradcheck(call, (a, b))
        assert torch.autograd.gradgradcheck(call, (a, b))


@pytest.mark.parametrize("trans", ["nn", "tc", "ct"])
def test_gradients_of_gemm(tt: Any, trans: str) -> None:
    a, b = (
        drawn(5, 3, 3, dtype=torch.complex128, grad=True),
        drawn(5, 3, 3, dtype=torch.complex128, grad=True),
    )
    c = drawn(3, 3, dtype=torch.complex128, grad=True)

    def call(a: Any, b: Any, c: Any) -> Any:
        return tt.gemm(a, b, c, alpha=2j, beta=1 - 1j, trans_a=trans[0], trans_b=trans[1])

    assert torch.autograd.gradcheck(call, (a, b, c))
    assert torch.autograd.gradgradcheck(call, (a, b, c))


def test_operators_are_what_pytorch_asks_of_operators(tt: Any) -> None:
    ops, dtype = torch.ops.tilewright, torch.complex128
    a, b, c = (drawn(5, 3, 3, dtype=dtype) for _ in range(3))
    wants = [x.clone().requires_grad_() for x in (a, b, c)]
    for op, given in (
        (ops.matmul, wants[:2]),
        (ops.matmul_out, (a, b, c)),
        (ops.gemm, (*wants, 2j, 1.0)),
        (ops.gemm_out, (a, b, c, 2.0, 0.5)),
        (ops.gemm_grouped, ([wants[0]], [wants[1]], [wants[2]], 2.0, 0.5)),
    ):
        torch.library.opcheck(op.default, tuple(given))


def test_complex_half_has_gradients(tt: Any) -> None:
    a, b = (drawn(6, 4, 4, dtype=torch.complex64).to(torch.complex32).requires_grad_() for _ in range(2))
    seed = drawn(6, 4, 4, dtype=torch.complex64).to(torch.complex32)
    got = torch.autograd.grad(tt.matmul(a, b), (a, b), seed)
    x, y = (z.detach().to(torch.complex64).requires_grad_() for z in (a, b))
    want = torch.autograd.grad(x @ y, (x, y), seed.to(torch.complex64))
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one.to(torch.complex64), other, atol=3e-2, rtol=1e-2)


def test_what_was_called_before_may_be_recorded(tt: Any) -> None:
    a, b = drawn(20000, 4, 4, dtype=torch.float32), drawn(20000, 4, 4, dtype=torch.float32)
    with tt.enable():
        for call in (tt.matmul, torch.ops.tilewright.matmul, torch.bmm):
            call(a, b)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = call(a, b)
            a.copy_(drawn(20000, 4, 4, dtype=torch.float32))
            graph.replay()
            torch.testing.assert_close(result.double(), a.double() @ b.double(), atol=1e-4, rtol=1e-4)
    assert tt.report().served >= 2


def test_a_program_is_served_and_put_back(tt: Any) -> None:
    before = torch.library.get_kernel("aten::bmm", "CUDA")
    for dtype in (torch.float32, torch.float64, torch.complex64, torch.complex128, torch.float16):
        a, b = drawn(4000, 8, 8).to(dtype).requires_grad_(), drawn(4000, 8, 8).to(dtype).requires_grad_()
        c = drawn(4000, 8, 8).to(dtype)
        seed = torch.randn_like(c)
        want = a @ b
        gradients = torch.autograd.grad(want, (a, b), seed)
        close = {"atol": 2e-2, "rtol": 1e-2} if dtype is torch.float16 else {}
        with tt.enable():
            for _ in range(2):
                torch.testing.assert_close(a @ b, want, **close)
                torch.testing.assert_close(torch.einsum("bij,bjk->bik", a, b), want, **close)
                added = torch.baddbmm(c, a, b, beta=2, alpha=0.5)
                torch.testing.assert_close(added, 2 * c + 0.5 * want, **close)
                into = torch.empty_like(c)
                torch.bmm(a.detach(), b.detach(), out=into)
                torch.testing.assert_close(into, want.detach(), **close)
                into.baddbmm_(a.detach(), b.detach())
                torch.testing.assert_close(into, 2 * want.detach(), **close)
                for one, other in zip(torch.autograd.grad(a @ b, (a, b), seed), gradients, strict=True):
                    torch.testing.assert_close(one, other, **close)
                torch.testing.assert_close(torch.vmap(torch.mm)(a, b), want, **close)
        assert tt.report().served > 0, str(tt.report())
    assert "Tilewright" not in str(before)
    (torch.ones(4000, 8, 8, device="cuda") @ torch.ones(8, 8, device="cuda")).sum().item()
    served = tt.report().served
    torch.bmm(a.detach(), b.detach())
    assert tt.report().served == served


def test_what_is_served_may_be_recorded_and_differentiated(tt: Any) -> None:
    a, b = drawn(500, 8, 8).float(), drawn(500, 8, 8).float()
    x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
    wanted = a @ b
    gradients = torch.autograd.grad((x @ y).sum(), (x, y))
    with tt.enable():
        torch.testing.assert_close(torch.bmm(a, b), wanted)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            recorded = torch.bmm(a, b)
            added = torch.baddbmm(recorded, a, b)
        a.mul_(2)
        graph.replay()
        torch.testing.assert_close(recorded, 2 * wanted)
        torch.testing.assert_close(added, 4 * wanted)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            aside = torch.bmm(a, b)
        stream.synchronize()
        torch.testing.assert_close(aside, 2 * wanted)
        for _ in range(2):
            for one, other in zip(torch.autograd.grad((x @ y).sum(), (x, y)), gradients, strict=True):
                torch.testing.assert_close(one, other)
        with pytest.raises(RuntimeError, match="size"):
            torch.bmm(a, b[:, :4])
    assert tt.report().served >= 8, str(tt.report())


def test_compiled_programs_are_served(tt: Any) -> None:
    def call(a: Any, b: Any) -> Any:
        return tt.matmul(a, b).sin()

    compiled = torch.compile(call, fullgraph=True, dynamic=True, backend="aot_eager")
    for batch in (300, 500, 700):
        a, b = drawn(batch, 8, 8, grad=True), drawn(batch, 8, 8, grad=True)
        torch.testing.assert_close(compiled(a, b), call(a, b))
        compiled(a, b).sum().backward()
        torch.testing.assert_close(a.grad, torch.autograd.grad(call(a, b).sum(), a)[0])
