"""Groups on the device without one: shapes, layouts, what is launched, borders, and the stencil's space.

The launcher does in NumPy, on host memory, what the kernel would do with its argument block.
"""

from __future__ import annotations

import contextlib
import random
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tilewright as tw
import tilewright.stencils.cuda.segments.stencil as module
from tilewright.arrays import backend as lookup
from tilewright.arrays import dlpack
from tilewright.arrays.library import Library
from tilewright.arrays.segments import shapes_of
from tilewright.arrays.view import ArrayView, Looker, Owner, address_of, view_at
from tilewright.calls import segments as calls
from tilewright.calls import settings
from tilewright.calls.segments import clamped
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError, DTypeError
from tilewright.model import DTYPES, Binary, Config, Device, Kernel, Launch, Problem, SegmentedProblem
from tilewright.runtime import build
from tilewright.stencils.cuda.segments.needs import aligned
from tilewright.stencils.cuda.segments.stencil import LARGEST, SegmentsStencil, struct_segments, tiles
from tilewright.stencils.cuda.source import program
from tilewright.stencils.protocol import refused
from tilewright.targets.cuda import capability, devices, driver
from tilewright.targets.cuda.arguments import Pointer, Scalar, laid

pytestmark = pytest.mark.pure

SEGMENTS = SegmentsStencil()
H200, A100, FERMI = (capability.named(key) for key in ("h200", "a100", "fermi-s2050"))
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()


# ---- a GPU that is this processor


class Bare:
    """An array of no library on a GPU, with memory of NumPy's."""

    def __init__(self, array: np.ndarray):
        self.array = array
        self.__cuda_array_interface__ = {
            "data": (array.__array_interface__["data"][0], not array.flags.writeable),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "version": 3,
            "stream": None,
        }


def memory(address: int, shape: Sequence[int], steps: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Host memory as an array; strides in elements."""

    class Interface:
        __array_interface__ = {  # noqa: RUF012
            "data": (address, False),
            "shape": (1,),
            "strides": None,
            "typestr": dtype.str,
            "version": 3,
        }

    return as_strided(np.asarray(Interface()), tuple(shape), [step * dtype.itemsize for step in steps])


def compute(p: SegmentedProblem, block: bytes) -> None:
    """What the kernel does with its argument."""
    said: dict[str, int] = {}
    for each in laid(struct_segments(p))[0]:
        code = "Q" if isinstance(each.field, Pointer) else each.field.format
        (said[each.field.name],) = struct.unpack_from("<" + code, block, each.offset)
    dtype, (m, n, k) = p.dtype.numpy, (said[name] for name in "mnk")
    stacked = {"m": "b", "n": "a", "k": "c"}[p.axis]

    def operand(name: str, rows: int, columns: int, transposed: bool, conj: bool) -> np.ndarray:
        # All addresses and strides that wide accesses go by are as aligned as the problem says.
        assert said[name] % min(p.align, aligned(p)["abc".index(name)]) == 0
        count = said["groups"] if name == stacked else 1
        steps = (1, said[f"ld{name}"])
        found = memory(
            said[name],
            (said["batch"], count, rows, columns),
            (said[f"stride_{name}"], said[f"group_{name}"], *(steps[::-1] if transposed else steps)),
            dtype,
        )
        return found.conj() if conj else found

    a = operand("a", m, k, p.transposed_a, p.conj_a)
    b = operand("b", k, n, p.transposed_b, p.conj_b)
    c = operand("c", m, n, False, False)
    kind = np.dtype(np.int64 if said["wide"] else np.int32)
    ends = memory(said["offsets"], (said["groups"] + said["first"],), (1,), kind)
    if p.axis != "k":
        c[...] = 0
    for group, (begin, end) in enumerate(clamped(ends, p.length, p.groups, bool(said["sizes"]))):
        here = slice(begin, end)
        if p.axis == "m":
            c[:, 0, here] = a[:, 0, here] @ b[:, group]
        elif p.axis == "n":
            c[:, 0, :, here] = a[:, group] @ b[:, 0, :, here]
        else:
            c[:, group] = a[:, 0, :, here] @ b[:, 0, here]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[SegmentedProblem]]:
    """A machine whose GPU is this processor; the problems that were launched."""
    log: list[SegmentedProblem] = []

    class Launcher:
        def __init__(self, kernel: Kernel, launch: Launch, block: bytearray):
            self.problem, self.block = kernel.owner, block

        def __call__(self, stream: int = 0) -> None:
            log.append(self.problem)
            compute(self.problem, bytes(self.block))

    def kernel(stencil: str, problem: Any, config: Config, device: Device) -> Kernel:
        assert not [x for x in STENCILS[stencil].space(problem, device).why(config) if x.kind != "soft"]
        return Kernel(1, Binary(b"", stencil, ""), problem)

    monkeypatch.setattr(devices, "missing", lambda: None)
    monkeypatch.setattr(devices, "count", lambda: 1)
    monkeypatch.setattr(devices, "probe", lambda index=0: H200)
    monkeypatch.setattr(driver, "context", lambda index=0: 1)
    monkeypatch.setattr(driver, "current_device", lambda: 0)
    monkeypatch.setattr(driver, "Launcher", Launcher)
    monkeypatch.setattr(build, "kernel", kernel)
    monkeypatch.setattr(dlpack, "device_of", lambda address, name: 0)
    monkeypatch.setattr(lookup, "default_library", lambda: None)
    settings.forget()
    yield log
    settings.forget()


# ---- the call


def wanted(a: np.ndarray, b: np.ndarray, ranges: list[tuple[int, int]], split: str) -> np.ndarray:
    if split == "k":
        return np.stack([a[..., x:y] @ b[..., x:y, :] for x, y in ranges])
    lead = a[..., 0, 0] if split == "m" else a[0, ..., 0, 0]
    other = b[0, ..., 0, 0] if split == "m" else b[..., 0, 0]
    batch = np.broadcast_shapes(lead.shape, other.shape)
    out = np.zeros((*batch, a.shape[-2], b.shape[-1]), a.dtype)
    for group, (x, y) in enumerate(ranges):
        if split == "m":
            out[..., x:y, :] = a[..., x:y, :] @ b[group]
        else:
            out[..., x:y] = a[group] @ b[..., x:y]
    return out


def filled(draw: random.Random, shape: Sequence[int], dtype: str) -> np.ndarray:
    """Whole numbers, stored by rows, by columns, with gaps or backwards."""
    numbers = np.random.default_rng(draw.getrandbits(32))
    values = numbers.integers(-3, 4, shape).astype(dtype)
    values = values + (1j * numbers.integers(-3, 4, shape)).astype(dtype) if dtype[0] == "c" else values
    way = draw.choice(("rows", "columns", "gaps", "backwards"))
    if way == "columns":
        return np.ascontiguousarray(values.swapaxes(-1, -2)).swapaxes(-1, -2)
    if way == "gaps":
        wide = np.zeros((*shape[:-1], shape[-1] + draw.randint(1, 4)), dtype)
        wide[..., : shape[-1]] = values
        return wide[..., : shape[-1]]
    return np.ascontiguousarray(values[..., ::-1, :])[..., ::-1, :] if way == "backwards" else values


BATCHES = [((), ()), ((3,), ()), ((), (2,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((2, 1, 2), (1, 3, 2))]


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, str, bool, list[tuple[int, int]]]:
    draw = random.Random(seed)
    split, dtype = "mnk"[seed % 3], draw.choice(("f4", "f8", "c8", "c16"))
    length, x, y = (draw.choice((1, 4, 7, 16)) for _ in range(3))
    groups, (one, other) = draw.choice((1, 2, 5)), draw.choice(BATCHES)
    if split == "m":
        a, b = filled(draw, (*one, length, x), dtype), filled(draw, (groups, *other, x, y), dtype)
    elif split == "n":
        a, b = filled(draw, (groups, *one, x, y), dtype), filled(draw, (*other, y, length), dtype)
    else:
        a, b = filled(draw, (*one, x, length), dtype), filled(draw, (*other, length, y), dtype)
    given = [draw.randint(-2, length + 3) for _ in range(groups)]
    sizes = draw.random() < 0.3
    if not sizes and split != "k" and draw.random() < 0.3:
        given.insert(0, draw.randint(0, length))
    ends = np.array(given, draw.choice(("i4", "i8")))
    return a, b, ends, split, sizes, clamped(ends, length, groups, sizes)


@pytest.mark.parametrize("seed", range(40))
def test_any_layout_is_launched_or_said_to_need_a_copy(gpu: list[SegmentedProblem], seed: int) -> None:
    a, b, ends, split, sizes, ranges = drawn(seed)
    want = wanted(a, b, ranges, split)
    out = np.full(want.shape, np.nan, want.dtype)
    if seed % 4 == 0:
        out = np.full((*want.shape[:-2], want.shape[-1], want.shape[-2]), np.nan, want.dtype).swapaxes(-1, -2)
    borders = {"sizes" if sizes else "offsets": Bare(ends)}
    taken = Bare(out)
    assert tw.segment_matmul(Bare(a), Bare(b), **borders, split=split, out=taken) is taken
    np.testing.assert_array_equal(out, want)
    assert gpu
    assert {p.groups for p in gpu} == {len(ranges)}


@pytest.mark.parametrize("seed", range(60))
def test_a_processor_loops_over_the_groups(seed: int) -> None:
    a, b, ends, split, sizes, ranges = drawn(seed)
    want = wanted(a, b, ranges, split)
    borders = {"sizes" if sizes else "offsets": ends}
    got = tw.segment_matmul(a, b, **borders, split=split)
    np.testing.assert_array_equal(got, want)
    out = np.full_like(want, np.nan)
    assert tw.segment_matmul(a, b, **borders, split=split, out=out) is out
    np.testing.assert_array_equal(out, want)


def test_an_out_over_an_operand_is_written_at_the_end() -> None:
    a, b = np.arange(12.0).reshape(4, 3), np.arange(18.0).reshape(2, 3, 3)
    want = tw.segment_matmul(a.copy(), b, np.array([1, 3]))
    tw.segment_matmul(a, b, np.array([1, 3]), out=a)
    np.testing.assert_array_equal(a, want)
    assert not a[3].any()


def test_nothing_to_add_up_and_nothing_at_all() -> None:
    none = np.zeros((0, 3))
    assert tw.segment_matmul(none, np.ones((2, 3, 4)), np.array([0, 0])).shape == (0, 4)
    got = tw.segment_matmul(none.T, np.ones((0, 4)), np.array([0, 0]), split="k")
    np.testing.assert_array_equal(got, np.zeros((2, 3, 4)))
    got = tw.segment_matmul(np.ones((2, 0)), np.ones((3, 0, 4)), np.array([1, 1, 2]))
    np.testing.assert_array_equal(got, np.zeros((2, 4)))
    got = tw.segment_matmul(np.ones((2, 3)), np.ones((0, 3, 4)), np.zeros(0, np.int32))
    np.testing.assert_array_equal(got, np.zeros((2, 4)))


class Arrays(Library):
    """A library whose arrays are ``Bare``."""

    name = "bare"

    def __init__(self) -> None:
        super().__init__(None)

    def on_gpu(self, value: Any) -> bool:
        return True

    def index(self, value: Any) -> int:
        return 0

    def view(self, value: Any, name: str) -> Any:
        x = value.array
        return view_at(address_of(x), x.shape, x.strides, x.dtype, Owner(value, self, 0, 0))

    def stream(self, index: int) -> int:
        return 0

    def guard(self, index: int) -> Any:
        return contextlib.nullcontext()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, index: int) -> Bare:
        room = np.empty(int(np.prod(shape)) * dtype.itemsize + 16, np.uint8)
        at = -address_of(room) % 16
        return Bare(room[at : len(room) - 16 + at].view(dtype).reshape(shape))

    def assign(self, target: Any, source: Any) -> None:
        target.array[...] = source.array

    def real(self, array: ArrayView) -> Any:
        return array.owner.value


def test_a_call_that_was_made_before_is_not_looked_at_again(
    gpu: list[SegmentedProblem], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Arrays()
    monkeypatch.setattr(lookup, "library_of", lambda value: library if isinstance(value, Bare) else None)
    look = Looker(
        lambda x: (x.array.shape, x.array.strides, x.array.dtype) if isinstance(x, Bare) else None,
        lambda x: address_of(x.array),
    )
    monkeypatch.setattr(calls, "looker", lambda value: look if isinstance(value, Bare) else None)
    made = []
    monkeypatch.setattr(calls, "shapes_of", lambda *given: made.append(1) or shapes_of(*given))
    a, b = (library.empty(shape, np.dtype("f4"), 0) for shape in ((8, 4), (2, 4, 4)))
    ends = Bare(np.array([3, 6]))
    for turn in range(3):
        a.array[...], b.array[...], ends.array[0] = turn + np.arange(32).reshape(8, 4), turn + 1, turn
        want = wanted(a.array, b.array, clamped(ends.array, 8, 2, False), "m")
        np.testing.assert_array_equal(tw.segment_matmul(a, b, ends).array, want)
        out = library.empty((8, 4), np.dtype("f4"), 0)
        assert tw.segment_matmul(a, b, ends, out=out) is out
        np.testing.assert_array_equal(out.array, want)
    # Once with a new result, and once with an array for it.
    assert len(made) == 2
    # Another split, sizes, and an out over an operand are other calls.
    np.testing.assert_array_equal(
        tw.segment_matmul(a, b, sizes=ends).array,
        wanted(a.array, b.array, clamped(ends.array, 8, 2, True), "m"),
    )
    want = tw.segment_matmul(a, b, ends).array
    tw.segment_matmul(a, b, ends, out=a)
    np.testing.assert_array_equal(a.array, want)
    assert len(made) == 4
    settings.forget()
    tw.segment_matmul(a, b, ends)
    assert len(made) == 5


A, B, ENDS = np.ones((6, 3)), np.ones((2, 3, 4)), np.array([2, 6])


@pytest.mark.parametrize(
    ("a", "b", "more", "words"),
    [
        (A, B, {}, "offsets and sizes"),
        (A, B, {"offsets": ENDS, "sizes": ENDS}, "offsets and sizes"),
        (A, B, {"offsets": ENDS, "split": "rows"}, "split='rows'"),
        (A, B, {"offsets": ENDS.astype(float)}, r"offsets has shape \(2,\) of float64"),
        (A, B, {"offsets": ENDS[None]}, r"offsets has shape \(1, 2\)"),
        (A, B, {"offsets": np.arange(4)}, "offsets has 4 elements and b 2 matrices"),
        (A, B, {"sizes": np.arange(3)}, "sizes has 3 elements; accepted: 2"),
        (A, B[0], {"offsets": ENDS}, r"b has shape \(3, 4\); accepted with split='m': 3 or more axes"),
        (A[:, :2], B, {"offsets": ENDS}, "2 columns do not meet 3 rows"),
        (A, B, {"offsets": ENDS, "split": "n"}, r"a has shape \(6, 3\); accepted with split='n': 3 or more"),
        (np.ones((2, 6, 3)), np.ones((2, 3, 3, 4)), {"offsets": ENDS}, "do not broadcast"),
        (A, B, {"offsets": ENDS, "out": np.ones((6, 5))}, r"out has shape \(6, 5\)"),
    ],
)
def test_what_does_not_go_together_is_named(a: Any, b: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        tw.segment_matmul(a, b, **more)


def test_types_that_no_kernel_knows_are_refused() -> None:
    with pytest.raises(DTypeError, match="accepted"):
        tw.segment_matmul(A.astype(int), B.astype(int), ENDS)
    with pytest.raises(DTypeError, match="out is float32"):
        tw.segment_matmul(A, B, ENDS, out=np.ones((6, 4), np.float32))


def test_borders_in_another_memory_are_named(gpu: list[SegmentedProblem]) -> None:
    with pytest.raises(ArgumentError, match="offsets of type ndarray is not on a GPU"):
        tw.segment_matmul(Bare(A), Bare(B), ENDS, out=Bare(np.ones((6, 4))))


def test_groups_follow_one_another_whatever_the_borders_are() -> None:
    assert clamped(np.array([3, 1, 9, 20]), 10, 4, False) == [(0, 3), (3, 3), (3, 9), (9, 10)]
    assert clamped(np.array([-4, 2]), 10, 2, False) == [(0, 0), (0, 2)]
    assert clamped(np.array([4, 2, 7]), 10, 2, False) == [(4, 4), (4, 7)]
    assert clamped(np.array([3, -1, 4, 9]), 10, 4, True) == [(0, 3), (3, 3), (3, 7), (7, 10)]


def test_shapes_of_all_forms() -> None:
    assert shapes_of((5, 7, 3), (4, 1, 3, 2), 4, "m").out == (5, 7, 2)
    assert shapes_of((4, 5, 7, 3), (3, 9), 5, "n").out == (5, 7, 9)
    assert shapes_of((7, 9), (5, 9, 2), 4, "k").out == (4, 5, 7, 2)


# ---- the stencil


def some(
    letter: str,
    axis: str = "n",
    trans: str = "nn",
    size: tuple[int, int, int] = (256, 512, 128),
    **fields: Any,
):
    m, n, k = size
    lda, ldb = (k if trans[0] in "tc" else m), (n if trans[1] in "tc" else k)
    fields = {"groups": 16} | fields
    return SegmentedProblem(DTYPES[letter], axis, m, n, k, trans_a=trans[0], trans_b=trans[1],
                            lda=lda, ldb=ldb, ldc=m, **fields)  # fmt: skip


def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    shared = dict(program("segments")[1])["lib/problem.cuh"]
    for letter in "zb":
        p = some(letter)
        defines = [name for name, _ in SEGMENTS.source(p, SEGMENTS.default(p, H200), H200).defines]
        there = set(re.findall(r"^#ifndef (\w+)$", KERNEL + shared, re.M)) - (
            {"BRAIN"} if letter == "z" else set()
        )
        assert sorted(defines) == sorted(there)
    names = [param.name.upper() for param in SEGMENTS.space(some("s"), H200).params]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(names) == sorted(re.findall(r"^#ifndef (\w+)$", block, re.M))


def test_hard_rules_are_asserted_by_their_names() -> None:
    hard = {rule.name for rule in SEGMENTS.space(some("d"), H200).rules if rule.kind == "hard"}
    assert hard - {"aligned", "aligned-c"} <= set(re.findall(r'"([a-z-]+): ', KERNEL))


@pytest.mark.parametrize("letter", list(DTYPES))
def test_the_default_obeys_the_hardware_wherever_it_is_asked(letter: str) -> None:
    draw = random.Random(letter)
    for _ in range(40):
        size = tuple(draw.choice((1, 3, 8, 20, 64, 128, 777, 4096)) for _ in range(3))
        trans = draw.choice(("nn", "nt", "tn", "tt"))
        p = some(
            letter, draw.choice("mnk"), trans, size, groups=draw.choice((1, 7, 64)), batch=draw.choice((1, 5))
        )
        for device in (H200, A100):
            space, config = SEGMENTS.space(p, device), SEGMENTS.default(p, device)
            assert not [rule.name for rule in space.why(config) if rule.kind != "soft"], (p.key, config)
            launch = SEGMENTS.launch(p, config)
            assert launch.shared <= device["shared_per_block_optin"]
            assert 1 <= launch.grid[0] <= tiles(p, config["blk_m"], config["blk_n"])


def test_a_split_axis_that_lies_along_memory_is_read_element_by_element() -> None:
    assert aligned(some("s", "n", "nn")) == (16, 16, 16)
    assert aligned(some("s", "n", "nt")) == (16, 4, 16)
    assert aligned(some("s", "m", "nn")) == (4, 16, 4)
    assert aligned(some("h", "k", "nn")) == (16, 2, 16)
    assert aligned(some("h", "k", "nt")) == (16, 16, 16)


def test_groups_are_for_the_stencil_of_groups_alone() -> None:
    for name, stencil in STENCILS.items():
        if stencil.target == "cuda":
            assert (refused(stencil, some("d"), H200) is None) == (name == "segments")
    assert "tw.segment_matmul" in (refused(SEGMENTS, Problem.parse("d:8x8x8")[0], H200) or "")


def test_what_is_refused() -> None:
    assert SEGMENTS.accepts(some("s"), H200) is None
    assert "2.0" in (SEGMENTS.accepts(some("s"), FERMI) or "")
    assert "nothing" in (SEGMENTS.accepts(some("s", size=(0, 4, 4)), H200) or "")
    assert "above" in (SEGMENTS.accepts(some("s", size=(2**31, 4, 4)), H200) or "")
    assert f"more than {LARGEST} tiles" in (SEGMENTS.accepts(some("s", size=(2**20, 2**20, 4)), H200) or "")
    assert "multiples of 4 bytes" in (SEGMENTS.accepts(some("d", align=4), H200) or "")


def test_one_binary_serves_all_borders_and_most_sizes() -> None:
    p = some("s")
    config = SEGMENTS.default(p, H200)
    for other in (
        p.with_(groups=3),
        p.with_(n=700, batch=4),
        p.with_(first=True, wide=True),
        p.with_(sizes=True),
    ):
        assert SEGMENTS.source(other, config, H200).digest == SEGMENTS.source(p, config, H200).digest
    assert "2048 bytes" not in p.spelling
    assert all(isinstance(field, Pointer | Scalar) for field in struct_segments(p).fields)
