"""The driver that the tests of this folder pretend there is."""

from __future__ import annotations

from tests.cpu.launching.launches import fake

__all__ = ["fake"]
