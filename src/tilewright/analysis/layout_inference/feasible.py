"""Whether some tensor-core instruction does a product, and the smallest change if none does.

What ``mma.sync`` can do is the floor: every product that ``wgmma`` does, it does as well, so what
fails here cannot be compiled at all. The numbers are those of the PTX manual.
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

from tilewright.dialects.type_utils import bit_width
from tilewright.layouts.hardware.mma_sync import MMA_DEPTHS

M_UNIT, N_UNIT = 16, 8
"""Rows and columns of an ``mma.sync``."""
_WARP = 32


class Infeasible(ValueError):
    """No instruction does the product; `help` is the smallest change with which one does."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help


@dataclass(frozen=True)
class Operand:
    """What tensor cores do with operands of a type."""

    sums: tuple[Attribute, ...]
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
_SPELLINGS = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
}


def spelled(type: Attribute) -> str:
    """A type as authors write it: ``float16``, ``int8``."""
    text = str(type)
    return _SPELLINGS.get(text) or (f"int{text[1:]}" if text[:1] == "i" else text)


def check_types(a: Attribute, c: Attribute, arch: int) -> None:
    """Raise `Infeasible` unless products of `a` can be added up in `c`."""
    known = _OPERANDS.get(a)
    if known is None:
        raise Infeasible(
            f"tensor cores do not multiply {spelled(a)}",
            f"convert the operands to one of {', '.join(map(spelled, _OPERANDS))}, or multiply "
            "in a T.Parallel loop",
        )
    if arch < known.arch:
        raise Infeasible(
            f"tensor cores multiply {spelled(a)} from sm_{known.arch} on, and this is compiled for "
            f"sm_{arch}",
            f"convert the operands to {spelled(Float16Type())}, or compile for sm_{known.arch}",
        )
    if c not in known.sums:
        raise Infeasible(
            f"tensor cores add products of {spelled(a)} up in "
            f"{' or '.join(map(spelled, known.sums))}, not in {spelled(c)}",
            f"an accumulator of {spelled(known.sums[0])}; T.copy converts it to {spelled(c)}",
        )


def depth_for(a: Attribute, k: int) -> int:
    """The deepest instruction that divides K."""
    depths = MMA_DEPTHS[bit_width(a)]
    found = next((each for each in sorted(depths, reverse=True) if k % each == 0), None)
    if found is None:
        unit = min(depths)
        raise Infeasible(
            f"K is {k}, no multiple of {unit}, the depth of the smallest instruction for "
            f"{spelled(a)}",
            f"tiles with K = {_up(k, unit)}: T.copy fills what is beyond the tensor with zeros",
        )
    return found


def check_threads(count: int) -> None:
    if count % _WARP:
        raise Infeasible(
            f"{count} threads run the product, no multiple of {_WARP}: whole warps multiply",
            f"T.Kernel(..., threads={_up(count, _WARP)})",
        )


def too_small(m: int, n: int, warps: int, fits: Callable[[int], bool]) -> Infeasible:
    """The error for a product that the warps cannot share; `fits` tells whether fewer could."""
    if m % M_UNIT or n % N_UNIT:
        axis, size, unit = ("M", m, M_UNIT) if m % M_UNIT else ("N", n, N_UNIT)
        return Infeasible(
            f"{axis} is {size}, no multiple of {unit}: an instruction does {M_UNIT} rows and "
            f"{N_UNIT} columns",
            f"tiles with {axis} = {_up(size, unit)}: T.copy fills what is beyond the tensor with "
            "zeros",
        )
    fewer = next((each for each in range(warps - 1, 0, -1) if fits(each)), None)
    return Infeasible(
        f"{warps} warps cannot share a product of {m} x {n}: each needs a multiple of {M_UNIT} "
        f"rows and {N_UNIT} columns",
        None if fewer is None else f"threads={fewer * _WARP}, or a larger tile",
    )


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
