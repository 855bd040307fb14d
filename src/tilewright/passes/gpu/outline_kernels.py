"""`outline-kernels`: the body of a kernel becomes a function of the device, launched by the host.

    tile.kernel (%bx) in (%g) threads(128) {..}    ->    func.func @k_kernel(...) {simt.kernel}
                                                         simt.launch @k_kernel grid(%g, 1, 1) (...)

What the body uses from outside becomes an argument; constants are written again inside. Extents
of tensors are read by the host. The order in which blocks walk over the grid (the raster) is
computed from the numbers the hardware gives (docs/design/passes.md#host-and-device).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.dialects.amd.moves import BufferStoreOp
from tilewright.dialects.arith import (
    AddiOp,
    CmpiOp,
    ConstantOp,
    DivuiOp,
    MinuiOp,
    MuliOp,
    RemuiOp,
    SelectOp,
    SubiOp,
)
from tilewright.dialects.func import FuncOp, ReturnOp
from tilewright.dialects.gpu import BlockIdOp, GridDimOp
from tilewright.dialects.memref import DimOp, StoreOp
from tilewright.dialects.nv import GridWaitOp, TensorMapOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.simt import LaunchOp, MoveOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import KernelOp, Space, names, space_of
from tilewright.dialects.tile.access import base_of, is_aliased
from tilewright.dialects.tile.base import integer_of
from tilewright.dialects.tile.hints import SyncOp
from tilewright.dialects.tile.regions import PtrAtOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.arch import arch_of
from tilewright.passes.tile.index_builder import IndexBuilder

_AXES = ("x", "y", "z")
_WRITING = frozenset(
    (
        *("tile.atomic", "tile.extern", "tile.ptr_of"),
        *("nv.bulk_store", "nv.red_add", "nv.tma_store", "nv.tma_reduce"),
    )
)
"""Ops that write the tensor they name, or may."""

_HOPPER = 90


@dataclass(frozen=True)
class OutlineKernels(Pass):
    """Make functions of the bodies of kernels."""

    name = "outline-kernels"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in list(module.body.ops):
            if isinstance(function, FuncOp):
                kernels = [op for op in walk(function) if isinstance(op, KernelOp)]
                for index, kernel in enumerate(kernels):
                    name = f"{function.sym_name.data}_kernel"
                    _outline(module, function, kernel, f"{name}_{index}" if index else name)


def _outline(module: ModuleOp, function: FuncOp, kernel: KernelOp, name: str) -> None:
    _hoist_extents(kernel)
    outside = _used_from_outside(kernel)
    constants = [value for value in outside if _constant(value) is not None]
    passed = [value for value in outside if _constant(value) is None]
    block = Block(arg_types=[value.type for value in passed])
    for value, argument in zip(passed, block.args, strict=True):
        if value.name_hint is None and isinstance(value.owner, DimOp):
            value.name_hint = f"{value.owner.source.name_hint or 'tensor'}_extent"
        argument.name_hint = value.name_hint
    launch = _launch(kernel, name, passed)
    body = kernel.body.block
    entry = FuncOp(name, _function_type(passed), body=Region(block))
    block.add_op(ReturnOp())
    code = IndexBuilder(entry, block)
    replacements: dict[SSAValue, SSAValue] = dict(zip(passed, block.args, strict=True))
    for value in constants:
        constant = _constant(value)
        assert constant is not None
        replacements[value] = code.add(constant.clone()).results[0]
    indices = _block_indices(code, kernel, launch)
    for argument, index in zip(body.args, indices, strict=True):
        index.name_hint = argument.name_hint
        argument.replace_all_uses_with(index)
    end = block.last_op
    assert end is not None
    for op in list(body.ops):
        if op.name == "tile.yield":
            continue
        op.detach()
        block.insert_op_before(op, end)
    for old, new in replacements.items():
        for use in list(old.uses):
            if _is_inside(use.operation, entry):
                use.operation.operands[use.index] = new
    entry.attributes.update(_attributes(kernel))
    if _waits_for_grids(entry):
        entry.attributes[nv_names.WAITS_FOR_GRIDS] = UnitAttr()
    others_write = nv_names.WAITS_FOR_GRIDS in entry.attributes or _follows_addresses(entry)
    entry.properties["arg_attrs"] = _described(passed, block.args, others_write=others_write)
    module.body.block.add_op(entry)
    entry.location = kernel.location
    kernel.detach()
    kernel.erase()


def _function_type(passed: list[SSAValue]) -> tuple[list[Attribute], list[Attribute]]:
    return [value.type for value in passed], []


def _constant(value: SSAValue) -> ConstantOp | None:
    return value.owner if isinstance(value.owner, ConstantOp) else None


def _hoist_extents(kernel: KernelOp) -> None:
    """Extents of tensors are known before the kernel runs; each is passed once."""
    known: dict[tuple[SSAValue, Attribute], SSAValue] = {}
    for op in list(walk(kernel)):
        if not isinstance(op, DimOp) or _is_inside(op.source.owner, kernel):
            continue
        code = IndexBuilder(kernel)
        constant = op.index.owner
        assert isinstance(constant, ConstantOp)
        dimension = constant.properties["value"]
        assert isinstance(dimension, IntegerAttr)
        found = known.get((op.source, dimension))
        if found is None and any(True for _ in op.result.uses):
            axis = code.add(constant.clone()).results[0]
            found = code.add(DimOp(op.source, axis)).results[0]
            name = f"{op.source.name_hint or 'tensor'}_{dimension.value.data}"
            found.name_hint = op.result.name_hint or name
            known[op.source, dimension] = found
        if found is None:
            code.rewriter.erase(op)
        else:
            code.rewriter.replace_op(op, [], [found])


def _is_inside(owner: Operation | Block, outer: Operation) -> bool:
    current = owner if isinstance(owner, Operation) else owner.parent_op()
    while current is not None:
        if current is outer:
            return True
        current = current.parent_op()
    return False


def _used_from_outside(kernel: KernelOp) -> list[SSAValue]:
    found: dict[SSAValue, None] = {}
    for op in walk(kernel):
        if op is kernel:
            continue
        for operand in op.operands:
            if not _is_inside(operand.owner, kernel):
                found.setdefault(operand)
    return list(found)


def _launch(kernel: KernelOp, name: str, passed: list[SSAValue]) -> LaunchOp:
    code = IndexBuilder(kernel)
    grid = [code.index(each) for each in kernel.grid]
    while len(grid) < len(_AXES):
        grid.append(code.index(1))
    launch = LaunchOp(name, grid, passed)
    code.add(launch)
    return launch


def _attributes(kernel: KernelOp) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {
        simt_names.KERNEL: UnitAttr(),
        simt_names.THREADS: IntegerAttr(kernel.num_threads or 128, i64),
    }
    requested = integer_of(kernel.min_blocks_per_sm)
    if requested:
        found[simt_names.MIN_BLOCKS] = IntegerAttr(requested, i64)
    function = kernel.parent_op()
    while function is not None and names.TARGET not in function.attributes:
        function = function.parent_op()
    if function is not None:
        found[names.TARGET] = function.attributes[names.TARGET]
    if kernel.cluster is not None:
        found[nv_names.CLUSTER] = kernel.cluster
    synchronises_grid = any(
        isinstance(op, SyncOp) and op.scope.data == "grid" for op in walk(kernel)
    )
    if kernel.cooperative is not None or synchronises_grid:
        found[simt_names.COOPERATIVE] = UnitAttr()
    if kernel.prelude is not None:
        found[simt_names.PRELUDE] = kernel.prelude
    return found


def _waits_for_grids(entry: FuncOp) -> bool:
    """Whether a kernel begins early: older GPUs run kernels sequentially."""
    if amd_chip_of(entry) is not None or arch_of(entry) < _HOPPER:
        return False
    return any(isinstance(op, GridWaitOp) for op in walk(entry))


def _follows_addresses(entry: FuncOp) -> bool:
    """Whether a kernel accesses memory that no argument names, which may be that of one."""
    return any(isinstance(op, PtrAtOp) for op in walk(entry))


def _described(
    passed: list[SSAValue], arguments: Sequence[SSAValue], *, others_write: bool
) -> ArrayAttr:
    """Properties of each argument: its name, and whether others alias its memory.

    Where other kernels may write while this one runs, until it has waited for them, nothing is
    constant: the compiler moves loads of such memory, also before the wait. Nor is it where the
    kernel writes to addresses that it has as integers.
    """
    tensors = _aliases_merged([_tensor_of(value) for value in passed])
    written = {
        tensor for tensor, argument in zip(tensors, arguments, strict=True) if _is_written(argument)
    }
    described: list[DictionaryAttr] = []
    for value, tensor in zip(passed, tensors, strict=True):
        found: dict[str, Attribute] = {}
        if value.name_hint:
            found[names.NAME] = StringAttr(value.name_hint)
        if space_of(value.type) is Space.GLOBAL:
            found.update(_memory(tensor, tensors, is_written=tensor in written))
            if others_write:
                found.pop(simt_names.RESTRICT, None)
        elif isinstance(value.owner, TensorMapOp) and tensor in written:
            found[simt_names.TENSOR] = IntegerAttr(tensors.index(tensor), i64)
        described.append(DictionaryAttr(found))
    return ArrayAttr(described)


def _memory(tensor: SSAValue, tensors: list[SSAValue], *, is_written: bool) -> dict[str, Attribute]:
    if not is_written:
        return {simt_names.RESTRICT: UnitAttr(), simt_names.CONST: UnitAttr()}
    if tensors.count(tensor) == 1:
        return {simt_names.RESTRICT: UnitAttr()}
    return {simt_names.TENSOR: IntegerAttr(tensors.index(tensor), i64)}


def _aliases_merged(tensors: list[SSAValue]) -> list[SSAValue]:
    """The tensors, with those that share bytes as one."""
    aliased = [tensor for tensor in tensors if is_aliased(tensor)]
    return [aliased[0] if tensor in aliased else tensor for tensor in tensors]


def _tensor_of(value: SSAValue) -> SSAValue:
    """The tensor that is viewed, or that a TMA descriptor describes."""
    return base_of(value.owner.tensor if isinstance(value.owner, TensorMapOp) else value)


def _is_written(buffer: SSAValue) -> bool:
    for use in buffer.uses:
        op = use.operation
        if isinstance(op, StoreOp) and op.memref is buffer:
            return True
        if isinstance(op, MoveOp | BufferStoreOp) and op.dst is buffer:
            return True
        if op.name in _WRITING:
            return True
        if op.name == "memref.collapse_shape" and _is_written(op.results[0]):
            return True
    return False


def _block_indices(code: IndexBuilder, kernel: KernelOp, launch: LaunchOp) -> list[SSAValue]:
    """The coordinates of a block, in the order of the raster if there is one."""
    count = len(kernel.grid)
    raw: list[SSAValue] = [code.add(BlockIdOp(axis)).results[0] for axis in _AXES[:count]]
    if kernel.raster is None or count < 2:
        return raw
    raster = kernel.raster.data
    extents = [code.index(each) for each in _inside(code, kernel)]
    # Blocks of a cluster stay together: the raster walks over clusters.
    clusters = (kernel.cluster_extents or (1, 1))[:2]
    sizes = [each if each > 1 else None for each in (*clusters, 1)[:2]]

    def over_clusters(value: SSAValue, axis: int) -> SSAValue:
        size = sizes[axis]
        return value if size is None else code.add(DivuiOp(value, code.index(size))).results[0]

    (x, y), (width, height) = (
        [over_clusters(each, axis) for axis, each in enumerate(values[:2])]
        for values in (raw, extents)
    )
    if raster.order == "column":
        walked = _walk(code, _linear(code, y, x, height), height, width, raster.panel)
    else:
        linear = _linear(code, x, y, width)
        walked = _walk(code, linear, width, height, raster.panel)[::-1]
    found: list[SSAValue] = []
    for value, hardware, size in zip(walked, raw, sizes, strict=False):
        if size is None:
            found.append(value)
            continue
        inside = code.add(RemuiOp(hardware, code.index(size))).results[0]
        start = code.add(MuliOp(value, code.index(size))).results[0]
        found.append(code.add(AddiOp(start, inside)).results[0])
    return [*found, *raw[2:]]


def _inside(code: IndexBuilder, kernel: KernelOp) -> list[SSAValue]:
    found: list[SSAValue] = []
    for axis, extent in zip(_AXES, kernel.grid, strict=False):
        found.append(
            code.index(extent) if isinstance(extent, int) else code.add(GridDimOp(axis)).results[0]
        )
    return found


def _linear(code: IndexBuilder, low: SSAValue, high: SSAValue, extent: SSAValue) -> SSAValue:
    return code.add(AddiOp(low, code.add(MuliOp(high, extent)).results[0])).results[0]


def _walk(
    code: IndexBuilder, linear: SSAValue, width: SSAValue, height: SSAValue, panel: int
) -> tuple[SSAValue, SSAValue]:
    """Row and column of a step: panels of rows, back and forth."""

    def do(op: type[Operation], left: SSAValue, right: SSAValue) -> SSAValue:
        return code.add(op(left, right)).results[0]  # pyright: ignore[reportCallIssue]

    rows = code.index(panel)
    size = do(MuliOp, rows, width)
    strip, step = do(DivuiOp, linear, size), do(RemuiOp, linear, size)
    first = do(MuliOp, strip, rows)
    here = do(MinuiOp, rows, do(SubiOp, height, first))
    column, row = do(DivuiOp, step, here), do(RemuiOp, step, here)
    back = do(SubiOp, do(SubiOp, width, code.index(1)), column)
    odd = code.add(CmpiOp("eq", do(RemuiOp, strip, code.index(2)), code.index(1))).results[0]
    column = code.add(SelectOp(odd, back, column)).results[0]
    return do(AddiOp, row, first), column
