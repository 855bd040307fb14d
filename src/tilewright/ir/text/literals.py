"""Dense constants that stay splats.

A splat, ``dense<0.0> : tensor<128x128xf32>``, is one scalar and a type. xDSL would expand it to
64 KiB; ``SplatElementsAttr`` does not, and prints back in
the form it came in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    FloatData,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, BuiltinAttribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

ScalarAttr: TypeAlias = IntegerAttr | FloatAttr


@irdl_attr_definition
class SplatElementsAttr(ParametrizedAttribute, BuiltinAttribute):
    """``dense<value> : type`` with one value for all elements."""

    name = "builtin.dense_splat"

    value: Attribute
    type: Attribute

    @classmethod
    def get(cls, scalar: int | float | bool, type: TensorType | VectorType) -> SplatElementsAttr:
        return cls(scalar_attribute(scalar, type.element_type), type)

    @property
    def scalar(self) -> ScalarAttr:
        assert isinstance(self.value, (IntegerAttr, FloatAttr))
        return self.value

    @property
    def shape(self) -> Sequence[int]:
        assert isinstance(self.type, (TensorType, VectorType))
        return self.type.get_shape()

    def verify(self) -> None:
        if not isinstance(self.type, (TensorType, VectorType)):
            raise VerifyException("a dense splat needs a tensor or vector type")
        if not isinstance(self.value, (IntegerAttr, FloatAttr)):
            raise VerifyException("a dense splat holds an integer or a float")
        if self.value.type != self.type.element_type:
            raise VerifyException("a dense splat's value has the type of the elements")

    def print_builtin(self, printer: Printer) -> None:
        printer.print_string("dense<")
        print_scalar(self.scalar, printer)
        printer.print_string("> : ")
        printer.print_attribute(self.type)


def print_scalar(scalar: ScalarAttr, printer: Printer) -> None:
    """The scalar's value without its type."""
    if isinstance(scalar, IntegerAttr):
        printer.print_int(scalar.value.data, scalar.type)
    else:
        printer.print_float(scalar.value.data, scalar.type)


def float_attribute(value: float, type: AnyFloat) -> FloatAttr:
    """`value` as an attribute; xDSL's constructor would make every NaN of a type the same."""
    if math.isnan(value):
        return FloatAttr.new((FloatData(value), type))
    return FloatAttr(value, type)


@lru_cache(maxsize=4096)
def _index_attribute(value: int) -> IntegerAttr[IndexType]:
    """Kernels are full of the same few indices."""
    return IntegerAttr(value, IndexType())


def scalar_attribute(value: int | float | bool, type: Attribute) -> ScalarAttr:
    """`value` as an attribute of the scalar type `type`."""
    if isinstance(type, AnyFloat):
        return float_attribute(float(value), type)
    if isinstance(type, IndexType):
        return _index_attribute(int(value))
    if isinstance(type, IntegerType):
        return IntegerAttr(int(value), type)
    raise ValueError(f"no literal has type {type}")
