/* Products on this processor: which kernel serves a call, and the loops over lists. */
#include <string.h>

#include "runtime.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#ifndef PR_SVE_GET_VL
#define PR_SVE_GET_VL 51
#endif
#ifndef PR_SME_GET_VL
#define PR_SME_GET_VL 64
#endif
#ifndef HWCAP_FCMA
#define HWCAP_FCMA (1 << 14)
#endif
#ifndef HWCAP2_SME_F64F64
#define HWCAP2_SME_F64F64 (1UL << 25)
#endif
#endif

const char *tw_status_text(int status)
{
    switch (status) {
    case TW_OK: return "done";
    case TW_BAD_ARGUMENT: return "an argument is out of range";
    case TW_UNSUPPORTED: return "no kernel of this library runs on this device";
    case TW_NO_DRIVER: return "the CUDA driver's library cannot be loaded";
    case TW_NO_CONTEXT: return "no CUDA context is current";
    case TW_NOT_LOADED: return "the kernels are not loaded into the current CUDA context";
    case TW_BUSY: return "another thread is loading or unloading kernels";
    case TW_FULL: return "the kernels are loaded into too many contexts";
    default: return status >= TW_DRIVER ? "the CUDA driver refused a call" : "no such status";
    }
}

ptrdiff_t tw_size(const tw_problem *problem)
{
    switch (problem->type) {
    case 'h':
    case 'b': return 2;
    case 's':
    case 'x': return 4;
    case 'z': return 16;
    default: return 8;
    }
}

static float as_float(uint32_t bits)
{
    float found;
    memcpy(&found, &bits, sizeof found);
    return found;
}

static uint32_t as_bits(float value)
{
    uint32_t found;
    memcpy(&found, &value, sizeof found);
    return found;
}

float tw_from_float16(tw_float16 bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest < 0x400) /* a multiple of 2^-24 */
        return as_float(sign | as_bits((float)rest * 5.9604644775390625e-8f));
    return as_float(sign | ((rest << 13) + (rest < 0x7c00 ? 0x38000000u : 0x70000000u)));
}

tw_float16 tw_to_float16(float value)
{
    uint32_t bits = as_bits(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) /* what is no number stays none */
        return (tw_float16)(sign | 0x7e00 | (rest >> 13 & 0x1ff));
    if (rest >= 0x477ff000) /* from 65520 on, what is nearer to infinity */
        return (tw_float16)(sign | 0x7c00);
    if (rest < 0x38800000) /* one half has its last digit where the smallest numbers have theirs */
        return (tw_float16)(sign | (as_bits(as_float(rest) + 0.5f) - 0x3f000000));
    return (tw_float16)(sign | ((rest + 0xfff + (rest >> 13 & 1) - 0x38000000) >> 13));
}

float tw_from_bfloat16(tw_bfloat16 bits)
{
    return as_float((uint32_t)bits << 16);
}

tw_bfloat16 tw_to_bfloat16(float value)
{
    uint32_t bits = as_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000) /* what is no number stays none */
        return (tw_bfloat16)(bits >> 16 | 0x40);
    return (tw_bfloat16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static int is_double(char type)
{
    return type == 'd' || type == 'z';
}

static void read_one(char type, const void *from, double missing, double *to)
{
    float single[2] = {0, 0};
    size_t parts = type == 'c' || type == 'z' || type == 'x' ? 2 : 1;
    to[0] = missing;
    to[1] = 0;
    if (!from)
        return;
    if (is_double(type)) {
        memcpy(to, from, parts * sizeof *to);
    } else {
        memcpy(single, from, parts * sizeof *single);
        to[0] = single[0];
        to[1] = single[1];
    }
}

int tw_read_scalars(const tw_problem *problem, const void *alpha, const void *beta, tw_scalars *read)
{
    const double *v = read->value;
    int one;
    if (!problem)
        return TW_BAD_ARGUMENT;
    read_one(problem->type, alpha, 1, read->value);
    read_one(problem->type, beta, 0, read->value + 2);
    one = v[0] == 1 && v[1] == 0;
    if (v[2] == 0 && v[3] == 0)
        read->class_ = one ? TW_ONE_ZERO : TW_ANY_ZERO;
    else
        read->class_ = one && v[2] == 1 && v[3] == 0 ? TW_ONE_ONE : TW_ANY_ANY;
    return TW_OK;
}

int tw_vector_bytes(void)
{
#if defined(__aarch64__) && defined(__linux__)
    int said = prctl(PR_SVE_GET_VL); /* negative without SVE; the lower half is the length */
    return said > 0 ? said & 0xffff : 0;
#else
    return 0;
#endif
}

int tw_streaming_bytes(void)
{
#if defined(__aarch64__) && defined(__linux__)
    int said = prctl(PR_SME_GET_VL); /* negative without SME; the lower half is the length */
    return said > 0 && (getauxval(AT_HWCAP2) & HWCAP2_SME_F64F64) ? said & 0xffff : 0;
#else
    return 0;
#endif
}

int tw_has_fcma(void)
{
#if defined(__aarch64__) && defined(__linux__)
    return (getauxval(AT_HWCAP) & HWCAP_FCMA) != 0;
#elif defined(__ARM_FEATURE_COMPLEX)
    return 1;
#else
    return 0;
#endif
}

/* The row of this processor. Whoever asks first finds it; two that do so at once find the same. */
static const tw_cpu_isa *here(void)
{
    static const tw_cpu_isa *found;
    const tw_cpu_isa *isa = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (!isa) {
        isa = tw_cpu_isas;
        while (isa->here && !isa->here())
            ++isa;
        __atomic_store_n(&found, isa, __ATOMIC_RELAXED);
    }
    return isa;
}

const char *tw_cpu(void)
{
    return here()->name;
}

typedef struct call {
    const tw_cpu_isa *isa;
    const tw_cpu_rules *rules;
    union {
        float single[4];
        double twice[4];
    } scalars;
    int class_;
    ptrdiff_t size, a, b, c; /* of an element in bytes, of the matrices in elements */
} call;

static int begin(call *made, const tw_problem *problem, const void *alpha, const void *beta)
{
    tw_scalars read;
    int part, status = tw_read_scalars(problem, alpha, beta, &read);
    if (status)
        return status;
    made->isa = here();
    if (!made->isa->rules)
        return TW_UNSUPPORTED;
    made->rules = made->isa->rules + problem->index;
    made->class_ = read.class_;
    for (part = 0; part < 4; ++part)
        if (is_double(problem->type))
            made->scalars.twice[part] = read.value[part];
        else
            made->scalars.single[part] = (float)read.value[part];
    made->size = tw_size(problem);
    made->a = (ptrdiff_t)problem->m * problem->k;
    made->b = (ptrdiff_t)problem->k * problem->n;
    made->c = (ptrdiff_t)problem->m * problem->n;
    return TW_OK;
}

/* The launch rule: packed batches have kernels of their own, and what is larger than the caches others. */
static void launch(const call *made, size_t count, const void *a, ptrdiff_t stride_a, const void *b,
                   ptrdiff_t stride_b, void *c, ptrdiff_t stride_c)
{
    int apart = stride_a != made->a || stride_b != made->b || stride_c != made->c;
    double matrices = (double)made->size * (double)count;
    double bytes = matrices * (double)(made->c + (stride_a ? made->a : 0) + (stride_b ? made->b : 0));
    tw_cpu_kernel *kernel;
    if (count == 1) {
        apart = 0;
        stride_a = made->a;
        stride_b = made->b;
        stride_c = made->c;
    }
    kernel = made->rules->kernel[apart][bytes > made->isa->cached][made->class_];
    kernel(a, b, c, stride_a, stride_b, stride_c, (int64_t)count, &made->scalars);
}

static int wrong(size_t count, const void *a, const void *b, const void *c, ptrdiff_t stride_c)
{
    return !a || !b || !c || count > PTRDIFF_MAX || (count > 1 && !stride_c);
}

int tw_gemm(const tw_problem *problem, size_t count, const void *alpha, const void *a, ptrdiff_t stride_a,
            const void *b, ptrdiff_t stride_b, const void *beta, void *c, ptrdiff_t stride_c)
{
    call made;
    int status = begin(&made, problem, alpha, beta);
    if (status || !count)
        return status;
    if (wrong(count, a, b, c, stride_c))
        return TW_BAD_ARGUMENT;
    launch(&made, count, a, stride_a, b, stride_b, c, stride_c);
    return TW_OK;
}

/* An address of a list, whatever type of address its owner keeps there. */
static char *entry(const void *list, size_t at)
{
    char *found;
    memcpy(&found, (const char *)list + at * sizeof found, sizeof found);
    return found;
}

/* The elements from one address to the next; 0 in divides where that is no whole number. */
static ptrdiff_t step(const char *from, const char *to, ptrdiff_t size, int *divides)
{
    ptrdiff_t bytes = (ptrdiff_t)((uintptr_t)to - (uintptr_t)from);
    *divides &= bytes % size == 0;
    return bytes / size;
}

int tw_gemm_pointers(const tw_problem *problem, size_t count, const void *alpha, const void *const *a,
                     const void *const *b, const void *beta, void *const *c)
{
    call made;
    size_t first, last;
    int status = begin(&made, problem, alpha, beta);
    if (status || !count)
        return status;
    if (wrong(count, a, b, c, 1))
        return TW_BAD_ARGUMENT;
    for (first = 0; first < count; ++first)
        if (!entry(a, first) || !entry(b, first) || !entry(c, first))
            return TW_BAD_ARGUMENT;
    /* Neighbours that are evenly spaced are one launch. */
    for (first = 0; first < count; first = last) {
        char *at_a = entry(a, first), *at_b = entry(b, first), *at_c = entry(c, first);
        ptrdiff_t step_a = 0, step_b = 0, step_c = 0;
        for (last = first + 1; last < count; ++last) {
            int even = 1;
            ptrdiff_t to_a = step(entry(a, last - 1), entry(a, last), made.size, &even);
            ptrdiff_t to_b = step(entry(b, last - 1), entry(b, last), made.size, &even);
            ptrdiff_t to_c = step(entry(c, last - 1), entry(c, last), made.size, &even);
            if (last == first + 1) {
                step_a = to_a;
                step_b = to_b;
                step_c = to_c;
                even &= to_c != 0;
            }
            if (!even || to_a != step_a || to_b != step_b || to_c != step_c)
                break;
        }
        launch(&made, last - first, at_a, step_a, at_b, step_b, at_c, step_c);
    }
    return TW_OK;
}

int tw_gemm_grouped(const tw_group *groups, size_t count)
{
    size_t at;
    int status;
    if (count && !groups)
        return TW_BAD_ARGUMENT;
    for (at = 0; at < count; ++at) {
        const tw_group *g = groups + at;
        if (!g->problem || (g->count && wrong(g->count, g->a, g->b, g->c, g->stride_c)))
            return TW_BAD_ARGUMENT;
    }
    for (at = 0; at < count; ++at) {
        const tw_group *g = groups + at;
        status = tw_gemm(g->problem, g->count, g->alpha, g->a, g->stride_a, g->b, g->stride_b, g->beta, g->c,
                         g->stride_c);
        if (status)
            return status;
    }
    return TW_OK;
}
