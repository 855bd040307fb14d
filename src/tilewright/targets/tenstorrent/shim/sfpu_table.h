// Functions of the SFPU: name and value, one line each.
//
// The kernel side declares `<name>_tile_init` and `<name>_tile` from the names; the machine
// evaluates the expressions, with x (and y) the elements in DST and s the scalar argument. The
// scalar of div_unary is the reciprocal: the device multiplies by what the host inverted.
#pragma once

#define TW_SFPU_UNARY(X)                                     \
    X(exp, std::exp(x))                                      \
    X(exp2, std::exp2(x))                                    \
    X(expm1, std::expm1(x))                                  \
    X(log, std::log(x))                                      \
    X(log1p, std::log1p(x))                                  \
    X(recip, 1.0f / x)                                       \
    X(sqrt, std::sqrt(x))                                    \
    X(rsqrt, 1.0f / std::sqrt(x))                            \
    X(relu, x > 0.0f ? x : (x == x ? 0.0f : x))              \
    X(gelu, 0.5f * x * (1.0f + std::erf(x * 0.70710678118f))) \
    X(sigmoid, 1.0f / (1.0f + std::exp(-x)))                 \
    X(silu, x / (1.0f + std::exp(-x)))                       \
    X(tanh, std::tanh(x))                                    \
    X(softsign, x / (1.0f + std::fabs(x)))                   \
    X(square, x * x)                                         \
    X(abs, std::fabs(x))                                     \
    X(negative, -x)                                          \
    X(sign, x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x))        \
    X(signbit, std::signbit(x) ? 1.0f : 0.0f)                \
    X(floor, std::floor(x))                                  \
    X(ceil, std::ceil(x))                                    \
    X(trunc, std::trunc(x))                                  \
    X(sin, std::sin(x))                                      \
    X(cos, std::cos(x))                                      \
    X(tan, std::tan(x))                                      \
    X(asin, std::asin(x))                                    \
    X(acos, std::acos(x))                                    \
    X(atan, std::atan(x))                                    \
    X(erf, std::erf(x))                                      \
    X(erfc, std::erfc(x))                                    \
    X(isinf, std::isinf(x) ? 1.0f : 0.0f)                    \
    X(isnan, std::isnan(x) ? 1.0f : 0.0f)                    \
    X(logical_not, x == 0.0f ? 1.0f : 0.0f)                  \
    X(eqz, x == 0.0f ? 1.0f : 0.0f)                          \
    X(nez, x != 0.0f ? 1.0f : 0.0f)                          \
    X(ltz, x < 0.0f ? 1.0f : 0.0f)                           \
    X(gtz, x > 0.0f ? 1.0f : 0.0f)                           \
    X(lez, x <= 0.0f ? 1.0f : 0.0f)                          \
    X(gez, x >= 0.0f ? 1.0f : 0.0f)                          \
    X(identity, x)

// `binop_with_scalar_tile_init` prepares the first five; the others have an init of their own.
#define TW_SFPU_SCALAR(X)                    \
    X(add_unary, x + s)                      \
    X(sub_unary, x - s)                      \
    X(mul_unary, x * s)                      \
    X(div_unary, x * s)                      \
    X(rsub_unary, s - x)                     \
    X(unary_max, x > s ? x : s)              \
    X(unary_min, x < s ? x : s)              \
    X(relu_max, std::fmin(std::fmax(x, 0.0f), s)) \
    X(relu_min, std::fmax(x, s))             \
    X(leaky_relu, x >= 0.0f ? x : x * s)

// Functions of int32 elements, modulo 2^32; a division by 0 gives the dividend.
#define TW_SFPU_INTEGER(X)                                             \
    X(add_int, int32_t(uint32_t(x) + uint32_t(y)))                     \
    X(sub_int, int32_t(uint32_t(x) - uint32_t(y)))                     \
    X(mul_int, int32_t(uint32_t(x) * uint32_t(y)))                     \
    X(div_int32_trunc, int32_t(int64_t(x) / (y ? y : 1)))              \
    X(div_int32_floor, int32_t(std::floor(double(x) / (y ? y : 1))))   \
    X(binary_max_int32, x > y ? x : y)                                 \
    X(binary_min_int32, x < y ? x : y)                                 \
    X(eq_int, x == y)                                                  \
    X(ne_int, x != y)                                                  \
    X(lt_int, x < y)                                                   \
    X(gt_int, x > y)                                                   \
    X(le_int, x <= y)                                                  \
    X(ge_int, x >= y)

#define TW_SFPU_BINARY(X)                        \
    X(add_binary, x + y)                         \
    X(sub_binary, x - y)                         \
    X(mul_binary, x * y)                         \
    X(div_binary, x / y)                         \
    X(rsub_binary, y - x)                        \
    X(power_binary, std::pow(x, y))              \
    X(eq_binary, x == y ? 1.0f : 0.0f)           \
    X(ne_binary, x != y ? 1.0f : 0.0f)           \
    X(lt_binary, x < y ? 1.0f : 0.0f)            \
    X(gt_binary, x > y ? 1.0f : 0.0f)            \
    X(le_binary, x <= y ? 1.0f : 0.0f)           \
    X(ge_binary, x >= y ? 1.0f : 0.0f)           \
    X(binary_max, x > y ? x : y)                 \
    X(binary_min, x < y ? x : y)
