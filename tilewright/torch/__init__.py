"""Products as operators of PyTorch, with gradients, ``torch.compile``, ``torch.vmap`` and autocast; and PyTorch's
own batched products served by Tilewright for a whole program.

``import tilewright.torch`` needs PyTorch; nothing else of the package does.
"""

from tilewright.torch.doors import gemm, gemm_grouped, matmul

__all__ = ["gemm", "gemm_grouped", "matmul"]
