"""The ``lanes`` stencil: right for every type, transposition and class, and never outside its operands;
nor is the ``tile`` stencil where it transposes A.

Every operand ends at the end of a page that is followed by one that cannot be touched, or begins at
the start of one that is preceded by such a page, so a read or a write one byte outside stops the test.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import mmap
import random
from collections.abc import Iterator

import numpy as np
import pytest

from tests.cpu.tile.pretence import AVX2, AVX512
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.stencils.cpu.lanes.reads import Copy, Join, Pick, Read, Run, read_of, width_of
from tilewright.stencils.cpu.lanes.stencil import LanesStencil
from tilewright.stencils.cpu.tile.stencil import TileStencil
from tilewright.targets.cpu import llvm, processor

pytestmark = pytest.mark.cpu

STENCIL = LanesStencil()
ALPHA = {"1": 1.0, "any": 1.25 - 0.5j}
BETA = {"0": 0.0, "1": 1.0, "any": -0.75 + 0.25j}


class Fenced:
    """An array against a page that cannot be touched: after it (``end``) or before it."""

    def __init__(self, values: np.ndarray, end: bool):
        self.raw = np.ascontiguousarray(values)
        page, size = mmap.PAGESIZE, self.raw.nbytes
        room = -(-max(size, 1) // page) * page
        self.map = mmap.mmap(-1, room + 2 * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        everything = np.frombuffer(self.map, np.uint8)
        everything[:] = 0xA5
        self.address = start + page + (room - size if end else 0)
        first = self.address - start
        self.view = everything[first : first + size].view(self.raw.dtype).reshape(self.raw.shape)
        self.view[...] = self.raw
        self.slack = [everything[page:first], everything[first + size : page + room]]
        for fence in (start, start + page + room):
            assert _protect(fence, page, 0) == 0

    def intact(self) -> bool:
        """Whether the rest of the pages is as it was."""
        return all(bool((part == 0xA5).all()) for part in self.slack)


def _protect(address: int, size: int, access: int) -> int:
    call = ctypes.CDLL(None, use_errno=True).mprotect
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return int(call(address, size, access))


def _applied(stored: np.ndarray, trans: str) -> np.ndarray:
    """op of matrices stored column after column, as (batch, row, column)."""
    found = stored if trans in "tc" else stored.swapaxes(1, 2)
    return found.conj() if trans in "cj" else found


def _random(rng: np.random.Generator, problem: Problem, count: int, first: int, second: int) -> np.ndarray:
    values = rng.standard_normal((count, second, first))
    if problem.dtype.is_complex:
        values = values + 1j * rng.standard_normal(values.shape)
    return values.astype(problem.dtype.name)


def check(problem: Problem, config: Config, device: Device, end: bool = True) -> None:
    """Build one config, run it between fences, and hold the result against its componentwise bound."""
    p = problem
    source = STENCIL.source(p, config, device)
    # A caller is told how many multiply-adds to expect; code that lost or split some is not ours.
    binary = llvm.compile(source, device)
    assert binary.facts["fma"] == dict(source.expect)["fma"]
    rng = np.random.default_rng(7)
    rows_a, cols_a = (p.k, p.m) if p.transposed_a else (p.m, p.k)
    rows_b, cols_b = (p.n, p.k) if p.transposed_b else (p.k, p.n)
    a = Fenced(_random(rng, p, p.batch if p.stride_a else 1, rows_a, cols_a), end)
    b = Fenced(_random(rng, p, p.batch if p.stride_b else 1, rows_b, cols_b), end)
    before = _random(rng, p, p.batch, p.m, p.n)
    c = Fenced(np.full_like(before, np.nan) if p.beta == "0" else before, end)
    alpha, beta = ALPHA[p.alpha], BETA[p.beta]
    if not p.dtype.is_complex:
        alpha, beta = alpha.real, beta.real
    scalars = np.array([alpha.real, alpha.imag, beta.real, beta.imag], f"f{p.dtype.real_bits // 8}")
    kernel = llvm.load(binary)
    llvm.PROTOTYPE(kernel.address)(a.address, b.address, c.address, *p.strides, p.batch, scalars.ctypes.data)
    exact = np.complex128 if p.dtype.is_complex else np.float64
    left, right = (_applied(x.raw, t).astype(exact) for x, t in ((a, p.trans_a), (b, p.trans_b)))
    left, right = (np.broadcast_to(x, (p.batch, *x.shape[1:])) for x in (left, right))
    want = alpha * np.einsum("bik,bkj->bij", left, right)
    size = abs(alpha) * np.einsum("bik,bkj->bij", abs(left), abs(right))
    if p.beta != "0":
        want = want + beta * before.swapaxes(1, 2).astype(exact)
        size = size + abs(beta) * abs(before.swapaxes(1, 2))
    error = abs(c.view.swapaxes(1, 2) - want)
    # Each of the k products and of the steps of alpha and beta rounds once, a complex one a few times.
    assert (error <= (4 * p.k + 8) * p.dtype.unit_roundoff * size).all(), (p, config)
    assert [x.intact() for x in (a, b, c)] == [True] * 3
    assert np.array_equal(a.view, a.raw)
    assert np.array_equal(b.view, b.raw)


@functools.cache
def _cases(count: int, seed: int, most: int) -> list[tuple[Problem, Config, bool]]:
    """Random problems, each with a random config of its space, valid by every rule that is not a taste."""
    rng, device, out = random.Random(seed), processor.probe(), []
    while len(out) < count:
        m, n, k = (rng.randint(1, most) for _ in range(3))
        p = Problem(
            DTYPES[rng.choice("sdcz")],
            m,
            n,
            k,
            rng.choice("ntcj"),
            rng.choice("ntcj"),
            alpha=rng.choice(("1", "any")),
            beta=rng.choice(("0", "1", "any")),
        )
        shared = rng.choice(({}, {}, {"stride_a": 0}, {"stride_b": 0}))
        p = Problem(**{name: getattr(p, name) for name in p.__dataclass_fields__} | shared)
        if STENCIL.accepts(p, device):
            continue
        space = STENCIL.space(p, device)
        config = rng.choice(list(space))
        batch = rng.randint(0, 3 * config["group"] + 1)
        out.append((p.with_(batch=batch), config, rng.random() < 0.7))
    return out


@pytest.mark.parametrize("seed", range(5))
def test_random_problems_are_right_and_stay_inside(seed: int) -> None:
    for problem, config, end in _cases(20, seed, 5):
        check(problem, config, processor.probe(), end)


def test_defaults_are_valid_and_right() -> None:
    device = processor.probe()
    for letter in "sdcz":
        for n in (1, 2, 3, 4, 5):
            for trans in ("nn", "tn"):
                p = Problem(DTYPES[letter], n, n, n, *trans, batch=37)
                config = STENCIL.default(p, device)
                assert not STENCIL.space(p, device).why(config), (p, config)
                check(p, config, device)


def test_without_mask_registers_remainders_are_cut_up() -> None:
    host = processor.probe()
    if not (host.features.startswith("x86_64") and host["vector_bits"] >= 256):
        pytest.skip("needs a processor that runs AVX2 code")
    limits = {**host.limits, "vector_bits": 256, "vector_registers": 16, "masks": 0}
    old = Device("cpu", "AVX2", "haswell-avx2", limits, features="x86_64/haswell +avx2,+fma")
    for letter, m, n, k in (("d", 3, 3, 3), ("s", 3, 1, 2), ("s", 5, 3, 2), ("c", 3, 1, 4), ("z", 1, 3, 2)):
        p = Problem(DTYPES[letter], m, n, k, "t", "n", batch=19, beta="any")
        for config in random.Random(5).sample(list(STENCIL.space(p, old)), 3):
            assert not any(
                name in llvm.assembly(STENCIL.source(p, config, old), old) for name in ("zmm", "%k1")
            )
            check(p, config, old)


def test_a_large_batch_streams_and_a_small_one_does_not() -> None:
    host = processor.probe()
    # Whatever this machine's generation says.
    device = dataclasses.replace(host, limits={**host.limits, "streams": 1})
    p = Problem(DTYPES["d"], 3, 3, 3)
    assert STENCIL.default(p.with_(batch=100), device)["store"] == "plain"
    assert STENCIL.default(p.with_(batch=device["l3"]), device)["store"] == "stream"
    assert STENCIL.default(p.with_(batch=device["l3"], beta="any"), device)["store"] == "plain"


@pytest.mark.parametrize("shift", [0, 8, 16, 64])
def test_streaming_only_needs_an_aligned_base(shift: int) -> None:
    device = processor.probe()
    p = Problem(DTYPES["d"], 3, 3, 3, batch=41)
    config = STENCIL.default(p, device).with_(store="stream")
    space = np.zeros(4096, np.float64)
    first = (-space.ctypes.data % 64 + shift) // 8
    out = space[first : first + 41 * 9]
    a = np.random.default_rng(1).standard_normal((2, 41, 3, 3))
    kernel = llvm.load(llvm.compile(STENCIL.source(p, config, device), device))
    pointers = a[0].ctypes.data, a[1].ctypes.data, out.ctypes.data
    llvm.PROTOTYPE(kernel.address)(*pointers, *p.strides, p.batch, np.zeros(4).ctypes.data)
    np.testing.assert_allclose(out.reshape(41, 3, 3), a[1] @ a[0], rtol=1e-13, atol=1e-13)
    assert not space[:first].any()
    assert not space[first + 41 * 9 :].any()


def test_streaming_stores_are_whole_vectors_for_every_size() -> None:
    device = processor.probe()
    if not device.features.startswith("x86_64"):
        pytest.skip("the name of the instruction is x86's")
    for n in (1, 2, 3, 5):
        p = Problem(DTYPES["d"], n, n, n)
        config = STENCIL.default(p, device).with_(store="stream")
        text = llvm.assembly(STENCIL.source(p, config, device), device)
        assert "vmovntp" in text
        assert not any(word in text for word in ("movntsd", "movnti", "movntq"))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"m": 9}, "larger"),
        ({"m": 0}, "nothing"),
        ({"k": 0}, "nothing"),
        ({"ldc": 4}, "padded"),
        ({"lda": 5}, "padded"),
        ({"stride_b": 16}, "apart"),
        ({"stride_c": 0}, "apart"),
    ],
)
def test_what_is_refused_is_refused_with_its_reason(change: dict[str, object], word: str) -> None:
    reason = STENCIL.accepts(Problem(DTYPES["d"], 3, 3, 3).with_(**change), processor.probe())
    assert reason is not None
    assert word in reason


def _orders() -> Iterator[tuple[tuple[int, ...], int]]:
    rng = random.Random(3)
    for _ in range(300):
        size, width = rng.randint(1, 60), rng.choice((2, 4, 8, 16))
        yield tuple(rng.choice((-1, *range(size))) for _ in range(width)), size


@pytest.mark.parametrize("whole", [False, True])
def test_a_read_is_what_it_says(whole: bool) -> None:
    """Reads are played on a list: every lane gets its real, and no load leaves the operand."""

    def play(read: Read, size: int) -> list[int]:
        match read:
            case Run(start, width, active):
                assert start >= 0
                assert start + active <= size
                return [start + lane if lane < active else -9 for lane in range(width)]
            case Copy(index, width):
                assert 0 <= index < size
                return [index] * width
            case Pick(x, y, lanes):
                both = play(x, size) + (play(y, size) if y is not None else [])
                assert y is None or width_of(x) == width_of(y)
                return [both[lane] if lane >= 0 else -9 for lane in lanes]
            case Join(low, high):
                return play(low, size) + play(high, size)

    for order, size in _orders():
        got = play(read_of(order, size, 64, whole), size)
        assert len(got) == len(order)
        assert all(want in (-1, have) for want, have in zip(order, got, strict=True)), (order, got)


@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("trans", ["tn", "cn"])
def test_a_transposed_operand_is_not_read_beyond_its_end(letter: str, trans: str) -> None:
    """A ends where a page does, and the next one cannot be touched: no row, no step of k too many."""
    tile, device = TileStencil(), processor.probe()
    for m, k in ((3, 5), (5, 3), (7, 9), (9, 2), (1, 1), (6, 6)):
        problem = Problem(DTYPES[letter], m, 2, k, *trans)
        config = tile.default(problem, device)
        kernel = llvm.load(llvm.compile(tile.source(problem, config, device), device))
        rng = np.random.default_rng(3)
        parts = 2 if problem.dtype.is_complex else 1
        kind = f"f{problem.dtype.real_bits // 8}"
        a = Fenced(rng.standard_normal(2 * m * k * parts).astype(kind), end=True)
        b = rng.standard_normal(2 * 2 * k * parts).astype(kind)
        c = np.zeros(2 * 2 * m * parts, kind)
        scalars = np.zeros(4)
        pointers = a.address, b.ctypes.data, c.ctypes.data
        llvm.PROTOTYPE(kernel.address)(*pointers, *problem.strides, 2, scalars.ctypes.data)
        stored, right, got = (x.view(problem.dtype.name) for x in (a.raw, b, c))
        left = stored.reshape(2, m, k)
        left = left.conj() if trans[0] == "c" else left
        want = right.reshape(2, 2, k) @ left.swapaxes(1, 2)
        np.testing.assert_allclose(got.reshape(2, 2, m), want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("spelling", "runs"),
    [
        ("d:8x8x8", "lanes"),
        ("s:nt:5x5x5", "lanes"),
        ("z:nt:4x4x4", "lanes"),
        # Rows of A lie one after another, and every vector of a column is put together from many loads.
        ("d:tt:8x8x8", "tile"),
        ("s:tn:7x6x8", "tile"),
        ("d:tt:4x4x4", "tile"),
        ("z:tn:4x4x4", "tile"),
        # Few shuffles gather a small transposed A.
        ("d:tn:2x2x2", "lanes"),
        ("s:tt:4x4x4", "lanes"),
    ],
)
def test_what_takes_many_shuffles_is_left_to_tile(spelling: str, runs: str) -> None:
    (problem,) = Problem.parse(spelling, batch=100)
    limits = {"vector_bits": 512, "vector_registers": 32, "masks": 1, "cores": 2, "fma_bits": 512}
    limits |= {"l1d": 48 << 10, "l2": 1 << 20, "l3": 32 << 20}
    zen = Device("cpu", "EPYC", "znver5-avx512", limits, features="x86_64/znver5 +avx512f,+fma")
    gains = {name: one.gain(problem, zen) for name, one in (("lanes", STENCIL), ("tile", TileStencil()))}
    assert max(gains, key=lambda name: gains[name]) == runs


@pytest.mark.parametrize(
    ("spelling", "trans", "few", "many"),
    [
        ("d:2x2x2", "nn", 1.0, 1.0),
        ("d:8x8x8", "nn", 0.5, 1.0),
        ("s:6x6x6", "tn", 0.5, 0.5),
        ("d:7x3x1", "tt", 1.0, 1.0),
        # Numbers of 16 bits, of which with more registers the other stencil says it.
        ("h:8x8x8", "nn", 0.5, 1.0),
        ("h:3x3x3", "nn", 1.0, 1.0),
        ("b:7x7x7", "nn", 0.5, 1.0),
        ("hc:4x4x4", "nn", 0.5, 1.0),
    ],
)
def test_where_shuffles_are_dear_fewer_products_run_it(
    spelling: str, trans: str, few: float, many: float
) -> None:
    (problem,) = Problem.parse(f"{spelling}@9")
    problem = problem.with_(trans_a=trans[0], trans_b=trans[1])
    assert STENCIL.gain(problem, AVX2) == few
    assert STENCIL.gain(problem, AVX512) == many
