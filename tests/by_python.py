"""Which launches Python makes, and compiled code does not: on a GPU, and where one is pretended."""

from __future__ import annotations

import pytest

from tilewright.targets.cuda.binding import Binding


@pytest.fixture
def by_python(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The streams of launches that Python made."""
    made: list[int] = []
    call = Binding.__call__

    def counted(self: Binding, stream: int = 0) -> None:
        made.append(stream)
        call(self, stream)

    monkeypatch.setattr(Binding, "__call__", counted)
    return made
