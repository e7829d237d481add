// A thread's part of a tile of C by multiply-add units: how its sums are read and written.
#pragma once

#include "middle/products_fma.cuh"

struct Sums : Products {
    // A vector that a thread has is that of VM rows. Where C has no such vectors, the threads of a warp exchange theirs, so that
    // neighbours read and write neighbouring rows.
    static constexpr int PIECES = EXCHANGED ? VM : 1, EACH = VM / PIECES;
    struct Places {
        int rows[PIECES], columns[PIECES];  // that are there from this thread's first ones on
        Stored *at[PIECES];
        int lead;  // a tile's distances are narrow

        INLINE Places(const Item &x, long long ldc) {
            const int thread = again(threadIdx.x), lane = thread % 32, before = thread - lane;
            lead = again((int)ldc);
            UNROLL for (int p = 0; p < PIECES; p++) {
                const int slot = EXCHANGED ? (p * 32 + lane) / VM : 0;
                const Part part(EXCHANGED ? before + slot % HALF * BESIDE + slot / HALF : thread);
                const int row = part.m + (EXCHANGED ? lane % VM : 0);
                rows[p] = x.rows - row;
                columns[p] = part.in ? x.columns - part.n : 0;
                at[p] = x.c + (row + part.n * lead);
            }
        }
        // Which of them are there is asked anew for each column, which takes no registers.
        INLINE void asked() {
            UNROLL for (int p = 0; p < PIECES; p++) {
                rows[p] = again(rows[p]);
                columns[p] = again(columns[p]);
            }
        }
        INLINE bool in(int p, int i, int j) const { return Part::down(i) < rows[p] && Part::right(j) < columns[p]; }
        INLINE void after(int j) {
            if (j + 1 < COLUMNS) UNROLL for (int p = 0; p < PIECES; p++) at[p] += (Part::right(j + 1) - Part::right(j)) * lead;
        }
    };

    // Lanes put their vectors in the order of their columns, and take single elements.
    static constexpr int HALF = 32 / BESIDE;
    static INLINE Stored *room() { return (Stored *)(shared_memory + AT_EXCHANGE + threadIdx.x / 32 * EXCHANGE); }
    static INLINE Stored *own() {
        const int lane = again(threadIdx.x) % 32;
        return room() + (lane / BESIDE + lane % BESIDE * HALF) * VM;
    }
    typedef typename Vector<VM * SIZE>::Type Whole;

    // Sums begin with what C has: all of it is asked for at once, and none of it when the result is written.
    INLINE void read(const Item &x, long long ldc, const Scalars &s) {
        Places places(x, ldc);
        UNROLL for (int j = 0; j < COLUMNS; j++) {
            places.asked();
            UNROLL for (int i = 0; i < ROWS; i += VM) UNROLL for (int p = 0; p < PIECES; p++) {
                if (!places.in(p, i, j)) continue;
                const Pack<EACH> old = load<EACH>(places.at[p] + Part::down(i));
                UNROLL for (int e = 0; e < EACH; e++) sum[j][i + p + e] = old.element[e];
            }
            places.after(j);
        }
        if (EXCHANGED) UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i += VM) {
            UNROLL for (int p = 0; p < PIECES; p++) room()[p * 32 + threadIdx.x % 32] = sum[j][i + p];
            __syncwarp();
            Pack<VM> mine;
            mine.vector = *(const Whole *)own();
            __syncwarp();
            UNROLL for (int e = 0; e < VM; e++) sum[j][i + e] = mine.element[e];
        }
        UNROLL for (int j = 0; j < COLUMNS; j++) UNROLL for (int i = 0; i < ROWS; i++) sum[j][i] = scaled(s, zero(), sum[j][i]);
    }

    INLINE void write(const Item &x, long long ldc, const Scalars &s) {
        constexpr bool READS = BETA != 0 && !BEGINS;
        Stored *const mine = own();
        Places places(x, ldc);
        UNROLL for (int j = 0; j < COLUMNS; j++) {
            places.asked();
            // What is read of C comes before the first of it is written.
            Pack<EACH> old[ROWS / EACH];
            if (READS) UNROLL for (int i = 0; i < ROWS; i += VM) UNROLL for (int p = 0; p < PIECES; p++)
                if (places.in(p, i, j)) old[i / EACH + p] = load<EACH>(places.at[p] + Part::down(i));
            UNROLL for (int i = 0; i < ROWS; i += VM) {
                Pack<VM> taken;
                UNROLL for (int e = 0; e < VM; e++) taken.element[e] = sum[j][i + e];
                if (EXCHANGED) {
                    *(Whole *)mine = taken.vector;
                    __syncwarp();
                    UNROLL for (int p = 0; p < PIECES; p++) taken.element[p] = room()[p * 32 + threadIdx.x % 32];
                    __syncwarp();
                }
                UNROLL for (int p = 0; p < PIECES; p++) {
                    if (!places.in(p, i, j)) continue;
                    Pack<EACH> result;
                    UNROLL for (int e = 0; e < EACH; e++) {
                        const Element x = taken.element[p + e];
                        result.element[e] = BEGINS ? x : scaled(s, x, READS ? old[i / EACH + p].element[e] : zero());
                    }
                    *(typename Vector<EACH * SIZE>::Type *)(places.at[p] + Part::down(i)) = result.vector;
                }
            }
            places.after(j);
        }
    }
};
