"""From one element type to another: which op, and in how many steps.

                  to a float                          to an integer        to bool
    float         extf, truncf, or tt.fp_to_fp        fptosi, fptoui       != 0
    integer       sitofp, uitofp                      extsi, extui,        != 0
                                                      trunci, bitcast
    pointer       -                                   tt.ptr_to_int        address != 0

``tt.fp_to_fp`` has a rounding mode. It is used where ``arith`` has no name for the conversion:
8-bit floats, fp16 from and to bf16, and rounding other than to nearest. fp16 and bf16 reach any
other type by way of fp32. An 8-bit float has no integer form at all, as on the devices.

`fp8e4b15` has no type in MLIR: it is carried as ``i8`` and converted by shifting bits, since its
exponent has the bias of fp16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tilewright.dialects import arith, tt
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.dtypes import (
    block_type,
    dtype,
    float8e4b15,
    float16,
    float32,
    int1,
    int8,
    int16,
    int64,
)
from tilewright.language.tl.literals import constant, splat_to
from tilewright.language.tl.tensor import emit, tensor

_ROUNDING_MODES = ("rtne", "rtz")
_NEAREST = "rtne"
_ADDRESS_BITS = 64
_LARGEST_FP8E4B15 = 1.75

_Cast: TypeAlias = type[arith.CastOp]


def convert(value: tensor, target: dtype, rounding: str | None = None) -> tensor:
    """`value` with elements of `target`; `rounding` is for floats that lose bits."""
    source, target = value.dtype, target.scalar
    if source == target:
        return value
    rounding = _rounding(source, target, rounding)
    if source.is_floating() and target.is_floating():
        return _float_to_float(value, target, rounding)
    if target.is_bool() and not source.is_fp8():
        return _is_nonzero(value)
    if source.is_int() and target.is_int():
        return _integer_to_integer(value, target)
    if source.is_int() and target.is_standard_floating():
        cast: _Cast = arith.SitofpOp if source.is_int_signed() else arith.UitofpOp
        return _emit(cast, value, target)
    if source.is_standard_floating() and target.is_int():
        return _float_to_integer(value, target)
    if source.is_ptr() or target.is_ptr():
        return _pointer(value, target)
    raise TypeError(
        f"cannot cast {value} to {value.type.with_element_ty(target)}: an 8-bit float has no "
        "conversion from or to integers; cast to tl.float32 first"
    )


def bitcast(value: tensor, target: dtype) -> tensor:
    """The bits of `value` as elements of `target`, which has as many."""
    source, target = value.dtype, target.scalar
    if source == target:
        return value
    if source.is_ptr() or target.is_ptr():
        return convert(value, target)
    if source.primitive_bitwidth != target.primitive_bitwidth:
        raise ValueError(
            f"Cannot bitcast data-type of size {source.primitive_bitwidth} to "
            f"data-type of size {target.primitive_bitwidth}: {source} and {target} differ in width"
        )
    result = value.type.with_element_ty(target)
    return emit(tt.BitcastOp(value.handle, result.to_ir()), result)


def integer_cast(value: tensor, target: dtype, *, signed: bool) -> tensor:
    """An integer of another width, the new bits zero unless `signed`; same width, same bits."""
    before, after = value.dtype.int_bitwidth, target.int_bitwidth
    if before == after:
        return _emit(arith.BitcastOp, value, target)
    if before > after:
        return _emit(arith.TrunciOp, value, target)
    return _emit(arith.ExtsiOp if signed else arith.ExtuiOp, value, target)


def _rounding(source: dtype, target: dtype, requested: str | None) -> str | None:
    """How to round, ``None`` where nothing is lost."""
    requested = unwrap(requested)
    if requested is not None and requested not in _ROUNDING_MODES:
        raise ValueError(
            f"Invalid rounding mode: {requested}. Supported rounding modes are 'rtne' and 'rtz'."
        )
    loses_bits = (
        source.is_floating()
        and target.is_floating()
        and target.primitive_bitwidth < source.primitive_bitwidth
    )
    if loses_bits:
        return requested or _NEAREST
    if requested is not None:
        raise ValueError(
            "fp_downcast_rounding should be set only for truncating fp conversions. "
            f"Source scalar type is {source} and destination type is {target}"
        )
    return None


def _emit(cast: _Cast, value: tensor, target: dtype) -> tensor:
    result = value.type.with_element_ty(target)
    return emit(cast(value.handle, result.to_ir()), result)


def _float_to_float(value: tensor, target: dtype, rounding: str | None) -> tensor:
    source = value.dtype
    if {source.name, target.name} == {"fp16", "bf16"}:
        return _fp_to_fp(value, target, _NEAREST)
    if source.is_fp8e4b15():
        return convert(_from_fp8e4b15(value), target)
    if target.is_fp8e4b15():
        return _to_fp8e4b15(value)
    if source.is_fp8() or target.is_fp8() or rounding not in (None, _NEAREST):
        return _fp_to_fp(value, target, rounding)
    if source.primitive_bitwidth == 16 and not target.is_fp32():
        return convert(convert(value, float32), target)
    narrows = target.primitive_bitwidth < source.primitive_bitwidth
    return _emit(arith.TruncfOp if narrows else arith.ExtfOp, value, target)


def _fp_to_fp(value: tensor, target: dtype, rounding: str | None) -> tensor:
    result = value.type.with_element_ty(target)
    return emit(tt.FpToFpOp(value.handle, result.to_ir(), rounding), result)


def _integer_to_integer(value: tensor, target: dtype) -> tensor:
    return integer_cast(value, target, signed=value.dtype.is_int_signed())


def _float_to_integer(value: tensor, target: dtype) -> tensor:
    if value.dtype.primitive_bitwidth == 16:
        return convert(convert(value, float32), target)
    return _emit(arith.FptosiOp if target.is_int_signed() else arith.FptouiOp, value, target)


def _is_nonzero(value: tensor) -> tensor:
    source = value.dtype
    if source.is_ptr():
        return _is_nonzero(convert(value, int64))
    if source.primitive_bitwidth == 16 and source.is_floating():
        return _is_nonzero(convert(value, float32))
    zero = _constant_like(value, 0)
    compare: Operation = (
        arith.CmpfOp("une", value.handle, zero.handle)
        if source.is_floating()
        else arith.CmpiOp("ne", value.handle, zero.handle)
    )
    return emit(compare, value.type.with_element_ty(int1))


def _constant_like(value: tensor, constant_value: int | float) -> tensor:
    """`number` in every element of a tensor of the type of `value`."""
    scalar = constant(constant_value, value.dtype)
    return splat_to(scalar, value.type) if isinstance(value.type, block_type) else scalar


def _pointer(value: tensor, target: dtype) -> tensor:
    source = value.dtype
    result = value.type.with_element_ty(target)
    if source.is_ptr() and target.is_ptr():
        return emit(tt.BitcastOp(value.handle, result.to_ir()), result)
    if source.is_ptr() and target.is_int() and target.int_bitwidth == _ADDRESS_BITS:
        return emit(tt.PtrToIntOp(value.handle), result)
    if target.is_ptr() and source.is_int() and source.int_bitwidth == _ADDRESS_BITS:
        return emit(tt.IntToPtrOp(value.handle, result.to_ir()), result)
    raise TypeError(
        f"cannot cast {value} to {result}: an address has 64 bits; convert by way of tl.int64"
    )


# The format fp8e4b15.


def _from_fp8e4b15(value: tensor) -> tensor:
    """As fp16: the sign to the top, exponent and mantissa to their bits, followed by zeros."""
    bits = integer_cast(tensor(value.handle, value.type.with_element_ty(int8)), int16, signed=False)
    sign = _bits(arith.ShliOp, _bits(arith.AndiOp, bits, 0x80), 8)
    magnitude = _bits(arith.ShliOp, _bits(arith.AndiOp, bits, 0x7F), 7)
    joined = emit(arith.OriOp(sign.handle, magnitude.handle), bits.type)
    return bitcast(joined, float16)


def _to_fp8e4b15(value: tensor) -> tensor:
    """From fp16: limited to the largest number, half of a last place added, the rest cut off."""
    half = convert(value, float16, "rtz") if value.dtype.primitive_bitwidth > 16 else value
    half = convert(half, float16)
    bits = bitcast(half, int16)
    sign = _bits(arith.AndiOp, bits, -0x8000)
    magnitude = bitcast(_bits(arith.AndiOp, bits, 0x7FFF), float16)
    largest = _constant_like(magnitude, _LARGEST_FP8E4B15)
    limited = emit(arith.MinnumfOp(magnitude.handle, largest.handle), magnitude.type)
    doubled = _bits(arith.ShliOp, bitcast(limited, int16), 1)
    rounded = _bits(arith.AddiOp, doubled, 0x80)
    joined = emit(arith.OriOp(sign.handle, rounded.handle), bits.type)
    upper = integer_cast(_bits(arith.ShruiOp, joined, 8), int8, signed=False)
    return tensor(upper.handle, value.type.with_element_ty(float8e4b15))


def _bits(op: Callable[[SSAValue, SSAValue], Operation], value: tensor, mask: int) -> tensor:
    return emit(op(value.handle, _constant_like(value, mask).handle), value.type)
