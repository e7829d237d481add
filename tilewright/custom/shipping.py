"""Functions on their way to a child process, by value where that can be done.

Children are fresh interpreters that never run the caller's script, so a function of that script, or a lambda,
has to be sent as its code: ``cloudpickle`` does that. Without it only functions that a child can import are
accepted.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

from tilewright.errors import ArgumentError


def _cloudpickle() -> ModuleType | None:
    try:
        import cloudpickle
    except ImportError:
        return None
    found: ModuleType = cloudpickle
    return found


def packed(fields: Mapping[str, Any]) -> bytes:
    """Named values as bytes that another process can read.

    Raises ``ArgumentError`` naming the one that cannot be sent, and what to do.
    """
    by_value = _cloudpickle()
    for name, value in fields.items():
        try:
            if by_value is not None:
                by_value.dumps(value)
                continue
            for function in _functions(value):
                if function.__module__ == "__main__" or "<" in function.__qualname__:
                    raise pickle.PicklingError(
                        f"{function.__qualname__} is of no module that can be imported"
                    )
            pickle.dumps(value)
        except Exception as error:
            advice = "values that can be pickled"
            if by_value is None:
                advice = "functions of a module that can be imported; or any, with pip install cloudpickle"
            raise ArgumentError(
                f"{name} cannot be sent to a child process ({error}); accepted: {advice}"
            ) from None
    return bytes(pickle.dumps(dict(fields)) if by_value is None else by_value.dumps(dict(fields)))


def _functions(value: Any) -> Iterator[FunctionType]:
    """The functions in a value, as far as definitions of kernels hold them."""
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(value, Mapping):
        yield from (found for each in value.values() for found in _functions(each))
    elif isinstance(value, tuple | list):
        yield from (found for each in value for found in _functions(each))
    elif hasattr(value, "test"):
        yield from _functions(value.test)


@functools.lru_cache(maxsize=16)
def unpacked(content: bytes) -> dict[str, Any]:
    """What ``packed`` was given. The same object for the same bytes: children are sent them again and
    again."""
    found: dict[str, Any] = pickle.loads(content)
    return found
