// RUN: tilewright-opt -split-input-file -keep-names -verify-diagnostics %s --tlx-storage-alias-lowering="report=true"
// RUN: tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering 2>&1 | filecheck %s

// report=true: sharing that is not needed, and room that nobody uses. Without it nothing is said.
// CHECK-NOT: remark
// CHECK-NOT: warning

// Flash attention with head dim 64: 384 of 512 columns, so P need not lie over the scores.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#tmem1 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#tmem2 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 1, colStride = 1>
!spec = !tlx.storage_alias_spec<tmem>
!qk = !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
!p = !ttg.memdesc<4x128x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
!s = !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
!acc = !ttg.memdesc<2x128x64xf32, #tmem1, #ttng.tensor_memory, mutable>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  tt.func @head_dim_64() {
    // expected-remark @+3 {{128 columns of tensor memory are free; 'p' need not share with 'qk' (+128 columns)}}
    // expected-remark @+2 {{128 columns of tensor memory are free; 'alpha', 'l' and 'm' need not share with 'qk' (+6 columns)}}
    // expected-remark @+1 {{128 rows x 256 columns of tensor memory: padding 0, dead 0}}
    %region = tlx.storage_alias_spec storage = tmem : !spec
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !qk
    %p = tlx.storage_alias_local_alloc %region : !spec -> !p
    %alpha = tlx.storage_alias_local_alloc %region : !spec -> !s
    %l = tlx.storage_alias_local_alloc %region : !spec -> !s
    %m = tlx.storage_alias_local_alloc %region : !spec -> !s
    %acc = ttng.tmem_alloc : () -> !acc
    %pg = tlx.reuse_group(%p) group_kind = shared, group_size = 2 : (!p) -> !tlx.reuse_group<shared>
    %d = tlx.reuse_group(%pg, %alpha, %l, %m) group_kind = distinct : (!tlx.reuse_group<shared>, !s, !s, !s) -> !tlx.reuse_group<distinct>
    %g = tlx.reuse_group(%qk, %d) group_kind = shared : (!qk, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    tt.return
  }
}

// -----

// Padding and dead space: y ends at 160, z starts at 256; the explicit size adds 128 bytes behind.
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem, 512>
!x = !ttg.memdesc<1x32xf32, #flat, #smem, mutable>
!y = !ttg.memdesc<1x8xf32, #flat, #smem, mutable>
module {
  tt.func @waste() {
    // expected-remark @+1 {{512 bytes of shared memory: padding 96, dead 224}}
    %spec = tlx.storage_alias_spec storage = smem, size = 512 : !spec
    %x = tlx.storage_alias_local_alloc %spec : !spec -> !x
    %y = tlx.storage_alias_local_alloc %spec : !spec -> !y
    %z = tlx.storage_alias_local_alloc %spec : !spec -> !x
    %g = tlx.reuse_group(%x, %y, %z) group_kind = distinct : (!x, !y, !x) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// An allocation of unknown size: nobody can tell what is free, so that is said and no advice is given.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#dummy = #tlx.dummy_tmem_layout<>
!spec = !tlx.storage_alias_spec<tmem>
!qk = !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
!p = !ttg.memdesc<2x128x128xbf16, #tmem, #ttng.tensor_memory, mutable>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  tt.func @unknown_size() {
    // expected-remark @+1 {{allocation not counted: TMEM allocations must be at least 2D, got rank 1}}
    %odd = ttng.tmem_alloc : () -> !ttg.memdesc<128xf32, #dummy, #ttng.tensor_memory, mutable>
    // expected-remark @+1 {{128 rows x 256 columns of tensor memory: padding 0, dead 0}}
    %region = tlx.storage_alias_spec storage = tmem : !spec
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !qk
    %p = tlx.storage_alias_local_alloc %region : !spec -> !p
    %g = tlx.reuse_group(%qk, %p) group_kind = shared : (!qk, !p) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    tt.return
  }
  // Memory of another kernel does not matter here: 256 columns are free.
  tt.func @other_kernel() {
    // expected-remark @+2 {{256 columns of tensor memory are free; 'qk.1' need not share with 'p.1' (+128 columns)}}
    // expected-remark @+1 {{128 rows x 256 columns of tensor memory: padding 0, dead 0}}
    %region = tlx.storage_alias_spec storage = tmem : !spec
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !qk
    %p = tlx.storage_alias_local_alloc %region : !spec -> !p
    %g = tlx.reuse_group(%qk, %p) group_kind = shared : (!qk, !p) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    tt.return
  }
}
