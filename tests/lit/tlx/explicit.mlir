// RUN: tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering="placement=explicit record=false" | filecheck %s

// placement=explicit: buffers get addresses; types and indices stay as they were written.

// What re-indexing refuses (E6) is no problem: 24576 apart, 16384 in size.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!b = !ttg.memdesc<2x64x32xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @stride_and_size
  // CHECK: %spec = ttg.local_alloc : () -> !ttg.memdesc<49152xi8
  // CHECK: %a = tlx.placed_alias %spec offset = 0, radices = [], strides = [24576] : {{.*}} -> !ttg.memdesc<2x64x64xf32
  // CHECK: %b = tlx.placed_alias %spec offset = 16384, radices = [], strides = [24576] : {{.*}} -> !ttg.memdesc<2x64x32xf32
  // CHECK-NOT: arith
  // CHECK: ttg.memdesc_index %a[%i]
  tt.func @stride_and_size(%i: i32) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !b
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !b) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %x = ttg.memdesc_index %a[%i] : !a -> !one
    tt.return
  }
}

// -----

// Nor is an order that puts a large buffer behind a small one (E7).
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!big = !ttg.memdesc<2x128x64xf16, #shared, #smem, mutable>
!small = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @order
  // CHECK: %c = tlx.placed_alias %spec offset = 8192, radices = [], strides = [32768]
  // CHECK: %a = tlx.placed_alias %spec offset = 0, radices = [], strides = [32768]
  // CHECK: %b = tlx.placed_alias %spec offset = 24576, radices = [], strides = [32768]
  tt.func @order() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %c = tlx.storage_alias_local_alloc %spec : !spec -> !big
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !small
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !small
    %g = tlx.reuse_group(%a, %c, %b) group_kind = distinct : (!small, !big, !small) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// Sub-tiles (example 7): one radix, two strides.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!qk = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!p = !ttg.memdesc<4x64x32xf16, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @sub_tiles
  // CHECK: %qk = tlx.placed_alias %spec offset = 0, radices = [], strides = [16384]
  // CHECK: %p = tlx.placed_alias %spec offset = 0, radices = [2], strides = [4096, 16384] : {{.*}} -> !ttg.memdesc<4x64x32xf16
  tt.func @sub_tiles() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %qk = tlx.storage_alias_local_alloc %spec : !spec -> !qk
    %p = tlx.storage_alias_local_alloc %spec : !spec -> !p
    %pg = tlx.reuse_group(%p) group_kind = shared, group_size = 2 : (!p) -> !tlx.reuse_group<shared>
    %g = tlx.reuse_group(%qk, %pg) group_kind = shared : (!qk, !tlx.reuse_group<shared>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    tt.return
  }
}

// -----

// Moving alignment: y has to be at a multiple of 256 and comes behind 128 bytes. With the base itself
// at 128 modulo 256 nothing is lost: 384 bytes instead of 512.
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!x = !ttg.memdesc<1x64xf16, #flat, #smem, mutable>
!y = !ttg.memdesc<1x8x16xf16, #tile, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @residue
  // CHECK: %spec = ttg.local_alloc {alignment = 256 : i32, tlx.residue = 128 : i32} : () -> !ttg.memdesc<384xi8
  // CHECK: %x = tlx.placed_alias %spec offset = 0,
  // CHECK: %y = tlx.placed_alias %spec offset = 128,
  tt.func @residue() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %x = tlx.storage_alias_local_alloc %spec : !spec -> !x
    %y = tlx.storage_alias_local_alloc %spec : !spec -> !y
    %g = tlx.reuse_group(%x, %y) group_kind = distinct : (!x, !y) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// Outside of a tree a buffer starts at 0, and an ordinary alias says so.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @no_overlap
  // CHECK: %a = tlx.local_alias %spec : {{.*}} -> !ttg.memdesc<2x64x64xf32
  tt.func @no_overlap() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    tt.return
  }
}
