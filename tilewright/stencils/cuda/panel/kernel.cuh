// panel: C = alpha * op(A) * op(B) + beta * C for batches of products with one long extent, m or n.
//
// A product whose m (or n) is long and whose other extents are small reads a long operand, the panel, once, and writes
// as long a result: memory sets the pace. The panel goes through shared memory in tiles of TILE rows, whatever its length
// is, and the small operand comes along, or once for the whole batch.
//
//   device memory     the panel  |tile 0|tile 1|...|   the small operand  |k x n|   C  |tile 0|tile 1|...|
//                                    |                      |
//   shared memory     stage 0 [panel | small | C]   stage 1 [panel | small | C] ...     STAGES of them on their way
//                                    |
//   registers         a thread: ROWS x COLUMNS of C (MMA: a warp, by tensor cores)
//                                    |
//   shared memory     C of the tile
//                                    |
//   device memory     C  |tile 0|...
//
// With LONG_M the panel is A, else it is B. It lies along its length (the long index is the contiguous one: A as stored,
// B transposed), or across: then its tiles are streams of bytes if there is no padding, which are copied by words
// of 16 bytes wherever they begin. Persistent blocks walk over the tiles of all products, so any grid is right.
//
// PATH  2  bulk copies (sm_90) by warps of their own, of words of 16 bytes: columns along the panel and streams keep their place
//          in them.
//       1  vectors of 4, 8 or 16 bytes (cp.async, sm_80) by all threads: any leading dimensions, gaps and addresses.
//
// The small operand may be PACKED first: as multiply-add units read it, by whole vectors whatever its size is. With tensor
// cores of 16 bits a warp may keep its fragments of it in registers (HELD), while it goes over its parts of a tile.
//
// The parts: pipeline_*.cuh (a path each), copy.cuh (tiles by all threads), runs.cuh (tiles by bulk copies), item.cuh (which
// tile), multiply.cuh (parts of a tile, by multiply_packed.cuh, multiply_held.cuh or tiny/multiply_*.cuh), layout.cuh (shared memory).
#include "lib/bulk.cuh"
#include "lib/gemm.cuh"

// ---- the problem --------------------------------------------------------------------------------
#include "lib/problem.cuh"
#ifndef LONG_M
#define LONG_M 1  // whether m is the long extent, which is no constant; else n is
#endif
#ifndef SHORT
#define SHORT 8  // the other extent of C
#endif
#ifndef SIZE_K
#define SIZE_K 8  // columns of op(A)
#endif
#ifndef UNIT_A
#define UNIT_A 16  // bytes that divide the address of every stored column of A
#endif
#ifndef UNIT_B
#define UNIT_B 16  // the same for B
#endif
#ifndef UNIT_C
#define UNIT_C 16  // and for C
#endif
#ifndef STREAM
#define STREAM 0  // whether a panel that lies across has no padding
#endif
#ifndef STREAM_C
#define STREAM_C 0  // the same for C, which lies across where n is long
#endif
#ifndef ONE_RUN
#define ONE_RUN 0  // whether a tile has all rows of a long m and columns of C follow each other: they leave as one run of bytes
#endif
#ifndef PANEL_RUN
#define PANEL_RUN 0  // whether a tile has all of a panel that lies along, whose columns follow each other: it comes as one run
#endif
#ifndef SHARED
#define SHARED 0  // whether the batch shares the small operand
#endif

// ---- the parameters of the space ----------------------------------------------------------------
#ifndef PATH
#define PATH 2  // 1: copies by vectors (sm_80), 2: bulk copies (sm_90)
#endif
#ifndef DIRECT
#define DIRECT 0  // 1: C leaves from registers (LONG_M, without MMA), 0: through shared memory
#endif
#ifndef PACKED
#define PACKED 0  // 1: the small operand is packed before it is multiplied (without MMA), 0: it is read as it came
#endif
#ifndef TILE
#define TILE 128  // rows (LONG_M) or columns of a tile of C
#endif
#ifndef MMA
#define MMA 0  // rows of a tensor-core product, 8 or 16 (float64 on sm_90, 16 bits); 0: multiply-add units
#endif
#ifndef HELD
#define HELD 0  // 1: a warp keeps its fragments of the small operand for all its parts of a tile (MMA, 16 bits), 0: it reads them for each
#endif
#ifndef ROWS
#define ROWS 4  // rows of C that a thread computes (MMA: a warp)
#endif
#ifndef COLUMNS
#define COLUMNS 4  // columns of C that a thread computes (MMA: a warp)
#endif
#ifndef WARPS
#define WARPS 2  // warps of a block that multiply
#endif
#ifndef MOVERS
#define MOVERS 1  // with bulk copies warps of a block that load, and as many that write unless DIRECT
#endif
#ifndef SECTORS
#define SECTORS 0  // 1: columns of C of small numbers leave by whole sectors of 32 bytes, 0: by words of 16 bytes (bulk copies, LONG_M)
#endif
#ifndef STAGES
#define STAGES 3  // tiles in shared memory, all but one of them on their way
#endif
#ifndef TICKETS
#define TICKETS 0  // 1: a block takes its next tile by a counter that all of them share (bulk copies), 0: tiles as far apart as there are blocks
#endif
#ifndef BLOCKS
#define BLOCKS 1  // minimum resident blocks: blocks per multiprocessor that registers must allow
#endif

// ---- what follows from them ---------------------------------------------------------------------
#define BULK (PATH == 2)
#include "lib/element.cuh"
#include "lib/mma.cuh"
#include "lib/sync.cuh"
#include "panel/layout.cuh"

static_assert(TYPE_BITS == 16 || TYPE_BITS == 32 || TYPE_BITS == 64, "type: real numbers of 16, 32 or 64 bits");
static_assert(TILE * SIZE % 16 == 0, "tile: whole words of 16 bytes along the panel");
static_assert(!BULK || ALONG || PANEL_STREAMS, "bulk-panel: bulk copies take streams, or columns along the panel");
static_assert(!BULK || LONG_M || C_STREAMS, "bulk-result: bulk copies take streams, or columns along the panel");
static_assert(!ONE_RUN || (BULK && LONG_M && !DIRECT), "one-run: columns of a long m that bulk copies write");
static_assert(!PANEL_RUN || (BULK && ALONG && UNIT_PANEL < 16), "panel-run: columns along the panel that begin anywhere in a word");
static_assert(!DIRECT || (LONG_M && !MMA), "direct: neighbouring threads have neighbouring rows of C");
static_assert(!PACKED || !MMA, "packed: the small operand is packed for multiply-add units");
static_assert(!HELD || (MMA && TYPE_BITS == 16), "held: fragments of 16 bits for tensor cores");
static_assert(!HELD || SHORT <= (LONG_M ? COLUMNS : ROWS), "held: a part has all that is short");
static_assert(MOVERS == 1 || BULK, "movers: warps that move tiles do so by bulk copies");
static_assert(!TICKETS || BULK, "tickets: warps of their own ask for tiles by their numbers");
static_assert(STAGES >= 2, "ring: one stage is multiplied while others are filled");
static_assert(MMA == 0 || TYPE_BITS != 32, "mma-type: tensor cores take float64 and 16 bits");
static_assert(MMA == 0 || (MMA == 16 || (MMA == 8 && TYPE_BITS == 64)),
              "mma-rows: a tensor-core product has 16 rows, or 8 of float64");
static_assert(MMA == 0 || (ROWS % (MMA ? MMA : 1) == 0 && COLUMNS % 8 == 0),
              "mma-tile: a tile is whole tensor-core products of 8 columns");

// ---- the kernel ---------------------------------------------------------------------------------
extern __shared__ __align__(128) unsigned char shared_memory[];

#include "panel/item.cuh"
#include "panel/multiply.cuh"
#if TICKETS
#include "lib/tickets.cuh"
#endif
#if PATH == 1
#include "panel/pipeline_cp_async.cuh"
#else
#include "panel/pipeline_bulk.cuh"
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) panel(
    const __grid_constant__ Gemm g
#if TICKETS
    , const __grid_constant__ Tickets tickets
#endif
) {
#if !TICKETS
    constexpr int tickets = 0;  // none
#endif
    const Scalars scalars = {scalar(g.alpha), scalar(g.beta)};
    multiply_batch(g, scalars, tickets);
}
