"""Errors found by a run on the host: TW610x to TW612x."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW6101",
        title="Access out of bounds",
        meaning=(
            "A load, store or copy accesses an element outside of its array or buffer. The "
            "message gives the element and the extent, the notes give the program, lane and "
            "thread."
        ),
        example=(
            "tl.store(out_ptr + offsets, x)           # 1000 elements, offsets to 1023: "
            "error[TW6101]"
        ),
        fix="Mask the access (`mask=offsets < n`), or correct the index or the grid.",
    ),
    CodeEntry(
        code="TW6102",
        title="Access between elements of a strided array",
        meaning=(
            "An address is inside the memory of an array, but not at one of its elements, because "
            "the strides passed to the kernel differ from those of the array."
        ),
        example=(
            "kernel[grid](x[:, ::2], x.shape[1])      # contiguous addressing of a strided view: "
            "error[TW6102]"
        ),
        fix="Pass the strides of the array and use them in the address.",
    ),
    CodeEntry(
        code="TW6103",
        title="Misaligned address",
        meaning=(
            "The address of a load or store is not a multiple of its element size, usually after "
            "a pointer cast."
        ),
        example=(
            "p = (bytes_ptr + 2).to(tl.pointer_type(tl.int32))\n"
            "x = tl.load(p)                           # error[TW6103]: must be a multiple of 4"
        ),
        fix=(
            "Make the byte offset at the cast a multiple of the element size, or load bytes and "
            "combine them."
        ),
    ),
    CodeEntry(
        code="TW6104",
        title="Address outside of all arrays",
        meaning="The address belongs to no array that was passed to the launch.",
        example="load at an unmapped address: 0x7f0000001000 is in no array",
        fix=(
            "Derive addresses from pointer arguments, and pass every array that the kernel "
            "accesses."
        ),
    ),
    CodeEntry(
        code="TW6105",
        title="Null pointer access",
        meaning=(
            "A load or store uses an address near zero, usually a pointer that was loaded from "
            "memory and is zero."
        ),
        example=(
            "p = tl.load(table_ptr).to(tl.pointer_type(tl.float32))   # the table contains 0\n"
            "x = tl.load(p)                           # error[TW6105]"
        ),
        fix="Store the address of an array in the table, or mask the access.",
    ),
    CodeEntry(
        code="TW6106",
        title="Store to a read-only array",
        meaning=(
            "The kernel writes an array that NumPy marks as read-only, or a parameter that is "
            "declared read-only."
        ),
        example=(
            "x.flags.writeable = False\nkernel[grid](x, n)                       # error[TW6106]"
        ),
        fix="Pass a writable copy.",
    ),
    CodeEntry(
        code="TW6107",
        title="Uninitialised read",
        meaning=(
            "An element is read that no program, thread or copy has written, and that the caller "
            "did not initialise."
        ),
        example=(
            'out = tw.empty(1000, "float32")\n'
            "tl.load(out_ptr + offsets)               # error[TW6107]"
        ),
        fix="Write the element first, or pass an initialised array.",
    ),
    CodeEntry(
        code="TW6108",
        title="Data race",
        meaning=(
            "Two programs, blocks, iterations of `T.Parallel` or threads access one element "
            "without ordering, and at least one of them writes. The message names the element and "
            "both accesses. `tilewright check` looks for races; plain runs of `tl` kernels do "
            "not."
        ),
        example=(
            "tl.store(out_ptr + offsets % 16, x)      # error[TW6108]: programs 0 and 1 both "
            "write out_ptr[12]"
        ),
        fix=(
            "Give each program its own elements, use an atomic operation, or add a barrier "
            "between threads."
        ),
    ),
    CodeEntry(
        code="TW6109",
        severity="warning",
        title="Elements never written",
        meaning=(
            "A launch left elements of an output as they were. Most often the grid is too small."
        ),
        example="fill[(7,)](out, 1000, BLOCK=128)         # warning[TW6109]: 104 of 1000 elements",
        fix="Launch `cdiv(n, BLOCK)` programs, and check the mask of the store.",
    ),
    CodeEntry(
        code="TW6110",
        title="Invalid tensor descriptor",
        meaning=(
            "A tensor descriptor violates a rule of TMA: the last stride is 1, the address and "
            "all other strides are multiples of 16 bytes, the described elements are inside the "
            "array, and accesses start at multiples of 16 bytes."
        ),
        example=(
            "x = desc.load([0, 1])                    # float16: starts at byte 2, error[TW6110]"
        ),
        fix="Pad rows to 16 bytes, pass a contiguous array, and start at aligned columns.",
    ),
    CodeEntry(
        code="TW6120",
        title="Asynchronous operation not waited for",
        meaning=(
            "Memory is accessed while an asynchronous copy or MMA that reads or writes it may be "
            "in flight."
        ),
        example=(
            "T.async_copy(A[0:64], S)\nx = S[0]  # error[TW6120]: T.ptx_wait_group is missing"
        ),
        fix="Wait first: `T.ptx_wait_group`, `T.wait_wgmma` or `T.mbarrier_wait_parity`.",
    ),
    CodeEntry(
        code="TW6121",
        title="Deadlock",
        meaning=(
            "All unfinished threads, roles or tasks wait, and no arrival can complete what they "
            "wait for. The message names the barrier, its phase and the arrivals pending."
        ),
        example="full = T.alloc_barrier(256)              # 128 threads arrive: error[TW6121]",
        fix="Add the missing arrival, or correct the arrive count or the parity.",
    ),
    CodeEntry(
        code="TW6122",
        title="Barrier misused",
        meaning=(
            "A barrier is used in a way the hardware does not permit: before initialisation, with "
            "more arrivals or bytes than its phase expects, or in a CTA outside of the cluster."
        ),
        example="uninitialised barrier full[0]: wait before its initialisation",
        fix="Initialise the barrier first, and match arrive counts and expected bytes.",
    ),
    CodeEntry(
        code="TW6123",
        title="Result depends on the schedule",
        meaning=(
            "Two schedules of the same launch give different results: an ordering between tasks "
            "or roles is missing."
        ),
        example=(
            "the result depends on the schedule: C[0, 0] is 1.0 under seed 0 and 2.0 under seed 1"
        ),
        fix="Add the missing wait or arrival; `tilewright check` reports the accesses.",
    ),
    CodeEntry(
        code="TW6124",
        title="Assertion or assumption violated",
        meaning=(
            "A `T.device_assert` or `T.assume` does not hold in this run. Compiled code relies on "
            "assumptions, so results on a GPU are undefined."
        ),
        example="T.assume(n % 8 == 0)                     # n = 100: error[TW6124]",
        fix="Correct the arguments, or remove the assumption.",
    ),
    CodeEntry(
        code="TW6125",
        title="Extents do not match at run time",
        meaning=(
            "Extents that are run-time values do not agree: source and destination of a copy, "
            "operands of a GEMM, or a grid with a negative extent."
        ),
        example="T.copy(A[0:m], B[0:n])                   # m = 8, n = 9: error[TW6125]",
        fix="Make the extents equal, or slice one operand.",
    ),
    CodeEntry(
        code="TW6126",
        title="Loop does not end",
        meaning=(
            "A `while` loop exceeded the limit of iterations, a loop has a step of 0, or a block "
            "exceeded the limit of operations."
        ),
        example=("while flag[0] == 0:  # no statement changes flag: error[TW6126]\n    ..."),
        fix="Change the condition inside the loop, or use a positive step.",
    ),
    CodeEntry(
        code="TW6127",
        severity="warning",
        title="Value read through another layout, not analysed",
        meaning=(
            "A buffer is read with another layout than it was written with. How the hardware "
            "permutes elements between layouts is not modelled, so the value read is not checked."
        ),
        example=(
            "not analysed: the value read from tile: 1024 bytes were written with another layout"
        ),
        fix="Read a buffer with the layout with which it was written.",
    ),
    CodeEntry(
        code="TW6128",
        title="Integer division by zero",
        meaning="An integer division or remainder by zero whose result is used.",
        example="y = x // n                               # n = 0: error[TW6128]",
        fix="Guard the division, or correct the argument.",
    ),
    CodeEntry(
        code="TW6129",
        title="Element of a result never written",
        meaning=(
            "No block writes an element of an output that the call returns, so it would return "
            "uninitialised memory."
        ),
        example=(
            'Y = T.empty((64,), "float32")\n'
            "for i in T.Parallel(32):\n"
            "    Y[i] = A[i]              # error[TW6129]: no block writes Y[32]"
        ),
        fix="Enlarge the grid, or write the remaining elements.",
    ),
)
