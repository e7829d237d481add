// Kernels that compute nothing (bench/order.py).
#define INLINE static __device__ __forceinline__

struct Moved {
    const unsigned char *from;
    unsigned char *to;
    int reads, writes, tiles, stages;
};
INLINE unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// Tiles of `reads` bytes in and `writes` bytes out, by all threads of a block.
extern "C" __global__ void threads(const Moved x) {
    for (int tile = blockIdx.x; tile < x.tiles; tile += gridDim.x) {
        uint4 sum = {(unsigned)tile, 1, 2, threadIdx.x};
        const uint4 *const from = (const uint4 *)(x.from + (long long)tile * x.reads);
        uint4 *const to = (uint4 *)(x.to + (long long)tile * x.writes);
        #pragma unroll 4
        for (int i = threadIdx.x; i < x.reads / 16; i += blockDim.x) {
            const uint4 seen = from[i];
            sum.x ^= seen.x, sum.y ^= seen.y, sum.z ^= seen.z, sum.w ^= seen.w;
        }
        #pragma unroll 4
        for (int i = threadIdx.x; i < x.writes / 16; i += blockDim.x) {
            sum.x += i;
            to[i] = sum;
        }
    }
}

// The same by one thread and bulk copies: a ring of loads, and stores of what lies in shared memory.
extern "C" __global__ void bulk(const Moved x) {
    extern __shared__ __align__(128) unsigned char room[];
    const unsigned barriers = shared(room), ring = barriers + 128, out = ring + x.stages * x.reads;
    if (threadIdx.x) return;
    for (int i = 0; i < x.stages; i++)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + 8 * i) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
    int ahead = blockIdx.x;
    auto fetch = [&](int stage) {
        if (ahead < x.tiles) {
            const unsigned barrier = barriers + 8 * stage;
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(x.reads) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                         ::"r"(ring + stage * x.reads), "l"(x.from + (long long)ahead * x.reads), "r"(x.reads), "r"(barrier) : "memory");
        }
        ahead += gridDim.x;
    };
    for (int i = 0; i < x.stages; i++) fetch(i);
    int turn = 0;
    for (int tile = blockIdx.x; tile < x.tiles; tile += gridDim.x, turn++) {
        const int stage = turn % x.stages;
        asm volatile("{\n.reg .pred done;\nagain: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}"
                     ::"r"(barriers + 8 * stage), "r"(turn / x.stages & 1) : "memory");
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\tcp.async.bulk.commit_group;"
                     ::"l"(x.to + (long long)tile * x.writes), "r"(out), "r"(x.writes) : "memory");
        fetch(stage);
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
