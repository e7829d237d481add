"""A kernel that was handed in, on some sizes: what the tuner, the store and the cache of binaries are
given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tilewright.custom.definition import Definition
from tilewright.custom.expressions import evaluated, function
from tilewright.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class KernelProblem:
    """A task (``task.Task``): a kernel by its name and digest, and the sizes that it is computed for.

    ``sizes`` are all but that of the ``batch``, which the kernel names ``over`` ("" where it has none).
    ``flops`` and ``bytes`` are of one item of the batch. ``definition`` is what can be built and run; None
    in what was read from records, which is equal all the same.
    """

    kernel: str
    digest: str
    sizes: tuple[tuple[str, int], ...]
    batch: int = 1
    over: str = ""
    flops: float = 0.0
    bytes: float = 0.0
    definition: Definition | None = field(default=None, compare=False, repr=False)

    @staticmethod
    def of(definition: Definition, sizes: Mapping[str, int]) -> KernelProblem:
        """A definition on some sizes. Raises ``ArgumentError`` for sizes that are missing, unknown or no
        counts."""
        wanted = definition.sizes
        for name in sizes:
            if name not in wanted:
                raise ArgumentError(
                    f"sizes={dict(sizes)} name {name!r}; accepted: "
                    f"{', '.join(wanted) or 'none: it has no sizes'}"
                )
        for name in wanted:
            value = sizes.get(name)
            if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < 1:  # type: ignore[arg-type]
                raise ArgumentError(
                    f"sizes={dict(sizes)}: {name} is {value!r}; accepted: a whole number from 1"
                )
        whole = {name: int(sizes[name]) for name in wanted}
        over = definition.batch
        moved = sum(
            math.prod(array.extents(whole)) * array.numpy.itemsize * (array.reads + array.writes)
            for array in definition.arrays
        )
        batch = whole[over] if over else 1
        flops = (
            0.0 if definition.flops is None else float(evaluated(function(definition.flops), whole, "flops"))
        )
        left = tuple((name, value) for name, value in whole.items() if name != over)
        return KernelProblem(
            definition.name, definition.digest, left, batch, over, flops / batch, moved / batch, definition
        )

    @property
    def made(self) -> Definition:
        """The definition. Raises ``ArgumentError`` for a problem that was read from records."""
        if self.definition is None:
            raise ArgumentError(
                f"problem={self.spelling} was read from records; accepted: one of a tw.Stencil"
            )
        return self.definition

    @property
    def all_sizes(self) -> dict[str, int]:
        """All sizes by their names."""
        return {**dict(self.sizes), **({self.over: self.batch} if self.over else {})}

    @property
    def key(self) -> str:
        """What a record is filed under: the kernel, its digest, and all sizes but that of the batch."""
        return f"{self.family}|{','.join(f'{name}={value}' for name, value in self.sizes)}"

    @property
    def family(self) -> str:
        """The kernel: near sizes of it are near problems."""
        return f"kernel:{self.kernel}:{self.digest}"

    @property
    def extents(self) -> tuple[int, int, int]:
        """Three numbers of the sizes, the last the product of all that are left."""
        first, second, *rest = (*(value for _, value in self.sizes), 1, 1)
        return first, second, math.prod(rest)

    @property
    def layout(self) -> str:
        """Arrays have no gaps."""
        return "packed"

    @property
    def spelling(self) -> str:
        """The kernel's name and its sizes."""
        text = ",".join(f"{name}={value}" for name, value in self.sizes)
        return f"{self.kernel}:{text}" + (f"@{self.batch}" if self.over else "")

    @property
    def footprint(self) -> int:
        """Bytes that all operands of the batch occupy, at most."""
        return int(self.bytes * self.batch)

    @property
    def compiled(self) -> dict[str, Any]:
        """What of it may decide the text of a program."""
        return {"kernel": self.kernel, "digest": self.digest, "sizes": dict(self.sizes)}

    def with_(self, **changes: Any) -> KernelProblem:
        """The same problem with some fields changed."""
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """The fields of a line of records."""
        line: dict[str, Any] = {"problem": self.spelling, "kernel": self.kernel, "digest": self.digest}
        line |= {"sizes": dict(self.sizes), "batch_size": self.batch, "over": self.over}
        return line | {"flops": self.flops, "bytes": self.bytes}

    @staticmethod
    def from_json(line: Mapping[str, Any]) -> KernelProblem:
        """The problem that ``to_json`` wrote, without its definition."""
        return KernelProblem(
            line["kernel"],
            line["digest"],
            tuple(line["sizes"].items()),
            line["batch_size"],
            line["over"],
            float(line["flops"]),
            float(line["bytes"]),
        )
