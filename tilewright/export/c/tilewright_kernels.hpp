// Batches of small matrices in C++17, and their product: c = a * b, c += transposed(a) * b, and
// c = 2.0 * (a * b).
//
// A batch is a view: it owns nothing, and an element is T: float, double or std::complex of one of them, or
// float16, bfloat16 or complex_float16, which are their bits. Factors are of the element's type, and float or
// std::complex<float> where it has 16 bits. Sizes are part of its type, so that what this library has no kernel for does not compile. An assignment
// runs the product on this processor, in the calling thread, and returns a status; it throws nothing.
#ifndef TILEWRIGHT_KERNELS_HPP
#define TILEWRIGHT_KERNELS_HPP

#include <complex>
#include <cstddef>
#include <type_traits>

#include "tilewright_kernels.h"

namespace tilewright_kernels {

struct float16 {
    tw_float16 bits;

    float16() = default;
    explicit float16(float value) : bits(tw_to_float16(value)) {}
    explicit operator float() const { return tw_from_float16(bits); }
};

struct bfloat16 {
    tw_bfloat16 bits;

    bfloat16() = default;
    explicit bfloat16(float value) : bits(tw_to_bfloat16(value)) {}
    explicit operator float() const { return tw_from_bfloat16(bits); }
};

struct complex_float16 {
    float16 re, im;

    complex_float16() = default;
    explicit complex_float16(std::complex<float> value) : re(value.real()), im(value.imag()) {}
    explicit operator std::complex<float>() const { return {float(re), float(im)}; }
};

// The element with parts of a type as TW_PROBLEMS names it, and an element's factors.
using float_parts = float;
using double_parts = double;
using tw_float16_parts = float16;
using tw_bfloat16_parts = bfloat16;

template <class Part, bool IsComplex>
struct element_of {
    using type = std::conditional_t<std::is_same<Part, float16>::value, complex_float16, std::complex<Part>>;
};
template <class Part>
struct element_of<Part, false> {
    using type = Part;
};

template <class T>
struct factor_of {
    using type = T;
};
template <>
struct factor_of<float16> {
    using type = float;
};
template <>
struct factor_of<bfloat16> {
    using type = float;
};
template <>
struct factor_of<complex_float16> {
    using type = std::complex<float>;
};

// The problem with a product's type, sizes and operations; without a value where the library lacks it.
template <class T, int M, int N, int K, char OpA, char OpB>
struct served : std::false_type {};

#define TW_SERVED(symbol, real, is_complex, M, N, K, OpA, OpB)                                   \
    template <>                                                                                  \
    struct served<element_of<real##_parts, is_complex>::type, M, N, K, OpA, OpB> : std::true_type { \
        static const tw_problem *problem() { return &tw_problems[symbol##_index]; }              \
    };
TW_PROBLEMS(TW_SERVED)
#undef TW_SERVED

// One operand as a product takes it: stored rows x columns, column-major, op n, t, c or j of each matrix. A
// batch is one with op n; transposed, adjoint and conjugated below make the others.
template <class T, int Rows, int Columns, char Op>
struct operand {
    const T *data;
    std::size_t count;
    std::ptrdiff_t stride;
    static constexpr bool is_transposed = Op == 't' || Op == 'c';
    static constexpr int rows = is_transposed ? Columns : Rows, columns = is_transposed ? Rows : Columns;
};

template <class A, class B, class Factor>
struct product {
    A a;
    B b;
    Factor alpha;
};

template <class A, class B, class Factor>
product<A, B, Factor> operator*(Factor factor, product<A, B, Factor> p)
{
    p.alpha = factor * p.alpha;
    return p;
}

template <class T, int Rows, int Columns>
class batch {
public:
    using value = std::remove_const_t<T>;
    using factor = typename factor_of<value>::type;

    batch(T *data, std::size_t count, std::ptrdiff_t stride = std::ptrdiff_t{Rows} * Columns)
        : data_(data), count_(count), stride_(stride)
    {
    }
    batch(const batch &) = default;
    // A batch is where its matrices lie: another one is not assigned to it, for that would copy nothing.
    batch &operator=(const batch &) = delete;

    T *operator()(std::size_t number) const { return data_ + static_cast<std::ptrdiff_t>(number) * stride_; }
    std::size_t count() const { return count_; }
    operand<value, Rows, Columns, 'n'> as_stored() const { return {data_, count_, stride_}; }

    template <class A, class B>
    int operator=(const product<A, B, factor> &p) const { return assign(p, factor(0)); }
    template <class A, class B>
    int operator+=(const product<A, B, factor> &p) const { return assign(p, factor(1)); }
    template <class A, class B>
    int operator-=(product<A, B, factor> p) const
    {
        p.alpha = -p.alpha;
        return assign(p, factor(1));
    }

    // p + beta times what is there.
    template <class T1, int R1, int C1, char Op1, class T2, int R2, int C2, char Op2>
    int assign(const product<operand<T1, R1, C1, Op1>, operand<T2, R2, C2, Op2>, factor> &p, factor beta) const
    {
        static_assert(std::is_same<T1, value>::value && std::is_same<T2, value>::value,
                      "A, B and C have elements of one type");
        using A = operand<T1, R1, C1, Op1>;
        using B = operand<T2, R2, C2, Op2>;
        using kernel = served<value, Rows, Columns, A::columns, Op1, Op2>;
        static_assert(A::columns == B::rows, "the columns of A are the rows of B");
        static_assert(A::rows == Rows && B::columns == Columns, "C has the rows of A and the columns of B");
        static_assert(kernel::value, "this product was not exported");
        if ((p.a.count != count_ && p.a.stride) || (p.b.count != count_ && p.b.stride))
            return TW_BAD_ARGUMENT;
        return tw_gemm(kernel::problem(), count_, &p.alpha, p.a.data, p.a.stride, p.b.data, p.b.stride,
                       &beta, data_, stride_);
    }

private:
    T *data_;
    std::size_t count_;
    std::ptrdiff_t stride_;
};

// One matrix that all products of a batch share.
template <int Rows, int Columns, class T>
batch<T, Rows, Columns> shared(T *data)
{
    return {data, 1, 0};
}

template <class T, int R, int C>
auto transposed(const batch<T, R, C> &x)
{
    auto s = x.as_stored();
    return operand<std::remove_const_t<T>, R, C, 't'>{s.data, s.count, s.stride};
}

template <class T, int R, int C>
auto adjoint(const batch<T, R, C> &x)
{
    auto s = x.as_stored();
    return operand<std::remove_const_t<T>, R, C, 'c'>{s.data, s.count, s.stride};
}

template <class T, int R, int C>
auto conjugated(const batch<T, R, C> &x)
{
    auto s = x.as_stored();
    return operand<std::remove_const_t<T>, R, C, 'j'>{s.data, s.count, s.stride};
}

template <class T, int R, int C, char Op>
operand<T, R, C, Op> as_operand(const operand<T, R, C, Op> &x)
{
    return x;
}

template <class T, int R, int C>
auto as_operand(const batch<T, R, C> &x)
{
    return x.as_stored();
}

template <class X, class Y>
auto operator*(const X &x, const Y &y)
    -> product<decltype(as_operand(x)), decltype(as_operand(y)),
        typename factor_of<std::remove_const_t<std::remove_pointer_t<decltype(as_operand(x).data)>>>::type>
{
    return {as_operand(x), as_operand(y), 1};
}

} // namespace tilewright_kernels

#endif
