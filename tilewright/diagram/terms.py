"""What a test makes of the parameters that already have a value: two prefixes that agree in it are alike.

A test of arrays is called once with symbols in place of values. What comes back is its expression: of
``(bx * tx + 2 * t) * (by * ty + 2 * t) <= limit`` only the product ``bx * tx`` matters once ``bx`` and
``tx`` are known. A test that does with its arguments what a symbol cannot follow (a branch, a call of NumPy,
a table) has no expression; it depends on all values that it reads.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

EXACT = {operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod}
"""What makes an integer of integers."""
GROUPED = {operator.add, operator.mul}
"""What may be taken in any order, of integers: of those that wrap around, too."""


class Term:
    """An expression of parameters: a name, or an operation on terms and constants.

    ``names`` are the parameters in it, ``whole`` says that it is an integer whatever they are, ``key`` is
    equal for equal expressions.
    """

    __slots__ = ("key", "names", "operands", "operation", "whole")
    # NumPy's arrays and scalars leave operations with a term to the term.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, operation: Callable[..., Any] | str, operands: Sequence[Any], whole: bool):
        self.operation, self.operands, self.whole = operation, tuple(operands), whole
        self.key: tuple[Any, ...] = (operation,)
        if isinstance(operation, str):
            self.names = frozenset((operation,))
            return
        inside = [each.names if isinstance(each, Term) else frozenset() for each in operands]
        self.names = frozenset().union(*inside)
        keys = [each.key if isinstance(each, Term) else (type(each), each) for each in operands]
        self.key += tuple(keys)

    def value(self, of: Mapping[str, Any]) -> Any:
        """What the term is where the parameters have these values, or arrays of them."""
        if isinstance(self.operation, str):
            return of[self.operation]
        first, *rest = (each.value(of) if isinstance(each, Term) else each for each in self.operands)
        if not rest:
            return self.operation(first)
        for each in rest:
            first = self.operation(first, each)
        return first

    def _no(self, *_: Any) -> NoReturn:
        raise TypeError("a symbol has no value")

    __bool__ = __str__ = __repr__ = __format__ = __index__ = __iter__ = __len__ = _no


def symbol(parameter: str, whole: bool) -> Term:
    """A parameter as a term; ``whole`` says that all its values are integers."""
    return Term(parameter, (), whole)


def _applied(operation: Callable[..., Any], *operands: Any) -> Term:
    for each in operands:
        if not isinstance(each, Term | int | float | str | np.generic):
            raise TypeError(f"{type(each)} in an expression")
    whole = all(each.whole if isinstance(each, Term) else type(each) is int for each in operands)
    if whole and operation is operator.sub:
        return _applied(operator.add, operands[0], _applied(operator.mul, operands[1], -1))
    if whole and operation in GROUPED:
        flat: list[Any] = []
        for each in operands:
            flat += each.operands if isinstance(each, Term) and each.operation is operation else [each]
        return Term(operation, flat, True)
    return Term(operation, operands, whole and operation in EXACT)


def _two(operation: Callable[..., Any]) -> tuple[Callable[..., Term], Callable[..., Term]]:
    return lambda a, b: _applied(operation, a, b), lambda a, b: _applied(operation, b, a)


def _one(operation: Callable[..., Any]) -> Callable[..., Term]:
    return lambda a: _applied(operation, a)


for _word in (
    "add",
    "sub",
    "mul",
    "floordiv",
    "mod",
    "truediv",
    "pow",
    "lshift",
    "rshift",
    "and_",
    "or_",
    "xor",
):
    _plain, _swapped = _two(getattr(operator, _word))
    setattr(Term, f"__{_word.rstrip('_')}__", _plain)
    setattr(Term, f"__r{_word.rstrip('_')}__", _swapped)
for _word in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Term, f"__{_word}__", _two(getattr(operator, _word))[0])
for _word in ("neg", "invert", "abs"):
    setattr(Term, f"__{_word}__", _one(getattr(operator, _word)))


def traced(test: Callable[..., Any], arguments: Mapping[str, Any]) -> Term | None:
    """The expression that a test computes of its arguments (terms, and values of what is fixed); None where
    there is none to be had."""
    try:
        answer = test(**arguments)
    except Exception:
        # Whatever a test raises for a symbol, it is asked with values from here on.
        return None
    if isinstance(answer, Term):
        return answer
    return Term(operator.truth, (bool(answer),), False) if isinstance(answer, bool | np.bool_) else None


COMPARED = {operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge}


def conditions(term: Term) -> list[Term]:
    """What an expression says that must all hold: the sides of ``&`` where both are true or false."""
    if term.operation is not operator.and_ or not _is_truth(term):
        return [term]
    return [each for side in term.operands if isinstance(side, Term) for each in conditions(side)]


def _is_truth(each: Any) -> bool:
    if isinstance(each, Term) and each.operation in (operator.and_, operator.or_):
        return all(_is_truth(side) for side in each.operands)
    return isinstance(each, Term) and each.operation in COMPARED


def known(term: Term, names: frozenset[str]) -> Iterator[Term]:
    """The largest parts of an expression that follow from some parameters."""
    if term.names <= names:
        if term.names:
            yield term
        return
    inside = [each for each in term.operands if isinstance(each, Term)]
    if term.whole and term.operation in GROUPED:
        settled = [each for each in inside if each.names <= names]
        inside = [each for each in inside if not each.names <= names]
        if settled:
            yield settled[0] if len(settled) == 1 else Term(term.operation, settled, True)
    for each in inside:
        yield from known(each, names)


def needed(terms: Iterable[Term]) -> list[Term]:
    """Terms, each once, less those that follow from parameters which are among them themselves."""
    once = {term.key: term for term in terms}
    plain = frozenset(term.operation for term in once.values() if isinstance(term.operation, str))
    return [term for term in once.values() if isinstance(term.operation, str) or not term.names <= plain]
