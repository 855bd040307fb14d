"""Types of ours, and arithmetic that C++ has no operator for."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.hip.header.function import Function, device

_SCALARS: Mapping[int, str] = {1: "unsigned char", 2: "unsigned short", 4: "unsigned"}


def _bytes(size: int) -> Function:
    """What one access of so many bytes moves, whatever the elements are."""
    name = f"Bytes{size}"
    if size in _SCALARS:
        return Function(f"typedef {_SCALARS[size]} {name} __attribute__((may_alias));")
    lanes = size // 4
    return Function(
        f"typedef unsigned {name} __attribute__((ext_vector_type({lanes}), may_alias));"
    )


TYPES: Mapping[str, Function] = {f"Bytes{size}": _bytes(size) for size in (1, 2, 4, 8, 16)}

ARITHMETIC: Mapping[str, Function] = {
    "bits_as": Function(
        """
template <typename To, typename From>
__device__ __forceinline__ To bits_as(const From& value) {
  static_assert(sizeof(To) == sizeof(From), "the same bits, read as another type");
  To to;
  __builtin_memcpy(&to, &value, sizeof(To));
  return to;
}"""
    ),
    "float_from_bits": device(
        "float float_from_bits(unsigned bits)",
        "  return bits_as<float>(bits);",
        ("bits_as",),
    ),
    "double_from_bits": device(
        "double double_from_bits(long long bits)",
        "  return bits_as<double>(bits);",
        ("bits_as",),
    ),
    "floor_divide": device(
        "template <typename Int>@Int floor_divide(Int a, Int b)",
        "  const Int quotient = a / b;\n"
        "  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;",
    ),
    "ceil_divide": device(
        "template <typename Int>@Int ceil_divide(Int a, Int b)",
        "  const Int quotient = a / b;\n"
        "  return (a % b != 0 && (a < 0) == (b < 0)) ? quotient + 1 : quotient;",
    ),
    "integer_power": device(
        "template <typename Int>@Int integer_power(Int base, Int exponent)",
        "  Int result = 1;\n"
        "  for (; exponent > 0; exponent >>= 1, base *= base)\n"
        "    if (exponent & 1) result *= base;\n"
        "  return result;",
    ),
    "max_or_nan": device(
        "template <typename T>@T max_or_nan(T a, T b)",
        "  return (a > b || a != a) ? a : b;",
    ),
    "min_or_nan": device(
        "template <typename T>@T min_or_nan(T a, T b)",
        "  return (a < b || a != a) ? a : b;",
    ),
    "is_nan": device("template <typename T>@bool is_nan(T value)", "  return value != value;"),
    "is_inf": device(
        "template <typename T>@bool is_inf(T value)",
        "  return value == value && value - value != T(0);",
    ),
    "is_finite": device(
        "template <typename T>@bool is_finite(T value)",
        "  return value - value == T(0);",
    ),
    # Operands may differ in type: a literal is an `int` beside a `short`.
    "max": device(
        "template <typename A, typename B>@auto max(A a, B b)", "  return a < b ? b : a;"
    ),
    "min": device(
        "template <typename A, typename B>@auto min(A a, B b)", "  return b < a ? b : a;"
    ),
    "abs": device("template <typename Int>@Int abs(Int a)", "  return a < 0 ? Int(-a) : a;"),
    "popc": device("int popc(unsigned bits)", "  return __builtin_popcount(bits);"),
    "popcll": device("int popcll(unsigned long long bits)", "  return __builtin_popcountll(bits);"),
    # The builtin is undefined for zero.
    "clz": device("int clz(unsigned bits)", "  return bits == 0 ? 32 : __builtin_clz(bits);"),
    "clzll": device(
        "int clzll(unsigned long long bits)", "  return bits == 0 ? 64 : __builtin_clzll(bits);"
    ),
    "dp4a": device(
        "int dp4a(int a, int b, int c)",
        "  for (int i = 0; i < 32; i += 8)\n"
        "    c += int((signed char)(a >> i)) * int((signed char)(b >> i));\n"
        "  return c;",
    ),
}
