"""Whether some MMA instruction can do a GEMM, and the smallest change if none can.

``mma.sync`` is the lower bound: it can do every GEMM that ``wgmma`` does, so a GEMM that fails here
cannot use tensor cores at all. The limits are those of the PTX manual.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    IntegerType,
)
from xdsl.ir import Attribute

from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.dialects.type_utils import bit_width
from tilewright.layouts.hardware.mma_sync import MMA_DEPTHS

M_UNIT, N_UNIT = 16, 8
"""Rows and columns of an ``mma.sync``."""


class Infeasible(ValueError):
    """No MMA instruction can do the GEMM; `help` is the smallest change with which one can."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help


@dataclass(frozen=True)
class Operand:
    """What tensor cores do with operands of a type."""

    accumulators: tuple[Attribute, ...]
    """Types of accumulators, the usual one first."""
    arch: int = 80
    """The first generation that has it."""


_INTEGERS = Operand((IntegerType(32),))
_EIGHTS = Operand((Float32Type(),), arch=89)
_OPERANDS: Mapping[Attribute, Operand] = {
    Float16Type(): Operand((Float32Type(), Float16Type())),
    BFloat16Type(): Operand((Float32Type(),)),
    Float32Type(): Operand((Float32Type(),)),
    IntegerType(8): _INTEGERS,
    Float8E4M3FNType(): _EIGHTS,
    Float8E5M2Type(): _EIGHTS,
}
_TYPE_NAMES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
}


def type_name(type: Attribute) -> str:
    """A type as kernel source writes it: ``float16``, ``int8``."""
    text = str(type)
    return _TYPE_NAMES.get(text) or (f"int{text[1:]}" if text[:1] == "i" else text)


def check_types(a: Attribute, c: Attribute, arch: int) -> None:
    """Raise `Infeasible` unless an MMA with operands of `a` can accumulate in `c`."""
    known = _OPERANDS.get(a)
    if known is None:
        raise Infeasible(
            f"no MMA instruction for {type_name(a)} operands",
            f"convert the operands to one of {', '.join(map(type_name, _OPERANDS))}, or multiply "
            "in a T.Parallel loop",
        )
    if arch < known.arch:
        raise Infeasible(
            f"MMA instructions for {type_name(a)} require sm_{known.arch}, the target is sm_{arch}",
            f"convert the operands to {type_name(Float16Type())}, or compile for sm_{known.arch}",
        )
    if c not in known.accumulators:
        raise Infeasible(
            f"MMA with {type_name(a)} operands accumulates in "
            f"{' or '.join(map(type_name, known.accumulators))}, the accumulator is {type_name(c)}",
            f"accumulate in {type_name(known.accumulators[0])} and T.copy the result to "
            f"{type_name(c)}",
        )


def depth_for(a: Attribute, k: int) -> int:
    """The deepest instruction that divides K."""
    depths = MMA_DEPTHS[bit_width(a)]
    found = next((each for each in sorted(depths, reverse=True) if k % each == 0), None)
    if found is None:
        unit = min(depths)
        raise Infeasible(
            f"K = {k} is not a multiple of {unit}, the smallest MMA depth for {type_name(a)}",
            f"use tiles with K = {_up(k, unit)}: T.copy pads with zeros past the end of the tensor",
        )
    return found


def check_threads(count: int, warp: int = NVIDIA_WARP) -> None:
    if count % warp:
        raise Infeasible(
            f"{count} threads run the GEMM, not a multiple of {warp}: MMA instructions need "
            "whole warps",
            f"use T.Kernel(..., threads={_up(count, warp)})",
        )


def too_small(m: int, n: int, warps: int, fits: Callable[[int], bool]) -> Infeasible:
    """The error for a GEMM that the warps cannot share; `fits` is whether fewer could."""
    if m % M_UNIT or n % N_UNIT:
        axis, size, unit = ("M", m, M_UNIT) if m % M_UNIT else ("N", n, N_UNIT)
        return Infeasible(
            f"{axis} = {size} is not a multiple of {unit}: an MMA instruction computes {M_UNIT} "
            f"rows and {N_UNIT} columns",
            f"use tiles with {axis} = {_up(size, unit)}: T.copy pads with zeros past the end of "
            "the tensor",
        )
    fewer = next((each for each in range(warps - 1, 0, -1) if fits(each)), None)
    return Infeasible(
        f"{m} x {n} cannot be split over {warps} warps: each warp needs a multiple of {M_UNIT} "
        f"rows and {N_UNIT} columns",
        None if fewer is None else f"use threads={fewer * NVIDIA_WARP} or a larger tile",
    )


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
