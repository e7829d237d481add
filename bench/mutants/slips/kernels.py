"""Slips in the CUDA kernels, which the compiler or the interpreter of kernels sees."""

from __future__ import annotations

from bench.mutants.slip import Slip

_EMULATED = "tests/compile/emulated"
_NESTED = "tests/compile/test_nested.py -k"
"""The interpreter of kernels is slow: only the tests of what a slip changes are run."""

SLIPS: tuple[Slip, ...] = (
    Slip(
        "tilewright/stencils/cuda/lib/element.cuh",
        "fma(-a.im, b.im, c.re)",
        "fma(a.im, b.im, c.re)",
        f"{_EMULATED}/test_classic.py -k multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/lib/element.cuh",
        "multiply_add(sum, s.beta, old);",
        "multiply_add(sum, s.beta, old), multiply_add(sum, s.beta, old);",
        f"{_EMULATED}/test_classic.py -k multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/lib/gemm.cuh",
        "stride_a, stride_b, stride_c",
        "stride_a, stride_c, stride_b",
        "tests/compile/test_arguments.py",
    ),
    Slip(
        "tilewright/stencils/cuda/classic/kernel.cuh",
        "if (row(i) < g.m) update",
        "if (row(i) <= g.m) update",
        f"{_EMULATED}/test_classic.py -k multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/classic/kernel.cuh",
        "if (BUFFERS == 1) __syncthreads(); else now",
        "if (BUFFERS == 2) now",
        f"{_EMULATED}/test_classic.py -k takes_its_turns",
    ),
    Slip(
        "tilewright/stencils/cuda/classic/kernel.cuh",
        "if (gridDim.z < g.batch) __syncthreads();",
        "",
        f"{_EMULATED}/test_classic.py -k takes_its_turns",
    ),
    Slip(
        "tilewright/stencils/cuda/classic/kernel.cuh",
        "a.fetch_some(left_over);",
        "a.fetch_some(K_BLK);",
        f"{_EMULATED}/test_classic.py -k at_the_smallest",
    ),
    Slip(
        "tilewright/stencils/cuda/classic/kernel.cuh",
        "if (BETA != 0) old.vector = *(Access *)at;",
        "if (BETA == 2) old.vector = *(Access *)at;",
        f"{_EMULATED}/test_classic.py -k takes_its_turns",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/pipeline_bulk.cuh",
        "(g.batch - BEYOND) / GROUP",
        "g.batch / GROUP",
        f"{_EMULATED}/test_tiny.py -k copies_nothing",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/pipeline_bulk.cuh",
        "parity ^= 1;",
        "parity ^= 0;",
        f"{_EMULATED}/test_tiny.py -k waits",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/pipeline_cp_async.cuh",
        "block_sync();  // all threads see this group",
        "// all threads see this group",
        f"{_EMULATED}/test_tiny.py -k waits",
    ),
    Slip(
        "tilewright/stencils/cuda/whole/multiply.cuh",
        "left > 0 ? 0xffff : 0",
        "left > 0 ? 0xffffffff : 0",
        f"{_EMULATED}/test_whole.py",
    ),
    Slip(
        "tilewright/stencils/cuda/whole/realign.cuh",
        "start & 2 ? 0x5432 : 0x3210",
        "0x3210",
        f"{_EMULATED}/test_whole.py",
    ),
    Slip(
        "tilewright/stencils/cuda/whole/kernel.cuh",
        "workers_sync();  // A and B are there",
        "// A and B are there",
        f"{_EMULATED}/test_whole.py",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/pieces.cuh",
        "slot ? slot - 1 : STAGES",
        "slot",
        f"{_NESTED} pieces",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/pipeline_runs.cuh",
        "if (TWICE) arrive_when_copied(barrier);",
        "if (TWICE) barrier_expect(barrier, 0);",
        f"{_NESTED} pieces",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/group.cuh",
        "list[GROUP + matrix] % 16",
        "list[matrix] % 16",
        f"{_NESTED} each_matrix",
    ),
    Slip(
        "tilewright/stencils/cuda/lib/nest.cuh",
        "            at -= left * n.count[axis];\n",
        "",
        f"{_NESTED} each_matrix",
    ),
    Slip(
        "tilewright/stencils/cuda/tensor/mainloop_wgmma.cuh",
        "cp_async_wait<STAGES - 3>();",
        "cp_async_wait<STAGES - 2>();",
        f"{_EMULATED}/test_tensor.py -k warp_groups",
    ),
    Slip(
        "tilewright/stencils/cuda/tensor/scheduler.cuh",
        "if (tile % UP >= tiles % UP)",
        "if (tile % UP > tiles % UP)",
        f"{_EMULATED}/test_tensor.py -k tensor_multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/grouped/multiply.cuh",
        "lane_m + i * LANES < t.m",
        "lane_m + i * LANES <= t.m",
        f"{_EMULATED}/test_grouped.py -k grouped_multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/grouped/kernel.cuh",
        "g.scalars + 4ll * d[NUMBER]",
        "g.scalars",
        f"{_EMULATED}/test_grouped.py -k grouped_multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/grouped/kernel.cuh",
        "        if (BULK && by_words) async_fence();\n",
        "",
        f"{_EMULATED}/test_grouped.py -k different_ways",
    ),
    Slip(
        "tilewright/stencils/cuda/grouped/kernel.cuh",
        "<< 16 * (put - done - 1);",
        "<< 16 * (put - done);",
        f"{_EMULATED}/test_grouped.py -k grouped_multiplies",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/copy.cuh",
        "(to + at + REST / 4 * 4)",
        "(to + at + REST / 8 * 8)",
        f"{_EMULATED}/test_tiny.py -k vectors_leave",
    ),
    Slip(
        "tilewright/stencils/cuda/tensor/mainloop_prefetch.cuh",
        "            if (PRODUCTS % 2) fragments[0] = fragments[1];\n",
        "",
        f"{_EMULATED}/test_tensor.py -k 'tensor_multiplies and hc'",
    ),
    Slip(
        "tilewright/stencils/cuda/tensor/epilogue_stmatrix.cuh",
        "if (v < left) to[v]",
        "if (v <= left) to[v]",
        f"{_EMULATED}/test_tensor.py -k stages_columns",
    ),
    Slip(
        "tilewright/stencils/cuda/tensor/epilogue_staged.cuh",
        "__syncwarp();  // the columns before these have been read",
        "// the columns before these have been read",
        f"{_EMULATED}/test_tensor.py -k stages_columns",
    ),
    Slip(
        "tilewright/stencils/cuda/chain/multiply_mma_f16.cuh",
        "high[f][h][e] == t ? t * 0x1p-30f : t - high[f][h][e];",
        "high[f][h][e] == t ? 0 : t - high[f][h][e];",
        f"{_EMULATED}/test_chain.py -k sums_between",
    ),
    Slip(
        "tilewright/stencils/cuda/interleaved/ring.cuh",
        '"n"(STAGES - 2) : "memory");',
        '"n"(STAGES - 1) : "memory");',
        f"{_EMULATED}/test_interleaved.py",
    ),
    Slip(
        "tilewright/stencils/cuda/interleaved/result.cuh",
        "if (i0 + i >= SIZE_M || j0 + j >= SIZE_N) continue;",
        "if (i0 + i >= SIZE_M) continue;",
        f"{_EMULATED}/test_interleaved.py",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/pieces.cuh",
        "out < ALONG && find",
        "find",
        f"{_NESTED} tiles",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/multiply_several.cuh",
        "if (!of.there[o]) continue;",
        "",
        f"{_NESTED} pieces",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/pipeline_tiles.cuh",
        "JOINED ? along * PIECE + inner :",
        "JOINED ? inner * PIECE + along :",
        f"{_NESTED} tiles",
    ),
    Slip(
        "tilewright/stencils/cuda/tiny/pipeline_tiles.cuh",
        "runs[run_b].skew(1)",
        "runs[run_b].skew(0)",
        f"{_NESTED} tiles",
    ),
    Slip(
        "tilewright/stencils/cuda/lib/nest.cuh",
        "out.along = (int)(at *= TILE)",
        "out.along = (int)(at * TILE)",
        f"{_NESTED} tiles",
    ),
    Slip(
        "tilewright/stencils/cuda/lib/slices.cuh",
        ": LINE), add | step",
        ": LINE), step",
        f"{_EMULATED}/test_boxes.py",
    ),
    Slip(
        "tilewright/stencils/cuda/boxes/results.cuh",
        "bulk_read<0>();",
        "// read",
        f"{_EMULATED}/test_boxes.py",
    ),
    Slip(
        "tilewright/stencils/cuda/warpgroup/multiply.cuh",
        "if (FLIGHT == 0) read(turn.at, lane);",
        "",
        f"{_EMULATED}/test_warpgroup.py",
    ),
    Slip(
        "tilewright/stencils/cuda/warpgroup/results.cuh",
        "rows % WORD == 0 || rows <= 0 || rows >= SLICE;",
        "true;",
        f"{_EMULATED}/test_warpgroup.py",
    ),
    Slip(
        "tilewright/stencils/cuda/warpgroup/cuts.cuh",
        "worker >= farthest; worker -= AT_ONCE",
        "worker > farthest; worker -= AT_ONCE",
        f"{_EMULATED}/test_warpgroup.py",
    ),
    Slip(
        "tilewright/stencils/cuda/warpgroup/turn.cuh",
        "            async_fence();\n",
        "",
        f"{_EMULATED}/test_warpgroup.py",
    ),
    Slip(
        "tilewright/stencils/cuda/pairs/fragments.cuh",
        "CONJ_A == CONJ_B ? HIGH : 0;",
        "HIGH;",
        f"{_EMULATED}/test_pairs.py",
    ),
    Slip(
        "tilewright/stencils/cuda/pairs/results.cuh",
        "left % WORD && left > 0",
        "left % WORD && left > SLICE",
        f"{_EMULATED}/test_pairs.py",
    ),
    Slip(
        "tilewright/stencils/cuda/lib/ring.cuh",
        "parity ^= at / COUNT & 1;",
        "",
        f"{_EMULATED}/test_warpgroup.py",
    ),
)
