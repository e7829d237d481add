// grouped: C_i = alpha_i * op(A_i) * op(B_i) + beta_i * C_i for many products of different sizes, in one launch.
//
// I. Masliah et al., "Algorithms and optimization techniques for high-performance matrix-matrix multiplications of
// very small matrices" (2018): every matrix passes device memory once, and whole matrices are multiplied in shared
// memory (section 7). What is different here is that no two products need be of one size, so nothing of the sizes
// is known to the compiler, and that blocks which finish early would leave memory idle. Hence:
//
//   device memory   descriptors, 64 bytes each   |0|1|2|3|4|5|6|7|8|...   a few of middle size, then the largest first
//                        | block b takes one of each row of gridDim, back and forth: all blocks get equal shares
//   a block              | a counter in shared memory gives the next of them to the team that asks
//   a team of TEAM warps | asks for A, B (and C) as long as its ring has room, and reads the next descriptor then:
//
//   shared memory   ring of a team  |A B C|A B C|A B|  at most DEPTH products, each with the bytes that it needs
//                        |
//   registers       a warp: LANES x (32 / LANES) lanes, each with up to ROWS x COLUMNS elements of C, by tensor
//                        |  cores (MMA 1) or not; smaller products are run by smaller tiles: by one of each size
//                        |  (FINE 1), of each number of rows (FINE 2), or by halves (FINE 0), whose few instructions
//                        |  stay in the cache
//   device memory   C_i
//
// How an operand is copied is written in its descriptor: without gaps, as 16-byte lines (BULK 1: one bulk copy), or
// column by column in vectors of 4, 8 or 16 bytes. Lines are copied whole, also those that an operand shares with its
// predecessor in memory or with another matrix of the list after it; no other byte is read. In shared memory
// an operand begins as many bytes after a multiple of 16 as in device memory. The host's side of the descriptors is in
// stencil.py. The parts, in this folder: descriptor.cuh, team.cuh, copy.cuh (one operand to
// the ring), multiply.cuh (the product of one warp).
//
// What bounds it, for 10,000 products with extents of 1 to 32 on 132 multiprocessors: a multiprocessor has 76 of
// them, 250 KB of float32 or complex64 twice that (8 and 15 us at 4.2 TB/s), and each of its four schedulers issues
// one instruction at a time. Of a mean product of float32, all lanes together do 4,500 multiply-adds, 140
// instructions; with what they waste on tiles of 8 x 4 lanes, operands from shared memory, and addresses it is 500,
// and 300 before and after. So 19 products of a scheduler take 15,000 clocks (8 us) when none is lost: issue slots
// are as scarce as bandwidth, so the host precomputes all it can, and the descriptor holds it.
// By tensor cores 16 bits take 100 in place of the 500, and what is left is latency: a launch, a descriptor, the first
// operands and the last results, 4 us in all.
#include "lib/bulk.cuh"

// ---- the problem --------------------------------------------------------------------------------
#include "lib/problem.cuh"
#ifndef LARGEST
#define LARGEST 8448  // bytes of shared memory that the largest product takes
#endif
#ifndef LARGEST_M
#define LARGEST_M 32  // most rows of a C
#endif
#ifndef LARGEST_N
#define LARGEST_N 32  // most columns of a C
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef BULK
#define BULK 1  // 1: operands without gaps by bulk copies (sm_90), 0: by vectors of 16 bytes (sm_80)
#endif
#ifndef ROWS
#define ROWS 4  // most rows of C that a lane computes at a time
#endif
#ifndef COLUMNS
#define COLUMNS 8  // most columns of C that a lane computes at a time
#endif
#ifndef DEEP
#define DEEP 2  // steps of k in one iteration of the loop
#endif
#ifndef FINE
#define FINE 0  // 1: a tile for each number of rows and columns, 2: for each of rows, 0: whole tiles and halves
#endif
#ifndef MMA
#define MMA 0  // 1: tensor cores multiply (float64 and 16 bits)
#endif
#ifndef TEAM
#define TEAM 1  // warps that share a product
#endif
#ifndef WARPS
#define WARPS 16  // warps of a block
#endif
#ifndef RING
#define RING 13440  // bytes of shared memory of a team
#endif
#ifndef DEPTH
#define DEPTH 2  // products of a team in its ring: 2 or 4
#endif
#ifndef BLOCKS
#define BLOCKS 1  // minimum resident blocks: blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#include "lib/element.cuh"
#include "lib/mma.cuh"

constexpr int THREADS = 32 * WARPS;
constexpr int TEAMS = WARPS / TEAM;
constexpr int LANES = 8, ACROSS = 32 / LANES;  // lanes that share a column of C, and a row
constexpr int WORDS = 16;                     // of a descriptor, 4 bytes each
constexpr int OPERANDS = BETA ? 3 : 2;        // that are read
// The smaller tiles where there is not one of each size.
constexpr int HALF_M = MMA ? 2 : (ROWS + 1) / 2, HALF_N = COLUMNS <= 4 ? 2 : 4;

// Shared memory: barriers, descriptors of what is in the rings, what hands out products, the rings.
constexpr int AT_QUEUE = (8 * TEAMS * DEPTH + 15) / 16 * 16;
constexpr int AT_HAND = AT_QUEUE + 4 * WORDS * TEAMS * DEPTH;
constexpr int AT_RING = (AT_HAND + 16 + 8 * TEAMS + 127) / 128 * 128;

static_assert(TYPE_BITS == 16 || TYPE_BITS == 32 || TYPE_BITS == 64, "type: real numbers of 16, 32 or 64 bits");
static_assert(WARPS % TEAM == 0, "teams: all warps of a block belong to whole teams");
static_assert(TEAM == 1 || TEAMS <= 15, "team-barriers: a block has fifteen barriers for its teams");
static_assert(LARGEST <= RING && RING % 16 == 0, "ring: a team's ring has room for the largest product");
static_assert(!MMA || TYPE_BITS != 32, "mma-type: tensor cores take float64 and 16 bits");
static_assert(!MMA || (ROWS % 2 == 0 && COLUMNS % 2 == 0),
              "mma-tile: a tile is whole tensor-core products of 16 rows and 8 columns");
static_assert(DEPTH == 2 || DEPTH == 4, "depth: a ring has places for 2 or 4 products");

// ---- the parts ----------------------------------------------------------------------------------
#include "grouped/descriptor.cuh"
#include "grouped/team.cuh"
#include "grouped/copy.cuh"
#include "grouped/multiply.cuh"

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(128) unsigned char shared_memory[];

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) grouped(const __grid_constant__ Products g) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int team = warp / TEAM, member = warp % TEAM;  // the warp's number in its team
    int thread = threadIdx.x - team * 32 * TEAM;         // the thread's
    const int most = g.count | 1 << 30;                  // more than all teams ask for
    // Opaque copies stay in registers: the compiler would compute them again wherever they are used.
    int blocks = gridDim.x, block = blockIdx.x;
    const unsigned int *list = g.list + thread;
    const unsigned int window = shared_address(shared_memory);
    unsigned int barriers = window + 8 * DEPTH * team, queue_at = window + AT_QUEUE + 4 * WORDS * DEPTH * team;
    unsigned int ring_at = window + AT_RING + team * RING, hand = window + AT_HAND;
    asm volatile("" : "+r"(barriers), "+r"(queue_at), "+r"(ring_at), "+r"(hand), "+r"(blocks), "+r"(block),
                 "+l"(list), "+r"(thread));
    unsigned int *const queue = (unsigned int *)__cvta_shared_to_generic(queue_at);
    unsigned char *const memory = (unsigned char *)__cvta_shared_to_generic(ring_at);
    int *const turns = (int *)(shared_memory + AT_HAND + 16) + 2 * team;  // two in turn: the last one is still being read

    // This block's products: one of each row of the list, back and forth. Descriptors are read long before they are used.
    auto nth = [&](int i) { return i * blocks + (i & 1 ? blocks - 1 - block : block); };
    int next = nth(team), latest = 0;  // the next product, and which of the two places for turns is the latest
    unsigned int words = 0;            // of the next product's descriptor, one in each of the first lanes
    auto read = [&]() {
        if (next < g.count && thread < WORDS) words = __ldg(list + (long long)next * WORDS);
    };
    read();
    if (BULK && thread < DEPTH) {
        barrier_start_for(barriers + 8 * thread, OPERANDS);
        barriers_started();
    }
    if (threadIdx.x == 0) *(int *)(shared_memory + AT_HAND) = TEAMS;
    __syncthreads();
    // All so far may run while the kernel before this one ends: descriptors are no kernel's results.
    after_others();

    // The ring: products of any size, one after the other, and from the begin again.
    unsigned int put = 0, done = 0;   // products put into the ring, and products done
    unsigned int head = 0, tail = 0;  // bytes: where the next product begins, and where the oldest one does
    unsigned long long later = 0;     // where the others begin: 16 bits for each, in multiples of 16 bytes
    _Pragma("unroll 1") while (true) {
        // ---- start to copy as many products as there is room for
        _Pragma("unroll 1") while (next < g.count && put - done < DEPTH) {
            const unsigned int slot = put % DEPTH;
            unsigned int *const d = queue + slot * WORDS;
            if (thread < WORDS) d[thread] = words;
            team_sync(team);
            const unsigned int room = d[ROOM], copies = room >> 16;
            const unsigned int bytes = (room & 0xffff) * 16;
            if (put == done) head = tail = 0;
            unsigned int place = head;
            if (head + bytes > (head < tail ? tail - 16 : RING)) {  // there is no room behind the last product
                if (head < tail || bytes >= tail) break;            // nor is there before the oldest one
                place = 0;
            }
            if (put == done) tail = place;
            else if (DEPTH == 2) later = place / 16;
            else later |= (unsigned long long)(place / 16) << 16 * (put - done - 1);
            unsigned char *const here = memory + place;
            // ---- take the next turn, whose descriptor is read below
            int turn = 0;
            if (TEAM == 1 && thread == 0) turn = next_place(hand, most);
            if (TEAM > 1 && thread == 0) turns[latest] = next_place(hand, most);
            // Bytes of the 16-byte lines that hold an operand; the first may begin before it and the last one end after it:
            // no thread reads what is copied there.
            auto lines = [&](const uint4 &x, int which) {
                const unsigned int copy = copies >> 4 * which & 15;
                return copy > 1 ? 0u : ((x.z & 8191) - copy) * 16;
            };
            auto source = [&](const uint4 &x) {
                return (const unsigned char *)((unsigned long long)x.y << 32 | (x.x & ~15u));
            };
            auto target = [&](const uint4 &x) { return here + (x.z >> 13 & ~15u); };
            if (BULK) {
                if (thread < OPERANDS) {
                    const uint4 x = ((const uint4 *)d)[thread];
                    const int count = lines(x, thread);
                    barrier_expect(barriers + 8 * slot, count);
                    if (count) bulk_load<false>(target(x), source(x), count, barriers + 8 * slot, 0);
                }
            } else {
                UNROLL for (int which = 0; which < OPERANDS; which++) {
                    const uint4 x = ((const uint4 *)d)[which];
                    const unsigned char *from = source(x) + 16 * thread;
                    unsigned char *to = target(x) + 16 * thread;
                    const int count = lines(x, which);
                    _Pragma("unroll 1") for (int at = 16 * thread; at < count; at += 16 * 32 * TEAM) {
                        line_load(to, from);
                        from += 16 * 32 * TEAM;
                        to += 16 * 32 * TEAM;
                    }
                }
            }
            if (copies != 0) {
                const unsigned int extents = d[EXTENTS], shared_ld = d[SHARED_LD];
                const int m = extents & 255, n = extents >> 8 & 255, k = extents >> 16 & 255;
                _Pragma("unroll 1") for (int which = 0; which < OPERANDS; which++) {
                    const int copy = copies >> 4 * which & 15;
                    if (copy == 0 || (d[4 * which + REGION] & 8191) == 0) continue;
                    const unsigned int low = d[4 * which + ADDRESS], high = d[4 * which + ADDRESS + 1];
                    Operand x;
                    x.from = (const unsigned char *)((unsigned long long)high << 32 | low);
                    x.to = here + (d[4 * which + REGION] >> 13);
                    x.rows = which == 0 ? (TRANS_A ? k : m) : which == 1 ? (TRANS_B ? n : k) : m;
                    x.columns = which == 0 ? (TRANS_A ? m : k) : which == 1 ? (TRANS_B ? k : n) : n;
                    if (copy == 1) {
                        const int end = (int)(low & 15) + x.rows * x.columns * SIZE, last = end - (end & 15) - (low & 15);
                        const int at = SMALLEST * thread;
                        if (at < (end & 15)) cp_async<SMALLEST>(x.to + last + at, x.from + last + at, SMALLEST);
                        continue;
                    }
                    const long long step = (long long)(int)d[4 * which + LEADING] * SIZE;
                    const int step_here = (int)(shared_ld >> 8 * which & 255) * SIZE;
                    if (copy == 4) fetch_columns<16>(x, step, step_here, thread);
                    else if (copy == 3) fetch_columns<8>(x, step, step_here, thread);
                    else fetch_columns<4>(x, step, step_here, thread);
                }
                if (BULK) cp_async_commit();
            }
            if (!BULK) cp_async_commit();
            head = place + bytes;
            put++;
            if (TEAM == 1) {
                turn = __shfl_sync(0xffffffffu, turn, 0);
            } else {
                team_sync(team);
                turn = turns[latest];
                latest ^= 1;
            }
            next = nth(turn);
            read();
        }
        if (put == done) break;

        // ---- multiply the oldest
        const unsigned int slot = done % DEPTH;
        const unsigned int *const d = queue + slot * WORDS;
        const unsigned int extents = d[EXTENTS], shared_ld = d[SHARED_LD];
        const bool by_words = d[ROOM] >> 16 != 0;
        const unsigned char *const here = memory + tail;
        Tile t;
        t.m = extents & 255;
        const int n = extents >> 8 & 255;
        t.k = extents >> 16 & 255;
        t.lda = shared_ld & 255;
        t.ldb = shared_ld >> 8 & 255;
        t.ldo = shared_ld >> 16 & 255;
        t.ldc = (int)d[8 + LEADING];
        t.reads = (d[8 + REGION] & 8191) != 0;
        t.a = (const Stored *)(here + (d[REGION] >> 13));
        t.b = (const Stored *)(here + (d[4 + REGION] >> 13));
        t.old = (const Stored *)(here + (d[8 + REGION] >> 13));
        // The compiler is told that C is in device memory; it would emit generic stores.
        t.c = (Stored *)__cvta_global_to_generic((unsigned long long)d[8 + ADDRESS + 1] << 32 | d[8 + ADDRESS]);
        if (!BULK || by_words) {
            cp_async_wait_at_most<DEPTH - 1>(BULK ? 0 : (int)(put - done) - 1);
            team_sync(team);
        }
        if (BULK) barrier_wait(barriers + 8 * slot, done / DEPTH & 1);
        // The warps of a team share the columns.
        const int each = (n + TEAM - 1) / TEAM, from = member * each;
        t.n = min(n - from, each);
        t.b += from * (TRANS_B ? 1 : t.ldb);
        t.old += from * t.ldo;
        t.c += from * t.ldc;
        Scalars s;
        if ((!ALPHA_ONE || BETA == 2) && g.scalars != nullptr) {
            const double *const own = g.scalars + 4ll * d[NUMBER];
            s.alpha = scalar(own);
            s.beta = scalar(own + 2);
        } else {
            s.alpha = scalar(g.alpha);
            s.beta = scalar(g.beta);
        }
        if (TEAM == 1 || t.n > 0) multiply_all(t, lane, s);
        // Bulk copies may overwrite what threads copied themselves: the fence orders them. What was read is in registers.
        if (BULK && by_words) async_fence();
        team_sync(team);
        done++;
        tail = (unsigned int)(later & 0xffff) * 16;
        if (DEPTH > 2) later >>= 16;
    }
}
