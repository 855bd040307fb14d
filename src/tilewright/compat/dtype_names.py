"""The names of element types: torch's, NumPy's and C's, and the short one that Triton uses."""

from __future__ import annotations

_SHORT = "i8 i16 i32 i64 u8 u16 u32 u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e4b8 fp8e4b15 fp8e5 fp8e5b16"

type_canonicalisation_dict: dict[str, str] = {
    **{name: name for name in _SHORT.split()},
    **{
        f"{sign}int{bits}": f"{short}{bits}"
        for sign, short in (("", "i"), ("u", "u"))
        for bits in (8, 16, 32, 64)
    },
    **{f"float8{kind}": f"fp8{kind}" for kind in ("e4nv", "e4b8", "e4b15", "e5", "e5b16")},
    **dict.fromkeys(("bool", "int1", "uint1", "i1", "u1"), "u1"),
    "float8_e4m3fn": "fp8e4nv",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8_e5m2fnuz": "fp8e5b16",
    "half": "fp16",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float": "fp32",
    "float32": "fp32",
    "double": "fp64",
    "float64": "fp64",
    "int": "i32",
    "void": "void",
}

_OF_KERNELS = {"i": "int", "u": "uint"}


def canonicalize_dtype(dtype: object) -> str:
    """``fp16`` for ``torch.float16``."""
    return type_canonicalisation_dict[str(dtype).rpartition(".")[2]]


def canonicalize_ptr_dtype(dtype: object, is_const: bool) -> str:
    return f"{'*k' if is_const else '*'}{canonicalize_dtype(dtype)}"


def canonical(name: str) -> str:
    """The name of ``tl.dtype`` for any of them: ``int32``, ``fp16``."""
    short = type_canonicalisation_dict[name]
    if short[0] in _OF_KERNELS and short[1:].isdigit():
        return "int1" if short == "u1" else f"{_OF_KERNELS[short[0]]}{short[1:]}"
    return short
