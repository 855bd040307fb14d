"""Which op combines two partial results of a reduction."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import AnyFloat, i1
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.arith import (
    AddfOp,
    AddiOp,
    AndiOp,
    ConstantOp,
    MaximumfOp,
    MaxnumfOp,
    MaxsiOp,
    MaxuiOp,
    MinimumfOp,
    MinnumfOp,
    MinsiOp,
    MinuiOp,
    MulfOp,
    MuliOp,
    OriOp,
    XoriOp,
)
from tilewright.dialects.type_utils import bit_width
from tilewright.passes.tile.index_builder import IndexBuilder

_ARITHMETIC: Mapping[str, type[Operation]] = {"sum": AddfOp, "prod": MulfOp}
_FLOAT: Mapping[str, type[Operation]] = {**_ARITHMETIC, "max": MaxnumfOp, "min": MinnumfOp}
_FLOAT_NAN: Mapping[str, type[Operation]] = {**_ARITHMETIC, "max": MaximumfOp, "min": MinimumfOp}
_INTEGER: Mapping[str, type[Operation]] = {
    "sum": AddiOp,
    "prod": MuliOp,
    "max": MaxsiOp,
    "min": MinsiOp,
    "bitand": AndiOp,
    "bitor": OriOp,
    "bitxor": XoriOp,
}
_UNSIGNED: Mapping[str, type[Operation]] = {**_INTEGER, "max": MaxuiOp, "min": MinuiOp}
_TRUTH: Mapping[str, type[Operation]] = {
    **_INTEGER,
    **dict.fromkeys(("sum", "max"), OriOp),
    **dict.fromkeys(("prod", "min"), AndiOp),
}
"""Of truth values: as a one-bit integer, true is -1."""


def both(
    code: IndexBuilder,
    kind: str,
    left: SSAValue,
    right: SSAValue,
    *,
    keeps_nan: bool,
    is_unsigned: bool,
) -> SSAValue:
    """`left` and `right` as one, by a kind of `simt.allreduce`."""
    if isinstance(left.type, AnyFloat):
        table = _FLOAT_NAN if keeps_nan else _FLOAT
    elif left.type == i1:
        table = _TRUTH
    else:
        table = _UNSIGNED if is_unsigned else _INTEGER
    return code.add(table[kind](left, right)).results[0]  # pyright: ignore[reportCallIssue]


def identity(
    code: IndexBuilder, kind: str, type: Attribute, *, is_unsigned: bool = False
) -> SSAValue:
    """What changes nothing."""
    if isinstance(type, AnyFloat):
        infinity = float("inf")
        neutral: float | int = {"prod": 1.0, "max": -infinity, "min": infinity}.get(kind, 0.0)
    elif is_unsigned or type == i1:
        one = -1 if type == i1 else 1
        neutral = {"prod": one, "min": -1, "bitand": -1}.get(kind, 0)
    else:
        bits = bit_width(type)
        neutral = {
            "prod": 1,
            "max": -(1 << (bits - 1)),
            "min": (1 << (bits - 1)) - 1,
            "bitand": -1,
        }.get(kind, 0)
    return code.add(ConstantOp.of(neutral, type)).results[0]
