// RUN: tilewright-opt -split-input-file -keep-names -verify-diagnostics %s --tlx-storage-alias-lowering="multi-overlap=true"
// RUN: not tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering="multi-overlap=true record=false" 2>%t | filecheck %s

// multi-overlap=true: several definitions over one spec, for kernels fused from parts.

// E4 negative, E20 negative: example 16 in two phases, one after the other. Each has its own stride, and the region is as large as the larger one.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a0 = !ttg.memdesc<2x128x128xf16, #shared, #smem, mutable>
!a2 = !ttg.memdesc<3x128x64xbf16, #shared, #smem, mutable>
!b2 = !ttg.memdesc<3x64x128xbf16, #shared, #smem, mutable>
!one0 = !ttg.memdesc<128x128xf16, #shared, #smem, mutable>
!one2 = !ttg.memdesc<128x64xbf16, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @two_phases
  // CHECK: ttg.local_alloc : () -> !ttg.memdesc<131072xi8
  // CHECK: %a0 = tlx.local_alias {{.*}} -> !ttg.memdesc<3x128x128xf16
  // CHECK: %b0 = tlx.local_alias {{.*}} -> !ttg.memdesc<4x128x128xf16
  // CHECK: %a2 = tlx.local_alias {{.*}} -> !ttg.memdesc<5x128x64xbf16
  // CHECK: %b2 = tlx.local_alias {{.*}} -> !ttg.memdesc<6x64x128xbf16
  tt.func @two_phases(%i: i32, %n: i32, %c0: i32, %c1: i32) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a0 = tlx.storage_alias_local_alloc %spec : !spec -> !a0
    %b0 = tlx.storage_alias_local_alloc %spec : !spec -> !a0
    %a2 = tlx.storage_alias_local_alloc %spec : !spec -> !a2
    %b2 = tlx.storage_alias_local_alloc %spec : !spec -> !b2
    %g = tlx.reuse_group(%a0, %b0) group_kind = distinct : (!a0, !a0) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> () {phase = "first"}
    %h = tlx.reuse_group(%a2, %b2) group_kind = distinct : (!a2, !b2) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %h) : (!spec, !tlx.reuse_group<distinct>) -> () {phase = "second"}
    scf.for %k = %c0 to %n step %c1 : i32 {
      %x = ttg.memdesc_index %a0[%k] : !a0 -> !one0
      tlx.dump_layout %x : !one0
    }
    scf.for %k = %c0 to %n step %c1 : i32 {
      %x = ttg.memdesc_index %a2[%k] : !a2 -> !one2
      tlx.dump_layout %x : !one2
    }
    tt.return
  }
}

// -----

// E20 positive: both are touched in one loop, so neither may lie over the other.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module {
  tt.func @live_together(%n: i32, %c0: i32, %c1: i32) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %x = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %y = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%x) group_kind = shared : (!a) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<shared>) -> () {phase = "a"}
    %h = tlx.reuse_group(%y) group_kind = shared : (!a) -> !tlx.reuse_group<shared>
    // expected-error @+1 {{'x' (phase a) and 'y' (phase b) are live at the same time but share bytes 0..16384}}
    tlx.set_buffer_overlap(%spec, %h) : (!spec, !tlx.reuse_group<shared>) -> () {phase = "b"}
    scf.for %k = %c0 to %n step %c1 : i32 {
      %u = ttg.memdesc_index %x[%k] : !a -> !one
      tlx.dump_layout %u : !one
      %v = ttg.memdesc_index %y[%k] : !a -> !one
      tlx.dump_layout %v : !one
    }
    tt.return
  }
}

// -----

// E4 negative, E19 negative: an anchor. %keep is in both phases and stays where the first one put it;
// %late goes to the first place beside it.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<1x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @anchor
  // CHECK: ttg.local_alloc : () -> !ttg.memdesc<32768xi8
  // CHECK: %early = tlx.local_alias {{.*}} -> !ttg.memdesc<1x64x64xf32
  // CHECK: %keep = tlx.local_alias {{.*}} -> !ttg.memdesc<2x64x64xf32
  // CHECK: %late = tlx.local_alias {{.*}} -> !ttg.memdesc<1x64x64xf32
  tt.func @anchor(%c0: i32) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %early = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %keep = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %late = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%early, %keep) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> () {phase = "a"}
    %h = tlx.reuse_group(%keep, %late) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %h) : (!spec, !tlx.reuse_group<distinct>) -> () {phase = "b"}
    %u = ttg.memdesc_index %early[%c0] : !a -> !one
    tlx.dump_layout %u : !one
    %v = ttg.memdesc_index %late[%c0] : !a -> !one
    tlx.dump_layout %v : !one
    tt.return
  }
}

// -----

// E19 positive: the second phase wants sharing buffers apart.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @anchors_contradict() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %x = tlx.storage_alias_local_alloc %spec : !spec -> !a
    // expected-error @+1 {{an earlier overlap definition fixed the placement 'y at 0, levels (inf,16384)', which this one contradicts}}
    %y = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%x, %y) group_kind = shared : (!a, !a) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<shared>) -> () {phase = "a"}
    %h = tlx.reuse_group(%x, %y) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %h) : (!spec, !tlx.reuse_group<distinct>) -> () {phase = "b"}
    tt.return
  }
}

// -----

// E4 positive: %keep repeats every 32768 bytes, and beside it are only 16384.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!big = !ttg.memdesc<2x128x64xf32, #shared, #smem, mutable>
module {
  tt.func @no_room_beside_anchor() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %x = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %keep = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %big = tlx.storage_alias_local_alloc %spec : !spec -> !big
    %g = tlx.reuse_group(%x, %keep) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> () {phase = "a"}
    // expected-error @+1 {{not enough space for distinct allocations: need 65536 bytes, have 32768 bytes}}
    %over = tlx.reuse_group(%big) group_kind = shared : (!big) -> !tlx.reuse_group<shared>
    %h = tlx.reuse_group(%keep, %over) group_kind = distinct : (!a, !tlx.reuse_group<shared>) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %h) : (!spec, !tlx.reuse_group<distinct>) -> () {phase = "b"}
    tt.return
  }
}
