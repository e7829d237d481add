// Tiles that are cut along k, of warps whose sums are numbers of any kind: what a warp has of a tile that ends in another block
// goes into the workspace, and the same warp of a block that has others to add (tiles.cuh) adds what these have. The order is
// always the same, and so is the result.
//
// A place holds the sums of a warp, 16 bytes of all lanes after each other; a flag says that they are there. Who includes this
// says how many NUMBERs a thread sums, which is which, number_of(sums, i), and how many bytes are IN_FRONT in the workspace.
#pragma once

#include "lib/global.cuh"

#ifndef MET_TURNS
#define MET_TURNS 1  // in how many turns what is added is asked for, each when the one before has come, as registers are few
#endif

constexpr int OF_WORD = 16 / sizeof(Number), SUM_WORDS = SUMMED / OF_WORD;  // numbers of 16 bytes, and such words of a thread
// Words that are on their way at once, and of how many blocks, as registers allow.
constexpr int WORDS_MET = SUM_WORDS % 4 ? (SUM_WORDS % 2 ? 1 : 2) : 4, MOST_MET = OF_WORD == 2 || MET_TURNS > 1 ? 4 : 8;
constexpr int AT_ONCE_MET = SUM_WORDS <= 8 ? MOST_MET : SUM_WORDS <= 16 ? 4 : 1;
constexpr int FLAGS = 128;                                                  // bytes that flags are a multiple of

struct Meeting {
    const Cut &cut;
    const int warp, lane;

    INLINE Meeting(const Cut &given, int of_block, int own) : cut(given), warp(of_block), lane(own) {}

    INLINE int place(int worker) const { return (worker * CLUSTER + (CLUSTER > 1 ? blockIdx.y : 0)) * WARPS + warp; }
    INLINE unsigned long long *flag(int worker) const { return (unsigned long long *)(cut.workspace + IN_FRONT) + place(worker); }
    INLINE uint4 *words(int worker) const {
        const int flags = ceiling(cut.workers * CLUSTER * WARPS * 8, FLAGS) * FLAGS;
        return (uint4 *)(cut.workspace + IN_FRONT + flags) + (long long)place(worker) * (SUM_WORDS * 32) + lane;
    }

    // For whoever adds it.
    INLINE void give(Sums &sum) const {
        UNROLL for (int i = 0; i < SUM_WORDS; i++) {
            Word word;
            UNROLL for (int e = 0; e < OF_WORD; e++) word.number[e] = number_of(sum, i * OF_WORD + e);
            global_store(words(blockIdx.x) + i * 32, word.vector);
        }
        // What the other lanes have written comes before it, too.
        __syncwarp();
        if (lane == 0)
            asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(flag(blockIdx.x)), "l"(cut.stamp) : "memory");
        __syncwarp();
    }

    // Waits for all whose sums this block adds to its own, and adds these.
    INLINE void add(Sums &sum, const Walk &walk) const {
        const Partners<true> partners(walk);
        const int count = partners.count();
        if (count == 0) return;
        _Pragma("unroll 1") for (int i = lane; i < count; i += 32) {
            unsigned long long *const at = flag(partners.worker(i));
            unsigned long long come;
            do {
                asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(come) : "l"(at) : "memory");
            } while (come != cut.stamp);
            *at = 0;  // A graph that runs again has the same stamp.
        }
        __syncwarp();
        _Pragma("unroll 1") for (int one = 0; one < count; one += AT_ONCE_MET) {
            UNROLL for (int first = 0; first < SUM_WORDS; first += WORDS_MET) {
                if (MET_TURNS > 1 && first && first % (SUM_WORDS / MET_TURNS) == 0) __syncwarp();
                Word found[AT_ONCE_MET][WORDS_MET];
                // The last one comes again where there are no others.
                UNROLL for (int w = 0; w < AT_ONCE_MET; w++)
                    UNROLL for (int i = 0; i < WORDS_MET; i++)
                        global_load(found[w][i].vector, words(partners.worker(min(one + w, count - 1))) + (first + i) * 32);
                // Zeros are added in its place: behind a branch the compiler would ask for the next ones only when these have come.
                UNROLL for (int w = 0; w < AT_ONCE_MET; w++)
                    UNROLL for (int i = 0; i < WORDS_MET; i++)
                        UNROLL for (int e = 0; e < OF_WORD; e++)
                            number_of(sum, (first + i) * OF_WORD + e) += one + w < count ? found[w][i].number[e] : 0;
            }
        }
    }

  private:
    union Word {
        uint4 vector;
        Number number[OF_WORD];
    };
};
