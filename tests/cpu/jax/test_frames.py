"""Handlers handed frames that are made here."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.cpu
jax: Any = pytest.importorskip("jax")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_structures_are_those_of_the_header(tmp_path: Path) -> None:
    from tilewright.jax import frames

    names = {
        frames.Extension: ("Metadata_Extension", {"metadata": "metadata"}),
        frames.Version: ("Api_Version", {"major": "major_version", "minor": "minor_version"}),
        frames.Metadata: ("Metadata", {"version": "api_version", "traits": "traits"}),
        frames.Buffer: ("Buffer", {"data": "data"}),
        frames.Values: ("Args", {"size": "size", "values": "args"}),
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
    results = (("size", "size"), ("values", "rets"))
    ours += [(frames.at(frames.Values, field), f"XLA_FFI_Rets, {theirs}") for field, theirs in results]
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
        count = len(places) - 2
        self.args, self.rets = (ctypes.c_void_p * 2)(*places[:2]), (ctypes.c_void_p * count)(*places[2:])
        self.text = ctypes.create_string_buffer(text.encode())
        self.key = ctypes.c_int64(key)
        self.span = frames.Span(ctypes.addressof(self.text), len(text))
        self.number = frames.Number(5, ctypes.addressof(self.key))
        self.attributes = (ctypes.c_void_p * 2)(ctypes.addressof(self.span), ctypes.addressof(self.number))
        self.frame = frames.Frame(
            *(ctypes.sizeof(frames.Frame), None, ctypes.addressof(self.api), 0xC0, stage),
            frames.Values(40, None, 2, None, ctypes.addressof(self.args)),
            frames.Values(40, None, count, None, ctypes.addressof(self.rets)),
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


def test_a_workspace_is_the_second_result(cuda: Any) -> None:
    from tilewright.jax import lowering
    from tilewright.jax.table import Planned, key_of

    seen: list[Any] = []
    codes = [0, 0, 719]
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint64] * 5)
    function = kind(lambda *given: seen.append(given) or codes.pop(0))
    entry = ctypes.cast(function, ctypes.c_void_p).value
    assert entry
    plan = Planned.of(0xC0DE, False, [(0, 0, 0), (8, 16, 24)], function, function=entry, room=4096)
    assert plan.room == 4096
    lowering.lowered().handlers.add("within", 0, plan)
    frame = Frame("within", key_of("within"), [1000, 2000, 3000, 4000])
    assert cuda(frame) == 0
    assert seen == [(0xC0DE, 1000, 2000, 3000, 0x57, 4000), (0xC0DE, 1008, 2016, 3024, 0x57, 4000)]
    assert cuda(frame) == 0xE0
    assert "code 719" in frame.errors[0][0]
    # A program that was made for another plan.
    frame = Frame("within", key_of("within"), [1000, 2000, 3000])
    assert cuda(frame) == 0xE0
    assert frame.errors == [
        ("a call of Tilewright's has other results or attributes than it was made with", 3)
    ]
    assert len(seen) == 3


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
