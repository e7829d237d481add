"""Lists of small arrays that come again: products by builtins, and what these and the look still see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tests.cpu.test_forms import laid
from tests.products import PATIENT, close, filled, op
from tilewright.calls import batched, grouped, product, small_lists
from tilewright.errors import ArgumentError, DTypeError
from tilewright.runtime.bound_cpu import RELEASE_FLOPS

pytestmark = pytest.mark.cpu

FORMS: dict[str, Callable[..., Any]] = {"batched": tw.gemm_batched, "grouped": tw.gemm_grouped}


def refuse(*_: Any, **__: Any) -> None:
    raise AssertionError("the slow path")


def refusing(patch: pytest.MonkeyPatch) -> None:
    """No call on lists but those that are looked up from now on."""
    patch.setattr(batched, "run", refuse)
    patch.setattr(grouped, "planned", refuse)


def lists(
    form: str, count: int = 5, dtype: Any = "f8", seed: int = 0
) -> tuple[list[Any], list[Any], list[Any]]:
    """Operands and outputs: of one size, or of several with a stack among them."""
    sizes = [(3, 2, 4)] * count if form == "batched" else [(2 + i % 3, 2, 4 - i % 2) for i in range(count)]
    a = [filled((m, k), dtype, seed + i) for i, (m, k, _) in enumerate(sizes)]
    b = [filled((k, n), dtype, seed + 50 + i) for i, (_, k, n) in enumerate(sizes)]
    if form == "grouped":
        a[-1] = filled((2, 3, 2), dtype, seed)
    return a, b, [np.empty_like(np.matmul(x, y)) for x, y in zip(a, b, strict=True)]


def same(made: Any, a: Any, b: Any) -> None:
    assert len(made) == len(a)
    for got, x, y in zip(made, a, b, strict=True):
        close(got, np.matmul(x, y))


@pytest.mark.parametrize("form", FORMS)
def test_the_third_call_is_looked_up(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tw.forget()
    call = FORMS[form]
    for turn in range(4):
        if turn == 2:
            refusing(monkeypatch)
        a, b, out = lists(form, seed=turn)
        made = call(a, b)
        same(made, a, b)
        assert type(made) is list
        assert len({x.ctypes.data for x in made}) == len(made)
        assert len({id(x.base if x.base.base is None else x.base.base) for x in made}) == 1
        assert call(tuple(a), tuple(b), out=out) is out
        same(out, a, b)
        before = [x.copy() for x in out]
        assert call(a, b, out, out=out, alpha=2, beta=0.5) is out
        for got, x, y, z in zip(out, a, b, before, strict=True):
            close(got, 2 * np.matmul(x, y) + z / 2)
    tw.forget()
    with pytest.raises(AssertionError, match="slow path"):
        call(a, b)


@settings(PATIENT, max_examples=15)
@given(st.data())
def test_any_layouts_types_and_letters(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(list(FORMS)))
    dtype = np.dtype(data.draw(st.sampled_from(["f4", "f8", "c16"])))
    left, right = (data.draw(st.sampled_from("ntc")) for _ in range(2))
    count, how = data.draw(st.integers(1, 4)), data.draw(st.lists(st.integers(0, 3), min_size=3, max_size=3))
    beta = data.draw(st.sampled_from([0, 1, -0.5]))
    for turn in range(4):
        a = [laid(filled((2, 3) if left == "n" else (3, 2), dtype, turn + i), how[0]) for i in range(count)]
        b = [
            laid(filled((3, 4) if right == "n" else (4, 3), dtype, 40 + turn - i), how[1])
            for i in range(count)
        ]
        out = [laid(filled((2, 4), dtype, turn + 7 * i), how[2] % 3) for i in range(count)]
        want = [1.5 * (op(x, left) @ op(y, right)) for x, y in zip(a, b, strict=True)]
        added = [(x + beta * z).astype(dtype) for x, z in zip(want, out, strict=True)]
        options: dict[str, Any] = {"alpha": 1.5, "trans_a": left, "trans_b": right}
        for got, x in zip(FORMS[form](a, b, **options), want, strict=True):
            close(got, x.astype(dtype))
        assert FORMS[form](a, b, out=out, beta=beta, **options) is out
        for got, x in zip(out, added, strict=True):
            close(got, x)


def odd(x: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape)


class Other(np.ndarray):
    """A class of arrays that may mean something else by everything."""


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gave, or how it refused."""
    try:
        return call()
    except (ArgumentError, DTypeError) as error:
        return str(error).split(" at 0x")[0]


CHANGES: dict[str, Callable[[np.ndarray], Any]] = {
    "type": lambda x: x.astype("f4"),
    "byte order": lambda x: x.astype(">f8"),
    "by columns": np.asfortranarray,
    "turned": lambda x: x.T,
    "unaligned": odd,
    "class": lambda x: x.view(Other),
    "a list": lambda x: x.tolist(),
    "another size": lambda x: np.concatenate([x, x]),
    "one axis": lambda x: x[0],
    "no array": lambda x: None,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("which", ["a", "b", "out"])
def test_what_is_not_as_before_is_seen(form: str, change: str, which: str) -> None:
    """The answer, or the refusal, is that of a call before which there was none."""
    a, b, out = lists(form)
    given = {"a": [*a], "b": [*b], "out": [*out]}
    given[which][2] = CHANGES[change](given[which][2])
    for into in (False, True):

        def call(into: bool = into) -> Any:
            return FORMS[form](given["a"], given["b"], out=given["out"] if into else None)

        tw.forget()
        expected = outcome(call)
        for _ in range(3):
            same(FORMS[form](a, b), a, b)
            same(FORMS[form](a, b, out=out), a, b)
        for x in out:
            x[...] = 7
        found = outcome(call)
        if isinstance(expected, str):
            assert found == expected
            # Nothing was written before it was refused.
            assert not into or all((x == 7).all() for x in out)
        else:
            for got, want in zip(found, expected, strict=True):
                close(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize("form", FORMS)
def test_outputs_that_overlap_or_may_not_be_written(form: str) -> None:
    a, b, out = lists(form)
    for _ in range(3):
        same(FORMS[form](a, b, out=out), a, b)
    size = out[0].size
    memory = np.zeros(3 * size)
    twice = [memory[:size].reshape(out[0].shape), *out[1:]]
    for at, start in ((3, 0), (3, size // 2)):
        wrong = [*twice]
        wrong[at] = memory[start : start + out[at].size].reshape(out[at].shape)
        with pytest.raises(ArgumentError, match=r"out\[0\] and out\[3\] share memory"):
            FORMS[form](a, b, out=wrong)
    assert not memory.any()
    inside = [*a]
    inside[1] = memory[: a[1].size].reshape(a[1].shape)
    with pytest.raises(ArgumentError, match=r"out\[0\] shares memory with a\[1\]"):
        FORMS[form](inside, b, out=twice)
    assert not memory.any()
    frozen = [np.zeros_like(x) for x in out]
    frozen[2].flags.writeable = False
    with pytest.raises(ArgumentError, match=r"out\[2\].*read-only"):
        FORMS[form](a, b, out=frozen)
    assert not frozen[0].any()
    # Between one another, as parts of one array, they are apart.
    if form == "batched":
        room = np.zeros((3, 4 * len(a)))
        parts = [room[:, 4 * i : 4 * i + 4] for i in range(len(a))]
        for _ in range(3):
            same(FORMS[form](a, b, out=parts), a, b)


@pytest.mark.parametrize("form", FORMS)
def test_lists_of_other_lengths_and_options(form: str) -> None:
    a, b, out = lists(form)
    for _ in range(3):
        FORMS[form](a, b)
        FORMS[form](a, b, out=out)
    for wrong in ((a[:-1], b, None), (a, b[:-1], None), (a, b, out[:-1])):
        with pytest.raises(ArgumentError, match="elements"):
            FORMS[form](*wrong[:2], out=wrong[2])
    with pytest.raises(ArgumentError, match="without c"):
        FORMS[form](a, b, beta=1)
    with pytest.raises(ArgumentError, match="alpha"):
        FORMS[form](a, b, alpha="1")
    with pytest.raises(ArgumentError, match="trans"):
        FORMS[form](a, b, trans_a="x")
    with pytest.raises(ArgumentError, match=r"accepted: (a )?real number"):
        FORMS[form](a, b, alpha=1j)
    for _ in range(3):
        # With alpha 0 nothing of a is read.
        made = FORMS[form]([np.full_like(x, np.nan) for x in a], b, alpha=0)
        assert not any(x.any() for x in made)
        c = [filled(x.shape, seed=3) for x in out]
        for got, x, y, z in zip(FORMS[form](a, b, c, beta=2), a, b, c, strict=True):
            close(got, np.matmul(x, y) + 2 * z)
    assert FORMS[form]([], []) == []


def test_long_lists_large_products_and_copies_are_planned_together() -> None:
    tw.forget()
    for count, n in ((small_lists.MOST + 1, 2), (2, 170), (3, 4)):
        a = [filled((n, n), seed=i) for i in range(count)]
        # Of the last ones some have to be copied.
        a = [x if n > 4 else laid(x, 3) for x in a]
        for _ in range(3):
            same(tw.gemm_batched(a, a), a, a)
    assert not any(each.functions for each in small_lists.LISTS.values())


def test_a_plan_of_lists_runs_its_kernels(calls_of: Callable[[Callable[[], object]], int]) -> None:
    a, b, out = lists("grouped")
    plan = tw.plan_grouped(a, b, out=out)
    for turn in range(3):
        for x in a:
            x += turn
        assert plan() is out
        same(out, a, b)
    few = calls_of(lambda: tw.plan_grouped(a[:1], b[:1])())
    assert calls_of(plan) < few


def test_lists_in_place_of_arrays_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    tw.forget()
    a, b = filled((4, 3, 3)), filled((4, 3, 3), seed=1)
    first = tw.matmul(list(a), list(b))
    close(first, np.matmul(a, b))
    into = np.empty_like(a)
    tw.matmul(list(a), b, into)
    monkeypatch.setattr(product, "run", refuse)
    for left, right in ((list(a), list(b)), (a.tolist(), b), (a, list(b))):
        close(tw.matmul(left, right), np.matmul(a, b))
    assert tw.matmul(a.tolist(), list(b), into) is into
    close(into, np.matmul(a, b))
    with pytest.raises(AssertionError, match="slow path"):
        tw.matmul(list(a)[:2], list(b)[:2])


@pytest.mark.parametrize("form", FORMS)
def test_one_builtin_serves_a_list_however_long(
    form: str, calls_of: Callable[[Callable[[], object]], int]
) -> None:
    counted = set()
    for count in (2, 60):
        tw.forget()
        a, b, out = lists(form, count)
        for _ in range(3):
            FORMS[form](a, b, out=out)
        counted.add(calls_of(lambda a=a, b=b, out=out: FORMS[form](a, b, out=out)))  # type: ignore[misc]
        (known,) = small_lists.LISTS.values()
        assert known.whole(*a, *b, *out) is out[-1]
        for fewer in ((*a, *b, *out[1:]), (*a, *b, *out, out[0]), ()):
            assert known.whole(*fewer) is NotImplemented
    assert len(counted) == 1


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
def test_any_two_arrays_that_meet_are_seen(count: int, whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one element at either end, wherever they stand in their lists; and neighbours do not meet."""
    tw.forget()
    if not whole:
        monkeypatch.setattr(small_lists, "together", lambda *_, **__: None)
    size, names = 9, ("a", "b", "out")
    room = np.zeros(3 * count * size + 2)
    places = list(range(1, 3 * count * size, size))

    def given(moved: tuple[int, int] | None = None) -> dict[str, list[np.ndarray]]:
        starts = [place + (moved[1] if moved and at == moved[0] else 0) for at, place in enumerate(places)]
        # The lists in turns, so that each array has neighbours of the other ones.
        parts = [room[start : start + size].reshape(3, 3) for start in starts]
        return {name: parts[at::3] for at, name in enumerate(names)}

    for _ in range(3):
        tw.gemm_batched(**given())
    assert all(bool(known.whole) is whole for known in small_lists.LISTS.values())
    for at in range(3 * count):
        for step in (-1, 1):
            room[:] = np.random.default_rng(at).integers(-3, 4, room.size)
            arrays, before = given((at, step)), room.copy()
            want = [x @ y for x, y in zip(arrays["a"], arrays["b"], strict=True)]
            meets = 0 <= at + step < 3 * count and "out" in (names[at % 3], names[(at + step) % 3])
            if meets:
                with pytest.raises(ArgumentError, match="share"):
                    tw.gemm_batched(**arrays)
                assert (room == before).all()
            else:
                tw.gemm_batched(**arrays)
                for got, x in zip(arrays["out"], want, strict=True):
                    assert (got == x).all()


@pytest.mark.parametrize("count", [2, 3, 6, 9])
def test_any_two_outputs_that_meet_are_seen(count: int) -> None:
    a, b, out = ([filled((3, 3), seed=i + 10 * at) for i in range(count)] for at in range(3))
    for _ in range(3):
        tw.gemm_batched(a, b, out=out)
    before = [x.copy() for x in out]
    for one in range(count):
        for other in range(one):
            wrong = [*out]
            # One element of theirs, or all.
            room = np.zeros(17 if one == other + 1 else 9)
            wrong[other], wrong[one] = room[:9].reshape(3, 3), room[-9:].reshape(3, 3)
            with pytest.raises(ArgumentError, match=rf"out\[{other}\] and out\[{one}\] share memory"):
                tw.gemm_batched(a, b, out=wrong)
    for x, y in zip(out, before, strict=True):
        assert (x == y).all()


def test_lists_in_place_and_an_output_twice_are_refused_as_before() -> None:
    a, b, out = ([filled((4, 4), seed=i + 10 * at) for i in range(5)] for at in range(3))
    for _ in range(3):
        tw.gemm_batched(a, b, out=out)
    before = [x.copy() for x in (*a, *b, *out)]
    for wrong in (a, b, [*out[:4], out[1]], [*out[:4], a[0]], [*out[:3], b[4].T, out[4]]):
        with pytest.raises(ArgumentError, match="share"):
            tw.gemm_batched(a, b, out=wrong)
    for x, y in zip((*a, *b, *out), before, strict=True):
        assert (x == y).all()
    # Operands may be one another.
    assert tw.gemm_batched(a, a, out=out) is out
    same(out, a, a)


def test_memory_that_was_freed_and_taken_again() -> None:
    """Addresses are read at each call: those of arrays that are gone say nothing."""
    tw.forget()
    for turn in range(40):
        room = np.zeros(16 * 9)
        order = np.random.default_rng(turn).permutation(9)
        parts = [room[16 * at : 16 * at + 16].reshape(4, 4) for at in order]
        for at, x in enumerate(parts):
            x[...] = filled((4, 4), seed=turn + at)
        a, b, out = parts[:3], parts[3:6], parts[6:]
        assert tw.gemm_batched(a, b, out=out) is out
        same(out, a, b)
        if turn > 3:
            with pytest.raises(ArgumentError, match="share"):
                tw.gemm_batched(a, b, out=[out[0], out[2], out[0]])


def test_other_threads_run_beside_long_lists() -> None:
    tw.forget()
    a = [filled((32, 32), seed=i) for i in range(20)]
    out = [np.empty_like(x) for x in a]
    assert RELEASE_FLOPS < 20 * 2 * 32**3
    for turn in range(4):
        for x in out:
            x[...] = turn
        assert tw.gemm_batched(a, a, out=out, alpha=2, beta=3) is out
        for x, got in zip(a, out, strict=True):
            close(got, 2 * x @ x + 3 * turn)
    assert any(known.whole for known in small_lists.LISTS.values())
