// Boxes of 32 x 32 numbers of 32 bits, or of complex halves, in shared memory, turned where they lie.
//
// A box of 32 across and 32 along is 32 lines of 128 bytes, and so is what it becomes. In both, the 16 bytes i of line l lie at
// position i ^ l % 8. Eight lanes exchange tiles of 4 x 4 numbers that lie at (line l ^ s, position l), in units of four, with
// those at (l, l ^ s): what these lanes read is what they write, and neither meets a bank twice.
#pragma once

// Line i of four, of which the first is the first or the fifth of eight, by where position p of that one is.
__device__ __forceinline__ uint4 *of_line(unsigned char *box, int four, int position, int i) {
    return (uint4 *)(box + four * 4 * 128 + (((position ^ four % 2 * 4) * 16) ^ i * 16) + i * 128);
}

// By a warp. `AT_ONCE`: halves of the box that are on their way at once, as registers allow.
template <int AT_ONCE> __device__ __forceinline__ void turn_box(unsigned char *box, int lane) {
    const int across = lane % 8;
    int along = across ^ lane / 8;
    _Pragma("unroll AT_ONCE") for (int half = 0; half < 2; half++, along ^= 4) {
        uint4 x[4];
        _Pragma("unroll") for (int i = 0; i < 4; i++) x[i] = *of_line(box, along, across, i);
        __syncwarp();
        *of_line(box, across, along, 0) = make_uint4(x[0].x, x[1].x, x[2].x, x[3].x);
        *of_line(box, across, along, 1) = make_uint4(x[0].y, x[1].y, x[2].y, x[3].y);
        *of_line(box, across, along, 2) = make_uint4(x[0].z, x[1].z, x[2].z, x[3].z);
        *of_line(box, across, along, 3) = make_uint4(x[0].w, x[1].w, x[2].w, x[3].w);
    }
}
