"""Layouts of fragments, tensors and shared memory: TW20xx."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW2001",
        title="Fragment element accessed outside of T.Parallel",
        meaning=(
            "Elements of a fragment are distributed over the threads of a block. Outside of "
            "`T.Parallel` only element 0 of a fragment can be accessed; another index would "
            "select one thread. A fragment that only copies and loops use is allocated in shared "
            "memory then (TW2023); one that a GEMM or a reduction uses has to stay in registers."
        ),
        example=(
            'rows = T.alloc_fragment((64,), "float32")\n'
            "T.reduce_sum(acc, rows)\n"
            "x = rows[3]                  # error[TW2001]"
        ),
        fix=(
            "Access the element inside `T.Parallel`, or keep the values in `T.alloc_local` or "
            "`T.alloc_shared`."
        ),
    ),
    CodeEntry(
        code="TW2010",
        title="Reducer filled again before it is finalized",
        meaning=(
            "`T.fill` opens a reduction on a reducer and `T.finalize_reducer` closes it. Here a "
            "reduction stays open on some path: the reducer is filled twice, filled in one branch "
            "only, or never finalized."
        ),
        example=(
            "T.fill(r, 0)\n"
            "T.fill(r, 0)  # error[TW2010]: T.finalize_reducer(r) is missing between the two"
        ),
        fix="Add `T.finalize_reducer` on every path after each `T.fill`.",
    ),
    CodeEntry(
        code="TW2011",
        title="Reducer finalized without a fill",
        meaning="`T.finalize_reducer` closes a reduction that no `T.fill` has opened.",
        example=(
            "T.fill(r, 0)\nT.finalize_reducer(r)\nT.finalize_reducer(r)        # error[TW2011]"
        ),
        fix="Call `T.fill` before the updates.",
    ),
    CodeEntry(
        code="TW2012",
        title="Invalid access to a reducer",
        meaning=(
            "Between `T.fill` and `T.finalize_reducer` every thread holds a partial result, so "
            "only an update with the operation of the reducer is defined. Before `T.fill` no "
            "access is defined."
        ),
        example=(
            "T.fill(r, 0)\n"
            "A[i] = r[i]                  # error[TW2012]: read before T.finalize_reducer(r)"
        ),
        fix="Update with `r[i] += x` (or `max`, `min`), and read after `T.finalize_reducer`.",
    ),
    CodeEntry(
        code="TW2013",
        title="Reducer written after it is finalized",
        meaning=(
            "After `T.finalize_reducer` the reducer holds the result and is read-only until the "
            "next `T.fill`."
        ),
        example=("T.finalize_reducer(r)\nr[0] += 1                    # error[TW2013]"),
        fix="Move the update before `T.finalize_reducer`, or open a new reduction with `T.fill`.",
    ),
    CodeEntry(
        code="TW2020",
        title="Conflicting layouts of a fragment",
        meaning=(
            "Two uses require different owners for an element of a fragment, and at least one of "
            "the layouts is fixed by the user or by an MMA instruction. The notes show both "
            "layouts with the first element they disagree on."
        ),
        example=(
            "T.annotate_layout({C: T.Fragment((64, 64), forward_fn=lambda i, j: (i, j))})\n"
            "T.gemm(A_shared, B_shared, C)  # error[TW2020]: the MMA requires another layout"
        ),
        fix=(
            "Remove or change the user-specified layout, or copy through shared memory between "
            "the two uses."
        ),
    ),
    CodeEntry(
        code="TW2021",
        title="T.Parallel extent unknown at compile time",
        meaning=(
            "Iterations of `T.Parallel` are distributed over threads when the kernel is compiled, "
            "which requires constant extents."
        ),
        example="for i in T.Parallel(n): ...              # error[TW2021]: n is a run-time value",
        fix=(
            "Loop over a tile of constant size and guard it: `for i in T.Parallel(128): if bx * "
            "128 + i < n: ...`."
        ),
    ),
    CodeEntry(
        code="TW2022",
        title="Layout cannot be computed at compile time",
        meaning=(
            "No formula gives, for each thread, the elements it owns: a fragment with a "
            "user-specified layout is indexed by a run-time value, such a layout names more "
            "threads than the block has, or extents and thread counts do not divide evenly."
        ),
        example=(
            "T.annotate_layout({f: T.Fragment((64,), forward_fn=lambda i: (i, 0))})\n"
            "for i in T.Parallel(64):\n"
            "    y[i] = f[I[i]]           # error[TW2022]: the index is data-dependent"
        ),
        fix=(
            "Index a shared-memory copy (`T.alloc_shared`, `T.copy`), or use extents and thread "
            "counts that are powers of two."
        ),
    ),
    CodeEntry(
        code="TW2023",
        severity="remark",
        title="Fragment staged through shared memory",
        meaning=(
            "A loop, reduction or GEMM needs elements of a fragment in other threads than those "
            "that own them, so the compiler copies the fragment through shared memory at this "
            "point. Results do not change; each copy costs shared memory, a barrier and time. A "
            "fragment of which an element is read outside of `T.Parallel` is allocated in shared "
            "memory altogether."
        ),
        example=(
            'f = T.alloc_fragment((64,), "float32")\n'
            "for i in T.Parallel(64):\n"
            "    y[i] = f[I[i]]           # remark[TW2023]: the index is data-dependent"
        ),
        fix=(
            "Use one access pattern for the fragment, or allocate it with `T.alloc_shared` where "
            "both patterns are needed."
        ),
    ),
    CodeEntry(
        code="TW2024",
        severity="warning",
        title="Fragment accessed past its end, and widened",
        meaning=(
            "A `T.Parallel` loop indexes a fragment with more values than the fragment has "
            "elements. As only such loops use it, it is allocated with the elements that they "
            "access. A run with `target='numpy'` reports the access as out of bounds."
        ),
        example=(
            'sinks = T.alloc_fragment((8,), "float32")\n'
            "for i in T.Parallel(64):\n"
            "    sinks[i] = S[0]          # warning[TW2024]: elements 8 to 63 do not exist"
        ),
        fix="Declare the fragment with the extents of the loop.",
    ),
    CodeEntry(
        code="TW2041",
        title="Descriptor used with two shared-memory layouts",
        meaning=(
            "TMA copies through one tensor descriptor need different swizzles of the shared "
            "buffer; a descriptor has one."
        ),
        example=(
            "layout mismatch: copy requires #ttg.nvmma_shared<{swizzlingByteWidth = 64, ...}>, "
            "descriptor has #ttg.nvmma_shared<{swizzlingByteWidth = 128, ...}>"
        ),
        fix="Create a second descriptor for the second copy.",
    ),
    CodeEntry(
        code="TW2042",
        title="Conflicting layouts of a shared or tensor-memory buffer",
        meaning=(
            "Two uses of a buffer require different layouts, or a use requires one that the "
            "user-specified layout or a view of the buffer does not permit."
        ),
        example=(
            "a = tlx.local_alloc((64, 64), tl.float16, 1, layout=...)\n"
            "tlx.async_dot(a[0], b[0], acc)  # error[TW2042]: wgmma requires another layout"
        ),
        fix="Use two buffers, or drop the user-specified layout.",
    ),
    CodeEntry(
        code="TW2043",
        title="Tensor memory cannot be accessed by this number of warps",
        meaning=(
            "The number of warps of the async task does not match the rows of a tensor-memory "
            "buffer; the hardware gives each warp a fixed quarter of the rows."
        ),
        example=(
            "with tlx.async_task(num_warps=2):\n"
            "    x = tlx.local_load(acc_tmem)  # error[TW2043]: 4 or 8 warps are required"
        ),
        fix="Give the async task 4 or 8 warps.",
    ),
    CodeEntry(
        code="TW2044",
        title="wgmma not possible with this shape and number of warps",
        meaning=(
            "`wgmma` is issued by groups of 4 warps and computes multiples of 64 rows per group. "
            "The shape of the dot does not divide that way."
        ),
        example="acc = tlx.async_dot(a, b)                # 32 x 64 with 4 warps: error[TW2044]",
        fix="Use multiples of 4 warps and of 64 rows, or use `tl.dot`.",
    ),
    CodeEntry(
        code="TW2045",
        title="Layouts differ",
        meaning=(
            "`tlx.assert_same_layout` failed: at least one element has different owners in the "
            "two layouts."
        ),
        example="tlx.assert_same_layout(x, y)             # error[TW2045]",
        fix="Convert one of the values, or derive both from the same operation.",
    ),
    CodeEntry(
        code="TW2050",
        severity="remark",
        title="Layout conversion in a loop",
        meaning=(
            "A tensor changes its layout in every iteration, which moves it through shared memory "
            "and costs a barrier."
        ),
        example=(
            "layout conversion in every iteration: 64 x 64 tensor, 8192 B through shared memory, "
            "from an MMA accumulator layout to a blocked layout (1 x 8 elements per thread)"
        ),
        fix="Move the conversion out of the loop, or use the value in one layout.",
    ),
    CodeEntry(
        code="TW2051",
        severity="remark",
        title="wgmma operand copied to registers needlessly",
        meaning=(
            "The left operand of `wgmma` is loaded from shared memory into registers, though the "
            "instruction can read the buffer directly."
        ),
        example=(
            "a = tlx.local_load(a_tile[0])\n"
            "acc = tlx.async_dot(a, b_tile[0], acc)   # remark[TW2051]"
        ),
        fix="Pass the buffer itself: `tlx.async_dot(a_tile[0], ...)`.",
    ),
    CodeEntry(
        code="TW2052",
        severity="remark",
        title="Bank conflicts in a buffer that shares storage",
        meaning=(
            "A buffer that aliases another one takes its layout from there, and threads of a warp "
            "access the same shared-memory bank in one instruction."
        ),
        example=(
            "bank conflicts in a buffer with aliased storage: 16 x 16 B, 512 wavefronts (64 "
            "without conflicts)"
        ),
        fix=(
            "Give the buffer storage of its own, or alias it with a buffer of the same shape and "
            "element type."
        ),
    ),
    CodeEntry(
        code="TW2053",
        severity="remark",
        title="Layout of a value",
        meaning="`tlx.dump_layout` reports the layout that the compiler chose for a value.",
        example=(
            "tlx.dump_layout(x)                       # remark[TW2053]: x has layout "
            "#ttg.blocked<{...}>"
        ),
        fix="Nothing to fix; remove `tlx.dump_layout` to silence it.",
    ),
)
