"""What goes into a store or a line of text comes out again."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pure.records.samples import DEVICE, PROBLEM, best, record
from tilewright.errors import RecordsError
from tilewright.model import DTYPES, STATUSES, Config, Interleaved, Problem, Record, Timing
from tilewright.store import codecs
from tilewright.store.fields import checks
from tilewright.store.jsonl import decode, encode
from tilewright.store.records import Records

pytestmark = pytest.mark.pure


NUMBERS = st.floats(allow_nan=False)
TEXTS = st.text(max_size=5)
VALUES = st.integers() | st.booleans() | TEXTS | st.tuples(st.integers(), TEXTS) | st.none()


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Any record: every status, with and without a timing, every field of a problem, texts of any kind."""
    letters = st.sampled_from("ntcj")
    sizes = [draw(st.integers(0, 99)) for _ in range(3)]
    layout = draw(
        st.fixed_dictionaries(
            {},
            optional={
                **dict.fromkeys(("lda", "ldb", "ldc", "stride_c"), st.integers(99, 200)),
                **dict.fromkeys(("stride_a", "stride_b"), st.just(0)),
                "alpha": st.just("any"), "beta": st.sampled_from(["1", "any"]), "math": st.just("tf32"),
                "align": st.sampled_from([1, 2, 4, 8]), "pointers": st.just(True),
            },
        )
    )  # fmt: skip
    problem = Problem(  # type: ignore[call-arg]
        DTYPES[draw(st.sampled_from(sorted(DTYPES)))], *sizes, draw(letters), draw(letters),
        draw(st.integers(1, 10**6)), **layout,
    )  # fmt: skip
    timed = st.builds(
        Timing, st.lists(NUMBERS, max_size=3).map(tuple), NUMBERS, NUMBERS, NUMBERS, TEXTS,
        st.integers(0, 10**6), st.integers(0, 9),
    )  # fmt: skip
    return Record(
        problem, draw(TEXTS), draw(TEXTS), Config(draw(st.dictionaries(TEXTS, VALUES, max_size=3))),
        draw(st.sampled_from(STATUSES)), draw(TEXTS), draw(TEXTS), draw(TEXTS),
        draw(st.none() | NUMBERS), draw(st.none() | timed), draw(st.none() | NUMBERS), draw(TEXTS),
        draw(st.integers(0, 9)), draw(TEXTS), draw(TEXTS), draw(TEXTS),
    )  # fmt: skip


@given(records())
def test_a_line_of_text_holds_all_of_a_record(original: Record) -> None:
    line = json.dumps(encode(original), allow_nan=False)
    assert decode(json.loads(line)) == original


@given(records())
def test_without_samples_only_the_samples_are_missing(original: Record) -> None:
    bare = original.timing and replace(original.timing, samples=())
    assert decode(encode(original, samples=False)) == replace(original, timing=bare)


def different(name: str) -> Any:
    """A value of a problem's field that is not its default: by its name, else by the default's type."""
    named = {
        "dtype": DTYPES["z"],
        "trans_a": "t",
        "trans_b": "c",
        "alpha": "any",
        "beta": "1",
        "math": "tf32",
        "interleaved": Interleaved(),
        "outer": ((3, 4, 0, 16),),
    }
    plain = getattr(PROBLEM, name)
    if name in named or type(plain) is str:
        return named.get(name, "another")
    return not plain if type(plain) is bool else plain // 2 if name == "align" else plain + 9


@pytest.mark.parametrize("name", [each.name for each in fields(Problem)])
def test_a_record_is_found_under_the_key_of_its_own_problem(store: Records, name: str) -> None:
    """Whatever field a problem has: a line holds it, and the record does not compete with another's."""
    changed = {name: different(name)}
    other = PROBLEM.with_(**changed) if name == "interleaved" else replace(PROBLEM, **changed)
    assert other != PROBLEM
    mine, plain = record(1e-9, other), record(1.0)
    for each in (mine, plain):
        store.append(each)
    if name != "batch":  # which no key holds
        assert best(store, other) == mine
        assert best(store) == plain
    (newest,) = store.tried(other, "memory", DEVICE, "tile", 1, "llvm 20").values()
    assert newest == (mine if name != "batch" else plain)
    assert store.all() == [mine, plain]


@dataclass(frozen=True)
class Longer:
    """A noun with a field that has the given kind of value."""

    count: int
    extra: complex


def test_a_field_whose_value_no_line_can_hold_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"Longer\.extra.*complex"):
        checks(Longer, (), {})
    assert list(checks(Longer, ("extra",), {})) == ["count"]


def test_a_new_field_of_a_problem_is_in_the_line_by_itself() -> None:
    @dataclass(frozen=True, slots=True)
    class Grown(Problem):
        shade: str = "light"
        depth: int = 0

    codec = codecs.gemm_codec(Grown)
    problem = Grown(DTYPES["d"], 2, 3, 4, shade="dark", depth=5)
    line = json.loads(json.dumps(codec.encode(problem)))
    assert line == {"problem": "d:nn:2x3x4@1", "shade": "dark", "depth": 5}
    assert codec.decode(line) == problem


def test_another_kind_of_problem_has_a_codec_of_its_own(
    store: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True, slots=True)
    class Sum:
        m: int
        key: str = "sum"
        family: str = "sums"

        @property
        def extents(self) -> tuple[int, int, int]:
            return self.m, 1, 1

    codec = codecs.Codec(
        "sum", Sum, {"m": ("a count", lambda value: value > 0)}, lambda p: {"m": p.m}, lambda v: Sum(v["m"])
    )
    with pytest.raises(RecordsError, match="Sum"):
        store.append(record(problem=Sum(3)))  # type: ignore[arg-type]
    monkeypatch.setitem(codecs.CODECS, "sum", codec)
    one = record(problem=Sum(3))  # type: ignore[arg-type]
    store.append(one)
    assert encode(one)["kind"] == "sum"
    assert store.best("sum", "memory", DEVICE) == one
    with pytest.raises(RecordsError, match="kind='riddle'"):
        decode(encode(record()) | {"kind": "riddle"})


def test_a_record_comes_back_whole_from_another_connection(store: Records) -> None:
    full = record(
        1e-4, PROBLEM.with_(ldc=12, beta="any"), config={"nr": 4, "mr": 8, "order": ("n", "m"), "mask": True},
        source="abc", seconds=1.5, error=0.25, detail="two\nlines | ü", clocks="3.1 GHz",
        driver="none", when="2030-01-02T03:04:05Z",
    )  # fmt: skip
    store.append(full)
    store.close()
    (found,) = Records(store.path).all()
    assert found == full
    assert list(found.config) == ["nr", "mr", "order", "mask"]


def test_an_error_that_is_no_number_is_kept(store: Records) -> None:
    store.append(record(None, status="wrong", error=float("nan")))
    (found,) = store.all()
    assert found.error is not None
    assert found.error != found.error


def test_numpy_numbers_are_stored_as_numbers(store: Records) -> None:
    store.append(record(config={"mr": np.int64(8), "fast": np.bool_(True)}, protocol=np.int32(1)))
    (found,) = store.all()
    assert found.config == Config({"mr": 8, "fast": True})
    assert type(found.config["mr"]) is int


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"status": "splendid"}, "status='splendid'"),
        ({"config": Config({"f": len})}, "cannot be written"),
        ({"protocol": -1}, "protocol=-1"),
    ],
)
def test_a_record_that_could_not_be_read_back_is_refused(
    store: Records, bad: dict[str, Any], told: str
) -> None:
    with pytest.raises(RecordsError, match=told):
        store.append(record(**bad))
    assert store.all() == []


def test_all_filters_by_each_value_and_keeps_the_order(store: Records) -> None:
    plain = record(config={"n": 0})
    others = {
        "problem_key": record(problem="d:9x9x9"),
        "regime": record(regime="cached"),
        "device": replace(plain, device="other"),
        "stencil": replace(plain, stencil="other"),
        "status": replace(plain, status="spills", timing=None),
    }
    values = {
        "problem_key": PROBLEM.key,
        "regime": "memory",
        "device": DEVICE,
        "stencil": "tile",
        "status": "ok",
    }
    tries = [*others.values(), plain]
    for each in tries:
        store.append(each)

    assert store.all() == tries
    assert store.all(**values) == [plain]
    for name, other in others.items():
        assert store.all(**{name: values[name]}) == [each for each in tries if each is not other]
