"""PyTorch: ``torch.bmm`` and ``torch.baddbmm``, both with ``out=``."""

from __future__ import annotations

import torch

from bench.peers.base import Peer
from bench.work import Operands


class Torch(Peer):
    name = "torch"

    def version(self) -> str:
        return f"{torch.__version__} ({torch.backends.cpu.get_cpu_capability()})"

    def prepare(self, operands: Operands) -> None:
        torch.set_num_threads(operands.threads)
        torch.set_grad_enabled(False)
        self.a, self.b, self.c = (torch.from_numpy(x) for x in (operands.a, operands.b, operands.c))
        self.adds = bool(operands.beta)

    def run(self) -> None:
        if self.adds:
            torch.baddbmm(self.c, self.b, self.a, out=self.c)
        else:
            torch.bmm(self.b, self.a, out=self.c)
