// Teams of TEAM warps, which share a product: their barriers, and the counter from which they take turns.
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

// The next place in the list of a block, for one thread. atom.inc wraps at `most`, which is never reached: of an addition
// of a constant the compiler would make one for all lanes that ask, with code that counts them.
INLINE int next_place(unsigned int counter, int most) {
    int place;
    asm volatile("atom.shared.inc.u32 %0, [%1], %2;"
                 : "=r"(place) : "r"(counter), "r"(most) : "memory");
    return place;
}


