// Copies between device memory and shared memory that pass no register, and what waits for them.
//
//   bulk (sm_90)      one thread asks for any number of whole 16-byte vectors; a barrier in shared memory counts the
//                     bytes that have arrived. Stores are waited for in groups, by the thread that asked for them.
//   cp.async (sm_80)  every thread asks for its vectors of 4, 8 or 16 bytes, and waits for its own groups of them.
//
// Bulk copies go through the asynchronous proxy: what ordinary stores left in shared memory becomes visible to
// them by async_fence() in each thread that wrote, then a barrier, then the copy.
#pragma once

#define BULK_INLINE __device__ __forceinline__

BULK_INLINE unsigned int shared_address(const void *p) { return (unsigned int)__cvta_generic_to_shared(p); }

// ---- barriers in shared memory, 8 bytes each ----------------------------------------------------------------
// One arrival (that of the thread that announces the bytes) and all its bytes complete a phase.
BULK_INLINE void barrier_start(unsigned int barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}

// A barrier at which each of so many threads arrives, with the bytes of the copies that it started.
BULK_INLINE void barrier_start_for(unsigned int barrier, int threads) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Makes barriers known to the copies; a barrier of the block follows.
BULK_INLINE void barriers_started() {
    asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
}

BULK_INLINE void barrier_expect(unsigned int barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Returns when the phase of this parity (0 for the first, then in turns) is complete.
BULK_INLINE void barrier_wait(unsigned int barrier, unsigned int parity) {
    unsigned int done;
    do {
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    } while (!done);
}

// ---- bulk copies: addresses and bytes are multiples of 16 --------------------------------------------------------
// The policy of the second-level cache for lines that are used once.
BULK_INLINE unsigned long long evict_first() {
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

template <bool HINT>
BULK_INLINE void bulk_load(void *to, const void *from, int bytes, unsigned int barrier, unsigned long long policy) {
    if (HINT)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                     "[%0], [%1], %2, [%3], %4;"
                     ::"r"(shared_address(to)), "l"(from), "r"(bytes), "r"(barrier), "l"(policy) : "memory");
    else
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     ::"r"(shared_address(to)), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

template <bool HINT>
BULK_INLINE void bulk_store(void *to, const void *from, int bytes, unsigned long long policy) {
    if (HINT)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;\n\t"
                     "cp.async.bulk.commit_group;"
                     ::"l"(to), "r"(shared_address(from)), "r"(bytes), "l"(policy) : "memory");
    else
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\tcp.async.bulk.commit_group;"
                     ::"l"(to), "r"(shared_address(from)), "r"(bytes) : "memory");
}

// Waits until all stores of this thread but the last few have read shared memory, which a block has to outlive: what they write is there
// when the kernel has ended, whoever waits.
template <int BUT> BULK_INLINE void bulk_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(BUT) : "memory");
}

// Waits until all stores of this thread are done.
BULK_INLINE void bulk_done() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

BULK_INLINE void async_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- cp.async ---------------------------------------------------------------------------------------------------
// Copies the first count (0 to BYTES) bytes of a vector; zeros take the place of the others. There is no such copy
// of 2 bytes: they pass a register.
template <int BYTES> BULK_INLINE void cp_async(void *to, const void *from, int count) {
    static_assert(BYTES == 2 || BYTES == 4 || BYTES == 8 || BYTES == 16, "cp_async: 2, 4, 8 or 16 bytes");
    if (BYTES == 2)
        *(unsigned short *)to = *(const unsigned short *)from;
    else if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     ::"r"(shared_address(to)), "l"(from), "r"(count) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     ::"r"(shared_address(to)), "l"(from), "n"(BYTES == 2 ? 4 : BYTES), "r"(count) : "memory");
}

BULK_INLINE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until all groups of this thread but the last few have arrived.
template <int BUT> BULK_INLINE void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(BUT) : "memory"); }

// This thread arrives at a barrier of shared memory when all that it has asked for so far has come.
BULK_INLINE void arrive_when_copied(unsigned int barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// The same for a number of groups that is known at run time; MOST or more are as many as there can be.
template <int MOST> BULK_INLINE void cp_async_wait_at_most(int few) {
    if constexpr (MOST == 0)
        cp_async_wait<0>();
    else if (few >= MOST)
        cp_async_wait<MOST>();
    else
        cp_async_wait_at_most<MOST - 1>(few);
}
