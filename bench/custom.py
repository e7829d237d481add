"""Kernels of one's own beside the libraries: ``python -m bench.custom [--out FILE] [--budget SECONDS]``.

Tunes the Cholesky factors of ``examples/12_cholesky.py`` on 100,000 matrices of the orders given, then times
them in turns with PyTorch's ``cholesky_ex`` and with a copy of as many bytes, by events of the device, in one
process. Operands (n = 4: 6.4 MB) go through copies that are together larger than twice the device's cache.
One line of JSON for each order. Needs PyTorch, cloudpickle and a GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

from tilewright.planning import dispatch
from tilewright.tuning import timing
from tilewright.tuning.evaluate.cuda_timing import Events

EXAMPLES = Path(__file__).parent.parent / "examples"
BATCH = 100_000
ORDERS = (4, 8, 16, 32)


def example(name: str) -> ModuleType:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def by_value(module: ModuleType) -> None:
    """Let the functions of a module that no child can import be sent as their code."""
    import sys

    import cloudpickle

    sys.modules[module.__name__] = module
    cloudpickle.register_pickle_by_value(module)


def recorded(call: Any, pairs: Any) -> Any:
    """A CUDA graph of a call on each pair of arrays, so that the cost of calling from Python is in no figure;
    None where the call cannot be recorded."""
    import torch

    for pair in pairs:
        call(*pair)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            for pair in pairs:
                call(*pair)
    except RuntimeError as error:
        print(f"not recorded: {error}", flush=True)
        torch.cuda.synchronize()
        return None
    return graph


def replayed(graph: Any, call: Any, pairs: Any) -> Any:
    """What goes through all pairs once: the graph, or one call after the other."""
    if graph is not None:
        return graph.replay

    def run() -> None:
        for pair in pairs:
            call(*pair)

    return run


def line(order: int, kernel: Any, budget: float, rounds: int) -> dict[str, Any]:
    """Tune for an order, and time the winner beside PyTorch and a copy."""
    import torch

    sizes = {"batch": BATCH, "N": order}
    result = kernel.tune(sizes, budget=budget)
    made = torch.randn(BATCH, order, 2 * order, device="cuda")
    a = made @ made.mT / (2 * order) + 0.1 * torch.eye(order, device="cuda")
    bytes_ = 2 * a.numel() * a.element_size()
    copies = max(1, -(-2 * dispatch.device("cuda").knee() // bytes_))
    pairs = [(a.clone(), torch.empty_like(a)) for _ in range(copies)]
    info = torch.empty(BATCH, dtype=torch.int32, device="cuda")
    right = bool(torch.allclose(kernel(a), torch.linalg.cholesky_ex(a)[0], atol=1e-4))
    calls = {
        "ours": lambda x, y: kernel(x, out=y),
        "torch": lambda x, y: torch.linalg.cholesky_ex(x, out=(y, info)),
        "copy": lambda x, y: y.copy_(x),
    }
    graphs = {name: recorded(call, pairs) for name, call in calls.items()}
    runs = {name: replayed(graph, calls[name], pairs) for name, graph in graphs.items()}
    found = timing.interleaved(
        runs, rounds=rounds, regime="memory", batch=BATCH * copies, watch=Events(), budget=6.0
    )
    times = {name: each.median / copies for name, each in found.items()}
    return {
        "n": order,
        "batch": BATCH,
        "right": right,
        "config": dict(result.best.config),
        "tried": result.tried,
        "statuses": result.statuses,
        "seconds_of_tuning": round(result.seconds, 1),
        "by_graph": {name: graph is not None for name, graph in graphs.items()},
        "alone_us": round(1e6 * result.best.timing.median, 2),
        **{f"{name}_us": round(1e6 * value, 2) for name, value in times.items()},
        **{f"{name}_half_width": round((x.high - x.low) / 2 / x.median, 4) for name, x in found.items()},
        "times_torch": round(times["torch"] / times["ours"], 3),
        "of_copy": round(times["copy"] / times["ours"], 3),
        "bytes_per_second": bytes_ / times["ours"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--budget", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--orders", type=int, nargs="*", default=list(ORDERS))
    asked = parser.parse_args()
    module = example("12_cholesky")
    by_value(module)
    for order in asked.orders:
        told = json.dumps(line(order, module.cholesky, asked.budget, asked.rounds))
        print(told, flush=True)
        if asked.out is not None:
            with asked.out.open("a") as file:
                file.write(told + "\n")


if __name__ == "__main__":
    main()
