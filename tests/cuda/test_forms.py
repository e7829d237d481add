"""Lists of matrices on a live GPU: every size in every type, lists that lie anywhere, streams and graphs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.model import DTYPES, Config, GroupedProblem
from tilewright.runtime import launch
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.grouped.descriptors import describe
from tilewright.stencils.cuda.grouped.stencil import GroupedStencil, products
from tilewright.targets.cuda import devices, driver, modules, nvrtc

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

GROUPED = GroupedStencil()
EPS = {16: 4e-3, 32: 1e-5, 64: 1e-13}


# -- the kernel ----------------------------------------------------------------------------------------------
class Pool:
    """Matrices of a list in one piece of memory, at odd places, with everything around them known."""

    def __init__(self, p: GroupedProblem, sizes: list[tuple[int, int, int]], seed: int):
        self.p, self.sizes, self.draw = p, sizes, random.Random(seed)
        self.at, size = 0, p.dtype.itemsize
        self.a = [self._place(*((k, m) if p.transposed_a else (m, k))) for m, _, k in sizes]
        self.b = [self._place(*((n, k) if p.transposed_b else (k, n))) for _, n, k in sizes]
        self.c = [self._place(m, n) for m, n, _ in sizes]
        self.bytes = np.zeros(-(-(self.at + 512) // 16) * 16, np.uint8)
        rng = np.random.default_rng(seed)
        real: Any = np.dtype(f"f{p.dtype.real_bits // 8}")
        values: Any = rng.standard_normal(len(self.bytes) // real.itemsize)
        if p.dtype.letter == "b":
            self.bytes.view(np.uint16)[:] = (values.astype(np.float32).view(np.uint32) >> 16).astype(
                np.uint16
            )
        else:
            self.bytes.view(real)[:] = values
        assert size

    def _place(self, rows: int, columns: int) -> tuple[int, int, int, int]:
        size = self.p.dtype.itemsize
        ld = rows + self.draw.choice((0, 0, 0, 1, 2, 3, 4, 8))
        start = self.at + size * self.draw.choice((0, 0, 1, 2, 3))
        self.at = start + (ld * columns + 1) * size
        return start, ld, rows, columns

    def view(self, place: tuple[int, int, int, int]) -> np.ndarray:
        start, ld, rows, columns = place
        dtype = self.p.dtype.numpy
        size = dtype.itemsize
        stored = self.bytes[start : start + len(self.bytes[start:]) // size * size].view(dtype)
        return np.lib.stride_tricks.as_strided(stored, (rows, columns), (size, ld * size))

    def wide(self, place: tuple[int, int, int, int]) -> np.ndarray:
        found = self.view(place)
        if self.p.dtype.letter == "hc":
            return found["re"].astype(np.float64) + 1j * found["im"].astype(np.float64)
        return found.astype(np.complex128 if self.p.dtype.is_complex else np.float64)


def spoil(matrix: np.ndarray) -> None:
    """NaN everywhere."""
    if matrix.dtype.names:
        matrix["re"] = matrix["im"] = np.nan
    else:
        matrix[...] = np.nan


def run(p: GroupedProblem, config: Config, sizes: list[tuple[int, int, int]], seed: int) -> None:
    """One launch over a list; results, what lies between them, and what must not be read."""
    driver.context()
    device = devices.probe()
    pool = Pool(p, sizes, seed)
    rng, count = np.random.default_rng(seed), len(sizes)
    scalars = np.round(rng.standard_normal((count, 4)), 2)
    scalars[rng.random(count) < 0.3, 2:] = 0
    scalars[rng.random(count) < 0.1, :2] = 0
    if not p.dtype.is_complex:
        scalars[:, [1, 3]] = 0
    if p.alpha == "1":
        scalars[:, :2] = 1, 0
    if p.beta in ("0", "1"):
        scalars[:, 2:] = int(p.beta), 0
    alphas, betas = scalars[:, 0] + 1j * scalars[:, 1], scalars[:, 2] + 1j * scalars[:, 3]
    want = []
    for i in range(count):
        a, b = pool.wide(pool.a[i]), pool.wide(pool.b[i])
        a, b = (a.T if p.transposed_a else a), (b.T if p.transposed_b else b)
        a, b = (a.conj() if p.conj_a else a), (b.conj() if p.conj_b else b)
        want.append(alphas[i] * (a @ b) + betas[i] * pool.wide(pool.c[i]))
        if betas[i] == 0:
            spoil(pool.view(pool.c[i]))
    memory = driver.allocate(pool.bytes.nbytes)
    driver.upload(memory.address, pool.bytes)
    before = pool.bytes.copy()
    m, n, k = (np.array(x) for x in zip(*sizes, strict=True))
    where = tuple(memory.address + np.array([x[0] for x in some]) for some in (pool.a, pool.b, pool.c))
    lead = tuple(np.array([x[1] for x in some]) for some in (pool.a, pool.b, pool.c))
    words = describe(p.dtype, p.trans, (m, n, np.where(alphas == 0, 0, k)), where, lead, betas != 0)  # type: ignore[arg-type]
    held = [driver.allocate(words.nbytes), driver.allocate(scalars.nbytes)]
    driver.upload(held[0].address, words)
    driver.upload(held[1].address, scalars)
    own = held[1].address if "any" in (p.alpha, p.beta) else 0
    kernel = modules.load(nvrtc.compile(GROUPED.source(p, config, device), device))
    addresses = held[0].address, own
    launch.bind(GROUPED, kernel, p, config, (alphas[0], betas[0]), addresses)(0)
    driver.synchronize()
    driver.download(pool.bytes, memory.address)
    untouched = np.ones(len(before), bool)
    size = p.dtype.itemsize
    eps = EPS[p.dtype.real_bits] * (4 if p.dtype.letter == "b" else 1)
    for i in range(count):
        got = pool.wide(pool.c[i])
        limit = eps * (1 + sizes[i][2] ** 0.5 + abs(want[i]).max())
        assert abs(got - want[i]).max() <= limit, f"{p.key} {config} product {i}: {sizes[i]}"
        start, ld, rows, columns = pool.c[i]
        for j in range(columns):
            untouched[start + j * ld * size : start + (j * ld + rows) * size] = False
    assert (pool.bytes == before)[untouched].all(), f"{p.key} {config}: written outside C"


@pytest.mark.parametrize("trans", ["nn", "nt", "tn", "cj"])
@pytest.mark.parametrize("letter", list(DTYPES))
def test_every_size_is_right(letter: str, trans: str) -> None:
    dtype, device, draw = DTYPES[letter], devices.probe(), random.Random(1)
    trans = trans if dtype.is_complex else trans.replace("c", "t").replace("j", "n")
    sizes = [(x, x, x) for x in range(1, 41)]
    sizes += [tuple(draw.randrange(1, 41) for _ in range(3)) for _ in range(400)]  # type: ignore[misc]
    sizes += [(draw.randrange(1, 41), draw.randrange(1, 41), 0) for _ in range(5)]
    for alpha, beta in (("1", "0"), ("1", "1"), ("any", "any")):
        p = products(dtype, 40, 40, 40, trans, len(sizes), alpha=alpha, beta=beta)
        run(p, GROUPED.default(p, device), sizes, 7)


@pytest.mark.parametrize("letter", list(DTYPES))
def test_the_largest_and_the_smallest(letter: str) -> None:
    dtype, device = DTYPES[letter], devices.probe()
    for top, sizes in (
        (64, [(64, 64, 64), (63, 1, 64), (1, 64, 5), (33, 34, 35)] * 9),
        (1, [(1, 1, 1)] * 5000),
    ):
        p = products(dtype, top, top, top, "nn", len(sizes))
        run(p, GROUPED.default(p, device), sizes, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(40))
def test_random_configs_are_right(seed: int) -> None:
    draw, device = random.Random(seed), devices.probe()
    dtype = DTYPES[draw.choice(list(DTYPES))]
    trans = "".join(draw.choice("ntcj" if dtype.is_complex else "nt") for _ in "ab")
    top, count = draw.choice((3, 17, 32, 50)), draw.choice((1, 40, 900))
    sizes = [tuple(draw.randrange(1, top + 1) for _ in range(3)) for _ in range(count)]
    p = products(dtype, top, top, top, trans, count, alpha="any", beta=draw.choice(("0", "1", "any")))
    space = GROUPED.space(p, device).only(HARDWARE)
    for _ in range(500):
        config = Config({param.name: draw.choice(param.values) for param in space.params})
        if not space.why(config):
            run(p, config, sizes, seed)  # type: ignore[arg-type]
            return


# -- the calls -----------------------------------------------------------------------------------------------
@pytest.fixture
def torch() -> Any:
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    return module


TYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


def some(torch: Any, shapes: Any, name: str = "float64") -> list[Any]:
    return [torch.randn(shape, dtype=getattr(torch, name), device="cuda") for shape in shapes]


def close(torch: Any, got: Any, want: Any) -> None:
    wide = torch.complex128 if got.is_complex() else torch.float64
    eps = {2: 5e-2, 4: 1e-4, 8: 1e-4 if got.is_complex() else 1e-11, 16: 1e-11}[got.element_size()]
    torch.testing.assert_close(got.to(wide), want.to(wide), rtol=eps, atol=eps)


def product(torch: Any, x: Any, y: Any) -> Any:
    wide = torch.complex128 if x.is_complex() else torch.float64
    return torch.matmul(x.to(wide), y.to(wide))


@pytest.mark.parametrize("name", TYPES)
def test_scattered_matrices(torch: Any, name: str) -> None:
    for n in (3, 8, 17, 40, 70):
        count = 57
        a, b = some(torch, [(n, n + 1)] * count, name), some(torch, [(n + 1, n)] * count, name)
        random.Random(n).shuffle(a)
        for got, x, y in zip(tw.gemm_batched(a, b), a, b, strict=True):
            close(torch, got, product(torch, x, y))
        c = some(torch, [(n, n)] * count, name)
        want = [2 * product(torch, x, y) + z for x, y, z in zip(a, b, c, strict=True)]
        tw.gemm_batched(a, b, c, alpha=2, beta=1, out=c)
        for got, right in zip(c, want, strict=True):
            close(torch, got, right)


def test_pointers_on_the_gpu_need_no_copy_and_go_into_a_graph(torch: Any) -> None:
    count, n = 300, 9
    a, b, c = (some(torch, [(n, n)] * count) for _ in range(3))
    order = random.Random(1).sample(range(count), count)
    row = torch.tensor([a[i].data_ptr() for i in order], device="cuda")
    left = tw.Pointers(row, (n, n), "d")
    assert left.there() == row.data_ptr()
    right = tw.Pointers([x.data_ptr() for x in b], (n, n), torch.float64)
    out = tw.Pointers([x.data_ptr() for x in c], (n, n), np.float64)
    tw.gemm_batched(left, right, out=out)
    for got, i, y in zip(c, order, b, strict=True):
        close(torch, got, a[i] @ y)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        tw.gemm_batched(left, right, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tw.gemm_batched(left, right, out=out)
    for x in a:
        x.mul_(2)
    graph.replay()
    torch.cuda.synchronize()
    for got, i, y in zip(c, order, b, strict=True):
        close(torch, got, a[i] @ y)


def test_addresses_are_sent_in_the_order_of_the_stream(torch: Any) -> None:
    """Many calls on several streams, none of which waits: no list may be overwritten by a later one."""
    n, count = 6, 200
    lists = [(some(torch, [(n, n)] * count), some(torch, [(n, n)] * count)) for _ in range(6)]
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    made = []
    for turn in range(30):
        a, b = lists[turn % 6]
        with torch.cuda.stream(streams[turn % 3]):
            torch.cuda._sleep(200_000)
            made.append((tw.gemm_batched(a[::-1], b), a[::-1], b))
    torch.cuda.synchronize()
    for results, a, b in made:
        for got, x, y in zip(results, a, b, strict=True):
            close(torch, got, x @ y)


@pytest.mark.parametrize("name", TYPES)
def test_many_sizes(torch: Any, name: str) -> None:
    draw = random.Random(3)
    sizes = [tuple(draw.randrange(1, 41) for _ in range(3)) for _ in range(300)] + [(70, 3, 9), (5, 6, 100)]
    a, b = some(torch, [(m, k) for m, _, k in sizes], name), some(torch, [(k, n) for _, n, k in sizes], name)
    c = some(torch, [(m, n) for m, n, _ in sizes], name)
    alphas, betas = ([draw.choice(values) for _ in sizes] for values in ((1, 2, 0), (0, 1, 0.5)))
    want = [s * product(torch, x, y) + t * z for s, t, x, y, z in zip(alphas, betas, a, b, c, strict=True)]
    for got, x, y in zip(tw.gemm_grouped(a, b), a, b, strict=True):
        close(torch, got, product(torch, x, y))
    for t, x in zip(betas, c, strict=True):
        if t == 0:
            x.fill_(float("nan"))
    tw.gemm_grouped(a, b, c, alpha=alphas, beta=betas, out=c)
    for got, right in zip(c, want, strict=True):
        close(torch, got, right)


def test_complex_half(torch: Any) -> None:
    sizes = [(i, 33 - i, 1 + i // 2) for i in range(1, 33)]
    a, b = (
        some(torch, [(m, k) for m, _, k in sizes], "complex64"),
        some(torch, [(k, n) for _, n, k in sizes], "complex64"),
    )
    half = [[x.to(torch.complex32) for x in some_of] for some_of in (a, b)]
    for got, x, y in zip(tw.gemm_grouped(*half), a, b, strict=True):
        assert got.dtype == torch.complex32
        torch.testing.assert_close(got.to(torch.complex64), x @ y, rtol=5e-2, atol=5e-2)


def test_a_plan_runs_again_and_goes_into_a_graph(torch: Any) -> None:
    draw = random.Random(9)
    sizes = [tuple(draw.randrange(1, 33) for _ in range(3)) for _ in range(500)]
    a, b = some(torch, [(m, k) for m, _, k in sizes]), some(torch, [(k, n) for _, n, k in sizes])
    plan = tw.plan_grouped(a, b)
    assert plan.launches == 1
    made = plan.run()
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        plan.run()
    for x in a:
        x.mul_(3)
    for x in made:
        x.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    for got, x, y in zip(made, a, b, strict=True):
        close(torch, got, x @ y)


def test_lists_in_a_row_see_what_those_before_them_wrote(torch: Any) -> None:
    # Launches of plans may overlap; each of the two lists reads what the other has written.
    draw = random.Random(4)
    sizes = [draw.randrange(1, 33) for _ in range(1000)]
    # Orthogonal factors leave lengths as they are, so nothing grows.
    factors = [torch.linalg.qr(x)[0].contiguous() for x in some(torch, [(n, n) for n in range(1, 33)])]
    a, b = some(torch, [(n, n) for n in sizes]), [factors[n - 1] for n in sizes]
    between, begin = [torch.empty_like(x) for x in a], [x.clone() for x in a]
    forth, back = tw.plan_grouped(a, b, out=between), tw.plan_grouped(between, b, out=a)
    for _ in range(10):
        forth.run()
        back.run()
    torch.cuda.synchronize()
    powers = [torch.linalg.matrix_power(factor, 20) for factor in factors]
    for got, x, n in zip(a, begin, sizes, strict=True):
        close(torch, got, x @ powers[n - 1])


def test_groups_from_integers_on_the_gpu(torch: Any) -> None:
    draw = random.Random(5)
    sizes = [tuple(draw.randrange(1, 33) for _ in range(3)) for _ in range(100)]
    a, b = some(torch, [(m, k) for m, _, k in sizes]), some(torch, [(k, n) for _, n, k in sizes])
    c = some(torch, [(m, n) for m, n, _ in sizes])
    there = [torch.tensor([s[i] for s in sizes], device="cuda") for i in range(3)]
    where = [torch.tensor([x.data_ptr() for x in part], device="cuda") for part in (a, b, c)]
    groups = tw.Groups(*there, *where, dtype="d")
    want = [2 * x @ y + z for x, y, z in zip(a, b, c, strict=True)]
    assert tw.gemm_grouped(groups, alpha=2, beta=1) is None
    for got, right in zip(c, want, strict=True):
        close(torch, got, right)


def test_overlaps_are_refused(torch: Any) -> None:
    whole = torch.zeros(20, 20, dtype=torch.float64, device="cuda")
    ones = some(torch, [(4, 4)] * 2)
    for call in (tw.gemm_batched, tw.gemm_grouped):
        with pytest.raises(tw.ArgumentError, match=r"out\[0\] and out\[1\] share memory"):
            call(ones, ones, out=[whole[:4, :4], whole[3:7, 3:7]])
        with pytest.raises(tw.ArgumentError, match=r"out\[1\] shares memory with b\[0\]"):
            call(ones, [whole[4:8, 4:8], ones[0]], out=[whole[:4, :4], whole[5:9, 5:9]])
        call(ones, ones, out=[whole[:4, 4:8], whole[:4, 8:12]])
    with pytest.raises(tw.ArgumentError, match="no memory of a GPU"):
        tw.Pointers([np.zeros(4).ctypes.data], (2, 2), "d")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex128"])
def test_many_large_products_run_at_once_and_go_into_a_graph(torch: Any, dtype: str) -> None:
    """One list reads what another has written: forks and joins keep the order of the stream."""
    sizes = [(100 + 37 * i, 90 + 13 * i, 70 + 50 * (i % 5)) for i in range(19)]
    a, b = (
        some(torch, [(m, k) for m, _, k in sizes], dtype),
        some(torch, [(k, n) for _, n, k in sizes], dtype),
    )
    c = some(torch, [(n, 80) for _, n, _ in sizes], dtype)
    first = tw.plan_grouped(a, b)
    second = tw.plan_grouped(first.results, c)
    assert first.launches == len(sizes)
    want = [x @ y @ z for x, y, z in zip(a, b, c, strict=True)]
    loose = 3e-2 if dtype == "bfloat16" else 1e-4
    graph = torch.cuda.CUDAGraph()
    first()
    second()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        first()
        second()
    side = torch.cuda.Stream()
    for go in (graph.replay, lambda: (first(), second())):
        for x in (*first.results, *second.results):
            x.fill_(float("nan"))
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            go()
        torch.cuda.synchronize()
        for got, right in zip(second.results, want, strict=True):
            torch.testing.assert_close(got, right, rtol=loose, atol=loose * float(abs(right).max()))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_large_matrices_that_lie_anywhere_are_one_call_of_the_library(torch: Any, dtype: str) -> None:
    a, b = some(torch, [(9, 70, 130)], dtype)[0], some(torch, [(9, 100, 130)], dtype)[0]
    out = some(torch, [(9, 70, 100)], dtype)[0]
    order = [3, 0, 8, 1, 7, 2, 5, 4, 6]
    letter = next(x.letter for x in DTYPES.values() if x.name == dtype)
    rows = [
        tw.Pointers([int(x[i].data_ptr()) for i in order], tuple(x.shape[1:]), letter) for x in (a, b, out)
    ]
    want = 2 * a @ b.mH + out

    def run() -> None:
        tw.gemm_batched(rows[0], rows[1], alpha=2, beta=1, trans_b="c", out=rows[2])

    before = out.clone()
    run()
    torch.cuda.synchronize()
    loose = 3e-2 if out.dtype in (torch.float16, torch.bfloat16) else 1e-4
    torch.testing.assert_close(out, want, rtol=loose, atol=loose * float(abs(want).max()))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    out.copy_(before)
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(out, want, rtol=loose, atol=loose * float(abs(want).max()))
