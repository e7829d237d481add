// A ring of slots in shared memory, filled by copies of boxes and read by tensor cores: whose turn it is.
#pragma once

// A slot, and the parity of what is waited for there.
template <int COUNT> struct Turn {
    int at = 0;
    unsigned int parity = 0;

    __device__ __forceinline__ int before() const { return at ? at - 1 : COUNT - 1; }
    __device__ __forceinline__ void next() {
        if (++at < COUNT) return;
        at = 0;
        parity ^= 1;
    }
    // Passes over slots that somebody else reads.
    __device__ __forceinline__ void skip(int slots) {
        at += slots;
        parity ^= at / COUNT & 1;
        at %= COUNT;
    }
};
