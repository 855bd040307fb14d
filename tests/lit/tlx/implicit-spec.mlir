// RUN: tilewright-opt -split-input-file -keep-names -verify-diagnostics %s --tlx-storage-alias-lowering="implicit-spec=true report=true"
// RUN: not tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering="implicit-spec=true record=false" 2>%t | filecheck %s
// RUN: not tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering="implicit-spec=true" 2>%t > %t.once
// RUN: not tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering="implicit-spec=true" --tlx-storage-alias-lowering="implicit-spec=true" 2>%t > %t.twice
// RUN: diff %t.once %t.twice

// implicit-spec=true: reuse of a plain buffer becomes a spec. A second run changes nothing.

// The old form and the new one come to the same.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!b = !ttg.memdesc<3x64x64xf16, #tile, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @old_form
  // CHECK-NEXT: %[[M:.*]] = ttg.local_alloc {alignment = 1024 : i32} : () -> !ttg.memdesc<32768xi8
  // CHECK-NEXT: %a = tlx.local_alias %[[M]] : {{.*}} -> !ttg.memdesc<2x64x64xf32
  // CHECK-NEXT: %b = tlx.local_alias %[[M]] : {{.*}} -> !ttg.memdesc<3x64x64xf16
  // CHECK-NEXT: %c = tlx.local_alias %[[M]] : {{.*}} -> !ttg.memdesc<2x64x64xf32
  // CHECK-NEXT: tt.return
  tt.func @old_form() {
    %a = ttg.local_alloc : () -> !a
    // expected-warning @+2 {{reuse of the buffer 'a' is deprecated; allocate both from one storage_alias_spec and name it in reuse=}}
    // expected-note @+1 {{tlx.local_alias of an allocation becomes a second allocation from its spec}}
    %b = tlx.local_alias %a : !a -> !b
    // expected-warning @+2 {{reuse of the buffer 'b' is deprecated}}
    // expected-note @+1 {{becomes a second allocation}}
    %c = tlx.local_alias %b : !b -> !a
    tt.return
  }
  // CHECK-LABEL: tt.func @new_form
  // CHECK-NEXT: %[[M:.*]] = ttg.local_alloc {alignment = 1024 : i32} : () -> !ttg.memdesc<32768xi8
  // CHECK-NEXT: %a = tlx.local_alias %[[M]] : {{.*}} -> !ttg.memdesc<2x64x64xf32
  // CHECK-NEXT: %b = tlx.local_alias %[[M]] : {{.*}} -> !ttg.memdesc<3x64x64xf16
  // CHECK-NEXT: %c = tlx.local_alias %[[M]] : {{.*}} -> !ttg.memdesc<2x64x64xf32
  // CHECK-NEXT: tt.return
  tt.func @new_form() {
    // expected-warning @+1 {{storage_alias_spec has no overlap definition; its 3 buffers all start at offset 0 and overlap each other}}
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !b
    %c = tlx.storage_alias_local_alloc %spec : !spec -> !a
    tt.return
  }
}

// -----

// An owner that is in a spec already: the newcomer joins it, outside of the tree.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!n = !ttg.memdesc<5x64x64xf32, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @joins
  // CHECK: ttg.local_alloc : () -> !ttg.memdesc<81920xi8
  // CHECK: %b = tlx.local_alias {{.*}} -> !ttg.memdesc<4x64x64xf32
  // CHECK: %n = tlx.local_alias {{.*}} -> !ttg.memdesc<5x64x64xf32
  tt.func @joins() {
    // expected-remark @+1 {{81920 bytes of shared memory: padding 0, dead 0}}
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    // expected-note @+1 {{this definition does not name the buffer}}
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    // expected-warning @+4 {{reuse of the buffer 'b' is deprecated}}
    // expected-note @+3 {{the buffer starts at offset 0 of the spec, whatever the offset of 'b'}}
    // expected-note @+2 {{becomes a second allocation}}
    // expected-warning @+1 {{allocation is not part of the spec's overlap definition}}
    %n = tlx.local_alias %b : !a -> !n
    tt.return
  }
}

// -----

// One buffer of an array cannot be given away.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module {
  tt.func @indexed(%i: i32) {
    %a = ttg.local_alloc : () -> !a
    %one = ttg.memdesc_index %a[%i] : !a -> !one
    // expected-error @+1 {{reuse= requires a whole allocation, got one buffer of an array}}
    %b = tlx.local_alias %one : !one -> !one
    tt.return
  }
}
