"""Tenstorrent target: schedules, layouts, tile intrinsics, circular buffers: TW70xx and TW71xx."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW7001",
        severity="error",
        title="unknown schedule policy, raster order or core grid",
        meaning=(
            "The annotation `tt.schedule` or an option of the pipeline names a policy, an order or "
            "a core grid that does not exist on the target."
        ),
        example="tilewright opt --apply-tt-defaults='policy=diagonal' kernel.mlir",
        fix="Use contiguous, strided or rect, and one of the orders that the message lists.",
    ),
    CodeEntry(
        code="TW7010",
        severity="error",
        title="empty launch grid",
        meaning="The launch grid has no block, so no core would have any work.",
        example="with T.Kernel(T.ceildiv(0, 32)) as bx: ...",
        fix="Launch with sizes greater than 0.",
    ),
    CodeEntry(
        code="TW7012",
        severity="error",
        title="launch grid depends on run-time values",
        meaning="Blocks are assigned to cores at compile time, which needs a constant grid.",
        example="with T.Kernel(T.ceildiv(T.dynamic('m'), 32)) as bx: ...",
        fix="Compile the kernel for fixed sizes.",
    ),
    CodeEntry(
        code="TW7013",
        severity="error",
        title="several kernels in one function",
        meaning="A Tenstorrent program has one set of reader, compute and writer kernels.",
        example="with T.Kernel(8): ...   with T.Kernel(4): ...   # in one prim_func",
        fix="Use one function per T.Kernel.",
    ),
    CodeEntry(
        code="TW7020",
        severity="error",
        title="element type without a tile format",
        meaning="The packer and the unpacker store tiles in few formats; this is none of them.",
        example="A: T.Tensor((64, 64), T.float64)",
        fix="Use bfloat16, float16, float32 or int32.",
    ),
    CodeEntry(
        code="TW7022",
        severity="error",
        title="dimensions that do not form tiles",
        meaning=(
            "A buffer or a tensor is used along tile rows and along tile columns, or a copied box "
            "has more than two dimensions. A tensor has one arrangement in tiles."
        ),
        example="y[i, j] = x[i, j] + s[i] + s[j]   # s runs along both axes",
        fix="Use two buffers, one of them transposed, and copy one matrix at a time.",
    ),
    CodeEntry(
        code="TW7023",
        severity="error",
        title="tensor with run-time extents",
        meaning="Pages and padding of a tensor are computed at compile time.",
        example="A: T.Tensor((T.dynamic('m'), 64), T.bfloat16)",
        fix="Compile the kernel for fixed sizes.",
    ),
    CodeEntry(
        code="TW7030",
        severity="error",
        title="synchronisation across the grid",
        meaning="A core processes its blocks sequentially, so blocks cannot wait for each other.",
        example="T.sync_grid()",
        fix="Split the kernel at the synchronisation.",
    ),
    CodeEntry(
        code="TW7040",
        severity="error",
        title="core outside the core grid",
        meaning="The schedule assigns blocks to a core that the target does not have.",
        example="tt.schedule = {cores = [16, 16], ...}   # on wormhole",
        fix="Recompute the schedule for the target with infer-tt-schedule.",
    ),
    CodeEntry(
        code="TW7050",
        severity="error",
        title="circular buffers do not fit L1",
        meaning=(
            "The circular buffers of a core need more L1 than the target has, with outputs of one "
            "sub-block, double buffering and partial sums in L1. The message lists them."
        ),
        example="block_M = block_N = 2048   # 4096 tiles of partial sums",
        fix="Use smaller blocks.",
    ),
    CodeEntry(
        code="TW7051",
        severity="error",
        title="more circular buffers than the target has",
        meaning="Every buffer of a kernel takes one index, of which a core has 32 or 64.",
        example="40 T.alloc_shared buffers on wormhole",
        fix="Use fewer buffers.",
    ),
    CodeEntry(
        code="TW7061",
        severity="error",
        title="blocks that are not whole tiles",
        meaning=(
            "Offsets and sizes of the copies of a tensor have a common divisor that is not a "
            "multiple of 32, and a copy spans several such units."
        ),
        example="T.copy(A[bx * 16, 0], a)   # a has 48 rows",
        fix="Use block sizes and offsets that are multiples of 32.",
    ),
    CodeEntry(
        code="TW7062",
        severity="error",
        title="copy with unknown bounds",
        meaning="The pages of a tensor are laid out for the offsets that copies can have.",
        example="T.copy(A[index[0], 0], a)",
        fix="Use offsets that depend on block and loop indices only, and constant extents.",
    ),
    CodeEntry(
        code="TW7070",
        severity="error",
        title="no tile intrinsic",
        meaning=(
            "Compute kernels consist of calls on whole tiles, and there is none for this op. "
            "Loops that are a GEMM are recognised only in their strict form."
        ),
        example="for i, j in T.Parallel(32, 32): y[i, j] = T.erf(x[i, j])",
        fix="Use an op that the message lists, or T.gemm.",
    ),
    CodeEntry(
        code="TW7071",
        severity="error",
        title="part of an on-chip buffer",
        meaning="On-chip buffers are circular buffers of whole blocks: ops use all of one.",
        example="T.copy(A[0:32, 0:32], a[0:32, 0:32])   # a has 64 columns",
        fix="Use one buffer per part.",
    ),
    CodeEntry(
        code="TW7080",
        severity="error",
        title="raster order needs a constant grid",
        meaning="The orders z_order and hilbert are tables, computed at compile time.",
        example="order=hilbert with a grid of run-time extents",
        fix="Use row_major, column_major or block_linear.",
    ),
    CodeEntry(
        code="TW7081",
        severity="error",
        title="raster block without extent",
        meaning="The order block_linear takes blocks of at least one row and one column.",
        example="order=block_linear:0x4",
        fix="Use extents of at least 1.",
    ),
    CodeEntry(
        code="TW7110",
        severity="error",
        title="control flow depends on data",
        meaning=(
            "Reader, compute and writer run the same loops and branches, so bounds, conditions and "
            "offsets may depend on arguments and indices only."
        ),
        example="if mask[0] > 0: T.copy(A[0, 0], a)",
        fix="Compute both cases and select with T.if_then_else.",
    ),
    CodeEntry(
        code="TW7118",
        severity="error",
        title="on-chip element type without a tile format",
        meaning="Circular buffers hold tiles in the formats of the packer and the unpacker.",
        example="acc = T.alloc_fragment((32, 32), T.float64)",
        fix="Use bfloat16, float16, float32 or int32.",
    ),
)
