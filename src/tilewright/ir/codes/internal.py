"""Internal compiler errors: TW90xx."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW9002",
        title="Pass produced invalid IR",
        meaning=(
            "Internal compiler error: the IR was valid before a pass and violates a rule of an op "
            "after it."
        ),
        example=(
            "'tile.copy' op source and destination must have the same shape (after pass "
            "'split-guards')"
        ),
        fix="Report the kernel; `--verify-each` names the pass.",
    ),
    CodeEntry(
        code="TW9010",
        title="Generated barrier with a transaction count mismatch",
        meaning=(
            "Internal compiler error: in a warp-specialised loop made by the compiler, expected "
            "and completed bytes of a barrier differ."
        ),
        example=(
            "transaction count mismatch on full: 4096 B expected in this phase, 8192 B completed"
        ),
        fix="Report the kernel; compile without warp specialisation until then.",
    ),
    CodeEntry(
        code="TW9011",
        title="Generated roles deadlock",
        meaning=(
            "Internal compiler error: a role made by the compiler waits for a phase that is never "
            "completed."
        ),
        example='role "consumer" waits forever for phase 0 of full',
        fix="Report the kernel; compile without warp specialisation until then.",
    ),
    CodeEntry(
        code="TW9012",
        title="Data race between generated roles",
        meaning=(
            "Internal compiler error: roles made by the compiler access the same bytes without "
            "ordering."
        ),
        example='role "producer" writes As while role "consumer" may read it',
        fix="Report the kernel; compile without warp specialisation until then.",
    ),
    CodeEntry(
        code="TW9013",
        title="Generated barrier with too many arrivals",
        meaning=(
            "Internal compiler error: more threads arrive on a generated barrier than its arrive "
            "count."
        ),
        example="empty: arrive count 128, 256 threads arrive in one phase",
        fix="Report the kernel; compile without warp specialisation until then.",
    ),
    CodeEntry(
        code="TW9014",
        title="Generated wait may be overrun",
        meaning="Internal compiler error: a generated wait may be overrun by the next phase.",
        example="the wait for phase 0 of full may be overrun by phase 1",
        fix="Report the kernel; compile without warp specialisation until then.",
    ),
    CodeEntry(
        code="TW9015",
        title="Expanded pipeline computes something else",
        meaning=(
            "Internal compiler error: the expanded loop and the serial loop leave different "
            "values in a tensor, found by symbolic execution."
        ),
        example=(
            "internal compiler error: pipeline expansion changes the result of the loop (with 3 "
            "for arguments)"
        ),
        fix="Report the kernel; `num_stages=0` avoids pipelining.",
    ),
    CodeEntry(
        code="TW9016",
        title="Pipeline plan reads the wrong version",
        meaning=(
            "Internal compiler error: under the planned schedule a statement would read other "
            "data than in the serial loop."
        ),
        example=(
            "internal compiler error: pipeline plan violates a dependence: in iteration 2 this "
            "statement would read data of another iteration"
        ),
        fix="Report the kernel; `num_stages=0` avoids pipelining.",
    ),
    CodeEntry(
        code="TW9020",
        title="Invalid layout plan",
        meaning=(
            "Internal compiler error: the check of inferred layouts found two elements at one "
            "location, or a thread without an element that it reads."
        ),
        example="'acc': two elements map to the same location",
        fix="Report the kernel; a user-specified layout for the fragment can avoid the plan.",
    ),
    CodeEntry(
        code="TW9021",
        title="Data race in generated code",
        meaning=(
            "Two accesses of the same shared bytes in the finished kernel are not ordered. "
            "Iterations of `T.Parallel` that write one shared element with the same statement are "
            "reported this way; otherwise it is an internal compiler error."
        ),
        example=(
            "for i, j in T.Parallel(64, 32):\n"
            "    row[i] = A[i, j]         # error[TW9021] where row is in shared memory"
        ),
        fix=(
            "Combine with `T.reduce_sum`, `T.alloc_reducer` or `T.atomic_add`. If `tilewright "
            "check` finds no race, report the kernel."
        ),
    ),
    CodeEntry(
        code="TW9022",
        title="Missing async proxy fence in generated code",
        meaning=(
            "Internal compiler error: TMA or `wgmma` reads what threads wrote, and no "
            "`fence.proxy.async` was inserted."
        ),
        example="wgmma reads As, written by thread 0, without an async proxy fence",
        fix="Report the kernel.",
    ),
    CodeEntry(
        code="TW9023",
        title="Operand of an in-flight operation accessed in generated code",
        meaning=(
            "Registers of an in-flight `wgmma` or memory of an in-flight bulk store are accessed. "
            "A kernel that issues `T.wgmma_gemm` must wait for it; otherwise it is an internal "
            "compiler error."
        ),
        example=(
            "T.wgmma_gemm(A, B, C)\n"
            "T.copy(C, D)                 # error[TW9023]: T.wait_wgmma(0) is missing"
        ),
        fix="Add `T.wait_wgmma`; if the kernel does not use `T.wgmma_gemm`, report it.",
    ),
    CodeEntry(
        code="TW9024",
        title="Deadlock in generated code",
        meaning="Internal compiler error: threads of the finished kernel wait forever.",
        example="deadlock: threads 128 to 255 wait for phase 0 of full",
        fix="Report the kernel.",
    ),
    CodeEntry(
        code="TW9025",
        title="Transaction count mismatch in generated code",
        meaning=(
            "Internal compiler error: expected and completed bytes of a generated barrier differ."
        ),
        example=(
            "transaction count mismatch on full: 4096 B expected in this phase, 8192 B completed"
        ),
        fix="Report the kernel.",
    ),
    CodeEntry(
        code="TW9026",
        title="Wrong number of arrivals in generated code",
        meaning=(
            "Internal compiler error: the arrive count of a generated barrier differs from its "
            "arrivals."
        ),
        example="empty: arrive count 128, 256 threads arrive in one phase",
        fix="Report the kernel.",
    ),
    CodeEntry(
        code="TW9027",
        title="Wait overrun in generated code",
        meaning="Internal compiler error: a generated wait may be overrun by the next phase.",
        example="the wait for phase 0 of full may be overrun by phase 1",
        fix="Report the kernel.",
    ),
    CodeEntry(
        code="TW9028",
        title="Access outside of shared memory",
        meaning=(
            "An address of the finished kernel is outside of its shared buffer. Usually an index "
            "of the kernel is wrong; otherwise it is an internal compiler error. In kernels with "
            "user-defined roles the code is TW4088."
        ),
        example=(
            'S = T.alloc_shared((128,), "float32")\n'
            "S[tx + 1] = x                            # thread 127: error[TW9028]"
        ),
        fix=(
            "Correct the index; `tilewright check` names the element. If the index is right, "
            "report the kernel."
        ),
    ),
    CodeEntry(
        code="TW9029",
        title="Shared buffer overwritten while it is live",
        meaning=(
            "Internal compiler error: the placement of shared memory gave the bytes of a buffer "
            "to another one before its last read."
        ),
        example="As is read after Bs has overwritten bytes 0 to 8191",
        fix="Report the kernel.",
    ),
    CodeEntry(
        code="TW9030",
        title="Kernel violates an invariant of device IR",
        meaning=(
            "Internal compiler error: before code is printed, a tile op or a fragment is left, a "
            "shared buffer has no address, or a barrier is under a divergent condition."
        ),
        example="internal compiler error: 'tile.copy' was not lowered",
        fix="Report the kernel.",
    ),
    CodeEntry(
        code="TW9050",
        title="No CUDA or HIP for an op",
        meaning=(
            "Internal compiler error: an op or type reached the C++ printer that earlier passes "
            "should have lowered."
        ),
        example="'tile.fill' cannot be emitted as CUDA",
        fix="Report the kernel.",
    ),
    CodeEntry(
        code="TW9060",
        title="Storage-alias placement check failed",
        meaning=(
            "Internal compiler error: the lowered IR does not place aliased buffers as planned."
        ),
        example="an index was not rewritten as its placement requires",
        fix="Report the kernel.",
    ),
    CodeEntry(
        code="TW9061",
        title="Generated NumPy code failed",
        meaning=(
            "Internal compiler error: the code generated for a host run raised a Python exception."
        ),
        example="the NumPy code of 'kernel' failed: ZeroDivisionError: division by zero",
        fix="Report the kernel and its arguments.",
    ),
    CodeEntry(
        code="TW9062",
        title="Live buffers placed at the same addresses",
        meaning=(
            "Internal compiler error: the planner of shared or tensor memory gave the same bytes "
            "to buffers that are live at the same time; an independent check found it."
        ),
        example="internal compiler error: overlapping shared buffers: As and Bs overlap",
        fix="Report the kernel.",
    ),
    CodeEntry(
        code="TW9070",
        title="Kernel parameters do not match the machine code",
        meaning=(
            "Internal compiler error: the PTX entry takes another number of parameters than the "
            "kernel has."
        ),
        example="the machine code takes 7 parameters, the kernel has 5 and 3 hidden ones",
        fix="Report the kernel and the release of Triton.",
    ),
)
