"""A store of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.store.records import Records


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """The folder of shipped files, empty."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    return folder


@pytest.fixture
def store(tmp_path: Path, shipped: Path) -> Records:
    """An empty store with nothing shipped."""
    return Records(tmp_path / "records.sqlite", shipped=shipped)
