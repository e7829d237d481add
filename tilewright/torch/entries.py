"""Compiled kernels in PyTorch's tables: from its dispatcher to a launch without Python in between.

A kernel of PyTorch's written in Python costs 5 microseconds a call and the interpreter's lock, which the
threads that run a backward pass wait for. So ``bmm``, ``bmm.out`` and ``mm`` get entries of one small
program that is compiled (``program``), registered through PyTorch's interface for C
(``torch/csrc/stable/c/shim.h`` and ``torch/csrc/inductor/aoti_torch/c/shim.h``). An entry

1. asks each tensor for its shape, strides, type, device and address: the *key* of the call;
2. looks the key up in a table of rows, without a lock: rows are added and never changed;
3. launches what the row says on the caller's stream, in a new result or in ``out``;
4. or goes to PyTorch's own kernel, the C++ function below its dispatcher;
5. asks a function of Python (``Ask``) about a key that has no row, and about a launch that was refused.

An exception of PyTorch's own kernel passes through an entry as through one of C++, and the operands that the
entry was handed are given back. Nothing of this exists where a name is missing (``loaded`` gives None then).
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from tilewright.model import Kernel
from tilewright.runtime import compiled
from tilewright.targets.cpu import processor
from tilewright.torch.program import ADDED, ENTRIES, KINDS, named, text
from tilewright.torch.rows import AXES, CONTEXT, KEY, ROW, ROWS

UNLIMITED = 2**62
DROPPED = 16
"""Tables that are kept after they were dropped."""
STREAM = "aoti_torch_get_current_cuda_stream"
SHIM = {
    "dim": "aoti_torch_get_dim",
    "sizes": "aoti_torch_get_sizes",
    "strides": "aoti_torch_get_strides",
    "dtype": "aoti_torch_get_dtype",
    "index": "aoti_torch_get_device_index",
    "kind": "aoti_torch_get_device_type",
    "data": "aoti_torch_get_data_ptr",
    "empty": "aoti_torch_empty_strided",
    "blank": "aoti_torch_new_uninitialized_tensor",
    "delete": "aoti_torch_delete_tensor_object",
    "copy": "aoti_torch_copy_",
    "current": "aoti_torch_get_current_device_index",
    "lazy": "_ZN2at6native7is_conjERKNS_6TensorE",
}
"""By word of a context, the function that it is the address of."""

Ask = Callable[[int, int, Any, int, int, int], int]
"""``ask(which, refused, key, a, b, out)``: a handle of the result, 0 where PyTorch's kernel is to run, and
for an entry with ``out`` any other number where it was written to. Tensors are handles, ``out`` 0 without."""
_ASK = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 4)


# ---- in memory


class Loaded(NamedTuple):
    """The program in memory: its code, where entries and contexts lie, and how rows are added."""

    code: Kernel
    addresses: dict[str, int]
    put: Callable[[Any, Any], int]
    shim: ctypes.CDLL
    takes: bool
    """Whether PyTorch takes a handle that a tensor of Python's is made of: some of its versions copy it."""


@functools.cache
def loaded() -> Loaded | None:
    """The program for this machine and this PyTorch; None where one of the names that it needs is missing.
    Compiling it takes about 50 ms, once for all processes."""
    # Without it a program is served all the same, by kernels written in Python.
    with suppress(Exception):
        if compiled.ordinary():
            shim = _library("cpu")
            # Found by way of the library: exceptions have to be those of its C++ runtime.
            imports = {name: _symbol(shim, name) for name in ("__gxx_personality_v0", "_Unwind_Resume")}
            names = [named(kind, operator) for kind in KINDS for operator in (*ENTRIES, ADDED)]
            entries = ("put", *names, *(f"{name}_at" for name in names))
            code, addresses = compiled.load(text(), entries, processor.probe(), imports)
            put = ctypes.CFUNCTYPE(ctypes.c_void_p, *[ctypes.c_void_p] * 2)(addresses["put"])
            return Loaded(code, addresses, put, shim, _takes(shim))
    return None


def _library(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / f"libtorch_{name}.so"))


def _symbol(library: ctypes.CDLL, name: str) -> int:
    return compiled.address_of(getattr(library, name))


def _mangled(space: str, function: str, writes: bool) -> str:
    """PyTorch's function of two tensors, and one to write to, by the name that C++ gives it."""
    return f"_ZN2at{len(space)}{space}{len(function)}{function}ERKNS_6TensorES3_" + "RS1_" * writes


# ---- tensors of C and of Python

_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.c_void_p] * 3)(("PyCapsule_New", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def handle_of(tensor: Any) -> int:
    """A new handle of a tensor, which whoever takes it has to give back."""
    return int(_pointer(torch._C._aoti.unsafe_alloc_void_ptr_from_tensor(tensor), None))


def tensor_of(made: Loaded, handle: int) -> Any:
    """The tensor of a handle that somebody else keeps. Raises ``RuntimeError`` where there is none."""
    own = ctypes.c_void_p()
    if made.shim.aoti_torch_new_tensor_handle(ctypes.c_void_p(handle), ctypes.byref(own)):
        raise RuntimeError("PyTorch hands out no handle of a tensor")
    found = _tensor(own.value)
    if not made.takes:
        made.shim.aoti_torch_delete_tensor_object(own)
    return found


def _tensor(handle: Any) -> Any:
    return torch._C._aoti.alloc_tensor_by_stealing_from_void_ptr(_capsule(handle, None, None))


def _takes(shim: ctypes.CDLL) -> bool:
    """``Loaded.takes``, tried out. Raises ``RuntimeError`` where a tensor is not the same again, or somebody
    keeps it."""
    probe = torch.ones(1)
    there, handle = weakref.ref(probe), handle_of(probe)
    again = _tensor(handle)
    same = again is probe
    del probe, again
    if same and there() is None:
        return True
    shim.aoti_torch_delete_tensor_object(ctypes.c_void_p(handle))
    if not same or there() is not None:
        raise RuntimeError("PyTorch makes other tensors of handles")
    return False


# ---- in PyTorch's tables


class Row:
    """A kind of call that is in a table."""

    __slots__ = ("_at", "_table")

    def __init__(self, table: Any, at: int):
        self._table, self._at = table, (at - table.ctypes.data) // 8

    @property
    def calls(self) -> int:
        """How many calls found it."""
        return int(self._table[self._at + ROW.index("calls")])


class Entries:
    """The entries of one process in PyTorch's tables, with the rows that they look into.

    ``ask`` is called with the interpreter's lock, by any thread, and must not raise.
    """

    def __init__(self, made: Loaded, ask: Ask):
        self.loaded = made
        self._ask = _ASK(ask)
        self._libraries: list[ctypes.c_void_p] = []
        self._contexts: dict[str, Any] = {}
        # Whoever is within an entry may still read what was dropped: it is kept for a while.
        self._dropped: deque[Any] = deque(maxlen=DROPPED)
        self._keep: list[object] = []
        self.table = _table()
        # Threads of PyTorch's may outlive what answers them.
        atexit.register(self.remove)

    def install(self, kind: str, small: int, longest: int, several: bool) -> list[str]:
        """Put entries in PyTorch's tables for a dispatch key; the operators that now have one. Others have
        a kernel that is not PyTorch's own, or one that has another name."""
        library = _library(KINDS[kind][0])
        handle = ctypes.c_void_p()
        shim = self.loaded.shim
        if shim.aoti_torch_library_init_impl(b"aten", kind.encode(), b"tilewright", 0, ctypes.byref(handle)):
            return []
        self._libraries.append(handle)
        done = []
        for operator in ENTRIES:
            words = self._words(library, kind, operator)
            if words is None or not _own(operator, kind):
                continue
            words |= {"small": small, "longest": longest if operator == "mm" else UNLIMITED}
            if self._implement(handle, kind, operator, operator, words, several):
                done.append(operator)
        return done

    def added(self, kind: str, several: bool) -> Any:
        """An operator of tensors c, a and b and of floats beta and alpha: alpha a b + beta c as a new tensor,
        or a itself where nothing was done; None where it cannot be had."""
        handle = ctypes.c_void_p()
        shim = self.loaded.shim
        if shim.aoti_torch_library_init_impl(
            b"tilewright", kind.encode(), b"tilewright", 0, ctypes.byref(handle)
        ):
            return None
        self._libraries.append(handle)
        words = self._shared(_library(KINDS[kind][0]), kind)
        words |= {"axes": AXES, "device": KINDS[kind][1]}
        done = self._implement(handle, kind, ADDED, _operator(), words, several)
        return torch.ops.tilewright.added.default if done else None

    def _implement(
        self, handle: Any, kind: str, entry: str, operator: str, words: dict[str, int], several: bool
    ) -> bool:
        """Register an entry with a context of these words for an operator; whether that was done."""
        number = (*ENTRIES, ADDED).index(entry)
        words |= {"which": KINDS[kind][1] * (len(ENTRIES) + 1) + number}
        words |= {"several": int(several and kind == "CUDA")}
        name = named(kind, entry)
        at = ctypes.CFUNCTYPE(ctypes.c_void_p)(self.loaded.addresses[f"{name}_at"])()
        context = np.ctypeslib.as_array((ctypes.c_int64 * len(CONTEXT)).from_address(at))
        words |= {count: int(context[CONTEXT.index(count)]) for count in ("smalls", "others")}
        context[:] = [words.get(word, 0) for word in CONTEXT]
        self._contexts[name] = context
        address = ctypes.c_void_p(self.loaded.addresses[name])
        return bool(self.loaded.shim.aoti_torch_library_impl(handle, operator.encode(), address) == 0)

    def _words(self, library: ctypes.CDLL, kind: str, operator: str) -> dict[str, int] | None:
        """The words of a context that are addresses, and its axes and kind of device; None where there is
        no such function."""
        space, device = KINDS[kind]
        function, axes, tensors = ENTRIES[operator]
        try:
            words = self._shared(library, kind)
            words["fallback"] = _symbol(library, _mangled(space, function, tensors == 3))
        except AttributeError:
            return None
        return words | {"axes": axes, "device": device}

    def _shared(self, library: ctypes.CDLL, kind: str) -> dict[str, int]:
        """The words of every context of a kind of device. Raises ``AttributeError`` where one is missing."""
        words = {name: _symbol(self.loaded.shim, symbol) for name, symbol in SHIM.items()}
        words["stream"] = _symbol(library, STREAM) if kind == "CUDA" else 0
        words["ask"] = compiled.address_of(self._ask)
        return words | {"table": self.table.ctypes.data}

    def begin(self) -> None:
        """Count calls from zero."""
        for context in self._contexts.values():
            context[[CONTEXT.index("smalls"), CONTEXT.index("others")]] = 0

    def remove(self) -> None:
        """Put PyTorch's own kernels back."""
        for handle in self._libraries:
            self.loaded.shim.aoti_torch_delete_library_object(handle)
        self._libraries.clear()

    def counted(self) -> tuple[int, int]:
        """Calls that were too small to be looked at, and those that nobody looks into."""
        small, other = CONTEXT.index("smalls"), CONTEXT.index("others")
        return tuple(sum(int(context[at]) for context in self._contexts.values()) for at in (small, other))  # type: ignore[return-value]

    def add(self, key: bytes, keep: object, words: Mapping[str, int]) -> Row:
        """A row of the words of ``ROW`` for a key. ``keep`` is held as long as the row may be read."""
        values = np.zeros(len(ROW), np.int64)
        values[:KEY] = np.frombuffer(key, np.int64)
        for name, value in words.items():
            values[ROW.index(name)] = value
        self._keep.append(keep)
        return Row(self.table, self.loaded.put(self.table.ctypes.data, values.ctypes.data))

    def drop(self) -> None:
        """Forget all rows."""
        if not self._keep:
            return
        self._dropped.append((self.table, self._keep))
        self.table, self._keep = _table(), []
        for context in self._contexts.values():
            context[CONTEXT.index("table")] = self.table.ctypes.data


def _table() -> Any:
    # From the system as zeros, so that rows that nobody uses take no memory.
    return np.zeros(ROWS * len(ROW), np.int64)


@functools.cache
def _operator() -> str:
    """The name of the operator behind ``Entries.added``, which is defined once."""
    _FRAGMENT.define("added(Tensor c, Tensor a, Tensor b, float beta, float alpha) -> Tensor")
    return ADDED


_FRAGMENT: Any = torch.library.Library("tilewright", "FRAGMENT")


def _own(operator: str, kind: str) -> bool:
    """Whether the kernel of an operator is the one that PyTorch was built with."""
    lines = torch._C._dispatch_dump_table(f"aten::{operator}").splitlines()
    return any(line.startswith(f"{kind}: registered at ") and f"Register{kind}" in line for line in lines)
