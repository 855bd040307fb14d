// RUN: tilewright-opt -split-input-file -verify-diagnostics %s --tlx-storage-alias-lowering="placement=explicit"

// With addresses, too, whoever indexes an array has to know its placement.

#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!v = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
module {
  tt.func @view_and_meeting(%c: i1) {
    %spec = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
    %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    // expected-error @+2 {{view changes the per-buffer size from 16384 to 8192}}
    // expected-note @+1 {{index the array first}}
    %v = ttg.memdesc_reinterpret %a : !a -> !v
    // expected-error @+2 {{buffers with different storage-alias placements join here}}
    // expected-note @+1 {{index the arrays before control flow joins}}
    %x = scf.if %c -> (!a) {
      scf.yield %a : !a
    } else {
      scf.yield %b : !a
    }
    tt.return
  }
}
