// The epilogue through shared memory: float32 accumulators are staged, some columns of a warp at a time, and go out, with
// C added, in whole lines.
#pragma once

#include "tensor/epilogue.cuh"

// A lane's vectors of its warp's part of C: of COUNT elements each, at a row and a column, and where they lie in the
// prefetched C, in which the vectors of a warp's lanes are neighbours. The vectors of the columns that are staged
// together go round the lanes; the last lanes may ask for more than there are.
struct LaneVectors {
    static constexpr int COUNT = VEC_C, RUNS = WARP_M / COUNT, STAGED = RUNS * OUT_COLUMNS, ROUNDS = (STAGED + 31) / 32;
    static constexpr int VECTORS = WARP_N / OUT_COLUMNS * ROUNDS;
    int lane;
    INLINE int run(int vector) const { return vector % ROUNDS * 32 + lane; }
    INLINE bool valid(int vector) const { return run(vector) < STAGED; }
    INLINE int row(int vector) const { return run(vector) % RUNS * COUNT; }
    INLINE int column(int vector) const { return vector / ROUNDS * OUT_COLUMNS + run(vector) / RUNS; }
    INLINE int at(int vector) const { return (vector / ROUNDS * STAGED + run(vector)) * COUNT; }
};

// Writes OUT_COLUMNS columns of a warp's accumulators, from column `first` on, to shared memory.
INLINE void stage_columns(Out *out, const Accumulators &sum, int first, int lane) {
    UNROLL for (int part = 0; part < COMPONENTS; part++) UNROLL for (int i = 0; i < SUBS_M; i++) {
#if TC < 3
        wmma_store(out + part * OUT_PLANE + i * TC_M, sum[part][i][first / TC_N], OUT_PITCH);
#else
        UNROLL for (int j = 0; j < OUT_COLUMNS / 8; j++) UNROLL for (int e = 0; e < 4; e++)
            out[(j * 8 + lane % 4 * 2 + e % 2) * OUT_PITCH + i * 16 + e / 2 * 8 + lane / 4] = sum[part][i][first / 8 + j][e];
#endif
    }
}

struct Epilogue {
    template <bool INSIDE> static INLINE void prefetch(const WarpTile &tile, long long ldc, Stored *prefetched, int lane) {
        prefetch_vectors<LaneVectors, INSIDE>(tile, ldc, prefetched, lane);
    }

    // Whether a turn of a loop takes a few of a lane's vectors. There are many narrow ones, 24 where 16 columns of 48 rows are
    // staged; written out, their rows, columns and borders are known long before they are used, and spill. Single elements whose
    // lane has the same rows in each column are written out all the same: a row is known once, and a column to the whole warp.
    static constexpr bool SAME_ROWS = LaneVectors::RUNS % 32 == 0 || 32 % LaneVectors::RUNS == 0;
    static constexpr bool LOOPED = VEC_C * SIZE <= 4 && !COMPLEX && !EARLY_C && !(VEC_C == 1 && SAME_ROWS);
    static constexpr int TURN = 4;

    template <bool INSIDE>
    static INLINE void store_looped(const Accumulators &sum, const WarpTile &tile, long long ldc, const Scalars &s, Out *out,
                                    int lane) {
        constexpr int RUNS = LaneVectors::RUNS;
        UNROLL for (int first = 0; first < WARP_N; first += OUT_COLUMNS) {
            const int vectors = RUNS * (INSIDE ? OUT_COLUMNS : min(OUT_COLUMNS, tile.columns - first));  // in columns of C
            if (vectors <= 0) return;
            Stored *const c = tile.c + first * ldc;
            Pack<VEC_C> next[TURN];
            auto load_turn = [&](int run) {
                UNROLL for (int i = 0; i < TURN; i++) {
                    const int vector = run + 32 * i, row = vector % RUNS * VEC_C, column = vector / RUNS;
                    if (vector < vectors) load_c<VEC_C, INSIDE>(next[i], c + row + column * ldc, tile.rows - row);
                }
            };
            load_turn(lane);
            __syncwarp();  // the columns before these have been read
            stage_columns(out, sum, first, lane);
            __syncwarp();
            _Pragma("unroll 1") for (int run = lane; run < vectors; run += 32 * TURN) {
                Pack<VEC_C> old[TURN];
                UNROLL for (int i = 0; i < TURN; i++) old[i] = next[i];
                load_turn(run + 32 * TURN);
                UNROLL for (int i = 0; i < TURN; i++) {
                    const int vector = run + 32 * i, row = vector % RUNS * VEC_C, column = vector / RUNS;
                    if (vector >= vectors) break;
                    const float *const from = out + column * OUT_PITCH + row;
                    auto sum_of = [&](int v) { return from[v]; };
                    store_c<VEC_C, INSIDE>(c + row + column * ldc, s, tile.rows - row, old[i], sum_of);
                }
            }
        }
    }

    template <bool INSIDE>
    static INLINE void store(const Accumulators &sum, const WarpTile &tile, long long ldc, const Scalars &s, Out *out,
                             const Stored *prefetched, int lane) {
        if constexpr (LOOPED) return store_looped<INSIDE>(sum, tile, ldc, s, out, lane);
        Stored *const c = tile.c;
        const int rows = tile.rows, columns = tile.columns;
        constexpr int ROUNDS = LaneVectors::ROUNDS, EACH = read_together<VEC_C, INSIDE>(ROUNDS);
        constexpr int PER = (ROUNDS + EACH - 1) / EACH, ALL = WARP_N / OUT_COLUMNS * PER;
        const LaneVectors mine = {lane};
        Pack<VEC_C> old[SETS][EACH];
        // Of the vectors of the columns that are staged together, those of a batch; none where there is none.
        auto vector_of = [&](int batch, int i) { return batch / PER * ROUNDS + batch % PER * EACH + i; };
        auto valid = [&](int batch, int i) { return batch % PER * EACH + i < ROUNDS && mine.valid(vector_of(batch, i)); };
        auto load_batch = [&](int batch, Pack<VEC_C> (&old)[EACH]) {
            const long long ld = opaque(ldc);
            UNROLL for (int i = 0; i < EACH; i++) {
                const int vector = vector_of(batch, i), row = mine.row(vector), column = mine.column(vector);
                if (!valid(batch, i) || (!INSIDE && column >= columns)) break;
                if (EARLY_C)
                    old[i].vector = *(const typename Vector<VEC_C * SIZE>::Type *)(prefetched + mine.at(vector));
                else
                    load_c<VEC_C, INSIDE>(old[i], c + row + column * ld, rows - row);
            }
        };
        if (BETA != 0 && SETS == 2) load_batch(0, old[0]);
        UNROLL for (int batch = 0; batch < ALL; batch++) {
            const int next = batch + SETS - 1, first = batch / PER * OUT_COLUMNS;
            if (BETA != 0 && next < ALL) load_batch(next, old[next % SETS]);
            if (batch % PER == 0) {
                __syncwarp();  // the columns before these have been read
                stage_columns(out, sum, first, lane);
                __syncwarp();
            }
            const long long ld = opaque(ldc);
            UNROLL for (int i = 0; i < EACH; i++) {
                const int vector = vector_of(batch, i), row = mine.row(vector), column = mine.column(vector);
                if (!valid(batch, i) || (!INSIDE && column >= columns)) break;
                const float *const from = out + (column - first) * OUT_PITCH + row;
                Real found[COMPONENTS][VEC_C];
                UNROLL for (int part = 0; part < COMPONENTS; part++) {
                    if constexpr (VEC_C >= 4) {
                        UNROLL for (int v = 0; v < VEC_C; v += 4)
                            *(float4 *)&found[part][v] = *(const float4 *)(from + part * OUT_PLANE + v);
                    } else {
                        UNROLL for (int v = 0; v < VEC_C; v++) found[part][v] = from[part * OUT_PLANE + v];
                    }
                }
                store_c<VEC_C, INSIDE>(c + row + column * ld, s, rows - row, old[batch % SETS][i], [&](int v) {
#if COMPLEX
                    return Element{found[0][v], found[1][v]};
#else
                    return found[0][v];
#endif
                });
            }
        }
    }
};
