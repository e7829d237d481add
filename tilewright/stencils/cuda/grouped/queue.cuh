// What a team multiplies next: its turn in the list of its block, and its ring in shared memory.
#pragma once

// The next place in the list of a block, for one thread. atom.inc wraps at `most`, which is never reached: of an addition
// of a constant the compiler would make one for all lanes that ask, with code that counts them.
INLINE int next_place(unsigned int counter, int most) {
    int place;
    asm volatile("atom.shared.inc.u32 %0, [%1], %2;"
                 : "=r"(place) : "r"(counter), "r"(most) : "memory");
    return place;
}

// A barrier at which each of so many threads arrives, with the bytes of the copies that it started.
INLINE void barrier_start_for(unsigned int barrier, int threads) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// This block's products: one of each row of the list, back and forth. Descriptors are read long before they are used.
struct Queue {
    const Products &g;
    const unsigned int *list;
    int blocks, block, thread;
    int next;            // the number of the next product in the list
    unsigned int words;  // of its descriptor, one in each of the first lanes

    INLINE bool waiting() const { return next < g.count; }
    INLINE void read() {
        if (next < g.count && thread < WORDS) words = __ldg(list + (long long)next * WORDS);
    }
    INLINE void turn(int i) { next = i * blocks + (i & 1 ? blocks - 1 - block : block); }
};

// A team's ring: products of any size, one after the other, and from the begin again.
struct Ring {
    unsigned int put = 0, done = 0;   // products put into the ring, and products done
    unsigned int head = 0, tail = 0;  // bytes: where the next product begins, and where the oldest one does
    unsigned long long later = 0;     // where the others begin: 16 bits for each, in multiples of 16 bytes

    INLINE bool empty() const { return put == done; }
    INLINE bool has_slot() const { return put - done < DEPTH; }

    // An empty ring begins anew.
    INLINE void restart() {
        if (put == done) head = tail = 0;
    }
    // Whether so many bytes have room behind the last product.
    INLINE bool room_behind(unsigned int bytes) const { return head + bytes <= (head < tail ? tail - 16 : RING); }
    // The next product begins at `place`.
    INLINE void begin(unsigned int place) {
        if (put == done) tail = place;
        else if (DEPTH == 2) later = place / 16;
        else later |= (unsigned long long)(place / 16) << 16 * (put - done - 1);
    }
    INLINE void push(unsigned int end) {
        head = end;
        put++;
    }
    INLINE void pop() {
        done++;
        tail = (unsigned int)(later & 0xffff) * 16;
        if (DEPTH > 2) later >>= 16;
    }
};
