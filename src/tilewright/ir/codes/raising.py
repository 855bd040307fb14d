"""Kernels on pointers that are not raised to tiles, or slowly; targets that need tiles: TW80xx."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW8001",
        severity="remark",
        title="Not raised to tiles: an op has no counterpart",
        meaning=(
            "`raise-to-tile` leaves the kernel on pointers because one of its ops has no form at "
            "tile level: polling, inline assembly, `map_elementwise`, combiners with branches. The "
            "kernel is raised as a whole or not at all."
        ),
        example="tl.inline_asm_elementwise(text, ...)     # remark[TW8001]: no tile op",
        fix="Write it with ops that tiles have, or name a target for Triton: `triton:sm_90`.",
    ),
    CodeEntry(
        code="TW8002",
        severity="remark",
        title="Not raised to tiles: the address is not understood",
        meaning=(
            "`raise-to-tile` does not know which pointer argument an address derives from, because "
            "the pointer is chosen by data or comes from an op that is not followed."
        ),
        example="p = tl.where(flag, x_ptr, y_ptr)         # remark[TW8002]: one of two pointers",
        fix="Let each access use one pointer argument; choose between loaded values instead.",
    ),
    CodeEntry(
        code="TW8003",
        severity="remark",
        title="Not raised to tiles: the mask cannot be computed",
        meaning=(
            "The bounds of a block pointer or tensor descriptor depend on values that do not exist "
            "any more where the block is accessed, such as the counter of a while loop, and are no "
            "extents of a tensor."
        ),
        example="block = tl.advance(block, (steps, 0))     # in a while loop",
        fix="Compute shapes and offsets from arguments, program ids and loop counters.",
    ),
    CodeEntry(
        code="TW8004",
        severity="remark",
        title="Tensor without a known extent",
        meaning=(
            "Neither a mask nor a shape bounds an access, and its start has no known range, so "
            "the tensor that the pointer means has no extent that the host could compute."
        ),
        example="x = tl.load(p + tl.load(start) + tl.arange(0, 64))   # remark[TW8004]",
        fix="Mask the access, or derive its start from program ids and loop counters.",
    ),
    CodeEntry(
        code="TW8005",
        severity="remark",
        title="Not raised to tiles: a loop carries a pointer without a closed form",
        meaning=(
            "A loop advances a pointer by an amount that differs between iterations in a way that "
            "has no closed form. Addresses at tile level are functions of the loop counter."
        ),
        example="for i in range(n): p += tl.load(steps + i)           # remark[TW8005]",
        fix="Advance by an invariant amount, or add an offset at the access.",
    ),
    CodeEntry(
        code="TW8006",
        severity="remark",
        title="Not raised to tiles: control flow",
        meaning=(
            "Blocks that join or form a cycle, or a while loop that carries a pointer, have no "
            "form at tile level. Returns in branches are supported."
        ),
        example="while tl.load(p) > 0: p += 1             # remark[TW8006]: carries a pointer",
        fix="Use if and for statements; carry an integer offset instead of a pointer.",
    ),
    CodeEntry(
        code="TW8010",
        severity="remark",
        title="Not raised to tiles: an element type or conversion",
        meaning=(
            "Tiles have no elements of this type, or no conversion with this rounding: floats are "
            "rounded to nearest even."
        ),
        example='x.to(tl.float8e5, fp_downcast_rounding="rtz")        # remark[TW8010]',
        fix="Use the types and the rounding that tiles have.",
    ),
    CodeEntry(
        code="TW8011",
        severity="remark",
        title="Not raised to tiles: a GEMM without tensor cores",
        meaning=(
            "The operands of a `tl.dot` have types, a rank or an input precision for which no "
            "GEMM exists at tile level: f64, f32 other than tf32, batches."
        ),
        example='tl.dot(a, b, input_precision="ieee")     # f32 operands: remark[TW8011]',
        fix="Use f16, bf16, fp8 or int8 operands, or input_precision='tf32' for f32.",
    ),
    CodeEntry(
        code="TW8012",
        severity="remark",
        title="Not raised to tiles: a pointer comes from data",
        meaning=(
            "A pointer is read from memory or stored there, an address is used as an integer, each "
            "element has an address of its own, or elements before an address that is an integer "
            "may be accessed. One int64 that is cast to a pointer is raised."
        ),
        example="p = tl.load(table + lanes).to(tl.pointer_type(tl.float16))   # remark[TW8012]",
        fix="Read one int64 and cast it to a pointer; or pass the array, and an index into it.",
    ),
    CodeEntry(
        code="TW8020",
        severity="remark",
        title="Raised to tiles, but slow",
        meaning=(
            "The kernel is raised, but a part of it will be slower than needed: an operand of a "
            "GEMM is copied element by element, because its address or mask is not a box of a "
            "tensor."
        ),
        example="a = tl.load(p + (offs // 3)[:, None] + k)    # feeds tl.dot: remark[TW8020]",
        fix="Use affine addresses, and masks that bound each dimension.",
    ),
    CodeEntry(
        code="TW8030",
        title="The target needs a kernel on tiles, and this one is not raised",
        meaning=(
            "Our own CUDA, HIP and Tenstorrent compile kernels on tiles. A `tl` kernel is raised "
            "to tiles as a whole or not at all; remarks TW8001 to TW8012 after the error name "
            "each op that stands against it, with the reason and what would help."
        ),
        example="tilewright compile clock.py --target cuda:sm_90a   # assembly: error[TW8030]",
        fix="Change what the remarks name, or compile with Triton: `--target triton:sm_90`.",
    ),
)
