"""The library that the tests of this folder pretend there is."""

from __future__ import annotations

from tests.cpu.cublaslt.library import lt

__all__ = ["lt"]
