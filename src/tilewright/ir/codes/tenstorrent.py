"""Tenstorrent target: schedules, layouts, tile intrinsics, circular buffers: TW70xx and TW71xx."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW7001",
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
        title="empty launch grid",
        meaning="The launch grid has no block, so no core would have any work.",
        example="with T.Kernel(T.ceildiv(0, 32)) as bx: ...",
        fix="Launch with sizes greater than 0.",
    ),
    CodeEntry(
        code="TW7011",
        title="multicast with the policy strided",
        meaning=(
            "With the policy strided the cores of a row or column have no rows or columns of "
            "blocks in common, so no core can read for the others."
        ),
        example='pass_configs={"tt.multicast": "on", "tt.schedule.policy": "strided"}',
        fix="Use the policy rect, which is the default with multicast.",
    ),
    CodeEntry(
        code="TW7012",
        title="launch grid depends on run-time values",
        meaning=(
            "Blocks are assigned to cores at compile time. A call compiles for its extents; a "
            "module that is compiled without a call has none."
        ),
        example="with T.Kernel(T.ceildiv(T.dynamic('m'), 32)) as bx: ...   # and no call",
        fix="Call the kernel, or state the extents: fix-arguments='values=A=33x17'.",
    ),
    CodeEntry(
        code="TW7013",
        title="launches without a fixed order",
        meaning=(
            "The kernels of a function are programs that the host enqueues in the order of the "
            "source. A kernel in a loop or under a condition has no fixed position in it."
        ),
        example="for step in T.serial(4):   with T.Kernel(8): ...",
        fix="Launch the kernel from Python, once for each iteration.",
    ),
    CodeEntry(
        code="TW7014",
        title="tensor that launches cannot share",
        meaning=(
            "Several kernels of one function use a tensor, and it has one arrangement in tiles. "
            "What one of them writes and another reads is not padded with zeros by the host, so "
            "that it has to fill its tiles and blocks."
        ),
        example="H = T.alloc_global((100, 64), ...) between two kernels with blocks of 32 rows",
        fix="Use sizes that are multiples of 32 and of the blocks.",
    ),
    CodeEntry(
        code="TW7020",
        title="element type without a tile format",
        meaning="The packer and the unpacker store tiles in few formats; this is none of them.",
        example="A: T.Tensor((64, 64), T.float64)",
        fix="Use bfloat16, float16, float32 or int32.",
    ),
    CodeEntry(
        code="TW7021",
        title="float16 and bfloat16 in one kernel",
        meaning=(
            "The unpackers of a core are configured for 5 or for 8 exponent bits, and the vendor's "
            "host refuses a program whose circular buffers have both; float32 goes with either."
        ),
        example="T.copy(half, brain)          # T.float16 to T.bfloat16",
        fix="Use one of the two types in the kernel, and convert with another one or on the host.",
    ),
    CodeEntry(
        code="TW7022",
        title="dimensions that do not form tiles",
        meaning=(
            "A buffer or a tensor is used along tile rows and along tile columns where no "
            "transposition can be inserted, or a copied box has more than two dimensions. A tensor "
            "has one arrangement in tiles."
        ),
        example="for i, j in T.Parallel(32, 32): a[i, j] = a[j, i]   # reads what it writes",
        fix="Use two buffers, one of them transposed, and copy one matrix at a time.",
    ),
    CodeEntry(
        code="TW7023",
        title="tensor with run-time extents",
        meaning=(
            "Pages and padding of a tensor are computed at compile time. A call compiles for its "
            "extents; a module that is compiled without a call has none."
        ),
        example="A: T.Tensor((T.dynamic('m'), 64), T.bfloat16)   # and no call",
        fix="Call the kernel, or state the extents: fix-arguments='values=A=33x17'.",
    ),
    CodeEntry(
        code="TW7024",
        title="unknown sharding",
        meaning=(
            "The setting `tt.shard` names a tensor that the kernel does not have, or a way of "
            "cutting it that does not exist."
        ),
        example='pass_configs={"tt.shard": {"A": "rows"}}',
        fix="Use a tensor of the kernel and `height`, `width`, `block` or `dram`.",
    ),
    CodeEntry(
        code="TW7030",
        title="synchronisation across the grid",
        meaning="A core processes its blocks sequentially, so blocks cannot wait for each other.",
        example="T.sync_grid()",
        fix="Split the kernel at the synchronisation.",
    ),
    CodeEntry(
        code="TW7031",
        title="order of reads and writes of a tensor",
        meaning=(
            "The reader of a core runs ahead of its writer: a block cannot read what it has "
            "written to a tensor, and cannot overwrite what it has read unless the new values "
            "depend on that read or a later one."
        ),
        example="T.copy(a, A[0, 0]); T.copy(A[0, 0], b)",
        fix="Keep the values in a buffer, or write to another tensor.",
    ),
    CodeEntry(
        code="TW7040",
        title="core outside the core grid",
        meaning="The schedule assigns blocks to a core that the target does not have.",
        example="tt.schedule = {cores = [16, 16], ...}   # on wormhole",
        fix="Recompute the schedule for the target with infer-tt-schedule.",
    ),
    CodeEntry(
        code="TW7050",
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
        title="more circular buffers than the target has",
        meaning="Every buffer of a kernel takes one index, of which a core has 32 or 64.",
        example="40 T.alloc_shared buffers on wormhole",
        fix="Use fewer buffers.",
    ),
    CodeEntry(
        code="TW7061",
        title="blocks that are not whole tiles",
        meaning=(
            "Offsets and sizes of the copies of a tensor have a common divisor that is not a "
            "multiple of 32, and a copy spans several such units. The host gathers such blocks "
            "into tiles if all copies have one size and no two blocks write the same elements."
        ),
        example="T.copy(c, C[bx * 16, 0])   # c has 48 rows: blocks overlap",
        fix="Use block sizes and offsets that are multiples of 32.",
    ),
    CodeEntry(
        code="TW7062",
        title="copy with unknown bounds",
        meaning=(
            "The pages of a tensor are laid out for the offsets that copies can have. They may "
            "depend on an integer tensor of up to 4096 elements that the caller passes, not on "
            "what the kernel computes; blocks may not write the same elements."
        ),
        example="T.copy(A[computed[0], 0], a)",
        fix="Use offsets that depend on blocks, loops and index tensors, and constant extents.",
    ),
    CodeEntry(
        code="TW7070",
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
        title="part of an on-chip buffer",
        meaning="On-chip buffers are circular buffers of whole blocks: ops use all of one.",
        example="T.copy(A[0:32, 0:32], a[0:32, 0:32])   # a has 64 columns",
        fix="Use one buffer per part.",
    ),
    CodeEntry(
        code="TW7080",
        title="raster order needs a constant grid",
        meaning="The orders z_order and hilbert are tables, computed at compile time.",
        example="order=hilbert with a grid of run-time extents",
        fix="Use row_major, column_major or block_linear.",
    ),
    CodeEntry(
        code="TW7081",
        title="raster block without extent",
        meaning="The order block_linear takes blocks of at least one row and one column.",
        example="order=block_linear:0x4",
        fix="Use extents of at least 1.",
    ),
    CodeEntry(
        code="TW7082",
        title="raster order with too large a table",
        meaning=(
            "The orders z_order and hilbert are listed among the run-time arguments of a core with "
            "at most 256 blocks, and otherwise stored in reader and writer, which have little "
            "memory."
        ),
        example="order=hilbert with 20,000 blocks on one core",
        fix="Use block_linear, larger blocks or more cores.",
    ),
    CodeEntry(
        code="TW7090",
        severity="remark",
        title="no multicast",
        meaning=(
            "A load of a kernel that is compiled with multicast is done by every core for itself. "
            "One core can read for others if these form a rectangle of the core grid, read the "
            "same pages, and do so in the same iterations. Cores with fewer blocks are completed "
            "with ghost steps, unless these would be more than a quarter of all steps."
        ),
        example="'A' is not multicast: no two cores of a rectangle read the same pages of it",
        fix="Use the policy rect, and a grid of blocks that the core grid divides evenly.",
    ),
    CodeEntry(
        code="TW7100",
        title="incomplete plan of a program",
        meaning=(
            "`verify-tt` found kernels without a host plan, or a plan without a required entry."
        ),
        example="tensix.host_plan @k {plan = {}}",
        fix="Run the whole `tenstorrent-pipeline`.",
    ),
    CodeEntry(
        code="TW7101",
        title="grid without blocks in the plan",
        meaning=("Every extent of the launch grid in the plan has to be positive."),
        example="grid = {x = 0, y = 8, z = 1}",
        fix="Launch at least one block.",
    ),
    CodeEntry(
        code="TW7102",
        title="block not assigned exactly once",
        meaning=(
            "The assignments of the cores do not cover the launch grid, or cover a block twice."
        ),
        example="core 0: blocks 0 to 3, core 1: blocks 3 to 6",
        fix="Recompute the schedule with `infer-tt-schedule`.",
    ),
    CodeEntry(
        code="TW7103",
        title="core range outside the core grid",
        meaning=(
            "The plan uses cores that the target does not have, or a range without six entries."
        ),
        example="core_ranges = [[8, 0, 8, 0, 0, 1]] on a grid of 8 x 8 cores",
        fix="Recompute the schedule for the target.",
    ),
    CodeEntry(
        code="TW7104",
        title="circular buffers of plan and kernels differ",
        meaning=("An index is used twice, out of range, or declared by the plan or a kernel only."),
        example="plan: c_0 with 2 pages; reader: c_0 with 4 pages",
        fix="Report it: the passes made inconsistent kernels.",
    ),
    CodeEntry(
        code="TW7105",
        title="circular buffers exceed L1",
        meaning=(
            "The circular buffers of the plan take more L1 than a core has. It is a warning when "
            "they take more than 80 %."
        ),
        example="l1_used = 1500000, l1_budget = 1368064",
        fix="Use smaller blocks.",
    ),
    CodeEntry(
        code="TW7106",
        title="page size is not that of a tile",
        meaning=("A page of a circular buffer is one tile of its format, aligned to 16 bytes."),
        example="c_0: bf16, page_bytes = 1024",
        fix="Report it: the passes made inconsistent kernels.",
    ),
    CodeEntry(
        code="TW7107",
        title="circular buffer used by a second role",
        meaning=("One kernel reserves and pushes pages of a circular buffer, one waits and pops."),
        example="cb_push_back(c_0, 1) in the compute kernel, c_0 is filled by the reader",
        fix="Report it: the passes made inconsistent kernels.",
    ),
    CodeEntry(
        code="TW7108",
        title="pages pushed and popped differ",
        meaning=("Over a whole run of a core, as many pages have to be popped as are pushed."),
        example="circular buffer 0: 8 pages pushed and 7 popped on core (0, 0)",
        fix="Report it: the passes made inconsistent kernels.",
    ),
    CodeEntry(
        code="TW7109",
        title="block size does not divide the page count",
        meaning=(
            "A push or pop that does not divide the page count straddles the end of the buffer."
        ),
        example="cb_push_back(c_0, 3) with 4 pages",
        fix="Report it: the passes made inconsistent kernels.",
    ),
    CodeEntry(
        code="TW7110",
        title="control flow depends on data",
        meaning=(
            "Reader, compute and writer run the same loops and branches, so bounds, conditions and "
            "offsets may depend on indices, scalar arguments and integer tensors of the caller "
            "only, whose values have to be known: they are in a call."
        ),
        example="if mask[0] > 0: T.copy(A[0, 0], a)",
        fix="Compute both cases and select with T.if_then_else.",
    ),
    CodeEntry(
        code="TW7111",
        title="DST protocol violated",
        meaning=(
            "A section of DST is acquired, committed, waited for and released in this order on all "
            "paths; math and packs are inside their section and use slots that exist."
        ),
        example="matmul_tiles(...) before tile_regs_acquire()",
        fix="Report it: the passes made inconsistent kernels.",
    ),
    CodeEntry(
        code="TW7112",
        title="init or format missing",
        meaning=(
            "A math op runs with the configuration of another one, or unpacks or packs another "
            "format than configured."
        ),
        example="add_tiles(...) after matmul_init(...)",
        fix="Report it: the passes made inconsistent kernels.",
    ),
    CodeEntry(
        code="TW7113",
        title="NoC barrier, reserve or wait missing",
        meaning=(
            "Pages are pushed before their data has arrived, popped before it has left, or pushed "
            "and popped without a reserve or wait."
        ),
        example="noc_async_read_page(...); cb_push_back(c_0, 1);",
        fix="Report it: the passes made inconsistent kernels.",
    ),
    CodeEntry(
        code="TW7114",
        title="reader and writer walk over blocks differently",
        meaning=("Both have to use the same raster map, or results are written to other blocks."),
        example="reader: row_major, writer: column_major",
        fix="Report it: the passes made inconsistent kernels.",
    ),
    CodeEntry(
        code="TW7115",
        title="arguments of kernel and plan differ",
        meaning=("The host passes the 32-bit arguments that the plan lists, at most 341."),
        example="reader takes A_addr, start_id; the plan lists start_id, A_addr",
        fix="Report it: the passes made inconsistent kernels.",
    ),
    CodeEntry(
        code="TW7116",
        title="inconsistent multicast",
        meaning=(
            "A multicast group sends pages to all cores of a rectangle but the sender. The "
            "rectangle and the sender are inside the core grid, num_dests is the number of "
            "receivers, all members process the same number of blocks, and its semaphores are "
            "declared once, with ids that the target has. Otherwise a core can wait forever."
        ),
        example="sender (0, 0), dests (1, 0) to (7, 0), num_dests 8: the rectangle has 7 receivers",
        fix="Report it: the passes made inconsistent kernels.",
    ),
    CodeEntry(
        code="TW7117",
        title="raw access in a compute kernel",
        meaning=("A compute kernel consists of calls on tiles, loops and integer arithmetic."),
        example="memref.load in a compute kernel",
        fix="Report it: the passes made inconsistent kernels.",
    ),
    CodeEntry(
        code="TW7118",
        title="on-chip element type without a tile format",
        meaning="Circular buffers hold tiles in the formats of the packer and the unpacker.",
        example="acc = T.alloc_fragment((32, 32), T.float64)",
        fix="Use bfloat16, float16, float32 or int32.",
    ),
    CodeEntry(
        code="TW7119",
        title="circular wait between kernels",
        meaning=(
            "A reserve or wait for more pages than the buffer has blocks forever, or with these "
            "depths the kernels of a core wait for each other forever."
        ),
        example="cb_wait_front(c_0, 4) with 2 pages",
        fix="Report it: the passes made inconsistent kernels.",
    ),
    CodeEntry(
        code="TW7120",
        title="a panel that stays in L1 is not the one that a block needs",
        meaning=(
            "The reader leaves out a load although the block needs other pages than those that its "
            "circular buffer holds, or it loads more often than the plan states, or the circular "
            "buffer has another size than the panels that stay in it."
        ),
        example="blocks of one row share a panel of A, and the reader loads it for the first only",
        fix="Report it: the passes made inconsistent kernels; compile with `tt.residency` off.",
    ),
    CodeEntry(
        code="TW7121",
        title="shards that do not suit the program",
        meaning=(
            "The shards of a tensor in L1 do not cover it core by core, or a circular buffer that "
            "is set on them differs from them in size, format or use."
        ),
        example="a circular buffer of 8 pages on shards of 4",
        fix="Report it: the passes made an inconsistent program.",
    ),
)
