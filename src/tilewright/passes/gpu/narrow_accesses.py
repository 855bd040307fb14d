"""Remarks on accesses to global memory that are narrower than a thread could make them.

    remark[TW3010]: access to A not fully vectorised: read 1 element (2 bytes) at a time instead
    of 8 (16 bytes): the stride of dimension 0 of A is 202 bytes, not a multiple of 16

Accesses of 16 bytes begin at multiples of 16 bytes. A row that begins elsewhere costs them all.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.tensors.tensor_geometry import (
    Known,
    address_bytes,
    declared_strides,
    element_bytes,
    uneven_start,
    uneven_stride,
)
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine, locate

NARROW = "TW3010"
_UNIT_BITS = 128
_SHIFTED_BITS = (8, 16)
"""Elements that are narrow enough for loads of one each to cost more than a shift."""


def unaligned(tensor: SSAValue, lanes: int, at: Operation, known: Known) -> str | None:
    """Why not every row begins at a multiple of `lanes` elements; None if all do."""
    start = uneven_start(tensor, lanes * element_bytes(tensor), at, known)
    return start or uneven_stride(tensor, lanes, at, known)


def is_shifted(tensor: SSAValue, lanes: int) -> bool:
    """Whether loads of `lanes` elements of a tensor may begin anywhere: in two aligned accesses."""
    bits, shape = bit_width(element_type_of(tensor.type)), shape_of(tensor.type)
    if bits not in _SHIFTED_BITS or lanes * bits != _UNIT_BITS:
        return False
    if not isinstance(tensor, BlockArgument) or address_bytes(tensor) * 8 % _UNIT_BITS:
        return False  # the unit of its first element may begin before it
    if DYNAMIC_INDEX in shape or declared_strides(tensor) is not None:
        return False
    return prod(shape) >= 2 * lanes


def remark_shifted(
    op: Operation, tensor: SSAValue, lanes: int, reason: str, engine: DiagnosticEngine
) -> None:
    """Report loads that are wide, but take two accesses and a shift; once per source line."""
    message = (
        f"access to {_name(tensor)} not aligned: {lanes} elements ({_bytes(tensor, lanes)} bytes) "
        f"are read in two aligned accesses and shifted, 1 element at a time where the tensor "
        f"ends: {reason}"
    )
    _remark_once(op, message, engine)


def remark_narrow(
    op: Operation,
    done: str,
    tensor: SSAValue,
    lanes: int,
    widest: int,
    reason: str,
    engine: DiagnosticEngine,
) -> None:
    """Report accesses of `lanes` elements where `widest` are possible; once per source line."""
    elements = "element" if lanes == 1 else "elements"
    message = (
        f"access to {_name(tensor)} not fully vectorised: {done} {lanes} {elements} "
        f"({_bytes(tensor, lanes)} bytes) at a time instead of {widest} "
        f"({_bytes(tensor, widest)} bytes): {reason}"
    )
    _remark_once(op, message, engine)


def remark_tested(
    op: Operation, done: str, tensor: SSAValue, lanes: int, reason: str, engine: DiagnosticEngine
) -> None:
    """Report accesses that are wide if the run shows that they may be; once per source line."""
    message = (
        f"access to {_name(tensor)} vectorised under a run-time test: {done} {lanes} elements "
        f"({_bytes(tensor, lanes)} bytes) at a time where all of them are inside and aligned, "
        f"1 elsewhere: {reason}"
    )
    _remark_once(op, message, engine)


def _remark_once(op: Operation, message: str, engine: DiagnosticEngine) -> None:
    location = locate(op)
    known = (each for each in engine.diagnostics if each.code == NARROW)
    if not any(each.message == message and each.location == location for each in known):
        engine.remark(location, message, NARROW)


def _name(tensor: SSAValue) -> str:
    return tensor.name_hint or "the tensor"


def _bytes(tensor: SSAValue, elements: int) -> int:
    return elements * bit_width(element_type_of(tensor.type)) // 8
