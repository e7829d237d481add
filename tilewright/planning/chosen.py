"""The kernels that a program was told to use, by problem, regime and device, before any other record."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.model import Record


class Chosen:
    """Records that go before the store's for as long as they are in use."""

    def __init__(self) -> None:
        self._by_problem: dict[tuple[str, str, str], Record] = {}

    def use(self, records: Iterable[Record]) -> None:
        """Go by these records from now on, in place of those that were in use."""
        self._by_problem = {(row.problem.key, row.regime, row.device): row for row in records}

    def record(self, key: str, regime: str, devices: Iterable[str]) -> Record | None:
        """The record of a problem key in a regime on a device, which may have several keys."""
        if not self._by_problem:
            return None
        found = (self._by_problem.get((key, regime, device)) for device in devices)
        return next((row for row in found if row is not None), None)


IN_USE = Chosen()
