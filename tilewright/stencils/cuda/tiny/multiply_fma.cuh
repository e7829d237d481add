// The multiplier of multiply-add units: one tile of C by one thread, from shared or device memory.
#pragma once

template <int COUNT> INLINE Pack<COUNT> load(const Stored *from) {
    Pack<COUNT> out;
    out.vector = *(const typename Vector<COUNT * SIZE>::Type *)from;
    return out;
}

template <int COUNT> INLINE void store(Stored *to, const Pack<COUNT> &x) {
    *(typename Vector<COUNT * SIZE>::Type *)to = x.vector;
}

// Where a result is kept: at its place in a matrix. A kernel may say otherwise for a type of its own.
template <int COUNT, typename Lead> INLINE void keep(Stored *out, int row, int column, Lead ldc, const Pack<COUNT> &x) {
    store<COUNT>(out + row + column * ldc, x);
}
template <typename Lead> INLINE void keep_one(Stored *out, int row, int column, Lead ldc, const Stored &x) {
    out[row + column * ldc] = x;
}

// Computes tile number `tile` of the matrices at a, b, c and out. Columns begin at multiples of their leading dimensions:
// numbers, or what a column's number times them says. AT_ONCE_A, _B and _C are bytes that divide the address of every
// stored column. A ROTATED thread begins at rows, columns and k that depend on `rotation`, so that threads of different
// matrices read different banks.
template <int TILE_M, int TILE_N, int AT_ONCE_A, int AT_ONCE_B, int AT_ONCE_C, bool ROTATED, typename LeadA, typename LeadB,
          typename LeadC, typename Out>
INLINE void multiply(int tile, int rotation, const Stored *a, LeadA lda, const Stored *b, LeadB ldb, const Stored *c,
                     Out out, LeadC ldc, const Scalars &s) {
    // Vectors run along k where one or both operands are stored so, and along the free index of the other.
    constexpr int VK_A = TRANS_A ? vector(AT_ONCE_A, SIZE_K, SIZE_K) : 16;
    constexpr int VK_B = TRANS_B ? 16 : vector(AT_ONCE_B, SIZE_K, SIZE_K);
    constexpr int VK = TRANS_B && !TRANS_A ? 1 : smaller(VK_A, VK_B);
    constexpr int VM = vector(smaller(AT_ONCE_C, TRANS_A ? 16 : AT_ONCE_A), SIZE_M, TILE_M);
    constexpr int VN = TRANS_B ? vector(AT_ONCE_B, SIZE_N, TILE_N) : 1;
    constexpr int PIECES_M = TILE_M / VM, PIECES_N = TILE_N / VN, STEPS = SIZE_K / VK;
    constexpr int ACROSS_M = ceiling(SIZE_M, TILE_M), ACROSS_N = ceiling(SIZE_N, TILE_N);
    constexpr bool WHOLE_M = ACROSS_M * TILE_M == SIZE_M, WHOLE_N = ACROSS_N * TILE_N == SIZE_N;
    constexpr int COST = TILE_M * TILE_N * VK * (COMPLEX ? 4 : 1);
    constexpr int UNROLLED = COST * STEPS <= 512 ? STEPS : COST >= 256 ? 1 : smaller(STEPS, 256 / COST);

    const int tile_m = tile % ACROSS_M, tile_n = tile / ACROSS_M;
    // First row and column of this thread's pieces, in a cyclic order that begins at its rotation.
    int row[PIECES_M], column[PIECES_N];
    const int rotation_m = ROTATED ? rotation / STEPS % PIECES_M : 0, rotation_n = ROTATED ? rotation / STEPS % PIECES_N : 0;
    UNROLL for (int i = 0; i < PIECES_M; i++) {
        const int p = i + rotation_m;
        row[i] = ((p < PIECES_M ? p : p - PIECES_M) * ACROSS_M + tile_m) * VM;
    }
    UNROLL for (int j = 0; j < PIECES_N; j++) {
        const int p = j + rotation_n;
        column[j] = ((p < PIECES_N ? p : p - PIECES_N) * ACROSS_N + tile_n) * VN;
    }
    // Rows and columns outside the matrix are read from its last piece and not stored.
    auto row_in = [&](int i) { return WHOLE_M ? row[i] : min(row[i], SIZE_M - VM); };
    auto column_in = [&](int j) { return WHOLE_N ? column[j] : min(column[j], SIZE_N - VN); };

    Element sum[TILE_N][TILE_M];
    UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i++) sum[j][i] = zero();

    int now = ROTATED ? rotation % STEPS : 0;
    _Pragma("unroll UNROLLED") for (int step = 0; step < STEPS; step++) {
        const int k = (ROTATED ? now : step) * VK;
        Pack<VK> along_a[TRANS_A ? TILE_M : 1], along_b[TRANS_B ? 1 : TILE_N];
        if (TRANS_A) UNROLL for (int i = 0; i < TILE_M; i++)
            along_a[TRANS_A ? i : 0] = load<VK>(a + k + (row_in(i / VM) + i % VM) * lda);
        if (!TRANS_B) UNROLL for (int j = 0; j < TILE_N; j++)
            along_b[TRANS_B ? 0 : j] = load<VK>(b + k + (column_in(j / VN) + j % VN) * ldb);
        UNROLL for (int q = 0; q < VK; q++) {
            Element x[TILE_M], y[TILE_N];
            UNROLL for (int i = 0; i < TILE_M; i += VM) {
                Pack<VM> piece;
                if (!TRANS_A) piece = load<VM>(a + row_in(i / VM) + (k + q) * lda);
                UNROLL for (int e = 0; e < VM; e++)
                    x[i + e] = conjugated(
                        CONJ_A, widened(TRANS_A ? along_a[TRANS_A ? i + e : 0].element[q] : piece.element[e]));
            }
            UNROLL for (int j = 0; j < TILE_N; j += VN) {
                Pack<VN> piece;
                if (TRANS_B) piece = load<VN>(b + column_in(j / VN) + (k + q) * ldb);
                UNROLL for (int e = 0; e < VN; e++)
                    y[j + e] = conjugated(
                        CONJ_B, widened(TRANS_B ? piece.element[e] : along_b[TRANS_B ? 0 : j + e].element[q]));
            }
            UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i++)
                multiply_add(sum[j][i], x[i], y[j]);
        }
        if (ROTATED) now = now + 1 == STEPS ? 0 : now + 1;
    }

    UNROLL for (int j = 0; j < TILE_N; j++) UNROLL for (int i = 0; i < TILE_M; i += VM) {
        const int at_m = row[i / VM], at_n = column[j / VN] + j % VN;
        if ((WHOLE_M || at_m < SIZE_M) && (WHOLE_N || at_n < SIZE_N)) {
            Pack<VM> old;
            if (BETA != 0) old = load<VM>(c + at_m + at_n * ldc);
            Element result[VM];
            UNROLL for (int e = 0; e < VM; e++)
                result[e] = scaled(s, sum[j][i + e], BETA != 0 ? widened(old.element[e]) : zero());
            keep<VM>(out, at_m, at_n, ldc, packed(result));
        }
    }
}
