// Teams of TEAM warps, which share a product.
#pragma once

INLINE void team_sync(int team) {
    if (TEAM == 1) __syncwarp();
    else if (TEAMS == 1) __syncthreads();
    else asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "n"(32 * TEAM) : "memory");
}

// Programmatic dependent launch: waits for the kernels before this one in its stream, and lets the next one start.
INLINE void after_others() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
}
