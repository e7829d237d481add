"""The tuner of the tests of this folder, and a store of its own for each of them."""

from __future__ import annotations

from tests.pure.tuning.children import _nobody_waits, store, tuner

__all__ = ["_nobody_waits", "store", "tuner"]
