"""Functions that clang expands in place, without a device library."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.hip.header.mathematics.function import MathFunction, function

_BOTH: Mapping[str, int] = {
    "fabs": 1,
    "ceil": 1,
    "floor": 1,
    "trunc": 1,
    "rint": 1,
    "round": 1,
    "sqrt": 1,
    "copysign": 2,
    "fmin": 2,
    "fmax": 2,
    "fma": 3,
}
"""Functions of `float` and of `double`, and how many numbers they take."""
_FLOAT = ("exp", "exp2", "log", "log2", "log10")
"""Functions of which the hardware has the exponential or the logarithm to base 2."""
_HALF: Mapping[str, tuple[str, int]] = {
    "hmin": ("fmin", 2),
    "hmax": ("fmax", 2),
    "hfma": ("fma", 3),
}


def _call(name: str, builtin: str, arguments: int, type: str) -> MathFunction:
    given = ", ".join("xyz"[:arguments])
    return function(name, f"  return __builtin_{builtin}({given});", arguments=arguments, type=type)


BUILTINS: Mapping[str, MathFunction] = {
    **{f"{name}f": _call(f"{name}f", f"{name}f", count, "float") for name, count in _BOTH.items()},
    **{name: _call(name, name, count, "double") for name, count in _BOTH.items()},
    **{f"{name}f": _call(f"{name}f", f"{name}f", 1, "float") for name in _FLOAT},
    **{
        name: _call(name, f"{builtin}f16", count, "_Float16")
        for name, (builtin, count) in _HALF.items()
    },
    # The instruction takes a denormal number for zero.
    "rsqrtf": function(
        "rsqrtf",
        "  const bool is_small = x < 0x1p-100f;\n"
        "  const float root = __builtin_amdgcn_rsqf(is_small ? x * 0x1p+64f : x);\n"
        "  return is_small ? root * 0x1p+32f : root;",
        type="float",
    ),
    "softsignf": function("softsignf", "  return x / (1.0f + __builtin_fabsf(x));", type="float"),
    "softsign": function("softsign", "  return x / (1.0 + __builtin_fabs(x));", type="double"),
    "rsqrt": function("rsqrt", "  return 1.0 / __builtin_sqrt(x);", type="double"),
}
