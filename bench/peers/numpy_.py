"""NumPy: ``np.matmul``, one call of its BLAS for each matrix; it has no product that adds to C."""

from __future__ import annotations

import numpy as np
import threadpoolctl

from bench.peers.base import Peer
from bench.work import Operands


class NumPy(Peer):
    name = "numpy"

    def version(self) -> str:
        pools = (p for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas")
        blas = ", ".join(f"{p['internal_api']} {p['version']} {p.get('architecture', '')}" for p in pools)
        return f"{np.__version__} ({blas})"

    def prepare(self, operands: Operands) -> None:
        self.a, self.b, self.c = operands.a, operands.b, operands.c
        self.product = np.empty_like(self.c) if operands.beta else None

    def run(self) -> None:
        if self.product is None:
            np.matmul(self.b, self.a, out=self.c)
        else:
            np.matmul(self.b, self.a, out=self.product)
            np.add(self.c, self.product, out=self.c)
