// RUN: tilewright-opt -split-input-file -verify-diagnostics %s --tlx-rewrite-local-alias

// E14 positive: an alias of something that is no allocation.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module {
  tt.func @of_an_argument(%a: !a) {
    // expected-error @+2 {{LocalAliasOp must refer to a local_alloc or local_alias op}}
    // expected-note @+1 {{the alias refers to a block argument; create it outside the region}}
    %b = tlx.local_alias %a : !a -> !a
    tt.return
  }
  tt.func @of_an_indexed_buffer(%i: i32) {
    %a = ttg.local_alloc : () -> !a
    // expected-note @+1 {{the alias refers to this op}}
    %one = ttg.memdesc_index %a[%i] : !a -> !one
    // expected-error @+1 {{LocalAliasOp must refer to a local_alloc or local_alias op}}
    %b = tlx.local_alias %one : !one -> !one
    tt.return
  }
}

// -----

// E14 negative: an alias, and an alias of an alias.
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @of_an_allocation() {
    %a = ttg.local_alloc : () -> !a
    %b = tlx.local_alias %a : !a -> !a
    %c = tlx.local_alias %b : !a -> !a
    tt.return
  }
}

// -----

// E15 positive: an allocation that has contents keeps its type, and this alias would not fit.
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!a = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!b = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @with_contents(%x: tensor<64x64xf16, #blocked>) {
    // expected-note @+1 {{this allocation is initialised, so its type cannot change}}
    %a = ttg.local_alloc %x : (tensor<64x64xf16, #blocked>) -> !a
    // expected-error @+1 {{TLXRewriteLocalAlias cannot view a 65536-bit allocation as a 131072-bit alias}}
    %b = tlx.local_alias %a : !a -> !b
    tt.return
  }
}

// -----

// E15 negative: as large or smaller; without contents even larger.
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!a = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!b = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @smaller(%x: tensor<64x64xf16, #blocked>) {
    %a = ttg.local_alloc %x : (tensor<64x64xf16, #blocked>) -> !a
    %b = tlx.local_alias %a : !a -> !a
    tt.return
  }
  tt.func @larger() {
    %a = ttg.local_alloc : () -> !a
    %b = tlx.local_alias %a : !a -> !b
    tt.return
  }
}

// -----

// E15 positive, bytes: 96 of them are no power of two, and the type that would hold them is nobody's.
#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!a = !ttg.memdesc<64xi8, #flat, #smem, mutable>
!b = !ttg.memdesc<96xi8, #flat, #smem, mutable>
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @with_odd_bytes(%x: tensor<64xi8, #line>) {
    // expected-note @+1 {{this allocation is initialised, so its type cannot change}}
    %a = ttg.local_alloc %x : (tensor<64xi8, #line>) -> !a
    // expected-error @+1 {{TLXRewriteLocalAlias cannot view a 512-bit allocation as a 768-bit alias}}
    %b = tlx.local_alias %a : !a -> !b
    tt.return
  }
}

// -----

// E15 positive, rows: a token keeps the allocation at 64 rows, and no alias has the type that holds
// all of them.
#half = #ttng.tensor_memory_encoding<blockM = 64, blockN = 128, colStride = 1>
#full = #ttng.tensor_memory_encoding<blockM = 128, blockN = 32, colStride = 1>
!a = !ttg.memdesc<64x128xf32, #half, #ttng.tensor_memory, mutable>
!b = !ttg.memdesc<128x32xf32, #full, #ttng.tensor_memory, mutable>
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @with_a_token() {
    // expected-note @+1 {{this allocation is initialised, so its type cannot change}}
    %a, %token = ttng.tmem_alloc : () -> (!a, !ttg.async.token)
    // expected-error @+2 {{TLXRewriteLocalAlias cannot view a 4096-bit allocation as a 1024-bit alias}}
    // expected-note @+1 {{128 rows required, 64 allocated}}
    %b = tlx.local_alias %a : !a -> !b
    tt.return
  }
}

// -----

// R5 positive: an address is not something that Triton could read.
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!m = !ttg.memdesc<65536xi8, #flat, #smem, mutable>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
module {
  tt.func @by_address() {
    %m = ttg.local_alloc : () -> !m
    // expected-remark @+2 {{tlx.placed_alias not lowered: Tilewright's code generators support it, Triton does not}}
    // expected-note @+1 {{for Triton, lower with placement=reindex}}
    %a = tlx.placed_alias %m offset = 0, radices = [], strides = [32768] : !m -> !a
    %b = tlx.placed_alias %m offset = 16384, radices = [], strides = [32768] : !m -> !a
    tt.return
  }
}

// -----

// R5 negative: views by index.
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!m = !ttg.memdesc<65536xi8, #flat, #smem, mutable>
module {
  tt.func @by_index() {
    %m = ttg.local_alloc : () -> !m
    %a = tlx.local_alias %m : !m -> !ttg.memdesc<3x64x64xf32, #shared, #smem, mutable>
    tt.return
  }
}
