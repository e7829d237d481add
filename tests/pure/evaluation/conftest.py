"""The device that the tests of this folder pretend there is."""

from __future__ import annotations

from tests.pure.evaluation.pretence import driver

__all__ = ["driver"]
