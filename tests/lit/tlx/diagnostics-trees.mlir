// RUN: tilewright-opt -split-input-file -keep-names -verify-diagnostics %s --tlx-storage-alias-lowering="report=true"

// What is said about overlap definitions: E3, E6, E7, E13, E16, E18, V5, W3, W4, W6.

// E3 positive: one definition for each spec.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @two_definitions() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = shared : (!a, !a) -> !tlx.reuse_group<shared>
    %h = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    // expected-note @+1 {{the first definition is here}}
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    // expected-error @+2 {{storage_alias_spec already has a set_buffer_overlap defined; each spec can only have one overlap definition}}
    // expected-note @+1 {{put both into one tree, or name phases and set multi-overlap=true}}
    tlx.set_buffer_overlap(%spec, %h) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// E3 negative: two specs, one definition each.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @one_definition_each() {
    // expected-remark @+1 {{32768 bytes of shared memory}}
    %s = tlx.storage_alias_spec storage = smem : !spec
    // expected-remark @+1 {{65536 bytes of shared memory}}
    %t = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %s : !spec -> !a
    %b = tlx.storage_alias_local_alloc %s : !spec -> !a
    %c = tlx.storage_alias_local_alloc %t : !spec -> !a
    %d = tlx.storage_alias_local_alloc %t : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = shared : (!a, !a) -> !tlx.reuse_group<shared>
    %h = tlx.reuse_group(%c, %d) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%s, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    tlx.set_buffer_overlap(%t, %h) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// E6 positive: a stride of 24576 is no multiple of 16384, in whatever order.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!b = !ttg.memdesc<2x64x32xf32, #shared, #smem, mutable>
module {
  tt.func @stride_and_size() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    // expected-error @+2 {{units_between_buffer_groups (24576) must be a multiple of the original buffer size (16384)}}
    // expected-note @+1 {{placement=explicit works with the order as it is}}
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !b
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !b) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// E6 negative: single buffers never take a second step.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<1x64x64xf32, #shared, #smem, mutable>
!b = !ttg.memdesc<1x64x32xf32, #shared, #smem, mutable>
module {
  tt.func @single_buffers() {
    // expected-remark @+1 {{24576 bytes of shared memory: padding 0, dead 0}}
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !b
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !b) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// E7 positive: example 3 in the wrong order. The note names one that works.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!big = !ttg.memdesc<2x128x64xf16, #shared, #smem, mutable>
!small = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
module {
  tt.func @order() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    // expected-error @+3 {{buffer_offset (8192) must be a multiple of the original buffer size (16384)}}
    // expected-note @+2 {{this order works: distinct(c, a, b)}}
    // expected-note @+1 {{placement=explicit works with the order as it is}}
    %c = tlx.storage_alias_local_alloc %spec : !spec -> !big
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !small
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !small
    %g = tlx.reuse_group(%a, %c, %b) group_kind = distinct : (!small, !big, !small) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// E7 negative: the order that the note names.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!big = !ttg.memdesc<2x128x64xf16, #shared, #smem, mutable>
!small = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
module {
  tt.func @largest_first() {
    // expected-remark @+1 {{65536 bytes of shared memory: padding 0, dead 0}}
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %c = tlx.storage_alias_local_alloc %spec : !spec -> !big
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !small
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !small
    %g = tlx.reuse_group(%c, %a, %b) group_kind = distinct : (!big, !small, !small) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// E13 positive: sub-tiles of what? Only a shared group has one tile to cut.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<4x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @distinct_group_size() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    // expected-error @+2 {{group_size 2 is only meaningful on a shared group}}
    // expected-note @+1 {{write shared(distinct(a, b), group_size=2)}}
    %g = tlx.reuse_group(%a, %b) group_kind = distinct, group_size = 2 : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// E13 negative: what the note says to write, and a distinct group of size 1.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<4x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @group_of_a_group() {
    // expected-remark @+1 {{131072 bytes of shared memory: padding 0, dead 0}}
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %d = tlx.reuse_group(%a, %b) group_kind = distinct, group_size = 1 : (!a, !a) -> !tlx.reuse_group<distinct>
    %g = tlx.reuse_group(%d) group_kind = shared, group_size = 2 : (!tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    tt.return
  }
}

// -----

// E16 positive: five buffers do not make pairs.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!p = !ttg.memdesc<5x64x32xf32, #shared, #smem, mutable>
module {
  tt.func @uneven_sub_tiles() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    // expected-error @+2 {{buffer count (5) must be a multiple of the accumulated group_size (2)}}
    // expected-note @+1 {{4 or 6 buffers fill whole groups of 2}}
    %p = tlx.storage_alias_local_alloc %spec : !spec -> !p
    %pg = tlx.reuse_group(%p) group_kind = shared, group_size = 2 : (!p) -> !tlx.reuse_group<shared>
    %g = tlx.reuse_group(%a, %pg) group_kind = shared : (!a, !tlx.reuse_group<shared>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    tt.return
  }
}

// -----

// E16 negative, W4 negative: four sub-tiles are two pairs, as many as the tiles they are parts of.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!p = !ttg.memdesc<4x64x32xf32, #shared, #smem, mutable>
module {
  tt.func @whole_pairs() {
    // expected-remark @+1 {{32768 bytes of shared memory: padding 0, dead 0}}
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %p = tlx.storage_alias_local_alloc %spec : !spec -> !p
    %pg = tlx.reuse_group(%p) group_kind = shared, group_size = 2 : (!p) -> !tlx.reuse_group<shared>
    %g = tlx.reuse_group(%a, %pg) group_kind = shared : (!a, !tlx.reuse_group<shared>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    tt.return
  }
}

// -----

// W4 positive: counts may differ, but it is rarely meant.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!b = !ttg.memdesc<3x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @unequal_counts() {
    // expected-remark @+1 {{49152 bytes of shared memory: padding 0, dead 0}}
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    // expected-warning @+1 {{buffer count 3 gives 3 logical buffers, but its peers have 2}}
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !b
    %c = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b, %c) group_kind = shared : (!a, !b, !a) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    tt.return
  }
}

// -----

// W3 positive: a buffer that the definition forgot.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @forgotten() {
    // expected-remark @+1 {{65536 bytes of shared memory: padding 0, dead 0}}
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    // expected-warning @+1 {{allocation is not part of the spec's overlap definition; it starts at offset 0 and may overlap every other buffer}}
    %c = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    // expected-note @+1 {{this definition does not name the buffer}}
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// W3 negative: the same with all three in the tree.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @remembered() {
    // expected-remark @+1 {{98304 bytes of shared memory: padding 0, dead 0}}
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %c = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b, %c) group_kind = distinct : (!a, !a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// W6 positive: groups that no definition names say nothing.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @definition_forgotten() {
    // expected-warning @+2 {{storage_alias_spec has no overlap definition; its 2 buffers all start at offset 0 and overlap each other}}
    // expected-note @+1 {{add a set_buffer_overlap, or set infer-overlap=true}}
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    // expected-note @+1 {{this reuse_group is not used: no set_buffer_overlap names it}}
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tt.return
  }
}

// -----

// W6 negative: a single buffer overlaps nobody.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @nobody_to_overlap() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    tt.return
  }
}

// -----

// V5: in a tree the first dimension counts buffers, also in tensor memory.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
!spec = !tlx.storage_alias_spec<tmem>
!a = !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  tt.func @no_buffer_count() {
    %spec = tlx.storage_alias_spec storage = tmem : !spec
    // expected-error @+1 {{a tensor-memory buffer in a reuse_group needs a leading dimension that counts buffers}}
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a) group_kind = shared : (!a) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    tt.return
  }
}

// -----

// E18 positive: at 512 a tile of 512 bytes is at a multiple of its size, but a pattern of 128 bytes by 8 rows
// repeats every 1024.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x4x64xf16, #shared, #smem, mutable>
!b = !ttg.memdesc<2x4x64xf16, #tile, #smem, mutable>
module {
  tt.func @swizzle_atom() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    // expected-error @+3 {{buffer 0 would start at 512, but its layout needs a multiple of 1024}}
    // expected-note @+2 {{this order works: distinct(b, a)}}
    // expected-note @+1 {{placement=explicit works with the order as it is}}
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !b
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !b) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// E18 negative: the order that the note names.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x4x64xf16, #shared, #smem, mutable>
!b = !ttg.memdesc<2x4x64xf16, #tile, #smem, mutable>
module {
  tt.func @pattern_first() {
    // expected-remark @+1 {{2048 bytes of shared memory: padding 0, dead 0}}
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !b
    %g = tlx.reuse_group(%b, %a) group_kind = distinct : (!b, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// E18 positive, by a view: %c has no pattern, but it is read in a layout that has one.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x4x64xf16, #shared, #smem, mutable>
!tile = !ttg.memdesc<2x4x64xf16, #tile, #smem, mutable>
module {
  tt.func @pattern_of_a_view(%i: i32) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    // expected-error @+3 {{buffer 0 would start at 512, but its layout needs a multiple of 1024}}
    // expected-note @+2 {{this order works: distinct(c, a)}}
    // expected-note @+1 {{placement=explicit works with the order as it is}}
    %c = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %c) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %v = tlx.require_layout %c : !a -> !tile
    %x = ttg.memdesc_index %v[%i] : !tile -> !ttg.memdesc<4x64xf16, #tile, #smem, mutable>
    tt.return
  }
}
