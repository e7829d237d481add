/* Every problem of the library on the first GPU, as test.c does it on the processor, in each layout and
 * class that has kernels of its own. Exit code 0: all is right; 77: there is no GPU. Needs nothing of CUDA
 * but its driver. */
#include <dlfcn.h>

#include "check.h"

static int (*init)(unsigned), (*get_device)(int *, int), (*retain)(void **, int), (*set_current)(void *);
static int (*take)(uintptr_t *, size_t), (*give)(uintptr_t), (*up)(uintptr_t, const void *, size_t);
static int (*down)(void *, uintptr_t, size_t), (*finish)(void);

static int found(void *library, const char *name, void *to)
{
    void *symbol = dlsym(library, name);
    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

static int start_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int device;
    return library && found(library, "cuInit", &init) && found(library, "cuDeviceGet", &get_device) &&
           found(library, "cuDevicePrimaryCtxRetain", &retain) &&
           found(library, "cuCtxSetCurrent", &set_current) &&
           found(library, "cuMemAlloc_v2", &take) && found(library, "cuMemFree_v2", &give) &&
           found(library, "cuMemcpyHtoD_v2", &up) && found(library, "cuMemcpyDtoH_v2", &down) &&
           found(library, "cuCtxSynchronize", &finish) && !init(0) && !get_device(&device, 0) &&
           !retain(&context, device) && !set_current(context);
}

static uintptr_t sent(const void *from, size_t bytes)
{
    uintptr_t to = 0;
    if (take(&to, bytes) || up(to, from, bytes)) {
        fprintf(stderr, "no memory on the GPU\n");
        exit(2);
    }
    return to;
}

static void *device(uintptr_t address)
{
    return (void *)address;
}

static void run(const tw_problem *p, int count, const double *alpha, const double *beta, int form)
{
    static const char *const FORMS[] = {"packed", "packed, off by one", "apart", "shared A", "shared B",
                                        "pointers"};
    int reads = beta[0] != 0, offset = form == 1 || form == 2 || form == 5, at, which, status;
    operands x = make(p, count, form == 2 || form == 5 ? GAP : 0, form == 3 || form == 4 ? form - 2 : 0,
                      reads, offset);
    size_t size = size_of(p->type);
    double factors[2][2];
    uintptr_t there[3], begin[3];
    scalar(p->type, alpha, factors[0]);
    scalar(p->type, beta, factors[1]);
    for (which = 0; which < 3; ++which) {
        there[which] = sent(x.memory[which], (size_t)x.length[which] * size);
        begin[which] = there[which] + (size_t)(offset + (which == 2 ? GUARD : 0)) * size;
    }
    if (form == 5) {
        uintptr_t lists[3][MOST], list[3];
        for (which = 0; which < 3; ++which) {
            for (at = 0; at < count; ++at)
                lists[which][at] = begin[which] + (size_t)(shuffled(at, count) * x.step[which]) * size;
            list[which] = sent(lists[which], (size_t)count * sizeof **lists);
        }
        status = tw_gemm_cuda_pointers(p, (size_t)count, factors[0], device(list[0]), device(list[1]),
                                       factors[1], device(list[2]), NULL);
        if (!status && finish())
            status = TW_DRIVER;
        for (which = 0; which < 3; ++which)
            give(list[which]);
    } else {
        tw_group group = {NULL, 0, NULL, NULL, 0, NULL, 0, NULL, NULL, 0};
        group.problem = p;
        group.count = (size_t)count;
        group.alpha = factors[0], group.beta = factors[1];
        group.a = device(begin[0]), group.b = device(begin[1]), group.c = device(begin[2]);
        group.stride_a = x.step[0], group.stride_b = x.step[1], group.stride_c = x.step[2];
        status = tw_gemm_cuda_grouped(&group, 1, NULL);
        if (!status && finish())
            status = TW_DRIVER;
    }
    if (down(x.memory[2], there[2], (size_t)x.length[2] * size) && !status)
        status = TW_DRIVER;
    /* Lists of addresses are served up to some size only. */
    check(p, &x, form == 5 && status == TW_UNSUPPORTED ? 0 : count, alpha, beta,
          form == 5 && status == TW_UNSUPPORTED ? TW_OK : status, FORMS[form]);
    for (which = 0; which < 3; ++which)
        give(there[which]);
}

int main(void)
{
    int at, s, n, form, status;
    double x[1] = {0};
    expect(tw_gemm_cuda(tw_problems, 1, NULL, x, 0, x, 0, NULL, x, 0, NULL), TW_NOT_LOADED,
           "before tw_cuda_load");
    if (!start_driver()) {
        printf("there is no GPU\n");
        return failures ? 1 : 77;
    }
    status = tw_cuda_load();
    if (status == TW_UNSUPPORTED) {
        printf("%s\n", tw_status_text(status));
        return 77;
    }
    expect(status, TW_OK, "tw_cuda_load");
    expect(tw_cuda_load(), TW_OK, "tw_cuda_load again");
    expect(tw_gemm_cuda(tw_problems, 2, NULL, x, 0, x, 0, NULL, x, 0, NULL), TW_BAD_ARGUMENT, "a shared C");
    for (at = 0; at < tw_problem_count && !status; ++at)
        for (s = 0; s < pairs_of(tw_problems + at); ++s)
            for (n = 0; n < counts_of(tw_problems + at); ++n)
                for (form = 0; form < 6; ++form)
                    run(tw_problems + at, COUNT[n], SCALARS[s], SCALARS[s] + 2, form);
    expect(tw_cuda_unload(), TW_OK, "tw_cuda_unload");
    expect(tw_cuda_unload(), TW_NOT_LOADED, "tw_cuda_unload again");
    printf("GPU: %d problems, %d wrong\n", tw_problem_count, failures);
    return failures ? 1 : 0;
}
