"""A kernel that somebody hands in: its text, its parameters and rules, its arguments, and what is right.

Nothing here runs a kernel. A ``Definition`` is checked as a whole when it is made, so that what is wrong with
it is said before anything is compiled; ``Definition.space`` is its search space for some sizes on a device.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from tilewright.custom import shipping
from tilewright.custom.expressions import evaluated, function
from tilewright.dtypes import BFLOAT16
from tilewright.errors import ArgumentError, DTypeError
from tilewright.model import Config, Launch, Source
from tilewright.space import Param, Rule, arguments

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LANGUAGES = {"cuda": "cuda", "c": "cpu", "llvm": "cpu"}
"""The languages of kernels, and the kind of device that each is for."""
RESERVED = ("out", "config")
"""Keywords of a call, which no size and no scalar may be named."""
FORMATS = {
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
"""The types of scalars, and how ``struct`` spells them."""
TYPES = {*FORMATS, "float16", "bfloat16", "complex64", "complex128", "bool"}
"""The types of arrays."""

Extent = int | str
Answer = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Array:
    """An array argument: its name, its type by NumPy's name, and its extents, the last one contiguous.

    An extent is a number, the name of a size, or an expression of sizes. ``reads`` and ``writes`` say what a
    kernel does with it: see ``Input``, ``Output`` and ``InOut``.
    """

    name: str
    dtype: str
    shape: tuple[Extent, ...]
    reads: bool = True
    writes: bool = False

    @property
    def numpy(self) -> np.dtype[Any]:
        """The type of its elements."""
        return BFLOAT16 if self.dtype == "bfloat16" else np.dtype(self.dtype)

    def extents(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Its shape for some sizes. Raises ``ArgumentError`` for extents that are no counts."""
        found = []
        for extent in self.shape:
            value = evaluated(function(extent), sizes, f"the shape {self.shape} of {self.name!r}")
            if int(value) != value or value < 0:
                raise ArgumentError(f"extent {extent!r} of {self.name!r} is {value!r}; accepted: a count")
            found.append(int(value))
        return tuple(found)


def Input(name: str, dtype: str, shape: Sequence[Extent]) -> Array:
    """An array that a kernel reads: a ``const T *``, to be given in a call."""
    return Array(name, dtype, tuple(shape))


def Output(name: str, dtype: str, shape: Sequence[Extent]) -> Array:
    """An array that a kernel writes all of: a ``T *``, which a call returns."""
    return Array(name, dtype, tuple(shape), False, True)


def InOut(name: str, dtype: str, shape: Sequence[Extent]) -> Array:
    """An array that a kernel updates in place: a ``T *``, to be given in a call."""
    return Array(name, dtype, tuple(shape), True, True)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number that a kernel takes by value, its type by NumPy's name.

    ``value`` is a number or an expression of sizes; None for one that a call gives by keyword.
    """

    name: str
    dtype: str
    value: float | str | None = None


Argument = Array | Scalar


@dataclass(frozen=True)
class Definition:
    """A kernel as data. ``kernels.stencil.Stencil`` says what each part is, and makes it of what a user
    gives.

    Raises ``ArgumentError`` and ``DTypeError`` for parts that are not accepted or do not fit together. Two
    definitions are equal if ``digest`` is, which covers what decides a kernel's results and its speed under
    one config: the text, the headers, the options, the arguments and which sizes are compiled in.
    """

    name: str
    language: str
    text: str
    entry: str
    params: tuple[Param, ...]
    rules: tuple[Rule, ...]
    arguments: tuple[Argument, ...]
    launch: Any = None
    reference: Answer | None = None
    inputs: Answer | None = None
    headers: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()
    batch: str = ""
    compiled: tuple[str, ...] = ()
    tolerance: float | None = None
    cases: tuple[Mapping[str, int], ...] = ()
    default: Mapping[str, Any] | None = None
    starts: tuple[Config, ...] = ()
    flops: Any = None
    sizes: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        for what, name in (("name", self.name), ("entry", self.entry)):
            if not NAME.fullmatch(name):
                raise ArgumentError(f"{what}={name!r}; accepted: a name as C has it")
        if self.language not in LANGUAGES:
            raise ArgumentError(f"language={self.language!r}; accepted: {', '.join(LANGUAGES)}")
        if not self.params:
            raise ArgumentError("parameters={}; accepted: at least one, a list of one value if need be")
        self._check_arguments()
        object.__setattr__(self, "sizes", self._sizes())
        self._check_names()

    def _check_arguments(self) -> None:
        if not any(array.writes for array in self.arrays):
            raise ArgumentError("arguments: none is written; accepted: at least one Output or InOut")
        for each in self.arguments:
            accepted = TYPES if isinstance(each, Array) else FORMATS
            if each.dtype not in accepted:
                raise DTypeError(
                    f"argument {each.name!r} is of type {each.dtype!r}; accepted: "
                    f"{', '.join(sorted(accepted))}"
                )
        if (self.language == "cuda") != (self.launch is not None):
            raise ArgumentError(
                f"launch={self.launch!r} for a kernel in {self.language}; accepted: a grid and a "
                "block for CUDA, "
                "None for a processor, which calls a kernel as a function"
            )

    def _sizes(self) -> tuple[str, ...]:
        """What shapes, scalars and the launch read and no parameter is, in the order of their first use."""
        names = [param.name for param in self.params]
        found: dict[str, None] = {}
        for each in self.arguments:
            for value in each.shape if isinstance(each, Array) else (each.value,):
                found |= dict.fromkeys(arguments(function(value)))
        if isinstance(self.launch, Mapping):
            for value in _parts(self.launch):
                found |= dict.fromkeys(arguments(function(value)))
        elif callable(self.launch):
            found |= dict.fromkeys(arguments(self.launch))
        return tuple(name for name in found if name not in names)

    def _check_names(self) -> None:
        every = [
            *((param.name, "parameter") for param in self.params),
            *((each.name, "argument") for each in self.arguments),
        ]
        # A scalar may be named as the size that it is.
        scalars = {
            each.name for each in self.arguments if isinstance(each, Scalar) and each.value == each.name
        }
        every += [(size, "size") for size in self.sizes if size not in scalars]
        known: dict[str, str] = {}
        for name, what in every:
            if not NAME.fullmatch(name) or name in RESERVED:
                raise ArgumentError(
                    f"{what} {name!r}; accepted: a name as C has it, but for {', '.join(RESERVED)}"
                )
            if name in known:
                raise ArgumentError(
                    f"{known[name]} and {what} are both named {name!r}; accepted: each name once"
                )
            known[name] = what
        for what, names in (("batch", [self.batch] if self.batch else []), ("compiled", self.compiled)):
            for name in names:
                if name not in self.sizes:
                    raise ArgumentError(
                        f"{what}={name!r} is no size; accepted: "
                        f"{', '.join(self.sizes) or 'none: there are no sizes'}"
                    )
        if self.batch in self.compiled:
            raise ArgumentError(f"batch={self.batch!r} is compiled in; accepted: a size given at run time")
        for rule in self.rules:
            for name in rule.reads:
                if name not in self.sizes and name not in {param.name for param in self.params}:
                    raise ArgumentError(
                        f"rule {rule.name!r} reads {name!r}; accepted: parameters "
                        f"({', '.join(p.name for p in self.params)}) and sizes "
                        f"({', '.join(self.sizes) or 'none'})"
                    )

    # -- what it is ------------------------------------------------------------------------------------
    @property
    def target(self) -> str:
        """The kind of device that it runs on."""
        return LANGUAGES[self.language]

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays among the arguments."""
        return tuple(each for each in self.arguments if isinstance(each, Array))

    @property
    def given(self) -> tuple[Array, ...]:
        """The arrays that a call is given, in their order."""
        return tuple(array for array in self.arrays if array.reads)

    @property
    def made(self) -> tuple[Array, ...]:
        """The arrays that a call makes and returns; those it updates where it makes none."""
        return tuple(a for a in self.arrays if a.writes and not a.reads) or self.written

    @property
    def written(self) -> tuple[Array, ...]:
        """The arrays that a reference returns, in their order."""
        return tuple(array for array in self.arrays if array.writes)

    @property
    def asked(self) -> tuple[Scalar, ...]:
        """The scalars that a call gives by keyword."""
        return tuple(each for each in self.arguments if isinstance(each, Scalar) and each.value is None)

    @cached_property
    def digest(self) -> str:
        """Hash of what decides a kernel's results under one config."""
        described = [
            [type(each).__name__, *(str(getattr(each, f.name)) for f in fields(each))]
            for each in self.arguments
        ]
        content = json.dumps(
            [
                self.language,
                self.text,
                self.entry,
                self.headers,
                self.options,
                described,
                self.batch,
                self.compiled,
            ]
        )
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    # -- what follows from a config and sizes ----------------------------------------------------------
    def source(self, config: Mapping[str, Any], sizes: Mapping[str, int]) -> Source:
        """The program: the text, with parameters and the sizes that are compiled in as definitions."""
        defines = [(name, _defined(value)) for name, value in config.items()]
        defines += [(name, str(sizes[name])) for name in self.compiled]
        language = "c" if self.language == "c" else ""
        text = self.text
        if self.language == "llvm":
            # LLVM has no preprocessor: names in braces are replaced.
            for name, value in defines:
                text = text.replace("{" + name + "}", value)
            defines = []
        return Source(text, self.entry, self.headers, tuple(defines), (), language, self.options)

    def launched(self, config: Mapping[str, Any], sizes: Mapping[str, int]) -> Launch:
        """Grid, block and shared memory. Raises ``ArgumentError`` for a rule that fails or gives no
        counts."""
        values = {**sizes, **config}
        rule = self.launch
        if callable(rule):
            rule = evaluated(rule, values, "launch")
        if not isinstance(rule, Mapping) or not {"grid", "block"} <= set(rule) <= {"grid", "block", "shared"}:
            raise ArgumentError(
                f"launch gives {rule!r}; accepted: a mapping of grid, block and perhaps shared"
            )
        grid, block = (
            tuple(_count(function(x), values, f"launch: {name}") for x in _three(rule[name]))
            for name in ("grid", "block")
        )
        shared = _count(function(rule.get("shared", 0)), values, "launch: shared")
        return Launch(grid=(grid[0], grid[1], grid[2]), block=(block[0], block[1], block[2]), shared=shared)

    def reads_of_launch(self) -> tuple[str, ...]:
        """The parameters that decide a launch."""
        rule = self.launch
        reads = (
            arguments(rule)
            if callable(rule)
            else [name for value in _parts(rule) for name in arguments(function(value))]
        )
        names = [param.name for param in self.params]
        return tuple(dict.fromkeys(name for name in reads if name in names))

    def scalar(self, argument: Scalar, sizes: Mapping[str, int], given: Mapping[str, Any]) -> Any:
        """The value of a scalar: of the sizes, or as it was given by name."""
        if argument.value is None:
            return given[argument.name]
        return evaluated(function(argument.value), sizes, f"scalar {argument.name!r}")

    # -- on the way to a child -------------------------------------------------------------------------
    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self._packed,)

    @cached_property
    def _packed(self) -> bytes:
        return shipping.packed({each.name: getattr(self, each.name) for each in fields(self) if each.init})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Definition) and (self.name, self.digest) == (other.name, other.digest)

    def __hash__(self) -> int:
        return hash((self.name, self.digest))


_RECEIVED: dict[bytes, Definition] = {}


def _received(content: bytes) -> Definition:
    """The definition in a child. One object for one content: a run sends it thousands of times."""
    if content not in _RECEIVED:
        _RECEIVED.clear()
        _RECEIVED[content] = Definition(**shipping.unpacked(content))
    return _RECEIVED[content]


def _defined(value: Any) -> str:
    """A parameter's value as a definition of a preprocessor."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _three(value: Any) -> tuple[Any, ...]:
    """What stands for x, y and z, with 1 for what is left out."""
    parts = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(parts) <= 3:
        raise ArgumentError(f"launch: {value!r} has {len(parts)} extents; accepted: 1 to 3")
    return parts + (1,) * (3 - len(parts))


def _parts(rule: Mapping[str, Any]) -> list[Any]:
    """Everything in a launch rule that is evaluated."""
    return [
        part for name, value in rule.items() for part in ((value,) if name == "shared" else _three(value))
    ]


def _count(made: Callable[..., Any], values: Mapping[str, Any], what: str) -> int:
    value = evaluated(made, values, what)
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.integer)
        or int(value) != value
        or value < 0
    ):
        raise ArgumentError(f"{what} is {value!r} of {made!r}; accepted: a whole number from 0")
    return int(value)
