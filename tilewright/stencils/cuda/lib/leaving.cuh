// Results of a warp that leave by way of shared memory: bulk copies take its columns of C from there to device memory, and the warp
// multiplies on meanwhile. Words that threads store themselves fill the queue of an SM that its reads of shared memory pass, too, so that
// where C is large nothing was multiplied while it was stored.
//
// A warp has STAGED places, by turns, each of ACROSS columns of DOWN elements, PAD bytes behind each of these so that
// lanes which write find all banks. Who includes this says how many bytes an element has (SIZE).
#pragma once

#include "lib/box.cuh"

template <int DOWN, int ACROSS, int PAD, int PLACES> struct Leaving {
    static constexpr int COLUMN = DOWN * SIZE + PAD, PLACE = ACROSS * COLUMN, BYTES = PLACES * PLACE;

    unsigned char *const first;  // of the warp's places
    const int lane;
    int place;

    static_assert(ACROSS <= 32, "columns: a lane takes one");

    INLINE Leaving(unsigned char *of_warps, int warp, int own) : first(of_warps + warp * BYTES), lane(own), place(0) {}

    // Where column 0 of the next place is, when what was there has left.
    INLINE unsigned char *begin() const {
        bulk_read<PLACES - 1>();
        __syncwarp();
        return first + place * PLACE;
    }

    // Takes the columns that are in C to where they go; all lanes have written theirs.
    INLINE void end(Stored *to, long long leading, int columns) {
        async_fence();
        __syncwarp();
        const int here = ACROSS < columns ? ACROSS : columns;
        const unsigned char *const from = first + place * PLACE;
        // Each lane commits a group, of nothing where it has no column: so places are waited for alike.
        if (lane < here) bulk_store<false>(to + lane * leading, from + lane * COLUMN, DOWN * SIZE, 0);
        else bulk_commit();
        __syncwarp();  // what waits for copies is the whole warp again
        place = place + 1 == PLACES ? 0 : place + 1;
    }

    // Behind the last one: shared memory stays until all has left.
    INLINE void leave() const { bulk_done(); }
};
