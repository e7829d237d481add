"""Calls on arrays that must be copied, cast or launched several times: planned once, and then looked up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.cpu.test_pieces import close, laid, made
from tilewright.runtime import call_cache, host_calls

pytestmark = pytest.mark.cpu

Calls = Callable[[Callable[[], object]], int]
FEW = 60
"""Python calls of a call that is looked up, of several launches at most; one that is planned goes through
hundreds."""


def cases(rng: np.random.Generator) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    a, b = made(rng, 40, 5, 3, dtype="f8"), made(rng, 40, 3, 4, dtype="f8")
    many = made(rng, 40, 6, dtype="f8")
    return {
        "a vector": (laid(a, "steps"), b[0, :, 0]),
        "a vector of another type": (b[0, :, 0].astype("f4"), b),
        "two vectors": (many[0].astype("f4"), many[1]),
        "every second number of one": (many[0, ::2].astype("f4"), b),
        "steps": (laid(a, "steps"), b),
        "last beside rows": (a, laid(b, "last")),
        "float32 beside float64": (a.astype("f4"), b),
        "complex beside real, by columns": (a, laid(b, "columns").astype("c16", "K")),
        "whole numbers beside steps": (np.arange(600).reshape(40, 5, 3), laid(b, "steps")),
        "several batch axes": (a.reshape(8, 5, 1, 5, 3), made(rng, 1, 5, 6, 3, 4, dtype="f8")),
        "axes in turns": (a.reshape(8, 5, 5, 3).swapaxes(0, 1), b.reshape(5, 8, 3, 4)),
    }


@pytest.mark.parametrize("name", list(cases(np.random.default_rng(0))))
def test_the_second_call_is_looked_up(name: str, calls_of: Calls) -> None:
    a, b = cases(np.random.default_rng(1))[name]
    want = np.matmul(a, b)
    for out in (None, np.empty_like(want), *([laid(np.empty_like(want), "last")] if want.ndim > 2 else [])):
        for factor in (1, 2):
            values = (a * factor).astype(a.dtype)
            again = np.ndarray(a.shape, a.dtype, np.zeros(2 * a.size, a.dtype), 0, a.strides)
            again[...] = values
            close(tw.matmul(again, b, out=out), factor * want)
        if out is None or out.flags.c_contiguous or out.ndim == 3:
            assert calls_of(lambda out=out: tw.matmul(a, b, out=out)) <= FEW  # type: ignore[misc]


@pytest.mark.parametrize("trans", ["nn", "tn", "nt", "ct"])
def test_gemm_with_an_update(trans: str, calls_of: Calls) -> None:
    """The result is read before it is written, in the copy, too."""
    rng = np.random.default_rng(2)
    a, b = made(rng, 30, 4, 4, dtype="c16"), laid(made(rng, 30, 4, 4, dtype="c16"), "steps")
    turned = [x.swapaxes(-2, -1) if letter != "n" else x for x, letter in zip((a, b), trans, strict=True)]
    turned = [x.conj() if letter == "c" else x for x, letter in zip(turned, trans, strict=True)]
    options: dict[str, Any] = {"alpha": 2, "beta": 0.5, "trans_a": trans[0], "trans_b": trans[1]}
    for layout in ("rows", "last"):
        out = laid(made(rng, 30, 4, 4, dtype="c16"), layout)
        for _ in range(3):
            want = 2 * np.matmul(*turned) + out / 2
            assert tw.gemm(a, b, out=out, **options) is out
            close(out, want)
        assert calls_of(lambda out=out: tw.gemm(a, b, out=out, **options)) <= FEW  # type: ignore[misc]
    c = made(rng, 30, 4, 4, dtype="c16")
    for _ in range(3):
        close(tw.gemm(a, b, c, **options), 2 * np.matmul(*turned) + c / 2)


def test_what_overlaps_is_right_whatever_was_called_before() -> None:
    rng = np.random.default_rng(3)
    b = made(rng, 4, 4, dtype="f8")
    for shift in (1, 0, 1):
        base = made(rng, 41, 4, 8, dtype="f8")
        # Of one layout: apart from one another, or one matrix further in the same memory.
        a, apart = base[:40, :, ::2], made(rng, 41, 4, 8, dtype="f8")[1:, :, 1::2]
        out = base[shift:][:40, :, ::2] if shift else apart
        want = np.matmul(a, b)
        close(tw.matmul(a, b, out=out), want)


def test_other_types_and_what_may_not_be_written_are_seen() -> None:
    rng = np.random.default_rng(4)
    a, b = laid(made(rng, 40, 5, 3, dtype="f8"), "steps"), made(rng, 40, 3, 4, dtype="f8")
    out = np.empty((40, 5, 4))
    for _ in range(2):
        close(tw.matmul(a, b, out=out), np.matmul(a, b))
    single = b.astype("f4")
    close(tw.matmul(a, b.astype("c16"), out=np.empty((40, 5, 4), "c16")), np.matmul(a, b))
    close(tw.matmul(a, single), np.matmul(a, single))
    out.flags.writeable = False
    with pytest.raises((tw.ArgumentError, ValueError)):
        tw.matmul(a, b, out=out)


def odd(values: np.ndarray, shift: int = 1) -> np.ndarray:
    """The same values with the same strides, some bytes from where their type wants them."""
    made_of = bytearray(values.nbytes + 64)
    made = np.ndarray(values.shape, values.dtype, made_of, shift)
    made[...] = values
    return made


def test_arrays_that_are_aligned_or_not_have_ways_of_their_own(calls_of: Calls) -> None:
    rng = np.random.default_rng(5)
    a, b, c = (
        made(rng, 40, 5, 3, dtype="f8"),
        made(rng, 40, 3, 4, dtype="f8"),
        made(rng, 40, 5, 4, dtype="f8"),
    )
    plan = tw.plan(a, b)
    ways = [[odd(x) if at >> place & 1 else x for place, x in enumerate((a, b, c))] for at in range(8)]
    for _ in range(2):
        for x, y, z in ways:
            want = np.matmul(x, y)
            close(tw.matmul(x, y), want)
            close(plan(x, y), want)
            into = z.copy() if z is c else odd(z)
            for call in (lambda: tw.matmul(x, y, into), lambda: plan(x, y, out=into)):  # noqa: B023
                into[...] = 7
                assert call() is into
                close(into, want)
            before = into.copy()
            tw.gemm(x, y, out=into, beta=2)
            close(into, want + 2 * before)
    for x, y, z in ways:
        into = z.copy() if z is c else odd(z)
        for call in (
            lambda: tw.matmul(x, y),  # noqa: B023
            lambda: tw.matmul(x, y, into),  # noqa: B023
            lambda: tw.gemm(x, y, out=into, beta=2),  # noqa: B023
            lambda: plan(x, y),  # noqa: B023
            lambda: plan(x, y, out=into),  # noqa: B023
        ):
            assert calls_of(call) <= 10
    # A call on aligned arrays goes through a look more than where there was no other, and through no copy.
    plain = calls_of(lambda: tw.matmul(a, b))
    tw.forget()
    for _ in range(2):
        tw.matmul(a, b)
    assert plain <= calls_of(lambda: tw.matmul(a, b)) + 1
    # Its way is that of the kernel, which refuses others.
    tw.matmul(odd(a), b)
    fast = call_cache.FAST[host_calls.looks(a, b)][0]
    assert fast.ways[True, True, True](a, odd(b), c) is NotImplemented


def test_fields_of_packed_records() -> None:
    rng = np.random.default_rng(6)
    a, b = made(rng, 6, 5, 3, dtype="f8"), made(rng, 6, 3, 4, dtype="f8")
    for kind in ([("tag", "u1"), ("value", "f8")], [("value", "f8"), ("tag", "u4")]):
        x, y, out = (np.zeros(shape, kind) for shape in (a.shape, b.shape, (6, 5, 4)))
        for turn in range(1, 4):
            x["value"], y["value"] = turn * a, b
            want = turn * np.matmul(a, b)
            close(tw.matmul(x["value"], y["value"]), want)
            assert np.shares_memory(tw.matmul(x["value"], y["value"], out["value"]), out)
            close(out["value"], want)
        assert not x["tag"].any()
        assert not out["tag"].any()
