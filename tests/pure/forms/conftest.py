"""The GPU and the PyTorch that the tests of this folder pretend there are."""

from __future__ import annotations

from tests.pure.forms.launchers import gpu, torch

__all__ = ["gpu", "torch"]
