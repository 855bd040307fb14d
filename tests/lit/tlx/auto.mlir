// RUN: tilewright-opt -split-input-file -keep-names -verify-diagnostics %s --tlx-storage-alias-lowering="placement=auto"
// RUN: tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering="placement=auto record=false" 2>%t | filecheck %s

// placement=auto: by index where that is possible, by address where not, and then it says so.

#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!b = !ttg.memdesc<2x64x32xf32, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @by_address
  // CHECK: %a = tlx.placed_alias %spec offset = 0, radices = [], strides = [24576]
  // CHECK: %b = tlx.placed_alias %spec offset = 16384, radices = [], strides = [24576]
  tt.func @by_address() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    // expected-remark @+1 {{indices cannot be rewritten here (units_between_buffer_groups (24576) must be a multiple of the original buffer size (16384)); placed by address instead}}
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !b
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !b) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
  // CHECK-LABEL: tt.func @by_index
  // CHECK: %c = tlx.local_alias %other : {{.*}} -> !ttg.memdesc<3x64x64xf32
  tt.func @by_index() {
    %other = tlx.storage_alias_spec storage = smem : !spec
    %c = tlx.storage_alias_local_alloc %other : !spec -> !a
    %d = tlx.storage_alias_local_alloc %other : !spec -> !a
    %h = tlx.reuse_group(%c, %d) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%other, %h) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}
