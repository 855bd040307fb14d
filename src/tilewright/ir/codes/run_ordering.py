"""Ordering errors of asynchronous operations found by a run on the host: TW613x and TW614x."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW6130",
        title="Data race between async tasks",
        meaning=(
            "Two tasks or asynchronous operations access the same bytes, at least one of them "
            "writes, and no barrier orders the accesses."
        ),
        example=(
            "data race: the TMA load into tile[0] (iteration 2) and read of tile[0] by "
            "partition0 (iteration 0) access the same 2048 bytes"
        ),
        fix="Arrive on a barrier after the first access, and wait for it before the second.",
    ),
    CodeEntry(
        code="TW6131",
        title="Aliased buffer overwritten before it is read",
        meaning="A read finds bytes that another buffer of the same storage has overwritten.",
        example=(
            "overwritten value: read of tile[0] finds 1024 bytes that result[0] has overwritten"
        ),
        fix="Read before the other buffer is written, or place the two in distinct storage.",
    ),
    CodeEntry(
        code="TW6132",
        title="Missing wait",
        meaning=(
            "Memory of an asynchronous operation is accessed without a wait for its completion."
        ),
        example=(
            "missing wait: the TMA load into tile[0] and read of tile[0] by partition0 access the "
            "same 2048 bytes"
        ),
        fix="Add `tlx.barrier_wait` or the wait that the note names.",
    ),
    CodeEntry(
        code="TW6133",
        title="Missing async proxy fence",
        meaning=(
            "Threads write shared memory that TMA or an MMA reads, without `fence.proxy.async` "
            "between the two."
        ),
        example=(
            "tlx.local_store(result[0], value)\n"
            "tlx.async_descriptor_store(y, result[0], [0, 0])     # error[TW6133]"
        ),
        fix=(
            'Call `tlx.fence("async_shared")`, or `T.fence_proxy_async()` in `T` kernels, in '
            "between."
        ),
    ),
    CodeEntry(
        code="TW6134",
        title="Wrong arrive count",
        meaning=(
            "A barrier is initialised with an arrive count that differs from the arrivals of a "
            "phase."
        ),
        example=(
            "full = tlx.alloc_barriers(num_barriers=1, arrive_count=2)    # one arrival per phase"
        ),
        fix="Initialise the barrier with the number of arrivals per phase.",
    ),
    CodeEntry(
        code="TW6135",
        title="Wait for the wrong parity",
        meaning="A task waits with a parity that does not match the phase it needs.",
        example=(
            "tlx.barrier_wait(full[slot], phase)      # phase does not flip when slot returns to 0"
        ),
        fix="Flip the parity each time the slot index wraps around.",
    ),
    CodeEntry(
        code="TW6136",
        title="Transaction count mismatch",
        meaning=(
            "The expected bytes of a phase (expect-tx) differ from the bytes that copies complete."
        ),
        example="tlx.barrier_expect_bytes(full[0], 4096)  # the copies complete 8192 B",
        fix="Expect the sum of the bytes of all copies of the phase.",
    ),
    CodeEntry(
        code="TW6137",
        title="Barrier used before it is initialised",
        meaning=(
            "A task uses a barrier before its initialisation is visible. Between CTAs, a cluster "
            "barrier is missing."
        ),
        example=(
            "tlx.barrier_arrive(remote_full[0])       # before the cluster synchronised: "
            "error[TW6137]"
        ),
        fix=(
            "Allocate barriers before `tlx.async_tasks`, and synchronise the cluster before "
            "remote use."
        ),
    ),
    CodeEntry(
        code="TW6138",
        title="Missing arrival",
        meaning="A task waits for a phase that no task completes.",
        example="missing arrival: partition0 waits for empty[0]; no task arrives on it",
        fix="Add `tlx.barrier_arrive`, usually after the last read of the slot.",
    ),
    CodeEntry(
        code="TW6139",
        title="Buffer never read",
        meaning=(
            "No task reads the data that a copy or store put into a buffer, in any run. "
            "`--allow-unread` makes it a warning."
        ),
        example="buffer never read: no task reads tile, which partition0 writes here",
        fix=(
            "Read the buffer, or remove the write; pass `--allow-unread` for data that is "
            "prefetched and not always used."
        ),
    ),
    CodeEntry(
        code="TW6140",
        title="Stale read",
        meaning="A read returns data that was read before, or that was loaded for another task.",
        example=(
            "stale read: partition0 reads tile[0] again; the copy into tile[1] has not been read"
        ),
        fix="Check the slot index and the parity of the reading task.",
    ),
    CodeEntry(
        code="TW6141",
        title="Arguments overlap",
        meaning=(
            "Two array arguments share bytes, and the kernel writes one of them. Tensors of a `T` "
            "kernel are assumed not to alias."
        ),
        example="scale(x, x)                              # writes Y, reads X: error[TW6141]",
        fix="Pass a copy, or give the kernel one parameter that it reads and writes.",
    ),
    CodeEntry(
        code="TW6145",
        title="Operand of an in-flight operation accessed",
        meaning=(
            "Registers of an in-flight `wgmma` are accessed before `nv.wgmma.wait` and the "
            "operand fence, or a block ends while a bulk store may be in flight."
        ),
        example="C[0] is accessed while an in-flight wgmma writes it; nv.wgmma.wait is missing",
        fix="Wait for the operation before the access and before the end of the block.",
    ),
    CodeEntry(
        code="TW6146",
        title="Misaligned bulk copy or matrix operand",
        meaning=(
            "A bulk copy, a TMA box or a matrix operand starts at an address, or has a row size "
            "or stride, that is not a multiple of 16 bytes."
        ),
        example=(
            "TMA copy of A[0:64, 1:65] starts at column 1, byte 2 of its row: not a multiple of 16"
        ),
        fix="Start at a multiple of 16 bytes, and pad rows.",
    ),
    CodeEntry(
        code="TW6147",
        title="Warp-level operation in divergent code",
        meaning=(
            "An operation that a whole warp, a warp group or exactly one thread must execute is "
            "reached by other threads."
        ),
        example="wgmma needs all four warps of a warp group",
        fix="Move the operation to code that all its threads reach; elect one thread for TMA.",
    ),
    CodeEntry(
        code="TW6148",
        title="Tensor memory used against its rules",
        meaning=(
            "Columns of tensor memory are freed twice, with another size, or not at all, or are "
            "allocated after the right to do so was given up; a warp accesses lanes of another; a "
            "CTA of odd rank issues for its pair; or scales are not in all four quarters."
        ),
        example="tcgen05.ld of warp 1 starts at lane 0, but the warp has access to lanes 32 to 63",
        fix="Free what was allocated; warp w accesses the lanes from 32 * (w % 4) on.",
    ),
)
