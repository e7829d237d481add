"""PyTorch's own batched products served by Tilewright, for as long as ``enable`` says.

``aten::bmm``, ``baddbmm`` and ``mm``, which ``torch.matmul`` and ``torch.einsum`` are made of, get kernels of
ours below every layer of PyTorch, so gradients, vmap, compile and autocast see nothing of it. A kernel looks
a call up by all that its plan depends on:

1. a call known to be served is launched on the caller's stream (or run, in this process's memory);
2. one known not to be served goes to the kernel that PyTorch had there before;
3. a new one is decided on once: planned, compared by what records or the model expect of both, and kept.

``bmm``, ``bmm.out`` and ``mm`` are compiled entries (``entries``), which come here for the third step alone;
``baddbmm`` is a kernel in Python that calls such an entry. What takes scalars in other ways, and everything
where no entries can be had, are kernels in Python (``replacements``), with the same three steps.

On a GPU a call that the plan leaves to the library is launched by us all the same, through cuBLASLt, where
the host is what is waited for: that costs it half of what PyTorch's own call does. In this process's memory
what is small goes on to PyTorch's kernel before anything is asked.
"""

from __future__ import annotations

import ctypes
import math
import struct
import threading
import warnings
from collections.abc import Callable
from typing import Any

import torch

from tilewright.arrays.layout import LETTERS, WIDEST
from tilewright.calls import product
from tilewright.calls.executable import Executable, executable
from tilewright.calls.spec import Options
from tilewright.errors import RoomError, UnsupportedError
from tilewright.model import Plan
from tilewright.runtime import call_cache, compiled, fastcall_cpu, fastcall_cuda
from tilewright.runtime.device_calls import Memo, Prepared, distances
from tilewright.torch import entries
from tilewright.torch.products import SHARED, detached
from tilewright.torch.program import ENTRIES
from tilewright.torch.replacements import KERNELS, LONGEST, PLAIN, fits
from tilewright.torch.rows import KEY
from tilewright.torch.worth import Estimate, estimate

SMALL = {"CPU": 1 << 13, "CUDA": 0}
"""Elements of both operands up to which a call goes on to PyTorch unseen. A launch of ours costs the host
what one of PyTorch's does, and less than passing a call on."""
SMALL_ENTRY = {"CPU": 1 << 11, "CUDA": 0}
"""The same for compiled entries. In this process's memory what is smaller gains less than 10 microseconds a
call, and a kernel takes 50 milliseconds to compile."""
TYPES = {getattr(torch, known.name) for known in LETTERS.values()}
MOST = 4096
"""Kinds of calls that are remembered before all of them are forgotten."""
CLASSES = (torch.Tensor, torch.nn.Parameter)
KINDS = ("CPU", "CUDA")


class Choice:
    """What is done with one kind of call, and how often it came.

    ``run`` launches for the addresses of a, b and out and a stream, ``call`` runs on arrays of NumPy; with
    neither, ``why`` says why PyTorch's kernel runs. ``plan`` and ``expected`` are None where it came to none.
    """

    __slots__ = (
        *("apart", "call", "clear", "context", "copies", "expected", "index", "plan"),
        *("row", "run", "seen", "shape", "spelling", "why"),
    )

    def __init__(self, spelling: str, why: str = ""):
        self.spelling, self.why, self.seen = spelling, why, 0
        self.row: entries.Row | None = None
        self.apart = 0, 0, 0, 0
        self.context, self.copies = b"", 0
        self.run: Callable[[int, int, int, int], None] | None = None
        self.call: Executable | None = None
        self.plan: Plan | None = None
        self.expected: Estimate | None = None
        self.clear: Any = None
        self.shape: tuple[int, ...] = ()
        self.index = -1

    @property
    def calls(self) -> int:
        """How often it came."""
        return self.seen + (0 if self.row is None else self.row.calls)

    def words(self) -> dict[str, int]:
        """Its row for compiled entries, which are to hold the choice."""
        if self.why:
            return {}
        function = None if self.call is None else self.call.builtin
        found = None if self.run is None else fastcall_cuda.raw(self.run)
        if function is not None:
            # As many threads as PyTorch's own kernel would use.
            made = fastcall_cpu.raw(function, torch.get_num_threads())
            if made is not None:
                self.context = made[1]
                found = made[0], compiled.context_at(made[1])
        if found is None:
            return {"asks": 1}
        steps = [math.prod(self.shape[at + 1 :]) for at in range(len(self.shape))]
        words = {"launch": found[0], "context": found[1], "copies": self.copies}
        words |= {f"size{at}": size for at, size in enumerate(self.shape)}
        words |= {f"step{at}": step for at, step in enumerate(steps)}
        return words | dict(zip(("low_a", "low_b", "high_a", "high_b"), self.apart, strict=True))

    def told(self) -> Choice:
        """What there is to report of it, without the kernel."""
        made = Choice(self.spelling, self.why)
        made.seen, made.plan, made.expected = self.calls, self.plan, self.expected
        return made


class Serving:
    """The kernels in PyTorch's tables, and what they remember. ``depth``: how many callers want them."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.depth = 0
        self.library: Any = None
        self.entries: entries.Entries | None = None
        self.added: dict[str, Any] = {}
        self.choices: dict[Any, Choice] = {}
        self.past: list[Choice] = []
        self.small = self.other = 0
        self.within = threading.local()
        self.several = False
        self.stream: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        call_cache.watch(self)

    def drop(self) -> None:
        """Decide again on everything: the call cache is emptied, for records changed."""
        with self.lock:
            if self.entries is not None:
                self.entries.drop()
            for choice in list(self.choices.values()):
                if len(self.past) < MOST:
                    self.past.append(choice.told())
                else:
                    self.other += choice.calls
            self.choices.clear()

    def counted(self) -> tuple[int, int]:
        """Calls that were too small to be looked at, and those that nobody looks into."""
        small, other = (0, 0) if self.entries is None else self.entries.counted()
        return self.small + small, self.other + other

    # ---- on and off

    def on(self, forget: bool = True) -> None:
        """Put the kernels in PyTorch's tables, or count one more who wants them there. ``forget``: what was
        decided and counted before.

        Raises ``UnsupportedError`` for a PyTorch that cannot say which kernel it had."""
        with self.lock:
            if self.depth == 0:
                if not hasattr(torch.library, "get_kernel"):
                    raise UnsupportedError(f"torch {torch.__version__}; accepted: 2.9 or later")
                if self.entries is None:
                    made = entries.loaded()
                    self.entries = None if made is None else entries.Entries(made, self._asked)
                if forget:
                    self.drop()
                    self.past, self.small, self.other = [], 0, 0
                    if self.entries is not None:
                        self.entries.begin()
                # With one GPU nobody has to ask which one is current.
                self.several = torch.cuda.device_count() > 1
                self.library = torch.library.Library("aten", "IMPL")
                with warnings.catch_warnings():
                    # PyTorch warns of whoever replaces a kernel, which is what was asked for.
                    warnings.simplefilter("ignore")
                    for kind in KINDS:
                        if torch._C._dispatch_has_kernel_for_dispatch_key("aten::bmm", kind):
                            self._replace(kind)
            self.depth += 1

    def off(self, all_of_them: bool = False) -> None:
        """Count one less who wants them, or none at all; without any, put back PyTorch's own."""
        with self.lock:
            if self.depth == 0:
                return
            self.depth = 0 if all_of_them else self.depth - 1
            if self.depth == 0:
                library, self.library = self.library, None
                library._destroy()
                if self.entries is not None:
                    self.entries.remove()

    def _replace(self, kind: str) -> None:
        self.added[kind] = None if self.entries is None else self.entries.added(kind, self.several)
        # Those in Python come first: PyTorch warns of the first kernel that is replaced, and knows how to
        # be kept from it only there.
        self._replace_by_python(kind, [name for name in KERNELS if name not in ENTRIES])
        compiled: list[str] = []
        if self.entries is not None:
            compiled = self.entries.install(kind, SMALL_ENTRY[kind], LONGEST, self.several)
        self._replace_by_python(kind, [name for name in ENTRIES if name not in compiled])

    def _replace_by_python(self, kind: str, names: list[str]) -> None:
        keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, kind))
        for name in names:
            before = torch.library.get_kernel(f"aten::{name}", kind).call_boxed
            made = KERNELS[name](self, before, keys, SMALL[kind])
            self.library.impl(name, made, kind, allow_override=True)

    # ---- calls

    def serve(self, tag: Any, a: Any, b: Any, out: Any, c: Any) -> Any:
        """See ``replacements.Server``."""
        try:
            if type(a) not in CLASSES or type(b) not in CLASSES:
                self.other += 1
                return NotImplemented
            x, y = a.data_ptr(), b.data_ptr()
            if out is None:
                z, into = 0, None
            else:
                z = out.data_ptr()
                into = (out.shape, out.stride(), out.dtype, out.get_device(), out.is_conj(), out.is_neg())
            key = (
                *(tag, (x | y | z) % WIDEST, into),
                *(a.shape, a.stride(), a.dtype, a.get_device(), a.is_conj(), a.is_neg()),
                *(b.shape, b.stride(), b.dtype, b.get_device(), b.is_conj(), b.is_neg()),
            )
            choice = self.choices.get(key)
        except (RuntimeError, TypeError):
            # Without memory of its own, or with sizes that are symbols.
            self.other += 1
            return NotImplemented
        if choice is None:
            return self._decided(key, tag, a, b, out, c)
        choice.seen += 1
        return self._served(choice, a, b, out, c)

    def _served(self, choice: Choice, a: Any, b: Any, out: Any, c: Any) -> Any:
        """A call of a kind that is decided on."""
        if choice.copies and choice.why == "":
            a, b = (t.contiguous() if choice.copies & bit else t for t, bit in ((a, 1), (b, 2)))
        run = choice.run
        if run is not None:
            index = choice.index
            if self.several and torch.cuda.current_device() != index:
                return NotImplemented
            x, y = a.data_ptr(), b.data_ptr()
            if out is not None and not choice.clear(x, y, out.data_ptr()):
                return NotImplemented
            if out is None:
                out = a.new_empty(choice.shape) if c is None else _filled(a, c, choice.shape)
            try:
                run(x, y, out.data_ptr(), self.stream(index))
            except RoomError:
                return NotImplemented  # PyTorch's kernel needs no workspace of ours.
            return out
        if choice.call is not None:
            if out is None:
                out = a.new_empty(choice.shape) if c is None else _filled(a, c, choice.shape)
            choice.call(detached(a).numpy(), detached(b).numpy(), out=detached(out).numpy())
            return out
        return NotImplemented

    def _asked(self, which: int, refused: int, key: Any, a: int, b: int, out: int) -> int:
        """What a compiled entry asks: see ``entries.Ask``."""
        try:
            assert self.entries is not None
            made = self.entries.loaded
            words = ctypes.string_at(key, KEY * 8)
            x, y = (entries.tensor_of(made, handle) for handle in (a, b))
            z = entries.tensor_of(made, out) if out else None
            if type(x) not in CLASSES or type(y) not in CLASSES:
                return 0
            tag: Any = PLAIN
            c = None
            if which % (len(ENTRIES) + 1) == len(ENTRIES):
                beta, alpha = struct.unpack_from("<2d", words, 8 * (KEY - 2))
                if z is None or z.dtype is not x.dtype or z.device != x.device:
                    return 0
                tag, c, z = (alpha, beta), z if beta != 0 else None, None
            choice = self.choices.get(words)
            if choice is None or not refused:
                found = self._decided(words, tag, x, y, z, c, python=False)
            else:
                found = self._served(choice, x, y, z, c)
            return 0 if found is NotImplemented else 1 if z is not None else entries.handle_of(found)
        except Exception:
            # Nothing may go back through compiled code: PyTorch's kernel says what is wrong.
            return 0

    def _decided(self, key: Any, tag: Any, a: Any, b: Any, out: Any, c: Any, python: bool = True) -> Any:
        """A call of a new kind: decided on, and then served or not. ``python``: calls of it go by Python."""
        if getattr(self.within, "busy", False):
            # A product that is made for serving another.
            return NotImplemented
        if a.is_cuda and torch.cuda.is_current_stream_capturing():
            # Loading a kernel is nothing that a graph can hold.
            return NotImplemented
        with self.lock, torch.no_grad():
            if key in self.choices:
                # Another thread has decided meanwhile.
                return self._served(self.choices[key], a, b, out, c)
            self.within.busy = True
            try:
                choice, result = self._decide(tag, a, b, out, c, python)
            except Exception as error:
                # No program fails because it was to be served: PyTorch's kernel says what is wrong.
                choice, result = Choice(_spelled(a, b), f"{type(error).__name__}: {error}"), NotImplemented
            finally:
                self.within.busy = False
            choice.seen += 1
            if len(self.choices) >= MOST:
                self.drop()
            self.choices[key] = choice
            if not python and self.entries is not None:
                choice.row = self.entries.add(key, choice, choice.words())
            return result

    def _decide(self, tag: Any, a: Any, b: Any, out: Any, c: Any, python: bool) -> tuple[Choice, Any]:
        choice = Choice(_spelled(a, b), _strange(a, b))
        if out is not None and not choice.why and not fits(out, a, b):
            choice.why = "the result has another shape or type"
        if choice.why:
            return choice, NotImplemented
        alpha, beta = tag
        options = Options.of(alpha, beta, "n", "n")
        a, b = detached(a), detached(b)
        target = a.new_empty((*a.shape[:-1], b.shape[-1])) if out is None else detached(out)
        choice.shape = tuple(target.shape)
        x, y, z = (a, b, target) if a.is_cuda else (a.numpy(), b.numpy(), target.numpy())
        made = executable(options, x, y, None, z)
        again = [name for name, operand in (("a", a), ("b", b)) if _repeated(operand)]
        if made.copies and not python and c is None and set(made.copies) <= set(again):
            # PyTorch's kernel would copy them, too.
            a, b = (t.contiguous() if name in made.copies else t for name, t in (("a", a), ("b", b)))
            choice.copies = sum({"a": 1, "b": 2}[name] for name in made.copies)
            x, y = (a, b) if a.is_cuda else (a.numpy(), b.numpy())
            made = executable(options, x, y, None, z)
        choice.plan, choice.spelling = made.plan, made.plan.problem.spelling
        choice.expected = estimate(made.plan, adding=c is not None, python=python)
        if made.copies:
            choice.why = f"{', '.join(made.copies)} would have to be copied"
        elif made.plan.stencil is None and not a.is_cuda:
            choice.why = f"PyTorch's is the better guess: {made.plan.why}"
        elif not choice.expected.wins:
            choice.why = "too little to gain"
        if choice.why:
            return choice, NotImplemented
        if c is not None:
            target.copy_(detached(c))
        if a.is_cuda:
            memo: Memo = {}
            product.gemm(options, a, b, None, target, memo, "served")
            prepared: Prepared | None = next(iter(memo.values()), None)
            if prepared is None or prepared.run is None:
                choice.why = "no launch of one kernel"
            else:
                choice.run, choice.index, choice.clear = prepared.run, prepared.index, prepared.clear
                choice.apart = prepared.low_a, prepared.low_b, prepared.high_a, prepared.high_b
                if not python and fastcall_cuda.raw(choice.run) is None:
                    # Python is needed after all.
                    choice.expected = estimate(made.plan)
                    if made.plan.stencil is None or not choice.expected.wins:
                        choice.why, choice.run = "only Python can launch it", None
        else:
            made(x, y, out=z)
            choice.call, choice.apart = made, distances(x, y, z)
        return choice, target if out is None else out


def _filled(a: Any, c: Any, shape: tuple[int, ...]) -> Any:
    """A new tensor by rows that holds c, in one call of PyTorch's where c is such a tensor."""
    if c.shape == shape and c.is_contiguous() and not c.is_conj():
        return detached(c).clone()
    return a.new_empty(shape).copy_(detached(c))


def _repeated(tensor: Any) -> bool:
    """Whether matrices have numbers that are several of their elements, or no elements side by side: neither
    is what a library takes."""
    steps = tensor.stride()[-2:]
    return 0 in steps or 1 not in steps


def _strange(a: Any, b: Any) -> str:
    """Why two tensors are not looked at; empty where they are."""
    if a.numel() == 0 or b.numel() == 0:
        return "there is nothing to multiply"
    if a.dtype not in TYPES or a.dtype is not b.dtype:
        return f"type {a.dtype}"
    if a.device != b.device or a.layout is not torch.strided or b.layout is not torch.strided:
        return "tensors of other kinds"
    if a.is_cuda:
        tf32 = a.dtype is torch.float32 and torch.backends.cuda.matmul.allow_tf32
        return "PyTorch may round to TF32" if tf32 else ""
    if a.is_conj() or b.is_conj() or a.is_neg() or b.is_neg():
        return "conjugation or negation was put off"
    return "" if str(a.dtype) in SHARED else f"type {a.dtype}, for which no kernel is of this processor"


def _spelled(a: Any, b: Any) -> str:
    return f"{str(a.dtype).removeprefix('torch.')} {tuple(a.shape)} x {tuple(b.shape)}"
