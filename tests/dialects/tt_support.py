"""Small ``tt`` texts over a fixed set of arguments, called by name.

A body says ``tt.load %p : !tt.ptr<f32>``; ``named`` turns the names into the ``%arg0``, ``%arg1``
that printers use, and ``kernel`` puts a function with all the arguments around it.
"""

import re

from tests.dialects.text_support import returning

ARGUMENTS = {
    "p": "!tt.ptr<f32>",
    "pi": "!tt.ptr<i32>",
    "ps": "tensor<8x!tt.ptr<f32>>",
    "pis": "tensor<8x!tt.ptr<i32>>",
    "ps16": "tensor<16x!tt.ptr<f32>>",
    "i": "i32",
    "l": "i64",
    "b": "i1",
    "f": "f32",
    "h": "f16",
    "d": "f64",
    "v": "tensor<8xf32>",
    "vh": "tensor<8xf16>",
    "vi": "tensor<8xi32>",
    "vl": "tensor<8xi64>",
    "m": "tensor<8xi1>",
    "v16": "tensor<16xf32>",
    "m16": "tensor<16xi1>",
    "one": "tensor<1xf32>",
    "a": "tensor<4x8xf32>",
    "ai": "tensor<4x8xi32>",
    "col": "tensor<4x1xf32>",
    "pairs": "tensor<4x8x2xf32>",
    "b2": "tensor<8x16xf32>",
    "b2h": "tensor<8x16xf16>",
    "b2i": "tensor<8x16xi8>",
    "c": "tensor<4x16xf32>",
    "a3": "tensor<2x4x8xf32>",
    "b3": "tensor<2x8x16xf32>",
    "b4": "tensor<4x8x16xf32>",
    "c3": "tensor<2x4x16xf32>",
    "z": "tensor<f32>",
    "three": "tensor<3xi32>",
    "desc": "!tt.tensordesc<8x8xf32>",
    "desc_u8": "!tt.tensordesc<8x8xui8>",
    "desc1": "!tt.tensordesc<64xf16>",
    "row": "!tt.tensordesc<1x64xf16>",
    "row2": "!tt.tensordesc<2x64xf16>",
    "row8": "!tt.tensordesc<1x8xf16>",
    "row_f64": "!tt.tensordesc<1x64xf64>",
    "block": "tensor<8x8xf32>",
    "block8": "tensor<8x8xi8>",
    "rows": "tensor<32x64xf16>",
    "rows_f32": "tensor<32x64xf32>",
    "x": "tensor<32xi32>",
    "x4": "tensor<4xi32>",
    "fp4": "tensor<128x64xi8>",
    "fp4t": "tensor<64x128xi8>",
    "e4m3": "tensor<128x128xf8E4M3FN>",
    "e5m2": "tensor<128x128xf8E5M2>",
    "acc": "tensor<128x128xf32>",
    "acc64": "tensor<128x64xf32>",
    "acc_i": "tensor<128x128xi32>",
    "s4": "tensor<128x4xi8>",
    "s8": "tensor<128x8xi8>",
    "s2": "tensor<128x2xi8>",
    "s64": "tensor<64x4xi8>",
}

_INDEX = {name: index for index, name in enumerate(ARGUMENTS)}
_NAME = re.compile(r"%([a-z]\w*)")


def named(body: str) -> str:
    """`body` with the names of arguments replaced by their numbers."""

    def number(match: re.Match[str]) -> str:
        index = _INDEX.get(match[1])
        return match[0] if index is None else f"%arg{index}"

    return _NAME.sub(number, body)


def kernel(body: str) -> str:
    """A function with all arguments around `body`."""
    return returning(named(body), *ARGUMENTS.values())
