// The operators of tilewright_kernels.hpp on every exported problem, beside a plain loop. Exit code 0: all is right;
// 77: nothing here could run.
#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

#include "tilewright_kernels.hpp"

namespace tk = tilewright_kernels;

static int failures;

template <class T>
static T conjugated(T x)
{
    return x;
}
template <class T>
static std::complex<T> conjugated(std::complex<T> x)
{
    return std::conj(x);
}

template <char Op, class T, int Rows, int Columns>
static auto taken(const tk::batch<T, Rows, Columns> &x)
{
    auto s = x.as_stored();
    return tk::operand<std::remove_const_t<T>, Rows, Columns, Op>{s.data, s.count, s.stride};
}

template <class T, int Rows>
static T element(const T *x, char op, int row, int column)
{
    bool turned = op == 't' || op == 'c';
    T found = turned ? x[column + row * Rows] : x[row + column * Rows];
    return op == 'c' || op == 'j' ? conjugated(found) : found;
}

template <class T, int M, int N, int K, char OpA, char OpB>
static void test(const char *name)
{
    constexpr bool turned_a = OpA == 't' || OpA == 'c', turned_b = OpB == 't' || OpB == 'c';
    constexpr int rows_a = turned_a ? K : M, columns_a = turned_a ? M : K;
    constexpr int rows_b = turned_b ? N : K, columns_b = turned_b ? K : N;
    constexpr std::size_t count = 11;
    std::vector<T> a(count * M * K), b(count * K * N), c(count * M * N, T(NAN));
    double seed = 0;
    for (auto *x : {&a, &b})
        for (auto &value : *x)
            value = T(static_cast<float>(std::sin(seed += 1.7)));
    tk::batch<const T, rows_a, columns_a> as(a.data(), count);
    tk::batch<const T, rows_b, columns_b> bs(b.data(), count);
    tk::batch<T, M, N> cs(c.data(), count);
    int status = (cs = taken<OpA>(as) * taken<OpB>(bs));
    status |= (cs += T(2) * (taken<OpA>(as) * taken<OpB>(bs)));
    status |= (cs -= taken<OpA>(as) * taken<OpB>(bs));
    bool good = status == TW_OK;
    for (std::size_t at = 0; at < count; ++at)
        for (int j = 0; j < N; ++j)
            for (int i = 0; i < M; ++i) {
                T sum = 0;
                for (int l = 0; l < K; ++l)
                    sum += element<T, rows_a>(as(at), OpA, i, l) * element<T, rows_b>(bs(at), OpB, l, j);
                good = good && std::abs(cs(at)[i + j * M] - T(2) * sum) < 1e-4;
            }
    if (!good) {
        ++failures;
        std::printf("WRONG %s: status %d\n", name, status);
    }
}

int main()
{
    if (!*tw_cpu()) {
        std::printf("no kernel of this library runs on this processor\n");
        return 77;
    }
#define TEST(symbol, real, is_complex, M, N, K, OpA, OpB) \
    test<std::conditional_t<is_complex, std::complex<real>, real>, M, N, K, OpA, OpB>(#symbol);
    TW_PROBLEMS(TEST)
    std::printf("%s: %d wrong\n", tw_cpu(), failures);
    return failures ? 1 : 0;
}
