"""Dots of blocks.

`dot` multiplies [M, K] by [K, N] and adds an accumulator; blocks of more dimensions hold a matrix
for every index of the leading ones. Integers are summed in `int32`, floats in fp32 (fp64 for
fp64, fp16 if requested). How much of an fp32 operand a tensor core looks at is `input_precision`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from tilewright.dialects.tt import DotOp
from tilewright.language.tl.constants import scalar_constant, splat
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.dtypes import (
    bfloat16,
    block_type,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int32,
    uint8,
)
from tilewright.language.tl.options import current_options
from tilewright.language.tl.shape import reshape_value
from tilewright.language.tl.tensor import emit, tensor

_UNSAID = "unsaid"
"""Stands for a precision that the user did not mention; None is one that was mentioned, and for
Triton no permission to use tf32."""

_OPERANDS = (int8, uint8, float16, bfloat16, float32, float64)


def dot(
    input: tensor,
    other: tensor,
    acc: tensor | None = None,
    input_precision: str | None = _UNSAID,
    allow_tf32: bool | str | None = _UNSAID,
    max_num_imprecise_acc: int | None = None,
    out_dtype: dtype | None = None,
    two_ctas: bool = False,
) -> tensor:
    """The dot of two matrices, or of two batches of them, added to `acc`.

    input_precision: how fp32 operands go through tensor cores: "tf32" (the default where there
        is such a thing), "tf32x3", "ieee", "bf16x3" or "bf16x6"; None is up to the target.
        `allow_tf32` is its predecessor; an explicit None is False.
    two_ctas: let two CTAs of a cluster share the right operand (TLX, Blackwell). Here each CTA has
        its own, which computes the same.
    max_num_imprecise_acc: how many fp8 multiplications may be accumulated in fewer bits.
    out_dtype: the type of the result, that of `acc` or `float32` by default.
    """
    precision = _input_precision(input_precision, allow_tf32)
    lhs, rhs = check_block(input), check_block(other)
    shape = _dot_shape(lhs.shape, rhs.shape)
    if acc is not None and acc.shape != shape:
        raise ValueError(
            f"accumulator shape is incompatible: {list(lhs.shape)} times {list(rhs.shape)} is "
            f"{list(shape)}, but acc has shape {list(acc.shape)}"
        )
    if len(shape) <= 3:
        return _dot(lhs, rhs, acc, precision, max_num_imprecise_acc, out_dtype)
    lhs, rhs = _one_batch(lhs), _one_batch(rhs)
    acc = None if acc is None else _one_batch(acc)
    result = _dot(lhs, rhs, acc, precision, max_num_imprecise_acc, out_dtype)
    return reshape_value(result, shape)


def check_block(operand: tensor) -> tensor:
    if not isinstance(operand, tensor) or not operand.type.is_block():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"dot operands must be block tensors (not scalars), got {operand}")
    return operand


def _input_precision(precision: str | None, allow_tf32: bool | str | None) -> str:
    target = current_options().target
    if precision == _UNSAID:
        # The marker for an omitted argument is true as well.
        return "tf32" if allow_tf32 and "tf32" in target.dot_precisions else "ieee"
    if allow_tf32 != _UNSAID:
        raise ValueError("Only one of input_precision and allow_tf32 can be specified")
    if precision is None:
        return target.default_dot_precision
    name = precision.lower()
    if name not in target.dot_precisions:
        raise ValueError(
            f"input_precision must be one of {', '.join(target.dot_precisions)} on {target}. "
            f"Got {precision}"
        )
    return name


def _dot_shape(lhs: Sequence[int], rhs: Sequence[int]) -> tuple[int, ...]:
    if len(lhs) != len(rhs) or len(lhs) < 2:
        raise ValueError(
            f"input and other must have equal ranks >= 2, got shapes {list(lhs)} and {list(rhs)}"
        )
    if tuple(lhs[:-2]) != tuple(rhs[:-2]):
        raise ValueError(
            f"input and other must have equal batch shapes, got {list(lhs)} and {list(rhs)}"
        )
    if lhs[-1] != rhs[-2]:
        raise ValueError(
            "input and other must have equal reduction dimensions: the last of "
            f"{list(lhs)} is {lhs[-1]}, the one before the last of {list(rhs)} is {rhs[-2]}"
            + ("; did you mean tl.trans(other)?" if lhs[-1] == rhs[-1] else "")
        )
    return (*lhs[:-1], rhs[-1])


def _one_batch(operand: tensor) -> tensor:
    """All leading dimensions as one."""
    shape = operand.shape
    count = 1
    for extent in shape[:-2]:
        count *= extent
    return reshape_value(operand, (count, *shape[-2:]))


def _dot(
    lhs: tensor,
    rhs: tensor,
    acc: tensor | None,
    precision: str,
    max_num_imprecise_acc: int | None,
    out_dtype: dtype | None,
) -> tensor:
    _check_operands(lhs.dtype, rhs.dtype)
    lhs, rhs = _native_operands(lhs, rhs)
    out_dtype = out_dtype or (float32 if acc is None else acc.dtype)
    _check_extents(lhs, rhs)
    element = _result_element(lhs.dtype, out_dtype)
    type = block_type(element, _dot_shape(lhs.shape, rhs.shape))
    accumulator = accumulator_of(acc, type, out_dtype)
    op = DotOp(
        lhs.handle,
        rhs.handle,
        accumulator.handle,
        input_precision=precision,
        max_num_imprecise_acc=_imprecise(lhs, rhs, max_num_imprecise_acc),
    )
    return emit(op, type)


def _check_operands(lhs: dtype, rhs: dtype) -> None:
    if lhs.is_fp8() and rhs.is_fp8():
        return
    for side, element, other in (("lhs", lhs, rhs), ("rhs", rhs, lhs)):
        if element not in _OPERANDS:
            known = ", ".join(map(str, _OPERANDS))
            raise TypeError(
                f"Unsupported {side} dtype {element}; a dot takes {known} and fp8: convert it with "
                + (f".to({other!r})" if other in _OPERANDS else ".to(tl.int8) or .to(tl.float32)")
            )
    if lhs != rhs:
        raise TypeError(
            f"Both operands must be same dtype. Got {lhs} and {rhs}: convert one of them, with "
            f".to({lhs!r}) or .to({rhs!r})"
        )


def _native_operands(lhs: tensor, rhs: tensor) -> tuple[tensor, tensor]:
    """8-bit floats that the GPU cannot multiply as fp16."""
    names = {lhs.dtype.name, rhs.dtype.name}
    deprecated = names.intersection(current_options().target.deprecated_dot_types)
    if deprecated:
        warnings.warn(
            f"operands of type {', '.join(sorted(deprecated))} are converted to fp16 on "
            f"{current_options().target}, which is slow",
            stacklevel=2,
        )
    # fp8e4b15 has no type of its own in the IR, so no op could multiply it.
    if deprecated or "fp8e4b15" in names:
        return convert(lhs, float16), convert(rhs, float16)
    return lhs, rhs


def _check_extents(lhs: tensor, rhs: tensor) -> None:
    m, n, k = current_options().target.min_dot_size(lhs.dtype.primitive_bitwidth)
    if lhs.shape[-2] < m or rhs.shape[-1] < n or lhs.shape[-1] < k:
        raise ValueError(
            f"Input shapes should have M >= {m}, N >= {n} and K >= {k}: got M = {lhs.shape[-2]}, "
            f"N = {rhs.shape[-1]}, K = {lhs.shape[-1]}. Use larger blocks padded with zeros "
            "(mask=, other=0.0), or tl.sum(a[:, :, None] * b[None, :, :], axis=1)"
        )


def _result_element(operand: dtype, out_dtype: dtype) -> dtype:
    if operand.is_int():
        if operand != int8:
            raise TypeError(f"only int8 supported! The operands are {operand}: use .to(tl.int8)")
        return int32
    if out_dtype.is_bf16():
        raise ValueError(
            "out_dtype=bfloat16 is unsupported. Please use out_dtype=float32/float16 and cast with "
            "`.to(tl.bfloat16)`"
        )
    if operand in (float32, bfloat16):
        return float32
    if operand == float64:
        return float64
    if out_dtype not in (float16, float32):
        raise TypeError(
            f"a dot of {operand} accumulates in fp32 or fp16, got out_dtype={out_dtype}"
        )
    return out_dtype


def accumulator_of(acc: tensor | None, type: block_type, out_dtype: dtype) -> tensor:
    """The accumulator: `acc`, which must have the result type, or zeros."""
    if acc is None:
        return splat(scalar_constant(0, type.scalar), type.shape)
    if acc.shape != type.shape:
        raise ValueError(f"expected accumulator shape {list(type.shape)}, got {list(acc.shape)}")
    if acc.dtype != out_dtype:
        raise TypeError(
            f"expected accumulator dtype {out_dtype}, got {acc.dtype}; pass "
            f"out_dtype={acc.dtype!r} to use this accumulator dtype"
        )
    if acc.dtype != type.scalar:
        raise TypeError(
            f"expected accumulator dtype {type.scalar} for these operands, got {acc.dtype}: make "
            f"it with dtype={type.scalar!r} and convert the result"
        )
    return acc


def _imprecise(lhs: tensor, rhs: tensor, requested: int | None) -> int:
    are_fp8 = lhs.dtype.is_fp8() and rhs.dtype.is_fp8()
    if requested is None:
        return current_options().target.max_num_imprecise_acc if are_fp8 else 0
    if are_fp8 and requested > lhs.shape[-1]:
        raise ValueError(f"max_num_imprecise_acc ({requested}) must be <= K ({lhs.shape[-1]})")
    return requested
