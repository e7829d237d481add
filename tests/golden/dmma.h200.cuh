// d:nn:4096x4096x4096|packed|alpha=any|beta=1|ieee
// grid=(132, 1, 1) shared=196656 cluster=1
#define TYPE_BITS 64
#define COMPLEX 0
#define TRANS_A 0
#define TRANS_B 0
#define CONJ_A 0
#define CONJ_B 0
#define ALPHA_ONE 0
#define BETA 1
#define OVERLAP 1
#define TILE_M 128
#define TILE_N 128
#define WARPS_M 4
#define MMA_K 16
#define DEPTH 32
#define STAGES 3
#define CLUSTER_M 1
#define CLUSTER_N 1
#define BACKWARDS 1
#define CUT 1
// d:nt:4096x4096x4096|packed|alpha=any|beta=1|ieee
// grid=(132, 1, 1) shared=196656 cluster=1
#define TYPE_BITS 64
#define COMPLEX 0
#define TRANS_A 0
#define TRANS_B 1
#define CONJ_A 0
#define CONJ_B 0
#define ALPHA_ONE 0
#define BETA 1
#define OVERLAP 1
#define TILE_M 128
#define TILE_N 128
#define WARPS_M 4
#define MMA_K 16
#define DEPTH 32
#define STAGES 3
#define CLUSTER_M 1
#define CLUSTER_N 1
#define BACKWARDS 1
#define CUT 1
// d:tn:4096x4096x4096|packed|alpha=any|beta=1|ieee
// grid=(132, 1, 1) shared=196656 cluster=1
#define TYPE_BITS 64
#define COMPLEX 0
#define TRANS_A 1
#define TRANS_B 0
#define CONJ_A 0
#define CONJ_B 0
#define ALPHA_ONE 0
#define BETA 1
#define OVERLAP 1
#define TILE_M 128
#define TILE_N 128
#define WARPS_M 2
#define MMA_K 16
#define DEPTH 32
#define STAGES 3
#define CLUSTER_M 1
#define CLUSTER_N 1
#define BACKWARDS 1
#define CUT 1
// z:nc:4096x4096x4096|packed|alpha=any|beta=1|ieee
// grid=(66, 2, 1) shared=196672 cluster=2
#define TYPE_BITS 64
#define COMPLEX 1
#define TRANS_A 0
#define TRANS_B 1
#define CONJ_A 0
#define CONJ_B 1
#define ALPHA_ONE 0
#define BETA 1
#define OVERLAP 1
#define TILE_M 64
#define TILE_N 128
#define WARPS_M 2
#define MMA_K 16
#define DEPTH 16
#define STAGES 4
#define CLUSTER_M 2
#define CLUSTER_N 1
#define BACKWARDS 1
#define CUT 1
