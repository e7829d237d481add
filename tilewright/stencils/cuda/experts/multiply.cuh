// The products of a warp group: 64 rows of each tile, and how they are stored.
#pragma once

typedef float Sums[TILE_N / 2];

// So many threads meet at a barrier of their own: 0 is that of the block, 1 to 4 those of warp groups.
INLINE void meet(int barrier, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory"); }

// Sets what lies behind the end of a split k to zero: lines of boxes from k on.
INLINE void clear_behind(unsigned char *slice, int k) {
    const int vectors = (SLICE - k) * (LINE / 16);
    _Pragma("unroll 1") for (int i = threadIdx.x; i < STAGE / BOX * vectors; i += 32 * MULTIPLYING)
        *(uint4 *)(slice + i / vectors * BOX + k * LINE + i % vectors * 16) = make_uint4(0, 0, 0, 0);
    async_fence();
    meet(5, 32 * MULTIPLYING);
}

INLINE void multiply_slice(Sums &sum, unsigned long long a, unsigned long long b, int add) {
    wgmma_fence();
    UNROLL for (int step = 0; step < SLICE / 16; step++)
        wgmma_16_shared<TILE_N, !A_ALONG, !B_ALONG>(sum, a + step * (A_ALONG ? 2 : LINE), b + step * (B_ALONG ? 2 : LINE),
                                                    add | step);
    wgmma_commit();
}

// Rounds the sums of a warp group, and writes those that are the group's: lines of 64 rows, some columns at a time.
INLINE void store(const Sums &sum, const TileScheduler &tile, int warp, int lane) {
    constexpr int RUNS = 64 / VEC_C;
    const int group = warp / 4, first_row = tile.m + 64 * group, rows = tile.end_m - first_row;
    const int columns = tile.end_n - tile.n, q = lane / 8, thread = warp % 4 * 32 + lane;
    const long long ldc = tile.groups.g.ldc;
    Stored *const out = (Stored *)(shared_memory + AT_OUT + group * OUT), *const c = tile.c() + first_row + tile.n * ldc;
    if (rows <= 0) return;
    UNROLL for (int first = 0; first < TILE_N; first += OUT_COLUMNS) {
        if (first >= columns) return;
        meet(1 + group, 128);  // the columns before these have been read
        UNROLL for (int j = 0; j < OUT_COLUMNS / 8; j += 2) {
            const float *const x = sum + (first / 8 + j) * 4;
            stmatrix_transposed(halves_of(x[0], x[1]), halves_of(x[2], x[3]), halves_of(x[4], x[5]), halves_of(x[6], x[7]),
                                out + ((j + q / 2) * 8 + lane % 8) * OUT_PITCH + warp % 4 * 16 + q % 2 * 8);
        }
        meet(1 + group, 128);
        _Pragma("unroll 1") for (int run = thread; run < RUNS * OUT_COLUMNS; run += 128) {
            const int row = run % RUNS * VEC_C, column = run / RUNS, left = rows - row;
            if (first + column >= columns) break;
            Pack<VEC_C> found;
            found.vector = *(const typename Vector<VEC_C * SIZE>::Type *)(out + column * OUT_PITCH + row);
            Stored *const to = c + row + (first + column) * ldc;
            if (left >= VEC_C)
                global_store((typename Vector<VEC_C * SIZE>::Type *)to, found.vector);
            else
                UNROLL for (int v = 0; v < VEC_C; v++) if (v < left) to[v] = found.element[v];
        }
    }
}

INLINE void multiply_tiles(TileScheduler &tile, Turn &turn, int warp, int lane) {
    unsigned char *const a = shared_memory + warp / 4 * BOX, *const b = shared_memory + OF_A;
    const unsigned long long of_a = A_ALONG ? wgmma_operand(a) : wgmma_operand_across(a, BOX);
    const unsigned long long of_b = B_ALONG ? wgmma_operand(b) : wgmma_operand_across(b, BOX);
    _Pragma("unroll 1") for (; tile.valid(); tile.next()) {
        const int k_left = tile.k_left(), slices = slices_of(k_left);
        int before = 0;
        Sums sum;
        // A group without terms has results, too.
        if (slices == 0) UNROLL for (int i = 0; i < TILE_N / 2; i++) sum[i] = 0;
        _Pragma("unroll 1") for (int slice = 0; slice < slices; slice++) {
            barrier_wait(come_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            if (AXIS == 2 && k_left - slice * SLICE < SLICE)
                clear_behind(shared_memory + turn.at * STAGE, k_left - slice * SLICE);
            multiply_slice(sum, of_a + turn.at * (STAGE / 16), of_b + turn.at * (STAGE / 16), slice);
            wgmma_wait<1>();
            if (slice > 0 && lane == 0) barrier_expect(gone_barrier(before), 0);
            before = turn.at;
            turn.next();
        }
        wgmma_wait<0>();
        wgmma_settled(sum);
        if (slices > 0 && lane == 0) barrier_expect(gone_barrier(before), 0);
        tile.find();  // once more, rather than held in registers meanwhile
        store(sum, tile, warp, lane);
    }
}
