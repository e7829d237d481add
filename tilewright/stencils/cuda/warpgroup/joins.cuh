// Tiles whose slices the CLUSTER_K blocks of a cluster share: each multiplies its part of them, and writes its sums into the shared
// memory of all others, to each the part that this one adds up, in the order of the blocks. So sums of a tile meet within the cluster
// in the time of a barrier, and device memory has only those of clusters, where these are cut, too.
//
// A cluster has one piece of one tile. Block i has the accumulators of each thread from HELD * i on, which are rows of C that follow
// each other; they are stored by threads, for such a C is small. Boxes of C do not come or go, and their places and barriers are
// those of sums. A C whose columns begin anywhere has no boxes, either: of a block that shares no slices all sums are its own.
#pragma once

#include "lib/joined.cuh"

#if BY_THREADS
constexpr int HELD_WORDS = HELD / 4;  // 16 bytes of sums of a thread that are added up here

// Where the sums that come from a block lie, those of this thread.
INLINE unsigned int joined_place(int group, int from, int thread) {
    return shared_address(shared_memory + AT_OUT + group * (SUMS * 128 * 4)) + (from * HELD_WORDS * 128 + thread) * 16;
}

// Adds up what all blocks of the cluster have. `none`: this one has no slices, and its sums are nothing.
INLINE void join(const Sums &sum, bool none, float (&made)[HELD], int group, int thread) {
    const int rank = CLUSTER_K > 1 ? blockIdx.y : 0;
    UNROLL for (int to = 0; to < CLUSTER_K; to++) {
        float x[HELD];
        UNROLL for (int i = 0; i < HELD; i++) {
            const int at = to * HELD + i;
            x[i] = none ? 0.0f : sum[at / (WIDTH / 2)][at % (WIDTH / 2)];
        }
        if (to == rank) {
            UNROLL for (int i = 0; i < HELD; i++) made[i] = x[i];
            continue;
        }
        const unsigned int place = address_in(joined_place(group, rank, thread), to);
        UNROLL for (int i = 0; i < HELD_WORDS; i++)
            cluster_store(place + i * 128 * 16, make_uint4(__float_as_uint(x[4 * i]), __float_as_uint(x[4 * i + 1]),
                                                           __float_as_uint(x[4 * i + 2]), __float_as_uint(x[4 * i + 3])));
        // What the other lanes have written comes before it, too.
        __syncwarp();
        if (thread % 32 < TELLERS) barrier_tell(address_in(joined_barrier(group), to));
    }
    if (CLUSTER_K == 1) return;
    barrier_hear(joined_barrier(group), 0);
    __syncwarp();  // lanes may leave the wait apart
    UNROLL for (int from = 0; from < CLUSTER_K; from++) {
        if (from == rank) continue;
        const unsigned char *const place = shared_memory + AT_OUT + group * (SUMS * 128 * 4) + (from * HELD_WORDS * 128 + thread) * 16;
        UNROLL for (int i = 0; i < HELD_WORDS; i++) {
            const float4 x = *(const float4 *)(place + i * 128 * 16);
            made[4 * i] += x.x;
            made[4 * i + 1] += x.y;
            made[4 * i + 2] += x.z;
            made[4 * i + 3] += x.w;
        }
    }
}

// Stores what this block has added up, with what other clusters have of it.
INLINE void store_joined(const Product &g, const float (&made)[HELD], const Tile &tile, const Meeting &meeting, int thread) {
    const Scalars s = {scalar(g.alpha), scalar(g.beta)};
    UNROLL for (int number = 0; number < HELD / GATHERED; number++) {
        float others[GATHERED];
        if (CUT) meeting.others(others, number);
        UNROLL for (int i = 0; i < GATHERED; i += 2) {
            // Two rows of a column, of those that mma.sync has in its fragments of 16 columns by 8 rows.
            const int at = blockIdx.y * HELD + number * GATHERED + i, stack = at / (WIDTH / 2), eights = at % (WIDTH / 2) / 4;
            const int m = tile.m + eights * 8 + thread % 4 * 2, n = tile.n + stack * 64 + thread / 32 * 16 + thread % 32 / 4 + i % 4 / 2 * 8;
            if (m >= g.m || n >= g.n) continue;
            Stored *const to = g.c + m + n * g.ldc;
            const bool second = m + 1 < g.m, both = second && !LOOSE_C;
            const float low = made[number * GATHERED + i] + (CUT ? others[i] : 0.0f);
            const float high = made[number * GATHERED + i + 1] + (CUT ? others[i + 1] : 0.0f);
            unsigned int old = 0;
            if (BETA != 0) old = both ? *(const unsigned int *)to : to[0] | (second ? (unsigned int)to[1] << 16 : 0);
            const unsigned int word = halves_of(scaled(s, low, real_of((Half)old)), scaled(s, high, real_of((Half)(old >> 16))));
            if (both) {
                global_store((unsigned int *)to, word);
            } else {
                to[0] = (Half)word;
                if (second) to[1] = (Half)(word >> 16);
            }
        }
    }
}
#endif
