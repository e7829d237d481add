// Numbers that blocks of a cluster write into each other's shared memory (sm_90), and barriers there that say so.
#pragma once

#include "lib/bulk.cuh"

// All threads of the cluster arrive, when they have begun, and wait before they first write into another block: what they wrote
// before they arrived is seen behind the wait.
BULK_INLINE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
BULK_INLINE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Where another block has what lies at `address` in this one.
BULK_INLINE unsigned int address_in(unsigned int address, unsigned int block) {
    unsigned int there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
    return there;
}

BULK_INLINE void cluster_store(unsigned int there, uint4 x) {
    asm volatile("st.shared::cluster.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(there), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
}

// Arrives at a barrier of another block, which sees behind it what was stored there before.
BULK_INLINE void barrier_tell(unsigned int there) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
}

// Waits for those who tell, as barrier_wait does.
BULK_INLINE void barrier_hear(unsigned int barrier, unsigned int parity) {
    unsigned int done;
    do {
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    } while (!done);
}
