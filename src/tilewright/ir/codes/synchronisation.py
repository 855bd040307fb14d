"""Synchronisation of async tasks and of threads: TW406x to TW408x."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW4060",
        severity="warning",
        title="Data race between async tasks (static)",
        meaning=(
            "Two tasks access the same bytes, at least one of them writes, and no barrier orders "
            "the accesses in every schedule. Found without running the kernel; the notes give "
            "both accesses, the bytes in common and a fix."
        ),
        example=(
            "data race: read of 'tile'[0] in task 1 may run before write of 'tile'[0] in task 0 "
            "completes"
        ),
        fix="Arrive on a barrier after the first access and wait for it before the second.",
    ),
    CodeEntry(
        code="TW4061",
        severity="warning",
        title="Aliased buffer overwritten before it is read (static)",
        meaning=(
            "Two buffers share storage, and a write to one of them overwrites bytes of the other "
            "that are read later."
        ),
        example=(
            "overwritten: read of 'p'[0] in task 1 observes the data of write of 'qk'[0] in task 0"
        ),
        fix=(
            "Read the first buffer before the second one is written, or place them in distinct "
            "storage."
        ),
    ),
    CodeEntry(
        code="TW4062",
        severity="warning",
        title="Missing wait (static)",
        meaning=(
            "A task accesses memory of an asynchronous operation that may be in flight: a TMA "
            "load, a TMA store or an MMA, without waiting for it."
        ),
        example=(
            "tlx.async_descriptor_store(y, result[0], [0, 0])\n"
            "tlx.local_store(result[0], value)        # warning[TW4062]: the store is in flight"
        ),
        fix=(
            "Wait first: `tlx.barrier_wait`, `tlx.async_descriptor_store_wait` or "
            "`tlx.async_dot_wait`."
        ),
    ),
    CodeEntry(
        code="TW4063",
        severity="warning",
        title="Missing async proxy fence (static)",
        meaning=(
            "Threads write shared memory that TMA or an MMA then reads, without "
            "`fence.proxy.async` between the two. The asynchronous unit may read old data."
        ),
        example=(
            "tlx.local_store(result[0], value)\n"
            "tlx.async_descriptor_store(y, result[0], [0, 0])     # warning[TW4063]"
        ),
        fix='Call `tlx.fence("async_shared")` between the write and the copy.',
    ),
    CodeEntry(
        code="TW4064",
        severity="warning",
        title="Wrong arrive count (static)",
        meaning=(
            "A barrier is initialised with an arrive count that differs from the arrivals of a "
            "phase."
        ),
        example=(
            "full = tlx.alloc_barriers(num_barriers=2, arrive_count=2)    # one arrival per phase"
        ),
        fix="Initialise the barrier with the number of arrivals per phase.",
    ),
    CodeEntry(
        code="TW4065",
        severity="warning",
        title="Wait for the wrong parity (static)",
        meaning=(
            "A task waits with a parity that does not match the phase it needs, so it passes too "
            "early or waits forever."
        ),
        example=(
            "tlx.barrier_wait(full[slot], phase)      # phase does not flip when slot returns to 0"
        ),
        fix=(
            "Flip the parity each time the slot index wraps around; wait with parity 1 for a slot "
            "that has not been used."
        ),
    ),
    CodeEntry(
        code="TW4066",
        severity="warning",
        title="Transaction count mismatch (static)",
        meaning=(
            "The expected bytes of a phase (expect-tx) differ from the bytes that copies complete."
        ),
        example="tlx.barrier_expect_bytes(full[0], 4096)  # the copies complete 8192 B",
        fix="Expect the sum of the bytes of all copies that complete on the barrier in one phase.",
    ),
    CodeEntry(
        code="TW4067",
        severity="warning",
        title="Barrier used before it is initialised (static)",
        meaning="A task may use a barrier before its initialisation is visible to it.",
        example=(
            "barrier used before its initialisation: task 1 may wait on full[0] before it is "
            "initialised"
        ),
        fix=(
            "Allocate barriers before `tlx.async_tasks`, and synchronise the cluster before "
            "remote use."
        ),
    ),
    CodeEntry(
        code="TW4068",
        severity="warning",
        title="Missing arrival (static)",
        meaning="A task waits for a phase, and no task arrives to complete it.",
        example="deadlock: task 1 waits for empty[0]; no task arrives on it",
        fix="Add the arrival (`tlx.barrier_arrive`), usually after the last read of the slot.",
    ),
    CodeEntry(
        code="TW4069",
        severity="remark",
        title="Async tasks not analysed",
        meaning=(
            "`tlx-check-alias-sync` could not follow an op, for the reason given. Ordering is not "
            "proved from there on."
        ),
        example="not analysed: an index is data-dependent",
        fix="Run `tilewright check`, which uses the values of a run.",
    ),
    CodeEntry(
        code="TW4070",
        severity="warning",
        title="Stale read (static)",
        meaning=(
            "A read returns data that was read before, or that was loaded for another task: the "
            "slot or the phase is wrong though every access is ordered."
        ),
        example="stale read: task 1 reads tile[0] again; the copy into tile[1] has not been read",
        fix="Check the slot index and the parity of the reading task.",
    ),
    CodeEntry(
        code="TW4071",
        severity="warning",
        title="Copy never read (static)",
        meaning=(
            "No task reads the data of an asynchronous copy. Often another buffer is read instead."
        ),
        example="buffer never read: no task reads the data of the TMA load into tile[1]",
        fix="Read the buffer, or remove the copy.",
    ),
    CodeEntry(
        code="TW4072",
        title="Barrier required in divergent code",
        meaning=(
            "Under a condition that differs between threads, one thread writes an element of "
            "shared memory that another thread accesses. A block barrier between the two cannot "
            "be inserted, as only some threads reach it. If the condition is data-dependent, the "
            "finding is a warning."
        ),
        example=(
            "if tx < 48:\n"
            "    S[tx] = X[tx]\n"
            "    y = S[47 - tx]           # error[TW4072]: written by another thread"
        ),
        fix="Move the read after the `if`, so that all threads reach the barrier.",
    ),
    CodeEntry(
        code="TW4073",
        title="Tile operation in divergent code",
        meaning=(
            "A tile operation is distributed over all threads of the block or role, but only some "
            "threads reach it, so part of it would not be executed. A `T.tma_copy` store elects "
            "one of all threads, which may not be among them."
        ),
        example=("if tx < 48:\n    T.copy(A[0, 0], S)       # error[TW4073]: a warp and a half"),
        fix=(
            "Move the operation out of the `if`, or let whole warps take the branch: `if tx < 64:` "
            "is a role of two warps, `with T.ws(0):` one of a warp group."
        ),
    ),
    CodeEntry(
        code="TW4074",
        title="No named barrier left for the kernel",
        meaning=(
            "Triton reserves the first named barriers of a CTA: two, and one for each partition. "
            "The ids of the kernel collide with them, and no free id is left among the 16 of the "
            "hardware."
        ),
        example=(
            "tlx.named_barrier_wait(0, 256)           # all ids up to 15 are used: error[TW4074]"
        ),
        fix="Use fewer named barriers, or an mbarrier (`tlx.alloc_barriers`).",
    ),
    CodeEntry(
        code="TW4075",
        severity="remark",
        title="Named barrier id not checked",
        meaning=(
            "The id of a named barrier is a run-time value, so a collision with the barriers that "
            "Triton reserves cannot be excluded."
        ),
        example="tlx.named_barrier_wait(first + task, 256)    # remark[TW4075]",
        fix="Use constant ids above those that the message names.",
    ),
    CodeEntry(
        code="TW4076",
        title="Atomic of a block in code that not all threads reach",
        meaning=(
            "Code that names no thread is code of the block: one thread makes an atomic update, "
            "and the others wait for its result, or for its memory order. They cannot wait in a "
            "branch or loop that only some of them are known to reach, nor in a role for the "
            "other threads of the block."
        ),
        example=(
            "with T.ws(0):\n"
            '    T.atomic_store(flag[0], 1, memory_order="release")    # error[TW4076]'
        ),
        fix="Move the update out of the branch, or name the thread that makes it: `if tx == 0`.",
    ),
    CodeEntry(
        code="TW4081",
        title="Data race on shared memory",
        meaning=(
            "Two accesses of the same shared bytes, by threads of user-defined roles or by an "
            "asynchronous unit, are not ordered by any barrier, wait or fence. Found on the "
            "finished kernel for the thread indices named."
        ),
        example=(
            "data race on S[3]: written by thread 0, read by thread 32; a barrier is missing "
            "between them"
        ),
        fix="Add a barrier, or a wait for the in-flight operation, between the two accesses.",
    ),
    CodeEntry(
        code="TW4082",
        title="Missing async proxy fence",
        meaning=(
            "Threads write shared memory that TMA or `wgmma` then reads, without "
            "`fence.proxy.async` in between."
        ),
        example=(
            "S is written by threads 0 to 127 and read by TMA; no async proxy fence is between "
            "the two"
        ),
        fix="Call `T.fence_proxy_async()` after the writes and before the copy or the MMA.",
    ),
    CodeEntry(
        code="TW4083",
        title="Operand of an in-flight operation accessed",
        meaning=(
            "Registers of an in-flight `wgmma`, or shared memory of an in-flight bulk store, are "
            "read or written before the wait for that operation."
        ),
        example=(
            "with T.ws(1):\n"
            "    T.wgmma_gemm(A, B, C)\n"
            "    T.copy(C, D)             # error[TW4083]: T.wait_wgmma(0) is missing"
        ),
        fix="Wait for the operation (`T.wait_wgmma`, `T.tma_store_wait`) before the access.",
    ),
    CodeEntry(
        code="TW4084",
        title="Deadlock",
        meaning=(
            "Threads of a user-defined role wait forever: for a phase of an mbarrier that is "
            "never completed, or at a barrier that other threads do not reach."
        ),
        example=(
            "deadlock: threads 128 to 255 wait for phase 0 of full, which 0 of 1 arrivals have "
            "completed"
        ),
        fix="Add the missing arrival, or correct the arrive count or the parity.",
    ),
    CodeEntry(
        code="TW4085",
        title="Transaction count mismatch",
        meaning=(
            "The expected bytes of a phase (expect-tx) differ from the bytes that copies complete "
            "on the mbarrier."
        ),
        example=(
            "transaction count mismatch on full: 4096 B expected in this phase, 8192 B completed"
        ),
        fix="Expect the sum of the bytes of all copies of the phase.",
    ),
    CodeEntry(
        code="TW4086",
        title="Wrong number of arrivals",
        meaning=(
            "The arrive count of an mbarrier, or the thread count of a named barrier, differs "
            "from the arrivals of a phase."
        ),
        example="bar[0]: arrive count 129, 128 arrivals in a phase",
        fix="Initialise the barrier with the number of arriving threads, or let one thread arrive.",
    ),
    CodeEntry(
        code="TW4087",
        title="Wait may be overrun by the next phase",
        meaning=(
            "A thread may still wait for a phase when the next one completes; parity cannot "
            "distinguish the two."
        ),
        example="the wait for phase 0 of full may be overrun by phase 1",
        fix="Let the producer wait for the consumers before it starts the next phase.",
    ),
    CodeEntry(
        code="TW4088",
        title="Access outside of shared memory",
        meaning=(
            "An address of a user-defined role is outside of its shared buffer or of the shared "
            "memory of the block."
        ),
        example=(
            'S = T.alloc_shared((128,), "float32")\n'
            "S[tx + 1] = x                            # thread 127: error[TW4088]"
        ),
        fix="Correct the index, or guard the access.",
    ),
    CodeEntry(
        code="TW4089",
        severity="remark",
        title="Synchronisation not checked",
        meaning=(
            "`check-thread-sync` could not follow the kernel, or left out a write, because "
            "control flow or an address is data-dependent. Ordering is not proved there."
        ),
        example=(
            "S[I[tx]] = x                             # remark[TW4089]: the address is "
            "data-dependent"
        ),
        fix="Run `tilewright check` with representative inputs.",
    ),
)
