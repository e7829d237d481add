"""How tasks are written in a line: a table with a codec for each kind of task.

It is the one module of the store that knows any of them. Another kind of task needs one more line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tilewright.custom.problem import KernelProblem
from tilewright.errors import RecordsError
from tilewright.model import MATHS, GroupedProblem, Problem
from tilewright.store.fields import COUNT, COUNTS, NUMBER, TEXT, Check, checks, one_of


@dataclass(frozen=True, slots=True)
class Codec:
    """How the problems of one kind are written in a line, among the keys of the record.

    ``kind`` is what the line says under that name; ``noun`` is the type of the problems, exactly.
    ``accepted`` holds the keys that ``encode`` writes. ``decode`` is given those of them that the line
    has, and raises ``ArgumentError`` or ``RecordsError`` where they name no problem.
    """

    kind: str
    noun: type
    accepted: Mapping[str, Check]
    encode: Callable[[Any], dict[str, Any]]
    decode: Callable[[Mapping[str, Any]], Any]


_SPELLED = ("dtype", "m", "n", "k", "trans_a", "trans_b", "batch", "interleaved")
"""The fields of a problem that its spelling holds."""
_CLASSES = {
    "alpha": ("1", "any"),
    "beta": ("0", "1", "any"),
    "math": MATHS,
    "align": (1, 2, 4, 8, 16),
}


def gemm_codec(noun: type[Problem]) -> Codec:
    """The codec of matrix products: a spelling, and every other field that is not what it implies.

    A field with the default None is part of the layout. The layout is written as a whole, because the
    default of one part may follow from another. Of an interleaved one only what the batch shares and where C
    lies apart is written: rows and columns, which are arguments of a kernel, are then as they are by default.
    """
    accepted = checks(noun, _SPELLED, _CLASSES)
    layout = tuple(each.name for each in fields(noun) if each.name in accepted and each.default is None)
    steps = tuple(name for name in layout if name.startswith("stride"))
    others = [*((name,) for name in accepted if name not in layout)]

    def encoded(problem: Problem) -> dict[str, Any]:
        plain = noun(**{name: getattr(problem, name) for name in _SPELLED})
        line: dict[str, Any] = {"problem": problem.spelling}
        for names in (layout if problem.interleaved is None else steps, *others):
            values = {name: getattr(problem, name) for name in names}
            line |= values if any(getattr(plain, name) != value for name, value in values.items()) else {}
        return line

    def decoded(values: Mapping[str, Any]) -> Problem:
        spelled = Problem.parse(values["problem"])
        if len(spelled) != 1:
            raise RecordsError(f"problem={values['problem']!r} is not one problem")
        said = {name: getattr(spelled[0], name) for name in _SPELLED}
        return noun(**said, **{name: value for name, value in values.items() if name in accepted})

    return Codec("gemm", noun, {"problem": TEXT, **accepted}, encoded, decoded)


GEMM = gemm_codec(Problem)
GROUPED = Codec(
    "grouped",
    GroupedProblem,
    {"problem": TEXT, **{name: one_of(values) for name, values in _CLASSES.items()}},
    GroupedProblem.to_json,
    GroupedProblem.from_json,
)
CUSTOM = Codec(
    "kernel",
    KernelProblem,
    {
        **dict.fromkeys(("problem", "kernel", "digest", "over"), TEXT),
        "sizes": COUNTS,
        "batch_size": COUNT,
        "flops": NUMBER,
        "bytes": NUMBER,
    },
    KernelProblem.to_json,
    KernelProblem.from_json,
)
CODECS = {codec.kind: codec for codec in (GEMM, GROUPED, CUSTOM)}
"""The kinds of problems that records can be of. A line that names none is of a matrix product."""
