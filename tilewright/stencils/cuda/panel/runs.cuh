// The runs of a tile (lib/run.cuh) that bulk copies bring and take away: columns along the panel, or all of a tile that is a stream.
#pragma once

#include "lib/run.cuh"
#include "panel/copy.cuh"

// The runs of a tile: COLS columns along the panel, or one for all of it.
template <bool IS_ALONG, int COLS, int LD, int ACROSS> struct Runs {
    static constexpr int COUNT = IS_ALONG ? COLS : 1;
    static INLINE Run run(const Stored *at, long long ld, int number, int count) {
        return Run(at + number * ld, IS_ALONG ? count : count * ACROSS);
    }
    static INLINE int load(unsigned char *to, const Stored *at, long long ld, int count, const void *begin, const void *end,
                           unsigned int barrier) {
        int expected = 0;
        _Pragma("unroll 1") for (int i = threadIdx.x % 32; i < COUNT; i += 32)
            expected += run(at, ld, i, count).load(to + i * LD * SIZE, begin, end, barrier);
        return expected;
    }
    // By the lanes of a warp.
    static INLINE void store(Stored *to, const unsigned char *from, long long ld, int count) {
        _Pragma("unroll 1") for (int i = threadIdx.x % 32; i < COUNT; i += 32) {
            const Run x = run(to, ld, i, count);
            const unsigned char *const here = from + i * LD * SIZE + x.head() + x.ahead();
            if (x.whole() > 0) bulk_store<false>((void *)(x.from + x.ahead()), here, x.whole(), 0);
        }
    }
    // By so many threads: what is before and behind whole words, by the widest pieces at multiples of themselves.
    template <int MANY> static INLINE void store_edges(Stored *to, const unsigned char *from, long long ld, int count) {
        if constexpr (WORD > 1) {
            if (UNIT_C == 16 && count % WORD == 0) return;
            _Pragma("unroll 1") for (int i = threadIdx.x % MANY; i < 2 * COUNT; i += MANY) {
                const Run x = run(to, ld, i / 2, count);
                const unsigned char *const here = from + i / 2 * LD * SIZE + x.head();
                if (i % 2) x.store_edge(here, x.ahead() + x.whole(), x.bytes);
                else x.store_edge(here, 0, x.ahead());
            }
        }
    }
};
typedef Runs<ALONG, SIZE_K, LD_PANEL, SIZE_K> PanelRuns;
typedef Runs<LONG_M, SHORT, LD_C, SHORT> ResultRuns;
typedef Runs<false, 1, 0, SMALL_ROWS * SMALL_COLS> SmallRun;
