// The tiles of all products, one after the other: where a tile's operands are in device memory.
#pragma once

struct Item {
    const Stored *panel, *small;
    Stored *c;
    int count;  // rows along the panel
};

// Which tile: the product, and the tile's number in it.
typedef int2 Which;

// The tiles of a block, one after the other. A division takes some hundred clocks, so one at the start says how far apart they are.
struct Tiles {
    const Gemm &g;
    int length, of_each;        // the long extent, tiles of a product
    int number, place;          // the product, and which tile of it
    int numbers_on, places_on;  // from one tile of a block to the next

    INLINE Tiles(const Gemm &gemm) : g(gemm) {
        length = LONG_M ? g.m : g.n;
        of_each = ceiling(length, TILE);
        number = blockIdx.x / (unsigned int)of_each;
        place = blockIdx.x - number * of_each;
        numbers_on = gridDim.x / (unsigned int)of_each;
        places_on = gridDim.x - numbers_on * of_each;
    }
    INLINE bool any() const { return number < g.batch; }
    INLINE bool any(Which which) const { return which.x < g.batch; }
    INLINE Which which() const { return {number, place}; }
    // By its number among the tiles of all products.
    INLINE Which which(unsigned int tile) const {
        const int product = tile / (unsigned int)of_each;
        return {product, (int)tile - product * of_each};
    }
    INLINE void next() {
        number += numbers_on;
        place += places_on;
        if (place >= of_each) {
            place -= of_each;
            number++;
        }
    }
    INLINE long long ld_panel() const { return LONG_M ? g.lda : g.ldb; }
    INLINE long long ld_small() const { return LONG_M ? g.ldb : g.lda; }
    INLINE const Stored *panels() const { return (const Stored *)(LONG_M ? g.a : g.b); }
    INLINE const Stored *smalls() const { return (const Stored *)(LONG_M ? g.b : g.a); }

    INLINE Item item() const { return item(which()); }
    INLINE Item item(Which which) const {
        const int first = which.y * TILE;
        const long long matrix = which.x;
        Item x;
        x.panel = panels() + matrix * (LONG_M ? g.stride_a : g.stride_b) + first * (ALONG ? 1 : ld_panel());
        x.small = smalls() + matrix * (LONG_M ? g.stride_b : g.stride_a);
        x.c = (Stored *)g.c + matrix * g.stride_c + first * (LONG_M ? 1 : g.ldc);
        x.count = smaller(length - first, TILE);
        return x;
    }
};
