// RUN: tilewright-opt -split-input-file -keep-names -verify-diagnostics %s --tlx-storage-alias-lowering="infer-overlap=true"
// RUN: not tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering="infer-overlap=true record=false" 2>%t | filecheck %s
// RUN: tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering="record=false" | filecheck %s --check-prefix=OFF

// infer-overlap=true: groups say how their buffers lie, with or without a set_buffer_overlap.

// One root is the tree.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!p = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @one_root
  // CHECK: ttg.local_alloc : () -> !ttg.memdesc<65536xi8
  // CHECK: %a = tlx.local_alias {{.*}} -> !ttg.memdesc<3x64x64xf32
  // CHECK: %b = tlx.local_alias {{.*}} -> !ttg.memdesc<4x64x64xf32
  // CHECK: %p = tlx.local_alias {{.*}} -> !ttg.memdesc<7x64x64xf16
  // OFF-LABEL: tt.func @one_root
  // OFF: ttg.local_alloc : () -> !ttg.memdesc<32768xi8
  // OFF: %a = tlx.local_alias {{.*}} -> !ttg.memdesc<2x64x64xf32
  tt.func @one_root() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %p = tlx.storage_alias_local_alloc %spec : !spec -> !p
    %over = tlx.reuse_group(%b, %p) group_kind = shared : (!a, !p) -> !tlx.reuse_group<shared>
    %g = tlx.reuse_group(%a, %over) group_kind = distinct : (!a, !tlx.reuse_group<shared>) -> !tlx.reuse_group<distinct>
    tt.return
  }
}

// -----

// E21 negative: of several roots the one with most buffers is placed, and the others agree with it.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @roots_agree
  // CHECK: ttg.local_alloc : () -> !ttg.memdesc<98304xi8
  tt.func @roots_agree() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %c = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b, %c) group_kind = distinct : (!a, !a, !a) -> !tlx.reuse_group<distinct>
    %h = tlx.reuse_group(%c, %a) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tt.return
  }
}

// -----

// E21 positive: they do not agree.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @roots_contradict() {
    // expected-error @+1 {{reuse groups of this spec contradict each other: distinct(b, a) does not hold}}
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %c = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b, %c) group_kind = shared : (!a, !a, !a) -> !tlx.reuse_group<shared>
    %h = tlx.reuse_group(%b, %a) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tt.return
  }
}

// -----

// An explicit definition wins over what groups would say.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @explicit_wins
  // CHECK: ttg.local_alloc : () -> !ttg.memdesc<32768xi8
  tt.func @explicit_wins() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = shared : (!a, !a) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    %h = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tt.return
  }
}

// -----

// Groups of two specs: no region has them both.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @two_specs() {
    // expected-error @+1 {{all allocations in the reuse_group must reference the same storage_alias_spec, but found an allocation that uses a different spec}}
    %s = tlx.storage_alias_spec storage = smem : !spec
    // expected-error @+1 {{all allocations in the reuse_group must reference the same storage_alias_spec}}
    %t = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %s : !spec -> !a
    %b = tlx.storage_alias_local_alloc %t : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tt.return
  }
}

// -----

// Groups that were never used for anything go, whatever they said.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @idle_groups
  // CHECK-NOT: tlx.reuse_group
  // OFF-LABEL: tt.func @idle_groups
  // OFF-NOT: tlx.reuse_group
  tt.func @idle_groups() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = shared : (!a, !a) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    %h = tlx.reuse_group(%a) group_kind = shared : (!a) -> !tlx.reuse_group<shared>
    %i = tlx.reuse_group(%h, %b) group_kind = distinct : (!tlx.reuse_group<shared>, !a) -> !tlx.reuse_group<distinct>
    tt.return
  }
}
