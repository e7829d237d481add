"""What stands for megabytes in the tests of this folder."""

from __future__ import annotations

from tests.pure.report.reading import library

__all__ = ["library"]
