"""PyTorch's operators in this process's memory: shapes, gradients, transforms, programs that are served."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tilewright as tw
from tilewright.errors import DTypeError, UnsupportedError

pytestmark = pytest.mark.cpu
torch: Any = pytest.importorskip("torch")

DOUBLE, COMPLEX = torch.float64, torch.complex128
SHAPES = [
    ((5, 3, 4), (5, 4, 2)),
    ((3, 4), (4, 2)),
    ((5, 3, 4), (4, 2)),
    ((3, 4), (5, 4, 2)),
    ((4,), (4,)),
    ((4,), (5, 4, 2)),
    ((5, 3, 4), (4,)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((0, 3, 4), (0, 4, 2)),
]


@pytest.fixture
def tt() -> Iterator[Any]:
    import tilewright.torch

    yield tilewright.torch
    tilewright.torch.disable()
    tilewright.torch.switch.SERVING.drop()


def drawn(*shape: int, dtype: Any = DOUBLE, grad: bool = False) -> Any:
    return torch.randn(shape, dtype=dtype).requires_grad_(grad)


def op(x: Any, letter: str) -> Any:
    return {"n": x, "t": x.mT, "c": x.mH}[letter]


# ---- operators


@pytest.mark.parametrize(("one", "other"), SHAPES)
def test_products_and_their_gradients(tt: Any, one: Any, other: Any) -> None:
    a, b = drawn(*one, dtype=COMPLEX, grad=True), drawn(*other, dtype=COMPLEX, grad=True)
    want = torch.matmul(a, b)
    seed = torch.randn_like(want)
    gradients = torch.autograd.grad(want, (a, b), seed)
    for call in (tt.matmul, torch.ops.tilewright.matmul, tw.matmul):
        got = call(a, b)
        torch.testing.assert_close(got, want)
        for mine, theirs in zip(torch.autograd.grad(got, (a, b), seed), gradients, strict=True):
            torch.testing.assert_close(mine, theirs)
        torch.testing.assert_close(call(a.detach(), b.detach()), want.detach())
    if want.numel():
        sums = [torch.autograd.grad(call(a, b).sum().real, (a, b)) for call in (tt.matmul, torch.matmul)]
        torch.testing.assert_close(*sums)


@pytest.mark.parametrize("dtype", [DOUBLE, COMPLEX])
def test_gradients_of_first_and_second_order(tt: Any, dtype: Any) -> None:
    a, b = drawn(2, 2, 2, dtype=dtype, grad=True), drawn(2, 1, dtype=dtype, grad=True)
    assert torch.autograd.gradcheck(tt.matmul, (a, b), fast_mode=True, check_forward_ad=True)
    for call in (tt.matmul, torch.ops.tilewright.matmul):
        assert torch.autograd.gradcheck(call, (a, b), fast_mode=True)
        assert torch.autograd.gradgradcheck(call, (a, b), fast_mode=True)


@pytest.mark.parametrize("trans", ["nn", "tc", "ct"])
def test_gradients_of_gemm(tt: Any, trans: str) -> None:
    a, b, c = (drawn(*shape, dtype=COMPLEX, grad=True) for shape in ((2, 2, 2), (2, 2, 2), (2, 2)))

    def call(a: Any, b: Any, c: Any) -> Any:
        return tt.gemm(a, b, c, alpha=2j, beta=1 - 1j, trans_a=trans[0], trans_b=trans[1])

    want = 2j * op(a, trans[0]) @ op(b, trans[1]) + (1 - 1j) * c
    torch.testing.assert_close(call(a, b, c), want)
    torch.testing.assert_close(
        tw.gemm(a, b, c, alpha=2j, beta=1 - 1j, trans_a=trans[0], trans_b=trans[1]), want
    )
    assert torch.autograd.gradcheck(call, (a, b, c), fast_mode=True)
    assert torch.autograd.gradgradcheck(call, (a, b, c), fast_mode=True)


def test_gradients_of_lists(tt: Any) -> None:
    given = [
        drawn(*x, dtype=COMPLEX, grad=True) for x in ((2, 3), (2, 3, 1), (3, 2), (1, 2), (2, 2), (2, 3, 2))
    ]

    def call(a: Any, x: Any, b: Any, y: Any, c: Any, z: Any) -> Any:
        return tuple(tt.gemm_grouped([a, x], [b, y], [c, z], alpha=2j, beta=1 + 1j))

    a, x, b, y, c, z = given
    torch.testing.assert_close(call(*given), (2j * a @ b + (1 + 1j) * c, 2j * x @ y + (1 + 1j) * z))
    assert torch.autograd.gradcheck(call, tuple(given), fast_mode=True)
    assert tt.gemm_grouped([], []) == []


def operations(tt: Any) -> list[Any]:
    ops = torch.ops.tilewright
    a, b, c = (drawn(2, 3, 3, dtype=COMPLEX) for _ in range(3))
    wants = [x.clone().requires_grad_() for x in (a, b, c)]
    return [
        (ops.matmul, wants[:2]),
        (ops.matmul_out, (a, b, c)),
        (ops.gemm, (*wants, 2j, 1.0)),
        (ops.gemm_out, (a, b, c, 2.0, 0.5)),
        (ops.gemm_grouped, ([wants[0]], [wants[1]], [wants[2]], 2.0, 0.5)),
    ]


@pytest.mark.parametrize("number", range(5))
def test_operators_are_what_pytorch_asks_of_operators(tt: Any, number: int) -> None:
    called, given = operations(tt)[number]
    torch.library.opcheck(called.default, tuple(given))


def test_results_into_tensors(tt: Any) -> None:
    a, b, out = drawn(5, 3, 3), drawn(5, 3, 3), drawn(5, 3, 3)
    assert tt.matmul(a, b, out) is out
    torch.testing.assert_close(out, a @ b)
    assert tt.gemm(a, b, out, beta=1, out=out) is out
    torch.testing.assert_close(out, 2 * (a @ b))
    wants = drawn(5, 3, 3, grad=True)
    saved = wants * out
    for call in (tt.matmul, torch.ops.tilewright.matmul_out):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            call(wants, b, out)
    with pytest.raises(DTypeError, match="requires a gradient"):
        tw.matmul(wants, b, out)
    torch.ops.tilewright.matmul_out(a, b, out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()


def test_what_pytorch_refuses_is_refused_alike(tt: Any) -> None:
    a = drawn(3, 4)
    for one, other in ((a, a), (a, drawn(4, 2).float()), (a, torch.tensor(1.0, dtype=DOUBLE))):
        for call in (torch.matmul, tt.matmul, torch.ops.tilewright.matmul):
            with pytest.raises((RuntimeError, ValueError)):
                call(one, other)
    with pytest.raises(RuntimeError, match="trans_a='x'"):
        tt.gemm(a, a.mT, trans_a="x")
    with pytest.raises(RuntimeError, match="without c"):
        tt.gemm(a, a.mT, beta=1)
    with pytest.raises(RuntimeError, match="as many each"):
        tt.gemm_grouped([a], [])


def test_maps_and_transforms(tt: Any) -> None:
    x, y, v, w = drawn(7, 2, 4, 3), drawn(3, 5), drawn(7, 3), drawn(3)
    for given, dims in (
        ((x, y), (0, None)),
        ((x, v), (0, 0)),
        ((v, y), (0, None)),
        ((v, v), (0, 0)),
        ((w, v), (None, 0)),
        ((w, x.mT.movedim(0, 3)), (None, 3)),
        ((v, x.mT), (0, 0)),
    ):
        for call in (tt.matmul, torch.ops.tilewright.matmul):
            want = torch.vmap(torch.matmul, dims)(*given)
            torch.testing.assert_close(torch.vmap(call, dims)(*given), want)

    def added(a: Any, b: Any, c: Any) -> Any:
        return tt.gemm(a, b, c, alpha=2.0, beta=0.5)

    added_to: Any = (((x, y, drawn(4, 5)), (0, None, None)), ((x[0], y, drawn(7, 4, 5)), (None, None, 0)))
    for given, dims in added_to:
        want = torch.vmap(lambda a, b, c: 2 * (a @ b) + 0.5 * c, dims)(*given)
        torch.testing.assert_close(torch.vmap(added, dims)(*given), want)
    one, two = torch.vmap(lambda a, b: tuple(tt.gemm_grouped([a, b], [y, y])), (0, None))(x[:, 0], x[0, 0])
    torch.testing.assert_close((one, two[3]), (x[:, 0] @ y, x[0, 0] @ y))

    def loss(multiply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        return lambda y, x: (multiply(x, y) ** 2).sum()

    for transform in (
        lambda f: torch.vmap(torch.func.grad(f), (None, 0))(y, x),
        lambda f: torch.func.jacrev(torch.func.grad(f))(y, x[0]),
        lambda f: torch.func.jvp(lambda y: f(y, x), (y,), (y,)),
    ):
        torch.testing.assert_close(transform(loss(tt.matmul)), transform(loss(torch.matmul)))
        torch.testing.assert_close(transform(loss(tw.matmul)), transform(loss(torch.matmul)))


def test_autocast(tt: Any) -> None:
    a, b = drawn(2, 3, 3).float().requires_grad_(), drawn(2, 3, 3)
    with torch.autocast("cpu", torch.bfloat16):
        made = tt.matmul(a, b.float())
        assert made.dtype is torch.bfloat16
        assert tt.matmul(b, b).dtype is DOUBLE
        made.float().sum().backward()
    torch.testing.assert_close(a.grad, b.float().sum(-1)[:, None].expand(2, 3, 3), atol=5e-2, rtol=2e-2)


def test_compiled_and_exported_with_any_batch(tt: Any) -> None:
    def call(a: Any, b: Any) -> Any:
        return tt.matmul(a, b) + tt.gemm(a, b, alpha=2)

    compiled = torch.compile(call, fullgraph=True, dynamic=True, backend="aot_eager")
    for batch in (3, 5):
        a, b = drawn(batch, 4, 3, grad=True), drawn(batch, 3, 2, grad=True)
        torch.testing.assert_close(compiled(a, b), 3 * a @ b)
        compiled(a, b).sum().backward()
        torch.testing.assert_close(a.grad, 3 * b.detach().sum(-1)[:, None].expand(batch, 4, 3))

    class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, a: Any, b: Any) -> Any:
            return tt.matmul(a, b)

    sizes = ({0: torch.export.Dim.AUTO}, {0: torch.export.Dim.AUTO})
    exported = torch.export.export(Model(), (a.detach(), b.detach()), dynamic_shapes=sizes)
    assert any(node.target is torch.ops.tilewright.matmul.default for node in exported.graph.nodes)
    a, b = drawn(9, 4, 3), drawn(9, 3, 2)
    torch.testing.assert_close(exported.module()(a, b), a @ b)


# ---- a whole program


def program(a: Any, b: Any, c: Any) -> list[Any]:
    """Batched products in all their spellings."""
    out = torch.empty_like(c)
    torch.bmm(a, b, out=out)
    into = out.clone()
    into.baddbmm_(a, b, beta=0.5)
    aside = torch.empty_like(c)
    torch.baddbmm(c, a, b, beta=0, out=aside)
    return [
        a @ b,
        torch.einsum("bij,bjk->bik", a, b),
        torch.einsum("bij,bkj->bki", a, b),
        *(out, into, aside),
        torch.baddbmm(c, a, b, beta=2, alpha=0.5),
        torch.baddbmm(c[0], a, b),
        torch.vmap(torch.mm)(a, b),
        a.mT @ b.mH,
        a @ b[0],
        a[:2] @ b[:2],
    ]


@pytest.fixture
def wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a kernel of ours takes is worth it: what is timed here depends on who else is busy."""
    from tilewright.torch import worth

    for name in ("HOST", "COMPILED"):
        monkeypatch.setattr(worth, name, {"cpu": (1e-3, 0.0), "cuda": (1e-3, 0.0)})


@pytest.mark.parametrize("dtype", [torch.float32, COMPLEX])
def test_a_program_is_served(tt: Any, wins: None, dtype: Any) -> None:
    a, b, c = (drawn(400, 5, 5, dtype=dtype) for _ in range(3))
    x, y, seed = a.clone().requires_grad_(), b.clone().requires_grad_(), c
    want, gradients = program(a, b, c), torch.autograd.grad(x @ y, (x, y), seed)
    with tt.enable():
        for _ in range(2):
            torch.testing.assert_close(program(a, b, c), want)
            for mine, theirs in zip(torch.autograd.grad(x @ y, (x, y), seed), gradients, strict=True):
                torch.testing.assert_close(mine, theirs)
        # What is written to is still to be read: PyTorch itself promises nothing then.
        over = a.clone()
        torch.testing.assert_close(over.baddbmm_(over, b), a + a @ b)
        said = tt.report()
    assert said.served >= 16, str(said)
    # Rows of one spelling differ in alpha and beta, which some processors have records of.
    spelling = f"{'s' if dtype is torch.float32 else 'z'}:nn:5x5x5@400"
    assert sum(row.calls for row in said.rows if row.kernel and row.problem == spelling) >= 10
    assert said.saved > 0
    assert all(row.why or row.kernel for row in said.rows)
    assert str(said).startswith(f"{said.served} calls served, {said.passed} by PyTorch")
    torch.testing.assert_close(program(a, b, c), want)
    assert tt.report().served == said.served


def test_what_is_not_worth_it_is_left_to_pytorch(tt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.torch import worth

    for name in ("HOST", "COMPILED"):
        monkeypatch.setattr(worth, name, {"cpu": (0.0, 1.0)})
    a = drawn(400, 5, 5)
    whole = torch.ones(400, 5, 5, dtype=torch.int64)
    mixed = (a.expand(400, 5, 5), a.to(torch.bfloat16), drawn(20, 100, 100), whole, drawn(400, 5, 5).conj())
    with tt.enable():
        for x in mixed:
            torch.testing.assert_close(x @ x, torch.stack([one @ one for one in x]))
        with pytest.raises(RuntimeError):
            a @ whole
    said = tt.report()
    assert said.served == 0
    assert said.passed >= 5
    reasons = {row.why for row in said.rows}
    assert "too little to gain" in reasons
    assert any("int64" in reason for reason in reasons)


def test_what_holds_nothing_is_left_to_pytorch(tt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.torch import serving

    monkeypatch.setattr(serving, "SMALL", {"CPU": 0, "CUDA": 0})
    pairs = [
        (drawn(0, 3, 4), drawn(0, 4, 2)),
        (drawn(5, 3, 0), drawn(5, 0, 2)),
        (drawn(5, 0, 4), drawn(5, 4, 2)),
    ]
    pairs.append((drawn(3, 0), drawn(0, 2)))
    want = [a @ b for a, b in pairs]
    with tt.enable():
        torch.testing.assert_close([a @ b for a, b in pairs], want)
        torch.testing.assert_close(torch.baddbmm(want[1], *pairs[1]), want[1])
    assert tt.report().served == 0
    assert tt.report().passed == 5


def test_an_old_pytorch_is_refused_by_name(tt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.library, "get_kernel")
    with pytest.raises(UnsupportedError, match=r"2\.9 or later"):
        tt.enable()
    monkeypatch.undo()
    before = str(torch.library.get_kernel("aten::bmm", "CPU"))
    with tt.enable():
        assert str(torch.library.get_kernel("aten::bmm", "CPU")) != before


def test_enabling_is_nested_ends_with_its_block_and_puts_everything_back(tt: Any) -> None:
    def kernel() -> str:
        return str(torch.library.get_kernel("aten::bmm", "CPU"))

    before = kernel()

    def failing() -> None:
        with tt.enable():
            assert kernel() != before
            with tt.enable():
                pass
            assert kernel() != before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert kernel() == before
    tt.enable()
    tt.enable()
    tt.disable()
    assert kernel() == before
    tt.disable()
    assert kernel() == before


def test_threads_share_what_is_served(tt: Any, wins: None) -> None:
    a, b = drawn(400, 5, 5), drawn(400, 5, 5)
    want, wrong = a @ b, []

    def work() -> None:
        for _ in range(20):
            if not torch.allclose(a @ b, want):
                wrong.append(1)

    with tt.enable():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
    assert tt.report().served >= 70


def test_new_records_are_seen(tt: Any, wins: None) -> None:
    a = drawn(400, 5, 5)
    with tt.enable():
        a @ a
        tw.forget()
        a @ a
        (row,) = (row for row in tt.report().rows if row.kernel)
    assert row.calls == 2
