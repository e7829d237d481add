// The problem, as every stencil's -D options give it: the type, the transpositions, the scalars.
//
// A stencil whose kernel does not take float32 defines TYPE_BITS, unless it is given, before it includes this.
#pragma once

#ifndef TYPE_BITS
#define TYPE_BITS 32  // of a real number: 16 (accumulated in float32), 32 or 64
#endif
#ifndef BRAIN
#define BRAIN 0  // whether 16 bits are a bfloat16
#endif
#ifndef COMPLEX
#define COMPLEX 0  // whether an element is a pair (re, im)
#endif
#ifndef TRANS_A
#define TRANS_A 0  // whether A is stored k x m
#endif
#ifndef TRANS_B
#define TRANS_B 0  // whether B is stored n x k
#endif
#ifndef CONJ_A
#define CONJ_A 0  // whether A enters conjugated
#endif
#ifndef CONJ_B
#define CONJ_B 0  // whether B enters conjugated
#endif
#ifndef ALPHA_ONE
#define ALPHA_ONE 1  // whether alpha is 1 (in a list of products, of all of them)
#endif
#ifndef BETA
#define BETA 0  // 0: C is not read, 1, or 2: any (in a list, beta of each product says whether its C is read)
#endif
