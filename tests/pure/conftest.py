"""What tests without a GPU pretend that there is."""

from __future__ import annotations

from tests.pretended import gpu, torch
from tests.streams import streams

__all__ = ["gpu", "streams", "torch"]
