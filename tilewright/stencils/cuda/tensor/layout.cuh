// Shared memory of a block: the stages of the operand tiles, what the epilogue stages, and the prefetched part of C.
//
//   stage 0 | stage 1 | ...      A, then B; with SPLIT a plane of re and a plane of im of each
//   staging                      some columns of each warp's results (see the epilogues)
//   C                            each warp's part of C, with EARLY_C
#pragma once

// What a stage holds: elements as they are stored, or the real numbers of a plane.
#if !(COMPLEX && SPLIT)
typedef Stored Kept;
#elif TYPE_BITS == 16
typedef Half Kept;
#else
typedef double Kept;
#endif
constexpr int KEPT = sizeof(Kept);

// The least length from `length` on that leaves `rest` when it is divided by `unit`.
INLINE constexpr int padded(int length, int rest, int unit) { return length + (rest + unit - length % unit) % unit; }

// Elements from one stored column of an operand tile to the next. The 8 rows of 16 bytes that one ldmatrix reads lie in
// different groups of banks, and so do 8 neighbours in each of 4 columns, or 4 in each of 8, that lanes read by
// themselves. Fragments of wmma begin at multiples of 32 bytes.
INLINE constexpr int pitch(bool k_along, int length) {
    return WMMA                    ? padded(length, 16, 32)
           : PAIRS                 ? (k_along ? padded(length, 4, 8) : padded(length, 8, 16))
           : HALVES                ? padded(length, 8, 16)
           : KEPT == 16 && !k_along ? padded(length, 2, 4)
                                   : padded(length, 4, 8);
}

constexpr int PITCH_A = pitch(A_ALONG, A_ALONG ? BLK_K : BLK_M), ACROSS_A = A_ALONG ? BLK_M : BLK_K;
constexpr int PITCH_B = WGMMA ? BLK_K : pitch(B_ALONG, B_ALONG ? BLK_K : BLK_N), ACROSS_B = B_ALONG ? BLK_N : BLK_K;
// The tile of B that wgmma reads begins at a multiple of 1024 bytes.
constexpr int PLANE_A = WGMMA ? padded(GROUP * ACROSS_A * PITCH_A, 0, 1024 / KEPT) : GROUP * ACROSS_A * PITCH_A;
constexpr int PLANE_B = GROUP * ACROSS_B * PITCH_B;
constexpr int STAGE_B = (PLANES ? 2 : 1) * PLANE_A, STAGE = STAGE_B + (PLANES ? 2 : 1) * PLANE_B;

// Results of 16 bits are staged, some columns of a warp at a time, so that whole lines are written: as 16 bits where no C
// is added to them (EPILOGUE_STMATRIX), as float32 where one is. Lanes that hold 4 bytes or more of a column of C write
// them directly.
#define EPILOGUE_STMATRIX (TYPE_BITS == 16 && !COMPLEX && (TC == 3 || TC == 7) && BETA == 0)
#define EPILOGUE_STAGED (TC < 3 || (TYPE_BITS == 16 && !COMPLEX))
#if EPILOGUE_STMATRIX
typedef Half Out;
#else
typedef float Out;
#endif
constexpr int OUT_COLUMNS = WMMA ? TC_N : SUBS_N % 2 ? 8 : EPILOGUE_STMATRIX && SUBS_N % 4 == 0 ? 32 : 16;
constexpr int OUT_PITCH = WARP_M + (WMMA || EPILOGUE_STMATRIX ? 8 : 4), OUT_PLANE = OUT_PITCH * OUT_COLUMNS;
constexpr int AT_OUT = STAGES * STAGE * KEPT;  // bytes before the staging, and before the prefetched C
constexpr int AT_OLD = AT_OUT + (EPILOGUE_STAGED ? WARPS * COMPONENTS * OUT_PLANE * (int)sizeof(Out) : 0);

extern __shared__ __align__(TC == 7 ? 1024 : 128) unsigned char shared_memory[];
