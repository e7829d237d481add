"""Tracking by Kalman filters in PyTorch: torch-kf as it is, enabled, and with its products as chains.

`torch-kf <https://github.com/raphaelreme/torch-kf>`_ filters many tracks at once, on a processor or a GPU.
"""

import sys

from tracks import JITTER, MOVES, NOISE, SEES, measured
from turns import Comparison, options, show

import tilewright as tw

try:
    import torch
    import torch_kf

    import tilewright.torch as tt
except ImportError:
    print("needs PyTorch and torch-kf (pip install torch-kf); they are not here.")
    sys.exit()


class Chained(torch_kf.KalmanFilter):
    """torch-kf's filter with its products, and what is added to them, as ``tw.chain`` and ``tw.gemm``."""

    def predict(self, state, **other):
        """F P F^T + Q in one pass."""
        f = self.process_matrix
        return torch_kf.GaussianState(
            tw.matmul(f, state.mean), tw.chain(f, state.covariance, f.mT, add=self.process_noise)
        )

    def project(self, state, *, precompute_precision=True, **other):
        """H P H^T + R in one pass."""
        h = self.measurement_matrix
        s = tw.chain(h, state.covariance, h.mT, add=self.measurement_noise)
        return torch_kf.GaussianState(tw.matmul(h, state.mean), s, self.inverse(s))

    def update(self, state, measure, **other):
        """The gain, and what is taken from the covariance, in one pass each."""
        h = self.measurement_matrix
        seen = self.project(state)
        gain = tw.chain(state.covariance, h.mT, seen.precision)
        mean = tw.gemm(gain, measure - seen.mean, state.mean, beta=1)
        return torch_kf.GaussianState(mean, tw.chain(gain, -h, state.covariance, add=state.covariance))

    def inverse(self, s):
        """As torch-kf inverts."""
        return s.inverse()


class WrittenOut(Chained):
    """The same with the inverse of two rows and columns as one writes it down."""

    def inverse(self, s):
        """The adjugate over the determinant."""
        a, b, c, d = s.flatten(-2).unbind(-1)
        return (torch.stack([d, -b, -c, a], dim=-1) / (a * d - b * c)[..., None]).view(s.shape)


def made(make, data):
    """A filter and the states that it begins with, of the data's type and memory."""
    like = {"dtype": data.dtype, "device": data.device}
    tracks = data.shape[1]
    eyes = torch.eye(4, **like).repeat(tracks, 1, 1)
    start = torch_kf.GaussianState(torch.zeros(tracks, 4, 1, **like), eyes)
    return make(*(torch.as_tensor(x, **like) for x in (MOVES, SEES, JITTER, NOISE))), start


def filtered(make, data):
    """torch-kf's own loop over the steps: means and covariances after the last."""
    filters, start = made(make, data)
    found = filters.filter(start, data)
    return found.mean, found.covariance


def steps_of(make, data):
    """Ten steps one after the other, prediction and update, without the look for what was not measured."""
    filters, start = made(make, data)

    def steps():
        state = start
        for measure in data[:10]:
            state = filters.update(filters.predict(state), measure)
        return state.mean, state.covariance

    return steps


def recorded(steps):
    """The same ten steps recorded into a CUDA graph, whose replay they become."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        steps()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = steps()

    def replay():
        graph.replay()
        return found

    return replay


asked = options(__doc__.splitlines()[0])
gpu = torch.cuda.is_available() and not asked.cpu
wait = torch.cuda.synchronize if gpu else lambda: None
tracks, steps = (2000, 4) if asked.small else (100_000, 30)
data = torch.as_tensor(measured(tracks, steps), dtype=torch.float32, device="cuda" if gpu else "cpu")
data = data.movedim(1, 0)[..., None].contiguous()
work = f"{tracks} tracks of 4 states and 2 measured, float32"
served = "under tilewright.torch.enable()"
makes = {
    "torch-kf": torch_kf.KalmanFilter,
    served: torch_kf.KalmanFilter,
    "its products as tw.chain and tw.gemm": Chained,
    "and the inverse written out": WrittenOut,
}


def compare(piece, ways):
    """The ways of a piece in turns, one of them with PyTorch's products served."""
    comparison = Comparison("kalman, PyTorch", piece, work, ways, 1e-4, wait, around={served: tt.enable})
    show(comparison.run(asked.rounds), asked.json)


compare(f"{steps} steps", {name: lambda make=make: filtered(make, data) for name, make in makes.items()})
ways = {name: steps_of(make, data) for name, make in makes.items()}
if gpu:
    ways["and from a CUDA graph"] = recorded(ways["and the inverse written out"])
compare(f"{min(steps, 10)} steps, nothing missing", ways)
