"""Write down what instructions demand of the layouts of their operands.

The front end wraps the operands of matrix instructions in ``tlx.require_layout`` already, but a
task may have another number of warps than the layout is for, or too many for its rows. After this
pass

* the accumulator of every ``ttng.warp_group_dot`` has a wgmma layout for the warps that execute it,
  a register operand the operand layout to match;
* tensors that go to or come from tensor memory have a placeholder for a layout that it allows;
* on AMD GPUs, operands of MFMA and WMMA have requirements, and the buffers they are read from
  (``require_operands``).

A warp group, four warps, computes 64 rows; further groups take further rows, and once those are
shared out, columns::

    accumulator   warps     warpsPerCTA   instruction
    64 x 256      4         4 x 1         16 x 256
    128 x 128     8         8 x 1         16 x 128
    64 x 256      8         4 x 2         16 x 128
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tlx import ReleaseLayoutOp, RequireLayoutOp
from tilewright.dialects.tlx.attributes import DummyRegisterLayout, NoVerifyLayout
from tilewright.dialects.ttg.context import num_warps_at
from tilewright.dialects.ttg.distributed import DotOperandEncoding
from tilewright.dialects.ttg.mma import NvidiaMmaEncoding
from tilewright.dialects.ttng import (
    TMEMLoadOp,
    TMEMStoreOp,
    WarpGroupDotOp,
)
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.dialects.type_utils import (
    bit_width,
    element_type_of,
    encoding_of,
    is_tensor,
    shape_of,
    with_encoding,
)
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tlx.require_operands import require_operands

NO_WGMMA = "TW2044"

WARP_GROUP = 4
_GROUP_ROWS = 64
_WARP_ROWS = 16
_MAX_COLUMNS = 256
_INSTRUCTION_DEPTH_BITS = 256


@dataclass(frozen=True)
class InsertRequireLayout(Pass):
    """Write down what instructions demand of layouts."""

    name = "tlx-insert-require-layout"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        require_operands(module, rewriter)
        for op in list(walk(module)):
            match op:
                case WarpGroupDotOp():
                    _require_wgmma(op, rewriter, engine)
                case TMEMLoadOp():
                    _release_loaded(op, rewriter)
                case TMEMStoreOp():
                    _require_stored(op, rewriter)
                case _:
                    pass


# -- Hopper's matrix instruction -----------------------------------------------------------------


def wgmma_layout(
    shape: tuple[int, ...], num_warps: int, operand_bits: int, is_integer: bool = False
) -> NvidiaMmaEncoding | None:
    """The layout of an accumulator of `shape` that `num_warps` warps compute, or None."""
    rows, columns = shape
    if num_warps % WARP_GROUP or rows % _GROUP_ROWS:
        return None
    groups = num_warps // WARP_GROUP
    down = min(groups, rows // _GROUP_ROWS)
    across = groups // down
    width = min(_MAX_COLUMNS, columns // across)
    # Integer MMAs come in fewer widths: beyond 32, multiples of 16.
    step = 16 if is_integer and width > 32 else 8
    while width >= 8 and ((columns // across) % width or width % step):
        width -= 8
    if width < 8:
        return None
    return NvidiaMmaEncoding(
        version_major=3,
        version_minor=0,
        warps_per_cta=(WARP_GROUP * down, across),
        instr_shape=(_WARP_ROWS, width, _INSTRUCTION_DEPTH_BITS // operand_bits),
    )


def _require_wgmma(op: WarpGroupDotOp, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    found = encoding_of(op.d.type)
    warps = num_warps_at(op) or WARP_GROUP
    has = None if found is None else unwrapped(found)
    if not isinstance(has, NvidiaMmaEncoding) or not _suits(has, shape_of(op.d.type), warps):
        element = element_type_of(op.b.type)
        required = wgmma_layout(
            shape_of(op.d.type), warps, bit_width(element), isinstance(element, IntegerType)
        )
        if required is None:
            rows, columns = shape_of(op.d.type)
            engine.error(
                op,
                f"no wgmma layout for {rows} x {columns} and {warps} warps: groups of {WARP_GROUP} "
                f"warps and multiples of {_GROUP_ROWS} rows are required",
                NO_WGMMA,
            )
            return
        _give_layout(op, required, rewriter)


def _suits(layout: NvidiaMmaEncoding, shape: tuple[int, ...], warps: int) -> bool:
    """Whether `warps` warps can have an accumulator of `shape` in `layout`."""
    if layout.num_warps != warps or not layout.is_hopper:
        return False
    rows = layout.warps_per_cta[0] * _WARP_ROWS
    return rows <= shape[0] or warps == WARP_GROUP


def _give_layout(op: WarpGroupDotOp, layout: NvidiaMmaEncoding, rewriter: Rewriter) -> None:
    """Let `op` compute in `layout`."""
    accumulator = _required(op, _origin(op.c), layout, rewriter)
    op.operands[list(op.operands).index(op.c)] = accumulator
    if is_tensor(op.a.type):
        operand = DotOperandEncoding(op_idx=0, parent=layout, k_width=32 // bit_width(op.a.type))
        op.operands[0] = _required(op, _origin(op.a), operand, rewriter)
    result = rewriter.retype(op.d, accumulator.type)
    # The front end releases the layout after the waits.
    for use in list(result.uses):
        _retype_waits(use.operation, use.index, accumulator.type, rewriter)


def _retype_waits(op: Operation, index: int, type: Attribute, rewriter: Rewriter) -> None:
    if op.name != "ttng.warp_group_dot_wait":
        return
    result = rewriter.retype(op.results[index], type)
    for use in list(result.uses):
        _retype_waits(use.operation, use.index, type, rewriter)


def _origin(value: SSAValue) -> SSAValue:
    """What was required, if `value` is the outcome of a requirement."""
    owner = value.owner
    return owner.src if isinstance(owner, RequireLayoutOp) else value


def _required(op: Operation, value: SSAValue, layout: Attribute, rewriter: Rewriter) -> SSAValue:
    found = RequireLayoutOp(value, NoVerifyLayout(layout))
    rewriter.insert_before(op, found)
    return found.result


# -- tensor memory -------------------------------------------------------------------------------


def _dummy(type: Attribute) -> DummyRegisterLayout:
    return DummyRegisterLayout(shape_of(type), element_type_of(type), True)


def _release_loaded(op: TMEMLoadOp, rewriter: Rewriter) -> None:
    type = op.result.type
    if not is_tensor(type) or encoding_of(type) is not None:
        return
    result = rewriter.retype(op.result, with_encoding(type, _dummy(type)))
    release = ReleaseLayoutOp(result)
    rewriter.insert_after(op, release)
    for use in list(result.uses):
        if use.operation is not release:
            use.operation.operands[use.index] = release.result


def _require_stored(op: TMEMStoreOp, rewriter: Rewriter) -> None:
    type = op.src.type
    if not is_tensor(type) or encoding_of(type) is not None:
        return
    found = RequireLayoutOp(op.src, _dummy(type))
    rewriter.insert_before(op, found)
    op.operands[list(op.operands).index(op.src)] = found.result
