"""Large batches of very small matrices: the space, the choice and the launch of tiny.cuh.

I. Masliah et al., "Algorithms and optimization techniques for high-performance matrix-matrix
multiplications of very small matrices" (2018): every matrix passes device memory once, one block computes
all of C of several matrices, and sizes are compiled in (section 7). How fast it can be is known beforehand
(their section 3): bytes over bandwidth. So the space is about keeping bytes on their way:

    group    matrices that are copied together (their ``tba``, section 7.3)
    stages   groups in shared memory: all but the one that is multiplied are on their way
    warps    of a block; a block of one warp has no barriers
    blocks   of the whole grid, in multiples of the SMs: they stay and walk over the batch
    per_block   or end after so many groups (``grids``)
    rows, columns   of the part of C that a thread computes (with ``mma``: a warp, by tensor cores);
             section 7.4 has several elements to a thread where matrices are large
    path     "bulk", "async" or "plain": how matrices come into shared memory, or that they do not; bulk
             copies bring padding and gaps along, of C as well, but only its columns are written back
    reuse    of a batch along several axes: a block walks over neighbouring groups, in an order of the axes in
             which they have most in common, and what a group has as the one before it is not brought again
    odd      threads read and write odd matrices of 16 bits by words, all rows of C each
    across, turn, pad   against several threads (lanes of tensor cores) that ask for the same bank of shared
             memory
    evict    the second-level cache is told that nothing is used again

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from functools import partial

from tilewright.model import OUTER_AXES, Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import args, grids
from tilewright.stencils.cuda.accepting import CudaStencil, misaligned, no_gpu
from tilewright.stencils.cuda.common import WIDEST, of_configs
from tilewright.stencils.cuda.source import asked, persistent, written
from tilewright.stencils.cuda.tiny.cost import best, cost, ended
from tilewright.stencils.cuda.tiny.needs import (
    LARGEST,
    PATHS,
    flat,
    held,
    kept,
    pieces,
    rounds,
    shared_bytes,
    spaced,
    tile,
    walked,
    words,
)
from tilewright.stencils.cuda.tiny.space import is_dense, is_stream, params, rules, streams_long
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import Argument


class TinyStencil(CudaStencil):
    """``tiny``: whole matrices in shared memory, as the five functions of the protocol."""

    name = "tiny"
    # Of 30 mixed shapes of each of four types, in batches of 130 MB, those with a neighbour's config moved
    # 0.79 to 0.84 of a copy in the median, and those with the cost model's 0.85 to 0.90 (H200).
    size_specific = True
    pointers = True
    nested = True

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := no_gpu(device):
            return reason
        if min(p.m, p.n, p.k, p.products) < 1:
            return "there is nothing to multiply"
        if max(p.m, p.n, p.k) > LARGEST and not streams_long(p, device):
            return f"{p.m}x{p.n}x{p.k} has an extent above {LARGEST}, and bulk copies do not bring it"
        if p.products >= 2**31 - 2**16:
            return f"a batch of {p.products} is 2^31 or close to it"
        if len(p.outer) > OUTER_AXES:
            return f"{len(p.outer)} outer batch axes are more than {OUTER_AXES}"
        axes = ((p.batch, *p.strides), *p.outer)
        if any(extent > 1 and step == 0 for extent, _, _, step in axes) and not p.pointers:
            return "all products would be written to one C"
        if max(p.lda or 0, p.ldb or 0, p.ldc or 0, *map(abs, p.strides)) >= 2**31:
            return "a leading dimension or batch stride is 2^31 or more"
        if reason := misaligned(p):
            return reason
        if int(shared_bytes(p, "async", 1, 2, 0)) > device["shared_per_block_optin"]:
            return f"two stages of {p.m}x{p.n}x{p.k} do not fit in shared memory"
        return None

    def needs_record(self, problem: Problem) -> bool:
        """Padded columns that no word of 16 bytes divides, and that are no stream for bulk copies, take so
        many short copies that cuBLAS was faster on an H200, from 16 rows on in 16 bits and from 24 on in
        others."""
        from_rows = 16 if problem.dtype.real_bits == 16 else 24
        streams = is_stream(problem) and is_dense(problem)
        packed = streams and not any(lead for lead, _ in spaced(problem))
        short = min(words(problem)) < WIDEST and not (packed or (streams and problem.align == WIDEST))
        return short and max(problem.m, problem.n, problem.k) >= from_rows

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return ended(problem, device, best(self.space(problem, device), problem, device))

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem, device))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        p = problem
        defines = asked(p) | {
            "SIZE_M": p.m,
            "SIZE_N": p.n,
            "SIZE_K": p.k,
            "ALIGN": p.align,
            "SHARED_A": int(not p.moves[0]),
            "SHARED_B": int(not p.moves[1]),
            "POINTERS": int(p.pointers),
        }
        defines |= {f"FLAT_{x}": int(f) for x, f in zip("ABC", flat(p), strict=True)}
        defines |= {f"UNIT_{x}": u for x, u in zip("ABC", words(p), strict=True)}
        if p.outer:
            defines["OUTER"] = len(p.outer)
            defines |= {f"HELD_{x}": int(once) for x, once in zip("AB", held(p), strict=False)}
            bulk = config["path"] == "bulk"
            stays = zip("AB", kept(p), strict=False)
            defines |= {f"KEPT_{x}": p.batch * (bulk and few) for x, few in stays}
            tiled = tile(p) if bulk else None
            if config.get("reuse", 0):
                order, _ = walked(p, config["group"])
                outer = [axis for axis in order if axis]
                defines |= {"INNER_AT": order.index(0), "ALONG_AT": outer.index(1)}
            defines["RUN_LENGTH"] = p.batch if config["group"] > p.batch and tiled is None else 0
            if tiled is not None:
                defines["TILE"] = int(tiled.sides(config["group"])[0])
                joined = (int(tiled.joined(which, config["group"])) for which in range(3))
                defines |= {f"JOINED_{x}": one for x, one in zip("ABC", joined, strict=True)}
                defines |= {f"TURNED_{x}": int(turns) for x, turns in zip("AB", tiled.turned, strict=False)}
                defines |= {f"ALONG_{x}": int(moves) for x, moves in zip("AB", tiled.outer, strict=False)}
        # What is not staged needs no constants, and one program serves all leading dimensions.
        known = spaced(p) if config["path"] != "plain" else ((0, 0),) * 3
        defines |= {f"LEAD_{x}": lead for x, (lead, _) in zip("ABC", known, strict=True)}
        defines |= {f"NEXT_{x}": step for x, (_, step) in zip("ABC", known, strict=True)}
        defines |= persistent(config, device)
        defines["PATH"] = PATHS.index(config["path"])
        return written("tiny", defines)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        if not problem.outer:
            return args.gemm(problem)
        if config["path"] != "bulk":
            return args.nested(problem)
        # Bulk copies bring pieces of runs, or tiles.
        (along, most), tiled = map(int, pieces(problem, config["group"])), tile(problem)
        order = walked(problem, config["group"])[0] if config.get("reuse", 0) else ()
        if tiled is None:
            return args.nested(problem, most, order=order)
        return args.nested(problem, most, tiled.axis, along, order)

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        threads = 32 * c["warps"]
        # What is left over for single elements has at most a group's.
        rest = c["path"] == "bulk" and not p.outer
        left_over = -(-min(p.batch, c["group"]) * p.m * p.n // threads) if rest else 1
        return Launch(
            grid=(grids.launched(c, max(rounds(p, c["group"], c["path"]), left_over)), 1, 1),
            block=(threads, 1, 1),
            shared=int(shared_bytes(p, c["path"], c["group"], c["stages"], c["pad"], c.get("direct", 0))),
        )
