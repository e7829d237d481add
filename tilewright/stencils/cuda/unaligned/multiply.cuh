// The products of a warp group: its half of the rows of each tile, in the words of tensor cores.
#pragma once

INLINE void read(int slot, int lane) {
    if (lane == 0) barrier_expect(gone_barrier(slot), 0);
}

// Zeros where lines along k, COUNT of an operand, have come from behind its end: from `left` on of the 64 elements of a slice.
// By all threads that multiply.
template <int COUNT> INLINE void end_lines(unsigned char *lines, int left) {
    for (int number = threadIdx.x; number < COUNT; number += 128 * GROUPS) {
        unsigned char *const line = lines + number * LINE;
        for (int word = left / 8; word < 8; word++) {
            uint4 *const at = (uint4 *)(line + (word ^ number % 8) * 16);
            Pack<8> found;
            found.vector = *at;
            UNROLL for (int e = 0; e < 8; e++) if (word * 8 + e >= left) found.element[e] = 0;
            *at = found.vector;
        }
    }
}

// ---- MIXED: rows along k come to registers, and the k of a slice in the order of lines across it ------------------------
// In that order k is r + 8 q at place 8 r + q. Of tensor cores' 16 places of product i a lane reads 2 t, 2 t + 1 and those
// plus 8: halves of word i of words 2 t and 2 t + 1 of 16 bytes.
struct Fragments {
    unsigned int x[SLICE / 16][4];

    // Rows `low` and `high` of so many lines that begin at `lines`; from `left` on elements are zeros.
    INLINE void load(const unsigned char *lines, int low, int high, int lane, int left) {
        UNROLL for (int h = 0; h < 2; h++) {
            const int line = h ? high : low;
            Pack<8> first, second;
            first.vector = *(const uint4 *)(lines + line * LINE + (lane % 4 * 2 ^ line % 8) * 16);
            second.vector = *(const uint4 *)(lines + line * LINE + (lane % 4 * 2 + 1 ^ line % 8) * 16);
            if (left < SLICE) {
                UNROLL for (int e = 0; e < 8; e++) {
                    if (lane % 4 * 16 + e >= left) first.element[e] = 0;
                    if (lane % 4 * 16 + 8 + e >= left) second.element[e] = 0;
                }
            }
            UNROLL for (int i = 0; i < 4; i++) {
                x[i][h] = __byte_perm(first.words[i], second.words[i], 0x5410);
                x[i][2 + h] = __byte_perm(first.words[i], second.words[i], 0x7632);
            }
        }
    }
};

INLINE void multiply_tiles(const Product &g, int warp, int lane) {
    const Tiles tiles(g);
    const int all = tiles.all(), slices = tiles.slices(), group = warp / 4, last = g.k - (slices - 1) * SLICE;
    const unsigned char *const rows = shared_memory + (UPRIGHT ? 0 : OF_A), *const columns = shared_memory + (UPRIGHT ? OF_A : 0);
    const unsigned long long of_rows = slice_operand<B_ALONG>(rows + group * GROUP_ROWS * LINE);
    const unsigned long long of_columns = slice_operand<MIXED ? false : A_ALONG>(columns);
    Turn<STAGES> turn;
    Sums sum;
    _Pragma("unroll 1") for (int number = blockIdx.x; number < all; number += (int)gridDim.x) {
        _Pragma("unroll 1") for (int slice = 0; slice < slices; slice++) {
            barrier_wait(come_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            const int left = slice == slices - 1 ? last : SLICE;
            if (!MIXED) {
                if (A_ALONG && left < SLICE) {
                    unsigned char *const a = shared_memory + turn.at * STAGE;
                    end_lines<TILE_M>(a, left);
                    end_lines<TILE_N>(a + OF_A, left);
                    async_fence();
                    meet(1, 128 * GROUPS);
                }
                multiply_slice<COLUMNS, B_ALONG, A_ALONG, STACKS>(sum[0], of_rows + turn.at * (STAGE / 16),
                                                                  of_columns + turn.at * (STAGE / 16), slice);
            } else {
                Fragments of[STACKS];
                UNROLL for (int i = 0; i < STACKS; i++)
                    of[i].load(rows + turn.at * STAGE, line_of(group, i, warp, lane / 4), line_of(group, i, warp, lane / 4 + 8),
                               lane, left);
                UNROLL for (int step = 0; step < SLICE / 16; step++)
                    UNROLL for (int i = 0; i < STACKS; i++) {
                        wgmma_fence();  // ptxas makes registers ready from product to product
                        wgmma_16_mixed<COLUMNS>(sum[i], of[i].x[step], of_columns + turn.at * (STAGE / 16) + step * LINE,
                                                slice | step);
                    }
                wgmma_commit();
            }
            wgmma_wait<0>();
            read(turn.at, lane);
            turn.next();
        }
        UNROLL for (int i = 0; i < STACKS; i++) wgmma_settled(sum[i]);
        store(g, sum, Tile(tiles, number), group, warp, lane);
    }
}
