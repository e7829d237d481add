"""What an equation of einsum says: the labels of each operand and of the result, and their extents.

Equations are read by ``opt_einsum``, so that what it takes (ellipses, no arrow, lists of labels in turns with
the operands) is taken here, and what it refuses is refused.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import opt_einsum
from opt_einsum.parser import parse_einsum_input

from tilewright.errors import ArgumentError, DTypeError

Labels = tuple[str, ...]
MEANING = "labels of each operand's axes, those of the result behind an arrow, as in 'ij,jk->ik'"


@dataclass(frozen=True, slots=True)
class Equation:
    """Labels of the operands, ``terms``, and of the result, ``out``; ``extents`` by label."""

    terms: tuple[Labels, ...]
    out: Labels
    extents: dict[str, int]

    @property
    def text(self) -> str:
        """The equation without ellipses, as einsum writes it."""
        return ",".join(map("".join, self.terms)) + "->" + "".join(self.out)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        return tuple(self.extents[label] for label in self.out)


class Shaped:
    """Stands for an operand while an equation is read: what is asked for is its shape."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape, self.ndim = shape, len(shape)


def separated(arguments: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The two ways to call einsum as one: the equation, or the lists of labels, and the operands.

    Lists of labels are (label, ...) for each operand and, where there is one more, for the result.
    Raises ``ArgumentError`` where there is no operand, ``DTypeError`` for what is neither.
    """
    if arguments and isinstance(arguments[0], str):
        if len(arguments) > 1:
            return arguments[0], list(arguments[1:])
    elif len(arguments) > 1:
        pairs = len(arguments) // 2
        labels = (*arguments[1 : 2 * pairs : 2], *arguments[2 * pairs :])
        for given in labels:
            if not hasattr(given, "__iter__"):
                raise DTypeError(f"{given!r} of type {type(given).__name__} is no list of labels")
            if not all(isinstance(label, Hashable) for label in given):
                raise DTypeError(
                    f"labels of type {type(given).__name__}; accepted: an equation before all operands, or a "
                    "list of labels after each"
                )
        return tuple(map(tuple, labels)), list(arguments[: 2 * pairs : 2])
    raise ArgumentError(
        "einsum got no operands; accepted: an equation and its operands, or operands and labels in turns"
    )


def read(spec: Any, shapes: Sequence[tuple[int, ...]]) -> Equation:
    """An equation, or lists of labels, for operands of some shapes.

    An axis of one element goes with any extent, as NumPy has it. Raises ``ArgumentError`` (a ``ValueError``)
    for an equation that is none, labels that do not fit their operand, and extents that do not agree.
    """
    stands = [Shaped(shape) for shape in shapes]
    if isinstance(spec, str):
        given: list[Any] = [spec, *stands]
    else:
        # What is last may be the result's.
        given = [x for pair in zip(stands, spec, strict=False) for x in pair] + list(spec[len(stands) :])
    try:
        inputs, output, _ = parse_einsum_input(given)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        refusal = DTypeError if isinstance(error, TypeError) else ArgumentError
        raise refusal(
            f"equation {spec!r} for operands of shapes {list(shapes)}: {error}; accepted: {MEANING}"
        ) from error
    terms = tuple(tuple(term) for term in inputs.split(","))
    extents: dict[str, int] = {}
    for number, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        if len(term) != len(shape):
            labels = "".join(term)
            raise ArgumentError(
                f"operand {number} has shape {shape} and labels {labels!r}; accepted: one an axis"
            )
        for label, extent in zip(term, shape, strict=True):
            known = extents.setdefault(label, extent)
            if known == 1:
                extents[label] = extent
            elif extent not in (1, known):
                raise ArgumentError(f"label {label!r} is {known} long, and {extent} in operand {number}")
    missing = [label for label in output if label not in extents]
    if missing or len(set(output)) < len(output):
        raise ArgumentError(f"result {output!r}; accepted: labels of {inputs!r}, each once")
    return Equation(terms, tuple(output), extents)


def ordered(equation: Equation, shapes: Sequence[tuple[int, ...]], optimize: Any) -> list[tuple[int, ...]]:
    """Which operands are multiplied next, each time, the product standing last from then on.

    ``optimize`` is what ``opt_einsum.contract_path`` takes. Raises ``ArgumentError`` for another, and
    ``DTypeError`` for one of another type.
    """
    if len(shapes) <= 2 and (optimize is None or isinstance(optimize, str | bool)):
        return [tuple(range(len(shapes)))]
    try:
        path, _ = opt_einsum.contract_path(equation.text, *shapes, shapes=True, optimize=optimize)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        refusal = DTypeError if isinstance(error, TypeError) else ArgumentError
        raise refusal(
            f"optimize={optimize!r}: {error}; accepted: what opt_einsum.contract_path takes"
        ) from error
    return [tuple(sorted(step)) for step in path]
