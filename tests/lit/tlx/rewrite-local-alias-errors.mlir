// RUN: tilewright-opt -split-input-file -verify-diagnostics %s --tlx-rewrite-local-alias

// E14: an alias of something that is no allocation.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module {
  tt.func @of_an_argument(%a: !a) {
    // expected-error @+2 {{LocalAliasOp must refer to a local_alloc or local_alias op}}
    // expected-note @+1 {{it refers to a block argument; make the alias outside}}
    %b = tlx.local_alias %a : !a -> !a
    tt.return
  }
  tt.func @of_an_indexed_buffer(%i: i32) {
    %a = ttg.local_alloc : () -> !a
    // expected-note @+1 {{it refers to this op}}
    %one = ttg.memdesc_index %a[%i] : !a -> !one
    // expected-error @+1 {{LocalAliasOp must refer to a local_alloc or local_alias op}}
    %b = tlx.local_alias %one : !one -> !one
    tt.return
  }
}

// -----

// E15: an allocation that has contents keeps its type, and this alias would not fit.
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!a = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!b = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @with_contents(%x: tensor<64x64xf16, #blocked>) {
    // expected-note @+1 {{this allocation has contents and keeps its type}}
    %a = ttg.local_alloc %x : (tensor<64x64xf16, #blocked>) -> !a
    // expected-error @+1 {{TLXRewriteLocalAlias cannot view a 65536-bit allocation as a 131072-bit alias}}
    %b = tlx.local_alias %a : !a -> !b
    tt.return
  }
  // As large or smaller is fine.
  tt.func @smaller(%x: tensor<64x64xf16, #blocked>) {
    %a = ttg.local_alloc %x : (tensor<64x64xf16, #blocked>) -> !a
    %b = tlx.local_alias %a : !a -> !a
    tt.return
  }
}
