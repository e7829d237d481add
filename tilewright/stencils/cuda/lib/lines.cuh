// Operands that come by tensor maps, or whose columns begin where none has them, so that threads ask for their elements.
//
// What is included after element.cuh.
#pragma once

#include "lib/box.cuh"

// Where an operand is that has no map.
struct Lines {
    const Stored *first;
    long long leading;  // elements from one stored column to the next
};

// What a kernel is called with for an operand: one that has no map, or one that has.
template <bool MAPLESS> struct From {
    typedef TensorMap Type;
};
template <> struct From<true> {
    typedef Lines Type;
};

INLINE void prefetch(const TensorMap &map) { map_prefetch(map); }
INLINE void prefetch(const Lines &) {}
