// Boxes of tensors that come to several blocks of a cluster at once (sm_90), and arrivals at their barriers.
#pragma once

#include "lib/box.cuh"

// To the same place in each block of the mask, whose own barrier at the same place counts the bytes.
BULK_INLINE void box_load_to_all(void *to, const TensorMap &map, int x, int y, int z, unsigned int barrier, unsigned short blocks) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3, %4}], [%5], %6;"
                 ::"r"(shared_address(to)), "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(blocks) : "memory");
}

// Arrives at the barrier of another block that lies where `barrier` does in this one.
BULK_INLINE void barrier_arrive_in(unsigned int barrier, unsigned int block) {
    asm volatile("{\n\t.reg .b32 there;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}"
                 ::"r"(barrier), "r"(block) : "memory");
}
