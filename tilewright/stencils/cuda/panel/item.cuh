// The tiles of all products, one after the other: where a tile's operands are in device memory.
#pragma once

struct Item {
    const Stored *panel, *small;
    Stored *c;
    int count;  // rows along the panel
};

struct Tiles {
    const Gemm &g;
    int length, of_each, items;  // the long extent, tiles of a product, and of all

    INLINE Tiles(const Gemm &gemm) : g(gemm) {
        length = LONG_M ? g.m : g.n;
        of_each = ceiling(length, TILE);
        items = g.batch * of_each;
    }
    INLINE long long ld_panel() const { return LONG_M ? g.lda : g.ldb; }
    INLINE long long ld_small() const { return LONG_M ? g.ldb : g.lda; }
    INLINE const Stored *panels() const { return (const Stored *)(LONG_M ? g.a : g.b); }
    INLINE const Stored *smalls() const { return (const Stored *)(LONG_M ? g.b : g.a); }

    INLINE Item at(int item) const {
        const int number = (unsigned int)item / (unsigned int)of_each, first = (item - number * of_each) * TILE;
        const long long matrix = number;
        Item x;
        x.panel = panels() + matrix * (LONG_M ? g.stride_a : g.stride_b) + first * (ALONG ? 1 : ld_panel());
        x.small = smalls() + matrix * (LONG_M ? g.stride_b : g.stride_a);
        x.c = (Stored *)g.c + matrix * g.stride_c + first * (LONG_M ? 1 : g.ldc);
        x.count = smaller(length - first, TILE);
        return x;
    }
};
