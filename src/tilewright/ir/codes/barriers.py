"""Pipelining, warp specialisation and barriers of tile kernels: TW400x to TW405x."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW4001",
        title="mbarriers require sm_90",
        meaning=(
            "`T.alloc_barrier` needs hardware barriers in shared memory (`mbarrier`), which come "
            "with Hopper."
        ),
        example="full = T.alloc_barrier(128)              # target sm_80: error[TW4001]",
        fix="Use `T.sync_threads()`, or compile for sm_90 or later.",
    ),
    CodeEntry(
        code="TW4003",
        title="Tensor memory not available",
        meaning=(
            "The kernel allocates tensor memory, which only sm_100 and its relatives have; Hopper "
            "and sm_120 do not."
        ),
        example='C = T.alloc_tmem((128, 256), "float32")     # for sm_90a: error[TW4003]',
        fix="Compile for `cuda:sm_100a`, or keep the accumulator in registers: `T.alloc_fragment`.",
    ),
    CodeEntry(
        code="TW4004",
        title="Multicast copy without expect-tx",
        meaning=(
            "A multicast TMA copy completes bytes on the mbarrier of every destination CTA. How "
            "many bytes a CTA receives depends on the masks of the other CTAs, so the kernel must "
            "issue expect-tx itself, and no CTA does."
        ),
        example="T.tma_copy(A[0, 0], A_shared, barrier=full, cluster_mask=0x3)    # error[TW4004]",
        fix=(
            "Let one thread of every CTA call `T.mbarrier_arrive_expect_tx(full, bytes)` before "
            "the copy."
        ),
    ),
    CodeEntry(
        code="TW4005",
        title="Multicast mask names CTAs outside of the cluster",
        meaning=(
            "A bit of `cluster_mask` is set for a CTA that the cluster does not have, or the mask "
            "is 0."
        ),
        example=(
            "T.tma_copy(A[0, 0], A_shared, barrier=full, cluster_mask=0xF)    # cluster of 2: "
            "error[TW4005]"
        ),
        fix=(
            "Use a mask from 1 to `(1 << cluster_size) - 1`, and launch clusters with "
            "`T.ClusterKernel(..., cluster_dims=...)`."
        ),
    ),
    CodeEntry(
        code="TW4020",
        severity="remark",
        title="Warp specialisation not applied",
        meaning=(
            "A pipelined loop is not split into a producer warp group and consumer warp groups, "
            "for the reason given. The loop is software-pipelined instead."
        ),
        example=(
            "for k in T.Pipelined(n, num_stages=3): ...   # target sm_80: remark[TW4020], it has "
            "no TMA"
        ),
        fix="Remove the obstacle that the message names, or accept software pipelining.",
    ),
    CodeEntry(
        code="TW4021",
        severity="remark",
        title="Copy not moved to the producer warp",
        meaning=(
            "The loop is warp-specialised, but TMA cannot perform this copy (stride, alignment, "
            "shape or element type), so the consumer warps perform it."
        ),
        example="T.copy(A[by * 64, k * 32], A_shared)     # rows of 200 bytes: remark[TW4021]",
        fix="Pad the innermost stride to a multiple of 16 bytes.",
    ),
    CodeEntry(
        code="TW4040",
        title="Manual schedule has the wrong length",
        meaning=(
            "`stage` and `order` of `T.Pipelined` need one entry for each statement of the loop "
            "body."
        ),
        example=(
            "for k in T.Pipelined(n, stage=[0, 1], order=[0, 1]):     # error[TW4040]\n    ..."
        ),
        fix="Give one entry for each statement, in the order of the source.",
    ),
    CodeEntry(
        code="TW4041",
        title="Manual order is not a permutation",
        meaning=(
            "Two statements have the same position in the `order` of a loop, or a position is "
            "missing. (Usually rejected earlier: by `T.Pipelined` with TW1026, by the verifier "
            "with TW1033.)"
        ),
        example=(
            "Two statements in the software pipeline cannot have the same order: [0, 0] is not a "
            "permutation of 0 to 1"
        ),
        fix="Use each of 0 to n - 1 once.",
    ),
    CodeEntry(
        code="TW4042",
        title="Schedule runs a statement before its producer",
        meaning=(
            "Within one iteration a statement depends on another one, but its stage and order "
            "place it earlier."
        ),
        example=(
            "for k in T.Pipelined(n, stage=[1, 0], order=[0, 1]):  # the GEMM before its copy\n"
            "    T.copy(A[k * 64], S)\n"
            "    T.gemm(S, B, C)                      # error[TW4042]"
        ),
        fix=(
            "Give dependent statements stages that do not decrease, and within a stage an "
            "increasing order."
        ),
    ),
    CodeEntry(
        code="TW4043",
        title="Schedule violates a loop-carried dependence",
        meaning=(
            "A statement of the next iteration would run before the statement of this iteration "
            "that it depends on, through the buffer named. The buffer cannot be multi-buffered, "
            "for the reason given."
        ),
        example=(
            "T.clear(S)\n"
            "for k in T.Pipelined(n, stage=[0, 2], order=[0, 1]):\n"
            "    T.copy(A[k * 32, 0], S[0:32, 0:64])  # S is also accessed outside of the loop\n"
            "    T.gemm(S, B, C)          # error[TW4043]"
        ),
        fix=(
            "Put both statements into the same stage, or let every iteration write the whole "
            "buffer before reading it."
        ),
    ),
    CodeEntry(
        code="TW4044",
        title="Schedule separates a value from its use",
        meaning=(
            "A value computed by one statement is used by another one in a different stage. Only "
            "buffers can be multi-buffered; scalar values cannot."
        ),
        example=(
            "for k in T.Pipelined(n, stage=[0, 0, 1], order=[0, 1, 2]):\n"
            "    x = B[k]                 # stage 0\n"
            "    T.copy(A[k * 64], S)\n"
            "    B[k + n] = x             # stage 1: error[TW4044]"
        ),
        fix=(
            "Give the statements the same stage with no other stage between them, or compute the "
            "value in both."
        ),
    ),
    CodeEntry(
        code="TW4045",
        severity="remark",
        title="Loop not pipelined",
        meaning=(
            "The loop runs without overlap of copies and computation, for the reason given: no "
            "copy from global to shared memory can run ahead, or the schedule leaves statements "
            "to warp specialisation, which was not applied."
        ),
        example=(
            "for k in T.Pipelined(n, num_stages=3): ...   # remark[TW4045]: no copy from global "
            "to shared memory"
        ),
        fix=(
            "Copy tiles to shared memory with `T.copy`, and write each buffer once per iteration "
            "before it is read."
        ),
    ),
    CodeEntry(
        code="TW4046",
        severity="remark",
        title="Copy of a pipelined loop not pipelined",
        meaning=(
            "Other copies of the loop run ahead, this one does not, for the reason given: its "
            "buffer has one slot, and each iteration waits for it."
        ),
        example=(
            "for k in T.Pipelined(n, num_stages=2):\n"
            "    T.copy(A[k * 64, 0], S)  # remark[TW4046]: A is written below\n"
            "    T.copy(B[k * 64, 0], R)\n"
            "    T.gemm(S, R, C)\n"
            "    T.copy(C, A[k * 64, 0])"
        ),
        fix=(
            "Let each iteration fill a buffer of its own before it reads it, from a tensor that "
            "the loop does not write."
        ),
    ),
    CodeEntry(
        code="TW4050",
        title="Transaction count mismatch on an mbarrier",
        meaning=(
            "In a phase of a user-defined barrier the expected bytes (expect-tx) differ from the "
            "bytes that copies complete."
        ),
        example=(
            "T.mbarrier_arrive_expect_tx(full, 4096)      # the copies complete 8192 B: "
            "error[TW4050]"
        ),
        fix="Expect the sum of the bytes of all copies that complete on the barrier in one phase.",
    ),
    CodeEntry(
        code="TW4051",
        title="Deadlock between roles",
        meaning=(
            "A role of a warp-specialised kernel waits for a phase that no sequence of arrivals "
            "completes."
        ),
        example=(
            "T.mbarrier_wait_parity(empty, 0)         # no role has arrived on empty yet: "
            "error[TW4051]"
        ),
        fix=(
            "Add the missing arrival, correct the arrive count, or wait with parity 1 for a slot "
            "that has not been used."
        ),
    ),
    CodeEntry(
        code="TW4052",
        title="Data race between roles",
        meaning=(
            "Two roles access the same bytes, at least one of them writes, and no barrier orders "
            "the accesses."
        ),
        example=(
            "with T.ws(0):\n"
            "    T.copy(A, S)\n"
            "with T.ws(1):\n"
            "    T.copy(S, B)             # error[TW4052]: no barrier orders it after the write"
        ),
        fix=(
            "Let one role arrive on a barrier after its access, and the other one wait with "
            "`T.mbarrier_wait_parity` before its own."
        ),
    ),
    CodeEntry(
        code="TW4053",
        title="More arrivals than the arrive count",
        meaning=(
            "More threads arrive on a barrier in one phase than its arrive count, so a phase "
            "completes too early; or a role uses a barrier past the end of its array."
        ),
        example=(
            "full = T.alloc_barrier(1)\n"
            "T.mbarrier_arrive(full)                  # executed by 128 threads: error[TW4053]"
        ),
        fix="Initialise the barrier with the number of arriving threads, or let one thread arrive.",
    ),
    CodeEntry(
        code="TW4054",
        title="Wait may be overrun by the next phase",
        meaning=(
            "A role may still wait for a phase when the next one completes. Parity cannot "
            "distinguish the phases, so the role waits forever or passes with the wrong data."
        ),
        example=(
            "the wait for phase 0 of full may be overrun: phase 1 can complete before the role "
            "waits"
        ),
        fix=(
            "Let the producer wait for the consumer (an `empty` barrier) before it starts the "
            "next phase. A wait for the first phase has parity 0: parity 1 returns at once on a "
            "newly initialised barrier."
        ),
    ),
    CodeEntry(
        code="TW4058",
        severity="remark",
        title="Pipeline expansion not checked",
        meaning=(
            "`check-pipeline` could not compare the expanded loop with the serial one, for the "
            "reason given. This remark does not mean that the expansion is wrong, nor that it is "
            "right."
        ),
        example="pipeline not analysed: a bound of the loop is a run-time value",
        fix="Nothing is required; run `tilewright check` to compare results.",
    ),
    CodeEntry(
        code="TW4059",
        severity="remark",
        title="Barriers not analysed",
        meaning=(
            "`check-barriers` could not follow the roles of the kernel, for the reason given: a "
            "condition, a barrier index or an arrive count is a run-time value. Ordering is not "
            "proved. For a raised kernel: with some arguments the roles never end, and whether a "
            "launch has such arguments is unknown; its first launches are checked with their own."
        ),
        example="barriers not analysed: the index of the barrier is a run-time value",
        fix=(
            "Use constants or loop indices for barrier indices and parities, or run `tilewright "
            "check`."
        ),
    ),
)
