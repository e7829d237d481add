// The pipeline of bulk copies (PATH 2): the lanes of one warp fill a ring of stages, whose barriers count the bytes that
// arrived.
//
// Bulk copies move whole words of 16 bytes. A run (a column along the panel, or all of a tile that is a stream) may begin and
// end inside one, so it keeps its place in words: what is loaded includes its neighbours' bytes in the first and last word,
// and of what is stored these words are written element by element.
#pragma once

#include "panel/copy.cuh"

// A run as bytes in device memory, and whole words that it is loaded by.
struct Run {
    const unsigned char *from;
    int bytes;

    INLINE Run(const Stored *at, int count) : from((const unsigned char *)at), bytes(count * SIZE) {}
    INLINE int head() const { return (int)((unsigned long long)from & 15); }

    // Asks for the words of the run, which lie at `to` in shared memory; nothing outside begin to end is requested: the
    // first and last elements of an operand come one by one. Returns the bytes that the barrier has to expect.
    INLINE int load(unsigned char *to, const void *begin, const void *end, unsigned int barrier) const {
        const unsigned char *first = from - head(), *last = from + bytes + (-(head() + bytes) & 15);
        to += first < (const unsigned char *)begin ? 16 : 0;
        if (first < (const unsigned char *)begin) {
            first += 16;
            _Pragma("unroll 1") for (const unsigned char *p = from; p < smaller_of(first, from + bytes); p += SIZE)
                *(Stored *)(to - (first - p)) = *(const Stored *)p;
        }
        if (last > (const unsigned char *)end) {
            last -= 16;
            _Pragma("unroll 1") for (const unsigned char *p = larger_of(last, from); p < from + bytes; p += SIZE)
                *(Stored *)(to + (p - first)) = *(const Stored *)p;
        }
        const int asked = (int)(last - first);
        if (asked <= 0) return 0;
        bulk_load<false>(to, first, asked, barrier, 0);
        return asked;
    }
    static INLINE const unsigned char *smaller_of(const unsigned char *a, const unsigned char *b) { return a < b ? a : b; }
    static INLINE const unsigned char *larger_of(const unsigned char *a, const unsigned char *b) { return a < b ? b : a; }

    // Writes its bytes from at to end, fewer than a word.
    INLINE void store_edge(const unsigned char *here, int at, int end) const {
        // Pieces grow up to a multiple of 16, and shrink behind it.
        _Pragma("unroll 1") while (at < end) {
            int piece = (head() + at) & -(head() + at);
            piece = piece && piece < 16 ? piece : 8;
            while (piece > end - at) piece /= 2;
            unsigned char *const there = (unsigned char *)from + at;
            if (piece == 8) *(uint2 *)there = *(const uint2 *)(here + at);
            else if (piece == 4) *(unsigned int *)there = *(const unsigned int *)(here + at);
            else *(unsigned short *)there = *(const unsigned short *)(here + at);
            at += piece;
        }
    }

    // Bytes before the first whole word, and in whole words.
    INLINE int ahead() const { return smaller(-head() & 15, bytes); }
    INLINE int whole() const { return (bytes - ahead()) & ~15; }
};

// The runs of a tile: COLS columns along the panel, or one for all of it.
template <bool IS_ALONG, int COLS, int LD, int ACROSS> struct Runs {
    static constexpr int COUNT = IS_ALONG ? COLS : 1;
    static INLINE Run run(const Stored *at, long long ld, int number, int count) {
        return Run(at + number * ld, IS_ALONG ? count : count * ACROSS);
    }
    static INLINE int load(unsigned char *to, const Stored *at, long long ld, int count, const void *begin, const void *end,
                           unsigned int barrier) {
        int expected = 0;
        _Pragma("unroll 1") for (int i = threadIdx.x; i < COUNT; i += 32)
            expected += run(at, ld, i, count).load(to + i * LD * SIZE, begin, end, barrier);
        return expected;
    }
    // By the lanes of the first warp.
    static INLINE void store(Stored *to, const unsigned char *from, long long ld, int count) {
        _Pragma("unroll 1") for (int i = threadIdx.x; i < COUNT; i += 32) {
            const Run x = run(to, ld, i, count);
            const unsigned char *const here = from + i * LD * SIZE + x.head() + x.ahead();
            if (x.whole() > 0) bulk_store<false>((void *)(x.from + x.ahead()), here, x.whole(), 0);
        }
    }
    // By all threads: what is before and behind whole words, by the widest pieces at multiples of themselves.
    static INLINE void store_edges(Stored *to, const unsigned char *from, long long ld, int count) {
        if constexpr (WORD > 1) {
            if (UNIT_C == 16 && count % WORD == 0) return;
            _Pragma("unroll 1") for (int i = threadIdx.x; i < 2 * COUNT; i += THREADS) {
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

// Behind the last element of an operand, whose matrices come one after the other.
INLINE const void *end_of(const void *base, long long stride, int batch, long long ld, int cols, int rows) {
    return (const Stored *)base + (batch - 1) * stride + (cols - 1) * ld + rows;
}

// Columns along the panel begin anywhere in a word, unless all of them begin with one.
template <bool ANYWHERE, int LD> struct Lead {
    static INLINE int of(const Stored *, long long) { return LD; }
};
template <int LD> struct Lead<true, LD> {
    static INLINE Placed<LD> of(const Stored *at, long long ld) { return placed<LD>(at, ld); }
};

INLINE void multiply_batch(const Gemm &g, const Scalars &scalars) {
    const Tiles tiles(g);
    unsigned char *const ring = shared_memory + AT_RING;
    const unsigned int barriers = shared_address(shared_memory);
    const long long stride_panel = LONG_M ? g.stride_a : g.stride_b, stride_small = LONG_M ? g.stride_b : g.stride_a;
    const void *const end_panel = end_of(tiles.panels(), stride_panel, g.batch, tiles.ld_panel(),
                                         ALONG ? SIZE_K : tiles.length, ALONG ? tiles.length : SIZE_K);
    const void *const end_small = end_of(tiles.smalls(), stride_small, g.batch, SMALL_ROWS, SMALL_COLS, SMALL_ROWS);
    const void *const end_c = end_of(g.c, g.stride_c, g.batch, g.ldc, g.n, g.m);
    const bool first_warp = threadIdx.x < 32;

    // By the lanes of the first warp, each of which arrives for its own runs.
    auto fetch = [&](int item, int to) {
        if (item >= tiles.items) return;
        const Item x = tiles.at(item);
        unsigned char *const stage = ring + to * STAGE;
        const unsigned int barrier = barriers + 8 * to;
        int expected = PanelRuns::load(stage, x.panel, tiles.ld_panel(), x.count, tiles.panels(), end_panel, barrier);
        if (!SHARED) expected += SmallRun::load(stage + STAGE_SMALL, x.small, 0, 1, tiles.smalls(), end_small, barrier);
        if (BETA != 0) expected += ResultRuns::load(stage + STAGE_C, x.c, g.ldc, x.count, g.c, end_c, barrier);
        barrier_expect(barrier, expected);
    };
    if (threadIdx.x == 0) {
        UNROLL for (int i = 0; i < STAGES; i++) barrier_start_for(barriers + 8 * i, 32);
        barriers_started();
    }
    if (SHARED) Small::fetch(shared_memory + AT_SMALL, tiles.smalls(), tiles.ld_small(), SMALL_COLS);
    cp_async_commit();
    cp_async_wait<0>();
    block_sync();
    if (first_warp) _Pragma("unroll 1") for (int i = 0; i < STAGES; i++) fetch(blockIdx.x + i * (int)gridDim.x, i);

    int now = 0, buffer = 0;
    unsigned int parity = 0;
    _Pragma("unroll 1") for (int item = blockIdx.x; item < tiles.items; item += (int)gridDim.x) {
        unsigned char *const stage = ring + now * STAGE, *const to = shared_memory + AT_OUT + buffer * BYTES_C;
        const Item x = tiles.at(item);
        const int head = ALONG ? 0 : Run(x.panel, 0).head(), head_c = LONG_M ? 0 : Run(x.c, 0).head();
        const Stored *const panel = (const Stored *)(stage + head);
        const unsigned char *const at_small =
            SHARED ? shared_memory + AT_SMALL : stage + STAGE_SMALL + Run(x.small, 0).head();
        const Stored *const small = (const Stored *)at_small;
        const Stored *const c = (const Stored *)(stage + STAGE_C + head_c);
        Stored *const out = (Stored *)(to + head_c);
        barrier_wait(barriers + 8 * now, parity);
        __syncwarp();  // lanes may leave the wait apart
        const auto lead = Lead<(ALONG && UNIT_PANEL < 16), LD_PANEL>::of(x.panel, tiles.ld_panel());
        const auto lead_c = Lead<(LONG_M && UNIT_C < 16), LD_C>::of(x.c, g.ldc);
        if constexpr (LONG_M) multiply_tile(panel, lead, small, LD_SMALL, c, out, lead_c, x, g.ldc, scalars);
        else multiply_tile(small, LD_SMALL, panel, lead, c, out, lead_c, x, g.ldc, scalars);
        async_fence();
        // The other buffer, which the next tile is written to, has been read.
        if (first_warp && !DIRECT) bulk_read<0>();
        block_sync();  // this one is written, and the stage is free
        if (first_warp) {
            if (!DIRECT) ResultRuns::store(x.c, to, g.ldc, x.count);
            fetch(item + STAGES * (int)gridDim.x, now);
        }
        if (!DIRECT) ResultRuns::store_edges(x.c, to, g.ldc, x.count);
        buffer ^= 1;
        if (++now == STAGES) {
            now = 0;
            parity ^= 1;
        }
    }
    if (first_warp && !DIRECT) bulk_done();
}
