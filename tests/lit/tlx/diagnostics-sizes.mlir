// RUN: tilewright-opt -split-input-file -keep-names -verify-diagnostics %s --tlx-storage-alias-lowering="report=true"

// What is said about the size of a region: W1, W2, E1, E2, E17. Each fault once, and once avoided.

// W1 positive: a spec nobody allocates from is dropped.
module {
  tt.func @unused_spec() {
    // expected-warning @+2 {{storage_alias_spec has no referencing storage_alias_local_alloc operations}}
    // expected-note @+1 {{remove it, or allocate from it with reuse=}}
    %spec = tlx.storage_alias_spec storage = smem : !tlx.storage_alias_spec<smem>
    tt.return
  }
}

// -----

// W1 negative: one allocation is enough.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
module {
  tt.func @used_spec() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !ttg.memdesc<1x64x64xf32, #shared, #smem, mutable>
    tt.return
  }
}

// -----

// W2 positive: 65537 bytes are 128 columns of 128 rows and one byte.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
!t = !ttg.memdesc<1x128x64xf32, #tmem, #ttng.tensor_memory, mutable>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  tt.func @odd_size() {
    // expected-warning @+1 {{buffer_size_bytes 65537 is not a multiple of 512; 1 trailing bytes are unused}}
    %spec = tlx.storage_alias_spec storage = tmem, size = 65537 : !tlx.storage_alias_spec<tmem, 65537>
    %a = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<tmem, 65537> -> !t
    tt.return
  }
  // W2 negative: whole columns.
  tt.func @even_size() {
    %spec = tlx.storage_alias_spec storage = tmem, size = 65536 : !tlx.storage_alias_spec<tmem, 65536>
    %a = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<tmem, 65536> -> !t
    tt.return
  }
}

// -----

// E1 positive: tensor memory has rows and columns.
#dummy = #tlx.dummy_tmem_layout<>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  tt.func @one_dimension() {
    %spec = tlx.storage_alias_spec storage = tmem : !tlx.storage_alias_spec<tmem>
    // expected-error @+2 {{TMEM allocations must be at least 2D, got rank 1}}
    // expected-note @+1 {{tensor memory has rows and columns; give the buffer two dimensions}}
    %a = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<tmem> -> !ttg.memdesc<128xf32, #dummy, #ttng.tensor_memory, mutable>
    tt.return
  }
}

// -----

// E1 negative: rows and columns, and no dimension that counts buffers.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  tt.func @two_dimensions() {
    %spec = tlx.storage_alias_spec storage = tmem : !tlx.storage_alias_spec<tmem>
    %a = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<tmem> -> !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>
    tt.return
  }
}

// -----

// E2 positive, shared memory: 1024 bytes for two distinct buffers of 2 x 16384 (example 20).
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem, 1024>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @too_small() {
    // expected-error @+2 {{storage_alias_spec buffer_size_bytes 1024 is too small for computed shape, requires at least 65536 bytes}}
    // expected-note @+1 {{without a size the region gets 65536 bytes}}
    %spec = tlx.storage_alias_spec storage = smem, size = 1024 : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// E2 positive, tensor memory: the tree needs 256 columns, its largest leaf alone 128.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
!spec = !tlx.storage_alias_spec<tmem, 65536>
!t = !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  tt.func @tree_too_large() {
    // expected-error @+2 {{buffer_size_bytes 65536 is too small for computed shape, requires at least 131072 bytes}}
    // expected-note @+1 {{without a size the region gets 131072 bytes}}
    %spec = tlx.storage_alias_spec storage = tmem, size = 65536 : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !t
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !t
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!t, !t) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// E2 negative: exactly as much as is needed, in both memories.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!s = !tlx.storage_alias_spec<smem, 65536>
!t = !tlx.storage_alias_spec<tmem, 131072>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!b = !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  tt.func @exact_size() {
    // expected-remark @+1 {{65536 bytes of shared memory: padding 0, dead 0}}
    %s = tlx.storage_alias_spec storage = smem, size = 65536 : !s
    %a = tlx.storage_alias_local_alloc %s : !s -> !a
    %b = tlx.storage_alias_local_alloc %s : !s -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%s, %g) : (!s, !tlx.reuse_group<distinct>) -> ()
    // expected-remark @+1 {{128 rows x 256 columns of tensor memory: padding 0, dead 0}}
    %t = tlx.storage_alias_spec storage = tmem, size = 131072 : !t
    %c = tlx.storage_alias_local_alloc %t : !t -> !b
    %d = tlx.storage_alias_local_alloc %t : !t -> !b
    %h = tlx.reuse_group(%c, %d) group_kind = distinct : (!b, !b) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%t, %h) : (!t, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// E17 positive, tensor memory: example 17 with three logical buffers.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
!spec = !tlx.storage_alias_spec<tmem>
!a = !ttg.memdesc<3x128x64xf32, #tmem, #ttng.tensor_memory, mutable>
!p = !ttg.memdesc<12x128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  tt.func @too_many_columns() {
    // expected-error @+2 {{storage alias region needs 576 columns, tensor memory has 512}}
    // expected-note @+1 {{fits with}}
    %spec = tlx.storage_alias_spec storage = tmem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %p = tlx.storage_alias_local_alloc %spec : !spec -> !p
    %pg = tlx.reuse_group(%p) group_kind = shared, group_size = 4 : (!p) -> !tlx.reuse_group<shared>
    %g = tlx.reuse_group(%a, %pg) group_kind = distinct : (!a, !tlx.reuse_group<shared>) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// E17 negative, tensor memory: every column there is.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  tt.func @all_columns() {
    %spec = tlx.storage_alias_spec storage = tmem : !tlx.storage_alias_spec<tmem>
    %a = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<tmem> -> !ttg.memdesc<4x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tt.return
  }
}

// -----

// E17 positive, shared memory: what fits on a chip with 227 KiB does not on one with 99.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:120"} {
  tt.func @too_many_bytes() {
    // expected-error @+2 {{storage alias region needs 131072 bytes, shared memory has 101376}}
    // expected-note @+1 {{fits with}}
    %spec = tlx.storage_alias_spec storage = smem : !tlx.storage_alias_spec<smem>
    %a = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<smem> -> !ttg.memdesc<4x128x64xf32, #shared, #smem, mutable>
    tt.return
  }
}

// -----

// E17 negative, shared memory: the same on the larger chip.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
  tt.func @enough_bytes() {
    %spec = tlx.storage_alias_spec storage = smem : !tlx.storage_alias_spec<smem>
    %a = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<smem> -> !ttg.memdesc<4x128x64xf32, #shared, #smem, mutable>
    tt.return
  }
}
