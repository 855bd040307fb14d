"""Numbers and dense constants: hex literals are bits, uniform values stay a splat."""

# pyright: reportPrivateUsage=false, reportIncompatibleMethodOverride=false
# Overriding private methods of a pinned xDSL is this package's purpose.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    RankedStructure,
    TensorType,
    VectorType,
    f64,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.lexer import Span

from tilewright.ir.text.floats import float_from_bits, rounded
from tilewright.ir.text.literals import SplatElementsAttr, float_attribute, scalar_attribute
from tilewright.ir.text.location_parser import LocationParser

_INTEGER_AS_FLOAT = "unexpected decimal integer literal for a floating point value"
_MAX_COMPLEX = 1 << 16
"""Elements of a complex constant, which is stored element by element."""


class LiteralParser(LocationParser):
    """Parses numbers with their types, and ``dense<...>``."""

    def parse_optional_builtin_int_or_float_attr(self) -> Any:
        if (boolean := self.try_parse_builtin_boolean_attr()) is not None:
            return boolean
        start = self._current_token
        is_hex = start.text[:2] == "0x"
        value = self.parse_optional_number()
        if value is None:
            return None
        if self.parse_optional_punctuation(":") is None:
            return FloatAttr(value, f64) if isinstance(value, float) else IntegerAttr(value, i64)
        type = self.parse_type()
        if isinstance(type, AnyFloat) and is_hex:
            return float_attribute(self._bits_to_float(int(value), type, start.span), type)
        if isinstance(type, AnyFloat):
            if not isinstance(value, float):
                self.raise_error(_INTEGER_AS_FLOAT, start.span)
            return FloatAttr(rounded(value, type), type)
        if not isinstance(type, (IntegerType, IndexType)):
            self.raise_error(f"a numeric literal cannot have type '{type}'", start.span)
        if isinstance(value, float):
            self.raise_error("floating point value not valid for specified type", start.span)
        return self._integer_attribute(value, type, start.span)

    def _integer_attribute(
        self, value: int, type: IntegerType | IndexType, span: Span
    ) -> IntegerAttr:
        if isinstance(type, IntegerType):
            bits = type.width.data
            if not -(1 << max(bits - 1, 0)) <= value < (1 << bits):
                self.raise_error("integer constant out of range for attribute", span)
        return IntegerAttr(value, type)

    def _bits_to_float(self, bits: int, type: AnyFloat, span: Span) -> float:
        try:
            return float_from_bits(bits, type)
        except ValueError as error:
            self.raise_error(str(error), span)

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> Any:
        """``dense<...>``, with hex literals read as bits and uniform values stored as a splat."""
        start = self._current_token.span
        self.parse_punctuation("<", " in dense attribute")
        literal: str | tuple[list[Any], list[int]]
        if self.parse_optional_punctuation(">") is not None:
            literal = ([], [0])
        else:
            text = self.parse_optional_str_literal()
            literal = text if text is not None else self._parse_tensor_literal()
            self.parse_punctuation(">", " in dense attribute")
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_dense_literal_type()
        if not isinstance(type, (TensorType, VectorType)):
            self.raise_error("expected a tensor or vector type for a dense attribute", start)
        if isinstance(literal, str):
            return self._dense_from_hex(literal, type, start)
        return self._dense_from_elements(*literal, type, start)

    def _dense_from_hex(self, text: str, type: Any, span: Span) -> Attribute:
        try:
            raw = bytes.fromhex(text.removeprefix("0x"))
        except ValueError:
            self.raise_error("expected a string of hexadecimal digits in a dense attribute", span)
        size = type.element_type.compile_time_size
        count = _element_count(type)
        if len(raw) == size:
            return self._splat(self._from_bytes(raw, type.element_type), type)
        if len(raw) != size * count:
            self.raise_error(
                f"dense attribute holds {len(raw)} bytes, but its type needs {size * count}", span
            )
        element = type.element_type
        if isinstance(element, AnyFloat):  # bytes as they are: NaNs keep their bits
            if raw == raw[:size] * count:
                return self._splat(self._from_bytes(raw[:size], element), type)
            return DenseIntOrFPElementsAttr(type, BytesAttr(raw))
        return self._dense(element.unpack(raw, count), type)

    def _from_bytes(self, raw: bytes, element: Any) -> Any:
        if isinstance(element, AnyFloat):
            return float_from_bits(int.from_bytes(raw, "little"), element)
        return element.unpack(raw, 1)[0]

    def _dense_from_elements(
        self, elements: list[Any], shape: list[int], type: Any, span: Span
    ) -> Attribute:
        values = [self._dense_element(element, type.element_type) for element in elements]
        if not shape:
            return self._splat(values[0], type)
        if list(type.get_shape()) != shape and _element_count(type) + len(values) > 0:
            self.raise_error(
                f"inferred shape of elements literal ({_shape(shape)}) does not match type "
                f"({_shape(type.get_shape())})",
                span,
            )
        return self._dense(values, type)

    def _dense_element(self, element: Any, type: Any) -> Any:
        is_hex = element.span.text.lstrip("-")[:2] == "0x"
        if is_hex and isinstance(type, AnyFloat):
            return self._bits_to_float(int(element.value), type, element.span)
        if isinstance(type, AnyFloat) and isinstance(element.value, int):
            self.raise_error(_INTEGER_AS_FLOAT, element.span)
        value = element.to_type(self, type)
        if isinstance(type, AnyFloat):
            return rounded(value, type)
        if isinstance(type, IntegerType):
            return self._integer_attribute(value, type, element.span).value.data
        return value

    def _dense(self, values: Sequence[Any], type: Any) -> Attribute:
        if values and sum(1 for _ in groupby(map(repr, values))) == 1:
            return self._splat(values[0], type)
        return DenseIntOrFPElementsAttr.from_list(type, list(values))

    def _splat(self, value: Any, type: Any) -> Attribute:
        if isinstance(value, tuple):  # complex numbers: not worth a splat of their own
            if _element_count(type) > _MAX_COMPLEX:
                self.raise_error(f"a complex constant may have {_MAX_COMPLEX} elements at most")
            values = [cast("Any", value)] * _element_count(type)
            return DenseIntOrFPElementsAttr.from_list(type, values)
        return SplatElementsAttr(scalar_attribute(value, type.element_type), type)


def _element_count(type: Any) -> int:
    count = 1
    for extent in type.get_shape():
        count *= extent
    return count


def _shape(extents: Iterable[int]) -> str:
    return "[" + ", ".join(map(str, extents)) + "]"
