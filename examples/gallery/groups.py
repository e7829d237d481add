"""MACE's symmetric contraction, whose atoms are grouped by element: a loop over elements, and one launch.

The function is that of `OpenEquivariance <https://github.com/PASSIONLab/OpenEquivariance>`_ (and of MACE,
from which it comes), written anew from its formulas, for its own extension is built with a compiler: atoms
are sorted by element, the weights of an element times an atom's 16 features of a channel make its third
order, and two more steps take the order down. Its product of groups sets the result to zeros and calls cuBLAS
once for each element, with counts that it fetches from the GPU. What couples is drawn at random here; shapes
are those of features up to l = 3, for scalars (M = 256) and vectors (M = 768).

Ways: as published; its product of groups as one call; and the two steps after it as products, too.
"""

import sys
from math import prod

import numpy as np
from turns import Comparison, options, show

import tilewright as tw

try:
    import torch
except ImportError:
    print("needs PyTorch; it is not here.")
    sys.exit()

COUPLED = {(): (23, 4, 1), (3,): (51, 6, 1)}
"""Paths of third, second and first order, for scalars and for vectors."""


def looped(weights, x, counts):
    """weights[e] (F, M, K) times x (atoms, F, K), as published: zeros, and a product an element."""
    out = x.new_zeros(*x.shape[:2], weights.shape[2])
    begin = 0
    for element, count in enumerate(counts):
        rows = slice(begin, begin + count)
        torch.bmm(x[rows].movedim(1, 0), weights[element].mT, out=out[rows].movedim(1, 0))
        begin += count
    return out


def grouped(weights, x, counts):
    """The same in one launch, which reads the counts where they are."""
    out = x.new_empty(*x.shape[:2], weights.shape[2])
    tw.segment_matmul(x.movedim(1, 0), weights.mT, sizes=counts, out=out.movedim(1, 0))
    return out


class OfGroups(torch.autograd.Function):
    """A product of groups with the gradient of x, which is another one."""

    @staticmethod
    def forward(ctx, product, weights, x, counts):
        ctx.product, ctx.counts = product, counts
        ctx.save_for_backward(weights)
        return product(weights, x, counts)

    @staticmethod
    def backward(ctx, gradient):
        (weights,) = ctx.saved_tensors
        return None, None, ctx.product(weights.mT, gradient.contiguous(), ctx.counts), None


def by_sums(weights, x, out, elements, counts):
    """One order less, as published: an atom's weights are gathered, and sums taken of what is multiplied."""
    both = weights[elements].view(out.shape) + out
    return (both * x[:, :, None]).sum(-1)


def by_products(weights, x, out, elements, counts):
    """The same, multiplied out: a product of groups, to which that of each atom and channel is added."""
    of_element = OfGroups.apply(grouped, weights, x, counts)
    return tw.gemm(out, x[..., None], of_element[..., None], beta=1)[..., 0]


class Contraction:
    """Third order to first for what is ``coupled``, of ``channels`` channels with ``features`` each."""

    def __init__(self, coupled, elements, channels, features, kind, device):
        rng = torch.Generator(device).manual_seed(0)

        def random(*shape):
            return torch.randn(*shape, dtype=kind, device=device, generator=rng)

        self.elements, self.channels, self.features = elements, channels, features
        self.parts = [
            [
                (random(elements, count, channels) / count, random(count, prod(shape) * features**order))
                for count, order in zip(paths, (3, 2, 1), strict=True)
            ]
            for shape, paths in coupled.items()
        ]

    def __call__(self, x, kinds, product, lower, on_host):
        """Features (atoms, channels, features) and the elements of atoms to (atoms, channels * 4)."""
        counts = torch.bincount(kinds, minlength=self.elements)
        counts = counts.tolist() if on_host else counts
        order = torch.argsort(kinds)
        elements, back = kinds[order], torch.argsort(order)
        x = x[order]
        found = []
        for levels in self.parts:
            third, *others = (
                (weights.mT.flatten(0, 1) @ coupling).view(self.elements, self.channels, -1, self.features)
                for weights, coupling in levels
            )
            out = OfGroups.apply(product, third, x, counts)
            for weights in others:
                out = out.view(*x.shape[:2], -1, self.features)
                out = lower(weights, x, out, elements, counts)
            found.append(out.reshape(len(x), -1))
        return torch.cat(found, -1)[back]


def energy_and_forces(contraction, x, kinds, *how):
    """The sum of squares of what comes out, and its gradient, as a step of dynamics asks for."""
    x = x.detach().requires_grad_()
    energy = contraction(x, kinds, *how).square().sum()
    return energy.detach()[None], torch.autograd.grad(energy, x)[0]


def kinds_of(atoms, elements, device):
    """An element for each atom, some of which are far more frequent than others, in any order."""
    rng = np.random.default_rng(elements)
    shares = rng.gamma(2.0, size=elements)
    return torch.as_tensor(rng.choice(elements, atoms, p=shares / shares.sum()), device=device)


def recorded(way):
    """A way recorded into a CUDA graph, whose replay it becomes."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        way()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = way()

    def replay():
        graph.replay()
        return out

    return replay


def compare(asked, name, atoms, elements, channels, features, device, wait):
    """Energy and forces of all atoms, and the largest product of groups alone, in a type."""
    kind, within = getattr(torch, name), 1e-3 if name == "float32" else 1e-10
    work = f"{atoms} atoms of {elements} elements, {channels} channels, {name}"
    x = torch.randn(atoms, channels, features, dtype=kind, device=device)
    kinds = kinds_of(atoms, elements, device)
    # Vectors alone are enough to see whether it is right.
    coupled = {(3,): COUPLED[3,]} if asked.small else COUPLED
    contraction = Contraction(coupled, elements, channels, features, kind, device)

    def way(*how):
        return lambda: energy_and_forces(contraction, x, kinds, *how)

    ways = {
        "as published": way(looped, by_sums, True),
        "its loop by tw.segment_matmul": way(grouped, by_sums, False),
        "all of it as products": way(grouped, by_products, False),
    }
    show(Comparison("groups", "energy and forces", work, ways, within, wait).run(asked.rounds), asked.json)

    rows = 3 * features**2
    weights = torch.randn(elements, channels, rows, features, dtype=kind, device=device)
    counts = torch.bincount(kinds, minlength=elements)
    on_host = counts.tolist()
    half = torch.zeros((weights.numel() + x.numel() * (1 + rows // features)) // 2, dtype=kind, device=device)
    into = torch.empty_like(half)
    ways = {
        "the loop as published": lambda: looped(weights, x, on_host),
        "tw.segment_matmul": lambda: grouped(weights, x, counts),
    }
    piece = "the product of groups"
    if device == "cuda":
        # Neither waits for the host so, which has more to do in Python than the published loop in C++.
        ways = {name: recorded(way) for name, way in ways.items()}
        piece += ", from a CUDA graph"
    beside = {"a copy of as many bytes": lambda: into.copy_(half)}
    show(Comparison("groups", piece, work, ways, within, wait, beside).run(asked.rounds), asked.json)


asked = options(__doc__.splitlines()[0])
if torch.cuda.is_available() and not asked.cpu:
    sizes, device, wait = (3425, 10, 32, 16), "cuda", torch.cuda.synchronize
else:
    sizes, device, wait = (340, 10, 8, 16), "cpu", lambda: None
for name in ("float64",) if asked.small else ("float32", "float64"):
    compare(asked, name, *((20, 2, 2, 4) if asked.small else sizes), device, wait)
