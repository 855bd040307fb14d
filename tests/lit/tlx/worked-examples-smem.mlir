// RUN: tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering="record=false" --canonicalize | filecheck %s

// The worked examples of storage aliasing in shared memory: sizes, extents and the slot of every index.

// Example 1: without an overlap definition every buffer starts at 0 and keeps its type.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @no_overlap
  // CHECK: %region = ttg.local_alloc : () -> !ttg.memdesc<49152xi8
  tt.func @no_overlap() {
    %region = tlx.storage_alias_spec storage = smem : !spec
    // CHECK: %a = tlx.local_alias %region {{.*}}-> !ttg.memdesc<3x128x64xf16,
    %a = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
    // CHECK: %b = tlx.local_alias %region {{.*}}-> !ttg.memdesc<2x64x64xf32,
    %b = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    // CHECK: ttg.memdesc_index %a[%c0_i32]
    %one0 = ttg.memdesc_index %a[%c0_i32] : !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a[%c1_i32]
    %one1 = ttg.memdesc_index %a[%c1_i32] : !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a[%c2_i32]
    %one2 = ttg.memdesc_index %a[%c2_i32] : !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c0_i32]
    %one3 = ttg.memdesc_index %b[%c0_i32] : !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c1_i32]
    %one4 = ttg.memdesc_index %b[%c1_i32] : !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 2: shared, element sizes 4 and 1. The size is exact, not the next power of two.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @shared_ratio_four
  // CHECK: %region = ttg.local_alloc : () -> !ttg.memdesc<98304xi8
  tt.func @shared_ratio_four() {
    %region = tlx.storage_alias_spec storage = smem : !spec
    // CHECK: %a = tlx.local_alias %region {{.*}}-> !ttg.memdesc<3x128x64xf32,
    %a = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<3x128x64xf32, #shared, #smem, mutable>
    // CHECK: %b = tlx.local_alias %region {{.*}}-> !ttg.memdesc<9x128x64xf8E5M2,
    %b = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<3x128x64xf8E5M2, #shared, #smem, mutable>
    %g0 = tlx.reuse_group(%a, %b) group_kind = shared : (!ttg.memdesc<3x128x64xf32, #shared, #smem, mutable>, !ttg.memdesc<3x128x64xf8E5M2, #shared, #smem, mutable>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g0) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    // CHECK: ttg.memdesc_index %a[%c0_i32]
    %one0 = ttg.memdesc_index %a[%c0_i32] : !ttg.memdesc<3x128x64xf32, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf32, #shared, #smem, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x64xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a[%c1_i32]
    %one1 = ttg.memdesc_index %a[%c1_i32] : !ttg.memdesc<3x128x64xf32, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf32, #shared, #smem, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x64xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a[%c2_i32]
    %one2 = ttg.memdesc_index %a[%c2_i32] : !ttg.memdesc<3x128x64xf32, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf32, #shared, #smem, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<128x64xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c0_i32]
    %one3 = ttg.memdesc_index %b[%c0_i32] : !ttg.memdesc<3x128x64xf8E5M2, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf8E5M2, #shared, #smem, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<128x64xf8E5M2, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c4_i32]
    %one4 = ttg.memdesc_index %b[%c1_i32] : !ttg.memdesc<3x128x64xf8E5M2, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf8E5M2, #shared, #smem, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<128x64xf8E5M2, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c8_i32]
    %one5 = ttg.memdesc_index %b[%c2_i32] : !ttg.memdesc<3x128x64xf8E5M2, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf8E5M2, #shared, #smem, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<128x64xf8E5M2, #shared, #smem, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 3: distinct, the largest buffer first.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @distinct_largest_first
  // CHECK: %region = ttg.local_alloc : () -> !ttg.memdesc<65536xi8
  tt.func @distinct_largest_first() {
    %region = tlx.storage_alias_spec storage = smem : !spec
    // CHECK: %c = tlx.local_alias %region {{.*}}-> !ttg.memdesc<3x128x64xf16,
    %c = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x64xf16, #shared, #smem, mutable>
    // CHECK: %a = tlx.local_alias %region {{.*}}-> !ttg.memdesc<7x64x64xf16,
    %a = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
    // CHECK: %b = tlx.local_alias %region {{.*}}-> !ttg.memdesc<8x64x64xf16,
    %b = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
    %g0 = tlx.reuse_group(%c, %a, %b) group_kind = distinct : (!ttg.memdesc<2x128x64xf16, #shared, #smem, mutable>, !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>, !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%region, %g0) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    // CHECK: ttg.memdesc_index %c[%c0_i32]
    %one0 = ttg.memdesc_index %c[%c0_i32] : !ttg.memdesc<2x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %c[%c2_i32]
    %one1 = ttg.memdesc_index %c[%c1_i32] : !ttg.memdesc<2x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a[%c2_i32]
    %one2 = ttg.memdesc_index %a[%c0_i32] : !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a[%c6_i32]
    %one3 = ttg.memdesc_index %a[%c1_i32] : !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c3_i32]
    %one4 = ttg.memdesc_index %b[%c0_i32] : !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c7_i32]
    %one5 = ttg.memdesc_index %b[%c1_i32] : !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 4: siblings start at multiples of 128 bytes; y, 32 bytes, is padded.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @siblings_are_aligned
  // CHECK: %region = ttg.local_alloc : () -> !ttg.memdesc<1152xi8
  tt.func @siblings_are_aligned() {
    %region = tlx.storage_alias_spec storage = smem : !spec
    // CHECK: %x = tlx.local_alias %region {{.*}}-> !ttg.memdesc<7x32xf32,
    %x = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<3x32xf32, #shared, #smem, mutable>
    // CHECK: %y = tlx.local_alias %region {{.*}}-> !ttg.memdesc<29x8xf32,
    %y = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<3x8xf32, #shared, #smem, mutable>
    // CHECK: %z = tlx.local_alias %region {{.*}}-> !ttg.memdesc<9x16xi64,
    %z = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<3x16xi64, #shared, #smem, mutable>
    %g0 = tlx.reuse_group(%x, %y, %z) group_kind = distinct : (!ttg.memdesc<3x32xf32, #shared, #smem, mutable>, !ttg.memdesc<3x8xf32, #shared, #smem, mutable>, !ttg.memdesc<3x16xi64, #shared, #smem, mutable>) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%region, %g0) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    // CHECK: ttg.memdesc_index %x[%c0_i32]
    %one0 = ttg.memdesc_index %x[%c0_i32] : !ttg.memdesc<3x32xf32, #shared, #smem, mutable> -> !ttg.memdesc<32xf32, #shared, #smem, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<32xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %x[%c3_i32]
    %one1 = ttg.memdesc_index %x[%c1_i32] : !ttg.memdesc<3x32xf32, #shared, #smem, mutable> -> !ttg.memdesc<32xf32, #shared, #smem, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<32xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %x[%c6_i32]
    %one2 = ttg.memdesc_index %x[%c2_i32] : !ttg.memdesc<3x32xf32, #shared, #smem, mutable> -> !ttg.memdesc<32xf32, #shared, #smem, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<32xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %y[%c4_i32]
    %one3 = ttg.memdesc_index %y[%c0_i32] : !ttg.memdesc<3x8xf32, #shared, #smem, mutable> -> !ttg.memdesc<8xf32, #shared, #smem, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<8xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %y[%c16_i32]
    %one4 = ttg.memdesc_index %y[%c1_i32] : !ttg.memdesc<3x8xf32, #shared, #smem, mutable> -> !ttg.memdesc<8xf32, #shared, #smem, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<8xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %y[%c28_i32]
    %one5 = ttg.memdesc_index %y[%c2_i32] : !ttg.memdesc<3x8xf32, #shared, #smem, mutable> -> !ttg.memdesc<8xf32, #shared, #smem, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<8xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %z[%c2_i32]
    %one6 = ttg.memdesc_index %z[%c0_i32] : !ttg.memdesc<3x16xi64, #shared, #smem, mutable> -> !ttg.memdesc<16xi64, #shared, #smem, mutable>
    tlx.dump_layout %one6 : !ttg.memdesc<16xi64, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %z[%c5_i32]
    %one7 = ttg.memdesc_index %z[%c1_i32] : !ttg.memdesc<3x16xi64, #shared, #smem, mutable> -> !ttg.memdesc<16xi64, #shared, #smem, mutable>
    tlx.dump_layout %one7 : !ttg.memdesc<16xi64, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %z[%c8_i32]
    %one8 = ttg.memdesc_index %z[%c2_i32] : !ttg.memdesc<3x16xi64, #shared, #smem, mutable> -> !ttg.memdesc<16xi64, #shared, #smem, mutable>
    tlx.dump_layout %one8 : !ttg.memdesc<16xi64, #shared, #smem, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 5: three levels of groups.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @three_levels
  // CHECK: %region = ttg.local_alloc : () -> !ttg.memdesc<65536xi8
  tt.func @three_levels() {
    %region = tlx.storage_alias_spec storage = smem : !spec
    // CHECK: %big = tlx.local_alias %region {{.*}}-> !ttg.memdesc<2x128x64xf32,
    %big = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x64xf32, #shared, #smem, mutable>
    // CHECK: %u = tlx.local_alias %region {{.*}}-> !ttg.memdesc<3x128x64xf16,
    %u = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x64xf16, #shared, #smem, mutable>
    // CHECK: %v = tlx.local_alias %region {{.*}}-> !ttg.memdesc<7x64x32xf32,
    %v = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x64x32xf32, #shared, #smem, mutable>
    // CHECK: %w = tlx.local_alias %region {{.*}}-> !ttg.memdesc<7x64x64xf16,
    %w = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
    %g0 = tlx.reuse_group(%v, %w) group_kind = shared : (!ttg.memdesc<2x64x32xf32, #shared, #smem, mutable>, !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>) -> !tlx.reuse_group<shared>
    %g1 = tlx.reuse_group(%u, %g0) group_kind = distinct : (!ttg.memdesc<2x128x64xf16, #shared, #smem, mutable>, !tlx.reuse_group<shared>) -> !tlx.reuse_group<distinct>
    %g2 = tlx.reuse_group(%big, %g1) group_kind = shared : (!ttg.memdesc<2x128x64xf32, #shared, #smem, mutable>, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g2) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    // CHECK: ttg.memdesc_index %big[%c0_i32]
    %one0 = ttg.memdesc_index %big[%c0_i32] : !ttg.memdesc<2x128x64xf32, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf32, #shared, #smem, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x64xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %big[%c1_i32]
    %one1 = ttg.memdesc_index %big[%c1_i32] : !ttg.memdesc<2x128x64xf32, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf32, #shared, #smem, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x64xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %u[%c0_i32]
    %one2 = ttg.memdesc_index %u[%c0_i32] : !ttg.memdesc<2x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %u[%c2_i32]
    %one3 = ttg.memdesc_index %u[%c1_i32] : !ttg.memdesc<2x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %v[%c2_i32]
    %one4 = ttg.memdesc_index %v[%c0_i32] : !ttg.memdesc<2x64x32xf32, #shared, #smem, mutable> -> !ttg.memdesc<64x32xf32, #shared, #smem, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<64x32xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %v[%c6_i32]
    %one5 = ttg.memdesc_index %v[%c1_i32] : !ttg.memdesc<2x64x32xf32, #shared, #smem, mutable> -> !ttg.memdesc<64x32xf32, #shared, #smem, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<64x32xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %w[%c2_i32]
    %one6 = ttg.memdesc_index %w[%c0_i32] : !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one6 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %w[%c6_i32]
    %one7 = ttg.memdesc_index %w[%c1_i32] : !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one7 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 6: sub-tiles that fill their tile exactly keep their indices.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @packed_sub_tiles
  // CHECK: %region = ttg.local_alloc : () -> !ttg.memdesc<32768xi8
  tt.func @packed_sub_tiles() {
    %region = tlx.storage_alias_spec storage = smem : !spec
    // CHECK: %qk = tlx.local_alias %region {{.*}}-> !ttg.memdesc<2x64x64xf32,
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
    // CHECK: %p = tlx.local_alias %region {{.*}}-> !ttg.memdesc<4x64x64xf16,
    %p = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<4x64x64xf16, #shared, #smem, mutable>
    %g0 = tlx.reuse_group(%p) group_kind = shared, group_size = 2 : (!ttg.memdesc<4x64x64xf16, #shared, #smem, mutable>) -> !tlx.reuse_group<shared>
    %g1 = tlx.reuse_group(%qk, %g0) group_kind = shared : (!ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>, !tlx.reuse_group<shared>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g1) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c3_i32 = arith.constant 3 : i32
    // CHECK: ttg.memdesc_index %qk[%c0_i32]
    %one0 = ttg.memdesc_index %qk[%c0_i32] : !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %qk[%c1_i32]
    %one1 = ttg.memdesc_index %qk[%c1_i32] : !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %p[%c0_i32]
    %one2 = ttg.memdesc_index %p[%c0_i32] : !ttg.memdesc<4x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %p[%c1_i32]
    %one3 = ttg.memdesc_index %p[%c1_i32] : !ttg.memdesc<4x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %p[%c2_i32]
    %one4 = ttg.memdesc_index %p[%c2_i32] : !ttg.memdesc<4x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %p[%c3_i32]
    %one5 = ttg.memdesc_index %p[%c3_i32] : !ttg.memdesc<4x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 7: sub-tiles that leave room.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @sub_tiles_with_slack
  // CHECK: %region = ttg.local_alloc : () -> !ttg.memdesc<32768xi8
  tt.func @sub_tiles_with_slack() {
    %region = tlx.storage_alias_spec storage = smem : !spec
    // CHECK: %qk = tlx.local_alias %region {{.*}}-> !ttg.memdesc<2x64x64xf32,
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
    // CHECK: %p = tlx.local_alias %region {{.*}}-> !ttg.memdesc<6x64x32xf16,
    %p = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<4x64x32xf16, #shared, #smem, mutable>
    %g0 = tlx.reuse_group(%p) group_kind = shared, group_size = 2 : (!ttg.memdesc<4x64x32xf16, #shared, #smem, mutable>) -> !tlx.reuse_group<shared>
    %g1 = tlx.reuse_group(%qk, %g0) group_kind = shared : (!ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>, !tlx.reuse_group<shared>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g1) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c3_i32 = arith.constant 3 : i32
    // CHECK: ttg.memdesc_index %qk[%c0_i32]
    %one0 = ttg.memdesc_index %qk[%c0_i32] : !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %qk[%c1_i32]
    %one1 = ttg.memdesc_index %qk[%c1_i32] : !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %p[%c0_i32]
    %one2 = ttg.memdesc_index %p[%c0_i32] : !ttg.memdesc<4x64x32xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %p[%c1_i32]
    %one3 = ttg.memdesc_index %p[%c1_i32] : !ttg.memdesc<4x64x32xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %p[%c4_i32]
    %one4 = ttg.memdesc_index %p[%c2_i32] : !ttg.memdesc<4x64x32xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %p[%c5_i32]
    %one5 = ttg.memdesc_index %p[%c3_i32] : !ttg.memdesc<4x64x32xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 12: sub-tiles beside another buffer; the stride is no multiple of group size times tile.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @sub_tiles_beside
  // CHECK: %region = ttg.local_alloc : () -> !ttg.memdesc<49152xi8
  tt.func @sub_tiles_beside() {
    %region = tlx.storage_alias_spec storage = smem : !spec
    // CHECK: %a = tlx.local_alias %region {{.*}}-> !ttg.memdesc<4x64x64xf16,
    %a = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
    // CHECK: %p = tlx.local_alias %region {{.*}}-> !ttg.memdesc<6x64x64xf16,
    %p = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<4x64x64xf16, #shared, #smem, mutable>
    %g0 = tlx.reuse_group(%p) group_kind = shared, group_size = 2 : (!ttg.memdesc<4x64x64xf16, #shared, #smem, mutable>) -> !tlx.reuse_group<shared>
    %g1 = tlx.reuse_group(%a, %g0) group_kind = distinct : (!ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>, !tlx.reuse_group<shared>) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%region, %g1) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c3_i32 = arith.constant 3 : i32
    // CHECK: ttg.memdesc_index %a[%c0_i32]
    %one0 = ttg.memdesc_index %a[%c0_i32] : !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a[%c3_i32]
    %one1 = ttg.memdesc_index %a[%c1_i32] : !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %p[%c1_i32]
    %one2 = ttg.memdesc_index %p[%c0_i32] : !ttg.memdesc<4x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %p[%c2_i32]
    %one3 = ttg.memdesc_index %p[%c1_i32] : !ttg.memdesc<4x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %p[%c4_i32]
    %one4 = ttg.memdesc_index %p[%c2_i32] : !ttg.memdesc<4x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %p[%c5_i32]
    %one5 = ttg.memdesc_index %p[%c3_i32] : !ttg.memdesc<4x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 16: two fused GEMM phases with 2 and 3 buffers; the size is the farthest end.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @unequal_counts
  // CHECK: %region = ttg.local_alloc : () -> !ttg.memdesc<163840xi8
  tt.func @unequal_counts() {
    %region = tlx.storage_alias_spec storage = smem : !spec
    // CHECK: %a0 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<3x128x128xf16,
    %a0 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x128xf16, #shared, #smem, mutable>
    // CHECK: %b0 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<4x128x128xf16,
    %b0 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<2x128x128xf16, #shared, #smem, mutable>
    // CHECK: %a2 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<9x128x64xbf16,
    %a2 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<3x128x64xbf16, #shared, #smem, mutable>
    // CHECK: %b2 = tlx.local_alias %region {{.*}}-> !ttg.memdesc<10x64x128xbf16,
    %b2 = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<3x64x128xbf16, #shared, #smem, mutable>
    %g0 = tlx.reuse_group(%a0, %b0) group_kind = distinct : (!ttg.memdesc<2x128x128xf16, #shared, #smem, mutable>, !ttg.memdesc<2x128x128xf16, #shared, #smem, mutable>) -> !tlx.reuse_group<distinct>
    %g1 = tlx.reuse_group(%a2, %b2) group_kind = distinct : (!ttg.memdesc<3x128x64xbf16, #shared, #smem, mutable>, !ttg.memdesc<3x64x128xbf16, #shared, #smem, mutable>) -> !tlx.reuse_group<distinct>
    %g2 = tlx.reuse_group(%g0, %g1) group_kind = shared : (!tlx.reuse_group<distinct>, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g2) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    // CHECK: ttg.memdesc_index %a0[%c0_i32]
    %one0 = ttg.memdesc_index %a0[%c0_i32] : !ttg.memdesc<2x128x128xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x128xf16, #shared, #smem, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x128xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a0[%c2_i32]
    %one1 = ttg.memdesc_index %a0[%c1_i32] : !ttg.memdesc<2x128x128xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x128xf16, #shared, #smem, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x128xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b0[%c1_i32]
    %one2 = ttg.memdesc_index %b0[%c0_i32] : !ttg.memdesc<2x128x128xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x128xf16, #shared, #smem, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<128x128xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b0[%c3_i32]
    %one3 = ttg.memdesc_index %b0[%c1_i32] : !ttg.memdesc<2x128x128xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x128xf16, #shared, #smem, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<128x128xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a2[%c0_i32]
    %one4 = ttg.memdesc_index %a2[%c0_i32] : !ttg.memdesc<3x128x64xbf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xbf16, #shared, #smem, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<128x64xbf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a2[%c4_i32]
    %one5 = ttg.memdesc_index %a2[%c1_i32] : !ttg.memdesc<3x128x64xbf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xbf16, #shared, #smem, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<128x64xbf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a2[%c8_i32]
    %one6 = ttg.memdesc_index %a2[%c2_i32] : !ttg.memdesc<3x128x64xbf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xbf16, #shared, #smem, mutable>
    tlx.dump_layout %one6 : !ttg.memdesc<128x64xbf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b2[%c1_i32]
    %one7 = ttg.memdesc_index %b2[%c0_i32] : !ttg.memdesc<3x64x128xbf16, #shared, #smem, mutable> -> !ttg.memdesc<64x128xbf16, #shared, #smem, mutable>
    tlx.dump_layout %one7 : !ttg.memdesc<64x128xbf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b2[%c5_i32]
    %one8 = ttg.memdesc_index %b2[%c1_i32] : !ttg.memdesc<3x64x128xbf16, #shared, #smem, mutable> -> !ttg.memdesc<64x128xbf16, #shared, #smem, mutable>
    tlx.dump_layout %one8 : !ttg.memdesc<64x128xbf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b2[%c9_i32]
    %one9 = ttg.memdesc_index %b2[%c2_i32] : !ttg.memdesc<3x64x128xbf16, #shared, #smem, mutable> -> !ttg.memdesc<64x128xbf16, #shared, #smem, mutable>
    tlx.dump_layout %one9 : !ttg.memdesc<64x128xbf16, #shared, #smem, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 18: a ring of four stages, and the output tile in its place when it has drained.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @ring_and_epilogue
  // CHECK: %region = ttg.local_alloc : () -> !ttg.memdesc<131072xi8
  tt.func @ring_and_epilogue() {
    %region = tlx.storage_alias_spec storage = smem : !spec
    // CHECK: %a = tlx.local_alias %region {{.*}}-> !ttg.memdesc<7x128x64xf16,
    %a = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>
    // CHECK: %b = tlx.local_alias %region {{.*}}-> !ttg.memdesc<8x64x128xf16,
    %b = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<4x64x128xf16, #shared, #smem, mutable>
    // CHECK: %c = tlx.local_alias %region {{.*}}-> !ttg.memdesc<1x128x128xf32,
    %c = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x128xf32, #shared, #smem, mutable>
    %g0 = tlx.reuse_group(%a, %b) group_kind = distinct : (!ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, !ttg.memdesc<4x64x128xf16, #shared, #smem, mutable>) -> !tlx.reuse_group<distinct>
    %g1 = tlx.reuse_group(%g0) group_kind = shared, group_size = 4 : (!tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    %g2 = tlx.reuse_group(%g1, %c) group_kind = shared : (!tlx.reuse_group<shared>, !ttg.memdesc<1x128x128xf32, #shared, #smem, mutable>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g2) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c3_i32 = arith.constant 3 : i32
    // CHECK: ttg.memdesc_index %a[%c0_i32]
    %one0 = ttg.memdesc_index %a[%c0_i32] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a[%c2_i32]
    %one1 = ttg.memdesc_index %a[%c1_i32] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a[%c4_i32]
    %one2 = ttg.memdesc_index %a[%c2_i32] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a[%c6_i32]
    %one3 = ttg.memdesc_index %a[%c3_i32] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c1_i32]
    %one4 = ttg.memdesc_index %b[%c0_i32] : !ttg.memdesc<4x64x128xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c3_i32]
    %one5 = ttg.memdesc_index %b[%c1_i32] : !ttg.memdesc<4x64x128xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c5_i32]
    %one6 = ttg.memdesc_index %b[%c2_i32] : !ttg.memdesc<4x64x128xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    tlx.dump_layout %one6 : !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c7_i32]
    %one7 = ttg.memdesc_index %b[%c3_i32] : !ttg.memdesc<4x64x128xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    tlx.dump_layout %one7 : !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %c[%c0_i32]
    %one8 = ttg.memdesc_index %c[%c0_i32] : !ttg.memdesc<1x128x128xf32, #shared, #smem, mutable> -> !ttg.memdesc<128x128xf32, #shared, #smem, mutable>
    tlx.dump_layout %one8 : !ttg.memdesc<128x128xf32, #shared, #smem, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}

// -----

// Example 18, without the group of four: every stage is as large as the output tile.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @ring_without_group
  // CHECK: %region = ttg.local_alloc : () -> !ttg.memdesc<229376xi8
  tt.func @ring_without_group() {
    %region = tlx.storage_alias_spec storage = smem : !spec
    // CHECK: %a = tlx.local_alias %region {{.*}}-> !ttg.memdesc<13x128x64xf16,
    %a = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>
    // CHECK: %b = tlx.local_alias %region {{.*}}-> !ttg.memdesc<14x64x128xf16,
    %b = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<4x64x128xf16, #shared, #smem, mutable>
    // CHECK: %c = tlx.local_alias %region {{.*}}-> !ttg.memdesc<1x128x128xf32,
    %c = tlx.storage_alias_local_alloc %region : !spec -> !ttg.memdesc<1x128x128xf32, #shared, #smem, mutable>
    %g0 = tlx.reuse_group(%a, %b) group_kind = distinct : (!ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, !ttg.memdesc<4x64x128xf16, #shared, #smem, mutable>) -> !tlx.reuse_group<distinct>
    %g1 = tlx.reuse_group(%g0, %c) group_kind = shared : (!tlx.reuse_group<distinct>, !ttg.memdesc<1x128x128xf32, #shared, #smem, mutable>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %g1) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c3_i32 = arith.constant 3 : i32
    // CHECK: ttg.memdesc_index %a[%c0_i32]
    %one0 = ttg.memdesc_index %a[%c0_i32] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one0 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a[%c4_i32]
    %one1 = ttg.memdesc_index %a[%c1_i32] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one1 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a[%c8_i32]
    %one2 = ttg.memdesc_index %a[%c2_i32] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one2 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %a[%c12_i32]
    %one3 = ttg.memdesc_index %a[%c3_i32] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    tlx.dump_layout %one3 : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c1_i32]
    %one4 = ttg.memdesc_index %b[%c0_i32] : !ttg.memdesc<4x64x128xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    tlx.dump_layout %one4 : !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c5_i32]
    %one5 = ttg.memdesc_index %b[%c1_i32] : !ttg.memdesc<4x64x128xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    tlx.dump_layout %one5 : !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c9_i32]
    %one6 = ttg.memdesc_index %b[%c2_i32] : !ttg.memdesc<4x64x128xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    tlx.dump_layout %one6 : !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %b[%c13_i32]
    %one7 = ttg.memdesc_index %b[%c3_i32] : !ttg.memdesc<4x64x128xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    tlx.dump_layout %one7 : !ttg.memdesc<64x128xf16, #shared, #smem, mutable>
    // CHECK: ttg.memdesc_index %c[%c0_i32]
    %one8 = ttg.memdesc_index %c[%c0_i32] : !ttg.memdesc<1x128x128xf32, #shared, #smem, mutable> -> !ttg.memdesc<128x128xf32, #shared, #smem, mutable>
    tlx.dump_layout %one8 : !ttg.memdesc<128x128xf32, #shared, #smem, mutable>
    // CHECK-NOT: tlx.reuse_group
    // CHECK-NOT: tlx.set_buffer_overlap
    tt.return
  }
}
