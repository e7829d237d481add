// Tiles that are cut along k: the sums of blocks meet in the workspace, a place for each block, and the one that has the end
// of a tile adds those of all others while it stores, the nearest first. The order is always the same, and so is the result.
//
// A place holds the accumulators of a group as its threads have them, 16 bytes of all threads after each other; a flag says that
// they are there. IN_FRONT of them the workspace may have something else (copies.cuh).
#pragma once

#include "lib/global.cuh"

constexpr int SUMS = STACKS * WIDTH / 2;       // of a thread
constexpr int PARTS = PING_PONG ? 1 : GROUPS;  // of a block's place
constexpr int FLAGS = 128;                     // bytes that flags are a multiple of
// Accumulators whose parts are on their way at once, and of how many blocks, as registers allow.
constexpr int GATHERED = SUMS <= 128 ? SLICE / 2 : COMPLEX ? 4 : 8, AT_ONCE = SUMS <= 64 ? 128 / GATHERED : 1;

struct Meeting {
    const Cut &cut;
    const int group, thread;
    int farthest;  // of the blocks that have a part of a tile, which come one after the other

    INLINE Meeting(const Cut &given, int number, int own) : cut(given), group(number), thread(own), farthest(blockIdx.x) {}

    INLINE int place(int worker) const {
        const int block = worker * CLUSTER + (CLUSTER > 1 ? blockIdx.y : 0);
        return block * PARTS + (PING_PONG ? 0 : group);
    }
    INLINE unsigned long long *flag(int worker) const { return (unsigned long long *)(cut.workspace + IN_FRONT) + place(worker); }
    INLINE uint4 *sums(int worker) const {
        const int flags = ceiling(cut.workers * CLUSTER * PARTS * 8, FLAGS) * FLAGS;
        return (uint4 *)(cut.workspace + IN_FRONT + flags) + (long long)place(worker) * (SUMS / 4 * 128) + thread;
    }

    // For whoever has the end of the tile.
    INLINE void give(const Sums &sum) const {
        uint4 *const to = sums(blockIdx.x);
        UNROLL for (int s = 0; s < STACKS; s++) {
            UNROLL for (int i = 0; i < WIDTH / 8; i++) {
                const float *const x = sum[s] + 4 * i;
                global_store(to + (s * (WIDTH / 8) + i) * 128, make_uint4(__float_as_uint(x[0]), __float_as_uint(x[1]),
                                                                          __float_as_uint(x[2]), __float_as_uint(x[3])));
            }
        }
        meet(1 + group, 128);
        // What the others of the group have written comes before it, too.
        if (thread == 0)
            asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(flag(blockIdx.x)), "l"(cut.stamp) : "memory");
        __syncwarp();
    }

    // Waits for all others that have a part of the tile of a piece, each thread for one of them.
    INLINE void wait(const Walk &walk) {
        farthest = blockIdx.x;
        if (walk.first == 0) return;
        const int start = (walk.number - walk.whole) * cut.counted;
        while (farthest > 0 && walk.begin(farthest) > start) farthest--;
        _Pragma("unroll 1") for (int worker = (int)blockIdx.x - 1 - thread; worker >= farthest; worker -= 128) {
            unsigned long long come;
            do {
                asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(come) : "l"(flag(worker)) : "memory");
            } while (come != cut.stamp);
            *flag(worker) = 0;  // A graph that runs again has the same stamp.
        }
        __syncwarp();
        meet(1 + group, 128);
    }

    // Whether others have parts of the tile that was waited for last.
    INLINE bool some() const { return CUT && farthest < (int)blockIdx.x; }

    // What others have of some accumulators of this thread, from GATHERED * `number` on. (Accumulators themselves may be changed by
    // nothing but products, or the compiler waits for each of these.)
    INLINE void others(float (&x)[GATHERED], int number) const {
        UNROLL for (int i = 0; i < GATHERED; i++) x[i] = 0;
        _Pragma("unroll 1") for (int worker = (int)blockIdx.x - 1; worker >= farthest; worker -= AT_ONCE) {
            uint4 found[AT_ONCE][GATHERED / 4];
            UNROLL for (int w = 0; w < AT_ONCE; w++) {
                // The farthest one comes again where there are no others.
                const uint4 *const from = sums(max(worker - w, farthest)) + number * (GATHERED / 4 * 128);
                UNROLL for (int i = 0; i < GATHERED / 4; i++) global_load(found[w][i], from + i * 128);
            }
            UNROLL for (int w = 0; w < AT_ONCE; w++) {
                if (worker - w < farthest) break;
                UNROLL for (int i = 0; i < GATHERED / 4; i++) {
                    x[4 * i] += __uint_as_float(found[w][i].x);
                    x[4 * i + 1] += __uint_as_float(found[w][i].y);
                    x[4 * i + 2] += __uint_as_float(found[w][i].z);
                    x[4 * i + 3] += __uint_as_float(found[w][i].w);
                }
            }
        }
    }
};
