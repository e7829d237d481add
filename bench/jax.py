"""Products from JAX's programs beside JAX's own: ``python -m bench.jax FILE``, on the device that JAX has.

Parts, each a line of the file for each of its cases; the first line says on what all of it ran.

    calls    one call after the other, each a compiled program of its own, as a user's ``matmul(a, b)`` is;
             ``jnp`` is ``jax.numpy.matmul`` as JAX computes it by itself, ``highest`` with the precision of
             the type (JAX's own choice for float32 on a GPU may be TensorFloat-32), ``copy`` adds a and b
    chain    ``STEPS`` products in one compiled program, each of the one before: what a handler costs inside
    loop     the same as a loop of ``jax.lax.fori_loop``
    step     the gradients of a sum of products with regard to both operands
    mapped   ``jax.vmap`` of a product, one operand shared
    spaces   ``TIMES`` products in one program, of shapes whose kernels need a workspace; no two share an
             operand, for XLA computes products of one A as one

Times are of the host's clock over some calls that end with the device done, in microseconds of one call (of
one product in ``chain``, ``loop`` and ``spaces``), medians of ``ROUNDS`` turns, the kinds in turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tilewright.jax as tj
from bench import lines
from tilewright.planning import dispatch

ROUNDS, STEPS, TIMES = 7, 50, 4
Run = Callable[[], Any]
HIGHEST = partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)
MULTIPLY: dict[str, Callable[[Any, Any], Any]] = {"ours": tj.matmul, "jnp": jnp.matmul, "highest": HIGHEST}

CASES = {
    "gpu": (
        *((2, 3, "float32"), (1000, 4, "float32"), (20_000, 4, "float32"), (3000, 8, "float64")),
        *((1_000_000, 3, "float32"), (1_000_000, 4, "float64"), (500_000, 8, "float32")),
        *((1_000_000, 3, "complex128"), (100_000, 16, "float32"), (20_000, 32, "float32")),
        *((100_000, 16, "bfloat16"), (20_000, 32, "float64")),
    ),
    "cpu": (
        *((2, 3, "float32"), (1000, 4, "float32"), (1000, 8, "float64"), (20_000, 4, "float32")),
        *((100_000, 3, "complex128"), (100_000, 8, "float64"), (5000, 32, "float32")),
    ),
}

SHAPES: dict[str, tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]] = {
    "gpu": (
        *(("bfloat16", (n, n), (n, n)) for n in (1500, 5001)),
        *(("float16", (n, n), (n, n)) for n in (2500, 4097, 8192)),
        *(("float64", (n, n), (n, n)) for n in (1500, 3333)),
        *(("float64", (8192, 8192), (8192, n)) for n in (64, 300)),
        *(("float32", (8192, 8192), (8192, n)) for n in (4, 16, 64)),
        *(("complex64", (32, 20_000), (20_000, 32)), ("complex64", (64, 16, 65_536), (64, 65_536, 16))),
        *(("float32", (16, 8, 500_000), (16, 500_000, 8)), ("complex128", (1_000_000, 12), (12, 12))),
    ),
    "cpu": (),
}


def turns(runs: Mapping[str, Run], per: int = 1, budget: float = 0.02) -> dict[str, float]:
    """Microseconds of one call of each, in turns, each of about ``budget`` seconds."""
    repeats = {}
    for name, run in runs.items():
        jax.block_until_ready(run())
        begin = time.perf_counter()
        jax.block_until_ready(run())
        repeats[name] = max(2, min(500, int(budget / (time.perf_counter() - begin))))
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            made = None
            begin = time.perf_counter()
            for _ in range(repeats[name]):
                made = run()
            jax.block_until_ready(made)
            samples[name].append((time.perf_counter() - begin) / repeats[name] / per * 1e6)
    return {name: round(statistics.median(found), 3) for name, found in samples.items()}


def drawn(batch: int, n: int, kind: str, seed: int = 0) -> Any:
    """Matrices whose products stay near 1."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((batch, n, n), np.float32) / n**0.5
    return jnp.asarray(x + 1j * x[::-1] if kind.startswith("complex") else x).astype(kind)


def chained(multiply: Any, a: Any, b: Any) -> Any:
    for _ in range(STEPS):
        a = multiply(a, b)
    return a


def looped(multiply: Any, a: Any, b: Any) -> Any:
    return jax.lax.fori_loop(0, STEPS, lambda _, x: multiply(x, b), a)


def stepped(multiply: Any, a: Any, b: Any) -> Any:
    return jax.grad(lambda a, b: jnp.sum(jnp.abs(multiply(a, b))), (0, 1))(a, b)


def mapped(multiply: Any, a: Any, b: Any) -> Any:
    return jax.vmap(multiply, (0, None))(a, b[0])


PARTS: dict[str, tuple[Callable[[Any, Any, Any], Any] | None, int]] = {
    "calls": (None, 1),
    "chain": (chained, STEPS),
    "loop": (looped, STEPS),
    "step": (stepped, 1),
    "mapped": (mapped, 1),
}


def random_of(shape: Sequence[int], kind: str, seed: int) -> Any:
    """An array of a normal distribution, made on the device."""
    real = jax.random.normal(jax.random.key(seed), shape, jnp.float32)
    if not kind.startswith("complex"):
        return real.astype(kind)
    return jax.lax.complex(real, jnp.flip(real, 0)).astype(kind)


def spaced(platform: str, end: float) -> Iterator[lines.Line]:
    """A line for each of ``SHAPES``, with how far ours is from JAX's own in the precision of the type."""

    def times(multiply: Any, pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        return [multiply(a, b) for a, b in pairs]

    for kind, one, other in SHAPES[platform]:
        if time.monotonic() > end:
            return
        pairs = [(random_of(one, kind, 2 * i), random_of(other, kind, 2 * i + 1)) for i in range(TIMES)]
        calls = {name: jax.jit(partial(times, multiply)) for name, multiply in MULTIPLY.items()}
        made, asked = (calls[name](pairs)[-1] for name in ("ours", "highest"))
        far = float(jnp.max(jnp.abs(made - asked)) / jnp.max(jnp.abs(asked)))
        del made, asked
        us = turns({name: partial(call, pairs) for name, call in calls.items()}, TIMES)
        gains = {f"gain_{name}": round(us[name] / us["ours"], 2) for name in ("jnp", "highest")}
        yield {"part": "spaces", "a": one, "b": other, "type": kind, "us": us, "difference": far} | gains


def measured(platform: str, parts: Sequence[str], end: float) -> Iterator[lines.Line]:
    """A line for each case and part, until it is time to end."""
    copy = jax.jit(jnp.add)
    for part in parts:
        if part == "spaces":
            yield from spaced(platform, end)
            continue
        within, per = PARTS[part]
        for batch, n, kind in CASES[platform]:
            if time.monotonic() > end:
                return
            a, b = drawn(batch, n, kind), drawn(batch, n, kind, 1)
            runs: dict[str, Run] = {}
            for name, multiply in MULTIPLY.items():
                call = jax.jit(multiply if within is None else partial(within, multiply))
                runs[name] = partial(call, a, b)
            if within is None:
                runs["copy"] = partial(copy, a, b)
            us = turns(runs, per)
            gains = {f"gain_{name}": round(us[name] / us["ours"], 2) for name in ("jnp", "highest")}
            yield {"part": part, "batch": batch, "n": n, "type": kind, "us": us} | gains


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--parts", default=",".join((*PARTS, "spaces")))
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further case after these")
    given = parser.parse_args(arguments)
    end = time.monotonic() + given.seconds
    jax.config.update("jax_enable_x64", True)
    platform = jax.default_backend()
    device = dispatch.device("cuda" if platform == "gpu" else "cpu", 0)
    with given.output.open("a") as file:
        print(json.dumps({"jax": jax.__version__} | lines.facts(device)), file=file, flush=True)
        for line in measured(platform, given.parts.split(","), end):
            print(json.dumps(line), file=file, flush=True)
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
