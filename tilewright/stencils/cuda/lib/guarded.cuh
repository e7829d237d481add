// Numbers of device memory that may not be there, loaded straight into the registers where they are needed.
//
// A predicate guards the load. Behind a branch the compiler moves what it has loaded to where the branches meet, and waits for it
// there, so that of many loads only one is on its way.
#pragma once

#include "lib/global.cuh"

// A number that is not there is zero.
GLOBAL_INLINE void guarded_load(double &x, const double *from, bool there) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\tmov.f64 %0, 0d0000000000000000;\n\t@p ld.global.f64 %0, [%1];\n\t}"
                 : "=d"(x) : "l"(from), "r"((int)there) : "memory");
}
GLOBAL_INLINE void guarded_load(float &x, const float *from, bool there) {
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\tmov.f32 %0, 0f00000000;\n\t@p ld.global.f32 %0, [%1];\n\t}"
                 : "=f"(x) : "l"(from), "r"((int)there) : "memory");
}
