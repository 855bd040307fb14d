"""Kernels of ``tlx`` in the form that is raised.

    captures       tasks use the values around them: partitions have no arguments
    layouts        what ``tlx`` requires of layouts is dropped; they are inferred again
    waits          ``ttng.warp_group_dot_wait`` forwards nothing: GEMMs work in place

Layouts that a user chose stay, and refuse the kernel.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tlx import ReleaseLayoutOp, RequireLayoutOp
from tilewright.dialects.tlx.attributes import DummyRegisterLayout, UserLayout, is_unverified
from tilewright.dialects.ttg import MemDescType, WarpSpecializeOp
from tilewright.dialects.ttng import WarpGroupDotWaitOp
from tilewright.dialects.type_utils import encoding_of, is_tensor, with_encoding
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk


def prepare_tasks(module: ModuleOp) -> None:
    """Rewrite tasks, layouts and waits of `module`, in place."""
    ops = list(walk(module))
    rewriter = Rewriter()
    for op in ops:
        if isinstance(op, WarpSpecializeOp):
            _inline_captures(op, rewriter)
    for op in ops:
        if isinstance(op, RequireLayoutOp | ReleaseLayoutOp) and not is_chosen(op.result):
            rewriter.replace_op(op, [], [op.src])
        elif isinstance(op, WarpGroupDotWaitOp) and op.results:
            wait = WarpGroupDotWaitOp([], op.pendings.value.data)
            rewriter.replace_op(op, wait, list(op.operands))
    for op in walk(module):
        _forget_layouts(op, rewriter)


def _inline_captures(op: WarpSpecializeOp, rewriter: Rewriter) -> None:
    captured = list(op.partition_op.operands)
    for region in op.partitions:
        block = region.block
        for argument, value in zip(list(block.args), captured, strict=True):
            rewriter.replace_all_uses(argument, value)
            block.erase_arg(argument)
    op.partition_op.operands = []


def is_chosen(value: SSAValue) -> bool:
    """Whether a user chose the layout of a value."""
    if is_tensor(value.type):
        layout = encoding_of(value.type)
    elif isinstance(value.type, MemDescType):
        layout = value.type.encoding
    else:
        return False
    return isinstance(layout, UserLayout)


def _forget_layouts(op: Operation, rewriter: Rewriter) -> None:
    """Drop layouts of tensors that are not known yet: no user chose them."""
    values = [
        *op.results,
        *(each for region in op.regions for b in region.blocks for each in b.args),
    ]
    for value in values:
        layout = encoding_of(value.type) if is_tensor(value.type) else None
        if layout is not None and (
            is_unverified(layout) or isinstance(layout, DummyRegisterLayout)
        ):
            assert is_tensor(value.type)
            rewriter.retype(value, with_encoding(value.type, None))
