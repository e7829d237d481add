"""How the commands are run in the tests of this folder."""

from __future__ import annotations

from tests.pure.batches.tuners import bench_run

__all__ = ["bench_run"]
