// RUN: tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering="record=false" --canonicalize | filecheck %s

// The worked examples of storage aliasing in tensor memory: columns, extents and the slot of every index.

// Example 8: flash attention, bf16, two slices. Both MMA groups, P over the scores.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#tmem1 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#tmem2 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 1, colStride = 1>
!spec = !tlx.storage_alias_spec<tmem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @fa_two_slices
  // CHECK: %region = ttng.tmem_alloc : () -> !ttg.memdesc<128x256xi32
  tt.func @fa_two_slices() {
    %region = tlx.storage_alias_spec storage = tmem : !spec
    // CHECK: %qk = tlx.local_alias %region {{.*}}-> !ttg.memdesc<2x128x128xf32,
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %p = tlx.local_alias %region {{.*}}-> !ttg.memdesc<6x128x64xbf16,
    %p = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<4x128x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %alpha = tlx.local_alias %region {{.*}}-> !ttg.memdesc<193x128x1xf32,
    %alpha = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: %l = tlx.local_alias %region {{.*}}-> !ttg.memdesc<194x128x1xf32,
    %l = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: %m = tlx.local_alias %region {{.*}}-> !ttg.memdesc<195x128x1xf32,
    %m = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    %g0 = tlx.reuse_group(%p) group_kind = shared, group_size = 2 : (!ttg.memdesc<4x128x64xbf16, #tmem1, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<shared>
    %g1 = tlx.reuse_group(%g0, %alpha, %l, %m) group_kind = distinct : (!tlx.reuse_group<shared>, !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>, !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>, !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<distinct>
    %g2 = tlx.reuse_group(%qk, %g1) group_kind = shared : (!ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g2) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c3_i32 = arith.constant 3 : i32
    // CHECK: ttg.memdesc_index %qk[%c0_i32]
    %one0 = ttg.memdesc_index %qk[%c0_i32] : !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %qk[%c1_i32]
    %one1 = ttg.memdesc_index %qk[%c1_i32] : !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c0_i32]
    %one2 = ttg.memdesc_index %p[%c0_i32] : !ttg.memdesc<4x128x64xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<128x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c1_i32]
    %one3 = ttg.memdesc_index %p[%c1_i32] : !ttg.memdesc<4x128x64xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<128x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c4_i32]
    %one4 = ttg.memdesc_index %p[%c2_i32] : !ttg.memdesc<4x128x64xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<128x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c5_i32]
    %one5 = ttg.memdesc_index %p[%c3_i32] : !ttg.memdesc<4x128x64xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<128x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %alpha[%c64_i32]
    %one6 = ttg.memdesc_index %alpha[%c0_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one6 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %alpha[%c192_i32]
    %one7 = ttg.memdesc_index %alpha[%c1_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one7 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %l[%c65_i32]
    %one8 = ttg.memdesc_index %l[%c0_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one8 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %l[%c193_i32]
    %one9 = ttg.memdesc_index %l[%c1_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one9 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %m[%c66_i32]
    %one10 = ttg.memdesc_index %m[%c0_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one10 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %m[%c194_i32]
    %one11 = ttg.memdesc_index %m[%c1_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one11 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 9: four slices.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#tmem1 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 32, colStride = 1>
#tmem2 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 1, colStride = 1>
!spec = !tlx.storage_alias_spec<tmem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @fa_four_slices
  // CHECK: %region = ttng.tmem_alloc : () -> !ttg.memdesc<128x256xi32
  tt.func @fa_four_slices() {
    %region = tlx.storage_alias_spec storage = tmem : !spec
    // CHECK: %qk = tlx.local_alias %region {{.*}}-> !ttg.memdesc<2x128x128xf32,
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %p = tlx.local_alias %region {{.*}}-> !ttg.memdesc<12x128x32xbf16,
    %p = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<8x128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %alpha = tlx.local_alias %region {{.*}}-> !ttg.memdesc<193x128x1xf32,
    %alpha = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: %l = tlx.local_alias %region {{.*}}-> !ttg.memdesc<194x128x1xf32,
    %l = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: %m = tlx.local_alias %region {{.*}}-> !ttg.memdesc<195x128x1xf32,
    %m = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    %g0 = tlx.reuse_group(%p) group_kind = shared, group_size = 4 : (!ttg.memdesc<8x128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<shared>
    %g1 = tlx.reuse_group(%g0, %alpha, %l, %m) group_kind = distinct : (!tlx.reuse_group<shared>, !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>, !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>, !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<distinct>
    %g2 = tlx.reuse_group(%qk, %g1) group_kind = shared : (!ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g2) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c3_i32 = arith.constant 3 : i32
    %c4_i32 = arith.constant 4 : i32
    %c5_i32 = arith.constant 5 : i32
    %c6_i32 = arith.constant 6 : i32
    %c7_i32 = arith.constant 7 : i32
    // CHECK: ttg.memdesc_index %qk[%c0_i32]
    %one0 = ttg.memdesc_index %qk[%c0_i32] : !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %qk[%c1_i32]
    %one1 = ttg.memdesc_index %qk[%c1_i32] : !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c0_i32]
    %one2 = ttg.memdesc_index %p[%c0_i32] : !ttg.memdesc<8x128x32xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c1_i32]
    %one3 = ttg.memdesc_index %p[%c1_i32] : !ttg.memdesc<8x128x32xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c2_i32]
    %one4 = ttg.memdesc_index %p[%c2_i32] : !ttg.memdesc<8x128x32xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c3_i32]
    %one5 = ttg.memdesc_index %p[%c3_i32] : !ttg.memdesc<8x128x32xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c8_i32]
    %one6 = ttg.memdesc_index %p[%c4_i32] : !ttg.memdesc<8x128x32xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one6 : !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c9_i32]
    %one7 = ttg.memdesc_index %p[%c5_i32] : !ttg.memdesc<8x128x32xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one7 : !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c10_i32]
    %one8 = ttg.memdesc_index %p[%c6_i32] : !ttg.memdesc<8x128x32xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one8 : !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c11_i32]
    %one9 = ttg.memdesc_index %p[%c7_i32] : !ttg.memdesc<8x128x32xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one9 : !ttg.memdesc<128x32xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %alpha[%c64_i32]
    %one10 = ttg.memdesc_index %alpha[%c0_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one10 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %alpha[%c192_i32]
    %one11 = ttg.memdesc_index %alpha[%c1_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one11 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %l[%c65_i32]
    %one12 = ttg.memdesc_index %l[%c0_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one12 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %l[%c193_i32]
    %one13 = ttg.memdesc_index %l[%c1_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one13 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %m[%c66_i32]
    %one14 = ttg.memdesc_index %m[%c0_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one14 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %m[%c194_i32]
    %one15 = ttg.memdesc_index %m[%c1_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one15 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 10: P in FP8. Only constants change.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#tmem1 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#tmem2 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 1, colStride = 1>
!spec = !tlx.storage_alias_spec<tmem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @fa_fp8
  // CHECK: %region = ttng.tmem_alloc : () -> !ttg.memdesc<128x256xi32
  tt.func @fa_fp8() {
    %region = tlx.storage_alias_spec storage = tmem : !spec
    // CHECK: %qk = tlx.local_alias %region {{.*}}-> !ttg.memdesc<2x128x128xf32,
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %p = tlx.local_alias %region {{.*}}-> !ttg.memdesc<10x128x64xf8E5M2,
    %p = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<4x128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %alpha = tlx.local_alias %region {{.*}}-> !ttg.memdesc<161x128x1xf32,
    %alpha = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: %l = tlx.local_alias %region {{.*}}-> !ttg.memdesc<162x128x1xf32,
    %l = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: %m = tlx.local_alias %region {{.*}}-> !ttg.memdesc<163x128x1xf32,
    %m = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    %g0 = tlx.reuse_group(%p) group_kind = shared, group_size = 2 : (!ttg.memdesc<4x128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<shared>
    %g1 = tlx.reuse_group(%g0, %alpha, %l, %m) group_kind = distinct : (!tlx.reuse_group<shared>, !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>, !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>, !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<distinct>
    %g2 = tlx.reuse_group(%qk, %g1) group_kind = shared : (!ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g2) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c3_i32 = arith.constant 3 : i32
    // CHECK: ttg.memdesc_index %qk[%c0_i32]
    %one0 = ttg.memdesc_index %qk[%c0_i32] : !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %qk[%c1_i32]
    %one1 = ttg.memdesc_index %qk[%c1_i32] : !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c0_i32]
    %one2 = ttg.memdesc_index %p[%c0_i32] : !ttg.memdesc<4x128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c1_i32]
    %one3 = ttg.memdesc_index %p[%c1_i32] : !ttg.memdesc<4x128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c8_i32]
    %one4 = ttg.memdesc_index %p[%c2_i32] : !ttg.memdesc<4x128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c9_i32]
    %one5 = ttg.memdesc_index %p[%c3_i32] : !ttg.memdesc<4x128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %alpha[%c32_i32]
    %one6 = ttg.memdesc_index %alpha[%c0_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one6 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %alpha[%c160_i32]
    %one7 = ttg.memdesc_index %alpha[%c1_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one7 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %l[%c33_i32]
    %one8 = ttg.memdesc_index %l[%c0_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one8 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %l[%c161_i32]
    %one9 = ttg.memdesc_index %l[%c1_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one9 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %m[%c34_i32]
    %one10 = ttg.memdesc_index %m[%c0_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one10 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %m[%c162_i32]
    %one11 = ttg.memdesc_index %m[%c1_i32] : !ttg.memdesc<2x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one11 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 11: tiles of 64 rows, scalars two columns wide.
#tmem = #ttng.tensor_memory_encoding<blockM = 64, blockN = 128, colStride = 1>
#tmem1 = #ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 1>
#tmem2 = #ttng.tensor_memory_encoding<blockM = 64, blockN = 2, colStride = 1>
!spec = !tlx.storage_alias_spec<tmem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @fa_half_height
  // CHECK: %region = ttng.tmem_alloc : () -> !ttg.memdesc<64x256xi32
  tt.func @fa_half_height() {
    %region = tlx.storage_alias_spec storage = tmem : !spec
    // CHECK: %qk = tlx.local_alias %region {{.*}}-> !ttg.memdesc<2x64x128xf32,
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x64x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %p = tlx.local_alias %region {{.*}}-> !ttg.memdesc<6x64x64xbf16,
    %p = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<4x64x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %alpha = tlx.local_alias %region {{.*}}-> !ttg.memdesc<97x64x2xf32,
    %alpha = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: %l = tlx.local_alias %region {{.*}}-> !ttg.memdesc<98x64x2xf32,
    %l = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: %m = tlx.local_alias %region {{.*}}-> !ttg.memdesc<99x64x2xf32,
    %m = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    %g0 = tlx.reuse_group(%p) group_kind = shared, group_size = 2 : (!ttg.memdesc<4x64x64xbf16, #tmem1, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<shared>
    %g1 = tlx.reuse_group(%g0, %alpha, %l, %m) group_kind = distinct : (!tlx.reuse_group<shared>, !ttg.memdesc<2x64x2xf32, #tmem2, #ttng.tensor_memory, mutable>, !ttg.memdesc<2x64x2xf32, #tmem2, #ttng.tensor_memory, mutable>, !ttg.memdesc<2x64x2xf32, #tmem2, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<distinct>
    %g2 = tlx.reuse_group(%qk, %g1) group_kind = shared : (!ttg.memdesc<2x64x128xf32, #tmem, #ttng.tensor_memory, mutable>, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g2) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c3_i32 = arith.constant 3 : i32
    // CHECK: ttg.memdesc_index %qk[%c0_i32]
    %one0 = ttg.memdesc_index %qk[%c0_i32] : !ttg.memdesc<2x64x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<64x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<64x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %qk[%c1_i32]
    %one1 = ttg.memdesc_index %qk[%c1_i32] : !ttg.memdesc<2x64x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<64x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<64x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c0_i32]
    %one2 = ttg.memdesc_index %p[%c0_i32] : !ttg.memdesc<4x64x64xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<64x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<64x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c1_i32]
    %one3 = ttg.memdesc_index %p[%c1_i32] : !ttg.memdesc<4x64x64xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<64x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<64x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c4_i32]
    %one4 = ttg.memdesc_index %p[%c2_i32] : !ttg.memdesc<4x64x64xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<64x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<64x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c5_i32]
    %one5 = ttg.memdesc_index %p[%c3_i32] : !ttg.memdesc<4x64x64xbf16, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<64x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<64x64xbf16, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %alpha[%c32_i32]
    %one6 = ttg.memdesc_index %alpha[%c0_i32] : !ttg.memdesc<2x64x2xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one6 : !ttg.memdesc<64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %alpha[%c96_i32]
    %one7 = ttg.memdesc_index %alpha[%c1_i32] : !ttg.memdesc<2x64x2xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one7 : !ttg.memdesc<64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %l[%c33_i32]
    %one8 = ttg.memdesc_index %l[%c0_i32] : !ttg.memdesc<2x64x2xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one8 : !ttg.memdesc<64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %l[%c97_i32]
    %one9 = ttg.memdesc_index %l[%c1_i32] : !ttg.memdesc<2x64x2xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one9 : !ttg.memdesc<64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %m[%c34_i32]
    %one10 = ttg.memdesc_index %m[%c0_i32] : !ttg.memdesc<2x64x2xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one10 : !ttg.memdesc<64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %m[%c98_i32]
    %one11 = ttg.memdesc_index %m[%c1_i32] : !ttg.memdesc<2x64x2xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one11 : !ttg.memdesc<64x2xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 13: a sub-tile stays out of its distinct neighbour.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#tmem1 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
!spec = !tlx.storage_alias_spec<tmem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @sub_tiles_stay_apart
  // CHECK: %region = ttng.tmem_alloc : () -> !ttg.memdesc<128x256xi32
  tt.func @sub_tiles_stay_apart() {
    %region = tlx.storage_alias_spec storage = tmem : !spec
    // CHECK: %qk = tlx.local_alias %region {{.*}}-> !ttg.memdesc<2x128x128xf32,
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %p = tlx.local_alias %region {{.*}}-> !ttg.memdesc<10x128x64xf8E5M2,
    %p = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<4x128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %x = tlx.local_alias %region {{.*}}-> !ttg.memdesc<4x128x64xf32,
    %x = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x64xf32, #tmem1, #ttng.tensor_memory, mutable>
    %g0 = tlx.reuse_group(%p) group_kind = shared, group_size = 2 : (!ttg.memdesc<4x128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<shared>
    %g1 = tlx.reuse_group(%g0, %x) group_kind = distinct : (!tlx.reuse_group<shared>, !ttg.memdesc<2x128x64xf32, #tmem1, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<distinct>
    %g2 = tlx.reuse_group(%qk, %g1) group_kind = shared : (!ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g2) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c3_i32 = arith.constant 3 : i32
    // CHECK: ttg.memdesc_index %qk[%c0_i32]
    %one0 = ttg.memdesc_index %qk[%c0_i32] : !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %qk[%c1_i32]
    %one1 = ttg.memdesc_index %qk[%c1_i32] : !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c0_i32]
    %one2 = ttg.memdesc_index %p[%c0_i32] : !ttg.memdesc<4x128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c1_i32]
    %one3 = ttg.memdesc_index %p[%c1_i32] : !ttg.memdesc<4x128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c8_i32]
    %one4 = ttg.memdesc_index %p[%c2_i32] : !ttg.memdesc<4x128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c9_i32]
    %one5 = ttg.memdesc_index %p[%c3_i32] : !ttg.memdesc<4x128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<128x64xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %x[%c1_i32]
    %one6 = ttg.memdesc_index %x[%c0_i32] : !ttg.memdesc<2x128x64xf32, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xf32, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one6 : !ttg.memdesc<128x64xf32, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %x[%c3_i32]
    %one7 = ttg.memdesc_index %x[%c1_i32] : !ttg.memdesc<2x128x64xf32, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xf32, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one7 : !ttg.memdesc<128x64xf32, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 14: flash attention backward with pairs of CTAs. Halves of a pair take half the columns.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#tmem1 = #ttng.tensor_memory_encoding<blockM = 64, blockN = 128, colStride = 1, ctaMode = twocta_rhs>
#tmem2 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
!spec = !tlx.storage_alias_spec<tmem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @fa_backward_pair
  // CHECK: %region = ttng.tmem_alloc : () -> !ttg.memdesc<128x128xi32
  tt.func @fa_backward_pair() {
    %region = tlx.storage_alias_spec storage = tmem : !spec
    // CHECK: %qk = tlx.local_alias %region {{.*}}-> !ttg.memdesc<1x128x128xf32,
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %p = tlx.local_alias %region {{.*}}-> !ttg.memdesc<1x128x128xbf16,
    %p = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x128xbf16, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %dq = tlx.local_alias %region {{.*}}-> !ttg.memdesc<2x64x128xf32,
    %dq = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x64x128xf32, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %dq_view = tlx.local_alias %region {{.*}}-> !ttg.memdesc<2x128x64xf32,
    %dq_view = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x64xf32, #tmem2, #ttng.tensor_memory, mutable>
    %g0 = tlx.reuse_group(%dq, %dq_view) group_kind = shared : (!ttg.memdesc<1x64x128xf32, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x64xf32, #tmem2, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<shared>
    %g1 = tlx.reuse_group(%p, %g0) group_kind = distinct : (!ttg.memdesc<1x128x128xbf16, #tmem, #ttng.tensor_memory, mutable>, !tlx.reuse_group<shared>) -> !tlx.reuse_group<distinct>
    %g2 = tlx.reuse_group(%qk, %g1) group_kind = shared : (!ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g2) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0_i32 = arith.constant 0 : i32
    // CHECK: ttg.memdesc_index %qk[%c0_i32]
    %one0 = ttg.memdesc_index %qk[%c0_i32] : !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c0_i32]
    %one1 = ttg.memdesc_index %p[%c0_i32] : !ttg.memdesc<1x128x128xbf16, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xbf16, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x128xbf16, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %dq[%c1_i32]
    %one2 = ttg.memdesc_index %dq[%c0_i32] : !ttg.memdesc<1x64x128xf32, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<64x128xf32, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<64x128xf32, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %dq_view[%c1_i32]
    %one3 = ttg.memdesc_index %dq_view[%c0_i32] : !ttg.memdesc<1x128x64xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<128x64xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 15: MXFP8 backward, all 512 columns as one region.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#tmem1 = #ttng.tensor_memory_scales_encoding<>
!spec = !tlx.storage_alias_spec<tmem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @mxfp8_map
  // CHECK: %region = ttng.tmem_alloc : () -> !ttg.memdesc<128x512xi32
  tt.func @mxfp8_map() {
    %region = tlx.storage_alias_spec storage = tmem : !spec
    // CHECK: %qk = tlx.local_alias %region {{.*}}-> !ttg.memdesc<1x128x128xf32,
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %p = tlx.local_alias %region {{.*}}-> !ttg.memdesc<1x128x128xf8E4M3FN,
    %p = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x128xf8E4M3FN, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %late0 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<9x128x4xi8,
    %late0 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %late1 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<10x128x4xi8,
    %late1 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %late2 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<11x128x4xi8,
    %late2 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %late3 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<12x128x4xi8,
    %late3 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %late4 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<13x128x4xi8,
    %late4 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %late5 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<14x128x4xi8,
    %late5 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %dv = tlx.local_alias %region {{.*}}-> !ttg.memdesc<2x128x128xf32,
    %dv = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %dp = tlx.local_alias %region {{.*}}-> !ttg.memdesc<3x128x128xf32,
    %dp = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %dq = tlx.local_alias %region {{.*}}-> !ttg.memdesc<3x128x128xf32,
    %dq = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %ds = tlx.local_alias %region {{.*}}-> !ttg.memdesc<9x128x128xf8E4M3FN,
    %ds = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x128xf8E4M3FN, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %dss0 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<73x128x4xi8,
    %dss0 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %dss1 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<74x128x4xi8,
    %dss1 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %dss2 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<75x128x4xi8,
    %dss2 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %dss3 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<76x128x4xi8,
    %dss3 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %dk = tlx.local_alias %region {{.*}}-> !ttg.memdesc<4x128x128xf32,
    %dk = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %early0 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<97x128x4xi8,
    %early0 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %early1 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<98x128x4xi8,
    %early1 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %early2 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<99x128x4xi8,
    %early2 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %early3 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<100x128x4xi8,
    %early3 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %early4 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<101x128x4xi8,
    %early4 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %early5 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<102x128x4xi8,
    %early5 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    %g0 = tlx.reuse_group(%p, %late0, %late1, %late2, %late3, %late4, %late5) group_kind = distinct : (!ttg.memdesc<1x128x128xf8E4M3FN, #tmem, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<distinct>
    %g1 = tlx.reuse_group(%qk, %g0) group_kind = shared : (!ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    %g2 = tlx.reuse_group(%ds, %dss0, %dss1, %dss2, %dss3) group_kind = distinct : (!ttg.memdesc<1x128x128xf8E4M3FN, #tmem, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<distinct>
    %g3 = tlx.reuse_group(%dp, %dq, %g2) group_kind = shared : (!ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    %g4 = tlx.reuse_group(%early0, %early1, %early2, %early3, %early4, %early5) group_kind = distinct : (!ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<distinct>
    %g5 = tlx.reuse_group(%dk, %g4) group_kind = shared : (!ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    %g6 = tlx.reuse_group(%g1, %dv, %g3, %g5) group_kind = distinct : (!tlx.reuse_group<shared>, !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !tlx.reuse_group<shared>, !tlx.reuse_group<shared>) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%region, %g6) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %c0_i32 = arith.constant 0 : i32
    // CHECK: ttg.memdesc_index %qk[%c0_i32]
    %one0 = ttg.memdesc_index %qk[%c0_i32] : !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c0_i32]
    %one1 = ttg.memdesc_index %p[%c0_i32] : !ttg.memdesc<1x128x128xf8E4M3FN, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf8E4M3FN, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x128xf8E4M3FN, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %late0[%c8_i32]
    %one2 = ttg.memdesc_index %late0[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %late1[%c9_i32]
    %one3 = ttg.memdesc_index %late1[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %late2[%c10_i32]
    %one4 = ttg.memdesc_index %late2[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %late3[%c11_i32]
    %one5 = ttg.memdesc_index %late3[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %late4[%c12_i32]
    %one6 = ttg.memdesc_index %late4[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one6 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %late5[%c13_i32]
    %one7 = ttg.memdesc_index %late5[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one7 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %dv[%c1_i32]
    %one8 = ttg.memdesc_index %dv[%c0_i32] : !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one8 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %dp[%c2_i32]
    %one9 = ttg.memdesc_index %dp[%c0_i32] : !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one9 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %dq[%c2_i32]
    %one10 = ttg.memdesc_index %dq[%c0_i32] : !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one10 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %ds[%c8_i32]
    %one11 = ttg.memdesc_index %ds[%c0_i32] : !ttg.memdesc<1x128x128xf8E4M3FN, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf8E4M3FN, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one11 : !ttg.memdesc<128x128xf8E4M3FN, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %dss0[%c72_i32]
    %one12 = ttg.memdesc_index %dss0[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one12 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %dss1[%c73_i32]
    %one13 = ttg.memdesc_index %dss1[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one13 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %dss2[%c74_i32]
    %one14 = ttg.memdesc_index %dss2[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one14 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %dss3[%c75_i32]
    %one15 = ttg.memdesc_index %dss3[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one15 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %dk[%c3_i32]
    %one16 = ttg.memdesc_index %dk[%c0_i32] : !ttg.memdesc<1x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one16 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %early0[%c96_i32]
    %one17 = ttg.memdesc_index %early0[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one17 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %early1[%c97_i32]
    %one18 = ttg.memdesc_index %early1[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one18 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %early2[%c98_i32]
    %one19 = ttg.memdesc_index %early2[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one19 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %early3[%c99_i32]
    %one20 = ttg.memdesc_index %early3[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one20 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %early4[%c100_i32]
    %one21 = ttg.memdesc_index %early4[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one21 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %early5[%c101_i32]
    %one22 = ttg.memdesc_index %early5[%c0_i32] : !ttg.memdesc<1x128x4xi8, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one22 : !ttg.memdesc<128x4xi8, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 17, two logical buffers: 384 columns are three tiles of 128.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
!spec = !tlx.storage_alias_spec<tmem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @three_tiles
  // CHECK: %region = ttng.tmem_alloc : () -> !ttg.memdesc<3x128x128xi32
  tt.func @three_tiles() {
    %region = tlx.storage_alias_spec storage = tmem : !spec
    // CHECK: %a = tlx.local_alias %region {{.*}}-> !ttg.memdesc<4x128x64xf32,
    %a = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x64xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %p = tlx.local_alias %region {{.*}}-> !ttg.memdesc<12x128x64xbf16,
    %p = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<8x128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    %g0 = tlx.reuse_group(%p) group_kind = shared, group_size = 4 : (!ttg.memdesc<8x128x64xbf16, #tmem, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<shared>
    %g1 = tlx.reuse_group(%a, %g0) group_kind = distinct : (!ttg.memdesc<2x128x64xf32, #tmem, #ttng.tensor_memory, mutable>, !tlx.reuse_group<shared>) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%region, %g1) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c3_i32 = arith.constant 3 : i32
    %c4_i32 = arith.constant 4 : i32
    %c5_i32 = arith.constant 5 : i32
    %c6_i32 = arith.constant 6 : i32
    %c7_i32 = arith.constant 7 : i32
    // CHECK: ttg.memdesc_index %a[%c0_i32]
    %one0 = ttg.memdesc_index %a[%c0_i32] : !ttg.memdesc<2x128x64xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %a[%c3_i32]
    %one1 = ttg.memdesc_index %a[%c1_i32] : !ttg.memdesc<2x128x64xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c2_i32]
    %one2 = ttg.memdesc_index %p[%c0_i32] : !ttg.memdesc<8x128x64xbf16, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c3_i32]
    %one3 = ttg.memdesc_index %p[%c1_i32] : !ttg.memdesc<8x128x64xbf16, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c4_i32]
    %one4 = ttg.memdesc_index %p[%c2_i32] : !ttg.memdesc<8x128x64xbf16, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c5_i32]
    %one5 = ttg.memdesc_index %p[%c3_i32] : !ttg.memdesc<8x128x64xbf16, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c8_i32]
    %one6 = ttg.memdesc_index %p[%c4_i32] : !ttg.memdesc<8x128x64xbf16, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one6 : !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c9_i32]
    %one7 = ttg.memdesc_index %p[%c5_i32] : !ttg.memdesc<8x128x64xbf16, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one7 : !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c10_i32]
    %one8 = ttg.memdesc_index %p[%c6_i32] : !ttg.memdesc<8x128x64xbf16, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one8 : !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c11_i32]
    %one9 = ttg.memdesc_index %p[%c7_i32] : !ttg.memdesc<8x128x64xbf16, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one9 : !ttg.memdesc<128x64xbf16, #tmem, #ttng.tensor_memory, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 19: sub-tiles of sub-tiles.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#tmem1 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 32, colStride = 1>
#tmem2 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 1, colStride = 1>
!spec = !tlx.storage_alias_spec<tmem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @nested_sub_tiles
  // CHECK: %region = ttng.tmem_alloc : () -> !ttg.memdesc<128x256xi32
  tt.func @nested_sub_tiles() {
    %region = tlx.storage_alias_spec storage = tmem : !spec
    // CHECK: %qk = tlx.local_alias %region {{.*}}-> !ttg.memdesc<2x128x128xf32,
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: %p = tlx.local_alias %region {{.*}}-> !ttg.memdesc<21x128x32xf8E5M2,
    %p = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<8x128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: %s = tlx.local_alias %region {{.*}}-> !ttg.memdesc<169x128x1xf32,
    %s = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<4x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    %g0 = tlx.reuse_group(%p) group_kind = shared, group_size = 2 : (!ttg.memdesc<8x128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<shared>
    %g1 = tlx.reuse_group(%g0, %s) group_kind = distinct : (!tlx.reuse_group<shared>, !ttg.memdesc<4x128x1xf32, #tmem2, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<distinct>
    %g2 = tlx.reuse_group(%g1) group_kind = shared, group_size = 2 : (!tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    %g3 = tlx.reuse_group(%qk, %g2) group_kind = shared : (!ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !tlx.reuse_group<shared>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g3) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c3_i32 = arith.constant 3 : i32
    %c4_i32 = arith.constant 4 : i32
    %c5_i32 = arith.constant 5 : i32
    %c6_i32 = arith.constant 6 : i32
    %c7_i32 = arith.constant 7 : i32
    // CHECK: ttg.memdesc_index %qk[%c0_i32]
    %one0 = ttg.memdesc_index %qk[%c0_i32] : !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %qk[%c1_i32]
    %one1 = ttg.memdesc_index %qk[%c1_i32] : !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c0_i32]
    %one2 = ttg.memdesc_index %p[%c0_i32] : !ttg.memdesc<8x128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c1_i32]
    %one3 = ttg.memdesc_index %p[%c1_i32] : !ttg.memdesc<8x128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c3_i32]
    %one4 = ttg.memdesc_index %p[%c2_i32] : !ttg.memdesc<8x128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c4_i32]
    %one5 = ttg.memdesc_index %p[%c3_i32] : !ttg.memdesc<8x128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c16_i32]
    %one6 = ttg.memdesc_index %p[%c4_i32] : !ttg.memdesc<8x128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one6 : !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c17_i32]
    %one7 = ttg.memdesc_index %p[%c5_i32] : !ttg.memdesc<8x128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one7 : !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c19_i32]
    %one8 = ttg.memdesc_index %p[%c6_i32] : !ttg.memdesc<8x128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one8 : !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %p[%c20_i32]
    %one9 = ttg.memdesc_index %p[%c7_i32] : !ttg.memdesc<8x128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one9 : !ttg.memdesc<128x32xf8E5M2, #tmem1, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %s[%c16_i32]
    %one10 = ttg.memdesc_index %s[%c0_i32] : !ttg.memdesc<4x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one10 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %s[%c40_i32]
    %one11 = ttg.memdesc_index %s[%c1_i32] : !ttg.memdesc<4x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one11 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %s[%c144_i32]
    %one12 = ttg.memdesc_index %s[%c2_i32] : !ttg.memdesc<4x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one12 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index %s[%c168_i32]
    %one13 = ttg.memdesc_index %s[%c3_i32] : !ttg.memdesc<4x128x1xf32, #tmem2, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    tlx.dump_layout %one13 : !ttg.memdesc<128x1xf32, #tmem2, #ttng.tensor_memory, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}
