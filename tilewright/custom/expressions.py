"""Texts such as ``"THREADS * PER <= 1024"`` as functions of the names in them.

What is accepted is arithmetic, comparisons, ``and``, ``or``, ``not``, ``in``, ``a if b else c`` and a few
functions (``FUNCTIONS``): a text from somebody's file can compute a number and do nothing else.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

from tilewright.errors import ArgumentError
from tilewright.space import arguments


def ceil_div(value: int, by: int) -> int:
    """How many times ``by`` covers a value: the blocks that a grid needs."""
    return -(-value // by)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "ceil_div": ceil_div,
    "floor": math.floor,
    "int": int,
    "max": max,
    "min": min,
}
"""What an expression may call."""
_NODES = (
    *(ast.Expression, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Constant, ast.Name),
    *(ast.IfExp, ast.Tuple, ast.List, ast.Load, ast.boolop, ast.operator, ast.unaryop, ast.cmpop),
)
_LONGEST = 4096


class Expression:
    """A text as a function: ``reads`` are its arguments, each given by its name.

    Raises ``ArgumentError`` for a text that is not understood.
    """

    def __init__(self, text: str):
        self.text = text
        try:
            if len(text) > _LONGEST:
                raise ValueError(f"it has {len(text)} characters of {_LONGEST} at most")
            tree = ast.parse(text.strip(), mode="eval")
            _refuse(tree)
        except (SyntaxError, ValueError, RecursionError) as error:
            raise ArgumentError(
                f"expression {text[:200]!r} is not understood: {error}; accepted: arithmetic, comparisons, "
                f"and, or, not, in, a if b else c, and {', '.join(FUNCTIONS)}"
            ) from None
        called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
        names = {n.id: None for n in ast.walk(tree) if isinstance(n, ast.Name) and n not in called}
        self.reads = tuple(names)
        self._code = compile(tree, "<expression>", "eval")

    def __call__(self, **values: Any) -> Any:
        # The names of functions first: a parameter may be called "max" where nothing calls it.
        return eval(self._code, {"__builtins__": {}, **FUNCTIONS}, values)

    def __repr__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return Expression, (self.text,)


def _refuse(tree: ast.AST) -> None:
    """Raises ``ValueError`` for what no expression may hold."""
    for node in ast.walk(tree):
        if not isinstance(node, _NODES):
            raise ValueError(f"{type(node).__name__} has no place in it")
        if isinstance(node, ast.Call) and (
            not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords
        ):
            raise ValueError(f"{ast.unparse(node.func)} is no function that it may call")


class Fixed:
    """A number as a function of nothing."""

    reads: tuple[str, ...] = ()

    def __init__(self, value: Any):
        self.value = value

    def __call__(self) -> Any:
        return self.value

    def __repr__(self) -> str:
        return repr(self.value)


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> Expression:
    """A text's expression, kept: every call of a kernel asks for those of its shapes."""
    return Expression(text)


def function(value: Any) -> Callable[..., Any]:
    """A text, a number or a function as a function whose arguments ``space.arguments`` tells."""
    if isinstance(value, str):
        return _parsed(value)
    return value if callable(value) else Fixed(value)


def evaluated(made: Callable[..., Any], values: Mapping[str, Any], what: str) -> Any:
    """What a function gives for the values that it reads.

    Raises ``ArgumentError`` that says ``what`` it is and where, when it reads an unknown name or fails.
    """
    reads = arguments(made)
    missing = [name for name in reads if name not in values]
    if missing:
        raise ArgumentError(f"{what} reads {missing[0]!r}; accepted: {', '.join(values) or 'no name at all'}")
    given = {name: values[name] for name in reads}
    try:
        return made(**given)
    except Exception as error:
        raise ArgumentError(
            f"{what} raises {type(error).__name__} ({error}) {at(given)}; accepted: a value for every "
            "config: "
            "guard it by a condition, or leave the values that it fails for out of the parameters"
        ) from error


def at(values: Mapping[str, Any]) -> str:
    """Some values, in words."""
    return "at " + ", ".join(f"{name}={value!r}" for name, value in values.items()) if values else "at once"
