// Slices of float32 that run across k, turned where they lie: tensor cores multiply them along k alone.
//
// A box of 32 across and 32 along k is 32 lines of 128 bytes, and so is what it becomes. In both, the 16 bytes i of line l lie at
// position i ^ l % 8. Eight lanes exchange tiles of 4 x 4 numbers that lie at (line l ^ s, position l), in units of four, with
// those at (l, l ^ s): what these lanes read is what they write, and neither meets a bank twice.
#pragma once

// Halves of a box that are on their way at once, as registers allow: groups that hold more sums leave fewer.
constexpr int HALVES = SUMS <= 128 ? 2 : 1;
// Registers of a thread that loads, turns or copies, and of one that multiplies: what three groups begin with.
constexpr int FEW = TURNED ? (HALVES > 1 ? 56 : 40) : BEHIND ? 72 : 24, MANY = (3 * 168 - FEW) / 2;

// Line i of four, of which the first is the first or the fifth of eight, by where position p of that one is.
INLINE uint4 *of_line(unsigned char *box, int four, int position, int i) {
    return (uint4 *)(box + four * 4 * LINE + (((position ^ four % 2 * 4) * 16) ^ i * 16) + i * LINE);
}

INLINE void turn_box(unsigned char *box, int lane) {
    const int across = lane % 8;
    int along = across ^ lane / 8;
    _Pragma("unroll HALVES") for (int half = 0; half < 2; half++, along ^= 4) {
        uint4 x[4];
        UNROLL for (int i = 0; i < 4; i++) x[i] = *of_line(box, along, across, i);
        __syncwarp();
        *of_line(box, across, along, 0) = make_uint4(x[0].x, x[1].x, x[2].x, x[3].x);
        *of_line(box, across, along, 1) = make_uint4(x[0].y, x[1].y, x[2].y, x[3].y);
        *of_line(box, across, along, 2) = make_uint4(x[0].z, x[1].z, x[2].z, x[3].z);
        *of_line(box, across, along, 3) = make_uint4(x[0].w, x[1].w, x[2].w, x[3].w);
    }
}

// A whole warp, one of TURNERS.
INLINE void turn_slices(const Product &g, const Cut &cut, int number, int lane) {
    constexpr int IN_A = TURN_A ? TILE_M / SLICE : 0, ALL = IN_A + (TURN_B ? TILE_N / SLICE : 0);
    const Tiles tiles(g);
    Walk walk(tiles, cut);
    Turn<STAGES> turn;
    _Pragma("unroll 1") while (walk.next()) {
        _Pragma("unroll 1") for (int left = walk.count(); left > 0; left--) {
            barrier_wait(come_barrier(turn.at), turn.parity);
            __syncwarp();  // lanes may leave the wait apart
            unsigned char *const slice = shared_memory + turn.at * STAGE;
            _Pragma("unroll 1") for (int i = number; i < ALL; i += TURNERS)
                turn_box(slice + (i < IN_A ? 0 : OF_A - IN_A * SLICE * LINE) + i * SLICE * LINE, lane);
            // Tensor cores read it by the other proxy.
            async_fence();
            __syncwarp();
            if (lane == 0) barrier_expect(turned_barrier(turn.at), 0);
            turn.next();
        }
    }
}
