"""One step of many Kalman filters: covariances go through chains of products that are one pass each."""

from timeit import timeit

import numpy as np

import tilewright as tw

COUNT, STATES, SEEN = 20_000, 6, 3


def step(f, q, h, r, p, chain, solve):
    """Covariances (..., n, n) predicted by F P F^T + Q and updated by what H sees of them, with noise R: the
    form of Joseph, (I - K H) P (I - K H)^T + K R K^T, which stays symmetric and positive."""
    p = chain(f, p, f.mT, add=q)
    s = chain(h, p, h.mT, add=r)
    gain = solve(s, h @ p).mT
    left = q * 0 - gain @ h
    left[..., range(STATES), range(STATES)] += 1
    return chain(left, p, left.mT, add=chain(gain, r, gain.mT))


def by_products(a, b, c, add=0):
    """What the chain is without it: three passes, and a product in between that goes to memory and back."""
    return a @ b @ c + add


def compare(arrays, solve, wait=lambda: None):
    """Whether both ways give the same, and how long the prediction takes by each."""
    f, q, *_, p = arrays
    made = step(*arrays, tw.chain, solve)
    right = step(*arrays, by_products, solve)
    print("right:", bool(abs(made - right).max() <= 1e-9 * abs(right).max()))
    out = p * 0
    ways = {
        "tw.chain": lambda: tw.chain(f, p, f.mT, add=q, out=out),
        "three calls": lambda: by_products(f, p, f.mT, q),
    }
    for name, call in ways.items():
        call()
        seconds = min(timeit(lambda call=call: (call(), wait()), number=1) for _ in range(10))
        print(f"{name:12} {1e6 * seconds:8.1f} us for {len(p)} predictions")


rng = np.random.default_rng(0)
f = np.eye(STATES) + 0.1 * rng.standard_normal((STATES, STATES))
h = rng.standard_normal((SEEN, STATES))
root = rng.standard_normal((COUNT, STATES, STATES))
arrays = f, 0.1 * np.eye(STATES), h, np.eye(SEEN), tw.chain(root, root.mT)

print(f"{COUNT} filters of {STATES} states in this process's memory")
compare(arrays, np.linalg.solve)

try:
    import torch
except ImportError:
    torch = None
if torch is None or not torch.cuda.is_available():
    print("On a GPU it needs PyTorch and an NVIDIA GPU; there is no such pair here.")
else:
    print("on", torch.cuda.get_device_name())
    compare([torch.tensor(x, device="cuda") for x in arrays], torch.linalg.solve, torch.cuda.synchronize)
