"""The nouns: spellings, keys, formulas, and that values stay what they were."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError, replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.errors import ArgumentError
from tilewright.model import DTYPES, Config, Device, Problem, Source

pytestmark = pytest.mark.pure

SIZES = st.integers(0, 300)


@st.composite
def packed(draw: st.DrawFn) -> Problem:
    """Any problem that a spelling alone can say."""
    letters = st.sampled_from("ntcj")
    return Problem(
        DTYPES[draw(st.sampled_from(sorted(DTYPES)))], draw(SIZES), draw(SIZES), draw(SIZES),
        draw(letters), draw(letters), draw(st.integers(1, 10**6)),
    )  # fmt: skip


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any problem: padded, with gaps, with shared operands, of every class."""
    problem = draw(packed())
    room = st.integers(0, 9)
    names = ("lda", "ldb", "ldc", "stride_a", "stride_b", "stride_c")
    changes: dict[str, Any] = {name: getattr(problem, name) + draw(room) for name in names}
    changes |= dict.fromkeys(draw(st.sets(st.sampled_from(["stride_a", "stride_b"]))), 0)
    changes |= {
        "alpha": draw(st.sampled_from(["1", "any"])),
        "beta": draw(st.sampled_from(["0", "1", "any"])),
    }
    return problem.with_(**changes, math=draw(st.sampled_from(["ieee", "tf32"])))


def one(text: str, **fields: Any) -> Problem:
    (problem,) = Problem.parse(text, **fields)
    return problem


# ---- spellings


@given(packed())
def test_a_spelling_is_read_back(problem: Problem) -> None:
    assert Problem.parse(problem.spelling) == [problem]


@given(problems())
def test_json_is_read_back(problem: Problem) -> None:
    assert Problem.from_json(json.loads(json.dumps(problem.to_json()))) == problem


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("d:8x8x8@100000", "d:nn:8x8x8@100000"),
        ("z:nt:4096x4096x4096", "z:nt:4096x4096x4096@1"),
        ("hc:nn:16x16x16@50000", "hc:nn:16x16x16@50000"),
        ("h:cn:1x2x3", "h:cn:1x2x3@1"),
        ("s:5", "s:nn:5x5x5@1"),
        (" s:nn:8192x8192x64 ", "s:nn:8192x8192x64@1"),
    ],
)
def test_short_spellings_mean_what_the_long_ones_say(text: str, spelling: str) -> None:
    assert [problem.spelling for problem in Problem.parse(text)] == [spelling]


def test_a_spelling_gives_the_fields_in_the_order_of_blas() -> None:
    problem = one("z:tc:2x3x4@5")
    assert (problem.dtype.name, problem.m, problem.n, problem.k, problem.batch) == ("complex128", 2, 3, 4, 5)
    assert (problem.trans_a, problem.trans_b, problem.trans) == ("t", "c", "tc")


def test_a_range_is_every_square_with_both_ends() -> None:
    found = Problem.parse("d:nt:2..5@7", beta="any")
    assert [p.spelling for p in found] == [f"d:nt:{n}x{n}x{n}@7" for n in (2, 3, 4, 5)]
    assert {p.beta for p in found} == {"any"}


@pytest.mark.parametrize(
    "text",
    ["", "d", "8x8x8", "q:8x8x8", "D:8x8x8", "d:nx:8x8x8", "d:n:8x8x8", "d:8x8", "d:8x8x8x8", "d:-1x8x8",
     "d:8x8x8@", "d:8x8x8@-1", "d:8 x8x8", "d:2..", "d:..9", "d:8x8x8@1@2", "hcd:8x8x8"],
)  # fmt: skip
def test_a_bad_spelling_is_refused_with_what_is_accepted(text: str) -> None:
    with pytest.raises(ArgumentError, match="TYPE") as refusal:
        Problem.parse(text)
    assert repr(text) in str(refusal.value)


def test_a_range_of_rectangles_is_refused() -> None:
    with pytest.raises(ArgumentError, match="square"):
        Problem.parse("d:2..3x4x5")


def test_a_range_that_runs_backwards_is_refused() -> None:
    with pytest.raises(ArgumentError):
        Problem.parse("d:5..2")


# ---- keys


BASE = one("s:nn:4x5x6@10")


@pytest.mark.parametrize(
    "change",
    [
        {"alpha": "any"}, {"beta": "1"}, {"beta": "any"}, {"math": "tf32"},
        {"lda": 7}, {"ldb": 7}, {"ldc": 7},
        {"stride_a": 0}, {"stride_b": 0}, {"stride_a": 0, "stride_b": 0}, {"stride_c": 64},
        {"m": 5}, {"n": 6}, {"k": 7}, {"trans_a": "t"}, {"trans_b": "c"}, {"dtype": DTYPES["c"]},
    ],
    ids=str,
)  # fmt: skip
def test_all_that_is_compiled_in_is_in_the_key(change: dict[str, Any]) -> None:
    assert BASE.with_(**change).key != BASE.key


def test_keys_of_different_classes_and_layouts_are_all_different() -> None:
    layouts: list[dict[str, Any]] = [{}, {"lda": 7}, {"stride_a": 0}, {"stride_b": 0}, {"stride_c": 64}]
    keys = {
        BASE.with_(**layout, alpha=alpha, beta=beta).key
        for layout in layouts
        for alpha in ("1", "any")
        for beta in ("0", "1", "any")
    }
    assert len(keys) == len(layouts) * 2 * 3


@given(problems(), st.integers(1, 10**6))
def test_the_batch_count_is_not_in_the_key(problem: Problem, batch: int) -> None:
    assert problem.with_(batch=batch).key == problem.key


def test_the_layout_names_what_is_not_packed() -> None:
    assert BASE.layout == "packed"
    assert BASE.with_(lda=9).layout == "ld9,6,4"
    assert BASE.with_(stride_c=64).layout == "packed+gaps"
    assert BASE.with_(stride_a=0, stride_b=0).layout == "packed+sharedAB"


# ---- layouts and formulas


@pytest.mark.parametrize(
    ("trans", "lds", "strides"),
    [("nn", (4, 6, 4), (24, 30, 20)), ("tn", (6, 6, 4), (24, 30, 20)),
     ("nt", (4, 5, 4), (24, 30, 20)), ("cc", (6, 5, 4), (24, 30, 20)),
     ("jj", (4, 6, 4), (24, 30, 20))],
)  # fmt: skip
def test_a_packed_layout_is_column_major(trans: str, lds: tuple[int, ...], strides: tuple[int, ...]) -> None:
    problem = one(f"z:{trans}:4x5x6")
    assert (problem.lda, problem.ldb, problem.ldc) == lds
    assert problem.strides == strides


def test_a_change_of_size_repacks_and_other_changes_do_not() -> None:
    padded = BASE.with_(lda=9)
    assert padded.with_(beta="any").lda == 9
    assert padded.with_(m=8) == one("s:8x5x6@10")
    assert padded.with_(m=8, lda=10).lda == 10


@pytest.mark.parametrize(
    ("text", "fields", "flops", "moved", "footprint"),
    [
        ("d:2x3x4@10", {}, 48, (8 + 12 + 6) * 8, (80 + 120 + 60) * 8),
        ("z:2x3x4@10", {}, 192, (8 + 12 + 6) * 16, (80 + 120 + 60) * 16),
        ("h:2x3x4@10", {}, 48, (8 + 12 + 6) * 2, (80 + 120 + 60) * 2),
        ("hc:2x3x4@10", {}, 192, (8 + 12 + 6) * 4, (80 + 120 + 60) * 4),
        ("s:2x3x4@10", {"beta": "any"}, 48, (8 + 12 + 6 + 6) * 4, (80 + 120 + 60) * 4),
        ("s:2x3x4@10", {"beta": "1"}, 48, (8 + 12 + 6 + 6) * 4, (80 + 120 + 60) * 4),
        ("s:2x3x4@10", {"stride_b": 0}, 48, (8 + 6) * 4, (80 + 12 + 60) * 4),
        ("s:2x3x4@10", {"stride_a": 0}, 48, (12 + 6) * 4, (8 + 120 + 60) * 4),
        ("d:2x3x0@10", {}, 0, 6 * 8, 60 * 8),
    ],
)
def test_operations_and_bytes(
    text: str, fields: dict[str, Any], flops: int, moved: int, footprint: int
) -> None:
    problem = one(text, **fields)
    assert (problem.flops, problem.bytes, problem.footprint) == (flops, moved, footprint)


@pytest.mark.parametrize(
    ("letter", "itemsize", "roundoff"),
    [("h", 2, 2.0**-24), ("b", 2, 2.0**-24), ("s", 4, 2.0**-24), ("d", 8, 2.0**-53),
     ("c", 8, 2.0**-24), ("z", 16, 2.0**-53), ("hc", 4, 2.0**-24)],
)  # fmt: skip
def test_element_types(letter: str, itemsize: int, roundoff: float) -> None:
    dtype = DTYPES[letter]
    assert (dtype.letter, dtype.itemsize, dtype.unit_roundoff) == (letter, itemsize, roundoff)


# ---- values


def test_a_problem_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        BASE.m = 5  # type: ignore[misc]


def test_a_config_cannot_be_changed() -> None:
    given_values = {"mr": 8}
    config = Config(given_values)
    with pytest.raises(TypeError):
        config["mr"] = 4  # type: ignore[index]
    with pytest.raises(AttributeError):
        config.mr = 4  # type: ignore[attr-defined]
    given_values["mr"] = 4
    assert config["mr"] == 8
    assert config.with_(mr=4, nr=2) == Config({"mr": 4, "nr": 2})
    assert config == Config({"mr": 8})


@given(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3) | st.booleans(), max_size=4))
def test_the_order_of_names_does_not_matter_to_a_config(values: dict[str, Any]) -> None:
    orders = [Config(dict(order)) for order in permutations(values.items())]
    assert len(set(orders)) == 1
    assert len({hash(config) for config in orders}) == 1
    assert all(config == orders[0] for config in orders)


def test_configs_differ_by_name_and_by_value() -> None:
    configs = [
        Config(values) for values in ({"a": 1, "b": 2}, {"a": 2, "b": 1}, {"a": 1}, {"a": 1, "c": 2}, {})
    ]
    assert len(set(configs)) == len(configs)
    assert Config({"a": 1}) != {"a": 1}


def test_a_config_is_a_mapping_in_the_order_it_was_given() -> None:
    config = Config({"nr": 2, "mr": 8})
    assert dict(**config) == {"nr": 2, "mr": 8}
    assert (list(config), len(config), repr(config)) == (["nr", "mr"], 2, "nr=2 mr=8")


def test_a_config_can_be_sent_to_another_process() -> None:
    config = Config({"nr": 2, "mr": 8})
    assert pickle.loads(pickle.dumps(config)) == config


def test_a_device_gives_its_limits_and_can_be_a_key() -> None:
    device = Device("cpu", "a name", "key", {"cores": 4}, "flags")
    assert device["cores"] == 4
    with pytest.raises(KeyError):
        device["warp_size"]
    assert hash(device) == hash(replace(device, ceilings={"peak.d.1": 1e9}))


@pytest.mark.parametrize(
    "change",
    [{"text": "other"}, {"entry": "other"}, {"headers": (("a.h", "x"),)}, {"defines": (("N", "4"),)}],
)
def test_all_that_is_compiled_is_in_the_digest(change: dict[str, Any]) -> None:
    source = Source("text", "entry")
    assert replace(source, **change).digest != source.digest
    assert replace(source, expect=(("fma", 3),)).digest == source.digest


@pytest.mark.parametrize("text", [None, 5, [], {}, b"d:8x8x8"])
def test_what_is_no_text_is_no_spelling(text: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^problem=.*accepted: TYPE"):
        Problem.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "d:2147483648x1x1", "d:1x99999999999999999999x1", f"d:{'9' * 5000}x1x1", f"d:1x1x{'0' * 5000}1",
        f"d:8@{'9' * 5000}", f"d:8@{2**48}", f"d:{'9' * 5000}", f"d:1..{'9' * 5000}", "d:1..2147483648",
    ],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_sizes_that_no_memory_holds_are_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"accepted: .*up to 2147483647") as refusal:
        Problem.parse(text)
    assert len(str(refusal.value)) < 300


def test_the_largest_sizes_are_accepted() -> None:
    (problem,) = Problem.parse(f"d:2147483647x2147483647x0@{2**47}")
    assert (problem.m, problem.n, problem.batch) == (2**31 - 1, 2**31 - 1, 2**47)


def test_a_range_has_a_limit() -> None:
    assert len(Problem.parse("d:1..10000")) == 10_000
    for text in ("d:1..10001", "d:1..100000000"):
        with pytest.raises(ArgumentError, match=r"accepted: ranges of up to 10000 sizes"):
            Problem.parse(text)
