"""Products as operators of PyTorch, with gradients, ``torch.compile``, ``torch.vmap`` and autocast; and
PyTorch's own batched products served by Tilewright for a whole program.

``import tilewright.torch`` needs PyTorch; nothing else of the package does.
"""

from tilewright.torch.doors import gemm, gemm_grouped, matmul
from tilewright.torch.report import Report
from tilewright.torch.switch import disable, enable, report

__all__ = ["Report", "disable", "enable", "gemm", "gemm_grouped", "matmul", "report"]
