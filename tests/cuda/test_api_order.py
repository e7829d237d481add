"""The public calls on streams, in graphs and from threads: in order, and without waiting."""

from __future__ import annotations

import threading
import time

import pytest

import tilewright as tw
from tests.cuda.arrays import Xp, close, filled
from tilewright.targets.cuda import devices

REASON = devices.missing()
pytestmark = [pytest.mark.cuda, pytest.mark.skipif(REASON is not None, reason=str(REASON))]


def test_a_product_on_a_side_stream_follows_its_producer(xp: Xp) -> None:
    n = 512
    a, b = xp.full((n, n), 0, "float32"), xp.full((n, n), 1, "float32")
    slow = xp.full((4096, 4096), 1, "float32")
    tw.matmul(a, b)
    xp.synchronize()
    stream = xp.stream()
    for turn in range(1, 6):
        with xp.on(stream):
            for _ in range(4):
                slow @ slow  # So that the producer is far from done when the product is asked for.
            a[...] = turn
            got = tw.matmul(a, b)
            made = tw.gemm(a, b, alpha=2)
            a[...] = 0
        stream.synchronize()
        assert (xp.get(got) == turn * n).all()
        assert (xp.get(made) == 2 * turn * n).all()


def test_a_call_does_not_wait(xp: Xp) -> None:
    slow = xp.full((8192, 8192), 1, "float32")
    a = xp.full((64, 64), 1, "float32")
    tw.matmul(a, a)
    slow @ slow
    xp.synchronize()
    start = time.perf_counter()
    for _ in range(20):
        slow @ slow
    queued = time.perf_counter() - start
    tw.matmul(a, a)
    asked = time.perf_counter() - start - queued
    xp.synchronize()
    whole = time.perf_counter() - start
    assert asked < 0.2 * whole, (queued, asked, whole)


def test_a_graph() -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.randn(2, 5, 64, 64, device="cuda", dtype=torch.float64)
    c = torch.zeros(5, 64, 64, device="cuda", dtype=torch.float64)
    planned = tw.plan(a, b, out=c)
    for _ in range(2):
        tw.matmul(a, b)
        tw.gemm(a, b, c, beta=1)
        planned(a, b, out=c)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        fresh = tw.matmul(a, b)
        planned(a, b, out=c)
        added = tw.gemm(a, b, c, beta=1)
    for seed in range(3):
        a.copy_(torch.randn(a.shape, device="cuda", dtype=a.dtype))
        b.copy_(torch.randn(b.shape, device="cuda", dtype=a.dtype))
        c.fill_(seed)
        graph.replay()
        torch.cuda.synchronize()
        want = torch.matmul(a, b)
        torch.testing.assert_close(fresh, want)
        torch.testing.assert_close(c, want)
        torch.testing.assert_close(added, 2 * want)


def test_a_graph_of_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    a, b = cupy.random.standard_normal((2, 64, 64))
    out = cupy.zeros((64, 64))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for _ in range(2):
            tw.matmul(a, b, out=out)
        stream.synchronize()
        stream.begin_capture()
        tw.matmul(a, b, out=out)
        graph = stream.end_capture()
        a *= 2
        graph.launch(stream)
        stream.synchronize()
    cupy.testing.assert_allclose(out, a @ b, rtol=1e-12, atol=1e-12)


def test_a_thread_that_never_used_the_gpu(xp: Xp) -> None:
    a = filled((30, 30))
    x, out, wrong = xp.put(a), xp.full((30, 30), 0, "float64"), []
    tw.matmul(x, x, out=out)
    tw.matmul(x, x, out=out)
    xp.synchronize()

    def work() -> None:
        try:
            for _ in range(20):
                tw.matmul(x, x, out=out)
                tw.matmul(x, x)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    xp.synchronize()
    close(xp.get(out), a @ a, "float64", 30)
