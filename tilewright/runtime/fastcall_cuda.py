"""From three addresses and a stream to a launch on a GPU: one small program of four entries, compiled once.

A *context* is a bytes object that holds, as 64-bit words, all that a launch needs: the driver's function
that launches, the kernel, where its configuration and its parameters lie and which words of those are the
addresses. The compiled entry, whose text is in ``launching``, is a C function of CPython's fast calling
convention whose ``self`` is the context, as in ``fastcall_cpu``. It copies configuration and parameters to
its own stack, at every call, and writes the addresses and the stream into the copies: threads that launch at
once share nothing, and no lock is needed. The global lock is released for the driver, as ``ctypes`` does.

``start`` is for most kernels: one parameter, in which each address is one word. ``start_patched`` is for
kernels with several parameters, and for addresses that are in several words or have to be aligned, as those
in tensor maps have: it goes through tables of parameters and of words.

``start_kept`` is for kernels that need a workspace, where this thread has one on the stream that is large
enough: it goes through the table of ``targets.cuda.workspace``, clears what is to be 0, and writes the
workspace's address and a stamp into the copy like addresses. Python makes and enlarges workspaces, and
launches while it does. Compiled callers that have a workspace of their own hand it in (``raw_within``).

- *Streams*: a row is found by the number that the driver gives a stream, which no other one ever has; its
  handle may be another stream's later, while the work of the first goes on in its workspace.
- *Capture*: the driver is asked whether the stream is recorded before anything else. A graph runs later,
  beside what the stream does then, so it never has the stream's workspace; Python takes one for it.
- *Threads*: a row is found by the thread, too, so between clearing and launch no other thread launches into
  this workspace, though the global lock is released. It is held while the table is read, which Python
  changes. A thread that has the number of one that has ended has its row: the stream keeps their order.
- *Growth*: a row's thread alone enlarges its workspace, and is not here meanwhile. What it gives back is
  given back in the stream's order, behind the launches that use it.

The fourth entry calls the product of cuBLASLt in the same way: its context holds that function's arguments
but for the addresses and the stream. Where the algorithm needs a workspace, the entry finds that of this
thread and stream in a table, and asks the driver whether the stream is being recorded into a graph.

Whatever is not four plain integers, what is not aligned, and whatever the driver refuses goes to a function
of Python with the same arguments, so errors are made in one place.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import BuiltinFunctionType
from typing import NamedTuple

from tilewright.model import Kernel
from tilewright.runtime import compiled, launching
from tilewright.runtime.launching import AT, ENTRIES, HANDED, KEPT, PATCHED, PRODUCT, RAW, SPACE, STAMP, WORDS
from tilewright.targets.cpu import processor
from tilewright.targets.cuda import driver, workspace
from tilewright.targets.cuda.arguments import WORD
from tilewright.targets.cuda.binding import Room, Word
from tilewright.targets.cuda.launch import Launcher

Start = Callable[[int, int, int, int], None]


class _Loaded(NamedTuple):
    program: Kernel
    methods: dict[str, compiled.MethodDef]
    common: dict[str, int]
    addresses: dict[str, int]


@functools.cache
def _loaded() -> _Loaded | None:
    """The program for this machine, what makes builtins of its entries, the words that every context holds,
    and where the raw entries lie; None where it cannot be used. Compiling it takes about 30 ms, once for all
    processes."""
    # A launch needs no compiler for the processor, so nothing that is wrong with it may keep one back.
    with suppress(Exception):
        if compiled.ordinary():
            program, addresses = compiled.load(launching.program(), ENTRIES + RAW, processor.probe())
            python = {
                "as_word": "PyLong_AsUnsignedLongLong",
                "occurred": "PyErr_Occurred",
                "clear": "PyErr_Clear",
                "save_thread": "PyEval_SaveThread",
                "restore_thread": "PyEval_RestoreThread",
                "vectorcall": "PyObject_Vectorcall",
                "incref": "Py_IncRef",
                "thread": "PyThread_get_thread_ident",
            }
            common = {name: compiled.address_of(getattr(ctypes.pythonapi, of)) for name, of in python.items()}
            methods = {name: compiled.method(addresses[name], name) for name in ENTRIES}
            return _Loaded(program, methods, common | {"none": id(None)}, addresses)
    return None


def starting(
    launcher: Launcher, words: Sequence[Word], slow: Start, room: Room | None = None, index: int = 0
) -> Start | None:
    """A builtin ``start(a, b, out, stream)`` that launches for these addresses; None where none can be made.

    ``words``: which 64-bit words of the block become a, b or out (``operand`` 0, 1 or 2); all others are read
    from the launcher's block at every call, and the block is not written to. ``slow`` is called with the same
    arguments when the driver refuses the launch, where an address has a bit of a word's mask, and for
    arguments that are not four integers of 64 bits without a sign: what it returns or raises is the call's.
    ``room`` is the workspace that every launch needs, on the GPU with the number ``index``: ``slow`` is
    called where the stream has none that is large enough, and while the stream is recorded.

    The builtin keeps the launcher and ``slow``. Any number of threads may call it at once.
    """
    handed, words = launcher.parameters, tuple(words)
    size = handed.size // WORD
    if handed.size % WORD or any(offset % WORD for offset in handed.offsets):
        return None
    if not all(0 <= word.at < size and 0 <= word.operand < 3 for word in words):
        return None
    values = {
        "launch": handed.function,
        "kernel": handed.kernel,
        "configuration": handed.configuration,
        "block": handed.block,
        "block_words": size,
    }
    places = _plain(handed.offsets, words)
    if room is not None:
        words = (*words, *(word._replace(operand=SPACE) for word in room.words))
        words = (*words, *(Word(at, STAMP, 0) for at in room.stamps))
    elif places is not None:
        values |= dict(zip(("place_a", "place_b", "place_out"), places, strict=True))
        return _builtin("start", WORDS, values, slow, launcher)
    tables = (
        _table([(offset // WORD,) for offset in handed.offsets]),
        _table(words),
    )
    values |= {name: ctypes.addressof(x) for name, x in zip(("parameters", "patches"), tables, strict=True)}
    if room is None:
        return _builtin("start_patched", PATCHED, values, slow, (launcher, tables))
    with suppress(AttributeError):  # Drivers before CUDA 12 give streams no numbers.
        values |= {name: driver.entry(function) for name, function in DRIVER.items()}
        values |= {"device": index, "room": room.size, "cleared": room.zeros // 4}
        held, stamps = workspace.table(), workspace.STAMPS
        values |= {"held": ctypes.addressof(held), "stamps": ctypes.addressof(stamps)}
        return _builtin("start_kept", KEPT, values, slow, (launcher, tables, held, stamps))
    return None


DRIVER = {"number": "cuStreamGetId", "recording": "cuStreamIsCapturing", "memset": "cuMemsetD32Async"}


def _plain(offsets: tuple[int, ...], words: tuple[Word, ...]) -> tuple[int, ...] | None:
    """Which words the three addresses are, where each is one word of the only parameter; else None."""
    by_operand = sorted(words, key=lambda word: word.operand)
    if offsets != (0,) or [word.operand for word in by_operand] != [0, 1, 2]:
        return None
    return None if any(word.mask for word in words) else tuple(word.at for word in by_operand)


def _table(rows: Sequence[tuple[int, ...]]) -> ctypes.Array[ctypes.c_uint64]:
    """The number of rows, and the rows."""
    flat = [len(rows), *(value for row in rows for value in row)]
    return (ctypes.c_uint64 * len(flat))(*flat)


def multiplying(values: Mapping[str, int], slow: Start, keep: object) -> Start | None:
    """A builtin ``multiply(a, b, out, stream)`` that calls cuBLASLt's product; None where none can be made.

    ``values`` are the words of ``PRODUCT`` after the common ones, most of them addresses: ``spaces`` is that
    of the table of workspaces (0: the algorithm needs none), ``capturing`` that of the driver's function that
    says whether a stream is being recorded; ``swap`` is not 0 where the first address of a call is that of B.
    ``slow`` is called with the same arguments where the algorithm needs a workspace and the table has none or
    the stream is being recorded, where the library refuses, and for other arguments as ``starting`` says.

    The builtin keeps ``slow`` and ``keep``, which has to hold all that the words point to. Any number of
    threads may call it at once.
    """
    return _builtin("multiply", PRODUCT, values, slow, keep)


def _builtin(
    entry: str, names: Sequence[str], values: Mapping[str, int], slow: Start, keep: object
) -> Start | None:
    """A builtin of an entry, whose context holds these words."""
    loaded = _loaded()
    if loaded is None:
        return None
    program, methods, common, _ = loaded
    words = {**common, **values, "slow": id(slow)}
    context = struct.pack(f"<{len(names)}Q", *(words[name] for name in names))
    return compiled.builtin(methods[entry], context, (program, keep, slow))


def raw(start: Start) -> tuple[int, int] | None:
    """For compiled callers: the address of a function of C behind a builtin of this module, and that of its
    context, which it takes before the three addresses and the stream; None for any other function, and for
    products and kernels that need a workspace, of which only a holder of the global lock knows a free one.

    It returns 0, or another number where nothing was launched, which ``start`` is then to be called for: what
    the driver refuses, and addresses that are not aligned. It needs no lock, and is there as long as
    ``start`` is.
    """
    found = _behind(start, HANDED)
    if found is None:
        return None
    name, entry, context = found
    if name == "multiply" and struct.unpack_from("<Q", context, 8 * AT["spaces"])[0]:
        return None
    return entry, compiled.context_at(context)


def raw_within(start: Start) -> tuple[int, int] | None:
    """The same of a kernel that needs a workspace, for callers that have one of their own: behind the stream
    the function takes the address of as many bytes as ``Room`` says, which are the launch's alone until it
    has ended. It clears what is to be 0. None for any other function."""
    found = _behind(start, ("start_kept",))
    return None if found is None else (found[1], compiled.context_at(found[2]))


def _behind(start: Start, names: Sequence[str]) -> tuple[str, int, bytes] | None:
    """The entry of a builtin that is one of these, where its raw one lies, and its context."""
    loaded, name = _loaded(), getattr(start, "__name__", "")
    if loaded is None or name not in names or not isinstance(start, BuiltinFunctionType):
        return None
    # As ``_builtin`` made it.
    context: bytes = start.__self__  # type: ignore[assignment]
    return name, loaded.addresses[f"raw_{name}"], context
