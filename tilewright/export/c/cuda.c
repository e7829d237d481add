/* Products on a GPU: the driver's library found at run time, kernels loaded once for each context, and
 * launches. */
#include <dlfcn.h>
#include <string.h>

#include "cuda.h"

/* What of the driver is called, as cuda.h declares it: handles are addresses, results and devices are int. */
static struct driver {
    int (*context)(void **);
    int (*device)(int *);
    int (*attribute)(int *, int, int);
    int (*load)(void **, const void *);
    int (*unload)(void *);
    int (*find)(void **, void *, const char *);
    int (*allow)(void *, int, int);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                  void **, void **);
} driver;

enum { MULTIPROCESSORS = 16, MAJOR = 75, MINOR = 76 };     /* CUdevice_attribute */
enum { DYNAMIC_SHARED = 8, SHARED_CARVEOUT = 9 };          /* CUfunction_attribute */

/* The contexts that kernels are loaded into, and what each is. A context is written last, so that who
 * finds it finds all of it. */
static struct slot {
    void *context;
    const tw_cuda_arch *arch;
    int multiprocessors;
} slots[TW_CONTEXTS];
static int busy;

/* The argument of every kernel: struct Gemm of the kernels' sources. */
typedef struct arguments {
    const void *a, *b;
    void *c;
    long long lda, ldb, ldc, stride_a, stride_b, stride_c;
    int m, n, k, batch;
    double alpha[2], beta[2];
    unsigned long long texture_a, texture_b;
} arguments;
typedef char arguments_are_136_bytes[sizeof(arguments) == 136 ? 1 : -1];

static int found(void *library, const char *name, void *to)
{
    void *symbol = dlsym(library, name);
    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

static int find_driver(void)
{
    void *library;
    struct driver d;
    if (driver.launch)
        return TW_OK;
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return TW_NO_DRIVER;
    if (!found(library, "cuCtxGetCurrent", &d.context) || !found(library, "cuCtxGetDevice", &d.device) ||
        !found(library, "cuDeviceGetAttribute", &d.attribute) ||
        !found(library, "cuModuleLoadData", &d.load) ||
        !found(library, "cuModuleUnload", &d.unload) || !found(library, "cuModuleGetFunction", &d.find) ||
        !found(library, "cuFuncSetAttribute", &d.allow) || !found(library, "cuLaunchKernel", &d.launch)) {
        dlclose(library);
        return TW_NO_DRIVER;
    }
    driver = d;
    return TW_OK;
}

static int failed(int result)
{
    return result ? TW_DRIVER + result : TW_OK;
}

static struct slot *slot_of(void *context)
{
    int at;
    for (at = 0; at < TW_CONTEXTS; ++at)
        if (__atomic_load_n(&slots[at].context, __ATOMIC_ACQUIRE) == context)
            return slots + at;
    return NULL;
}

static tw_loaded *room_of(const struct slot *slot)
{
    return tw_cuda_room + (slot - slots) * tw_cuda_most;
}

static void give_back(struct slot *slot)
{
    tw_loaded *room = room_of(slot);
    int at;
    for (at = 0; at < tw_cuda_most; ++at) {
        if (room[at].module)
            driver.unload(room[at].module);
        room[at].module = room[at].function = NULL;
    }
}

/* The architecture of a device, and all its kernels in the current context. */
static int bring(struct slot *slot)
{
    tw_loaded *room = room_of(slot);
    const tw_cuda_arch *arch = tw_cuda_archs;
    int device, major, minor, at, result;
    if ((result = driver.device(&device)) || (result = driver.attribute(&major, MAJOR, device)) ||
        (result = driver.attribute(&minor, MINOR, device)) ||
        (result = driver.attribute(&slot->multiprocessors, MULTIPROCESSORS, device)))
        return failed(result);
    while (arch->kernels && (10 * major + minor < arch->from || 10 * major + minor > arch->to))
        ++arch;
    if (!arch->kernels)
        return TW_UNSUPPORTED;
    slot->arch = arch;
    for (at = 0; at < arch->count; ++at) {
        const tw_cuda_kernel *kernel = arch->kernels + at;
        if ((result = driver.load(&room[at].module, kernel->image)) ||
            (result = driver.find(&room[at].function, room[at].module, kernel->entry)) ||
            (result = driver.allow(room[at].function, DYNAMIC_SHARED, kernel->shared)) ||
            (result = driver.allow(room[at].function, SHARED_CARVEOUT, 100)))
            return failed(result);
    }
    return TW_OK;
}

static int current(void **context)
{
    *context = NULL;
    return driver.context(context) || !*context ? TW_NO_CONTEXT : TW_OK;
}

/* The kernels that were loaded for the current context. */
static int here(struct slot **slot)
{
    void *context;
    int status;
    if (!driver.launch)
        return TW_NOT_LOADED;
    if ((status = current(&context)))
        return status;
    *slot = slot_of(context);
    return *slot ? TW_OK : TW_NOT_LOADED;
}

static int load(void)
{
    struct slot *slot;
    void *context;
    int status = find_driver();
    if (status || (status = current(&context)) || slot_of(context))
        return status;
    slot = slot_of(NULL);
    if (!slot)
        return TW_FULL;
    status = bring(slot);
    if (status)
        give_back(slot);
    else
        __atomic_store_n(&slot->context, context, __ATOMIC_RELEASE);
    return status;
}

static int unload(void)
{
    struct slot *slot;
    int status = here(&slot);
    if (status)
        return status;
    __atomic_store_n(&slot->context, NULL, __ATOMIC_RELEASE);
    give_back(slot);
    return TW_OK;
}

/* One thread at a time; another is told so and does not wait. */
static int alone(int (*work)(void))
{
    int status;
    if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
        return TW_BUSY;
    status = work();
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    return status;
}

int tw_cuda_load(void)
{
    return alone(load);
}

int tw_cuda_unload(void)
{
    return alone(unload);
}

static int blocks(const tw_axis *axis, long long count, int most)
{
    long long found = (count * axis->times + axis->each - 1) / axis->each;
    found = found < axis->least ? axis->least : found;
    return (int)(found < most ? found : most);
}

static int start(const struct slot *slot, const tw_problem *problem, int layout, int class_, arguments *g,
                 void *stream)
{
    const tw_cuda_kernel *kernel;
    int at = slot->arch->rules[problem->index].kernel[layout][class_], most;
    void *parameters[1];
    if (at < 0)
        return TW_UNSUPPORTED;
    parameters[0] = g;
    kernel = slot->arch->kernels + at;
    most = kernel->grid[0].most;
    /* Blocks that stay are as many as the multiprocessors hold. */
    if (kernel->multiprocessors)
        most = most / kernel->multiprocessors * slot->multiprocessors;
    return failed(driver.launch(room_of(slot)[at].function, (unsigned)blocks(kernel->grid, g->batch, most),
                                (unsigned)blocks(kernel->grid + 1, g->batch, kernel->grid[1].most),
                                (unsigned)blocks(kernel->grid + 2, g->batch, kernel->grid[2].most),
                                (unsigned)kernel->block, 1, 1, (unsigned)kernel->shared, stream,
                                parameters, NULL));
}

/* The largest batch of one launch. */
static const size_t MOST = (size_t)1 << 30;

static int run(const tw_problem *p, int layout, size_t count, const void *alpha, const void *a,
               ptrdiff_t stride_a, const void *b, ptrdiff_t stride_b, const void *beta, void *c,
               ptrdiff_t stride_c, void *stream)
{
    struct slot *slot;
    tw_scalars read;
    arguments g;
    ptrdiff_t unit = layout == TW_POINTERS ? (ptrdiff_t)sizeof(void *) : 0;
    int status = tw_read_scalars(p, alpha, beta, &read);
    if (status || !count)
        return status;
    if (!a || !b || !c || count > PTRDIFF_MAX)
        return TW_BAD_ARGUMENT;
    if ((status = here(&slot)))
        return status;
    memset(&g, 0, sizeof g);
    g.m = p->m;
    g.n = p->n;
    g.k = p->k;
    g.lda = p->trans_a == 't' || p->trans_a == 'c' ? p->k : p->m;
    g.ldb = p->trans_b == 't' || p->trans_b == 'c' ? p->n : p->k;
    g.ldc = p->m;
    g.stride_a = stride_a;
    g.stride_b = stride_b;
    g.stride_c = stride_c;
    memcpy(g.alpha, read.value, sizeof g.alpha);
    memcpy(g.beta, read.value + 2, sizeof g.beta);
    for (; count; count -= (size_t)g.batch) {
        g.a = a;
        g.b = b;
        g.c = c;
        g.batch = (int)(count < MOST ? count : MOST);
        if ((status = start(slot, p, layout, read.class_, &g, stream)))
            return status;
        a = (const char *)a + (unit ? unit : stride_a * tw_size(p)) * g.batch;
        b = (const char *)b + (unit ? unit : stride_b * tw_size(p)) * g.batch;
        c = (char *)c + (unit ? unit : stride_c * tw_size(p)) * g.batch;
    }
    return TW_OK;
}

static int far(ptrdiff_t stride)
{
    return stride > INT32_MAX || stride < -INT32_MAX;
}

int tw_gemm_cuda(const tw_problem *problem, size_t count, const void *alpha, const void *a,
                 ptrdiff_t stride_a, const void *b, ptrdiff_t stride_b, const void *beta, void *c,
                 ptrdiff_t stride_c, void *stream)
{
    ptrdiff_t whole_a, whole_b, whole_c;
    int layout;
    if (!problem || (count > 1 && !stride_c))
        return TW_BAD_ARGUMENT;
    whole_a = (ptrdiff_t)problem->m * problem->k;
    whole_b = (ptrdiff_t)problem->k * problem->n;
    whole_c = (ptrdiff_t)problem->m * problem->n;
    if (count == 1) {
        stride_a = whole_a;
        stride_b = whole_b;
        stride_c = whole_c;
    }
    if (far(stride_a) || far(stride_b) || far(stride_c))
        return TW_BAD_ARGUMENT;
    layout = stride_a == whole_a && stride_b == whole_b && stride_c == whole_c &&
                     !(((uintptr_t)a | (uintptr_t)b | (uintptr_t)c) & 15)
                 ? TW_PACKED
                 : TW_APART;
    return run(problem, layout, count, alpha, a, stride_a, b, stride_b, beta, c, stride_c, stream);
}

int tw_gemm_cuda_pointers(const tw_problem *problem, size_t count, const void *alpha, const void *const *a,
                          const void *const *b, const void *beta, void *const *c, void *stream)
{
    return run(problem, TW_POINTERS, count, alpha, (const void *)a, 0, (const void *)b, 0, beta,
               (void *)(uintptr_t)c, 0, stream);
}

int tw_gemm_cuda_grouped(const tw_group *groups, size_t count, void *stream)
{
    size_t at;
    int status;
    if (count && !groups)
        return TW_BAD_ARGUMENT;
    for (at = 0; at < count; ++at) {
        const tw_group *g = groups + at;
        if (!g->problem || (g->count && (!g->a || !g->b || !g->c)) || (g->count > 1 && !g->stride_c) ||
            far(g->stride_a) || far(g->stride_b) || far(g->stride_c))
            return TW_BAD_ARGUMENT;
    }
    for (at = 0; at < count; ++at) {
        const tw_group *g = groups + at;
        status = tw_gemm_cuda(g->problem, g->count, g->alpha, g->a, g->stride_a, g->b, g->stride_b, g->beta,
                              g->c, g->stride_c, stream);
        if (status)
            return status;
    }
    return TW_OK;
}
