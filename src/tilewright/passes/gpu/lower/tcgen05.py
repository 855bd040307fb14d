"""GEMMs of Blackwell's tensor cores: instructions issued by one thread, and what completes them."""

from __future__ import annotations

from xdsl.dialects.builtin import Float4E2M1FNType, Float32Type, IntegerType, i1, i16, i32
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.arith import (
    AndiOp,
    CmpiOp,
    ConstantOp,
    IndexCastOp,
    ShliOp,
    TrunciOp,
    XoriOp,
)
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import (
    ClusterRankOp,
    Tcgen05CommitOp,
    Tcgen05CpOp,
    Tcgen05MatrixOp,
    Tcgen05MmaOp,
)
from tilewright.dialects.tile import Space, SyncOp, space_of
from tilewright.dialects.tile import Tcgen05CommitOp as TileCommitOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.signedness import is_unsigned
from tilewright.dialects.tile.tensor_memory import (
    CHUNK,
    Tcgen05CopyScalesOp,
    Tcgen05GemmOp,
    TransposeScalesOp,
)
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage, SharedPart
from tilewright.passes.gpu.lower.copies import leader
from tilewright.passes.gpu.lower.loops import opened
from tilewright.passes.gpu.lower.shared_operands import SharedOperand, shared_operand
from tilewright.passes.gpu.lower.tensor_memory import TensorMemory, TmemPart, tmem_part
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined
from tilewright.passes.tile.tile_regions import part_of

_STEP_BITS = 256
"""K of one instruction."""
_STEP_COLUMNS = 8
"""The same, of an operand in tensor memory."""
_MAX_COLUMNS = 256
_K_STEP = 32
"""Elements of 8 bits along K in one instruction."""
_WARP = 32
_ROW_BYTES, _GROUP_BYTES = 16, 128
"""Of scales: a row of four integers, and eight rows."""


def lower_tcgen05_gemm(op: Tcgen05GemmOp, storage: BufferStorage, memory: TensorMemory) -> None:
    """Replace a GEMM by its instructions and the commit that they report to."""
    code = opened(IndexBuilder(op), leader(IndexBuilder(op), storage, op))
    m, n, k = op.mnk
    group = 1 if op.two_cta is None else 2
    bits = bit_width(element_type_of(op.a.type))
    depth = _STEP_BITS // bits
    a = _operand(code, storage, op.a, is_k_major=op.transpose_a is None)
    b = shared_operand(code, storage, op.b, is_k_major=op.transpose_b is not None)
    c = tmem_part(code, op.c)
    keeps = _keeps(code, op)
    width = min(n, _MAX_COLUMNS)
    for column in range(0, n, width):
        target = memory.address(code, c.moved(code, column))
        for step in range(k // depth):
            if isinstance(a, TmemPart):
                column_of_a = combined(code, "+", a.column, step * _STEP_COLUMNS)
                left = memory.address(code, column_of_a)
            else:
                left = a.descriptor(code, Tcgen05MatrixOp, 0, step * depth)
            right = b.descriptor(code, Tcgen05MatrixOp, column // group, step * depth)
            scales, ids = _scales(code, op, memory, step, column)
            code.add(
                Tcgen05MmaOp(
                    left,
                    right,
                    target,
                    _kind(op),
                    (m * group, width, depth),
                    _types(op),
                    group=group,
                    use_acc=keeps if step == 0 else None,
                    scales=scales,
                    scale_ids=ids,
                    transposed_a=op.transpose_a is not None,
                    transposed_b=op.transpose_b is None,
                    unsigned=(is_unsigned(op.a), is_unsigned(op.b)),
                )
            )
    if op.barrier is not None and op.barrier_index is not None:
        _commit(code, (op.barrier, op.barrier_index), group)
    IndexBuilder(op).rewriter.erase(op)


def lower_tcgen05_commit(op: TileCommitOp, storage: BufferStorage) -> None:
    """Let the thread that issues arrive when everything is complete."""
    code = opened(IndexBuilder(op), leader(IndexBuilder(op), storage, op))
    _commit(code, (op.barrier, op.index), 1 if op.two_cta is None else 2)
    IndexBuilder(op).rewriter.erase(op)


def _commit(code: IndexBuilder, slot: tuple[SSAValue, SSAValue], group: int) -> None:
    mask = None
    if group > 1:
        # The bits of both blocks of the pair, in a cluster that may have several pairs.
        rank = code.add(ClusterRankOp()).results[0]
        even = code.add(AndiOp(rank, code.add(ConstantOp.of(-2, i32)).results[0])).results[0]
        pair = code.add(ConstantOp.of(3, i32)).results[0]
        wide = code.add(ShliOp(pair, even)).results[0]
        mask = code.add(TrunciOp(wide, i16)).results[0]
    code.add(Tcgen05CommitOp(*slot, group=group, multicast=mask))


def _operand(
    code: IndexBuilder, storage: BufferStorage, value: SSAValue, *, is_k_major: bool
) -> SharedOperand | TmemPart:
    if space_of(value.type) is Space.TMEM:
        return tmem_part(code, value)
    return shared_operand(code, storage, value, is_k_major=is_k_major)


def _keeps(code: IndexBuilder, op: Tcgen05GemmOp) -> SSAValue | None:
    """Whether the first step adds to what was there; None if it does."""
    if op.clear is not None:
        return code.add(ConstantOp.of(0, i1)).results[0]
    if op.clear_if is not None:
        true = code.add(ConstantOp.of(1, i1)).results[0]
        return code.add(XoriOp(op.clear_if, true)).results[0]
    return None


def _kind(op: Tcgen05GemmOp) -> str:
    element = element_type_of(op.a.type)
    if op.is_scaled:
        return "mxf8f6f4"
    if isinstance(element, IntegerType):
        return "i8"
    if isinstance(element, Float32Type):
        return "tf32"
    return "f8f6f4" if bit_width(element) == 8 else "f16"


def _types(op: Tcgen05GemmOp) -> tuple[Attribute, Attribute, Attribute]:
    a, b, c = (element_type_of(each.type) for each in (op.a, op.b, op.c))
    if op.is_scaled:  # bytes hold elements of 4 bits
        a, b = (Float4E2M1FNType() if isinstance(e, IntegerType) else e for e in (a, b))
    return a, b, c


def _scales(
    code: IndexBuilder, op: Tcgen05GemmOp, memory: TensorMemory, step: int, column: int
) -> tuple[list[SSAValue], list[SSAValue]]:
    """The addresses of the scales of a step, and which byte of them is its own."""
    if op.a_scales is None or op.b_scales is None or op.k_start is None:
        return [], []
    a, b = tmem_part(code, op.a_scales), tmem_part(code, op.b_scales)
    addresses = [
        memory.address(code, a.column),
        memory.address(code, b.moved(code, column // _WARP)),
    ]
    ids: list[SSAValue] = []
    for granularity in op.granularity:
        start = combined(code, "+", op.k_start, step * _K_STEP)
        scale = combined(code, "mod", combined(code, "floordiv", start, granularity), 4)
        ids.append(code.add(IndexCastOp(code.index(scale), i32)).results[0])
    return addresses, ids


def lower_copy_scales(
    op: Tcgen05CopyScalesOp, storage: BufferStorage, memory: TensorMemory
) -> None:
    """Replace a copy of scales by one instruction for each 128 packed scales."""
    code = opened(IndexBuilder(op), leader(IndexBuilder(op), storage, op))
    packed, cells = _packed(code, storage, op.src), tmem_part(code, op.dst)
    group = 1 if op.two_cta is None else 2
    for chunk in range(op.chunks):
        start = code.index(combined(code, "+", packed.start, chunk * CHUNK))
        source = Tcgen05MatrixOp(
            packed.buffer, start, swizzle=0, leading=_ROW_BYTES, stride=_GROUP_BYTES
        )
        address = memory.address(code, cells.moved(code, chunk * 4))
        code.add(Tcgen05CpOp(code.add(source).results[0], address, "32x128b", group=group))
    IndexBuilder(op).rewriter.erase(op)


def lower_transpose_scales(op: TransposeScalesOp, storage: BufferStorage) -> None:
    """Let a warp exchange packed scales: it loads all of a chunk before it stores any."""
    code = IndexBuilder(op)
    tid = storage.thread_at(code, op)
    first = code.add(CmpiOp("ult", code.index(tid), code.index(_WARP))).results[0]
    code = opened(code, first)
    packed = _packed(code, storage, op.packed)
    chunks = part_of(op.packed).extents[-1]
    assert isinstance(chunks, int)
    for chunk in range(chunks // CHUNK):
        begin = combined(code, "+", packed.start, chunk * CHUNK)
        loaded: list[SSAValue] = []
        for column in range(4):
            position = combined(code, "+", begin, combined(code, "+", tid, column * _WARP))
            loaded.append(code.add(LoadOp(packed.buffer, [code.index(position)])).results[0])
        code.add(SyncOp("warp"))
        for column, value in enumerate(loaded):
            position = combined(code, "+", begin, combined(code, "*", tid, 4))
            position = combined(code, "+", position, column)
            code.add(StoreOp(value, packed.buffer, [code.index(position)]))
    IndexBuilder(op).rewriter.erase(op)


def _packed(code: IndexBuilder, storage: BufferStorage, value: SSAValue) -> SharedPart:
    """A row of scales; `start` is its first element."""
    part = part_of(value)
    whole = storage.shared_part(code, part.buffer)
    start: Mixed = whole.offset(code, list(part.offsets))
    return SharedPart(whole.buffer, start, whole.map)
