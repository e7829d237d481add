"""Kernels of one's own beside the libraries: ``python -m bench.custom [--out FILE] [--budget SECONDS] CASE
...``.

A case is ``cholesky:N``, ``solve:N:M`` or ``transpose:ROWS:COLUMNS``; batches are 100,000 matrices. The
kernels of ``examples/`` are tuned, then timed in turns with PyTorch's way and with a copy of as many bytes,
each as a CUDA graph, so that no figure holds the cost of calling from Python, by events of the device.
Operands go through copies that are together larger than twice the device's cache. One line of JSON for each
case. Needs PyTorch, cloudpickle and a GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tilewright.planning import dispatch
from tilewright.tuning import timing
from tilewright.tuning.evaluate.cuda_timing import Events

EXAMPLES = Path(__file__).parent.parent / "examples"
BATCH = 100_000
CASES = (*(f"cholesky:{n}" for n in (4, 8, 16, 32)), "solve:6:3", "solve:16:1", "transpose:8192:8192")
Call = Callable[[list[Any]], object]


def example(name: str) -> ModuleType:
    """An example as a module, which no child process can import: its functions are sent by value."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def positive(order: int) -> Any:
    """Random positive definite matrices (BATCH, order, order) on the GPU."""
    import torch

    made = torch.randn(BATCH, order, 2 * order, device="cuda")
    return made @ made.mT / (2 * order) + 0.1 * torch.eye(order, device="cuda")


def case(text: str) -> tuple[Any, dict[str, int], list[Any], dict[str, Call]]:
    """The kernel of a case, its sizes, its arrays (the result last), and what computes the same of such
    arrays."""
    import torch

    name, *numbers = text.split(":")
    sizes = [int(number) for number in numbers]
    if name == "cholesky":
        (order,) = sizes
        kernel, a = example("12_cholesky").cholesky, positive(order)
        info = torch.empty(BATCH, dtype=torch.int32, device="cuda")
        calls: dict[str, Call] = {
            "ours": lambda x: kernel(x[0], out=x[1]),
            "torch": lambda x: torch.linalg.cholesky_ex(x[0], out=(x[1], info)),
        }
        return kernel, {"batch": BATCH, "N": order}, [a, torch.empty_like(a)], calls
    if name == "solve":
        order, right = sizes
        kernel, a = example("12_cholesky").solve, positive(order)
        b = torch.randn(BATCH, order, right, device="cuda")
        calls = {
            "ours": lambda x: kernel(x[0], x[1], out=x[2]),
            "torch": lambda x: x[2].copy_(torch.linalg.solve_ex(x[0], x[1])[0]),
            "torch_cholesky": lambda x: x[2].copy_(
                torch.cholesky_solve(x[1], torch.linalg.cholesky_ex(x[0])[0])
            ),
        }
        return kernel, {"batch": BATCH, "N": order, "M": right}, [a, b, torch.empty_like(b)], calls
    rows, columns = sizes
    kernel, x = example("13_transpose").transpose, torch.randn(rows, columns, device="cuda")
    calls = {"ours": lambda x: kernel(x[0], out=x[1]), "torch": lambda x: x[1].copy_(x[0].T)}
    return kernel, {"rows": rows, "columns": columns}, [x, torch.empty(columns, rows, device="cuda")], calls


def recorded(call: Call, sets: list[list[Any]]) -> Any:
    """A CUDA graph of a call on each set of arrays."""
    import torch

    for arrays in sets:
        call(arrays)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for arrays in sets:
            call(arrays)
    return graph


def replayed(graph: Any, call: Call, sets: list[list[Any]]) -> Callable[[], object]:
    """What goes through all sets once: the graph, or one call after the other."""

    def run() -> None:
        for arrays in sets:
            call(arrays)

    return run if graph is None else graph.replay


def host(kernel: Any, arrays: list[Any]) -> float:
    """Seconds that one call takes on the host, its result new, of a kernel that the device is done with
    sooner."""
    import torch

    few = [array[:1].contiguous() for array in arrays[:-1]]
    for _ in range(20):
        kernel(*few)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(200):
        kernel(*few)
    return (time.perf_counter() - begin) / 200


def line(text: str, budget: float, rounds: int) -> dict[str, Any]:
    """Tune for a case, and time the winner beside PyTorch and a copy."""
    import torch

    kernel, sizes, arrays, calls = case(text)
    result = kernel.tune(sizes, budget=budget)
    bytes_ = sum(array.numel() * array.element_size() for array in arrays)
    copies = max(1, -(-2 * dispatch.device("cuda").knee() // bytes_))
    sets = [[*(array.clone() for array in arrays)] for _ in range(copies)]
    results = []
    for call in calls.values():
        call(sets[0])
        results.append(sets[0][-1].clone())
    apart = float((results[0] - results[1]).abs().max() / results[1].abs().max())
    # A copy that reads and writes as many bytes as the arrays have in all.
    words = [torch.empty(bytes_ // 8, device="cuda") for _ in range(2)]
    pairs = [[word.clone() for word in words] for _ in range(copies)]
    # MAGMA, which solves for PyTorch, allocates memory: no graph can hold it.
    fits = not text.startswith("solve")
    graphs = {name: recorded(call, sets) if fits or name == "ours" else None for name, call in calls.items()}
    runs = {name: replayed(graphs[name], call, sets) for name, call in calls.items()}
    runs["copy"] = replayed(recorded(_copy, pairs), _copy, pairs)
    found = timing.interleaved(runs, rounds=rounds, regime="memory", batch=copies, watch=Events(), budget=4.0)
    times = {name: each.median / copies for name, each in found.items()}
    return {
        "case": text,
        "device": dispatch.device("cuda").key,
        "torch": torch.__version__,
        "apart": apart,
        "config": dict(result.best.config),
        "tried": result.tried,
        "configs": kernel.space(sizes, dispatch.device("cuda")).count(),
        "statuses": result.statuses,
        "seconds_of_tuning": round(result.seconds, 1),
        "host_us": round(1e6 * host(kernel, arrays), 1),
        "by_graph": {name: graph is not None for name, graph in graphs.items()},
        **{f"{name}_us": round(1e6 * value, 2) for name, value in times.items()},
        **{f"{name}_half_width": round((x.high - x.low) / 2 / x.median, 4) for name, x in found.items()},
        "times_torch": round(times["torch"] / times["ours"], 3),
        "of_copy": round(times["copy"] / times["ours"], 3),
        "bytes_per_second": bytes_ / times["ours"],
    }


def _copy(arrays: list[Any]) -> object:
    return arrays[1].copy_(arrays[0])


def main() -> None:
    """Go through the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--budget", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    for text in asked.cases:
        told = json.dumps(line(text, asked.budget, asked.rounds))
        print(told, flush=True)
        if asked.out is not None:
            with asked.out.open("a") as file:
                file.write(told + "\n")


if __name__ == "__main__":
    main()
