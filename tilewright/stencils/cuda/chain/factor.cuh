// The operands of a chain in shared memory, as its multipliers read them.
#pragma once

// Elements that one access moves; the product in between may be wider than what is stored.
template <typename T, int COUNT> union Several {
    typename Vector<COUNT * sizeof(T)>::Type vector;
    T element[COUNT];
    INLINE Several() {}
};

template <int COUNT, typename T> INLINE Several<T, COUNT> several(const T *from) {
    Several<T, COUNT> out;
    out.vector = *(const typename Vector<COUNT * sizeof(T)>::Type *)from;
    return out;
}

INLINE Element value(Element x) { return x; }
#if TYPE_BITS == 16
INLINE Element value(Stored x) { return widened(x); }
#endif

// A factor in shared memory, its columns LD elements apart. Columns begin at multiples of every vector that divides LD.
template <typename T, int LD_, bool TRANS_, bool CONJ_> struct Factor {
    typedef T Type;
    static constexpr int LD = LD_;
    static constexpr bool TRANS = TRANS_, CONJ = CONJ_;
    const T *base;
};

template <int IN, bool TRANS, bool CONJ> using Given = Factor<Stored, rows_in(IN), TRANS, CONJ>;

// Matrix number `which` of an operand, of the stage or of the whole batch; none of one that there is not.
template <int IN> INLINE const Stored *matrix_of(const unsigned char *stage, int which) {
    if constexpr (IN < 0) return nullptr;
    const unsigned char *const base = once_in(IN) ? shared_memory + AT_ONCE + before(IN, true) : stage + before(IN, false);
    return (const Stored *)base + which * step_in(IN);
}
