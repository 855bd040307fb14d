"""Which layouts the operands and the result of a dot may have together."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Attribute

from tilewright.dialects.ttg.distributed import DotOperandEncoding
from tilewright.dialects.ttg.mma import AmdWmmaEncoding, NvidiaMmaEncoding
from tilewright.dialects.ttg.shared import NvmmaSharedEncoding, SharedLinearEncoding


def dot_problem(result: Attribute, a: Attribute, b: Attribute) -> str | None:
    """Why a dot of operands in layouts `a` and `b` cannot have layout `result`."""
    for index, operand in enumerate((a, b)):
        problem = _operand_problem(result, operand, index)
        if problem is not None:
            return problem
    return _pair_problem(result, a, b)


def _operand_problem(result: Attribute, operand: Attribute, index: int) -> str | None:
    if isinstance(result, NvidiaMmaEncoding) and result.is_hopper:
        in_registers = (
            index == 0
            and isinstance(operand, DotOperandEncoding)
            and operand.op_idx == 0
            and isinstance(operand.parent, NvidiaMmaEncoding)
        )
        if in_registers or isinstance(operand, NvmmaSharedEncoding | SharedLinearEncoding):
            return None
        return "unexpected operand layout for NvidiaMmaEncodingAttr v3"
    if not isinstance(operand, DotOperandEncoding):
        return "Dot's a/b's encoding should be of DotOperandEncodingAttr"
    if operand.op_idx != index:
        return "Wrong opIdx"
    if operand.parent != result and not _differ_in_cga_only(operand.parent, result):
        return "Incompatible parent encoding"
    return None


def _differ_in_cga_only(one: Attribute, other: Attribute) -> bool:
    """Whether two WMMA layouts differ at most in how CTAs share the tensor, as operands may."""
    if not isinstance(one, AmdWmmaEncoding) or not isinstance(other, AmdWmmaEncoding):
        return False
    return replace(one, cga_layout=other.cga_layout) == other


def _pair_problem(result: Attribute, a: Attribute, b: Attribute) -> str | None:
    if not isinstance(a, DotOperandEncoding) and not isinstance(b, DotOperandEncoding):
        return None
    if not isinstance(a, DotOperandEncoding) or not isinstance(b, DotOperandEncoding):
        return "mismatching encoding between A and B operands"
    if a.k_width != b.k_width:
        return "mismatching kWidth between A and B operands"
    layouts = (a.parent, b.parent, result)
    versions = [each.version_major for each in layouts if isinstance(each, NvidiaMmaEncoding)]
    if len(versions) not in (0, len(layouts)):
        return "mismatching MMA encoding"
    return "mismatched MMA version." if len(set(versions)) > 1 else None
