// What the kernel is called with: the operands, and where the borders of the groups lie. stencil.py describes it.
//
// Leading dimensions and strides count elements; a stride of a group is 0 for what is not stacked by groups. `m`, `n` and
// `k` are whole extents, that of the split axis the one which all groups share.
#pragma once

struct Segments {
    const void *a, *b;
    void *c;
    const void *offsets;                     // integers in device memory, `groups` of them, one more with `first`
    long long lda, ldb, ldc;
    long long stride_a, stride_b, stride_c;  // from one matrix of the batch to the next
    long long group_a, group_b, group_c;     // from one group to the next
    int m, n, k, batch, groups;
    int wide;   // 1: the integers have 64 bits, 0: 32
    int first;  // 1: the first of them is where the first group begins, 0: it begins at 0
    int sizes;  // 1: they are the sizes of groups, 0: where groups end
};
static_assert(sizeof(Segments) == 136, "stencil.py describes 136 bytes");
