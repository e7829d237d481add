"""The GPU that the tests of this folder pretend there is."""

from __future__ import annotations

from tests.pure.segments.pretence import gpu

__all__ = ["gpu"]
