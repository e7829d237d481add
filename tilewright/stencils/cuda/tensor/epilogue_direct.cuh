// The epilogue from registers: lanes hold 4 bytes or more of a column of C, and write them themselves.
#pragma once

#include "tensor/epilogue.cuh"

// A lane's vectors of its warp's part of C: of COUNT elements each, down the rows that the lane holds, then along its
// columns, and where they lie in the prefetched C, in which the vectors of a warp's lanes are neighbours.
struct LaneVectors {
    static constexpr int COUNT = VEC_C < RUN_A ? VEC_C : RUN_A, DOWN = BLOCKS_M / COUNT, VECTORS = DOWN * BLOCKS_N * 2;
    int lane;
    INLINE bool valid(int) const { return true; }
    INLINE int row(int vector) const { return of_block<RUN_A>(vector % DOWN * COUNT, lane / 4); }
    INLINE int column(int vector) const { return of_block<RUN_B>(vector / DOWN / 2, lane % 4 * 2 + vector / DOWN % 2); }
    INLINE int at(int vector) const { return (vector * 32 + lane) * COUNT; }
};

struct Epilogue {
    template <bool INSIDE> static INLINE void prefetch(const WarpTile &tile, long long ldc, Stored *prefetched, int lane) {
        prefetch_vectors<LaneVectors, INSIDE>(tile, ldc, prefetched, lane);
    }

    template <bool INSIDE>
    static INLINE void store(const Accumulators &sum, const WarpTile &tile, long long ldc, const Scalars &s, Out *,
                             const Stored *prefetched, int lane) {
        Stored *const c = tile.c;
        const int rows = tile.rows, columns = tile.columns;
        constexpr int COUNT = LaneVectors::COUNT, DOWN = LaneVectors::DOWN, VECTORS = LaneVectors::VECTORS, TALL = TC_M / 8;
        constexpr int EACH = read_together<COUNT, INSIDE>(VECTORS);
        const LaneVectors mine = {lane}, lane_0 = {0};
        Pack<COUNT> old[SETS][EACH];
        Stored *const to = c + mine.row(0) + mine.column(0) * ldc;
        auto apart = [&](int vector, long long ld) { return lane_0.row(vector) + lane_0.column(vector) * ld; };  // from there
        auto load_vectors = [&](int first, Pack<COUNT> (&old)[EACH]) {
            const long long ld = opaque(ldc);
            UNROLL for (int i = 0; i < EACH; i++) {
                const int vector = first + i;
                if (vector >= VECTORS) break;
                if (EARLY_C)
                    old[i].vector = *(const typename Vector<COUNT * SIZE>::Type *)(prefetched + mine.at(vector));
                else if (INSIDE || mine.column(vector) < columns)
                    load_c<COUNT, INSIDE>(old[i], to + apart(vector, ld), rows - mine.row(vector));
            }
        };
        if (BETA != 0 && SETS == 2) load_vectors(0, old[0]);
        UNROLL for (int first = 0; first < VECTORS; first += EACH) {
            const int next = first + (SETS - 1) * EACH;
            if (BETA != 0 && next < VECTORS) load_vectors(next, old[next / EACH % SETS]);
            const long long ld = opaque(ldc);
            UNROLL for (int i = 0; i < EACH; i++) {
                const int vector = first + i;
                if (vector >= VECTORS) break;
                if (!INSIDE && mine.column(vector) >= columns) continue;
                store_c<COUNT, INSIDE>(to + apart(vector, ld), s, rows - mine.row(vector), old[first / EACH % SETS][i],
                                       [&](int v) {
                    const int j = vector / DOWN / 2, block = vector % DOWN * COUNT + v;
                    const int at = block / TALL, number = block % TALL * 2 + vector / DOWN % 2;
#if COMPLEX
                    return Element{sum[0][at][j][number], sum[1][at][j][number]};
#else
                    return sum[0][at][j][number];
#endif
                });
            }
        }
    }
};
