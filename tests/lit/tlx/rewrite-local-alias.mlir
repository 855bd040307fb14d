// RUN: tilewright-opt -split-input-file -keep-names %s --tlx-rewrite-local-alias | filecheck %s

// One allocation for each class of aliases, and reinterpretations of it.

// Ties keep the allocation; an alias of an alias is a view of the same allocation.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!b = !ttg.memdesc<4x64x64xf16, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @tie
  // CHECK: %a = ttg.local_alloc : () -> !ttg.memdesc<2x64x64xf32
  // CHECK: %b = ttg.memdesc_reinterpret %a : {{.*}} -> !ttg.memdesc<4x64x64xf16
  // CHECK: %c = ttg.memdesc_reinterpret %a : {{.*}} -> !ttg.memdesc<2x64x64xf32
  // CHECK-NOT: tlx
  tt.func @tie() {
    %a = ttg.local_alloc : () -> !a
    %b = tlx.local_alias %a : !a -> !b
    %c = tlx.local_alias %b : !b -> !a
    tt.return
  }
}

// -----

// The largest wins, with the alignment of the strongest view; the old allocation becomes a view only
// where somebody else uses it.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!a = !ttg.memdesc<1x64x64xf16, #tile, #smem, mutable>
!b = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @grows
  // CHECK-NEXT: %[[NEW:.*]] = ttg.local_alloc {alignment = 1024 : i32} : () -> !ttg.memdesc<2x64x64xf32
  // CHECK-NEXT: %b = ttg.memdesc_reinterpret %[[NEW]] : {{.*}} -> !ttg.memdesc<2x64x64xf32
  // CHECK-NEXT: tt.return
  tt.func @grows() {
    %a = ttg.local_alloc : () -> !a
    %b = tlx.local_alias %a : !a -> !b
    tt.return
  }
  // CHECK-LABEL: tt.func @grows_with_user
  // CHECK: %[[NEW:.*]] = ttg.local_alloc {alignment = 1024 : i32} : () -> !ttg.memdesc<2x64x64xf32
  // CHECK: %a = ttg.memdesc_reinterpret %[[NEW]] : {{.*}} -> !ttg.memdesc<1x64x64xf16
  // CHECK: %b = ttg.memdesc_reinterpret %[[NEW]] : {{.*}} -> !ttg.memdesc<2x64x64xf32
  // CHECK: ttg.memdesc_index %a[
  tt.func @grows_with_user(%i: i32) {
    %a = ttg.local_alloc : () -> !a
    %b = tlx.local_alias %a : !a -> !b
    %x = ttg.memdesc_index %a[%i] : !a -> !ttg.memdesc<64x64xf16, #tile, #smem, mutable>
    tt.return
  }
}

// -----

// Rows: the widest view has 64 of them, another needs all 128, so whole columns are allocated.
#half = #ttng.tensor_memory_encoding<blockM = 64, blockN = 128, colStride = 1>
#full = #ttng.tensor_memory_encoding<blockM = 128, blockN = 32, colStride = 1>
!h = !ttg.memdesc<1x64x128xf32, #half, #ttng.tensor_memory, mutable>
!f = !ttg.memdesc<1x128x32xf32, #full, #ttng.tensor_memory, mutable>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @rows
  // CHECK: %[[NEW:.*]] = ttng.tmem_alloc : () -> !ttg.memdesc<128x128xi32
  // CHECK: %f = ttg.memdesc_reinterpret %[[NEW]] : {{.*}} -> !ttg.memdesc<1x128x32xf32
  tt.func @rows() {
    %h = ttng.tmem_alloc : () -> !h
    %f = tlx.local_alias %h : !h -> !f
    tt.return
  }
}

// -----

// 98304 bytes are no power of two: three rows of 32768, taken literally.
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!m = !ttg.memdesc<98304xi8, #flat, #smem, mutable>
!a = !ttg.memdesc<3x128x64xf32, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @any_number_of_bytes
  // CHECK-NEXT: %[[NEW:.*]] = ttg.local_alloc : () -> !ttg.memdesc<3x32768xi8
  // CHECK-NEXT: %a = ttg.memdesc_reinterpret %[[NEW]] : !ttg.memdesc<3x32768xi8, {{.*}} -> !ttg.memdesc<3x128x64xf32
  // CHECK-NEXT: tt.return
  tt.func @any_number_of_bytes() {
    %m = ttg.local_alloc : () -> !m
    %a = tlx.local_alias %m : !m -> !a
    tt.return
  }
}

// -----

// Nothing to do: extents of any kind are left alone.
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module {
  // CHECK-LABEL: tt.func @no_aliases
  // CHECK: ttg.local_alloc : () -> !ttg.memdesc<3xi64
  tt.func @no_aliases() {
    %bars = ttg.local_alloc : () -> !ttg.memdesc<3xi64, #flat, #smem, mutable>
    tt.return
  }
}
