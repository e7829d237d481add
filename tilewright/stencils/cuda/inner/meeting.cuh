// Where the sums of clusters meet that share a tile of C (SPREAD): a workspace in device memory, whose counters are 0.
#pragma once

// Of one tile: the sums of all clusters, one after the other, and how many blocks of this rank in their clusters have come.
// A rank has the same elements of the tile in every cluster, so the last block of a rank to come finds all that it adds up.
struct Meeting {
    Element *sums;
    unsigned int *come;
    int clusters;

    INLINE Meeting(unsigned char *workspace, const Products &products, int item) : sums(nullptr), come(nullptr), clusters(1) {
        if (!SPREAD) return;
        clusters = (int)gridDim.y / SPLIT;
        const long long ranks = (long long)products.items * SPLIT, counted = (4 * ranks + 15) / 16 * 16;
        sums = (Element *)(workspace + counted) + (long long)item * clusters * TILE;
        come = (unsigned int *)workspace + (long long)item * SPLIT + blockIdx.y % SPLIT;
    }
    // What this block's cluster has of an element.
    INLINE Element &own(int e) const { return sums[(long long)(blockIdx.y / SPLIT) * TILE + e]; }

    // Whether all others of this rank have come. By all threads, after they kept what their cluster has.
    INLINE bool last() const {
        unsigned int *const found = (unsigned int *)(shared_memory + AT_FOUND);
        __threadfence();
        block_sync();
        if (threadIdx.x == 0) *found = atomicAdd(come, 1u) + 1 == (unsigned int)clusters;
        block_sync();
        __threadfence();
        return *found;
    }
    // The sum of all clusters, in their order.
    INLINE Element total(int e) const {
        Element sum = sums[e];
        _Pragma("unroll 8") for (int other = 1; other < clusters; other++) sum = sum_of(sum, sums[(long long)other * TILE + e]);
        return sum;
    }
};
