// The barrier of a block, included after WARPS, the number of its warps, is known.
#pragma once

// One warp alone needs no barrier of the block.
__device__ __forceinline__ void block_sync() {
    if (WARPS == 1) __syncwarp(); else __syncthreads();
}
