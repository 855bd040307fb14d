"""Configuration, math and packing as calls of the compute API.

Each function of the API needs the header that declares it, below ``api/compute``. The older level
differs in the start-up, in the names of some inits and in two calls.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping

from xdsl.ir import Operation

from tilewright.dialects.tensix.config import HwStartupOp, InitOp, PackL1AccOp, ReconfigOp
from tilewright.dialects.tensix.formats import Format
from tilewright.dialects.tensix.functions import InitKey
from tilewright.dialects.tensix.math import BcastOp, BinaryOp, MatmulBlockOp, MatmulTileOp, ReduceOp
from tilewright.dialects.tensix.sfpu import (
    BinaryDstOp,
    FillOp,
    FillWordOp,
    PackOp,
    TypecastOp,
    UnaryOp,
    UnaryScalarOp,
    WhereOp,
)
from tilewright.ir.interfaces import constant_integer
from tilewright.targets.cxx.emitter import Emitter, Rule
from tilewright.targets.tenstorrent.emit.emitter import Api, TensixEmitter

_UNARY_HEADERS: Mapping[str, str] = {
    "exp": "eltwise_unary/exp.h",
    "recip": "eltwise_unary/recip.h",
    "sqrt": "eltwise_unary/sqrt.h",
    "rsqrt": "eltwise_unary/rsqrt.h",
    "relu": "eltwise_unary/relu.h",
    "gelu": "eltwise_unary/gelu.h",
    "negative": "eltwise_unary/negative.h",
    "log1p": "eltwise_unary/log1p.h",
    **dict.fromkeys(("erf", "erfc"), "eltwise_unary/erf_erfc.h"),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan"), "eltwise_unary/trigonometry.h"),
    **dict.fromkeys(("floor", "ceil", "trunc"), "eltwise_unary/rounding.h"),
}
"""Where unary functions are declared; the others are in ``compute_kernel_api.h``."""

_ROUNDING = ("floor", "ceil", "trunc")
"""Functions with one init."""

_INTEGER: Mapping[str, tuple[str, str, str, str]] = {
    "add_int": ("add_int_tile", "<DataFormat::Int32>", "", "add_int_sfpu.h"),
    "sub_int": ("sub_int_tile", "<DataFormat::Int32>", "", "sub_int_sfpu.h"),
    "mul_int": ("mul_int_tile", "<DataFormat::Int32>", "<DataFormat::Int32>", "mul_int_sfpu.h"),
    "div_int": ("div_int32_trunc_tile", "", "", "div_int32_floor.h"),
    "floordiv_int": ("div_int32_floor_tile", "", "", "div_int32_floor.h"),
    "max_int": ("binary_max_int32_tile", "", "", "binary_max_min.h"),
    "min_int": ("binary_min_int32_tile", "", "", "binary_max_min.h"),
    **{
        f"{name}_int": (
            f"{name}_int_tile",
            "<DataFormat::Int32>",
            "<DataFormat::Int32>",
            "binary_comp.h",
        )
        for name in ("eq", "ne", "lt", "gt", "le", "ge")
    },
}
"""Functions of integers: call, template arguments of the call and of its init, header."""

_TEMPLATES: Mapping[str, str] = {"gelu": "<false>", "erf": "<false>"}
"""Template arguments of an init and its call: accuracy over speed."""

_DIMS: Mapping[str, str] = {"row": "ROW", "col": "COL", "scalar": "SCALAR"}
_INIT_DIMS: Mapping[str, str] = {"row": "rows", "col": "cols", "scalar": "scalar"}


def _startup(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, HwStartupOp)
    if emitter.api is Api.OLDER:
        emitter.include("matmul.h" if op.matmul is not None else "eltwise_binary.h")
        name = "mm_init" if op.matmul is not None else "binary_op_init_common"
        emitter.invoke(name, [op.in0, op.in1, op.out])
        return
    emitter.include("compute_kernel_hw_startup.h")
    order = "<SrcOrder::Reverse>" if op.matmul is not None else ""
    emitter.invoke(f"compute_kernel_hw_startup{order}", [op.in0, op.in1, op.out])


def _reconfig(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, ReconfigOp)
    emitter.include("reconfig_data_format.h")
    order = "<SrcOrder::Reverse>" if op.matmul is not None else ""
    emitter.invoke(f"reconfig_data_format{order}", [op.in0, op.in1])


def _pack_reconfig(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter)
    emitter.include("pack.h")
    emitter.invoke("pack_reconfig_data_format", op.operands)


def _pack_l1_acc(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, PackL1AccOp)
    emitter.include("pack.h")
    emitter.invoke("pack_reconfig_l1_acc", [op.enabled.value.data])


# -- inits -----------------------------------------------------------------------------------------


def _init(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, InitOp)
    key = op.key
    emitter.include(*_headers(key))
    function, extra = _init_call(key, emitter.api)
    emitter.invoke(function, [*op.cbs, *extra])


def _init_call(key: InitKey, api: Api) -> tuple[str, list[int | str]]:
    """The function of an init, and its arguments after the circular buffers."""
    older = api is Api.OLDER
    if key.kind == "matmul":
        return "mm_init_short" if older else "matmul_init", [1] if key.transpose else []
    if key.kind == "matmul_block":
        name = "mm_block_init_short" if older else "matmul_block_init"
        return name, [int(key.transpose), *key.block]
    if key.kind == "binary":
        name = f"{key.function}_tiles_init" if older else f"{key.function}_init"
        return name, ["true"] if key.accumulate and key.function != "mul" else []
    if key.kind == "bcast":
        # The older names of two of the nine have the word tiles in them.
        tiles = "_tiles" if older and key.dim == "scalar" and key.function != "add" else ""
        name = f"{key.function}{tiles}_bcast_{_INIT_DIMS[key.dim]}_init"
        return name + ("_short" if older else ""), []
    if key.kind == "reduce":
        return f"reduce_init{_reduction(key)}", []
    if key.kind == "unary" and key.function in _ROUNDING:
        return "rounding_op_tile_init", []
    if key.kind == "unary":
        return f"{key.function}_tile_init{_TEMPLATES.get(key.function, '')}", []
    if key.kind == "binary_dst" and key.function in _INTEGER:
        name, _, template, _ = _INTEGER[key.function]
        return f"{name}_init{template}", []
    if key.kind == "binary_dst":
        return f"{_binary_dst_name(key.function)}_tile_init", []
    if key.kind == "typecast":
        return f"typecast_tile_init{_formats(key.function, key.dim)}", []
    if key.kind == "transpose" and older:
        return "transpose_wh_init_short", []
    return _PLAIN_INITS[key.kind], []


_PLAIN_INITS: Mapping[str, str] = {
    "copy": "copy_tile_init",
    "transpose": "transpose_init",
    "reduce_end": "reduce_uninit",
    "unary_scalar": "binop_with_scalar_tile_init",
    "fill": "fill_tile_init",
    "where": "where_tile_init",
}

_HEADERS: Mapping[str, str] = {
    "matmul": "matmul.h",
    "matmul_block": "matmul.h",
    "binary": "eltwise_binary.h",
    "bcast": "bcast.h",
    "copy": "tile_move_copy.h",
    "transpose": "transpose.h",
    "reduce": "reduce.h",
    "reduce_end": "reduce.h",
    "unary_scalar": "eltwise_unary/binop_with_scalar.h",
    "fill": "eltwise_unary/fill.h",
    "where": "eltwise_unary/where.h",
    "typecast": "eltwise_unary/typecast.h",
}


def _headers(key: InitKey) -> list[str]:
    if key.kind == "unary":
        return [_UNARY_HEADERS.get(key.function, "compute_kernel_api.h")]
    if key.kind == "binary_dst" and key.function in _INTEGER:
        return [_INTEGER[key.function][3]]
    if key.kind == "binary_dst":
        return ["binary_max_min.h" if key.function in ("max", "min") else "eltwise_binary_sfpu.h"]
    return [_HEADERS[key.kind]]


def _reduction(key: InitKey) -> str:
    return f"<PoolType::{key.function.upper()}, ReduceDim::REDUCE_{_DIMS[key.dim]}>"


def _binary_dst_name(function: str) -> str:
    return f"binary_{function}" if function in ("max", "min") else f"{function}_binary"


def _formats(source: str, target: str) -> str:
    names = [f"uint32_t(DataFormat::{Format(each).host_name})" for each in (source, target)]
    return f"<{', '.join(names)}>"


# -- math ------------------------------------------------------------------------------------------


def _two_tiles(function: str) -> Rule:
    """``f(in0, in1, index0, index1, dst)``."""

    def rule(emitter: Emitter, op: Operation) -> None:
        assert isinstance(emitter, TensixEmitter)
        in0, index0, in1, index1, dst = op.operands
        emitter.invoke(function, [in0, in1, index0, index1, dst])

    return rule


def _one_tile(function: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        assert isinstance(emitter, TensixEmitter)
        emitter.invoke(function, op.operands)

    return rule


def _transpose(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter)
    name = "transpose_wh_tile" if emitter.api is Api.OLDER else "transpose_tile"
    emitter.invoke(name, op.operands)


def _matmul_tile(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, MatmulTileOp)
    # The older call repeats the transposition of its init.
    more = [int(op.transpose is not None)] if emitter.api is Api.OLDER else []
    emitter.invoke("matmul_tiles", [op.in0, op.in1, op.index0, op.index1, op.dst, *more])


def _matmul_block(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, MatmulBlockOp)
    tiles = [op.in0, op.in1, op.index0, op.index1, op.dst]
    emitter.invoke("matmul_block", [*tiles, int(op.transpose is not None), *op.extents])


def _binary(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, BinaryOp)
    _two_tiles(f"{op.function.data}_tiles")(emitter, op)


def _bcast(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, BcastOp)
    dim = f"BroadcastType::{_DIMS[op.dim.data]}"
    _two_tiles(f"{op.function.data}_tiles_bcast<{dim}>")(emitter, op)


def _reduce(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ReduceOp)
    _two_tiles(f"reduce_tile{_reduction(op.init_key())}")(emitter, op)


def _unary(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, UnaryOp)
    function = op.function.data
    emitter.invoke(f"{function}_tile{_TEMPLATES.get(function, '')}", [op.dst])


def _unary_scalar(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, UnaryScalarOp)
    bits = constant_integer(op.bits)
    function = op.function.data
    if function == "div":
        # The device multiplies: the argument is the reciprocal.
        if bits is None:
            raise emitter.refusal("division of a tile by a run-time scalar has no instruction")
        bits = _bits(1.0 / _float(bits)) if _float(bits) else _bits(math.inf)
    emitter.invoke(f"{function}_unary_tile", [op.dst, op.bits if bits is None else f"0x{bits:08x}"])


def _float(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def _bits(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


def _binary_dst(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, BinaryDstOp)
    if op.function.data in _INTEGER:
        name, template, _, _ = _INTEGER[op.function.data]
        emitter.invoke(f"{name}{template}", op.operands)
        return
    emitter.invoke(f"{_binary_dst_name(op.function.data)}_tile", op.operands)


def _where(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, WhereOp)
    host = Format(op.format_name.data).host_name
    emitter.invoke(f"where_tile<DataFormat::{host}>", op.operands)


def _fill(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, FillOp)
    emitter.invoke("fill_tile", [op.dst, _literal(_float(op.value_bits))])


def _fill_word(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, FillWordOp)
    format = Format(op.format_name.data)
    if format is Format.F32:
        emitter.invoke("fill_tile_bitcast", op.operands)
    else:
        emitter.invoke(f"fill_tile_int<DataFormat::{format.host_name}>", op.operands)


def _literal(value: float) -> str:
    if math.isnan(value):
        return '__builtin_nanf("")'
    if math.isinf(value):
        return "__builtin_inff()" if value > 0 else "-__builtin_inff()"
    return f"{value!r}f"


def _typecast(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, TypecastOp)
    emitter.invoke(f"typecast_tile{_formats(op.source.data, op.target.data)}", [op.dst])


def _pack(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, PackOp)
    emitter.include("pack.h")
    if op.index is None:
        emitter.invoke("pack_tile", [op.dst, op.cb])
    else:
        emitter.invoke("pack_tile<true>", [op.dst, op.cb, op.index])


def _section(function: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        assert isinstance(emitter, TensixEmitter)
        emitter.include("reg_api.h")
        emitter.invoke(function, ())

    return rule


RULES: Mapping[str, Rule] = {
    "tensix.hw_startup": _startup,
    "tensix.reconfig": _reconfig,
    "tensix.pack_reconfig": _pack_reconfig,
    "tensix.pack_l1_acc": _pack_l1_acc,
    "tensix.init": _init,
    "tensix.dst_acquire": _section("tile_regs_acquire"),
    "tensix.dst_commit": _section("tile_regs_commit"),
    "tensix.dst_wait": _section("tile_regs_wait"),
    "tensix.dst_release": _section("tile_regs_release"),
    "tensix.copy_tile": _one_tile("copy_tile"),
    "tensix.transpose": _transpose,
    "tensix.matmul_tile": _matmul_tile,
    "tensix.matmul_block": _matmul_block,
    "tensix.binary": _binary,
    "tensix.bcast": _bcast,
    "tensix.reduce": _reduce,
    "tensix.unary": _unary,
    "tensix.unary_scalar": _unary_scalar,
    "tensix.binary_dst": _binary_dst,
    "tensix.where": _where,
    "tensix.fill": _fill,
    "tensix.fill_word": _fill_word,
    "tensix.typecast": _typecast,
    "tensix.pack": _pack,
}
"""Rules of compute kernels."""
