// How elements of the operands are read, as many together as lie beside each other at every place.
#pragma once

INLINE constexpr int divisor_of(int a, int b) { return b ? divisor_of(b, a % b) : a; }

// COUNT neighbours of an operand.
template <int COUNT> INLINE void read(Element (&x)[COUNT], const Stored *from) {
    typedef typename Vector<COUNT * SIZE>::Type Type;
    Pack<COUNT> found;
    found.vector = __ldg((const Type *)from);
    UNROLL for (int i = 0; i < COUNT; i++) x[i] = found.element[i];
}
