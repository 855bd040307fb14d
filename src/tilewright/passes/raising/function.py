"""The new function: parameters, views, grid, and the kernel inside.

    func.func public @k(%x_ptr: memref<?xf16, #global>, ..., %n: i32, ..., %grid0: i32, ...)

One flat buffer for each pointer, scalars as they are, the three sizes of the grid last.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
    StringAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from tilewright.analysis.raising.accesses import signless
from tilewright.analysis.raising.plan import RaisePlan
from tilewright.dialects.func import FuncOp, ReturnOp
from tilewright.dialects.memref import StoreOp as MemoryStoreOp
from tilewright.dialects.tile import AllocOp, FillOp, KernelOp, Space, space_attr
from tilewright.dialects.tile.names import ENTRY, FREE_GRID, NAME
from tilewright.dialects.tt import PtrType, TensorDescType
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.passes.raising.block import emit_ops
from tilewright.passes.raising.builder import Builder
from tilewright.passes.raising.groups import flush
from tilewright.passes.raising.host import emit_bases, emit_views
from tilewright.passes.raising.local import local_bases, local_views
from tilewright.passes.raising.state import Raising
from tilewright.passes.raising.symbols import Symbols

AXES = 3
GRID = tuple(f"grid{axis}" for axis in range(AXES))
BYTE = 8


def raise_function(plan: RaisePlan) -> FuncOp:
    """The raised kernel, not yet in a module."""
    old = plan.function
    names = [_parameter_name(argument) for argument in old.body.block.args]
    types = [_parameter_type(plan, argument) for argument in old.body.block.args]
    block = Block(arg_types=[*types, *[i32] * AXES])
    for name, argument in zip([*names, *GRID], block.args, strict=True):
        argument.name_hint = name
    function = FuncOp(
        old.sym_name.data,
        ([argument.type for argument in block.args], []),
        visibility="public",
        arg_attrs=[{NAME: StringAttr(name)} for name in (*names, *GRID)],
        attributes={ENTRY: UnitAttr()},
        body=Region(block),
    )
    if plan.tasks.tasks:
        function.attributes[FREE_GRID] = UnitAttr()
    function.location = old.location
    _emit_body(plan, block)
    return function


def _emit_body(plan: RaisePlan, block: Block) -> None:
    old = plan.function
    host = Builder(block, old)
    parameters = dict(zip(old.body.block.args, block.args, strict=False))
    scalars: dict[SSAValue, SSAValue] = {
        before: after
        for before, after in parameters.items()
        if not isinstance(before.type, PtrType | TensorDescType)
    }
    bases = emit_bases(plan, host, parameters)
    grid = [host.to_index(argument) for argument in block.args[-AXES:]]
    symbols = Symbols(plan.addresses, scalars, [], grid)
    views = emit_views(plan, host, symbols, bases)
    kernel = KernelOp(grid, threads=plan.tasks.threads)
    kernel.location = old.location
    body = kernel.body.block
    symbols.programs = list(body.args)
    for axis, argument in enumerate(body.args):
        argument.name_hint = f"pid{axis}"
    at = Builder(body, old)
    first = at.constant(0, i32).owner
    assert isinstance(first, Operation)
    top = _Top(body, old, first)
    missing = local_views(plan), local_bases(plan)
    state = Raising(plan, at, top, dict(scalars), bases, views, symbols, *missing)
    symbols.scalars = state.scalars
    emit_ops(state, old.body.block.ops)
    flush(state)
    first.detach()
    first.erase()
    host.add(kernel)
    host.add(ReturnOp())
    _drop_unread(kernel)


class _Top(Builder):
    """The start of the kernel: buffers are allocated there, in the order of their first use."""

    def __init__(self, block: Block, origin: Operation, mark: Operation) -> None:
        super().__init__(block, origin)
        self._mark = mark

    def add(self, op: Operation) -> Operation:
        op.location = self.origin.location
        self.block.insert_op_before(op, self._mark)
        return op


def _drop_unread(kernel: KernelOp) -> None:
    """Remove buffers that are only written."""
    for op in list(kernel.body.block.ops):
        if not isinstance(op, AllocOp):
            continue
        uses = list(op.result.uses)
        is_written = all(
            (isinstance(use.operation, MemoryStoreOp) and use.index == 1)
            or isinstance(use.operation, FillOp)
            for use in uses
        )
        if is_written:
            for use in uses:
                use.operation.detach()
                use.operation.erase()
            op.detach()
            op.erase()


def _parameter_name(argument: BlockArgument) -> str:
    return argument.name_hint or f"arg{argument.index}"


def _parameter_type(plan: RaisePlan, argument: BlockArgument) -> Attribute:
    if not isinstance(argument.type, PtrType | TensorDescType):
        return argument.type
    element = base_element(plan, argument)
    return MemRefType(element, [DYNAMIC_INDEX], memory_space=space_attr(Space.GLOBAL))


def base_element(plan: RaisePlan, argument: BlockArgument) -> Attribute:
    """The elements of a pointer's memory: as all accesses see them, else as it is declared."""
    accessed = {access.element for access in plan.accesses.values() if access.base is argument}
    if isinstance(argument.type, TensorDescType):
        declared = signless(argument.type.element_type)
    else:
        assert isinstance(argument.type, PtrType)
        declared = element_type_of(argument.type.get_pointee())
    if len(accessed) == 1:
        (only,) = accessed
        if bit_width(only) == bit_width(declared) or bit_width(declared) < BYTE:
            return only
    return declared
