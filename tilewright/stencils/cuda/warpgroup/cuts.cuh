// Tiles that are cut along k: the sums of blocks meet in the workspace, a place for each block, and those that have others to add
// (tiles.cuh) do so while they store. The order is always the same, and so is the result.
//
// A place holds the accumulators of a group as its threads have them, 16 bytes of all threads after each other; a flag says that
// they are there. In front of them the workspace may have
// counters (copies.cuh).
#pragma once

#include "lib/global.cuh"

constexpr int PARTS = PING_PONG ? 1 : GROUPS;  // of a block's place
constexpr int FLAGS = 128;                     // bytes that flags are a multiple of
// Accumulators whose parts are on their way at once, and of how many blocks, as registers allow.
constexpr int FITTING = SUMS <= 128 ? SLICE / 2 : COMPLEX ? 4 : 8, GATHERED = HELD < FITTING ? HELD : FITTING;
constexpr int AT_ONCE = LOOSE ? 32 / GATHERED : CLUSTER_K > 1 ? 64 / GATHERED : SUMS <= 64 ? 128 / GATHERED : 1;
constexpr int OF_CLUSTER = CLUSTER * CLUSTER_K;  // blocks

// Whether a block may give what it has added: of more sums there are no registers for those of others beside them.
constexpr bool TEAMS = SUMS <= 128;

struct Meeting {
    const Product &g;
    const Cut &cut;
    const int group, thread;
    Partners<TEAMS> partners;  // of the tile that was waited for last

    INLINE Meeting(const Product &product, const Cut &given, int number, int own)
        : g(product), cut(given), group(number), thread(own) {}

    INLINE int place(int worker) const {
        const int block = worker * OF_CLUSTER + (OF_CLUSTER > 1 ? blockIdx.y : 0);
        return block * PARTS + (PING_PONG ? 0 : group);
    }
    INLINE unsigned long long *flag(int worker) const { return (unsigned long long *)(cut.workspace + in_front(g)) + place(worker); }
    INLINE uint4 *sums(int worker) const {
        const int flags = ceiling(cut.workers * OF_CLUSTER * PARTS * 8, FLAGS) * FLAGS;
        return (uint4 *)(cut.workspace + in_front(g) + flags) + (long long)place(worker) * (HELD / 4 * 128) + thread;
    }

    // For whoever adds it, with the sums of others that were waited for: what this thread holds, by their numbers.
    template <typename Own> INLINE void give(Own own) const {
        uint4 *const to = sums(blockIdx.x);
        UNROLL for (int number = 0; number < HELD / GATHERED; number++) {
            float x[GATHERED];
            if (TEAMS) others(x, number);
            UNROLL for (int i = 0; i < GATHERED; i += 4) {
                const int at = number * GATHERED + i;
                unsigned int word[4];
                UNROLL for (int e = 0; e < 4; e++) word[e] = __float_as_uint(TEAMS ? own(at + e) + x[i + e] : own(at + e));
                global_store(to + at / 4 * 128, make_uint4(word[0], word[1], word[2], word[3]));
            }
        }
        meet(1 + group, 128);
        // What the others of the group have written comes before it, too.
        if (thread == 0)
            asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(flag(blockIdx.x)), "l"(cut.stamp) : "memory");
        __syncwarp();
    }

    // Waits for all whose sums this block adds to its own of a piece, each thread for some of them.
    INLINE void wait(const Walk &walk) {
        partners = Partners<TEAMS>();
        if (walk.first == 0 && (!TEAMS || walk.ends())) return;
        partners = Partners<TEAMS>(walk);
        _Pragma("unroll 1") for (int i = thread; i < partners.count(); i += 128) {
            unsigned long long *const at = flag(partners.worker(i));
            unsigned long long come;
            do {
                asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(come) : "l"(at) : "memory");
            } while (come != cut.stamp);
            *at = 0;  // A graph that runs again has the same stamp.
        }
        __syncwarp();
        meet(1 + group, 128);
    }

    // Whether there are any.
    INLINE bool some() const { return CUT && partners.count() > 0; }

    // What others have of some accumulators of this thread, from GATHERED * `number` on. (Accumulators themselves may be changed by
    // nothing but products, or the compiler waits for each of these.)
    INLINE void others(float (&x)[GATHERED], int number) const {
        UNROLL for (int i = 0; i < GATHERED; i++) x[i] = 0;
        if constexpr (!TEAMS) {
            // One at a time. It is written as a loop over some of them, which ends early, because the compiler finds registers
            // for the other sums beside such a loop, and not beside a plainer one (CUDA 13.0).
            const int farthest = (int)blockIdx.x - partners.count();
            _Pragma("unroll 1") for (int worker = (int)blockIdx.x - 1; worker >= farthest; worker -= AT_ONCE) {
                uint4 found[AT_ONCE][GATHERED / 4];
                UNROLL for (int w = 0; w < AT_ONCE; w++) {
                    const uint4 *const from = sums(max(worker - w, farthest)) + number * (GATHERED / 4 * 128);
                    UNROLL for (int i = 0; i < GATHERED / 4; i++) global_load(found[w][i], from + i * 128);
                }
                UNROLL for (int w = 0; w < AT_ONCE; w++) {
                    if (worker - w < farthest) break;
                    UNROLL for (int i = 0; i < GATHERED / 4; i++) add(x + 4 * i, found[w][i]);
                }
            }
        } else {
            const int count = partners.count();
            _Pragma("unroll 1") for (int one = 0; one < count; one += AT_ONCE) {
                uint4 found[AT_ONCE][GATHERED / 4];
                UNROLL for (int w = 0; w < AT_ONCE; w++) {
                    // The last one comes again where there are no others.
                    const uint4 *const from = sums(partners.worker(min(one + w, count - 1))) + number * (GATHERED / 4 * 128);
                    UNROLL for (int i = 0; i < GATHERED / 4; i++) global_load(found[w][i], from + i * 128);
                }
                // Zeros are added in its place: behind a branch the compiler would ask for the next ones only when these have come.
                UNROLL for (int w = 0; w < AT_ONCE; w++)
                    UNROLL for (int i = 0; i < GATHERED / 4; i++)
                        add(x + 4 * i, one + w < count ? found[w][i] : make_uint4(0, 0, 0, 0));
            }
        }
    }

  private:
    static INLINE void add(float *x, uint4 word) {
        x[0] += __uint_as_float(word.x);
        x[1] += __uint_as_float(word.y);
        x[2] += __uint_as_float(word.z);
        x[3] += __uint_as_float(word.w);
    }
};
