// Copies of one operand to the ring of a team.
#pragma once

struct Operand {
    const unsigned char *from;
    unsigned char *to;  // as many bytes after a multiple of 16 as `from`
    int rows, columns;  // as it is stored
};

// Copies columns of an operand by vectors of BYTES bytes. Elements of 16 bits that begin in the middle of 4 bytes are
// copied with the half before them, which belongs to no column in shared memory.
template <int BYTES>
INLINE void fetch_columns(const Operand &x, long long step, int step_here, int first) {
    const int bytes = x.rows * SIZE;
    const int in_column = TYPE_BITS == 16 && !COMPLEX && BYTES == 4 ? (bytes + 5) / 4 : bytes / BYTES;
    const int down = 32 * TEAM / in_column, over = 32 * TEAM % in_column;
    int column = first / in_column, vector = first % in_column;
    _Pragma("unroll 1") while (column < x.columns) {
        const unsigned char *from = x.from + column * step;
        unsigned char *to = x.to + column * step_here;
        int left = bytes - vector * BYTES;
        if (TYPE_BITS == 16 && !COMPLEX && BYTES == 4) {
            const int before = (int)((unsigned long long)from & 2);
            from -= before;
            to -= before;
            left += before;
        }
        // The rest of a vector is one element of 16 bits.
        if (left >= BYTES) cp_async<BYTES>(to + vector * BYTES, from + vector * BYTES, BYTES);
        else if (left > 0) cp_async<2>(to + vector * BYTES, from + vector * BYTES, 2);
        column += down;
        vector += over;
        if (vector >= in_column) {
            vector -= in_column;
            column++;
        }
    }
}

// The least bytes of a copy, which divide every address.
constexpr int SMALLEST = TYPE_BITS == 16 ? 2 : 4;

// Copies a whole line of 16 bytes.
INLINE void line_load(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
