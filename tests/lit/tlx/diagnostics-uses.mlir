// RUN: tilewright-opt -split-input-file -keep-names -verify-diagnostics %s --tlx-storage-alias-lowering

// What may not be done to an array of buffers whose indices were rewritten: E8 to E12. What may be
// done is in propagation.mlir.

// E8: something else than an allocation holds on to the spec.
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

// E9: half the size, so buffer 1 of the view would be in the middle of buffer 0.
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
  // An array whose indices stay as they are may be viewed in any way.
  tt.func @view_of_unmoved_array() {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %v = ttg.memdesc_reinterpret %a : !a -> !v
    tt.return
  }
}

// -----

// E10: behind the branch nobody knows which of the two it is.
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
    // expected-error @+2 {{buffers with different storage-alias placements meet here}}
    // expected-note @+1 {{index the arrays before they meet, or let the same array come from all sides}}
    %x = scf.if %c -> (!a) {
      scf.yield %a : !a
    } else {
      scf.yield %b : !a
    }
    tt.return
  }
}

// -----

// E10: nor may an ordinary buffer come along the same way.
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
    // expected-error @+2 {{buffers with different storage-alias placements meet here}}
    // expected-note @+1 {{index the arrays before they meet}}
    cf.cond_br %c, ^bb1(%a : !a), ^bb1(%plain : !a)
  ^bb1(%x: !a):
    tt.return
  }
}

// -----

// E11: a function does not know where its caller's buffers are.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module {
  tt.func private @helper(!a)
  tt.func private @helper_of_one(!one)
  tt.func @call_with_array(%i: i32) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    // One buffer may go anywhere.
    %one = ttg.memdesc_index %b[%i] : !a -> !one
    tt.call @helper_of_one(%one) : (!one) -> ()
    // expected-error @+1 {{storage-alias buffer crosses a call; inline the callee first}}
    tt.call @helper(%b) : (!a) -> ()
    tt.return
  }
}

// -----

// E12: a part of the array, all of it at once, or a value to return.
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
