"""Choice of instructions, and races and reads found in tile kernels: TW30xx."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW3002",
        severity="remark",
        title="TMA store not used",
        meaning=(
            "A tile is stored to global memory by the threads instead of TMA, for the reason "
            "given: the start or a stride is not a multiple of 16 bytes, the tensor is accessed "
            "again later in the kernel, or another store may write the same elements."
        ),
        example=(
            "T.copy(C_shared, C[by * 128, bx * 100])  # remark[TW3002]: the start is not a "
            "multiple of 16 bytes"
        ),
        fix="Align starts and strides to 16 bytes; nothing is required for correctness.",
    ),
    CodeEntry(
        code="TW3003",
        title="GEMM not possible with these shapes, types or threads",
        meaning=(
            "No MMA instruction computes this GEMM. `infer-layouts` reports it when it runs on "
            "its own; compiling for a GPU expands such a GEMM into loops first (TW3008)."
        ),
        example=(
            "tilewright opt --infer-layouts gemm.mlir     # float16, K = 20: not a multiple of 16"
        ),
        fix="Use a tile size, element type or thread count as the help note names it.",
    ),
    CodeEntry(
        code="TW3005",
        severity="remark",
        title="FP8 operands converted to float16",
        meaning=(
            "The target has no MMA for 8-bit floats (they come with sm_89), so the operands are "
            "converted to float16 first."
        ),
        example="T.gemm(A_fp8, B_fp8, C)                  # target sm_80: remark[TW3005]",
        fix="Compile for sm_89 or later, or nothing: the results are correct.",
    ),
    CodeEntry(
        code="TW3006",
        severity="remark",
        title="mma.sync used instead of wgmma",
        meaning=(
            "On Hopper the GEMM uses `mma.sync`, which is slower than `wgmma`, for the reason "
            "given."
        ),
        example=(
            "T.gemm(A_shared, B_shared, C)            # 32 rows: remark[TW3006], wgmma needs "
            "multiples of 64"
        ),
        fix=(
            "Use multiples of 64 rows per warp group, shared operands and a multiple of 128 "
            "threads."
        ),
    ),
    CodeEntry(
        code="TW3007",
        severity="remark",
        title="float32 operands multiplied as tf32",
        meaning=(
            "Tensor cores read float32 operands as tf32, with 10 bits of mantissa. The "
            "accumulator is float32."
        ),
        example="T.gemm(A_float32, B_float32, C)          # remark[TW3007]",
        fix=(
            "Accept the rounding, or compute the GEMM with `T.Parallel` and `T.serial` loops, "
            "which is exact and much slower."
        ),
    ),
    CodeEntry(
        code="TW3008",
        severity="warning",
        title="GEMM does not use tensor cores",
        meaning=(
            "No MMA instruction matches the shape, the element types or the threads of this GEMM, "
            "so it is expanded into loops on the CUDA cores. The results are correct; the GEMM is "
            "many times slower."
        ),
        example=(
            "T.gemm(A_bf16, B_bf16, C_float16)        # warning[TW3008]: the accumulator must be "
            "float32"
        ),
        fix=(
            "Apply the change that the help note names, usually another accumulator type, tile "
            "size or thread count."
        ),
    ),
    CodeEntry(
        code="TW3009",
        severity="remark",
        title="GEMM on FMA units for all bits of its operands",
        meaning=(
            "The GEMM requests all bits of float32 or float64 operands (`precision ieee`), which "
            "tensor cores do not read, so it is expanded into loops of fused multiply-adds."
        ),
        example=("tl.dot(a, b, input_precision='ieee')     # float32: remark[TW3009]"),
        fix="Request tf32x3 or bf16x6, which are nearly as precise on tensor cores, or nothing.",
    ),
    CodeEntry(
        code="TW3010",
        severity="remark",
        title="Memory accesses narrower than 16 bytes",
        meaning=(
            "Elements of a tensor are loaded or stored fewer at a time than fit 16 bytes, or "
            "loaded in two aligned accesses and shifted, because of a stride, an index, a guard "
            "or an unknown alignment."
        ),
        example='A: T.Tensor((64, 101), "float16")        # rows of 202 bytes: remark[TW3010]',
        fix="Pad rows to a multiple of 16 bytes, or state alignment with `T.assume`.",
    ),
    CodeEntry(
        code="TW3015",
        title="TMA copy starts at an invalid position",
        meaning=(
            "A TMA copy requested by the kernel starts at a column that is not a multiple of 16 "
            "bytes, or a TMA store starts at a negative index. The hardware stops such a kernel "
            "with an illegal instruction."
        ),
        example="T.tma_copy(A[row, 1], A_shared, barrier=full)    # error[TW3015]",
        fix="Start at a multiple of 16 bytes, or use `T.copy`, which uses TMA only where it can.",
    ),
    CodeEntry(
        code="TW3016",
        severity="warning",
        title="Start of a TMA copy not proved valid",
        meaning=(
            "The start of a TMA copy is a run-time value, and it is not proved to be a multiple "
            "of 16 bytes (or, for a store, not to be negative). An invalid start stops the kernel "
            "on a GPU."
        ),
        example="T.tma_copy(A[row, column], A_shared, barrier=full)   # warning[TW3016]",
        fix="State what holds with `T.assume(column % 8 == 0)`; runs on the host check it.",
    ),
    CodeEntry(
        code="TW3017",
        title="TMA load outside of a tensor whose safe value is not zero",
        meaning=(
            "TMA fills what a box has outside of its tensor with zeros. The tensor has another "
            "safe value, the kernel requests TMA, and the box is not proved to stay inside."
        ),
        example=(
            "T.annotate_safe_value({A: 1.0})\n"
            "T.tma_copy(A[row, 0], tile, barrier=full)   # error[TW3017]"
        ),
        fix="Use `T.copy`, or state with `T.assume` that the box stays inside of the tensor.",
    ),
    CodeEntry(
        code="TW3020",
        severity="remark",
        title="Loop unrolled partially",
        meaning=(
            "Full unrolling of a `T.unroll` loop would exceed the limit on generated operations, "
            "so it is unrolled by a factor."
        ),
        example="for i in T.unroll(4096): ...             # remark[TW3020]",
        fix="Use `unroll_factor`, or `T.serial`.",
    ),
    CodeEntry(
        code="TW3030",
        title="Data race: two iterations of T.Parallel write one element",
        meaning=(
            "Iterations of `T.Parallel` have no order. Two of them write the same element, which "
            "the message names with both iterations."
        ),
        example=(
            "for i in T.Parallel(63):\n"
            "    S[i] = A[i]\n"
            "    S[i + 1] = B[i]  # error[TW3030]: iterations 0 and 1 write S[1]"
        ),
        fix=(
            "Combine with `T.atomic_add`, `T.reduce_sum` or `T.alloc_reducer`; give two different "
            "writes a `T.Parallel` each."
        ),
    ),
    CodeEntry(
        code="TW3031",
        title="Data race: an iteration of T.Parallel reads what another writes",
        meaning=(
            "Iterations of `T.Parallel` have no order, so a read of an element that another "
            "iteration writes sees the old or the new value."
        ),
        example=(
            "for i in T.Parallel(63):\n    S[i] = S[i + 1]                      # error[TW3031]"
        ),
        fix="Read into a fragment in one `T.Parallel`, and write from it in a second one.",
    ),
    CodeEntry(
        code="TW3032",
        severity="remark",
        title="Races of T.Parallel not analysed",
        meaning=(
            "Whether two iterations access the same element could be neither shown nor excluded, "
            "for the reason given. This remark does not mean that the loop is free of races."
        ),
        example=(
            "for i in T.Parallel(64):\n"
            "    S[I[i]] = A[i]  # remark[TW3032]: the index is data-dependent"
        ),
        fix="Run `tilewright check` with representative inputs.",
    ),
    CodeEntry(
        code="TW3040",
        title="Buffer read before it is written",
        meaning=(
            "No op before this read writes the shared buffer or fragment on any path. Under a "
            "condition, the finding is a warning."
        ),
        example=(
            'C = T.alloc_fragment((64, 64), "float32")\n'
            "T.gemm(A, B, C)  # error[TW3040]: C is accumulated into, but not cleared"
        ),
        fix="Initialise the buffer, for example with `T.clear(C)`.",
    ),
    CodeEntry(
        code="TW3050",
        severity="remark",
        title="cp.async not used",
        meaning=(
            "`cp.async` copies 4, 8 or 16 contiguous bytes under one mask. Fewer contiguous bytes "
            "are proved, so the copy is a load and a store to shared memory, which is "
            "synchronous."
        ),
        example=(
            "tlx.async_load(a_ptr + offsets * stride, tile)       # stride unknown: remark[TW3050]"
        ),
        fix=(
            "State alignment with `tl.multiple_of` / `tl.max_contiguous`, or make the innermost "
            "stride 1."
        ),
    ),
    CodeEntry(
        code="TW3051",
        severity="remark",
        title="Direct copy to LDS not used",
        meaning=(
            "AMD GPUs copy a fixed number of bytes a lane from global memory to LDS without "
            "registers (gfx942: 4, gfx950: 4 or 16). Addresses, mask or the layout of the buffer "
            "do not allow that, so the copy is a load and a store to LDS, which is synchronous. "
            "An error if the token of the copy is used outside of a group."
        ),
        example=(
            "tlx.buffer_load_to_local(tile, a_ptr, offsets * stride)   # stride unknown: "
            "remark[TW3051]"
        ),
        fix=(
            "State alignment with `tl.multiple_of` / `tl.max_contiguous`, make the innermost "
            "stride 1, or give the buffer a layout whose rows run along that dimension."
        ),
    ),
    CodeEntry(
        code="TW3052",
        title="Layout of a tensor not supported by an access",
        meaning=(
            "T.annotate_layout gives a tensor in global memory a layout of its own. Accesses to "
            "single elements are rewritten to it; TMA and other asynchronous copies address the "
            "tensor by rows, and are not."
        ),
        example=(
            "T.annotate_layout({dQ: swizzled})\n"
            "for k in T.Pipelined(n, num_stages=2):\n"
            "    T.copy(dQ[k * 64, 0], tile)        # error[TW3052]"
        ),
        fix=("Copy it outside of pipelined loops, or element by element in a T.Parallel loop."),
    ),
    CodeEntry(
        code="TW3053",
        severity="remark",
        title="Copy not asynchronous because of its fill",
        meaning=(
            "TMA and `cp.async` write zeros where a region reaches out of its tensor. The copy "
            "names another value (`fill`), or the tensor has another safe value, so threads copy "
            "the tile through registers."
        ),
        example="T.annotate_safe_value({A: 1.0})\nT.copy(A[row, 0], tile)   # remark[TW3053]",
        fix=(
            "Fill with zero and correct the result, or make the tensor a multiple of the tile: a "
            "copy that is proved to stay inside needs no fill."
        ),
    ),
    CodeEntry(
        code="TW3054",
        title="No tcgen05 instruction for a GEMM",
        meaning=(
            "A GEMM into tensor memory has an extent, an operand or a cluster that the tensor "
            "cores of Blackwell do not take: 64 or 128 rows, columns in steps of 8 or 16 up to "
            "256, K in steps of 32 bytes, whole matrices in shared memory, pairs of neighbouring "
            "blocks."
        ),
        example="T.tcgen05_gemm(A_shared, B_shared, C_tmem, mbar=done)   # M = 96: error[TW3054]",
        fix="Use the tile that the message names, or `T.gemm` with an accumulator in a fragment.",
    ),
    CodeEntry(
        code="TW3055",
        title="Tensor memory accessed by element",
        meaning=(
            "A loop or a statement reads or writes single elements of a buffer in tensor memory. "
            "Warps move whole rows of it to and from registers."
        ),
        example="for i, j in T.Parallel(128, 64): C_tmem[i, j] *= 2.0     # error[TW3055]",
        fix="`T.copy` the buffer to a fragment, compute there, and copy the result back.",
    ),
)
