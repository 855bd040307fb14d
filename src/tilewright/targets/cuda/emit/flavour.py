"""CUDA C++: names of types and of the functions that CUDA supplies."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
)

from tilewright.dialects.tile.mbarrier import MBarrierType
from tilewright.targets.cxx.flavour import DOUBLE, FLOAT, CType, Flavour

_SIGN = 1 << 63


def _double(bits: int) -> str:
    return f"__longlong_as_double({bits - 2 * _SIGN if bits & _SIGN else bits}ll)"


CUDA = Flavour(
    name="CUDA",
    types={
        Float16Type: CType("__half", 16, "cuda_fp16.h", is_float=True),
        BFloat16Type: CType("__nv_bfloat16", 16, "cuda_bf16.h", is_float=True),
        Float32Type: FLOAT,
        Float64Type: DOUBLE,
        Float8E4M3FNType: CType("__nv_fp8_e4m3", 8, "cuda_fp8.h", True, False),
        Float8E5M2Type: CType("__nv_fp8_e5m2", 8, "cuda_fp8.h", True, False),
        MBarrierType: CType("tw::Barrier", 64),
    },
    vectors={
        1: CType("unsigned char", 8),
        2: CType("unsigned short", 16),
        4: CType("unsigned", 32),
        8: CType("uint2", 64),
        16: CType("uint4", 128),
    },
    packed={
        ("float", "__half"): "convert_to_half2",
        ("float", "__nv_bfloat16"): "convert_to_bfloat162",
        ("__half", "float"): "convert_half2",
        ("__nv_bfloat16", "float"): "convert_bfloat162",
        ("float", "__nv_fp8_e4m3"): "convert_to_e4m3x2",
        ("float", "__nv_fp8_e5m2"): "convert_to_e5m2x2",
    },
    identities={
        "thread": "threadIdx.{}",
        "block": "blockIdx.{}",
        "grid_dim": "gridDim.{}",
        "block_dim": "blockDim.{}",
    },
    identity_type="unsigned",
    special_float=lambda bits: f"__uint_as_float(0x{bits:08x}u)",
    special_double=_double,
    library={
        "hfma": "__hfma",
        "hmax": "__hmax",
        "hmin": "__hmin",
        "popc": "__popc",
        "popcll": "__popcll",
        "clz": "__clz",
        "clzll": "__clzll",
        "dp4a": "__dp4a",
    },
    approximate={
        "arith.divf": "approximate_quotient",
        "math.exp": "approximate_exp",
        "math.exp2": "approximate_exp2",
        "math.sqrt": "approximate_sqrt",
    },
    adds_offsets_first=True,
)
