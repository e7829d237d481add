// Where a warp stands in its block: its matrix of the group, its rows m and columns n of that matrix's tile, and the
// elements of a stage before its rows of A and before its columns of B.
#pragma once

struct WarpPosition {
    int lane, matrix, m, n, from_a, from_b;
};
