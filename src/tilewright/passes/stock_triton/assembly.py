"""Inline assembly, in the two ways that stock Triton has it.

``tt.elementwise_inline_asm`` is known to all releases and takes scalars only. ``ttg.inline_asm``
(from 3.9) takes buffers as well, as addresses of shared or tensor memory, and needs no result.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.arith import ExtuiOp
from tilewright.dialects.tt import ElementwiseInlineAsmOp
from tilewright.dialects.ttg.program import InlineAsmOp

FIRST_WITH_ADDRESSES = (3, 9)
"""The first release whose inline assembly takes buffers."""

_MEMORY = "~{memory}"


def scalar_assembly(
    text: str,
    arguments: Sequence[SSAValue] = (),
    result: Attribute = i32,
    constraint: str = "=r",
    *,
    pure: bool = False,
) -> ElementwiseInlineAsmOp:
    """Assembly on scalars; ``$0`` is the result, which `text` must set."""
    inputs = ["r"] * len(arguments)
    clobbers = [] if pure else [_MEMORY]
    constraints = ",".join([constraint, *inputs, *clobbers])
    return ElementwiseInlineAsmOp(text, constraints, list(arguments), [result], pure=pure)


def address_assembly(text: str, arguments: Sequence[SSAValue]) -> InlineAsmOp:
    """Assembly on addresses and 32-bit scalars, without result."""
    constraints = ",".join([*["r"] * len(arguments), _MEMORY])
    return InlineAsmOp(text, constraints, list(arguments), [], pure=False)


def as_integer(value: SSAValue) -> ExtuiOp:
    """A truth value as 0 or 1, which assembly compares with 0."""
    return ExtuiOp(value, i32)


def braced(*lines: str) -> str:
    """Lines with registers of their own."""
    return "{ " + " ".join(lines) + " }"
