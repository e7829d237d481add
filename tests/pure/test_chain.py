"""Chains of products: what is asked, how arrays become it, the stencil's space and its choice."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright.stencils.cuda.chain.stencil as module
from bench.sanitize import chains as sanitized
from tests.chains import LETTERS, covariance
from tilewright.arrays.chains import ChainJob, chain_of, even_step
from tilewright.arrays.view import ArrayView, view_at
from tilewright.calls.chains import chain_spec, in_place
from tilewright.catalog import STENCILS, of_chains
from tilewright.errors import ArgumentError, DTypeError
from tilewright.model import DTYPES, ChainProblem, Factor, Problem, Stored
from tilewright.planning import chains, classes
from tilewright.space import HARDWARE, KINDS
from tilewright.stencils.cuda.chain import banks
from tilewright.stencils.cuda.chain.needs import (
    placed,
    reads_once,
    registers,
    shared_bytes,
    stage_bytes,
    strips,
)
from tilewright.stencils.cuda.chain.stencil import ChainStencil
from tilewright.stencils.cuda.common import fitted
from tilewright.stencils.cuda.source import program
from tilewright.stencils.protocol import refused
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

CHAIN = ChainStencil()
FERMI, A100, H200 = named("fermi-s2050"), named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("chain")[1])["lib/problem.cuh"]
NOT_ASKED = {"TRANS_A", "TRANS_B", "CONJ_A", "CONJ_B", "ALPHA_ONE", "BETA"}
"""What one product is asked for and a chain is not."""


# ---- what is asked


def test_a_chain_counts_what_it_does_and_moves() -> None:
    each, wide = Stored(6, 6, 6, 36), Stored(6, 3, 6, 18)
    p = ChainProblem(
        DTYPES["d"], (wide, each), (Factor(0, "t"), Factor(1), Factor(0)), Stored(3, 3, 3, 9), 10
    )
    assert p.sizes == (3, 6, 6, 3)
    assert p.products == ((3, 6, 6), (3, 3, 6))
    assert p.flops == 2 * (3 * 6 * 6 + 3 * 3 * 6)
    assert p.bytes == 8 * (18 + 36 + 9)
    assert p.footprint == 10 * p.bytes
    assert p.with_(first=1).products == ((6, 3, 6), (3, 3, 6))
    shared = p.with_(operands=(replace(wide, stride=0), each))
    assert shared.bytes == 8 * (36 + 9)
    assert shared.footprint == 8 * (18 + 10 * (36 + 9))
    assert p.spelling == "d:0t.1n.0n:3x6x6x3@10"
    assert (p.layout, shared.layout) == ("packed", "packed+shared0")
    assert p.with_(batch=7).key == p.key != shared.key


def test_other_layouts_have_other_keys() -> None:
    p = covariance("s", 4, 100)
    others = [p.with_(align=4), p.with_(add=None), p.with_(first=1), p.with_(out=Stored(4, 4, 5, 20))]
    assert len({x.key for x in (p, *others)}) == 5
    json.dumps(p.compiled)


# ---- arrays


def array(shape: tuple[int, ...], at: int = 1 << 20, dtype: str = "d") -> ArrayView:
    return view_at(at, shape, None, np.dtype(dtype))


def transposed(view: ArrayView) -> ArrayView:
    return view.swapaxes(-1, -2)


def job(*factors: ArrayView, add: ArrayView | None = None, out: ArrayView) -> ChainProblem:
    found = chain_of(factors, add, out)
    assert isinstance(found, ChainJob), found
    return found.problem


OUT = array((9, 6, 6), 7 << 20)


def test_an_array_that_stands_in_the_chain_twice_is_one_operand() -> None:
    f, p, q = array((9, 6, 6)), array((9, 6, 6), 2 << 20), array((9, 6, 6), 3 << 20)
    found = chain_of([f, p, transposed(f)], q, OUT)
    assert isinstance(found, ChainJob)
    assert found.addresses == (1 << 20, 2 << 20, 3 << 20, 7 << 20)
    # Read backwards, with every factor transposed: rows are columns.
    assert found.problem.factors == (Factor(0, "t"), Factor(1), Factor(0))
    assert found.problem.add == Factor(2)
    assert found.problem.align == 16
    assert len(job(f, f, add=f, out=OUT).operands) == 1
    # The same address is not yet the same matrix.
    assert len(job(f, array((6, 6)), out=OUT).operands) == 2


def test_conjugates_are_letters() -> None:
    h, out = array((9, 6, 3), dtype="D"), array((9, 6, 6), 7 << 20, "D")
    p = job(h, replace(transposed(h), conj=True), out=out)
    assert p.factors == (Factor(0, "c"), Factor(0))
    assert p.sizes == (6, 3, 6)
    assert len(p.operands) == 1


def test_results_by_columns_are_read_forwards() -> None:
    a, b = array((9, 4, 5)), array((9, 5, 6), 2 << 20)
    out = transposed(array((9, 6, 4), 7 << 20))
    p = job(a, b, out=out)
    assert p.factors == (Factor(0, "t"), Factor(1, "t"))
    assert p.out == Stored(4, 6, 4, 24)


@pytest.mark.parametrize("columns", [False, True])
def test_the_cheaper_product_is_made_first(columns: bool) -> None:
    def chain(m: int, k: int, l: int, n: int) -> ChainProblem:  # noqa: E741
        out = transposed(array((9, n, m), 7 << 20)) if columns else array((9, m, n), 7 << 20)
        return job(array((9, m, k)), array((9, k, l), 2 << 20), array((9, l, n), 3 << 20), out=out)

    assert chain(2, 9, 8, 7).flops == 2 * (2 * 9 * 8 + 2 * 8 * 7)
    assert chain(7, 8, 9, 2).flops == 2 * (8 * 9 * 2 + 7 * 8 * 2)
    found = chain(7, 8, 9, 2)
    # A number, as the compiler knows it.
    defines = dict(CHAIN.source(found, CHAIN.default(found, H200), H200).defines)
    assert defines["FIRST"] == str(found.first) == str(int(found.first))
    # Of equals the first two of the caller's.
    assert chain(4, 4, 4, 4).first == (0 if columns else 1)


def test_batches() -> None:
    f, p = array((6, 6)), array((3, 9, 6, 6), 2 << 20)
    out = array((3, 9, 6, 6), 7 << 20)
    found = job(f, p, out=out)
    assert found.batch == 27
    assert {x.stride for x in found.operands} == {0, 36}
    assert job(array((1, 1, 6, 6)), p, out=out).key == found.key
    some = chain_of([array((3, 1, 6, 6)), p], None, out)
    assert some == "the batch axes of a are covered by no one stride"
    assert job(f, f, out=array((6, 6), 7 << 20)).batch == 1


@pytest.mark.parametrize(
    ("shape", "strides", "step"),
    [
        ((), (), 0),
        ((5,), (36,), 36),
        ((5, 1), (36, 7), 36),
        ((4, 5), (180, 36), 36),
        ((4, 5), (36, 144), None),
        ((4, 5), (0, 0), 0),
        ((4, 5), (36, 0), None),
        ((4, 5), (0, 36), None),
        ((5,), (-36,), -36),
        ((1, 1), (3, 4), 0),
    ],
)
def test_one_stride_covers_batch_axes_or_none_does(
    shape: tuple[int, ...], strides: tuple[int, ...], step: int | None
) -> None:
    assert even_step(shape, strides) == step


def test_what_no_kernel_takes_says_why() -> None:
    a = array((9, 6, 6))
    apart = replace(a, strides=(576, 96, 16))
    assert chain_of([apart, a], None, OUT) == "a has no unit stride among its last two axes"
    assert "b has elements between" in str(chain_of([a, replace(a, address=4)], None, OUT))
    assert "out" in str(chain_of([a, a], None, replace(OUT, strides=(576, 96, 16))))


def test_in_place_is_only_where_each_matrix_is_its_own_place() -> None:
    assert in_place([array((9, 6, 6)), OUT], OUT)
    assert in_place([transposed(OUT)], OUT)
    assert not in_place([replace(OUT, address=OUT.address + 288)], OUT)
    assert not in_place([array((6, 6), OUT.address)], OUT)


# ---- errors


@pytest.mark.parametrize(
    ("shapes", "add", "words"),
    [
        (((4,), (4, 4)), None, r"a has shape \(4,\); accepted: two or more axes"),
        (((2, 3), (4, 5)), None, "a has shape .* and b .*: 3 columns do not meet 4 rows"),
        (((2, 3), (3, 4), (5, 6)), None, "b has shape .* and c .*: 4 columns do not meet 5 rows"),
        (((2, 3, 3), (5, 3, 3)), None, r"a \(2,\), b \(5,\) do not broadcast"),
        (((2, 3), (3, 4)), (2, 3), r"add has shape \(2, 3\); accepted: what broadcasts to \(2, 4\)"),
        (((7, 2, 3), (3, 4)), (5, 2, 4), "add has shape"),
    ],
)
def test_what_does_not_fit_is_named(shapes: Any, add: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        chain_spec([array(shape) for shape in shapes], None if add is None else array(add))


def test_types_that_no_kernel_knows_are_named() -> None:
    with pytest.raises(DTypeError, match="a is int64 and b is int64; accepted: float16"):
        chain_spec([array((2, 2), dtype="q")] * 2, None)
    assert chain_spec([array((2, 2), dtype="f")] * 2, array((2, 2), dtype="d")).dtype == np.float64


# ---- the plan


def test_chains_are_for_the_stencil_of_chains_alone() -> None:
    p, product = covariance("d", 6, 1000), Problem.parse("d:6x6x6@1000")[0]
    for name, stencil in STENCILS.items():
        assert (refused(stencil, p, H200) is None) == (name == "chain")
    assert "chains" in (refused(CHAIN, product, H200) or "")
    found = of_chains("cuda")
    assert found is not None
    assert found.name == "chain"
    assert of_chains("cpu") is None


def test_what_is_planned() -> None:
    p = covariance("d", 6, 1_000_000)
    plan = chains.plan(p, H200)
    assert (plan.origin, plan.stencil, plan.regime) == ("default", "chain", "memory")
    assert chains.plan(p.with_(batch=1), H200).regime == "cached"
    large = chains.plan(covariance("d", 33, 1000), H200)
    assert (large.origin, large.stencil) == ("vendor", None)
    assert "extent above 32" in large.why
    forced = chains.plan(p, H200, {"rows": 1})
    assert forced.origin == "forced"
    assert forced.config is not None
    assert forced.config["rows"] == 1
    with pytest.raises(ArgumentError, match=r"given: \{'stages': 17\}"):
        chains.plan(p, H200, {"stages": 17})
    with pytest.raises(ArgumentError, match="extent above 32"):
        chains.plan(covariance("d", 33, 1000), H200, {"rows": 1})


def test_a_class_that_was_lost_goes_to_products_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    p = covariance("d", 6, 1_000_000, shared=True)
    name = classes.of_chain(p, "memory")
    assert name == "d, 3 factors and a sum, to 8, packed shared, memory"
    assert classes.of_chain(p.with_(batch=9, add=None), "cached") == "d, 3 factors, to 8, packed shared, few"
    gapped = p.with_(out=Stored(6, 6, 8, 48))
    assert classes.of_chain(gapped, "memory").split(", ")[3] == "gaps shared"
    for wins, origin in ((True, "default"), (False, "vendor")):
        table = {"h200": {"chain": {name: {"wins": wins, "median": 1.0}}}}
        monkeypatch.setattr(classes, "table", lambda table=table: table)
        assert chains.plan(p, H200).origin == origin
    assert chains.plan(p, H200, {}).origin == "forced"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"batch": 2**31 - 1}, "2\\^31"),
        ({"batch": 0}, "nothing"),
        ({"align": 4}, "multiples of 4"),
        ({"out": Stored(6, 6, 6, 0)}, "one C"),
    ],
)
def test_what_is_refused(change: dict[str, Any], word: str) -> None:
    p = covariance("d", 6, 1000).with_(**change)
    assert re.search(word, CHAIN.accepts(p, H200) or "")


def test_devices() -> None:
    p = covariance("d", 6, 1_000_000)
    assert CHAIN.accepts(p, A100) is None
    assert "2.0" in (CHAIN.accepts(p, FERMI) or "")
    # Bulk copies are for later devices than those by words.
    assert CHAIN.default(p, A100)["path"] == "async"
    assert CHAIN.default(p, H200)["path"] == "bulk"
    assert CHAIN.default(p.with_(align=8), H200)["path"] == "async"


# ---- the file and the space say the same


def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = sanitized.chain(DTYPES["hc"], (5, 3, 6, 4), 1, 1)
    defines = [name for name, _ in CHAIN.source(p, CHAIN.default(p, H200), H200).defines]
    known = set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M))
    assert sorted(defines) == sorted(known - NOT_ASKED)
    names = [param.name.upper() for param in CHAIN.space(p, H200).params]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(names) == sorted(re.findall(r"^#ifndef (\w+)$", block, re.M))


def test_hard_rules_are_asserted_by_their_names() -> None:
    space = CHAIN.space(covariance("d", 8, 1000), H200)
    hard = {rule.name for rule in space.rules if rule.kind == "hard"}
    assert hard <= set(re.findall(r'"([a-z-]+): ', KERNEL))


def test_shared_memory_is_what_the_kernel_lays_out() -> None:
    """Two stages of F, P and Q, each padded to 128 bytes, T and two results, behind the barriers."""
    p = covariance("s", 5, 1000)
    each = 4 * 100 + 112
    assert stage_bytes(p, 4) == 3 * each
    assert shared_bytes(p, "bulk", 0, 4, 2, 0) == 128 + 2 * 3 * each + each + 2 * each
    assert shared_bytes(p, "async", 0, 4, 2, 0) == 2 * 3 * each + each + each
    # T of halves is as wide as its sums.
    halves = covariance("h", 16, 1000, shared=True)
    assert shared_bytes(halves, "async", 0, 4, 2, 0) == 512 + 2 * 2 * 2048 + 4096 + 2048
    # On tensor cores it stays in registers.
    assert shared_bytes(halves, "async", 16, 4, 2, 0) == 512 + 2 * 2 * 2048 + 2048
    # Results in the place of what is added need no room.
    assert shared_bytes(p, "bulk", 0, 4, 2, 1) == 128 + 2 * 3 * each + each


def test_results_take_the_place_of_what_nobody_else_reads() -> None:
    p = covariance("s", 5, 1000)
    f, _, q = p.operands
    assert placed(p)
    assert not placed(replace(p, add=None))
    assert not placed(replace(p, add=Factor(2, "t")))
    assert not placed(replace(p, operands=(f, f, replace(q, stride=0))))
    assert not placed(replace(p, add=Factor(1)))
    broken = CHAIN.default(p, H200).with_(in_place=1)
    space = CHAIN.space(replace(p, add=Factor(2, "t")), H200)
    assert "in-place" in [rule.name for rule in space.why(broken)]


@pytest.mark.parametrize("device", [A100, H200], ids=["a100", "h200"])
@pytest.mark.parametrize("letter", LETTERS)
def test_the_default_obeys_every_rule(letter: str, device: Any) -> None:
    for n in (3, 8, 32):
        for batch in (1, 1_000_000):
            p = covariance(letter, n, batch, shared=n % 2 == 0)
            config, space = CHAIN.default(p, device), CHAIN.space(p, device)
            kinds = KINDS if batch == 1_000_000 else (*HARDWARE, "hard")
            assert [rule.name for rule in space.why(config) if rule.kind in kinds] == [], (p.key, config)
            assert space.member(config) is None


def test_the_default_breaks_no_hard_rule_of_any_form() -> None:
    for turn, letter in enumerate(LETTERS * 2):
        p = sanitized.chain(DTYPES[letter], sanitized.CHAINS[turn % len(sanitized.CHAINS)], turn % 2, turn)
        config = CHAIN.default(p.with_(batch=99), H200)
        assert not [rule for rule in CHAIN.space(p, H200).why(config) if rule.kind in (*HARDWARE, "hard")]
        assert CHAIN.launch(p, config).shared <= H200["shared_per_block_optin"]


@pytest.mark.parametrize(
    ("step", "width", "count"),
    [
        (4, 4, 1),
        (0, 4, 1),
        (8, 4, 2),
        (128, 4, 32),
        (132, 4, 1),
        (8, 8, 2),
        (16, 16, 4),
        (128, 16, 32),
        (2, 2, 1),
    ],
)
def test_accesses_are_served_as_often_as_a_bank_is_asked_for_another_word(
    step: int, width: int, count: int
) -> None:
    """Threads whose words are so many bytes apart; a word that several ask for is read once."""
    assert banks._passes(step * np.arange(32)[None], width) == count
    assert banks._passes(step * np.arange(32)[None].repeat(3, axis=0), width) == 3 * count


def test_tiles_differ_by_the_banks_that_their_threads_ask_for() -> None:
    """Columns of 32 float32 begin in one bank: a thread of a single row reads it for each of its columns."""
    p = covariance("s", 32, 1_000_000)
    by_tile = {tile: banks.wavefronts(p, *tile) for tile in ((1, 8), (4, 4), (4, 8))}
    assert by_tile[4, 8] < by_tile[4, 4] < by_tile[1, 8]
    # Shared by the batch, or of another order, it lies as it did.
    assert banks.wavefronts(covariance("s", 32, 7, shared=True), 4, 4) == by_tile[4, 4]
    assert banks.wavefronts(p.with_(first=1), 4, 4) > 0


def test_tensor_cores_are_for_the_types_that_they_multiply() -> None:
    for letter in LETTERS:
        p = covariance(letter, 24, 1_000_000)
        config = CHAIN.default(p, H200)
        assert (config["mma"] > 0) == (letter in "hbdz"), letter
        broken = [rule.name for rule in CHAIN.space(p, H200).why(config.with_(mma=8, rows=1, columns=1))]
        assert ("mma-rows" in broken) == (letter not in "dz")
        assert ("mma-type" in broken) == (letter in ("s", "c", "hc"))


def test_a_strip_is_of_c_or_of_its_transpose() -> None:
    """24 x 9: by rows two strips of 16, by columns one; of a chain of three its order says which."""
    apart = Stored(24, 9, 24, 216)
    two = ChainProblem(
        DTYPES["h"], (Stored(24, 5, 24, 120), Stored(5, 9, 5, 45)), (Factor(0), Factor(1)), apart, 9
    )
    assert [int(strips(two, mma)) for mma in (16, 32)] == [1, 1]
    square = covariance("h", 20, 9)
    assert [int(strips(square, mma)) for mma in (16, 32)] == [2, 1]
    # One strip of all of F P F^T has the fragments of F^T already.
    assert [reads_once(square, mma) for mma in (16, 32)] == [False, True]
    assert not reads_once(two, 32)
    assert registers(square, 32, 1, 1) > registers(square, 16, 1, 1)


def test_every_constant_of_the_model_has_a_meaning() -> None:
    path = Path(module.__file__).parents[1] / "data" / "chain.json"
    assert set(json.loads(path.read_text())["meaning"]) == set(fitted("chain", H200))


def test_the_batch_is_not_compiled_in() -> None:
    p = covariance("d", 8, 1_000_000)
    config = CHAIN.default(p, H200)
    assert CHAIN.source(p, config, H200) == CHAIN.source(p.with_(batch=12_345), config, H200)
    assert CHAIN.launch(p.with_(batch=5), config).grid == (-(-5 // config["group"]), 1, 1)
