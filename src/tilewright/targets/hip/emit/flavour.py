"""HIP C++ without ROCm's headers: clang's own types, and functions of ours for all the rest."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
)

from tilewright.targets.cxx.flavour import DOUBLE, FLOAT, CType, Flavour


def _fp8(name: str) -> CType:
    return CType(f"tw::{name}", 8, is_float=True, has_arithmetic=False, definition=name)


def _access(bytes: int) -> CType:
    # Strict aliasing: several elements are accessed as a type that may alias them.
    return CType(f"tw::Bytes{bytes}", 8 * bytes, definition=f"Bytes{bytes}")


_INFINITIES = {0x7F800000: "__builtin_inff()", 0xFF800000: "-__builtin_inff()"}
_WIDE_INFINITIES = {0x7FF << 52: "__builtin_inf()", 0xFFF << 52: "-__builtin_inf()"}


def _special_float(bits: int) -> str:
    return _INFINITIES.get(bits, f"__builtin_bit_cast(float, 0x{bits:08x}u)")


def _special_double(bits: int) -> str:
    return _WIDE_INFINITIES.get(bits, f"__builtin_bit_cast(double, 0x{bits:016x}ull)")


HIP = Flavour(
    name="HIP",
    types={
        Float16Type: CType("_Float16", 16, is_float=True),
        # Sums of `__bf16` may keep excess precision; through `float` each result is rounded once.
        # LLVM 19 has no instructions to select for a truth as `__bf16`.
        BFloat16Type: CType("__bf16", 16, is_float=True, has_arithmetic=False, from_float=True),
        Float32Type: FLOAT,
        Float64Type: DOUBLE,
        Float8E4M3FNType: _fp8("fp8_e4m3"),
        Float8E5M2Type: _fp8("fp8_e5m2"),
        Float8E4M3FNUZType: _fp8("fp8_e4m3fnuz"),
        Float8E5M2FNUZType: _fp8("fp8_e5m2fnuz"),
    },
    vectors={bytes: _access(bytes) for bytes in (1, 2, 4, 8, 16)},
    packed={
        ("float", "_Float16"): "convert_to_half2",
        ("float", "__bf16"): "convert_to_bfloat162",
        ("_Float16", "float"): "convert_half2",
        ("__bf16", "float"): "convert_bfloat162",
        ("float", "tw::fp8_e4m3"): "convert_to_e4m3x2",
        ("float", "tw::fp8_e5m2"): "convert_to_e5m2x2",
        ("float", "tw::fp8_e4m3fnuz"): "convert_to_e4m3fnuzx2",
        ("float", "tw::fp8_e5m2fnuz"): "convert_to_e5m2fnuzx2",
    },
    identities={
        "thread": "thread_{}",
        "block": "block_{}",
        "grid_dim": "grid_dim_{}",
        "block_dim": "block_dim_{}",
    },
    identity_type="int",
    special_float=_special_float,
    special_double=_special_double,
)
