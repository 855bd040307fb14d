"""Shared memory and registers: TW500x to TW501x."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW5001",
        title="Shared or tensor memory exceeded",
        meaning=(
            "The buffers of the kernel need more shared memory (or columns of tensor memory) than "
            "one block of the target has. The notes list the largest buffers and the smallest "
            "change that fits."
        ),
        example=(
            'A_shared = T.alloc_shared((256, 128), "float32")\n'
            "for k in T.Pipelined(n, num_stages=4): ...   # 524288 B needed, sm_90 has 232448 B"
        ),
        fix="Reduce `num_stages` or the tile, or let buffers share storage.",
    ),
    CodeEntry(
        code="TW5002",
        severity="remark",
        title="Buffers merged",
        meaning=(
            "`merge-shared-memory` placed buffers that are never live at the same time at the "
            "same addresses. The message gives the bytes saved, the notes give the offsets."
        ),
        example="shared memory: 32768 bytes saved, 3 buffers share 65536 bytes",
        fix="Nothing to fix.",
    ),
    CodeEntry(
        code="TW5003",
        severity="remark",
        title="Buffers cannot share memory",
        meaning=(
            "Two buffers are live at the same time, at the op named in the note, so they keep "
            "separate storage."
        ),
        example=(
            "a_tile and c_tile cannot share: a_tile is read at line 26, c_tile is written at line "
            "25"
        ),
        fix="Shorten a live range: write `c_tile` after the last read of `a_tile`.",
    ),
    CodeEntry(
        code="TW5004",
        severity="remark",
        title="Buffer not merged",
        meaning=(
            "A buffer keeps its own storage and takes no part in merging, for the reason given. "
            "If its size is unknown, the report is a warning."
        ),
        example="bar not merged: its address is used by another function",
        fix="Nothing is required; give the buffer a static size to include it.",
    ),
    CodeEntry(
        code="TW5006",
        severity="remark",
        title="Copies unrolled by sixteen",
        meaning=(
            "Registers of a kernel spill when loops in which few threads copy a tile are unrolled. "
            "With sixteen iterations at a time, fewer bytes spill, and that form is used."
        ),
        example=(
            "attention_kernel: 3 loops of copies unrolled by sixteen: 0 B per thread spill instead "
            "of 4"
        ),
        fix="Nothing to fix; copies by TMA, or by more threads, take fewer registers.",
    ),
    CodeEntry(
        code="TW5007",
        severity="remark",
        title="Registers instead of reads, or reads instead of registers",
        meaning=(
            "Registers of a kernel that reads tensor memory spill, and another form spills less: "
            "loops that read the thread index anew, so that addresses are not held in registers "
            "across them, rows that are held rather than read twice, or rows that are reduced in "
            "loops over columns, of which a few are in registers at a time."
        ),
        example=(
            "main_kernel: loops read the thread index anew: 0 B per thread spill instead of 24"
        ),
        fix="Nothing to fix; smaller tiles, or more threads, leave more registers.",
    ),
    CodeEntry(
        code="TW5008",
        severity="remark",
        title="Steps of MMAs unrolled by two",
        meaning=(
            "Registers of a kernel spill when the loops along K of its `mma.sync` instructions "
            "are unrolled. Unrolled by two, fewer bytes spill, and that form is used."
        ),
        example=(
            "flash_bwd_kernel: 1 loops of MMAs unrolled by two: 0 B per thread spill instead of 72"
        ),
        fix="Nothing to fix; smaller tiles of accumulators leave more registers.",
    ),
    CodeEntry(
        code="TW5009",
        severity="remark",
        title="Occupancy raised",
        meaning=(
            "A kernel without MMAs is compiled for more blocks per SM, because the registers that "
            "ptxas takes without a bound leave the SM fewer than three quarters of its threads, "
            "and a bound on registers spills none. Where no barrier makes the threads of a block "
            "wait for each other, the bound has to leave as many bytes in flight, too."
        ),
        example=(
            "layer_norm_kernel: compiled for 6 blocks per SM, with 40 registers per thread: with "
            "68, 3 fit"
        ),
        fix="Nothing to fix; `T.annotate_min_blocks_per_sm(1)` keeps the registers.",
    ),
    CodeEntry(
        code="TW5010",
        severity="remark",
        title="Register array indexed by a run-time value",
        meaning=(
            "Registers have no addresses. An index that is not constant after unrolling places "
            "the array in local memory, or selects elements by a chain of comparisons."
        ),
        example=(
            'L = T.alloc_local((8,), "float32")\n'
            "C[tx] = L[I[tx]]                         # remark[TW5010]"
        ),
        fix=(
            "Use an index that is constant after unrolling (`T.unroll`), or a buffer in shared "
            "memory."
        ),
    ),
    CodeEntry(
        code="TW5011",
        severity="warning",
        title="Fragment exceeds the registers of a thread",
        meaning=(
            "The share of a fragment that each thread owns is larger than the registers a thread "
            "can have, so it spills to local memory."
        ),
        example=(
            'C = T.alloc_fragment((256, 256), "float32")  # 128 threads: 512 registers each, '
            "warning[TW5011]"
        ),
        fix="Use more threads or a smaller tile, as the help note computes.",
    ),
    CodeEntry(
        code="TW5012",
        severity="warning",
        title="Registers spill to local memory",
        meaning=(
            "The assembler reports spills: the kernel needs about the number of registers given, "
            "and a thread has fewer. The notes list the largest register arrays."
        ),
        example=(
            "gemm_kernel: 96 B per thread spill to local memory: about 271 registers needed, 255 "
            "available"
        ),
        fix=(
            "Increase the number of threads, reduce the tile, or lower "
            "`T.annotate_min_blocks_per_sm`."
        ),
    ),
    CodeEntry(
        code="TW5013",
        severity="remark",
        title="Pipeline epilogue predicated",
        meaning=(
            "The last iterations of a pipelined loop are predicated instead of peeled, because "
            "the peeled form spills more registers, or ptxas serialises its MMAs."
        ),
        example=(
            "pipeline epilogue predicated instead of peeled: 0 B per thread spill, 64 B with a "
            "peeled epilogue"
        ),
        fix="Nothing to fix; reduce the tile to avoid spills in either form.",
    ),
    CodeEntry(
        code="TW5014",
        title="Aliased buffer misaligned for its swizzle",
        meaning=(
            "A buffer of a storage-alias spec starts at an offset that its swizzle does not "
            "permit, because of the buffers placed before it."
        ),
        example=(
            "misaligned alias: 'p' is at byte 64 of its shared storage, its swizzle requires a "
            "multiple of 1024 B"
        ),
        fix=(
            "Name it first in its `reuse_group`, so that it starts at byte 0, or pad the buffers "
            "before it."
        ),
    ),
    CodeEntry(
        code="TW5015",
        severity="remark",
        title="Occupancy reduced",
        meaning=(
            "Shared memory, threads and the grid allow more blocks per SM than the kernel is "
            "compiled for: with more, registers spill or ptxas serialises the MMAs."
        ),
        example="occupancy limited to 1 blocks per SM: with 2, 128 B per thread spill",
        fix="Nothing to fix; a smaller tile allows more blocks.",
    ),
    CodeEntry(
        code="TW5016",
        severity="remark",
        title="Shared memory reused within an iteration",
        meaning=(
            "Buffers whose live ranges within one iteration do not overlap share addresses, which "
            "needs additional barriers. This is done because the kernel does not fit otherwise."
        ),
        example=(
            "shared memory is reused within a loop iteration, at the cost of barriers: 196608 B "
            "instead of 262144 B"
        ),
        fix="Nothing is required; a smaller tile or fewer stages avoid the barriers.",
    ),
    CodeEntry(
        code="TW5017",
        severity="remark",
        title="Block compiled with twice the threads",
        meaning=(
            "The kernel spills registers with the requested number of threads and does not with "
            "twice as many, so it is compiled with more threads."
        ),
        example="compiled with 256 threads instead of 128: no registers spill",
        fix="Set `threads` to the larger value, or reduce the tile.",
    ),
    CodeEntry(
        code="TW5018",
        severity="remark",
        title="MMAs not overlapped",
        meaning=(
            "The kernel is compiled without a pass that lets MMAs overlap with other work, "
            "because ptxas serialises the MMAs with it (C7510 to C7519) or registers spill, which "
            "costs more."
        ),
        example="overlap-wgmma not applied: ptxas serialises the MMAs with it",
        fix="Nothing is required; a smaller tile leaves more registers for MMAs in flight.",
    ),
)
