// RUN: tilewright-opt -split-input-file -keep-names -verify-diagnostics %s --tlx-storage-alias-lowering

// What may not be done to an array of buffers whose indices were rewritten: E8 to E12. What may be
// done is in propagation.mlir.

// E8 positive: something else than an allocation holds on to the spec.
!spec = !tlx.storage_alias_spec<smem>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module {
  tt.func private @helper(!spec)
  tt.func @spec_escapes() {
    // expected-error @+1 {{storage_alias_spec still has uses after allocation materialization}}
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
    tt.call @helper(%spec) : (!spec) -> ()
    tt.return
  }
}

// -----

// E8 negative: overlap definitions do not hold on to it.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @spec_stays() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    tt.return
  }
}

// -----

// E9 positive: half the size, so buffer 1 of the view would be in the middle of buffer 0.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!v = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
module {
  tt.func @view_of_other_size() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    // expected-error @+2 {{view changes the per-buffer size from 16384 to 8192; take the view after indexing}}
    // expected-note @+1 {{index the array first, then take the view of the one buffer}}
    %v = ttg.memdesc_reinterpret %b : !a -> !v
    tt.return
  }
}

// -----

// E9 negative: another element type of the same size, a view of one buffer, and an array whose
// indices stay as they are.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!i = !ttg.memdesc<2x64x64xi32, #shared, #smem, mutable>
!v = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
!half = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
module {
  tt.func @view_of_the_same_size(%k: i32) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %v = ttg.memdesc_reinterpret %b : !a -> !i
    %x = ttg.memdesc_index %v[%k] : !i -> !ttg.memdesc<64x64xi32, #shared, #smem, mutable>
    %y = ttg.memdesc_index %b[%k] : !a -> !one
    %z = ttg.memdesc_reinterpret %y : !one -> !half
    tt.return
  }
  tt.func @view_of_unmoved_array() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %v = ttg.memdesc_reinterpret %a : !a -> !v
    tt.return
  }
}

// -----

// E10 positive: behind the branch nobody knows which of the two it is.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @different_placements_meet(%c: i1) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    // expected-error @+2 {{buffers with different storage-alias placements join here}}
    // expected-note @+1 {{index the arrays before control flow joins, or pass the same array on all paths}}
    %x = scf.if %c -> (!a) {
      scf.yield %a : !a
    } else {
      scf.yield %b : !a
    }
    tt.return
  }
}

// -----

// E10 positive: nor may an ordinary buffer come along the same way.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @plain_buffer_meets(%c: i1) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %plain = ttg.local_alloc : () -> !a
    // expected-error @+2 {{buffers with different storage-alias placements join here}}
    // expected-note @+1 {{index the arrays before control flow joins}}
    cf.cond_br %c, ^bb1(%a : !a), ^bb1(%plain : !a)
  ^bb1(%x: !a):
    tt.return
  }
}

// -----

// E10 negative: the same array from both sides, and two that lie alike.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @same_placements_meet(%c: i1) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %d = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %over = tlx.reuse_group(%b, %d) group_kind = shared : (!a, !a) -> !tlx.reuse_group<shared>
    %g = tlx.reuse_group(%a, %over) group_kind = distinct : (!a, !tlx.reuse_group<shared>) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %x = scf.if %c -> (!a) {
      scf.yield %b : !a
    } else {
      scf.yield %d : !a
    }
    cf.cond_br %c, ^bb1(%b : !a), ^bb1(%x : !a)
  ^bb1(%y: !a):
    tt.return
  }
}

// -----

// E11 positive: a function does not know where its caller's buffers are.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module {
  tt.func private @helper(!a)
  tt.func @call_with_array() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    // expected-error @+1 {{storage-alias buffer crosses a call; inline the callee first}}
    tt.call @helper(%b) : (!a) -> ()
    tt.return
  }
}

// -----

// E11 negative: one buffer may go anywhere.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module {
  tt.func private @helper(!one)
  tt.func @call_with_one_buffer(%i: i32) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %one = ttg.memdesc_index %b[%i] : !a -> !one
    tt.call @helper(%one) : (!one) -> ()
    tt.return
  }
}

// -----

// E12 positive: a part of the array, all of it at once, or a value to return.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [2, 1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<4x64x64xf32, #shared, #smem, mutable>
!part = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable, 4x64x64>
module {
  tt.func @other_uses() -> !a {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    // expected-error @+2 {{unsupported use of a storage-alias buffer array}}
    // expected-note @+1 {{index the array first; a single buffer may be used anywhere}}
    %part = ttg.memdesc_subslice %b[2, 0, 0] : !a -> !part
    // expected-error @+2 {{unsupported use of a storage-alias buffer array}}
    // expected-note @+1 {{index the array first}}
    %t = ttg.memdesc_trans %a {order = array<i32: 1, 0, 2>} : !a -> !ttg.memdesc<64x4x64xf32, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [2, 0, 1]}>, #smem, mutable>
    // expected-error @+2 {{unsupported use of a storage-alias buffer array}}
    // expected-note @+1 {{index the array first}}
    tt.return %b : !a
  }
}

// -----

// E12 negative: transposed buffers, a part of one buffer, one buffer to return.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#turned = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<4x64x64xf32, #shared, #smem, mutable>
!t = !ttg.memdesc<4x64x64xf32, #turned, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module {
  tt.func @uses_of_one_buffer(%i: i32) -> !one {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %t = ttg.memdesc_trans %a {order = array<i32: 0, 2, 1>} : !a -> !t
    %x = ttg.memdesc_index %t[%i] : !t -> !ttg.memdesc<64x64xf32, #turned, #smem, mutable>
    %one = ttg.memdesc_index %b[%i] : !a -> !one
    %part = ttg.memdesc_subslice %one[32, 0] : !one -> !ttg.memdesc<32x64xf32, #shared, #smem, mutable, 64x64>
    tt.return %one : !one
  }
}

// -----

// E22 positive: behind the last buffer of one array lies another array, or nothing.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
!first = !ttg.memdesc<1x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @index_out_of_bounds() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !first
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = shared : (!first, !a) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    // expected-error @+1 {{index 1 is outside of 'a', which has 1 buffer}}
    %x = ttg.memdesc_index %a[%c1] : !first -> !one
    // expected-error @+1 {{index 2 is outside of 'b', which has 2 buffers}}
    %y = ttg.memdesc_index %b[%c2] : !a -> !one
    tt.return
  }
}

// -----

// E22 negative: the last buffer of both.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
!first = !ttg.memdesc<1x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @last_buffers() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !first
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = shared : (!first, !a) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<shared>) -> ()
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = ttg.memdesc_index %a[%c0] : !first -> !one
    %y = ttg.memdesc_index %b[%c1] : !a -> !one
    tt.return
  }
}
