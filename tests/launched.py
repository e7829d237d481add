"""One launch of a stencil's kernel on a live GPU, and what is made of it."""

from __future__ import annotations

import numpy as np

from tilewright.model import Config, Problem, Verdict
from tilewright.runtime import launch
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda import devices, driver, modules, nvrtc
from tilewright.tuning.evaluate.cuda_placed import Placed
from tilewright.tuning.gemm.operands import Region
from tilewright.tuning.gemm.verify import Case, judge, prepare


def verdict(stencil: Stencil, p: Problem, config: Config, batch: int, special: bool = False) -> Verdict:
    """What one launch makes of a batch: bases are aligned to what the problem says and no more."""
    driver.context()
    device = devices.probe()
    kernel = modules.load(nvrtc.compile(stencil.source(p, config, device), device))
    ready = prepare(p, Case(batch, special=special), seed=batch)
    made, asked = ready.operands, p.with_(batch=batch)
    placed = [Placed(region) for region in made.regions]
    for memory, region in zip(placed, made.regions, strict=True):
        memory.move(p.align)
        driver.upload(memory.start, region.words)
    a, b, c = (memory.base for memory in placed)
    arrays = []
    if p.pointers:
        arrays = [addresses(memory.base, region) for memory, region in zip(placed, made.regions, strict=True)]
        a, b, c = (array.address for array in arrays)
    launch.bind(stencil, kernel, asked, config, (made.alpha, made.beta), (a, b, c))(0)
    driver.synchronize()
    for memory, region in zip(placed, made.regions, strict=True):
        driver.download(region.words, memory.start)
    return judge(ready)


def addresses(base: int, region: Region) -> driver.Memory:
    """The addresses of the matrices of a region, in device memory."""
    count, step = region.view.shape[0], region.view.strides[0]
    array = base + step * np.arange(count, dtype=np.uint64)
    memory = driver.allocate(array.nbytes)
    driver.upload(memory.address, array)
    return memory
