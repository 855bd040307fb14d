"""Accesses outside of parallel loops: to shared memory, user code for single threads; to fragments
that all threads hold, a register."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.dialects.arith import AddiOp, MuliOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import LdMatrixOp
from tilewright.dialects.tile import AtomicOp, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.mixed import Mixed, known
from tilewright.dialects.tile.regions import PtrOfOp
from tilewright.dialects.type_utils import shape_of
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined


def lower_matrix_load(op: LdMatrixOp, storage: BufferStorage) -> None:
    """Address the row that a lane names where the layout of its buffer has it."""
    if storage.is_lowered(op.src):
        return
    code = IndexBuilder(op)
    part = storage.shared_part(code, op.src)
    offset = code.index(part.offset(code, _indices(code, op)))
    new = LdMatrixOp(
        part.buffer,
        offset,
        op.dst,
        op.dst_index,
        op.count.value.data,
        transposed=op.transposed is not None,
    )
    code.add(new)
    code.rewriter.erase(op)


def _indices(code: IndexBuilder, op: LdMatrixOp) -> list[Mixed]:
    """The index along each dimension of what an op gives in row-major order."""
    found: list[Mixed] = []
    rest: Mixed = op.src_index
    for size in reversed(shape_of(op.src.type)[1:]):
        split = _split(rest, size)
        if split is None:
            split = combined(code, "floordiv", rest, size), combined(code, "mod", rest, size)
        rest = split[0]
        found.insert(0, split[1])
    return [rest, *found]


def _split(flat: Mixed, size: int) -> tuple[Mixed, Mixed] | None:
    """``row`` and ``column`` of ``row * size + column``, as it was computed."""
    owner = flat.owner if isinstance(flat, SSAValue) else None
    if not isinstance(owner, AddiOp):
        return None
    rows = owner.operands[0].owner
    if not isinstance(rows, MuliOp) or known(rows.operands[1]) != size:
        return None
    return rows.operands[0], owner.operands[1]


def _lower_held(op: LoadOp, storage: BufferStorage) -> bool:
    """Read an element of a fragment that every thread owns; false if it is no such element."""
    registers = storage.registers.get(base_of(op.memref))
    indices = [known(index) for index in op.indices]
    at = tuple(index for index in indices if isinstance(index, int))
    if registers is None or len(at) != len(indices):
        return False
    if not registers.table.is_held_by_all(at, threads_of(op).count):
        return False
    code = IndexBuilder(op)
    register = code.index(int(registers.table.registers[at]))
    code.rewriter.replace_op(op, LoadOp(registers.buffer, [register]))
    return True


def lower_loose(op: LoadOp | StoreOp | AtomicOp | PtrOfOp, storage: BufferStorage) -> None:
    """Address the element where the layout of its buffer has it."""
    if isinstance(op, PtrOfOp):
        buffer = op.base
    else:
        buffer = op.dst if isinstance(op, AtomicOp) else op.memref
    space = space_of(buffer.type)
    if isinstance(op, LoadOp) and _lower_held(op, storage):
        return
    if space is None or not space.is_shared or storage.is_lowered(buffer):
        return
    code = IndexBuilder(op)
    part = storage.shared_part(code, buffer)
    indices: list[Mixed] = list(op.indices)
    offset = code.index(part.offset(code, indices))
    new: Operation
    if isinstance(op, LoadOp):
        new = LoadOp(part.buffer, [offset])
    elif isinstance(op, PtrOfOp):
        new = PtrOfOp(part.buffer, [offset], mode=op.mode.data, extent=op.extent)
    elif isinstance(op, StoreOp):
        new = StoreOp(op.value, part.buffer, [offset])
    else:
        new = op.of_element(part.buffer, [offset])
    code.add(new)
    for old, result in zip(op.results, new.results, strict=True):
        result.name_hint = old.name_hint
    code.rewriter.replace_op(op, [], list(new.results))
