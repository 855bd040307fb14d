"""Compilation for GPUs: TW62xx."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW6202",
        title="Triton rejected the IR",
        meaning=(
            "Triton's compiler reported a diagnostic or crashed. The text is Triton's own, at the "
            "line of the kernel it belongs to; its severity is preserved."
        ),
        example="LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.wgmma",
        fix=(
            "Change the statement that the message points to; check the target and the release of "
            "Triton."
        ),
    ),
    CodeEntry(
        code="TW6203",
        title="Assembler failed",
        meaning="`ptxas` rejected the generated PTX or crashed.",
        example="ptxas fatal: Unresolved extern function 'my_function'",
        fix=(
            "Correct inline assembly and external functions; otherwise report it as a compiler bug."
        ),
    ),
    CodeEntry(
        code="TW6204",
        severity="remark",
        title="Triton release not tested",
        meaning=(
            "The installed release of Triton is not one with which this version was tested; it is "
            "used like the closest known release."
        ),
        example="Triton 3.9.1 is not one of the tested releases; it is used like Triton 3.9",
        fix="Install a tested release if compilation fails.",
    ),
    CodeEntry(
        code="TW6205",
        severity="remark",
        title="Registers spill to local memory",
        meaning="`ptxas` spilled registers of a Triton kernel. The kernel is correct, and slower.",
        example="matmul: 128 B of registers spill to local memory",
        fix="Increase num_warps, reduce the tile, or raise maxnreg.",
    ),
    CodeEntry(
        code="TW6206",
        severity="remark",
        title="Resources of a kernel",
        meaning=(
            "Registers per thread, shared memory, tensor memory and threads of the compiled kernel."
        ),
        example="matmul: 168 registers, 98304 B of shared memory, 128 threads",
        fix="Nothing to fix.",
    ),
    CodeEntry(
        code="TW6207",
        title="Module without exactly one kernel",
        meaning="A module compiled to machine code must have exactly one public function.",
        example="tilewright compile --target triton:sm_90 two_kernels.ttir    # error[TW6207]",
        fix="Split the module, or make other functions private.",
    ),
    CodeEntry(
        code="TW6208",
        title="TTGIR for another target",
        meaning=(
            "TTGIR is specific to an architecture, and the module was lowered for another one "
            "than requested."
        ),
        example="the module is for cuda:90, the target is sm_100",
        fix="Compile for the target that the module names, or lower the kernel again.",
    ),
    CodeEntry(
        code="TW6209",
        severity="remark",
        title="Message of the assembler",
        meaning="`ptxas` reports a loss of speed, for example serialised `wgmma`.",
        example=(
            "matmul: ptxas: Potential Performance Loss: wgmma.mma_async instructions are serialized"
        ),
        fix="Remove the cause that the assembler names.",
    ),
    CodeEntry(
        code="TW6210",
        severity="warning",
        title="Kernel exceeds the limits of a launch",
        meaning=(
            "The compiled kernel needs more shared memory or threads than a block of the target "
            "can have, so it cannot be launched."
        ),
        example="matmul: 262144 B of shared memory needed, 232448 B available on sm_90",
        fix="Use fewer stages, smaller tiles, shared storage or fewer warps.",
    ),
    CodeEntry(
        code="TW6211",
        title="No instruction for this operation on the target",
        meaning=(
            "The target has no instruction for the op, or none for these operand types or layouts."
        ),
        example="T.atomic_add(A[i], 1)                    # int8 elements: error[TW6211]",
        fix="Use a target that has the instruction, or operand types and layouts that it accepts.",
    ),
    CodeEntry(
        code="TW6212",
        severity="warning",
        title="Disk cache not used",
        meaning=(
            "A Python warning, once per process: the cache directory cannot be written, or a "
            "limit of the cache is not an integer. Compilation continues, and results are the "
            "same."
        ),
        example=(
            "TILEWRIGHT_CACHE_MB=lots python train.py     # warning[TW6212]: the default applies"
        ),
        fix="Set `TILEWRIGHT_CACHE_DIR` to a writable directory, and limits to integers.",
    ),
    CodeEntry(
        code="TW6213",
        title="Host code of a kernel not supported",
        meaning=(
            "Statements of a `T` kernel outside of `T.Kernel` run on the host before the launch. "
            "Only index arithmetic, assertions, views and allocations with constant extents are "
            "supported there."
        ),
        example=(
            "@T.prim_func\n"
            'def main(A: T.Tensor((n,), "float32")):\n'
            '    B = T.alloc_global((n,), "float32")  # n is a run-time value: error[TW6213]'
        ),
        fix=(
            "Move the statement into the kernel or to the caller, and use constant extents for "
            "memory between kernels."
        ),
    ),
)
