"""The table of peers: name -> module and class. A module is imported only in that peer's own process."""

from __future__ import annotations

from importlib import import_module

from bench.peers.base import Peer

OURS = "tilewright"

PEERS = {
    OURS: "bench.peers.tilewright_:Tilewright",
    "numpy": "bench.peers.numpy_:NumPy",
    "torch": "bench.peers.torch_:Torch",
    "mkl": "bench.peers.mkl:Mkl",
    "mkl_jit": "bench.peers.mkl_jit:MklJit",
    "openblas": "bench.peers.openblas:OpenBlas",
    "libxsmm": "bench.peers.libxsmm:Libxsmm",
    "eigen": "bench.peers.eigen:Eigen",
}


def create(name: str) -> Peer:
    """The peer of that name. Raises ``ImportError`` where its package is not installed."""
    module, _, cls = PEERS[name].partition(":")
    made: Peer = getattr(import_module(module), cls)()
    return made
