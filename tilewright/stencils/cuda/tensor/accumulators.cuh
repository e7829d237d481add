// The accumulators of a warp: for each of its products along m and n the numbers that a lane holds, re and im apart.
#pragma once

typedef Real Accumulators[COMPONENTS][SUBS_M][SUBS_N][TC_M * TC_N / 32];

INLINE void clear(Accumulators &sum) {
    UNROLL for (int p = 0; p < COMPONENTS; p++) UNROLL for (int i = 0; i < SUBS_M; i++) UNROLL for (int j = 0; j < SUBS_N; j++)
        UNROLL for (int e = 0; e < TC_M * TC_N / 32; e++) sum[p][i][j][e] = 0;
}
