// The operators of tilewright_kernels.hpp on every exported problem, beside a plain loop. Exit code 0: all is
// right; 77: nothing here could run.
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

// Numbers of 16 bits are checked as their factors' type, within three roundings.
template <class T>
using factor_of = typename tk::factor_of<T>::type;

template <class T>
static double allowed(double size)
{
    if (std::is_same<T, factor_of<T>>::value)
        return 1e-4;
    return (std::is_same<T, tk::bfloat16>::value ? 0x1p-6 : 0x1p-9) * (1 + size);
}

template <char Op, class Batch>
static auto taken(const Batch &x)
{
    if constexpr (Op == 't')
        return tk::transposed(x);
    else if constexpr (Op == 'c')
        return tk::adjoint(x);
    else if constexpr (Op == 'j')
        return tk::conjugated(x);
    else
        return x;
}

template <class T, int Rows>
static factor_of<T> element(const T *x, char op, int row, int column)
{
    bool is_transposed = op == 't' || op == 'c';
    auto found = static_cast<factor_of<T>>(is_transposed ? x[column + row * Rows] : x[row + column * Rows]);
    return op == 'c' || op == 'j' ? conjugated(found) : found;
}

// Whether c = factor op(a) op(b), where a may be shared.
template <class T, int M, int N, int K, char OpA, char OpB, class A, class B>
static bool right(const A &a, const B &b, const tk::batch<T, M, N> &c, factor_of<T> factor)
{
    constexpr int rows_a = OpA == 't' || OpA == 'c' ? K : M, rows_b = OpB == 't' || OpB == 'c' ? N : K;
    bool good = true;
    for (std::size_t at = 0; at < c.count(); ++at)
        for (int j = 0; j < N; ++j)
            for (int i = 0; i < M; ++i) {
                factor_of<T> sum = 0;
                for (int l = 0; l < K; ++l)
                    sum += element<T, rows_a>(a(at), OpA, i, l) * element<T, rows_b>(b(at), OpB, l, j);
                auto got = static_cast<factor_of<T>>(c(at)[i + j * M]);
                good = good && std::abs(got - factor * sum) < allowed<T>(std::abs(factor * sum));
            }
    return good;
}

template <class T, int M, int N, int K, char OpA, char OpB>
static void test(const char *name)
{
    constexpr bool transposed_a = OpA == 't' || OpA == 'c', transposed_b = OpB == 't' || OpB == 'c';
    constexpr int rows_a = transposed_a ? K : M, columns_a = transposed_a ? M : K;
    constexpr int rows_b = transposed_b ? N : K, columns_b = transposed_b ? K : N;
    constexpr std::size_t count = 11;
    using F = factor_of<T>;
    std::vector<T> a(count * M * K), b(count * K * N), c(count * M * N, T(F(NAN)));
    double seed = 0;
    for (auto *x : {&a, &b})
        for (auto &value : *x)
            value = T(F(static_cast<float>(std::sin(seed += 1.7))));
    tk::batch<const T, rows_a, columns_a> as(a.data(), count);
    tk::batch<const T, rows_b, columns_b> bs(b.data(), count);
    tk::batch<T, M, N> cs(c.data(), count);
    int status = (cs = taken<OpA>(as) * taken<OpB>(bs));
    status |= (cs += F(2) * (taken<OpA>(as) * taken<OpB>(bs)));
    status |= (cs -= taken<OpA>(as) * taken<OpB>(bs));
    bool good = right<T, M, N, K, OpA, OpB>(as, bs, cs, F(2));
    auto one = tk::shared<rows_a, columns_a>(static_cast<const T *>(a.data()));
    status |= (cs = taken<OpA>(one) * taken<OpB>(bs));
    good = good && right<T, M, N, K, OpA, OpB>(one, bs, cs, F(1));
    tk::batch<const T, rows_b, columns_b> fewer(b.data(), count - 1);
    good = good && (cs = taken<OpA>(as) * taken<OpB>(fewer)) == TW_BAD_ARGUMENT;
    if (!good || status != TW_OK) {
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
    test<tk::element_of<tk::real##_parts, is_complex>::type, M, N, K, OpA, OpB>(#symbol);
    TW_PROBLEMS(TEST)
    std::printf("%s: %d wrong\n", tw_cpu(), failures);
    return failures ? 1 : 0;
}
