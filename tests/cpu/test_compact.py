"""The ``compact`` stencil: right for every type, layout and class, and never outside its operands."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.cpu.laid import Laid
from tests.cpu.test_lanes import Fenced
from tilewright.model import DTYPES, Config, Device, Interleaved, Problem
from tilewright.stencils.cpu.compact.stencil import AHEAD, CompactStencil
from tilewright.stencils.cpu.ir import LAYOUT, launched, layout_words
from tilewright.targets.cpu import llvm, processor
from tilewright.tuning.gemm.verify import verify

pytestmark = pytest.mark.cpu

STENCIL = CompactStencil()
GOLDEN = Path(__file__).parent.parent / "golden"


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


def older() -> Device:
    """A processor without mask registers; skips the test where this one cannot run its code."""
    host = processor.probe()
    if not (host.features.startswith("x86_64") and host["vector_bits"] >= 256):
        pytest.skip("needs a processor that runs AVX2 code")
    limits = {**host.limits, "vector_bits": 256, "vector_registers": 16, "masks": 0}
    return Device("cpu", "AVX2", "haswell-avx2", limits, features="x86_64/haswell +avx2,+fma")


def right(p: Problem, config: Config, device: Device) -> None:
    """What is written keeps its multiply-adds, and its results their bound."""
    source = STENCIL.source(p, config, device)
    binary = llvm.compile(source, device)
    assert binary.facts["fma"] == dict(source.expect)["fma"], (p.key, config)
    kernel = llvm.load(binary)
    verdict = verify(p, lambda made: llvm.PROTOTYPE(kernel.address)(*made.arguments))
    assert verdict.ok, (p.key, config, verdict.why)


def some(rng: random.Random, most: int = 6) -> Problem:
    """A problem of random type, sizes, conjugates, classes and sharing."""
    letter = rng.choice("sdcz")
    trans = "".join(rng.choice("nj") for _ in "ab")
    m, n, k = (rng.randint(1, most) for _ in range(3))
    beta = rng.choice(("0", "1", "any"))
    shared = rng.choice(({}, {}, {"stride_a": 0}, {"stride_b": 0}))
    apart = (
        {"stride_c": m * n + rng.randint(0, 2)} if beta == "0" and m * n > 1 and rng.random() < 0.4 else {}
    )
    batch = rng.choice((50, 10**8))
    p = problem(f"{letter}:{trans}:{m}x{n}x{k}@{batch}/all", alpha=rng.choice(("1", "any")), beta=beta)
    return p.with_(m=m, **shared, **apart)


@pytest.mark.parametrize("seed", range(3))
def test_random_configs_of_random_problems_are_right(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(5):
        p = some(rng)
        for config in STENCIL.space(p, processor.probe()).sample(2, seed):
            right(p, config, processor.probe())


def test_defaults_are_right_and_keep_their_sums_in_registers() -> None:
    rng, device = random.Random(11), processor.probe()
    for _ in range(12):
        p = some(rng, 9)
        config = STENCIL.default(p, device)
        assert not STENCIL.space(p, device).why(config), (p.key, config)
        spills = llvm.compile(STENCIL.source(p, config, device), device).facts["spills"]
        # With 16 registers signs and scalars of complex products leave sums no room: known, and slow.
        crowded = device["vector_registers"] <= 16 and p.dtype.is_complex
        assert spills <= 2 or crowded, (p.key, config)
        right(p.with_(batch=50), config, device)
    right(problem("d:17x16x18@50/all"), STENCIL.default(problem("d:17x16x18@50/all"), device), device)


def test_without_mask_registers_the_rest_goes_one_by_one() -> None:
    rng, device = random.Random(3), older()
    for _ in range(5):
        p = some(rng)
        config = STENCIL.default(p, device)
        text = llvm.assembly(STENCIL.source(p, config, device), device)
        assert not any(name in text for name in ("zmm", "%k1"))
        right(p, config, device)


@pytest.mark.parametrize("end", [False, True])
@pytest.mark.parametrize("spelling", ["d:3x2x4@{}/all", "c:2x3x3@{}/all", "s:3x3x2@{}/5"])
def test_nothing_outside_the_operands_is_touched(spelling: str, end: bool) -> None:
    """Each operand ends or begins at a page that cannot be touched."""
    rng, device = np.random.default_rng(1), processor.probe()
    for count in (1, 5, 30, 75):
        batch = count * 5 if spelling.endswith("/5") else count
        p = problem(spelling.format(batch), beta="1")
        assert p.interleaved is not None
        side = p.interleaved.pack or batch
        shapes = [(batch // side, *shape, side) for shape in ((p.m, p.k), (p.k, p.n), (p.m, p.n))]
        values = [rng.standard_normal(shape).astype(p.dtype.name) for shape in shapes]
        a, b, c = (Fenced(value, end) for value in values)
        block = np.array([0] * (LAYOUT // 8) + list(layout_words(p)), np.int64)
        for config in (STENCIL.default(p, device), STENCIL.default(p, device).with_(block=2)):
            c.view[...] = c.raw
            kernel = llvm.load(llvm.compile(STENCIL.source(p, config, device), device))
            strides, number = launched(p)
            addresses = (x.address for x in (a, b, c))
            llvm.PROTOTYPE(kernel.address)(*addresses, *strides, number, block.ctypes.data)
            want = values[2] + np.einsum("gikb,gkjb->gijb", values[0], values[1])
            np.testing.assert_allclose(c.view, want, rtol=1e-4, atol=1e-5)
            assert all(x.intact() for x in (a, b, c))


@pytest.mark.parametrize("shift", [0, 1, 3, 8])
@pytest.mark.parametrize("padding", [0, 1, 8])
def test_results_go_past_the_caches_from_any_base(shift: int, padding: int) -> None:
    """Rows of C that lie alike to vectors are streamed from their first whole one on, others by blocks."""
    device, m, n, k, count = processor.probe(), 2, 3, 2, 300 + shift
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((m, k, count)), rng.standard_normal((k, n, count))
    rows = np.full(m * n * (count + padding) + 16, 7.0)
    first = -rows.ctypes.data % 64 // 8 + shift
    out = rows[first : first + m * n * (count + padding)].reshape(m, n, count + padding)
    layout = Interleaved(0, (k * count, n * count, n * (count + padding)))
    p = Problem(
        DTYPES["d"], m, n, k, batch=count, lda=count, ldb=count, ldc=count + padding, interleaved=layout
    )
    config = STENCIL.default(p.with_(batch=10**8), device)
    assert config["store"] == "staged"
    block = np.array([0] * (LAYOUT // 8) + list(layout_words(p)), np.int64)
    kernel = llvm.load(llvm.compile(STENCIL.source(p, config, device), device))
    addresses = a.ctypes.data, b.ctypes.data, out.ctypes.data
    llvm.PROTOTYPE(kernel.address)(*addresses, *p.strides, count, block.ctypes.data)
    np.testing.assert_allclose(out[..., :count], np.einsum("ikb,kjb->ijb", a, b), rtol=1e-13, atol=1e-13)
    assert (out[..., count:] == 7).all()
    assert (rows[:first] == 7).all()


def test_what_a_large_batch_is_asked_for_ahead() -> None:
    device = processor.probe()
    assert STENCIL.default(problem("d:3x3x3@100/all"), device)["prefetch"] == 0
    large = STENCIL.default(problem("d:8x8x8@100000000/all"), device)
    if device.limits.get("prefetch"):
        assert large["block"] > 0
    assert large["store"] == "staged"
    assert STENCIL.default(problem("d:8x8x8@100000000/all", beta="any"), device)["store"] == "plain"


def test_turns_end_with_their_pack() -> None:
    rng, device = random.Random(3), processor.probe()
    for pack in (2, 4, 8, 16, 64):
        for letter in "sdcz":
            m, n, k = (rng.randint(1, 12) for _ in range(3))
            p = problem(f"{letter}:{m}x{n}x{k}@{rng.choice((64, 64 * 10**6))}/{pack}")
            config = STENCIL.default(p, device)
            reals = config["vector_bits"] // p.dtype.real_bits * config["vectors"]
            matrices = reals // (2 if p.dtype.is_complex else 1)
            narrowest = 128 // p.dtype.real_bits // (2 if p.dtype.is_complex else 1)
            assert pack % matrices == 0 or pack < narrowest, (p.key, config)
            if p.batch == 64 or pack % matrices:
                assert (config["store"], config["prefetch"], config["block"]) == ("plain", 0, 0)
            else:
                fits = 2 * m * n * pack * p.dtype.itemsize <= device["l1d"]
                assert (config["store"], config["prefetch"]) == ("staged" if fits else "plain", AHEAD)


@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("shared", ["", "a", "b"])
@pytest.mark.parametrize("block", [0, 2, 16])
def test_blocks_of_rows_that_begin_anywhere_are_right(letter: str, shared: str, block: int) -> None:
    """From no whole block to several and a rest, with rows of C of every distance from a line."""
    device, (m, n, k) = processor.probe(), (3, 2, 4)
    for count in (1, 37, 129, 515, 1031):
        layout = Interleaved(0, (k * count, n * count, n * count))
        p = Problem(DTYPES[letter], m, n, k, batch=count, lda=count, ldb=count, ldc=count, interleaved=layout)
        shapes: list[tuple[int, ...]] = [(m, k, count), (k, n, count), (m, n, count)]
        if shared:
            at = "ab".index(shared)
            shapes[at] = (shapes[at][0], shapes[at][1])
            rows = tuple(shapes[i][1] if i == at else x for i, x in enumerate(layout.rows))
            p = p.with_(
                **{f"stride_{shared}": 0, f"ld{shared}": 1},
                interleaved=Interleaved(0, (rows[0], rows[1], rows[2])),
            )
        config = STENCIL.default(p.with_(batch=10**8), device).with_(store="staged", block=block, prefetch=0)
        assert not [rule.name for rule in STENCIL.space(p, device).why(config) if rule.kind == "hard"]
        for shift in (0, 1, 3):
            laid = Laid(p, shapes, shift)
            a, b, _ = laid.values
            letters = ["ik" + "g" * (shared != "a"), "kj" + "g" * (shared != "b")]
            want = np.einsum(f"{letters[0]},{letters[1]}->ijg", a, b)
            tolerance = 1e-4 if letter in "sc" else 1e-12
            np.testing.assert_allclose(laid.run(config, device), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("form", ["gapless", "gaps", "columns"])
@pytest.mark.parametrize("store", ["plain", "staged"])
def test_results_that_lie_apart_are_right(letter: str, form: str, store: str) -> None:
    """By vectors of a matrix, past the caches where matrices follow one another, and element by element."""
    device, (m, n, k) = processor.probe(), (5, 7, 3)
    for count in (1, 37, 515):
        gap = 3 if form == "gaps" else 0
        rows, columns = (1, m) if form == "columns" else (n, 1)
        layout = Interleaved(0, (k * count, n * count, rows))
        p = Problem(
            DTYPES[letter], m, n, k, batch=count, lda=count, ldb=count, ldc=columns, interleaved=layout
        ).with_(stride_c=m * n + gap)
        config = STENCIL.default(p.with_(batch=10**8), device).with_(store=store)
        assert not [rule.name for rule in STENCIL.space(p, device).why(config) if rule.kind == "hard"]
        for shift in (0, 1, 3):
            laid = Laid(p, [(m, k, count), (k, n, count), (count, m * n + gap)], shift)
            a, b, c = laid.values
            found = laid.run(config, device)
            want = np.einsum("ikg,kjg->gji" if form == "columns" else "ikg,kjg->gij", a, b)
            tolerance = 1e-4 if letter in "sc" else 1e-12
            np.testing.assert_allclose(
                found[:, : m * n], want.reshape(count, -1), rtol=tolerance, atol=tolerance
            )
            assert (found[:, m * n :] == c[:, m * n :]).all()


@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("beta", ["0", "1"])
@pytest.mark.parametrize("pack", [4, 8, 32])
def test_packs_without_gaps_are_right(letter: str, beta: str, pack: int) -> None:
    """Through the buffer and by ordinary stores, from one pack on, at any distance from a line."""
    device, (m, n, k), kinds = processor.probe(), (5, 3, 6), ("queryable", "tabled", "hard")
    many = [problem(f"{letter}:{m}x{n}x{k}@{packs * pack}/{pack}", beta=beta) for packs in (1, 2, 7, 40)]
    # Others for each type, beta and pack. How many packs there are is an argument of what is compiled.
    draw = pack + 100 * "sdcz".index(letter) + 1000 * int(beta)
    for config, p in product(STENCIL.space(many[-1], device).only(kinds).sample(6, draw), many):
        packs = p.batch // pack
        assert not [rule.name for rule in STENCIL.space(p, device).why(config) if rule.kind in kinds]
        laid = Laid(p, [(packs, *side, pack) for side in ((m, k), (k, n), (m, n))], packs % 3)
        a, b, c = laid.values
        want = np.einsum("pikg,pkjg->pijg", a, b) + (c if beta == "1" else 0)
        tolerance = 1e-4 if letter in "sc" else 1e-12
        np.testing.assert_allclose(laid.run(config, device), want, rtol=tolerance, atol=tolerance)


def test_packs_with_gaps_or_by_columns_go_one_by_one() -> None:
    """What is compiled for packs without gaps asks at run time whether there are any."""
    device, (m, n, k), pack, packs = processor.probe(), (3, 2, 4), 8, 9
    p = problem(f"d:{m}x{n}x{k}@{packs * pack}/{pack}")
    config = STENCIL.default(p.with_(batch=10**7 * pack), device)
    assert config["store"] == "staged"
    rng = np.random.default_rng(3)
    for gap, order in ((0, (0, 2, 1, 3)), (1, (0, 1, 2, 3))):
        arrays = [rng.standard_normal((packs, *side, pack + gap)) for side in ((m, k), (k, n), (m, n))]
        kept = [np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order)) for x in arrays]
        views = [x[..., :pack] for x in kept]
        steps = [[s // 8 for s in view.strides] for view in views]
        layout = Interleaved(
            pack, (steps[0][1], steps[1][1], steps[2][1]), (steps[0][0], steps[1][0], steps[2][0])
        )
        q = p.with_(lda=steps[0][2], ldb=steps[1][2], ldc=steps[2][2], interleaved=layout)
        want = np.einsum("pikg,pkjg->pijg", views[0], views[1])
        before = kept[2].copy()
        block = np.array([0] * (LAYOUT // 8) + list(layout_words(q)), np.int64)
        kernel = llvm.load(llvm.compile(STENCIL.source(q, config, device), device))
        strides, number = launched(q)
        addresses = (view.ctypes.data for view in views)
        llvm.PROTOTYPE(kernel.address)(*addresses, *strides, number, block.ctypes.data)
        np.testing.assert_allclose(views[2], want, rtol=1e-12, atol=1e-12)
        assert (kept[2][..., pack:] == before[..., pack:]).all()


@pytest.mark.parametrize(
    ("text", "fields", "word"),
    [
        ("h:3x3x3@9/all", {}, "type"),
        ("d:33x3x3@9/all", {}, "larger"),
        ("d:3x0x3@9/all", {}, "nothing"),
        ("d:3x3x3@9/all", {"trans_a": "t"}, "strides"),
        ("d:3x3x3@9/all", {"stride_a": 2}, "not 1"),
        ("d:3x3x3@9/all", {"stride_a": 0, "stride_b": 0}, "not 1"),
        ("d:3x3x3@9/all", {"stride_c": 9, "beta": "1"}, "apart"),
    ],
)
def test_what_is_refused_is_refused_with_its_reason(text: str, fields: dict[str, object], word: str) -> None:
    reason = STENCIL.accepts(problem(text).with_(**fields), processor.probe())
    assert reason is not None
    assert word in reason


def test_golden(request: pytest.FixtureRequest) -> None:
    """What is written for a small kernel, to be read in a review (``--update-golden``)."""
    p = problem("d:2x2x2@1000/all")
    limits = {"vector_bits": 512, "vector_registers": 32, "masks": 1, "cores": 4}
    limits |= {"l1d": 32 << 10, "l2": 1 << 20, "l3": 32 << 20, "prefetch": 4}
    device = Device("cpu", "golden", "skylake-avx512", limits, features="x86_64/skylake-avx512")
    text = STENCIL.source(p, STENCIL.default(p, device), device).text
    path = GOLDEN / "compact-d-2x2x2.skylake-avx512.ll"
    if request.config.getoption("--update-golden"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; if it should, run pytest --update-golden"
