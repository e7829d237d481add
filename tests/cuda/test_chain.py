"""Chains of products on a GPU: every form is right in one kernel, and what no kernel takes is composed."""

from __future__ import annotations

from typing import Any

import pytest

import tilewright as tw
from tilewright.calls import chains
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]
torch: Any = pytest.importorskip("torch")

KINDS = {
    "h": (torch.float16, 2e-3),
    "b": (torch.bfloat16, 2e-2),
    "s": (torch.float32, 1e-5),
    "d": (torch.float64, 1e-13),
    "c": (torch.complex64, 1e-5),
    "z": (torch.complex128, 1e-13),
}


@pytest.fixture
def origins(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where the plans of the calls that follow come from."""
    seen: list[str] = []
    planned = chains.planned

    def watched(backend: Any, job: Any) -> Any:
        found = planned(backend, job)
        seen.append(found[0].origin)
        return found

    monkeypatch.setattr(chains, "planned", watched)
    return seen


def drawn(letter: str, *shape: int) -> Any:
    wide = torch.complex128 if letter in "cz" else torch.float64
    return torch.randn(shape, dtype=wide, device="cuda").to(KINDS[letter][0])


def wide(tensor: Any) -> Any:
    return tensor.resolve_conj().to(torch.complex128)


def check(letter: str, got: Any, factors: list[Any], add: Any = None) -> None:
    """A result against the same in double precision, by the sizes of its terms."""
    right, size = wide(factors[0]), wide(factors[0]).abs()
    for factor in factors[1:]:
        right, size = right @ wide(factor), size @ wide(factor).abs()
    if add is not None:
        right, size = right + wide(add), size + wide(add).abs()
    assert got.dtype == KINDS[letter][0]
    assert got.shape == right.shape
    assert bool(((wide(got) - right).abs() <= KINDS[letter][1] * (size + 1e-3)).all())


@pytest.mark.parametrize("letter", KINDS)
@pytest.mark.parametrize("n", [1, 5, 16, 31])
def test_a_covariance_and_its_step(origins: list[str], letter: str, n: int) -> None:
    for batch in (1, 1003):
        f, p, q = drawn(letter, n, n), drawn(letter, batch, n, n), drawn(letter, batch, n, n)
        check(letter, tw.chain(f, p, f.mH, add=q), [f, p, f.mH], q)
        g, before = drawn(letter, batch, n, n), p.clone()
        # In place: each covariance is read before its successor takes its place.
        assert tw.chain(g, p, g.mH, add=q, out=p) is p
        check(letter, p, [g, before, g.mH], q)
    assert set(origins) == {"default"}


@pytest.mark.parametrize("letter", KINDS)
@pytest.mark.parametrize("sizes", [(5, 3, 6, 4), (17, 32, 2, 9), (1, 7, 7, 30)])
def test_every_layout_of_a_chain(origins: list[str], letter: str, sizes: tuple[int, int, int, int]) -> None:
    m, k, l, n = sizes  # noqa: E741
    batch = 77
    a, b, c = drawn(letter, batch, m, k), drawn(letter, batch, k, l), drawn(letter, batch, l, n)
    check(letter, tw.chain(a, b, c), [a, b, c])
    # By columns, conjugated, with gaps and from odd addresses, into a result by columns.
    x = drawn(letter, batch, k + 1, m + 2)[:, 1:, 1:-1].mT
    y, z = drawn(letter, l, k + 1)[:, 1:].mH, drawn(letter, batch, n, l).mT
    q = drawn(letter, batch, n, m).mT
    out = drawn(letter, batch, n, m + 1)[..., :-1].mT
    assert tw.chain(x, y, z, add=q, out=out) is out
    check(letter, out, [x, y, z], q)
    h, s = drawn(letter, batch, m, k), drawn(letter, m, m)
    check(letter, tw.chain(h, h.mH, add=s), [h, h.mH], s)
    assert set(origins) == {"default"}


def test_nothing_is_written_beside_the_result() -> None:
    f, p = drawn("s", 5, 5), drawn("s", 100, 5, 5)
    whole = torch.full((102, 5, 7), 7.0, device="cuda")
    tw.chain(f, p, f.mT, out=whole[1:-1, :, 1:-1])
    check("s", whole[1:-1, :, 1:-1], [f, p, f.mT])
    whole[1:-1, :, 1:-1] = 7.0
    assert bool((whole == 7.0).all())


def test_what_no_kernel_takes_is_composed(origins: list[str]) -> None:
    a = drawn("s", 9, 40, 40)
    check("s", tw.chain(a, a, a.mT, add=a), [a, a, a.mT], a)
    assert origins == ["vendor"]
    # Batch axes that no one stride covers, and no unit stride at all.
    nested, other = drawn("s", 4, 1, 5, 6), drawn("s", 9, 6, 6)
    check("s", tw.chain(nested, other, nested.mT), [nested, other, nested.mT])
    apart = drawn("s", 9, 6, 12)[..., ::2].mT[..., ::2]
    check("s", tw.chain(apart, apart.mT), [apart, apart.mT])


def test_a_chain_is_captured() -> None:
    f, p, out = drawn("d", 6, 6), drawn("d", 1000, 6, 6), drawn("d", 1000, 6, 6)
    tw.chain(f, p, f.mT, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tw.chain(f, p, f.mT, out=out)
    out.zero_()
    graph.replay()
    check("d", out, [f, p, f.mT])


def test_complex_half_is_one_kernel(origins: list[str]) -> None:
    parts = torch.randint(-2, 3, (50, 4, 4, 2), device="cuda")
    a, exact = torch.view_as_complex(parts.half()), torch.view_as_complex(parts.float())
    got = tw.chain(a, a, a.mH)
    right = exact @ exact @ exact.mH
    assert torch.equal(torch.view_as_real(got).float(), torch.view_as_real(right))
    assert origins == ["default"]
