"""Products and contractions on arrays of JAX's, inside ``jit``, ``vmap`` and ``grad``: Tilewright's kernels
called by XLA, without Python in between.

``import tilewright.jax`` needs JAX (the extra ``jax``); nothing else of the package does.
"""

from tilewright.jax.calls import einsum, gemm, matmul, register

__all__ = ["einsum", "gemm", "matmul", "register"]
