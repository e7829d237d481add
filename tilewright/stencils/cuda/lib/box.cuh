// Boxes of tensors between device memory and shared memory (sm_90): bulk copies whose addresses a tensor map has.
//
// One thread asks for a box by its first coordinates, the contiguous one first. What of it lies outside of the tensor is
// zero where it is loaded, and is not stored. A barrier of shared memory (bulk.cuh) counts the bytes of all of a box that is
// loaded; stores are groups, waited for as those of bulk.cuh are. Boxes begin at multiples of 128 bytes in shared memory, and
// with a swizzle of 128 bytes at multiples of 1024.
#pragma once

#include "lib/bulk.cuh"

struct alignas(64) TensorMap {
    unsigned long long opaque[16];
};

// The unit that copies reads the map before the first copy.
BULK_INLINE void map_prefetch(const TensorMap &map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }

BULK_INLINE void box_load(void *to, const TensorMap &map, int x, int y, int z, unsigned int barrier) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                 ::"r"(shared_address(to)), "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier) : "memory");
}

// A store of a group that bulk_commit ends.
BULK_INLINE void box_store(const TensorMap &map, int x, int y, int z, const void *from) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];"
                 ::"l"(&map), "r"(x), "r"(y), "r"(z), "r"(shared_address(from)) : "memory");
}

BULK_INLINE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
