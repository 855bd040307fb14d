"""`expand-copies`: copies and fills that threads do become parallel loops over their elements.

    tile.copy %C_local -> %region                tile.parallel (%i, %j) in (128, 128) {
                                         ->        %v = memref.load %C_local[%i, %j]
                                                   %h = arith.truncf %v : f32 to f16
                                                   memref.store %h, %C[%r + %i, %c + %j] }

So layouts are inferred for one kind of loop only, and a copy is as good as the loop that a user
would write. Copies of an engine stay: those that go through TMA, and asynchronous ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    MemRefType,
    ModuleOp,
    NoneAttr,
    UnitAttr,
)
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.layout_inference.tensor_memory import is_move
from tilewright.analysis.tensors.outside_values import has_zeros, zero_of
from tilewright.analysis.threads.thread_dependence import begins_by_thread, is_by_thread
from tilewright.dialects.amd.names import DIRECT
from tilewright.dialects.arith import AndiOp, CmpiOp, ConstantOp, SelectOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.scf import YieldOp as ScfYieldOp
from tilewright.dialects.tile import (
    AllocOp,
    AtomicOp,
    CopyOp,
    FillOp,
    ParallelOp,
    ReduceByOp,
    ReduceOp,
    RegionOp,
    ScanByOp,
    ScanOp,
    Space,
    SpaceAttr,
    names,
    space_of,
)
from tilewright.dialects.tile.hints import PrintOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.movement import Im2colOp, TransposeOp
from tilewright.dialects.tile.reducers import ReducerFinalizeOp
from tilewright.dialects.tile.regions import ViewOp
from tilewright.dialects.tile.signedness import unsigned_dtype
from tilewright.dialects.tile.types import is_buffer_or_region
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import enclosing, walk
from tilewright.passes.gpu.conversions import converted, copied
from tilewright.passes.gpu.lower.combiners import expand_reduce_by, expand_scan_by
from tilewright.passes.gpu.lower.scans import lower_scan
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined, extent_of
from tilewright.passes.tile.tile_regions import part_of


@dataclass(frozen=True)
class ExpandCopies(Pass):
    """Replace copies, fills and transposes by threads with parallel loops."""

    name = "expand-copies"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, CopyOp) and not stays_whole(op):
                expand_copy(op)
            elif isinstance(op, FillOp):
                expand_fill(op)
            elif isinstance(op, TransposeOp):
                _expand_transpose(op)
            elif isinstance(op, AtomicOp) and not op.is_element and not stays_whole(op):
                _expand_atomic(op)
            elif isinstance(op, Im2colOp):
                _expand_im2col(op)
            elif isinstance(op, PrintOp):
                _expand_print(op)
            elif isinstance(op, ScanOp):
                lower_scan(op)
            elif isinstance(op, ReduceOp):
                _expand_reduce(op)
            elif isinstance(op, ReduceByOp):
                expand_reduce_by(op)
            elif isinstance(op, ScanByOp):
                expand_scan_by(op)
            elif isinstance(op, ReducerFinalizeOp) and op.dst is not None:
                _expand_finalize(op)


BY_ENGINE = "nv.engine"
"""Attribute of a copy that is not for threads: which engine does it."""


def stays_whole(op: CopyOp | AtomicOp) -> bool:
    """Whether an engine does the copy or update, or waves without registers, or it is a move
    between tensor memory and registers.
    """
    return BY_ENGINE in op.attributes or DIRECT in op.attributes or is_move(op)


def _loop(
    code: IndexBuilder, extents: Sequence[Mixed], origin: Operation
) -> tuple[ParallelOp, IndexBuilder]:
    attributes = {
        name: value for name, value in origin.properties.items() if name == "coalesced_width"
    }
    loop = ParallelOp(list(extents) or [1])
    loop.properties.update(attributes)
    code.add(loop)
    return loop, code.inside(loop.body.block)


def _is_private(value: SSAValue) -> bool:
    """Whether elements are private to a thread: in its memory, or indexed by its thread index."""
    space = space_of(value.type)
    return (space is not None and space.is_per_thread) or begins_by_thread(value)


def _each_thread(
    code: IndexBuilder, extents: Sequence[Mixed], *, wide: bool
) -> tuple[list[SSAValue], IndexBuilder]:
    """Loops that every thread runs as a whole: what it holds is its own."""
    position: list[SSAValue] = []
    for axis, extent in enumerate(extents):
        block = Block([ScfYieldOp()], arg_types=[IndexType()])
        loop = ForOp(code.index(0), code.index(extent), code.index(1), [], Region(block))
        is_last = axis == len(extents) - 1
        is_wide = wide and is_last and isinstance(extent, int) and extent in _WIDTHS
        loop.attributes[names.VECTORIZE if is_wide else names.UNROLL] = UnitAttr()
        code.add(loop)
        position.append(block.args[0])
        code = code.inside(block)
    return position, code


_WIDTHS = (2, 4, 8, 16, 32)


def _points(
    code: IndexBuilder,
    extents: Sequence[Mixed],
    origin: Operation,
    *,
    private: bool,
    wide: bool = True,
) -> tuple[list[SSAValue], IndexBuilder]:
    """The elements of a copy: shared out among threads, or all of them for each thread."""
    if private:
        return _each_thread(code, list(extents) or [1], wide=wide)
    loop, body = _loop(code, extents, origin)
    return list(loop.body.block.args), body


def expand_copy(op: CopyOp) -> None:
    """A parallel loop over the elements; loops of each thread where they are its own."""
    source, target = part_of(op.src), part_of(op.dst)
    code = IndexBuilder(op)
    axes = target.axes or [0]
    private = _is_private(op.src) or _is_private(op.dst)
    extents = [target.extents[axis] for axis in axes]
    position, body = _points(code, extents, op, private=private)
    from_axes = source.axes or [0]
    indices = source.element(body, position, from_axes)
    if op.fill is None:
        loaded = body.add(LoadOp(source.buffer, indices)).results[0]
    else:
        loaded = _filled_load(body, source.buffer, indices, op.fill)
    value = copied(body, loaded, source.buffer, target.buffer)
    body.add(StoreOp(value, target.buffer, target.element(body, position, axes)))
    code.rewriter.erase(op)


def _filled_load(
    code: IndexBuilder, tensor: SSAValue, indices: Sequence[SSAValue], fill: SSAValue
) -> SSAValue:
    """An element, or the fill outside of the tensor; `guard-memory-accesses` reduces the test."""
    tests: list[SSAValue] = []
    for axis, index in enumerate(indices):
        extent = extent_of(code, tensor, axis)
        tests.append(code.add(CmpiOp("sge", index, code.index(0))).results[0])
        tests.append(code.add(CmpiOp("slt", index, code.index(extent))).results[0])
    inside = tests[0]
    for test in tests[1:]:
        inside = code.add(AndiOp(inside, test)).results[0]
    loaded = LoadOp(tensor, indices)
    then, otherwise = Block([loaded, ScfYieldOp([loaded.result])]), Block([ScfYieldOp([fill])])
    choice = IfOp(inside, [fill.type], Region(then), Region(otherwise))
    choice.attributes[names.FILLED] = UnitAttr()
    return code.add(choice).results[0]


def expand_fill(op: FillOp) -> None:
    """A parallel loop over the elements; loops of each thread where they are its own."""
    target = part_of(op.dst)
    code = IndexBuilder(op)
    axes = target.axes or [0]
    value = converted(code, op.value, element_type_of(target.buffer.type))
    extents = [target.extents[axis] for axis in axes]
    position, body = _points(code, extents, op, private=_is_private(op.dst))
    indices = target.element(body, position, axes)
    body.add(StoreOp(value, target.buffer, indices))
    code.rewriter.erase(op)


def _expand_transpose(op: TransposeOp) -> None:
    source, target = part_of(op.src), part_of(op.dst)
    code = IndexBuilder(op)
    axes = list(range(len(target.extents)))
    loop, body = _loop(code, target.extents, op)
    position = list(loop.body.block.args)
    indices = source.element(body, position[::-1], axes)
    loaded = body.add(LoadOp(source.buffer, indices)).results[0]
    value = copied(body, loaded, source.buffer, target.buffer)
    body.add(StoreOp(value, target.buffer, target.element(body, position, axes)))
    code.rewriter.erase(op)


def _expand_print(op: PrintOp) -> None:
    """A buffer is printed element by element, with its indices, by the owner of the element."""
    code = IndexBuilder(op)
    scalars = [each for each in op.values if not is_buffer_or_region(each.type)]
    if len(scalars) == len(op.values):
        return
    if scalars:
        code.add(PrintOp(op.message.data, scalars))
    for value in op.values:
        if value in scalars:
            continue
        part = part_of(value)
        axes = part.axes or [0]
        extents = [part.extents[axis] for axis in axes]
        position, body = _points(code, extents, op, private=_is_private(value))
        loaded = body.add(LoadOp(part.buffer, part.element(body, position, axes))).results[0]
        body.add(PrintOp(op.message.data, [*position, loaded]))
    code.rewriter.erase(op)


def _expand_each(op: AtomicOp) -> None:
    """Several contiguous elements inside a parallel loop, by the thread that runs the iteration."""
    assert op.value is not None
    source, target = part_of(op.value), part_of(op.dst)
    code = IndexBuilder(op)
    extents = [extent for extent in target.extents if isinstance(extent, int) and extent != 1]
    assert len(extents) == sum(extent != 1 for extent in target.extents), (
        "a compile-time number of contiguous elements"
    )
    from_axes, to_axes = source.axes or [0], target.axes or [0]

    def update(code: IndexBuilder, position: Sequence[SSAValue]) -> None:
        at = source.element(code, position, from_axes)
        loaded = code.add(LoadOp(source.buffer, at)).results[0]
        value = copied(code, loaded, source.buffer, target.buffer)
        indices = target.element(code, position, to_axes)
        code.add(op.of_element(target.buffer, indices, value))

    if extents and space_of(source.buffer.type) is not Space.FRAGMENT:
        position, body = _each_thread(code, extents, wide=True)
        update(body, position)
    else:  # the owner of an element of a fragment has to be known here
        for point in product(*(range(extent) for extent in extents or [1])):
            update(code, [code.index(each) for each in point])
    code.rewriter.erase(op)


def _expand_atomic(op: AtomicOp) -> None:
    assert op.value is not None
    if enclosing(op, ParallelOp) is not None:
        _expand_each(op)
        return
    target, code = part_of(op.dst), IndexBuilder(op)
    axes = target.axes or [0]
    private = _is_private(op.dst) or _is_private(op.value) or is_by_thread(op.value)
    extents = [target.extents[axis] for axis in axes]
    position, body = _points(code, extents, op, private=private, wide=False)
    value = _update(body, op.value, target.buffer, position)
    indices = target.element(body, position, axes)
    body.add(op.of_element(target.buffer, indices, value))
    code.rewriter.erase(op)


def _update(
    code: IndexBuilder, given: SSAValue, target: SSAValue, position: Sequence[SSAValue]
) -> SSAValue:
    """What an element is updated with: one of a tile, or one value for all of them."""
    if not is_buffer_or_region(given.type):
        return converted(code, given, element_type_of(target.type))
    source = part_of(given)
    at = source.element(code, position, source.axes or [0])
    return copied(code, code.add(LoadOp(source.buffer, at)).results[0], source.buffer, target)


def _expand_finalize(op: ReducerFinalizeOp) -> None:
    """Finalize in place, then copy."""
    assert op.dst is not None
    code = IndexBuilder(op)
    code.add(ReducerFinalizeOp(op.reducer))
    copy = CopyOp(op.reducer, op.dst)
    code.add(copy)
    expand_copy(copy)
    code.rewriter.erase(op)


def _expand_im2col(op: Im2colOp) -> None:
    """Patches of an image, element by element; what is outside of it reads as zero."""
    source, target = part_of(op.src), part_of(op.dst)
    height, width, channels = shape_of(source.buffer.type)[1:]
    window, stride, dilation, pad = (
        each.value.data for each in (op.kernel, op.stride, op.dilation, op.pad)
    )
    assert DYNAMIC_INDEX not in (height, width, channels), "image extents are known at compile time"
    reach = dilation * (window - 1) + 1
    down, across = ((size + 2 * pad - reach) // stride + 1 for size in (height, width))
    axes = target.axes
    extents = [target.extents[axis] for axis in axes]
    rows, columns = extents
    code = IndexBuilder(op)
    first = combined(code, "*", op.c_step, columns)
    loop, body = _loop(code, extents, op)
    row, column = loop.body.block.args
    pixel = combined(body, "+", combined(body, "*", op.nhw_step, rows), row)
    image = combined(body, "floordiv", pixel, down * across)
    y = combined(body, "mod", combined(body, "floordiv", pixel, across), down)
    x = combined(body, "mod", pixel, across)
    if isinstance(columns, int) and channels % columns == 0:
        # One tap of the window for the whole tile: its channels are contiguous.
        tap = combined(body, "floordiv", first, channels)
        channel = combined(body, "+", combined(body, "mod", first, channels), column)
    else:
        linear = combined(body, "+", first, column)
        tap = combined(body, "floordiv", linear, channels)
        channel = combined(body, "mod", linear, channels)
    tap_y = combined(body, "floordiv", tap, window)
    tap_x = combined(body, "mod", tap, window)
    at_y = _along(body, y, tap_y, stride, dilation, pad)
    at_x = _along(body, x, tap_x, stride, dilation, pad)
    if (window * window * channels) % (columns if isinstance(columns, int) else 1):
        # Columns beyond the window: a row that no image has.
        exists = body.add(CmpiOp("ult", body.index(tap_y), body.index(window))).results[0]
        at_y = body.add(SelectOp(exists, at_y, body.index(-1))).results[0]
    indices = [body.index(image), at_y, at_x, body.index(channel)]
    if has_zeros(source.buffer):
        loaded = body.add(LoadOp(source.buffer, indices)).results[0]
    else:
        zero = code.add(ConstantOp(zero_of(element_type_of(source.buffer.type)))).results[0]
        loaded = _filled_load(body, source.buffer, indices, zero)
    value = copied(body, loaded, source.buffer, target.buffer)
    body.add(StoreOp(value, target.buffer, target.element(body, [row, column], axes)))
    code.rewriter.erase(op)


def _along(
    code: IndexBuilder, position: Mixed, tap: Mixed, stride: int, dilation: int, pad: int
) -> SSAValue:
    """The position of a window tap along one dimension; may be outside of the image."""
    inside = combined(code, "*", position, stride)
    found = combined(code, "+", inside, combined(code, "*", tap, dilation))
    return code.index(combined(code, "-", found, pad))


def _expand_reduce(op: ReduceOp) -> None:
    """A reduction works on registers: other operands are copied to registers and back."""
    code = IndexBuilder(op)
    if not _is_whole_fragment(op.src):
        source = _fragment(code, op.src)
        copy = CopyOp(op.src, source)
        code.add(copy)
        expand_copy(copy)
        op.operands[0] = source
    if _is_whole_fragment(op.dst):
        return
    target, destination = _fragment(code, op.dst), op.dst
    if not op.clear:
        copy = CopyOp(destination, target)
        code.add(copy)
        expand_copy(copy)
    op.operands[1] = target
    following = op.next_op
    assert following is not None
    copy = CopyOp(target, destination)
    IndexBuilder(following).add(copy)
    copy.location = op.location
    expand_copy(copy)


def _is_whole_fragment(value: SSAValue) -> bool:
    is_part = isinstance(value.owner, (RegionOp, ViewOp))
    return space_of(value.type) is Space.FRAGMENT and not is_part


def _fragment(code: IndexBuilder, value: SSAValue) -> SSAValue:
    """Registers for the elements of a buffer."""
    shape = [extent for extent in part_of(value).extents if isinstance(extent, int)]
    if isinstance(value.owner, RegionOp):
        shape = [extent for extent in shape if extent != 1] or [1]
    type = MemRefType(element_type_of(value.type), shape, NoneAttr(), SpaceAttr(Space.FRAGMENT))
    return code.add(AllocOp(type, name="values", dtype=unsigned_dtype(value))).results[0]
