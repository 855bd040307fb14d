"""`use-buffer-accesses`: bounds are checked by the memory system, not by a branch.

    scf.if %ok { move %A[%i] -> %r }       ->    amd.buffer_load %A[%i] -> %r elements %n if %ok
    else { %r[..] = 0 }

    scf.if %ok { move %r -> %C[%i] }       ->    amd.buffer_store %r -> %C[%i] elements %n if %ok

A load whose predicate is false gives zeros, a store is dropped: the threads of a wave do not
diverge, and loads are started without waiting for a condition. The guard becomes the predicate,
so that no access is cut by the end of the tensor, which GPUs treat differently.

Offsets have 32 bits: a tensor must have a known size below 2 GiB. Index arithmetic leaves the
branch, so it may only be what cannot fail; what a branch has besides moves and zeros keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
)
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.amd.moves import BufferLoadOp, BufferStoreOp
from tilewright.dialects.arith import ConstantOp, DivuiOp, RemuiOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import StoreOp
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import Space, space_of
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

NOT_USED = "TW7540"
_LIMIT_BYTES = 1 << 31
_REGISTERS = (Space.LOCAL, Space.VAR)


@dataclass(frozen=True)
class UseBufferAccesses(Pass):
    """Replace guards of accesses to tensors by buffer accesses."""

    name = "use-buffer-accesses"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if (
                isinstance(function, FuncOp)
                and simt_names.KERNEL in function.attributes
                and amd_chip_of(function) is not None
            ):
                for op in list(walk(function)):
                    if isinstance(op, IfOp):
                        _replace(op, engine)


def _replace(op: IfOp, engine: DiagnosticEngine) -> None:
    then, other = op.then_region.block, _block_of(op)
    moves = [each for each in then.ops if isinstance(each, MoveOp) and _is_tensor_access(each)]
    if op.results or not moves or not _is_only(then, moves):
        return
    if not _agrees(moves, other):
        return
    large = next((each for each in moves if _elements(_tensor(each)) is None), None)
    if large is not None:
        tensor = _tensor(large)
        size = "a run-time value" if DYNAMIC_INDEX in shape_of(tensor.type) else "2 GiB or more"
        engine.remark(
            large,
            f"buffer access not used, a branch guards the access: the size of "
            f"'{tensor.name_hint or 'the tensor'}' is {size}",
            NOT_USED,
        )
        return
    rewriter = Rewriter()
    for each in list(then.ops):
        if isinstance(each, YieldOp):
            continue
        if isinstance(each, MoveOp):
            rewriter.insert_before(op, _guarded(each, op.condition), each)
        else:
            each.detach()
            rewriter.insert_before(op, each, each)
    rewriter.erase(op)


def _block_of(op: IfOp) -> Block | None:
    return op.else_region.block if op.else_region.blocks else None


def _tensor(move: MoveOp) -> SSAValue:
    return move.src if space_of(move.src.type) is Space.GLOBAL else move.dst


def _is_tensor_access(move: MoveOp) -> bool:
    spaces = space_of(move.src.type), space_of(move.dst.type)
    return move.policy is None and (
        (spaces[0] is Space.GLOBAL and spaces[1] in _REGISTERS)
        or (spaces[1] is Space.GLOBAL and spaces[0] in _REGISTERS)
    )


def _elements(tensor: SSAValue) -> int | None:
    """The size of a tensor that offsets of 32 bits can address."""
    type, shape = tensor.type, shape_of(tensor.type)
    if not isinstance(type, MemRefType) or len(shape) != 1 or DYNAMIC_INDEX in shape:
        return None
    size_bytes = shape[0] * max(8, bit_width(element_type_of(type))) // 8
    return shape[0] if size_bytes < _LIMIT_BYTES else None


def _is_only(block: Block, moves: Sequence[MoveOp]) -> bool:
    """Whether a block has nothing besides these moves and arithmetic that cannot fail."""
    return all(
        each in moves or isinstance(each, YieldOp) or _cannot_fail(each) for each in block.ops
    )


def _cannot_fail(op: Operation) -> bool:
    if op.regions or not is_removable(op) or not op.name.startswith("arith."):
        return False
    if "div" not in op.name and "rem" not in op.name:
        return True
    if not isinstance(op, (DivuiOp, RemuiOp)):
        return False
    divisor = constant_value(op.operands[1])
    return isinstance(divisor, IntegerAttr) and divisor.value.data != 0


def _agrees(moves: Sequence[MoveOp], other: Block | None) -> bool:
    """Whether registers that loads would fill are zeros otherwise; stores have no alternative."""
    loaded: set[tuple[SSAValue, int]] = set()
    for each in moves:
        if _tensor(each) is each.dst:
            continue
        first = constant_value(each.dst_indices[0])
        if not isinstance(first, IntegerAttr):
            return False
        loaded |= {(each.dst, first.value.data + lane) for lane in range(each.width)}
    zeros: set[tuple[SSAValue, int]] = set()
    for each in () if other is None else other.ops:
        if isinstance(each, YieldOp) or (isinstance(each, ConstantOp) and not each.regions):
            continue
        if not isinstance(each, StoreOp) or not _is_zero(each.value):
            return False
        at = constant_value(each.indices[0])
        if len(each.indices) != 1 or not isinstance(at, IntegerAttr):
            return False
        zeros.add((each.memref, at.value.data))
    return loaded == zeros


def _is_zero(value: SSAValue) -> bool:
    """Whether all bits are zero; the negative zero is not."""
    found = constant_value(value)
    if isinstance(found, FloatAttr):
        return found.value.data == 0 and str(found.value.data) == "0.0"
    return isinstance(found, IntegerAttr) and found.value.data == 0


def _guarded(move: MoveOp, condition: SSAValue) -> list[Operation]:
    tensor = _tensor(move)
    size = _elements(tensor)
    assert size is not None
    elements = ConstantOp.of(size, IndexType())
    make = BufferLoadOp if tensor is move.src else BufferStoreOp
    access = make(
        move.src,
        list(move.src_indices),
        move.dst,
        list(move.dst_indices),
        move.width,
        elements,
        condition,
    )
    return [elements, access]
