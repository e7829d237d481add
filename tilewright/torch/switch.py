"""``enable``, ``disable`` and ``report``: PyTorch's own batched products served for a whole program."""

from __future__ import annotations

from types import TracebackType

from tilewright.torch.report import Report, report_of
from tilewright.torch.serving import Serving

SERVING = Serving()


class Enabled:
    """What ``enable`` returns: a context manager that takes back, on the way out, what the call asked for."""

    def __enter__(self) -> Enabled:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        SERVING.off()

    def __repr__(self) -> str:
        return f"<tilewright.torch.enable(): {'on' if SERVING.depth else 'off'}>"


def enable() -> Enabled:
    """Serve PyTorch's batched products by Tilewright's kernels wherever these are expected to be faster.

    From now on, in all threads, ``torch.bmm``, ``baddbmm``, and ``mm`` with a short side, and so what
    ``torch.matmul``, ``@`` and ``torch.einsum`` make of them, look for a kernel that the records or the model
    say is faster, host time counted; everything else runs PyTorch's own as before. This happens below
    gradients, ``torch.vmap``, autocast and compiled graphs, which go on working and are served, too. The
    first call of a kind plans and compiles; a CUDA graph being recorded holds what was decided before.

    As a context manager (``with tilewright.torch.enable():``) it ends with the block, also by an exception;
    calls may be nested, and the outermost ends it. Until then ``report`` counts.

    Raises ``UnsupportedError`` for a PyTorch before 2.9.
    """
    SERVING.on()
    return Enabled()


def disable() -> None:
    """Put PyTorch's own kernels back, however often ``enable`` was called. What was counted can still be
    reported."""
    SERVING.off(all_of_them=True)


def report() -> Report:
    """What was served since ``enable``: problems, calls, kernels, what that is expected to have saved, why
    other calls were left to PyTorch, and what to tune. ``print`` shows it as a table."""
    return report_of(SERVING)
