// Tickets: numbers that the blocks of a launch take from a counter that all of them share, each number once.
//
// The counter is in a workspace, where anything may be when the kernel begins. The first block to leave the stamp of the launch
// there sets it to 0, which the others wait for; it is running, so they never wait for long. The last block takes the
// stamp away: a graph that runs again has the same one. One thread of each block calls open, then take, and in the end close.
#pragma once

struct Counter {
    unsigned long long begun, ready;  // the stamp: when a block has come, and when what follows is of this launch
    unsigned int taken, closed;       // tickets, and blocks that take no more
};
static_assert(sizeof(Counter) == 24, "grids.py asks for 24 bytes");

struct Tickets {
    Counter *counter;
    unsigned long long stamp;

    __device__ __forceinline__ void open() const {
        unsigned long long seen;
        asm volatile("atom.global.exch.b64 %0, [%1], %2;" : "=l"(seen) : "l"(&counter->begun), "l"(stamp) : "memory");
        if (seen != stamp) {
            counter->taken = 0;
            counter->closed = 0;
            asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(&counter->ready), "l"(stamp) : "memory");
            return;
        }
        do {
            asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(seen) : "l"(&counter->ready) : "memory");
        } while (seen != stamp);
    }
    // The next number, from 0 on.
    __device__ __forceinline__ unsigned int take() const { return more(&counter->taken); }
    __device__ __forceinline__ void close() const {
        if (more(&counter->closed) != gridDim.x - 1) return;
        counter->begun = 0;
        counter->ready = 0;
    }

private:
    static __device__ __forceinline__ unsigned int more(unsigned int *number) {
        unsigned int before;
        asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(number) : "memory");
        return before;
    }
};
