"""Rows of interleaved matrices that conflict in the sets of caches: found at run time, copied, and right."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.cpu.laid import Laid
from tilewright.model import DTYPES, Interleaved, Problem
from tilewright.stencils.cpu.compact.conflicts import sets_of
from tilewright.stencils.cpu.compact.stencil import CompactStencil, copied
from tilewright.stencils.cpu.ir import LAYOUT, launched, layout_words
from tilewright.targets.cpu import llvm, named, processor

pytestmark = pytest.mark.cpu

STENCIL = CompactStencil()
ALIKE, APART = 1024, 1237
"""Elements from one row of matrices to the next: rows that conflict, and rows that do not."""


def laid(
    letter: str, count: int, row: int, shift: int, beta: str = "0", apart: int = 0, shared: str = ""
) -> Laid:
    """Arrays (m, n, count) in rows of ``row`` elements; where ``apart`` is not 0, C's matrices lie one after
    the other, at so many elements."""
    m, n, k = 5, 3, 4
    rows = [k * row, n * row, n if apart else n * row]
    lead = [row, row, 1 if apart else row]
    shapes: list[tuple[int, ...]] = [(m, k, row), (k, n, row), (count, apart) if apart else (m, n, row)]
    strides = {"stride_c": apart} if apart else {}
    if shared:
        at = "ab".index(shared)
        shapes[at], rows[at], lead[at] = shapes[at][:2], (k, n)[at], 1
        strides[f"stride_{shared}"] = 0
    layout = Interleaved(0, (rows[0], rows[1], rows[2]))
    p = Problem(
        *(DTYPES[letter], m, n, k),
        batch=count, lda=lead[0], ldb=lead[1], ldc=lead[2], interleaved=layout, beta=beta,
    )  # fmt: skip
    return Laid(p.with_(**strides), shapes, shift)


def wanted(some: Laid, count: int, shared: str = "") -> np.ndarray:
    """The products, (m, n, count)."""
    a, b, c = some.values
    letters = ["ik" + "g" * (shared != "a"), "kj" + "g" * (shared != "b")]
    product = np.einsum(f"{letters[0]},{letters[1]}->ijg", a, b)[..., :count]
    return np.asarray(product + (c[..., :count] if some.p.beta == "1" else 0))


@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("store", ["plain", "staged", "update", "shared"])
def test_rows_that_are_copied_are_right(letter: str, store: str) -> None:
    """From no whole block to several and a rest, with rows of C of several distances from a line."""
    device, shared = processor.probe(), "b" if store == "shared" else ""
    copies = 2 if letter in "sz" else 16
    for count, shifts in ((7, (1,)), (515, (0, 3)), (1000, (1,))):
        for shift in shifts:
            some = laid(letter, count, ALIKE, shift, "1" if store == "update" else "0", shared=shared)
            config = STENCIL.default(some.p, device).with_(copies=copies)
            config = config.with_(store="staged" if store == "staged" else "plain")
            broken = STENCIL.space(some.p, device).why(config)
            assert not [rule.name for rule in broken if rule.kind == "hard"]
            found, before = some.run(config, device), some.values[2]
            tolerance = 1e-4 if letter in "sc" else 1e-12
            want = wanted(some, count, shared)
            np.testing.assert_allclose(found[..., :count], want, rtol=tolerance, atol=tolerance)
            assert (found[..., count:] == before[..., count:]).all()


@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("store", ["plain", "staged"])
@pytest.mark.parametrize("apart", [15, 18])
def test_results_that_lie_apart_are_right(letter: str, store: str, apart: int) -> None:
    """What is not a whole block follows what was copied, also in the buffer on the way to memory."""
    device = processor.probe()
    count = 515
    some = laid(letter, count, ALIKE, 1, apart=apart)
    config = STENCIL.default(some.p, device).with_(copies=4, store=store)
    found = some.run(config, device)
    tolerance = 1e-4 if letter in "sc" else 1e-12
    want = np.moveaxis(wanted(some, count), 2, 0).reshape(count, -1)
    np.testing.assert_allclose(found[:, :15], want, rtol=tolerance, atol=tolerance)
    assert (found[:, 15:] == some.values[2][:, 15:]).all()


def test_a_result_between_its_elements_is_not_streamed() -> None:
    """C lies half an element behind a line, where no vector of it can be written past the caches."""
    device = processor.probe()
    some = laid("d", 1000, ALIKE, 0)
    config = STENCIL.default(some.p, device).with_(copies=4, store="staged")
    kernel = llvm.load(llvm.compile(STENCIL.source(some.p, config, device), device))
    memory = np.zeros(8 * some.values[2].size + 128, np.uint8)
    first = -memory.ctypes.data % 64 + 4
    block = np.array([0] * (LAYOUT // 8) + list(layout_words(some.p)), np.int64)
    a, b, _ = some.operands
    strides, number = launched(some.p)
    llvm.PROTOTYPE(kernel.address)(
        a.address, b.address, memory.ctypes.data + first, *strides, number, block.ctypes.data
    )
    found = np.frombuffer(memory[first : first + 8 * some.values[2].size].tobytes())
    found = found.reshape(some.values[2].shape)
    np.testing.assert_allclose(found[..., :1000], wanted(some, 1000), rtol=1e-12, atol=1e-12)
    assert not memory[:first].any()
    assert not found[..., 1000:].any()


@pytest.mark.parametrize("letter", "sz")
def test_a_call_finds_out_whether_rows_conflict(letter: str) -> None:
    """A program that leaves out what it would copy leaves C as it is where rows conflict, and there alone."""
    device = processor.probe()
    for row, conflict in ((ALIKE, True), (APART, False)):
        some = laid(letter, 1000, row, 0)
        config = STENCIL.default(some.p, device).with_(copies=2)
        source = STENCIL.source(some.p, config, device)
        lines = source.text.splitlines()
        kept = [line for line in lines if "call void @tilewright_kernel_copies" not in line]
        assert len(kept) == len(lines) - 1
        found = some.by(dataclasses.replace(source, text="\n".join(kept) + "\n"), device)
        untouched = (found[..., :900] == some.values[2][..., :900]).all()
        assert bool(untouched) == conflict
        if not conflict:
            tolerance = 1e-4 if letter == "s" else 1e-12
            np.testing.assert_allclose(found[..., :1000], wanted(some, 1000), rtol=tolerance, atol=tolerance)


def test_what_is_copied_without_a_record() -> None:
    """Long runs of many rows, short ones of few, nothing where all fit in a cache's ways; on x86 alone."""

    def copies(name: str, text: str) -> int:
        (p,) = Problem.parse(text)
        config = STENCIL.default(p, named.device(name))
        each = config["vectors"] * config["vector_bits"] // 8
        lanes = each // (p.dtype.real_bits // 8)
        assert copied(p, config["copies"], lanes) <= 1 << 20
        return int(config["copies"] * each)

    assert [copies("znver3", f"d:{size}@100000/all") for size in ("2x2x1", "2x2x2", "4x4x4", "9x9x9")] == [
        *(0, 256, 512, 1024)
    ]
    assert copies("znver5", "d:9x9x9@100000/all") == 1024
    assert copies("znver3", "d:32x32x32@100000/all") == 256
    assert copies("neoverse-v2", "d:9x9x9@100000/all") == 0
    assert copies("znver3", "d:9x9x9@100000/8") == 0


def test_large_matrices_conflict_where_some_sets_are_fuller() -> None:
    """Turns of whole lines, which come back to none."""
    small, large = (Problem.parse(f"d:{n}x{n}x{n}@1000/all")[0] for n in (2, 16))
    device = named.device("znver3")
    assert [some.most for some in sets_of(small, device, 32)] == [8, 8]
    assert [some.most for some in sets_of(large, device, 32)] == [16, 18]
    assert [some.most for some in sets_of(large, device, 64)] == [36, 18]
