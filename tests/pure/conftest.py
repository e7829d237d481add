"""What tests without a GPU pretend that there is."""

from __future__ import annotations

from tests.pretended import gpu, torch

__all__ = ["gpu", "torch"]
