"""AMD GPUs: 75xx."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES: tuple[CodeEntry, ...] = (
    CodeEntry(
        code="TW7500",
        severity="remark",
        title="Copy not staged through registers",
        meaning=(
            "A copy from global to shared memory in a pipelined loop is usually split into a load "
            "into registers, which is in flight while the previous iteration computes, and a "
            "store. This one is not, so the threads wait for it where it stands."
        ),
        example="remark[TW7500]: copy to 'A_shared' not staged: 33 x 17 elements do not divide "
        "evenly among 128 threads",
        fix="Use tiles whose rows are multiples of 16 bytes and that all threads share evenly.",
    ),
    CodeEntry(
        code="TW7501",
        severity="remark",
        title="Shared tiles not double-buffered",
        meaning=(
            "Two versions of the tiles of a pipelined loop exceed the shared memory of a block, so "
            "there is one. Stores have to wait for the last reader, with a second barrier in every "
            "iteration; loads into registers still overlap with computation."
        ),
        example="remark[TW7501]: tiles in shared memory not double-buffered: 98304 B needed, "
        "65536 B available per block on gfx942",
        fix="Use smaller tiles; no change is required.",
    ),
    CodeEntry(
        code="TW7502",
        severity="remark",
        title="Instructions for NVIDIA GPUs without effect",
        meaning=(
            "Asynchronous copies complete where they stand, and hand-over of registers and "
            "proxy fences have no counterpart: AMD GPUs overlap copies and computation in "
            "`T.Pipelined` loops."
        ),
        example="remark[TW7502]: without effect on gfx942: 2 x asynchronous copy",
        fix="No change is required; use `T.copy` in `T.Pipelined` to overlap copies.",
    ),
    CodeEntry(
        code="TW7503",
        severity="remark",
        title="Copy does not overlap with computation",
        meaning=(
            "A tile that is loaded while the previous iteration computes is in registers all "
            "through the iteration. There are not enough for this one, so the threads wait for "
            "its load."
        ),
        example="remark[TW7503]: copy does not overlap with computation: 32 registers per thread "
        "needed, 16 of 256 left on gfx1100",
        fix="Use smaller tiles or more threads.",
    ),
    CodeEntry(
        code="TW7504",
        severity="remark",
        title="Copy goes through registers",
        meaning=(
            "Waves of gfx950 copy 16 bytes a lane from global memory to LDS without registers. "
            "This copy of a pipelined loop does not qualify, or another one of the loop does not, "
            "so it is loaded into registers while the previous iteration computes, and then "
            "stored."
        ),
        example="remark[TW7504]: copy to 'B_shared' goes through registers: it transposes the "
        "tile: matrix instructions read the other dimension",
        fix="Use operands whose K dimension is contiguous, compile-time shapes, and tiles of a "
        "multiple of 16 bytes for every thread; no change is required.",
    ),
    CodeEntry(
        code="TW7505",
        severity="remark",
        title="Direct copies share an array",
        meaning=(
            "Tiles that are copied to LDS without registers are usually arrays of their own. Those "
            "of this kernel do not fit beside its other buffers, so they are part of one array, "
            "and the compiler waits for all copies before it reads LDS."
        ),
        example="remark[TW7505]: direct copies to shared memory overlap less with computation: "
        "arrays of their own need 180224 B together with other buffers, 163840 B available on "
        "gfx950",
        fix="Use smaller tiles or fewer stages.",
    ),
    CodeEntry(
        code="TW7510",
        title="mbarriers not supported",
        meaning=(
            "Barriers in memory, which count arrivals and bytes, exist on NVIDIA GPUs since "
            "Hopper. AMD GPUs synchronise the whole block."
        ),
        example="ready = T.alloc_barrier(128)   # error[TW7510] on gfx942",
        fix="Use `T.copy` in `T.Pipelined`, and `T.sync_threads()`.",
    ),
    CodeEntry(
        code="TW7511",
        title="TMA not supported",
        meaning=(
            "TMA, the unit of NVIDIA GPUs that copies tiles and reports bytes to a barrier, has "
            "no counterpart."
        ),
        example="T.tma_copy(A[0, 0], tile, barrier=full)   # error[TW7511] on gfx942",
        fix="Use `T.copy`.",
    ),
    CodeEntry(
        code="TW7512",
        title="Clusters not supported",
        meaning="AMD GPUs do not schedule blocks together that access each other's shared memory.",
        example="with T.ClusterKernel(8, cluster_dims=(2, 1, 1)): ...   # error[TW7512] on gfx942",
        fix="Use `T.Kernel`.",
    ),
    CodeEntry(
        code="TW7513",
        title="Warp roles not supported",
        meaning=(
            "Warp specialisation gives threads of a block different programs, with barriers in "
            "memory between them and moves registers among them. AMD GPUs have neither."
        ),
        example="with T.ws(0): ...   # error[TW7513] on gfx942",
        fix="Write one program for all threads; `T.Pipelined` overlaps copies and computation.",
    ),
    CodeEntry(
        code="TW7514",
        title="Named barriers not supported",
        meaning=(
            "A barrier that counts some threads of a block has no counterpart: `s_barrier` "
            "waits for all of them."
        ),
        example="T.sync_threads(3, 64)   # error[TW7514] on gfx942",
        fix="Use `T.sync_threads()`, reached by all threads of the block.",
    ),
    CodeEntry(
        code="TW7515",
        title="Tensor memory not supported",
        meaning=(
            "Tensor memory is part of Blackwell's tensor cores; matrix instructions of AMD GPUs"
            " accumulate in registers."
        ),
        example="C = T.alloc_tmem((128, 128), T.float32)   # error[TW7515] on gfx942",
        fix="Use `T.alloc_fragment`.",
    ),
    CodeEntry(
        code="TW7516",
        title="Raw asynchronous copies not supported",
        meaning=(
            "`T.ptx_cp_async` is one instruction of NVIDIA GPUs, with addresses that the kernel"
            " computes."
        ),
        example="T.ptx_cp_async(...)   # error[TW7516] on gfx942",
        fix="Use `T.copy`, or `T.async_copy`.",
    ),
    CodeEntry(
        code="TW7517",
        severity="remark",
        title="Number of threads is not a multiple of a wave",
        meaning=(
            "Threads run in waves of 64 lanes (gfx9) or 32 (gfx11, gfx12). Lanes of the last wave"
            " that have no thread idle, and matrix instructions, which need all lanes, are not"
            " used."
        ),
        example="with T.Kernel(4, threads=96): ...   # remark[TW7517] on gfx942",
        fix="Use a multiple of the wave; the message has the next one.",
    ),
    CodeEntry(
        code="TW7518",
        severity="remark",
        title="More stages without effect",
        meaning=(
            "A copy of a pipelined loop is in registers while the previous iteration computes, and "
            "its tile has two versions in shared memory. Copies do not run further ahead, so "
            "`num_stages` above 2 changes nothing. Tiles of direct copies (gfx950) have up to 3."
        ),
        example="remark[TW7518]: num_stages=3 has the effect of num_stages=2",
        fix="No change is required; larger tiles have longer iterations to overlap with.",
    ),
    CodeEntry(
        code="TW7519",
        title="External function not defined",
        meaning=(
            "`T.call_extern` names a function that no imported source defines. Names like `__expf` "
            "are functions of the CUDA compiler, and unknown to compilers of AMD code."
        ),
        example='y = T.call_extern("float32", "__expf", x)   # error[TW7519] on gfx942',
        fix="Use the function of `T`, or define the function with `T.import_source`.",
    ),
    CodeEntry(
        code="TW7520",
        title="Imported source has PTX",
        meaning=(
            "An `asm` statement of the source that a kernel imports is in PTX, the assembly "
            "language of NVIDIA GPUs, which compilers of AMD code cannot assemble. Statements "
            "inside `#if` are left to the preprocessor."
        ),
        example='T.import_source("... asm(\\"prmt.b32 ...\\") ...")   # error[TW7520] on gfx942',
        fix="Write the function in C++, or add another definition inside `#ifdef __HIP__`.",
    ),
    CodeEntry(
        code="TW7540",
        severity="remark",
        title="Buffer access not used",
        meaning=(
            "Buffer accesses check the bounds of a tensor in the memory system, without a branch. "
            "Their offsets have 32 bits, so the size of the tensor has to be known and below 2 GiB."
        ),
        example="remark[TW7540]: buffer access not used, a branch guards the access: the size of "
        "'A' is a run-time value",
        fix="Give the tensor a constant shape; no change is required.",
    ),
    CodeEntry(
        code="TW7550",
        severity="remark",
        title="Operand read element by element",
        meaning=(
            "Matrix instructions read operands 16 bytes at a time where K is contiguous in shared"
            " memory. GEMMs of this kernel read the buffer along both dimensions, and there is no"
            " second, transposed copy of it: it does not fit, or other ops than whole copies write"
            " the buffer."
        ),
        example="remark[TW7550]: 'Q_shared' read element by element here: other GEMMs read it along"
        " its rows, and a transposed copy does not fit: 81920 B needed, 65536 B available per block"
        " on gfx942",
        fix="Use smaller tiles, or T.copy the tile to a second shared buffer.",
    ),
    CodeEntry(
        code="TW7551",
        severity="remark",
        title="Operand filled in parts",
        meaning=(
            "The tile that a GEMM reads does not fit into shared memory together with the other"
            " buffers of the kernel. It is copied in parts along K, sequentially, each of"
            " which is multiplied before the next one is copied. Every GEMM that reads the tile"
            " copies its own parts: a tile that two GEMMs read, or that is filled before the loop"
            " with the GEMM, is read from global memory several times. The result is the same;"
            " these copies do not overlap with computation, and take barriers. Where that is not"
            " enough, the loop is not pipelined."
        ),
        example="remark[TW7551]: 'A_shared' filled in 2 parts along K, sequentially: the"
        " whole does not fit into shared memory; these copies do not overlap with computation",
        fix="Use a smaller tile along K.",
    ),
    CodeEntry(
        code="TW7552",
        severity="remark",
        title="Threads rounded up to whole waves",
        meaning=(
            "Matrix instructions take all lanes of a wave. The kernel has GEMMs, names no thread,"
            " and its threads do not fill their last wave: a block gets as many as fill it. The"
            " result is the same."
        ),
        example="remark[TW7552]: 64 threads per block instead of 32: matrix instructions take all"
        " 64 lanes of a wave on gfx942",
        fix="No change is required; use a multiple of the lanes of a wave.",
    ),
    CodeEntry(
        code="TW7553",
        severity="remark",
        title="Result not stored through shared memory",
        meaning=(
            "The kernel copies a fragment to a shared buffer and from there to a tensor. That"
            " buffer alone exceeds the shared memory of a block, so threads store the elements that"
            " they own. The result is the same; stores may be narrower."
        ),
        example="remark[TW7553]: 'O_shared' not used, 'acc_o' stored directly: 73728 B needed,"
        " 65536 B available per block on gfx942",
        fix="Use a smaller tile, or T.copy the fragment to the tensor.",
    ),
    CodeEntry(
        code="TW7554",
        severity="remark",
        title="Operands read in shared memory",
        meaning=(
            "The kernel copies a shared buffer to a fragment that is an operand of a GEMM. With the"
            " fragment, registers spill; the GEMM reads the shared buffer instead. The result is"
            " the same."
        ),
        example="remark[TW7554]: operands of GEMMs read in shared memory, not copied to registers:"
        " 272 B per thread spill otherwise",
        fix="Pass the shared buffer to T.gemm, or use more threads or smaller tiles.",
    ),
    CodeEntry(
        code="TW7555",
        severity="remark",
        title="Form with fewer registers",
        meaning=(
            "The kernel spills registers in the form that is usually the fastest. It is compiled "
            "without a pass that keeps more values in registers: `merge-guards` holds the accesses "
            "of several guards, `duplicate-operands` copies an operand for each orientation."
        ),
        example="remark[TW7555]: guards of accesses tested separately: 192 B per thread spill "
        "otherwise",
        fix="Use more threads or smaller tiles; no change is required.",
    ),
)
