"""One point of a space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Config(Mapping[str, Any]):
    """One point of a space: an immutable, hashable map from parameter name to value."""

    __slots__ = ("_hash", "_items")

    def __init__(self, values: Mapping[str, Any]):
        self._items = dict(values)
        # Most points of a space are made, looked at and never looked up.
        self._hash: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process hashes names in another way.
        return Config, (self._items,)

    def __getitem__(self, name: str) -> Any:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._items == other._items

    def __repr__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self._items.items())

    def with_(self, **changes: Any) -> Config:
        """The same point with some values changed."""
        made = object.__new__(Config)
        made._items, made._hash = {**self._items, **changes}, None
        return made
