"""Groups whose borders lie on a live GPU: types, forms and borders, CUDA graphs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.arrays.segments import shapes_of
from tilewright.calls import segments
from tilewright.calls.segments import clamped
from tilewright.model import DTYPES
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

LIMITS = {"h": 2e-3, "b": 1.2e-2, "hc": 2e-3, "s": 3e-6, "c": 3e-6, "d": 1e-14, "z": 1e-14}
"""Of errors over the product of the operands' absolute values."""


@pytest.fixture(scope="module")
def torch() -> Any:
    """PyTorch with a GPU."""
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("torch sees no GPU")
    return found


def values(torch: Any, letter: str, *shape: int, seed: int = 0) -> Any:
    wide = torch.complex64 if letter == "hc" else getattr(torch, DTYPES[letter].name)
    wide = torch.float32 if letter in "hb" else wide
    made = torch.Generator(device="cuda")
    made.manual_seed(seed)
    found = torch.randn(*shape, dtype=wide, device="cuda", generator=made)
    return found.to(getattr(torch, DTYPES[letter].name))


def stored(torch: Any, x: Any, how: str) -> Any:
    """The same numbers by columns, with gaps, or lazily conjugated twice."""
    if how == "columns":
        return x.mT.contiguous().mT
    if how == "gaps":
        wide = torch.zeros(*x.shape[:-1], x.shape[-1] + 3, dtype=x.dtype, device="cuda")
        wide[..., : x.shape[-1]] = x
        return wide[..., : x.shape[-1]]
    return x.conj().resolve_conj().conj() if how == "conj" and x.is_complex() else x


def wide(torch: Any, x: Any) -> Any:
    if x.dtype == torch.complex32:
        x = x.to(torch.complex64)
    return x.to(torch.complex128 if x.is_complex() else torch.float64)


def wanted(torch: Any, a: Any, b: Any, ranges: list[tuple[int, int]], split: str) -> Any:
    if split == "k":
        return torch.stack([a[..., x:y] @ b[..., x:y, :] for x, y in ranges])
    one, other = (a, b[0]) if split == "m" else (a[0], b)
    batch = torch.broadcast_shapes(one.shape[:-2], other.shape[:-2])
    out = torch.zeros(*batch, one.shape[-2], other.shape[-1], dtype=a.dtype, device="cuda")
    for group, (x, y) in enumerate(ranges):
        if split == "m":
            out[..., x:y, :] = a[..., x:y, :] @ b[group]
        else:
            out[..., x:y] = a[group] @ b[..., x:y]
    return out


@pytest.mark.parametrize("number", range(42))
def test_groups_are_right_in_all_types_and_forms(torch: Any, number: int) -> None:
    draw = random.Random(number)
    letter, split = list(DTYPES)[number % 7], "mnk"[number // 7 % 3]
    length, x, y = (draw.choice((1, 7, 64, 130, 300)) for _ in range(3))
    groups = draw.choice((1, 3, 8, 300))
    one, other = draw.choice((((), ()), ((3,), ()), ((), (2,)), ((2, 3), (3,)), ((2, 1), (1, 3))))
    if letter == "hc":
        one, other = (), ()
    if split == "m":
        a, b = values(torch, letter, *one, length, x), values(torch, letter, groups, *other, x, y, seed=1)
    elif split == "n":
        a, b = values(torch, letter, groups, *one, x, y), values(torch, letter, *other, y, length, seed=1)
    else:
        a, b = values(torch, letter, *one, x, length), values(torch, letter, *other, length, y, seed=1)
    ways = ("rows", "columns", "gaps") if letter == "hc" else ("rows", "columns", "gaps", "conj")
    a, b = stored(torch, a, draw.choice(ways)), stored(torch, b, draw.choice(ways))
    given = [draw.randint(-5, length + 9) for _ in range(groups)]
    given = given if draw.random() < 0.5 else sorted(given)
    sizes = draw.random() < 0.2
    if not sizes and split != "k" and draw.random() < 0.3:
        given.insert(0, draw.randint(0, length))
    ends = torch.tensor(given, dtype=draw.choice((torch.int32, torch.int64)), device="cuda")
    ranges = clamped(np.array(given), length, groups, sizes)
    want = wanted(torch, wide(torch, a), wide(torch, b), ranges, split)
    size = wanted(torch, wide(torch, a).abs(), wide(torch, b).abs(), ranges, split)
    borders = {"sizes" if sizes else "offsets": ends}
    for _ in range(2):  # the second call is in the call cache
        got = tw.segment_matmul(a, b, **borders, split=split)
        assert got.dtype == a.dtype
        worst = ((wide(torch, got) - want).abs() / (size + 1e-4 * (letter in ("h", "hc")) + 1e-30)).max()
        assert float(worst) <= LIMITS[letter]
    room = torch.full((*want.shape[:-1], want.shape[-1] + 2), 5, device="cuda").to(a.dtype)
    out = room[..., :-2]
    assert tw.segment_matmul(a, b, **borders, split=split, out=out) is out
    # Another layout may have its sums in another order.
    worst = ((wide(torch, out) - want).abs() / (size + 1e-4 * (letter in ("h", "hc")) + 1e-30)).max()
    assert float(worst) <= LIMITS[letter]
    assert bool((wide(torch, room[..., -2:]) == 5).all())


FORMS = ("forward", "features", "weights")
"""A product of groups, and its gradients with respect to its first operand and its second one."""


def of_form(torch: Any, form: str, length: int, k: int, n: int, groups: int) -> tuple[Any, ...]:
    """Operands of complex halves, the same wide, and the axis that is split."""
    x, y = values(torch, "hc", length, k), values(torch, "hc", length, n, seed=2)
    w = values(torch, "hc", groups, k, n, seed=1)
    # Lazy conjugates of complex halves are no operands of PyTorch's own conversions.
    far = [wide(torch, z) for z in (x, y, w)]
    if form == "forward":
        return x, w, far[0], far[2], "m"
    if form == "features":
        return y, w.mT.conj(), far[1], far[2].mT.conj(), "m"
    return x.mT.conj(), y, far[0].mT.conj(), far[1], "k"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "config",
    [
        {},
        {"tile_m": 128, "tile_n": 128, "stages": 3, "blocks": 132},
        {"tile_m": 64, "tile_n": 32, "stages": 2, "blocks": 264},
    ],
    ids=("default", "large", "small"),
)
def test_groups_of_complex_halves_go_by_tensor_maps(torch: Any, form: str, config: dict[str, int]) -> None:
    if "wgmma" not in devices.probe().supports:
        pytest.skip("the GPU has no products of warp groups")
    length = 700
    a, b, left, right, split = of_form(torch, form, length, 136, 200, 6)
    for given in ([100, 101, 101, 350, 600, 700], [300, 20, 31, 900, 5, 650], [0, 0, 0, 0, 0, 1]):
        ends = torch.tensor(given, dtype=torch.int64, device="cuda")
        ranges = clamped(np.array(given), length, 6, False)
        want = wanted(torch, left, right, ranges, split)
        size = wanted(torch, left.abs(), right.abs(), ranges, split)
        # Parameters of no other stencil.
        got = tw.segment_matmul(a, b, ends, split=split, config=config or {"tile_m": 64})
        assert float(((wide(torch, got) - want).abs() / (size + 1e-4)).max()) <= LIMITS["hc"], given


@pytest.mark.parametrize("form", FORMS)
def test_more_groups_of_complex_halves_than_threads_of_a_block(torch: Any, form: str) -> None:
    if "wgmma" not in devices.probe().supports:
        pytest.skip("the GPU has no products of warp groups")
    length, groups = 900, 700
    a, b, left, right, split = of_form(torch, form, length, 40, 72, groups)
    given = np.sort(np.random.default_rng(0).integers(0, length + 1, groups))
    ranges = clamped(given, length, groups, False)
    want, size = (wanted(torch, *pair, ranges, split) for pair in ((left, right), (left.abs(), right.abs())))
    ends = torch.tensor(given, dtype=torch.int32, device="cuda")
    got = tw.segment_matmul(a, b, ends, split=split, config={"tile_m": 64})
    assert float(((wide(torch, got) - want).abs() / (size + 1e-4)).max()) <= LIMITS["hc"]


@pytest.mark.parametrize(
    "config", [{"once": 0}, {"once": 1, "ahead": 1, "warps": 1, "blocks": 132, "per_block": 2}]
)
@pytest.mark.parametrize("groups", [7, 40])
@pytest.mark.parametrize("letter", ["s", "d"])
def test_weights_by_element(torch: Any, letter: str, groups: int, config: dict[str, int]) -> None:
    """Borders in the lanes of a warp, and in a table of the block."""
    length, draw = 1500, np.random.default_rng(groups)
    a, b = values(torch, letter, 5, length, 8), values(torch, letter, groups, 5, 8, 260, seed=1)
    ordered = np.sort(draw.integers(0, length + 1, groups))
    for given in (
        ordered,
        draw.integers(-9, length + 9, groups),
        np.full(groups, 2**31 - 1),
        np.zeros(groups),
    ):
        ends = torch.tensor(given, dtype=torch.int32, device="cuda")
        ranges = clamped(np.array(given), length, groups, False)
        want, size = (
            wanted(torch, *pair, ranges, "m")
            for pair in ((wide(torch, a), wide(torch, b)), (wide(torch, a).abs(), wide(torch, b).abs()))
        )
        out = torch.full_like(want, float("nan")).to(a.dtype)
        # A parameter of no other stencil.
        tw.segment_matmul(a, b, ends, config=config, out=out)
        assert float(((wide(torch, out) - want).abs() / (size + 1e-30)).max()) <= LIMITS[letter]


@pytest.mark.parametrize("letter", ["s", "hc"])
def test_a_graph_goes_by_the_borders_that_are_there_when_it_is_replayed(torch: Any, letter: str) -> None:
    a, b = values(torch, letter, 100, 24), values(torch, letter, 4, 24, 40, seed=1)
    ends = torch.tensor([10, 20, 60, 90], dtype=torch.int32, device="cuda")
    out = tw.segment_matmul(a, b, ends)
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        tw.segment_matmul(a, b, ends, out=out)
    torch.cuda.current_stream().wait_stream(stream)
    with torch.cuda.graph(graph):
        tw.segment_matmul(a, b, ends, out=out)
    for given in ([10, 20, 60, 90], [0, 0, 100, 100], [50, 20, 300, 7], [-5, 1, 2, 3]):
        ends.copy_(torch.tensor(given))
        (torch.view_as_real(out) if out.is_complex() else out).fill_(float("nan"))
        graph.replay()
        want = wanted(torch, wide(torch, a), wide(torch, b), clamped(np.array(given), 100, 4, False), "m")
        close = 1e-4 if letter == "s" else 1e-2
        torch.testing.assert_close(wide(torch, out), want, rtol=close, atol=close)


@pytest.mark.parametrize("pairs", [False, True])
def test_a_call_in_complex_half_comes_again(torch: Any, pairs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = values(torch, "hc", 100, 24), values(torch, "hc", 4, 24, 40, seed=1)
    ends = torch.tensor([10, 20, 60, 90], dtype=torch.int32, device="cuda")
    want = tw.segment_matmul(a, b, ends)
    kind = {"dtype": "hc"} if pairs else {}
    left, right = (torch.view_as_real(x) if pairs else x for x in (a, b))
    looked: list[int] = []
    monkeypatch.setattr(segments, "shapes_of", lambda *given: looked.append(1) or shapes_of(*given))
    for _ in range(3):
        got = tw.segment_matmul(left, right, ends, **kind)
        assert got.dtype == (torch.float16 if pairs else torch.complex32)
        assert torch.equal(got if pairs else torch.view_as_real(got), torch.view_as_real(want))
    assert len(looked) == pairs, "the call in complex32 had been made"


def test_an_out_over_an_operand_is_right_twice(torch: Any) -> None:
    a, b = values(torch, "d", 64, 32), values(torch, "d", 3, 32, 32, seed=1)
    ends = torch.tensor([5, 40, 64], device="cuda")
    for _ in range(3):
        mine = a.clone()
        want = tw.segment_matmul(a, b, ends)
        assert torch.equal(tw.segment_matmul(mine, b, ends, out=mine), want)
