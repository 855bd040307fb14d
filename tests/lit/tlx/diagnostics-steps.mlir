// RUN: tilewright-opt -split-input-file -keep-names -verify-diagnostics %s --tlx-storage-alias-lowering="define-sizes=false"

// What step 3 needs of the steps before it. With define-sizes=false nobody does step 1, so that specs
// must have what it leaves on them.

// E5 positive: no size.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @no_shape() {
    // expected-error @+1 {{storage_alias_spec has no shape set; run TLXStorageAliasSizeDefinition pass first}}
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    tt.return
  }
}

// -----

// E5 negative, N2 negative: as step 1 leaves specs of both memories.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!tspec = !tlx.storage_alias_spec<tmem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!t = !ttg.memdesc<1x128x64xf32, #tmem, #ttng.tensor_memory, mutable>
module {
  tt.func @shapes() {
    %spec = tlx.storage_alias_spec storage = smem, size = 32768 {buffer_shape = array<i64: 32768>} : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %tspec = tlx.storage_alias_spec storage = tmem, size = 32768 {buffer_shape = array<i64: 128, 64>} : !tspec
    %b = tlx.storage_alias_local_alloc %tspec : !tspec -> !t
    tt.return
  }
}

// -----

// N2 positive: shapes of the wrong rank.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!tspec = !tlx.storage_alias_spec<tmem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!t = !ttg.memdesc<1x128x64xf32, #tmem, #ttng.tensor_memory, mutable>
module {
  tt.func @wrong_ranks() {
    // expected-error @+1 {{SMEM storage_alias_spec must have 1D shape, got 2D}}
    %spec = tlx.storage_alias_spec storage = smem, size = 32768 {buffer_shape = array<i64: 128, 256>} : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    // expected-error @+1 {{TMEM storage_alias_spec must have 2D shape, got 1D}}
    %tspec = tlx.storage_alias_spec storage = tmem, size = 32768 {buffer_shape = array<i64: 64>} : !tspec
    %b = tlx.storage_alias_local_alloc %tspec : !tspec -> !t
    tt.return
  }
}

// -----

// A shape that is none of ours.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @wrong_shape() {
    // expected-error @+1 {{buffer_shape is 16384, but the buffers need 32768}}
    %spec = tlx.storage_alias_spec storage = smem, size = 32768 {buffer_shape = array<i64: 16384>} : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    tt.return
  }
}

// -----

// N3 positive: a spec that comes from somewhere else.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @spec_of_the_caller(%spec: !spec) {
    // expected-error @+1 {{storage_alias_spec not found for this allocation}}
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    tt.return
  }
}

// -----

// N3 negative: one of this function.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @own_spec(%other: !spec) {
    %spec = tlx.storage_alias_spec storage = smem {buffer_shape = array<i64: 32768>} : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    tt.return
  }
}
