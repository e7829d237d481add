// Where the rows of a lane lie, how it goes from one stored column to another, and how it writes rows: vectors of a column of C.
#pragma once

INLINE constexpr int divisor_of(int a, int b) { return b ? divisor_of(b, a % b) : a; }

// Row i of a lane lies so far behind its first one.
INLINE constexpr int below(int i) { return i / RUN * LANES_M * RUN + i % RUN; }

// A place that lies so many elements further, where the compiler cannot compute all such places in advance, and hold them.
INLINE const Stored *further(const Stored *at, long long by) {
    at += by;
    asm volatile("" : "+l"(at));
    return at;
}

// A vector of C. What is written once makes room in the second-level cache before anything else.
INLINE void write(unsigned short *to, unsigned short x) {
    if (ONCE) asm volatile("st.global.cs.b16 [%0], %1;" ::"l"(to), "h"(x) : "memory");
    else global_store(to, x);
}
INLINE void write(unsigned int *to, unsigned int x) {
    if (ONCE) asm volatile("st.global.cs.b32 [%0], %1;" ::"l"(to), "r"(x) : "memory");
    else global_store(to, x);
}
INLINE void write(uint2 *to, uint2 x) {
    if (ONCE) asm volatile("st.global.cs.v2.b32 [%0], {%1,%2};" ::"l"(to), "r"(x.x), "r"(x.y) : "memory");
    else global_store(to, x);
}
INLINE void write(uint4 *to, uint4 x) {
    if (ONCE)
        asm volatile("st.global.cs.v4.b32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
    else
        global_store(to, x);
}

// A lane's rows of a column of C, of which `rows` are left, or more than it has if WHOLE.
template <bool WHOLE> INLINE void store_rows(Stored *to, const Element (&sum)[ROWS], int rows) {
    UNROLL for (int i = 0; i < ROWS; i += RUN) {
        Element part[RUN];
        UNROLL for (int e = 0; e < RUN; e++) part[e] = sum[i + e];
        const Pack<RUN> found = packed(part);
        if (WHOLE || below(i) + RUN <= rows)
            write((typename Vector<RUN * SIZE>::Type *)(to + below(i)), found.vector);
        else if (below(i) < rows)
            UNROLL for (int e = 0; e < RUN; e++) if (below(i) + e < rows) to[below(i) + e] = found.element[e];
    }
}
