"""Types of ours, arithmetic that C++ has no operator for, and conversions of pairs."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.cuda.header.function import Function

TYPES: Mapping[str, Function] = {
    "Barrier": Function("using Barrier = unsigned long long;"),
    "shared_address": Function(
        """
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}"""
    ),
    "tensor_map": Function("struct alignas(64) TensorMap { unsigned long long words[16]; };"),
}

ARITHMETIC: Mapping[str, Function] = {
    "opaque": Function(
        """
// The same integer; the compiler does not see how it is computed, and does not compute it again.
__device__ __forceinline__ int opaque(int value) {
  asm volatile("" : "+r"(value));
  return value;
}
__device__ __forceinline__ long long opaque(long long value) {
  asm volatile("" : "+l"(value));
  return value;
}"""
    ),
    "bits_as": Function(
        """
template <typename To, typename From>
__device__ __forceinline__ To bits_as(const From& value) {
  static_assert(sizeof(To) == sizeof(From), "the same bits, read as another type");
  union Bits {
    From from;
    To to;
    __device__ Bits() {}
  } bits;
  bits.from = value;
  return bits.to;
}"""
    ),
    "floor_divide": Function(
        """
template <typename Int>
__device__ __forceinline__ Int floor_divide(Int a, Int b) {
  const Int quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}"""
    ),
    "ceil_divide": Function(
        """
template <typename Int>
__device__ __forceinline__ Int ceil_divide(Int a, Int b) {
  const Int quotient = a / b;
  return (a % b != 0 && (a < 0) == (b < 0)) ? quotient + 1 : quotient;
}"""
    ),
    "integer_power": Function(
        """
template <typename Int>
__device__ __forceinline__ Int integer_power(Int base, Int exponent) {
  Int result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}"""
    ),
    "approximate_quotient": Function(
        """
// Off by at most two units in the last place.
__device__ __forceinline__ float approximate_quotient(float a, float b) {
  float result;
  asm("div.full.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}"""
    ),
    "approximate_exp2": Function(
        """
__device__ __forceinline__ float approximate_exp2(float value) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}"""
    ),
    "approximate_exp": Function(
        """
__device__ __forceinline__ float approximate_exp(float value) {
  return approximate_exp2(value * 1.4426950408889634f);
}""",
        ("approximate_exp2",),
    ),
    "approximate_sqrt": Function(
        """
__device__ __forceinline__ float approximate_sqrt(float value) {
  float result;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}"""
    ),
    "softsignf": Function(
        """
__device__ __forceinline__ float softsignf(float x) {
  return x / (1.0f + fabsf(x));
}"""
    ),
    "softsign": Function(
        """
__device__ __forceinline__ double softsign(double x) {
  return x / (1.0 + fabs(x));
}"""
    ),
    "max_or_nan": Function(
        """
template <typename T>
__device__ __forceinline__ T max_or_nan(T a, T b) {
  return (a > b || a != a) ? a : b;
}"""
    ),
    "min_or_nan": Function(
        """
template <typename T>
__device__ __forceinline__ T min_or_nan(T a, T b) {
  return (a < b || a != a) ? a : b;
}"""
    ),
    "is_nan": Function(
        """
template <typename T>
__device__ __forceinline__ bool is_nan(T value) {
  return value != value;
}"""
    ),
    "is_inf": Function(
        """
template <typename T>
__device__ __forceinline__ bool is_inf(T value) {
  const double wide = static_cast<double>(value);
  return wide == wide && wide - wide != 0.0;
}"""
    ),
    "is_finite": Function(
        """
template <typename T>
__device__ __forceinline__ bool is_finite(T value) {
  const double wide = static_cast<double>(value);
  return wide - wide == 0.0;
}"""
    ),
}


def _pair(name: str, source: str, target: str, expression: str, header: str) -> Function:
    return Function(
        f"""
__device__ __forceinline__ void {name}({target}* to, const {source}* from) {{
  {expression}
}}""",
        headers=(header,),
    )


CONVERSIONS: Mapping[str, Function] = {
    "convert_to_half2": _pair(
        "convert_to_half2",
        "float",
        "__half",
        "*reinterpret_cast<__half2*>(to) = __floats2half2_rn(from[0], from[1]);",
        "cuda_fp16.h",
    ),
    "convert_half2": _pair(
        "convert_half2",
        "__half",
        "float",
        "const float2 both = __half22float2(*reinterpret_cast<const __half2*>(from));\n"
        "  to[0] = both.x;\n  to[1] = both.y;",
        "cuda_fp16.h",
    ),
    "convert_to_bfloat162": _pair(
        "convert_to_bfloat162",
        "float",
        "__nv_bfloat16",
        "*reinterpret_cast<__nv_bfloat162*>(to) = __floats2bfloat162_rn(from[0], from[1]);",
        "cuda_bf16.h",
    ),
    "convert_bfloat162": _pair(
        "convert_bfloat162",
        "__nv_bfloat16",
        "float",
        "const float2 both = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(from));\n"
        "  to[0] = both.x;\n  to[1] = both.y;",
        "cuda_bf16.h",
    ),
    "convert_to_e4m3x2": _pair(
        "convert_to_e4m3x2",
        "float",
        "__nv_fp8_e4m3",
        "*reinterpret_cast<__nv_fp8x2_storage_t*>(to) = __nv_cvt_float2_to_fp8x2(\n"
        "      make_float2(from[0], from[1]), __NV_SATFINITE, __NV_E4M3);",
        "cuda_fp8.h",
    ),
    "convert_to_e5m2x2": _pair(
        "convert_to_e5m2x2",
        "float",
        "__nv_fp8_e5m2",
        "*reinterpret_cast<__nv_fp8x2_storage_t*>(to) = __nv_cvt_float2_to_fp8x2(\n"
        "      make_float2(from[0], from[1]), __NV_SATFINITE, __NV_E5M2);",
        "cuda_fp8.h",
    ),
}
