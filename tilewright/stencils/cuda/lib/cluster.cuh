// Blocks of a cluster (sm_90), which read each other's shared memory.
#pragma once

// What all threads of the cluster wrote before is seen by all of them behind it.
__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Words of 32 bits from the shared memory of a block of the cluster, where `address` is in this one.
template <int COUNT> __device__ __forceinline__ void cluster_read(unsigned int *to, unsigned int address, unsigned int block) {
    unsigned int there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
    _Pragma("unroll") for (int i = 0; i < COUNT; i++)
        asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(to[i]) : "r"(there + 4 * i) : "memory");
}

// What a block of the cluster has where this one has `here`.
template <typename T> __device__ __forceinline__ T remote(const T *here, int block) {
    T found;
    cluster_read<sizeof(T) / 4>((unsigned int *)&found, (unsigned int)__cvta_generic_to_shared(here), block);
    return found;
}
