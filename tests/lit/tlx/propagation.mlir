// RUN: tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering="record=false" | filecheck %s

// An array whose indices were rewritten, followed through everything that hands it on. In all cases
// %b is the second of two distinct buffers: four slots, index i becomes 2 * i + 1.

// Views of the whole array: same size of buffers, so the same slots.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#shared1 = #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 2, order = [1, 0]}>
#shared2 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!i = !ttg.memdesc<2x64x64xi32, #shared, #smem, mutable>
!r = !ttg.memdesc<2x64x64xi32, #shared1, #smem, mutable>
!t = !ttg.memdesc<2x64x64xi32, #shared2, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @views
  // CHECK: %b = tlx.local_alias {{.*}} -> !ttg.memdesc<4x64x64xf32
  // CHECK: %v = ttg.memdesc_reinterpret %b : {{.*}} -> !ttg.memdesc<4x64x64xi32
  // CHECK: %n = tlx.local_alias %v : {{.*}} -> !ttg.memdesc<4x64x64xi32
  // CHECK: %r = tlx.require_layout %n : {{.*}} -> !ttg.memdesc<4x64x64xi32
  // CHECK: %t = ttg.memdesc_trans %v {{.*}} -> !ttg.memdesc<4x64x64xi32
  // CHECK: %[[TWO:.*]] = arith.constant 2 : i32
  // CHECK: %[[SCALED:.*]] = arith.muli %k, %[[TWO]]
  // CHECK: %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK: %[[SLOT:.*]] = arith.addi %[[SCALED]], %[[ONE]]
  // CHECK: ttg.memdesc_index %r[%[[SLOT]]]
  // CHECK: arith.muli %k
  // CHECK: ttg.memdesc_index %t[
  tt.func @views(%k: i32) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %v = ttg.memdesc_reinterpret %b : !a -> !i
    %n = tlx.local_alias %v : !i -> !i
    %r = tlx.require_layout %n : !i -> !r
    %t = ttg.memdesc_trans %v {order = array<i32: 0, 2, 1>} : !i -> !t
    %x = ttg.memdesc_index %r[%k] : !r -> !ttg.memdesc<64x64xi32, #shared1, #smem, mutable>
    %y = ttg.memdesc_index %t[%k] : !t -> !ttg.memdesc<64x64xi32, #shared2, #smem, mutable>
    ttg.local_dealloc %b : !a
    tt.return
  }
}

// -----

// A capture is an argument of every partition, and the default region uses the value itself.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module attributes {"ttg.num-warps" = 4 : i32} {
  // CHECK-LABEL: tt.func @captures
  // CHECK: default {
  // CHECK: arith.muli %k
  // CHECK: ttg.memdesc_index %b[
  // CHECK: partition0(%p: !ttg.memdesc<4x64x64xf32{{[^:]*}}>, %{{.*}}: i32)
  // CHECK: arith.muli
  // CHECK: ttg.memdesc_index %p[
  // CHECK: partition1(%q: !ttg.memdesc<4x64x64xf32{{[^:]*}}>, %{{.*}}: i32)
  // CHECK-NOT: arith.muli
  // CHECK: } : (!ttg.memdesc<4x64x64xf32{{[^:]*}}>, i32) -> ()
  tt.func @captures(%k: i32) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    ttg.warp_specialize(%b, %k)
    default {
      %x = ttg.memdesc_index %b[%k] : !a -> !one
      ttg.warp_yield
    }
    partition0(%p: !a, %i: i32) num_warps(4) {
      %x = ttg.memdesc_index %p[%i] : !a -> !one
      ttg.warp_return
    }
    partition1(%q: !a, %i: i32) num_warps(4) {
      ttg.warp_return
    } : (!a, i32) -> ()
    tt.return
  }
}

// -----

// Loops: initial value, argument, next value and result are one chain.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @for_loop
  // CHECK: %r = scf.for {{.*}} iter_args(%x = %b) -> (!ttg.memdesc<4x64x64xf32
  // CHECK: arith.muli %k
  // CHECK: ttg.memdesc_index %x[
  // CHECK: scf.yield %x : !ttg.memdesc<4x64x64xf32
  // CHECK: arith.muli
  // CHECK: ttg.memdesc_index %r[
  tt.func @for_loop(%n: i32, %c0: i32, %c1: i32) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%x = %b) -> (!a) : i32 {
      %y = ttg.memdesc_index %x[%k] : !a -> !one
      scf.yield %x : !a
    }
    %z = ttg.memdesc_index %r[%c0] : !a -> !one
    tt.return
  }
  // CHECK-LABEL: tt.func @while_loop
  // CHECK: %r = scf.while (%x = %b) : (!ttg.memdesc<4x64x64xf32{{.*}}) -> !ttg.memdesc<4x64x64xf32
  // CHECK: scf.condition({{.*}}) %x : !ttg.memdesc<4x64x64xf32
  // CHECK: ^bb0(%y: !ttg.memdesc<4x64x64xf32
  // CHECK: ttg.memdesc_index %y[
  // CHECK: scf.yield %y : !ttg.memdesc<4x64x64xf32
  // CHECK: ttg.memdesc_index %r[
  tt.func @while_loop(%c: i1, %c0: i32) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %r = scf.while (%x = %b) : (!a) -> !a {
      scf.condition(%c) %x : !a
    } do {
    ^bb0(%y: !a):
      %u = ttg.memdesc_index %y[%c0] : !a -> !one
      scf.yield %y : !a
    }
    %z = ttg.memdesc_index %r[%c0] : !a -> !one
    tt.return
  }
}

// -----

// Branches: %b and %c have the same placement, one over the other, so they may meet.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @if_and_jump
  // CHECK: %x = scf.if %cond -> (!ttg.memdesc<4x64x64xf32
  // CHECK: scf.yield %b : !ttg.memdesc<4x64x64xf32
  // CHECK: scf.yield %c : !ttg.memdesc<4x64x64xf32
  // CHECK: cf.cond_br %cond, ^[[THEN:.*]](%x : !ttg.memdesc<4x64x64xf32{{.*}}), ^[[END:.*]]
  // CHECK: ^[[THEN]](%y: !ttg.memdesc<4x64x64xf32
  // CHECK: arith.muli %k
  // CHECK: ttg.memdesc_index %y[
  // CHECK: cf.br ^[[END]]
  tt.func @if_and_jump(%cond: i1, %k: i32) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %c = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %over = tlx.reuse_group(%b, %c) group_kind = shared : (!a, !a) -> !tlx.reuse_group<shared>
    %g = tlx.reuse_group(%a, %over) group_kind = distinct : (!a, !tlx.reuse_group<shared>) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %x = scf.if %cond -> (!a) {
      scf.yield %b : !a
    } else {
      scf.yield %c : !a
    }
    cf.cond_br %cond, ^bb1(%x : !a), ^bb2
  ^bb1(%y: !a):
    %z = ttg.memdesc_index %y[%k] : !a -> !one
    cf.br ^bb2
  ^bb2:
    tt.return
  }
}
