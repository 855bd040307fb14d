"""Numbers as numbers of another type."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation

from tilewright.targets.cxx.emitter import BIT_AND, EQUAL, OR, UNARY, Emitter, Rule, Text
from tilewright.targets.cxx.flavour import FLOAT, CType
from tilewright.targets.cxx.syntax import bracketed, unsigned


def _cast(emitter: Emitter, op: Operation) -> None:
    """Conversions that C++ does as this op requires."""
    source, result = op.operands[0], op.results[0]
    if emitter.scalar(source.type) == emitter.scalar(result.type):
        emitter.same(result, source)
        return
    emitter.pure(
        result,
        Text(
            converted(
                emitter.scalar(source.type), emitter.scalar(result.type), emitter.operand(source)
            )
        ),
    )


def converted(source: CType, target: CType, text: str) -> str:
    """A value as one of another type.

    Types without arithmetic have no conversion between them. CUDA's two types of 16 bits have one,
    `cvt.rn.f16.bf16`, which ptxas 13.0 drops before a conversion to an integer: the bits of one
    type are then read as the other. Both kinds go through `float`, which is exact.
    """
    is_direct = source.has_arithmetic or target.has_arithmetic
    is_dropped = source.is_float and target.is_float and source.bits == target.bits == _SMALL
    is_refused = target.from_float and not source.is_float
    inner = text if is_direct and not is_dropped and not is_refused else f"float({text})"
    return f"{bracketed(target.name)}({inner})"


_SMALL = 16


def _cast_unsigned(emitter: Emitter, op: Operation) -> None:
    """As `_cast`, from a number without a sign."""
    source, result = op.operands[0], op.results[0]
    type = source.type
    target, bits = emitter.scalar(result.type), emitter.scalar(type).bits
    if isinstance(type, IntegerType) and type.width.data == 1:
        if target.from_float:
            text = f"{emitter.operand(source, OR)} ? 1.0f : 0.0f"
            emitter.pure(result, Text(f"{target.name}({text})"))
        else:
            _cast(emitter, op)
        return
    inner = f"({unsigned(bits)})({emitter.operand(source)})"
    emitter.pure(result, Text(converted(CType(unsigned(bits), bits), target, inner)))


def _to_signed(emitter: Emitter, op: Operation) -> None:
    """A float to a number with a sign.

    C++ converts `float` and `double` to 32 bits and keeps the low ones for a narrower type. The
    casts of smaller floats are functions of CUDA's headers that saturate: these go through `float`.
    """
    source, result = op.operands[0], op.results[0]
    type = emitter.scalar(result.type)
    if max(type.bits, emitter.scalar(source.type).bits) < FLOAT.bits:
        text = f"{bracketed(type.name)}(float({emitter.operand(source)}))"
        emitter.pure(result, Text(text))
        return
    _cast(emitter, op)


def _to_unsigned(emitter: Emitter, op: Operation) -> None:
    """A float to a number without a sign; small floats, which are exact in `float`, through it."""
    source, result = op.operands[0], op.results[0]
    type = emitter.scalar(result.type)
    text = emitter.operand(source)
    if emitter.scalar(source.type).bits < FLOAT.bits:
        text = f"float({text})"
    text = f"({unsigned(type.bits)})({text})"
    emitter.pure(result, Text(f"{bracketed(type.name)}({text})"))


def _sign_extend(emitter: Emitter, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    type = source.type
    if isinstance(type, IntegerType) and type.width.data == 1:
        name = bracketed(emitter.scalar(result.type).name)
        emitter.pure(result, Text(f"-{name}({emitter.operand(source)})", UNARY))
        return
    _cast(emitter, op)


def _truncate(emitter: Emitter, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    if isinstance(result.type, IntegerType) and result.type.width.data == 1:
        text = f"({emitter.operand(source, BIT_AND)} & 1) != 0"
        emitter.pure(result, Text(text, EQUAL))
        return
    _cast(emitter, op)


def _bitcast(emitter: Emitter, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    if source.type == result.type:
        emitter.same(result, source)
        return
    target = emitter.scalar(result.type)
    emitter.uses.functions.setdefault("bits_as")
    emitter.pure(result, Text(f"tw::bits_as<{target.name}>({emitter.operand(source)})"))


RULES: Mapping[str, Rule] = {
    "arith.extf": _cast,
    "arith.truncf": _cast,
    "arith.sitofp": _cast,
    "arith.uitofp": _cast_unsigned,
    "arith.fptosi": _to_signed,
    "arith.fptoui": _to_unsigned,
    "arith.extsi": _sign_extend,
    "arith.extui": _cast_unsigned,
    "arith.trunci": _truncate,
    "arith.index_cast": _cast,
    "arith.index_castui": _cast_unsigned,
    "arith.bitcast": _bitcast,
}
