"""Other names for memory: views, addresses of elements, extents and strides of tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StridedLayoutAttr
from xdsl.ir import Operation

from tilewright.dialects.simt.across import StrideOp
from tilewright.dialects.tile.regions import PtrAtOp, PtrOfOp, ViewOp
from tilewright.dialects.type_utils import num_elements, shape_of
from tilewright.targets.numpy.dtypes import scalar_type
from tilewright.targets.numpy.simt.buffers import GlobalBuffer, Registers, SharedBuffer
from tilewright.targets.numpy.simt.memory import index_of
from tilewright.targets.numpy.simt.program import Act, Compiler, Rule
from tilewright.targets.numpy.simt.scalars import type_of
from tilewright.targets.numpy.simt.state import Frame
from tilewright.targets.numpy.windows import Window


@dataclass(frozen=True)
class Address:
    """An element of a buffer."""

    buffer: Any
    index: Any


def _same(compiler: Compiler, op: Operation) -> Act:
    source, target = compiler.slot(op.operands[0]), compiler.slot(op.results[0])

    def act(frame: Frame) -> None:
        frame.env[target] = frame.env[source]

    return act


def _address(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, PtrOfOp)
    source, target = compiler.slot(op.base), compiler.slot(op.result)
    index = index_of(compiler, op.base, op.indices)

    def act(frame: Frame) -> None:
        frame.env[target] = Address(frame.env[source], index(frame))

    return act


def _reached(compiler: Compiler, op: Operation) -> Act:
    """Memory at an address; where no array is, there are no elements."""
    assert isinstance(op, PtrAtOp)
    source, target = compiler.slot(op.address), compiler.slot(op.result)
    scalar, divisor = scalar_type(op.pointee), op.divisor
    assert scalar is not None, "elements in memory have a type"
    dtype = scalar.dtype

    def act(frame: Frame) -> None:
        address = _uniform(frame, frame.env[source])
        if address % divisor:
            raise frame.problem(
                "misaligned", f"the address {address:#x} is not a multiple of {divisor}"
            )
        found = frame.block.reached.at(address)
        if found is None:
            held, offset = GlobalBuffer(f"the memory at {address:#x}", np.zeros(0, dtype)), 0
        else:
            held, offset = found
        if offset % held.data.itemsize:
            held = GlobalBuffer(held.name, held.data.view(np.uint8), lead=held.lead_bytes)
        frame.env[target] = Address(held, np.int64(offset // held.data.itemsize))

    return act


def _view(compiler: Compiler, op: Operation) -> Act:
    """The same memory, in another shape, as elements of another type perhaps."""
    assert isinstance(op, ViewOp)
    source, target = compiler.slot(op.source), compiler.slot(op.result)
    dtype, size = type_of(op.result).dtype, num_elements(op.result.type)
    shaped = _shaped(compiler, op)

    def act(frame: Frame) -> None:
        held, start = frame.env[source], 0
        if isinstance(held, Address):
            held, start = held.buffer, _uniform(frame, held.index)
        if isinstance(held, SharedBuffer):
            first = held.base + start * held.dtype.itemsize
            made: Any = SharedBuffer(held.name, held.block, first, size, dtype)
        elif isinstance(held, GlobalBuffer):
            made = held.view(frame, start, dtype, shaped(frame))
        elif isinstance(held, Registers) and held.data.dtype == dtype:
            made = held
        else:
            raise frame.problem("shape", "a view of registers cannot change the element type")
        frame.env[target] = made

    return act


def _uniform(frame: Frame, index: Any) -> int:
    """The value that all threads have: where a view starts, or how large it is."""
    active = frame.wide(index)[frame.active]
    if active.size and (active != active[0]).any():
        raise frame.problem("shape", "the address or the extent of a view differs between threads")
    return int(active[0]) if active.size else 0


def _shaped(compiler: Compiler, op: ViewOp) -> Callable[[Frame], Window]:
    """A function that finds the extents and strides of a view; open ones are operands."""
    type = op.result.type
    assert isinstance(type, MemRefType)
    layout = type.layout
    strides = layout.get_strides() if isinstance(layout, StridedLayoutAttr) else None
    sizes, steps = compiler.all_slots(op.sizes), compiler.all_slots(op.strides)

    def window(frame: Frame) -> Window:
        rest = iter([max(_uniform(frame, frame.env[each]), 0) for each in sizes])
        shape = [next(rest) if size == DYNAMIC_INDEX else size for size in type.get_shape()]
        if strides is None:
            return Window.rows(shape)
        rest = iter([_uniform(frame, frame.env[each]) for each in steps])
        opened = [next(rest) if step is None else step for step in strides]
        return Window(0, tuple(shape), tuple(opened))

    return window


def _dim(compiler: Compiler, op: Operation) -> Act:
    source, axis = compiler.all_slots(op.operands)
    target, shape = compiler.slot(op.results[0]), shape_of(op.operands[0].type)

    def act(frame: Frame) -> None:
        held, which = frame.env[source], int(frame.env[axis])
        extent = held.tensor.shape[which] if isinstance(held, GlobalBuffer) else shape[which]
        frame.env[target] = np.int64(extent)

    return act


def _stride(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, StrideOp)
    source, target, axis = compiler.slot(op.tensor), compiler.slot(op.result), op.axis.value.data

    def act(frame: Frame) -> None:
        held = frame.env[source]
        frame.env[target] = np.int64(held.tensor.strides[axis] // held.data.itemsize)

    return act


RULES: Mapping[str, Rule] = {
    "memref.collapse_shape": _same,
    "memref.cast": _same,
    "nv.opaque": _same,
    "tile.ptr_at": _reached,
    "tile.ptr_of": _address,
    "tile.view": _view,
    "memref.dim": _dim,
    "simt.stride": _stride,
}
