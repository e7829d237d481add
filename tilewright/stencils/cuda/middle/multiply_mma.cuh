// A warp's part of a tile of C by tensor cores, float64: its sums, and how they are read and written.
#pragma once

#include "middle/products_mma.cuh"

struct Sums : Products {
    INLINE void add(const Stored *a, const Stored *b, int depth) {
        const int r = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
        a += (first_row(threadIdx.x) + r) * ROW_A + q * K_A;
        b += (first_column(threadIdx.x) + r) * COLUMN_B + q * K_B;
        _Pragma("unroll 2") for (int k = 0; k < depth; k += 4) add_four(a + k * K_A, b + k * K_B);
    }

    // Of eight columns of C those of this lane's sums, or element after element along the rows.
    static constexpr int COUNT = EXCHANGED ? ROWS / 4 : 2 * HIGH;
    struct Places {
        int lane, rows, columns, lead;  // a tile's distances are narrow
        Stored *first;

        INLINE Places(const Item &x, long long ldc) {
            const int thread = again(threadIdx.x), top = first_row(thread), left = first_column(thread);
            lane = thread % 32;
            lead = again((int)ldc);
            first = x.c + (top + left * lead);
            rows = x.rows - top;
            columns = x.columns - left;
        }
        INLINE int row(int n) const { return EXCHANGED ? (lane + 32 * n) % ROWS : n / 2 * 8 + lane / 4; }
        INLINE int column(int n) const { return EXCHANGED ? (lane + 32 * n) / ROWS : lane % 4 * 2 + n % 2; }
        INLINE bool in(int n, int j) const { return row(n) < rows && column(n) + j * 8 < columns; }
        INLINE Stored *at(int n, int j) const { return first + (row(n) + (column(n) + j * 8) * lead); }
    };
    static INLINE Stored *room() { return (Stored *)(shared_memory + AT_EXCHANGE + threadIdx.x / 32 * EXCHANGE); }
    static INLINE int place(int i, int e) {
        const int lane = threadIdx.x % 32;
        return (lane % 4 * 2 + e) * LD_EXCHANGE + i * 8 + lane / 4;
    }

    // Sums begin with what C has: all of it is asked for at once, and none of it when the result is written.
    INLINE void read(const Item &x, long long ldc, const Scalars &s) {
        Places places(x, ldc);
        UNROLL for (int j = 0; j < BROAD; j++) {
            places.lane = again(places.lane);
            UNROLL for (int n = 0; n < COUNT; n++)
                if (places.in(n, j)) sum[j][n / 2][n % 2] = *places.at(n, j);
        }
        if (EXCHANGED) UNROLL for (int j = 0; j < BROAD; j++) {
            UNROLL for (int n = 0; n < COUNT; n++)
                room()[places.column(n) * LD_EXCHANGE + places.row(n)] = sum[j][n / 2][n % 2];
            __syncwarp();
            UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int e = 0; e < 2; e++) sum[j][i][e] = room()[place(i, e)];
            __syncwarp();
        }
        UNROLL for (int j = 0; j < BROAD; j++) UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int e = 0; e < 2; e++)
            sum[j][i][e] = scaled(s, zero(), sum[j][i][e]);
    }

    INLINE void write(const Item &x, long long ldc, const Scalars &s) {
        constexpr bool READS = BETA != 0 && !BEGINS;
        constexpr int AT_ONCE = COMPLEX ? 4 : 8;
        Places places(x, ldc);
        UNROLL for (int j = 0; j < BROAD; j++) {
            if (EXCHANGED) {
                UNROLL for (int i = 0; i < HIGH; i++) UNROLL for (int e = 0; e < 2; e++) room()[place(i, e)] = sum[j][i][e];
                __syncwarp();
            }
            places.lane = again(places.lane);
            UNROLL for (int first = 0; first < COUNT; first += AT_ONCE) {
                // What is read of C comes before the first of it is written.
                Element old[AT_ONCE];
                if (READS) UNROLL for (int n = 0; n < AT_ONCE; n++)
                    if (first + n < COUNT && places.in(first + n, j)) old[n] = *places.at(first + n, j);
                UNROLL for (int n = first; n < smaller(first + AT_ONCE, COUNT); n++) {
                    const int in_room = places.column(n) * LD_EXCHANGE + places.row(n);
                    const Element own = EXCHANGED ? room()[in_room] : sum[j][n / 2][n % 2];
                    if (places.in(n, j))
                        *places.at(n, j) = BEGINS ? own : scaled(s, own, READS ? old[n - first] : zero());
                }
            }
            if (EXCHANGED) __syncwarp();
        }
    }
};
