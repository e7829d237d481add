"""Chains of two or three products of small matrices in one pass: the space, the choice and the launch of
chain.cuh.

I. Masliah et al., "Algorithms and optimization techniques for high-performance matrix-matrix multiplications
of very small matrices" (2018): memory sets the pace of small matrices, so each passes it once, and sizes are
compiled in (section 7). In a chain that goes for the product in between, too, which never leaves shared
memory, and for an operand that stands in the chain twice, which is copied once:

    group    matrices of each operand that are copied together
    stages   groups in shared memory: all but the one that is multiplied are on their way
    warps    of a block, which shares a ring
    in_place results take the place of what is added, in shared memory
    blocks   of the whole grid, in multiples of the SMs: they stay and walk over the batch
    mma      rows of C that a warp computes on tensor cores, its product in between in registers; 0: none
    rows, columns   of the part of a product that a thread computes otherwise
    path     "bulk" or "async": how matrices come into shared memory

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from functools import partial

from tilewright.model import ChainProblem, Config, Device, Factor, Launch, Source, Stored
from tilewright.space import Space
from tilewright.stencils.cuda.accepting import CudaStencil, misaligned, no_gpu
from tilewright.stencils.cuda.chain.cost import best, cost
from tilewright.stencils.cuda.chain.needs import LARGEST, MOST_INPUTS, PATHS, dense, shared_bytes, unit
from tilewright.stencils.cuda.chain.space import params, rules
from tilewright.stencils.cuda.common import of_configs
from tilewright.stencils.cuda.source import persistent, written
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import Argument, Pointer, Scalar, Struct

_NONE = Stored(1, 1, 1, 0)
"""Stands for the operands that a chain does not have."""


class ChainStencil(CudaStencil):
    """``chain``: whole chains in shared memory, as the five functions of the protocol."""

    name = "chain"
    chains = True
    size_specific = True

    def accepts(self, problem: ChainProblem, device: Device) -> str | None:
        p = problem
        if reason := no_gpu(device):
            return reason
        if min(*p.sizes, p.batch) < 1:
            return "there is nothing to multiply"
        if max(p.sizes) > LARGEST:
            return f"{'x'.join(map(str, p.sizes))} has an extent above {LARGEST}"
        if p.batch >= 2**31 - 2**16:
            return f"a batch of {p.batch} is 2^31 or close to it"
        if p.batch > 1 and p.out.stride == 0:
            return "all results would be written to one C"
        if reason := misaligned(p):
            return reason
        if int(shared_bytes(p, "async", 0, 1, 2, 0)) > device["shared_per_block_optin"]:
            return f"two stages of {p.spelling} do not fit in shared memory"
        return None

    def space(self, problem: ChainProblem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: ChainProblem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def cost_model(self, problem: ChainProblem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem, device))

    def source(self, problem: ChainProblem, config: Config, device: Device) -> Source:
        p = problem
        m, k, *others = p.sizes
        halves: dict[str, object] = {"BRAIN": int(p.dtype.letter == "b")} if p.dtype.real_bits == 16 else {}
        defines = halves | {
            "TYPE_BITS": p.dtype.real_bits,
            "COMPLEX": int(p.dtype.is_complex),
            "FACTORS": len(p.factors),
            "FIRST": p.first,
            "SIZE_M": m,
            "SIZE_K": k,
            "SIZE_L": others[0] if len(p.factors) == 3 else 1,
            "SIZE_N": others[-1],
            "ALIGN": p.align,
            "INPUTS": len(p.operands),
        }
        absent = Factor(-1)
        named = dict(zip(("1", "2", "3", "ADD"), (*p.factors[:2], absent, p.add or absent), strict=True))
        if len(p.factors) == 3:
            named["3"] = p.factors[2]
        for name, factor in named.items():
            defines[f"IN_{name}"] = factor.operand
            defines[f"TRANS_{name}"] = int(factor.transposed)
            defines[f"CONJ_{name}"] = int(factor.conjugated and p.dtype.is_complex)
        read = _all_four(p)
        for name, values in (
            ("ROWS_IN", [x.rows for x in read]),
            ("COLUMNS_IN", [x.columns for x in read]),
            ("ONCE_IN", [int(x.stride == 0) for x in read]),
            ("PACKED_IN", [int(dense(x)) for x in read]),
            ("UNIT_IN", [unit(p, x) for x in read]),
        ):
            defines[name] = ",".join(map(str, values))
        defines |= {"PACKED_OUT": int(dense(p.out)), "UNIT_OUT": unit(p, p.out)}
        defines |= persistent(config, device)
        defines["PATH"] = 2 - PATHS.index(config["path"])
        return written("chain", defines)

    def arguments(self, problem: ChainProblem, config: Config) -> tuple[Argument, ...]:
        """``struct Chain``; the addresses of a launch are those of the operands by number, then that of C."""
        p, count = problem, len(problem.operands)
        read = _all_four(p)
        return (
            Struct(
                "Chain",
                (
                    *(Pointer(f"in_{i}", i if i < count else 0) for i in range(MOST_INPUTS)),
                    Pointer("out", count),
                    *(Scalar(f"ld_{i}", "q", x.ld) for i, x in enumerate(read)),
                    *(Scalar(f"stride_{i}", "q", x.stride) for i, x in enumerate(read)),
                    Scalar("ld_out", "q", p.out.ld),
                    Scalar("stride_out", "q", p.out.stride),
                    Scalar("batch", "i", p.batch),
                ),
            ),
        )

    def launch(self, problem: ChainProblem, config: Config) -> Launch:
        p, c = problem, config
        return Launch(
            grid=(min(c["blocks"], -(-p.batch // c["group"])), 1, 1),
            block=(32 * c["warps"], 1, 1),
            shared=int(shared_bytes(p, c["path"], c["mma"], c["group"], c["stages"], c["in_place"])),
        )


def _all_four(p: ChainProblem) -> tuple[Stored, ...]:
    """The operands, and what stands for those that there are not."""
    return (*p.operands, *(_NONE,) * (MOST_INPUTS - len(p.operands)))
