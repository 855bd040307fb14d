"""Rules of storage aliasing: E is TW502x to TW504x, W TW505x, R TW506x, V TW507x."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW5019",
        title="Storage aliasing not possible",
        meaning=(
            "A `storage_alias_spec`, an allocation from it or an overlap definition cannot be "
            "planned, for a reason that has no rule of its own: a spec of the wrong rank, an "
            "immutable buffer, memory kinds that disagree."
        ),
        example="SMEM storage_alias_spec must have 1D shape, got 2D",
        fix="Change the allocation or the definition as the message states.",
    ),
    CodeEntry(
        code="TW5021",
        title="Tensor-memory allocation with fewer than two dimensions (E1)",
        meaning=(
            "Tensor memory has rows and columns, so a buffer in it needs at least two dimensions."
        ),
        example="TMEM allocations must be at least 2D, got rank 1",
        fix="Give the buffer rows and columns.",
    ),
    CodeEntry(
        code="TW5022",
        title="Requested storage size too small (E2)",
        meaning="`buffer_size_bytes` of a spec is smaller than its buffers need.",
        example=(
            "storage_alias_spec buffer_size_bytes 1024 is too small for computed shape, requires "
            "at least 8192 bytes"
        ),
        fix="Leave the size out, or use at least the size required.",
    ),
    CodeEntry(
        code="TW5023",
        title="Second overlap definition for a spec (E3)",
        meaning="A spec has two `set_buffer_overlap` calls and no phases that distinguish them.",
        example=(
            "spec.set_buffer_overlap(first)\n"
            "spec.set_buffer_overlap(second)          # error[TW5023]"
        ),
        fix="Put both groups into one tree, or name phases and use `multi-overlap=true`.",
    ),
    CodeEntry(
        code="TW5024",
        title="Distinct buffers do not fit (E4)",
        meaning="Members of a distinct `reuse_group` need more space than the storage has.",
        example="not enough space for distinct allocations: need 4096 bytes, have 2048 bytes",
        fix="Enlarge the storage, or let some of the buffers share.",
    ),
    CodeEntry(
        code="TW5025",
        title="Spec without a computed shape (E5)",
        meaning="A pass that materialises allocations ran before the pass that computes sizes.",
        example="storage_alias_spec has no shape set; run TLXStorageAliasSizeDefinition pass first",
        fix="Run the passes in order; `tlx-storage-alias-lowering` does.",
    ),
    CodeEntry(
        code="TW5026",
        title="Group stride is not a multiple of the buffer size (E6)",
        meaning=(
            "The distance between groups of buffers must be a whole number of buffers, so that an "
            "index can select them."
        ),
        example=(
            "units_between_buffer_groups (1536) must be a multiple of the original buffer size "
            "(1024)"
        ),
        fix="Use buffer sizes that divide each other, or pad the smaller one.",
    ),
    CodeEntry(
        code="TW5027",
        title="Offset is not a multiple of the buffer size (E7)",
        meaning=(
            "A buffer must start at a whole number of its own size within the storage, so that an "
            "index can select it."
        ),
        example="buffer_offset (512) must be a multiple of the original buffer size (1024)",
        fix="Reorder the group so that larger buffers come first, or pad the buffers before it.",
    ),
    CodeEntry(
        code="TW5028",
        title="Spec still used after materialisation (E8)",
        meaning="An op other than an allocation or an overlap definition uses the spec.",
        example="storage_alias_spec still has uses after allocation materialization",
        fix="Use the spec only in allocations, groups and `set_buffer_overlap`.",
    ),
    CodeEntry(
        code="TW5029",
        title="View changes the size of an array of buffers (E9)",
        meaning=(
            "A view of a whole array of aliased buffers changes the size per buffer, so indices "
            "can no longer be rewritten."
        ),
        example="view changes the per-buffer size from 1024 to 2048; take the view after indexing",
        fix="Index the array first, then take the view of one buffer.",
    ),
    CodeEntry(
        code="TW5030",
        title="Arrays with different placements join (E10)",
        meaning="Control flow selects between arrays of buffers that have different placements.",
        example=(
            "if n > 0:\n"
            "    tile = a                 # a and b are arrays with different placements\n"
            "else:\n"
            "    tile = b                 # error[TW5030]"
        ),
        fix="Index the arrays before they join, or select between buffers of one array.",
    ),
    CodeEntry(
        code="TW5031",
        title="Aliased buffer crosses a call (E11)",
        meaning=(
            "An array of aliased buffers is an argument or result of a function that is not "
            "inlined."
        ),
        example="storage-alias buffer crosses a call; inline the callee first",
        fix="Inline the callee, or pass one indexed buffer.",
    ),
    CodeEntry(
        code="TW5032",
        title="Unsupported use of an array of aliased buffers (E12)",
        meaning="An op uses the whole array in a way that cannot be rewritten after placement.",
        example="unsupported use of a storage-alias buffer array",
        fix="Index the array first; one buffer may be used anywhere.",
    ),
    CodeEntry(
        code="TW5033",
        title="group_size on a group that is not shared (E13)",
        meaning=(
            "`group_size` is the count of consecutive buffers that make one member of a shared "
            "group; it has no meaning on a distinct group."
        ),
        example="group_size 2 is only meaningful on a shared group",
        fix="Remove `group_size`, or make the group shared.",
    ),
    CodeEntry(
        code="TW5034",
        title="Local alias of something that is not an allocation (E14)",
        meaning="A local alias must refer to an allocation or to another alias.",
        example="LocalAliasOp must refer to a local_alloc or local_alias op",
        fix="Alias the allocation itself.",
    ),
    CodeEntry(
        code="TW5035",
        title="Local alias larger than its allocation (E15)",
        meaning=(
            "An alias needs more bits (or rows of tensor memory) than an allocation that has "
            "initial contents, which therefore cannot be enlarged."
        ),
        example="TLXRewriteLocalAlias cannot view a 512-bit allocation as a 768-bit alias",
        fix="Allocate without initial contents, or allocate the largest view first.",
    ),
    CodeEntry(
        code="TW5036",
        title="Buffer count is not a multiple of the group size (E16)",
        meaning="An array in a group with `group_size` must have a whole number of groups.",
        example="buffer count (3) must be a multiple of the accumulated group_size (2)",
        fix="Use a count that the note names.",
    ),
    CodeEntry(
        code="TW5037",
        title="Storage-alias region exceeds the memory (E17)",
        meaning=(
            "The region needs more shared or tensor memory than the target has; `tilewright "
            "memory` also reports it for all allocations of a kernel together. The notes list "
            "changes that fit."
        ),
        example="storage alias region needs 262144 bytes, shared memory has 232448",
        fix="Reduce a buffer count or a tile, or let more buffers share.",
    ),
    CodeEntry(
        code="TW5038",
        title="Buffer start violates its alignment (E18)",
        meaning="The placement gives a buffer a start that its layout (swizzle) does not permit.",
        example="buffer 1 would start at 512, but its layout needs a multiple of 1024",
        fix="Pad the buffer, or name it first in its group.",
    ),
    CodeEntry(
        code="TW5039",
        title="Overlap definitions contradict each other (E19)",
        meaning="An earlier overlap definition fixed a placement that this one contradicts.",
        example=(
            "an earlier overlap definition fixed the placement 'y at 0, levels (inf,16384)', "
            "which this one contradicts"
        ),
        fix="Use the same groups in all phases for this buffer.",
    ),
    CodeEntry(
        code="TW5040",
        title="Live buffers share bytes (E20)",
        meaning=(
            "Two buffers of different phases are live at the same time and share the bytes given."
        ),
        example=(
            "'qk' (phase a) and 'p' (phase b) are live at the same time but share bytes 0..8191"
        ),
        fix="End the live range of one of them, or place them in distinct storage.",
    ),
    CodeEntry(
        code="TW5041",
        title="Reuse groups contradict each other (E21)",
        meaning="The groups of one spec cannot be satisfied together, for the reason given.",
        example="reuse groups of this spec contradict each other: distinct(b, a) does not hold",
        fix="Remove one of the groups.",
    ),
    CodeEntry(
        code="TW5042",
        title="Buffer index out of range (E22)",
        meaning="A constant index selects a buffer that the array does not have.",
        example="index 2 is outside of 'buffers', which has 2 buffers",
        fix="Use an index from 0 to count - 1.",
    ),
    CodeEntry(
        code="TW5051",
        severity="warning",
        title="Spec without allocations (W1)",
        meaning="A `storage_alias_spec` is defined and no buffer is allocated from it.",
        example="storage_alias_spec has no referencing storage_alias_local_alloc operations",
        fix="Remove the spec, or allocate from it with `reuse=`.",
    ),
    CodeEntry(
        code="TW5052",
        severity="warning",
        title="Trailing bytes of the storage are unused (W2)",
        meaning="`buffer_size_bytes` is not a multiple of the unit by which the region is indexed.",
        example="buffer_size_bytes 10000 is not a multiple of 4096; 1808 trailing bytes are unused",
        fix="Use a multiple, or leave the size out.",
    ),
    CodeEntry(
        code="TW5053",
        severity="warning",
        title="Allocation not part of the overlap definition (W3)",
        meaning=(
            "A buffer of the spec is in no group, so it starts at offset 0 and may overlap every "
            "other buffer."
        ),
        example="allocation is not part of the spec's overlap definition; it starts at offset 0",
        fix="Add the buffer to a `reuse_group`.",
    ),
    CodeEntry(
        code="TW5054",
        severity="warning",
        title="Buffer counts of a group differ (W4)",
        meaning=(
            "A member of a group has another number of logical buffers than its peers; the "
            "surplus is never used together."
        ),
        example="buffer count 4 gives 4 logical buffers, but its peers have 2",
        fix="Use equal counts, or set `group_size`.",
    ),
    CodeEntry(
        code="TW5055",
        severity="warning",
        title="Reuse of a buffer is deprecated (W5)",
        meaning="A buffer is allocated on top of another buffer instead of a `storage_alias_spec`.",
        example=(
            "b = tlx.local_alloc((64,), tl.float32, 1, reuse=a)       # a is a buffer: "
            "warning[TW5055]"
        ),
        fix="Allocate both from one `storage_alias_spec` and pass the spec as `reuse=`.",
    ),
    CodeEntry(
        code="TW5056",
        severity="warning",
        title="Spec without an overlap definition (W6)",
        meaning=(
            "Several buffers use a spec without an overlap definition, so all of them start at "
            "offset 0."
        ),
        example=(
            "storage_alias_spec has no overlap definition; its 2 buffers all start at offset 0 "
            "and overlap each other"
        ),
        fix="Add `set_buffer_overlap`, or use `infer-overlap=true`.",
    ),
    CodeEntry(
        code="TW5057",
        severity="warning",
        title="Index arithmetic changed, placement not analysed (W7)",
        meaning=(
            "A pass changed the index arithmetic of an aliased buffer after lowering, so "
            "`tlx-verify-storage-alias` cannot check this access."
        ),
        example="index arithmetic was changed since lowering; not analysed",
        fix="Run `tlx-verify-storage-alias` directly after the lowering.",
    ),
    CodeEntry(
        code="TW5061",
        severity="remark",
        title="Buffer placed by address (R1)",
        meaning=(
            "The indices of an array cannot be rewritten, for the reason given, so its buffers "
            "are selected by address. Stock Triton does not support such views."
        ),
        example=(
            "indices cannot be rewritten here (units_between_buffer_groups (24576) must be a "
            "multiple of the original buffer size (16384)); placed by address instead"
        ),
        fix="Index the array directly to permit rewriting.",
    ),
    CodeEntry(
        code="TW5062",
        severity="remark",
        title="Sharing not needed (R2)",
        meaning=(
            "Enough memory is free to give the buffers named storage of their own, which would "
            "remove ordering constraints."
        ),
        example=(
            "128 columns of tensor memory are free; 'p' need not share with 'qk' (+128 columns)"
        ),
        fix="Remove the buffers from the shared group if ordering them costs time.",
    ),
    CodeEntry(
        code="TW5063",
        severity="remark",
        title="Unused bytes of a region (R3)",
        meaning=(
            "The report on a region: its size, the padding between buffers, and the bytes that no "
            "buffer uses."
        ),
        example="65536 bytes of shared memory: padding 0, dead 0",
        fix="Nothing is required; reorder or resize buffers to save memory.",
    ),
    CodeEntry(
        code="TW5064",
        severity="remark",
        title="Allocation not counted (R4)",
        meaning="An allocation takes no part in the memory plan, for the reason given.",
        example="allocation not counted: TMEM allocations must be at least 2D, got rank 1",
        fix="Give the allocation a static size.",
    ),
    CodeEntry(
        code="TW5065",
        severity="remark",
        title="Placed alias left for the code generator (R5)",
        meaning=(
            "A `tlx.placed_alias` remains in the IR. Tilewright's code generators support it; "
            "stock Triton does not."
        ),
        example="tlx.placed_alias not lowered",
        fix="Nothing is required unless the IR is passed to Triton.",
    ),
    CodeEntry(
        code="TW5071",
        title="Empty reuse group (V1)",
        meaning="A `reuse_group` has no members.",
        example="reuse_group requires at least one element",
        fix="Add at least one buffer or group.",
    ),
    CodeEntry(
        code="TW5072",
        title="group_size is not positive (V2)",
        meaning="`group_size` of a `reuse_group` must be a positive integer.",
        example="group_size must be a positive integer, got 0",
        fix="Use 1 or more, or leave it out.",
    ),
    CodeEntry(
        code="TW5073",
        title="Buffer appears twice in a reuse group (V3)",
        meaning="Each allocation can be a member of the tree of groups only once.",
        example=(
            "reuse_group tree contains duplicate elements; each allocation can only appear once "
            "in the tree"
        ),
        fix="Remove one of the two.",
    ),
    CodeEntry(
        code="TW5074",
        title="Buffers of different specs in one group (V4)",
        meaning="All buffers of a group must be allocated from the same `storage_alias_spec`.",
        example=(
            "all allocations in the reuse_group must reference the same storage_alias_spec, but "
            "found an allocation that uses a different spec"
        ),
        fix="Allocate the buffers from one spec.",
    ),
    CodeEntry(
        code="TW5075",
        title="Tensor-memory buffer without a buffer dimension (V5)",
        meaning="A tensor-memory buffer in a group needs a leading dimension that counts buffers.",
        example=(
            "a tensor-memory buffer in a reuse_group needs a leading dimension that counts buffers"
        ),
        fix="Allocate an array of buffers, with a count of 1 if there is only one.",
    ),
    CodeEntry(
        code="TW5076",
        title="Group member is not an aliased allocation (V6)",
        meaning="A member of a `reuse_group` was not allocated from a `storage_alias_spec`.",
        example=(
            "all elements in the reuse_group tree must be allocated via "
            "tlx.storage_alias_local_alloc, but found an element that is not"
        ),
        fix="Allocate the buffer with `reuse=spec`.",
    ),
)
