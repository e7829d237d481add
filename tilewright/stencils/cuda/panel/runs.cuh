// The runs of a tile (lib/run.cuh) that bulk copies bring and take away: columns along the panel, or all of a tile that is a stream.
#pragma once

#include "lib/run.cuh"
#include "panel/copy.cuh"

// The number of this thread among those that load, or those that write.
INLINE int moving() { return (int)((threadIdx.x - WORKERS) % MOVING); }

// The runs of a tile: COLS columns along the panel, or one for all of it.
template <bool IS_ALONG, int COLS, int LD, int ACROSS> struct Runs {
    static constexpr int COUNT = IS_ALONG ? COLS : 1;
    // Many columns of small numbers have their ends written by a lane each, within words: as many instructions as there are columns
    // take longer than sectors that are written in part.
    static constexpr bool BY_LANES = SIZE < 8 && COUNT > 1;
    // A bulk copy that begins in the middle of a sector of 32 bytes writes many in part, not only its first and last. Ends of whole
    // sectors are two pieces more for such a lane.
    static constexpr int GRAIN = BY_LANES && !SECTORS ? 16 : 32;
    // The first run of a thread. A warp issues one copy after the other, so neighbouring runs are those of different warps.
    static INLINE int first() { return moving() % 32 * MOVERS + moving() / 32; }
    static INLINE Run run(const Stored *at, long long ld, int number, int count) {
        return Run(at + number * ld, IS_ALONG ? count : count * ACROSS);
    }
    static INLINE int load(unsigned char *to, const Stored *at, long long ld, int count, const void *begin, const void *end,
                           unsigned int barrier) {
        int expected = 0;
        _Pragma("unroll 1") for (int i = first(); i < COUNT; i += MOVING)
            expected += run(at, ld, i, count).load(to + i * LD * SIZE, begin, end, barrier);
        return expected;
    }
    // By the threads that write, a run each.
    static INLINE void store(Stored *to, const unsigned char *from, long long ld, int count) {
        _Pragma("unroll 1") for (int i = first(); i < COUNT; i += MOVING) {
            const Run x = run(to, ld, i, count);
            const int ahead = x.ahead<GRAIN>(), whole = x.whole<GRAIN>();
            if (whole > 0) bulk_store<false>((void *)(x.from + ahead), from + i * LD * SIZE + x.head() + ahead, whole, 0);
        }
    }
    // By the same threads: what is before and behind whole grains.
    static INLINE void store_edges(Stored *to, const unsigned char *from, long long ld, int count) {
        if constexpr (GRAIN > SIZE) {
            if (GRAIN == 16 && UNIT_C == 16 && count % WORD == 0) return;
            const int lane = moving();
            constexpr int OF_RUN = BY_LANES ? 2 : smaller(32, 2 * GRAIN / SIZE);
            _Pragma("unroll 1") for (int i = lane / OF_RUN; i < COUNT; i += MOVING / OF_RUN) {
                const Run x = run(to, ld, i, count);
                const unsigned char *const here = from + i * LD * SIZE + x.head();
                if constexpr (!BY_LANES) x.store_edges<GRAIN>(here, lane % OF_RUN);
                else if (lane % 2) x.store_edge<GRAIN>(here, x.ahead<GRAIN>() + x.whole<GRAIN>(), x.bytes);
                else x.store_edge<GRAIN>(here, 0, x.ahead<GRAIN>());
            }
        }
    }
};
typedef Runs<(ALONG && !PANEL_RUN), SIZE_K, LD_PANEL, SIZE_K> PanelRuns;
typedef Runs<(LONG_M && !ONE_RUN), SHORT, LD_C, SHORT> ResultRuns;
typedef Runs<false, 1, 0, SMALL_ROWS * SMALL_COLS> SmallRun;
