"""Products from JAX's programs on this processor, and handlers handed frames that are made here."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.errors import ArgumentError, DTypeError

pytestmark = pytest.mark.cpu
jax: Any = pytest.importorskip("jax")
jnp: Any = jax.numpy


@pytest.fixture(scope="module")
def tj() -> Iterator[Any]:
    # Where another test has used JAX's devices before, it stays at their number.
    with suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", 2)
    jax.config.update("jax_enable_x64", True)
    import tilewright.jax

    yield tilewright.jax
    jax.config.update("jax_enable_x64", False)


def drawn(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    x = random.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * random.standard_normal(shape)
    return jnp.asarray(x.astype(dtype))


def plans() -> dict[int, Any]:
    """The plans that handlers have, by key."""
    from tilewright.jax import lowering

    return lowering.lowered().handlers.table.made


def test_what_was_measured_beside_numpy_alone_is_left_to_xla(tj: Any) -> None:
    """float16 has a kernel of ours at any such size, whatever processor this is."""
    before = len(plans())
    got = tj.matmul(drawn(3, 90, 4, dtype=np.float16), drawn(3, 4, 5, dtype=np.float16, seed=1))
    assert got.shape == (3, 90, 5)
    assert len(plans()) == before
    tj.matmul(drawn(3, 9, 4, dtype=np.float16), drawn(3, 4, 5, dtype=np.float16, seed=1))
    assert len(plans()) == before + 1


# ---- what comes out


@pytest.mark.parametrize(
    ("kind", "one", "other", "bound"),
    [
        ("float64", (2, 1, 3, 4), (5, 4, 6), 1e-13),
        ("complex128", (4,), (2, 4, 3), 1e-13),
        ("float32", (30, 3, 4), (4, 5), 1e-5),
        ("complex64", (30, 3, 4), (30, 4), 1e-5),
        ("float16", (9, 4, 4), (9, 4, 4), 2e-2),
        ("bfloat16", (9, 4, 4), (9, 4, 4), 2e-1),
    ],
)
def test_products_are_those_of_numpy(tj: Any, kind: str, one: Any, other: Any, bound: float) -> None:
    dtype = jnp.dtype(kind)
    a, b = drawn(*one, dtype=dtype), drawn(*other, dtype=dtype, seed=1)
    if b.ndim == 2 and a.ndim == 3 and b.shape[0] == a.shape[0]:
        b = b[0]
    got = tj.matmul(a, b)
    wide = np.complex128 if kind.startswith("complex") else np.float64
    want = np.matmul(np.asarray(a).astype(wide), np.asarray(b).astype(wide))
    assert isinstance(got, jax.Array)
    assert (got.shape, got.dtype) == (want.shape, dtype)
    np.testing.assert_allclose(np.asarray(got).astype(wide), want, atol=8 * bound)


def test_edges_have_the_results_of_jax(tj: Any) -> None:
    for one, other in (((0, 3, 4), (0, 4, 2)), ((3, 0), (0, 2)), ((4,), (4,))):
        a, b = drawn(*one), drawn(*other)
        np.testing.assert_allclose(tj.matmul(a, b), jnp.matmul(a, b))
    # A type that no kernel knows is JAX's, and types are promoted as JAX does.
    np.testing.assert_array_equal(tj.matmul(jnp.ones((2, 3), int), jnp.ones((3, 2), int)), np.full((2, 2), 3))
    assert tj.matmul(drawn(2, 3, dtype=np.float32), drawn(3, 2)).dtype == np.float64


def test_what_does_not_fit_is_refused_by_name(tj: Any) -> None:
    a = drawn(3, 4)
    with pytest.raises(ArgumentError, match="4 columns do not meet 3 rows"):
        tj.matmul(a, a)
    for given, what in (
        ({"trans_a": "x"}, "trans_a='x'"),
        ({"alpha": "2"}, "alpha='2'"),
        ({"alpha": 1j, "trans_b": "t"}, "alpha=1j for arrays of float64"),
    ):
        with pytest.raises(ArgumentError, match=what):
            tj.gemm(a, a, **given)
    with pytest.raises(ArgumentError, match="a has shape"):
        tj.gemm(a[0], a)
    with pytest.raises(DTypeError, match="int"):
        tj.gemm(jnp.ones((2, 2), int), jnp.ones((2, 2), int))
    with pytest.raises(ArgumentError, match="label 'j'"):
        tj.einsum("ij,jk->ik", a, a)


# ---- what JAX makes of it


def test_gradients_and_letters_of_gemm(tj: Any) -> None:
    from jax.test_util import check_grads

    a, b, c = (drawn(*shape, dtype=np.complex128) for shape in ((5, 4, 3), (5, 2, 4), (3, 2)))

    def call(a: Any, b: Any, c: Any) -> Any:
        return tj.gemm(a, b, c, alpha=2 - 1j, beta=0.5j, trans_a="t", trans_b="c")

    want = (2 - 1j) * np.swapaxes(a, 1, 2) @ np.conj(np.swapaxes(b, 1, 2)) + 0.5j * np.asarray(c)
    np.testing.assert_allclose(call(a, b, c), want, rtol=1e-12)
    check_grads(call, (a, b, c), 2, rtol=1e-5, atol=1e-5)


def test_updates_are_made_in_place_and_mapped(tj: Any) -> None:
    a, b, c = drawn(7, 3, 4), drawn(4, 3), drawn(7, 3, 3)

    def call(a: Any, b: Any, c: Any) -> Any:
        return tj.gemm(a, b, c, beta=-2.0)

    text = jax.jit(call).lower(a, a.swapaxes(1, 2), c).as_text()
    assert "output_operand_alias" in text
    for axes in ((0, None, 0), (None, None, 0), (0, 0, None)):
        pairs = zip((a, b, c), axes, strict=True)
        given = [x if axis is None else jnp.stack([x, 3 * x], axis) for x, axis in pairs]
        want = jax.vmap(lambda a, b, c: a @ b - 2 * c, axes)(*given)
        np.testing.assert_allclose(jax.vmap(call, axes)(*given), want, rtol=1e-12, atol=1e-12)
    # More of c than of the product, and what does not fit.
    np.testing.assert_allclose(call(a[0], b, c), np.asarray(a[0] @ b) - 2 * np.asarray(c), rtol=1e-12)
    with pytest.raises(ArgumentError, match="c has shape"):
        call(a, b, c[:, :2])


def test_gradients_of_complex_and_broadcast_operands_are_those_of_jax(tj: Any) -> None:
    a, b = drawn(3, 1, 2, 4, dtype=np.complex128), drawn(5, 4, 2, dtype=np.complex128, seed=1)

    def gradients(multiply: Callable[..., Any]) -> Any:
        def loss(a: Any, b: Any) -> Any:
            return jnp.sum(jnp.abs(multiply(a, b)) ** 2)

        return jax.jit(jax.grad(loss, (0, 1)))(a, b)

    for got, want in zip(gradients(tj.matmul), gradients(jnp.matmul), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)


@pytest.mark.parametrize("axes", [(None, 0), (2, 1)])
def test_mapped_axes_are_read_where_they_lie(tj: Any, axes: Any) -> None:
    a = drawn(*((3, 4) if axes[0] is None else (3, 4, 40)))
    b = drawn(*((40, 4, 5) if axes[1] == 0 else (4, 40, 5)))
    call = jax.jit(jax.vmap(tj.matmul, axes))
    np.testing.assert_allclose(call(a, b), jax.vmap(jnp.matmul, axes)(a, b), rtol=1e-12)
    text = call.lower(a, b).as_text()
    assert "tilewright_cpu" in text
    if axes == (None, 0):
        assert "broadcast_in_dim" not in text


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("xab,xbc->xca", [(6, 3, 4), (6, 4, 5)]),
        ("ii,ij,jk->k", [(4, 4), (4, 5), (5, 6)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 6)]),
        ("abij,bjk->aik", [(3, 4, 5, 6), (4, 6, 7)]),
        ("ab,cd->abcd", [(3, 4), (2, 5)]),
    ],
)
def test_contractions_are_those_of_numpy(tj: Any, equation: str, shapes: Any) -> None:
    operands = [drawn(*shape) for shape in shapes]
    want = np.einsum(equation, *map(np.asarray, operands))
    for optimize in ("auto", [(0, 1)] * (len(operands) - 1)):
        found = tj.einsum(equation, *operands, optimize=optimize)
        np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-12)


def test_parts_of_arrays_on_several_devices(tj: Any) -> None:
    part = jax.sharding.PartitionSpec
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("x",))
    spread = jax.jit(jax.shard_map(tj.matmul, mesh=mesh, in_specs=(part("x"), part()), out_specs=part("x")))
    a, b = drawn(6, 3, 4), drawn(4, 5)
    np.testing.assert_allclose(spread(a, b), np.asarray(a) @ np.asarray(b), rtol=1e-12)
    # The gradient of what both devices have is a sum over both.
    found = jax.grad(lambda a, b: jnp.sum(spread(a, b) ** 2), (0, 1))(a, b)
    want = jax.grad(lambda a, b: jnp.sum((a @ b) ** 2), (0, 1))(a, b)
    for got, right in zip(found, want, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-10)


# ---- programs of other processes


def test_calls_that_nobody_lowered_here_are_planned_when_they_run(tj: Any) -> None:
    from tilewright.jax.handler import TARGETS
    from tilewright.jax.plans import Call
    from tilewright.jax.table import key_of

    a, b = drawn(11, 3, 4), drawn(11, 4, 5)
    one, other = ((x.shape, (x.shape[1] * x.shape[2], x.shape[2], 1)) for x in (a, b))
    call = Call("cpu", "d", one, other, ((11, 3, 5), (15, 5, 1)), alpha=3)
    assert Call.parse(call.text) == call

    tj.register()

    def run(text: str) -> Any:
        shape = jax.ShapeDtypeStruct((11, 3, 5), np.float64)
        made = jax.ffi.ffi_call(TARGETS["cpu"], shape)
        return jax.jit(lambda a, b: made(a, b, call=text, key=np.int64(key_of(text))))(a, b)

    before = len(plans())
    np.testing.assert_allclose(run(call.text), 3 * np.asarray(a) @ np.asarray(b), rtol=1e-12)
    assert len(plans()) == before + 1
    with pytest.raises(Exception, match="tilewright: "):
        run(call.text[:-9])


# ---- frames


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_structures_are_those_of_the_header(tmp_path: Path) -> None:
    from tilewright.jax import frames

    names = {
        frames.Extension: ("Metadata_Extension", {"metadata": "metadata"}),
        frames.Version: ("Api_Version", {"major": "major_version", "minor": "minor_version"}),
        frames.Metadata: ("Metadata", {"version": "api_version", "traits": "traits"}),
        frames.Buffer: ("Buffer", {"data": "data"}),
        frames.Values: ("Args", {"values": "args"}),
        frames.Attributes: ("Attrs", {"size": "size", "values": "attrs"}),
        frames.Span: ("ByteSpan", {"text": "ptr", "length": "len"}),
        frames.Number: ("Scalar", {"value": "value"}),
        frames.Frame: ("CallFrame", {x: x for x in ("api", "stage", "args", "rets", "attrs")}),
        frames.Api: (
            "Api",
            {
                "version": "api_version",
                "error_create": "XLA_FFI_Error_Create",
                "error_destroy": "XLA_FFI_Error_Destroy",
                "stream_get": "XLA_FFI_Stream_Get",
                "schedule": "XLA_FFI_ThreadPool_Schedule",
                "device_ordinal": "XLA_FFI_DeviceOrdinal_Get",
            },
        ),
        frames.Error: ("Error_Create_Args", {"message": "message", "code": "errc"}),
        frames.Destroy: ("Error_Destroy_Args", {"error": "error"}),
        frames.Schedule: ("ThreadPool_Schedule_Args", {"context": "ctx", "task": "task", "data": "data"}),
        frames.Asked: ("Stream_Get_Args", {"context": "ctx", "found": "stream"}),
    }
    ours = [
        (frames.at(structure, field), f"XLA_FFI_{name}, {theirs}")
        for structure, (name, fields) in names.items()
        for field, theirs in fields.items()
    ]
    asked = "".join(f'printf("%zu\\n", offsetof({what}));' for _, what in ours)
    header = '#include <stdio.h>\n#include "xla/ffi/api/c_api.h"\n'
    (tmp_path / "offsets.c").write_text(f"{header}int main(void) {{ {asked} return 0; }}\n")
    include = ("-I", jax.ffi.include_dir())
    subprocess.run(["cc", *include, "-o", "offsets", "offsets.c"], cwd=tmp_path, check=True)
    theirs = subprocess.run([tmp_path / "offsets"], capture_output=True, check=True, text=True).stdout.split()
    assert [(int(at), what) for at, (_, what) in zip(theirs, ours, strict=True)] == ours


class Frame:
    """A frame as XLA hands it over, and functions of XLA's that say what they are asked."""

    def __init__(self, text: str, key: int, buffers: list[int], stage: int = 3):
        from tilewright.jax import frames

        self.errors: list[tuple[str, int]] = []
        asked = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)

        def error(given: int) -> int:
            said = frames.Error.from_address(given)
            self.errors.append((ctypes.string_at(said.message).decode(), said.code))
            return 0xE0

        def tells(value: int, kind: Any) -> Any:
            def tell(given: int) -> None:
                at = given + frames.at(frames.Asked, "found")
                kind.from_address(at).value = value

            return asked(tell)

        self.functions = {
            "error_create": asked(error),
            "stream_get": tells(0x57, ctypes.c_uint64),
            "device_ordinal": tells(0, ctypes.c_int32),
        }
        self.api = frames.Api(ctypes.sizeof(frames.Api), None, frames.Version(24, None, 0, 4))
        for name, function in self.functions.items():
            setattr(self.api, name, ctypes.cast(function, ctypes.c_void_p))
        self.buffers = [frames.Buffer(ctypes.sizeof(frames.Buffer), None, 12, at) for at in buffers]
        places = [ctypes.addressof(x) for x in self.buffers]
        self.args, self.rets = (ctypes.c_void_p * 2)(*places[:2]), (ctypes.c_void_p * 1)(*places[2:])
        self.text = ctypes.create_string_buffer(text.encode())
        self.key = ctypes.c_int64(key)
        self.span = frames.Span(ctypes.addressof(self.text), len(text))
        self.number = frames.Number(5, ctypes.addressof(self.key))
        self.attributes = (ctypes.c_void_p * 2)(ctypes.addressof(self.span), ctypes.addressof(self.number))
        self.frame = frames.Frame(
            *(ctypes.sizeof(frames.Frame), None, ctypes.addressof(self.api), 0xC0, stage),
            frames.Values(40, None, 2, None, ctypes.addressof(self.args)),
            frames.Values(40, None, 1, None, ctypes.addressof(self.rets)),
            frames.Attributes(48, None, 2, None, None, ctypes.addressof(self.attributes)),
        )

    def answer(self, name: str, function: Callable[[int], int | None]) -> None:
        """Have a function of XLA's be this one."""
        self.functions[name] = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(function)
        setattr(self.api, name, ctypes.cast(self.functions[name], ctypes.c_void_p))

    @staticmethod
    def scheduled(given: int) -> tuple[int, int]:
        """The task that is to be scheduled, and what it is called with."""
        from tilewright.jax import frames

        asked = frames.Schedule.from_address(given)
        return asked.task, asked.data

    def ask(self) -> Any:
        """Ask for what the handler is: the metadata that it fills in."""
        from tilewright.jax import frames

        self.metadata = frames.Metadata(ctypes.sizeof(frames.Metadata))
        self.extension = frames.Extension(32, frames.METADATA, None, ctypes.addressof(self.metadata))
        self.frame.extension_start = ctypes.addressof(self.extension)
        return self.metadata


@pytest.fixture
def cuda(tj: Any) -> Callable[[Frame], int]:
    """The handler for GPUs, which asks nothing of one itself."""
    from tilewright.jax import lowering

    entry = lowering.lowered().handlers.entries["cuda"]
    call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(entry)
    return lambda frame: call(ctypes.addressof(frame.frame)) or 0


def test_a_handler_says_that_it_is_fit_for_command_buffers(cuda: Any) -> None:
    frame = Frame("", 1, [0, 0, 0])
    said = frame.ask()
    assert cuda(frame) == 0
    assert (said.version.major, said.version.minor, said.traits) == (0, 3, 1)
    # Of an interface that ends before what is called, or that is another one, nothing is read.
    for change in ({"struct_size": 100}, {"version": type(frame.api.version)(24, None, 1, 0)}):
        frame = Frame("", 1, [0, 0, 0])
        frame.ask()
        for name, value in change.items():
            setattr(frame.api, name, value)
        assert cuda(frame) == 0xE0
        assert frame.errors[0][0].startswith("jaxlib has another interface")


def test_a_handler_launches_each_run_on_the_stream_that_it_is_given(cuda: Any) -> None:
    from tilewright.jax import lowering
    from tilewright.jax.table import Planned, key_of

    seen: list[Any] = []
    codes = [0, 0, 1, 719]
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint64] * 4)

    def launch(context: int, a: int, b: int, c: int, stream: int) -> int:
        seen.append((context, (a, b, c), stream))
        return codes.pop(0)

    function = kind(launch)
    entry = ctypes.cast(function, ctypes.c_void_p).value
    assert entry
    plan = Planned.of(0xC0DE, True, [(0, 0, 0), (8, 16, 24)], function, function=entry)
    lowering.lowered().handlers.add("launches", 0, plan)
    frame = Frame("launches", key_of("launches"), [1000, 2000, 3000])
    assert cuda(frame) == 0
    assert seen == [
        (0xC0DE, (2000, 1000, 3000), 0x57),
        (0xC0DE, (2008, 1016, 3024), 0x57),
    ]
    for words in ("an address that the kernel cannot read", "code 719"):
        assert cuda(frame) == 0xE0
        assert words in frame.errors.pop()[0]
    # What comes before the execution, and what comes after, is none of ours.
    assert cuda(Frame("launches", key_of("launches"), [0, 0, 0], stage=1)) == 0
    assert len(seen) == 4


@pytest.mark.parametrize("pool", ["at once", "late", "none"])
def test_a_batch_is_shared_with_whoever_comes(tj: Any, pool: str) -> None:
    from tilewright.jax import lowering, table
    from tilewright.jax.plans import Call, planned

    lies = (1003, 4, 4), (16, 4, 1)
    call = Call("cpu", "d", lies, lies, lies)
    _, plan = planned(call, 0, alone=True)
    assert plan is not None
    plan.words[table.PLAN.index("threads")] = 3
    text = f"shared {pool}"
    handlers = lowering.lowered().handlers
    handlers.add(text, 0, plan)
    a, b, c = (np.random.default_rng(seed).standard_normal(lies[0]) for seed in range(3))
    frame = Frame(text, table.key_of(text), [x.ctypes.data for x in (a, b, c)])
    tasks: list[tuple[int, int]] = []
    task = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    def schedule(given: int) -> int | None:
        asked = frame.scheduled(given)
        if pool == "none":
            return 0xBAD
        if pool == "at once":
            task(asked[0])(asked[1])
        else:
            tasks.append(asked)
        return None

    dropped: list[int] = []
    frame.answer("schedule", schedule)
    frame.answer("error_destroy", dropped.append)
    run = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(handlers.entries["cpu"])
    assert not run(ctypes.addressof(frame.frame))
    np.testing.assert_allclose(c, a @ b, rtol=1e-12, atol=1e-12)
    # Who comes late finds nothing to do, and touches nothing.
    c[:] = 0
    for entry, data in tasks:
        task(entry)(data)
    assert not c.any()
    assert (len(tasks), len(dropped)) == {"at once": (0, 0), "late": (2, 0), "none": (0, 1)}[pool]


def test_tables_grow_and_keep_what_they_hold(tj: Any) -> None:
    from tilewright.jax.table import SMALLEST, Planned, Table, key_of

    table = Table()
    made = {key_of(str(number)): Planned.of(0, False, [], None) for number in range(3 * SMALLEST)}
    grown = [table.add(key, plan) for key, plan in made.items()]
    assert sum(grown) == len(table.tables) - 1 == 3
    newest = table.tables[-1]
    found = {newest[at]: newest[at + 1] for at in range(1, len(newest), 2) if newest[at]}
    assert found == {key: ctypes.addressof(plan.words) for key, plan in made.items()}
    # The same again stays as it is; of another kernel it is read from now on.
    key = next(iter(made))
    other = Planned.of(0, False, [], "another")
    assert not table.add(key, Planned.of(0, False, [], None))
    assert table.made[key] is made[key]
    assert not table.add(key, other)
    assert newest[newest[:].index(key, 1) + 1] == ctypes.addressof(other.words)
    assert table.replaced == [made[key]]
