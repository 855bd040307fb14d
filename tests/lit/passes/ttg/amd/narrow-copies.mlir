// RUN: tilewright-opt -split-input-file -verify-diagnostics -stage-narrow-copies="arch=gfx950" %s
// RUN: tilewright-opt -split-input-file -stage-narrow-copies="arch=gfx950" %s | filecheck %s
// RUN: tilewright-opt -split-input-file -stage-narrow-copies="arch=gfx942" %s | filecheck %s --check-prefix=SMALL
// RUN: tilewright-opt -split-input-file -stage-narrow-copies="arch=gfx1100" %s | filecheck %s --check-prefix=NONE

// A lane copies 16 bytes on gfx950, 4 on gfx942; gfx1100 has no direct copies.

#rows = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
// CHECK-LABEL: tt.func @wide
// SMALL-LABEL: tt.func @wide
// NONE-LABEL: tt.func @wide
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32} {
  tt.func @wide(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %b: !ttg.memdesc<64x64xf16, #rows, #smem, mutable>) {
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %i = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %j = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %w = arith.constant dense<64> : tensor<64x1xi32>
    %iw = arith.muli %i, %w : tensor<64x1xi32>
    %a = tt.broadcast %iw : tensor<64x1xi32> -> tensor<64x64xi32>
    %c = tt.broadcast %j : tensor<1x64xi32> -> tensor<64x64xi32>
    %o = arith.addi %a, %c : tensor<64x64xi32>
    // CHECK: amdg.buffer_load_to_local %{{.*}} into %{{.*}} {contiguity = 8 : i32, tilewright.direct = 8 : i32}
    // SMALL: amdg.buffer_load_to_local %{{.*}} into %{{.*}} {contiguity = 2 : i32, tilewright.direct = 2 : i32}
    // NONE: amdg.buffer_load %
    // NONE-NEXT: ttg.local_store
    %t = amdg.buffer_load_to_local %p[%o] into %b : <f16>[tensor<64x64xi32>] -> <64x64xf16, #rows, #smem, mutable>
    // NONE-NEXT: ttg.async_commit_group
    %g = ttg.async_commit_group tokens %t
    tt.return
  }
}

// -----

// Two bytes are proved: no chip copies so few.

#rows = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
// CHECK-LABEL: tt.func @narrow
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32} {
  tt.func @narrow(%p: tensor<64x64x!tt.ptr<f16>>, %b: !ttg.memdesc<64x64xf16, #rows, #smem, mutable>) {
    // CHECK: %[[V:.*]] = tt.load %arg0 : tensor<64x64x!tt.ptr<f16>>
    // CHECK-NEXT: ttg.local_store %[[V]], %arg1
    // expected-remark @+1 {{direct copy to LDS not used: 4 or 16 bytes a lane needed, 2 proved (16-bit elements); the copy goes through registers}}
    %t = ttg.async_copy_global_to_local %p, %b : tensor<64x64x!tt.ptr<f16>> -> <64x64xf16, #rows, #smem, mutable>
    // CHECK-NEXT: ttg.async_commit_group
    // CHECK-NOT: tokens
    %g = ttg.async_commit_group tokens %t
    tt.return
  }
}

// -----

// Padding inside of what a wave writes at once.

#padded = #ttg.padded_shared<[128:+8] {order = [1, 0], shape = [64, 64]}>
#smem = #ttg.shared_memory
// CHECK-LABEL: tt.func @padded
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32} {
  tt.func @padded(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %o: tensor<64x64xi32> {tt.contiguity = dense<[1, 64]> : tensor<2xi32>, tt.divisibility = dense<[16, 16]> : tensor<2xi32>}, %b: !ttg.memdesc<64x64xf16, #padded, #smem, mutable>) {
    // 64 lanes of 4 bytes are 128 elements: just in one piece.
    // CHECK: amdg.buffer_load_to_local %{{.*}} into %{{.*}} {contiguity = 2 : i32, tilewright.direct = 2 : i32}
    %t = amdg.buffer_load_to_local %p[%o] into %b {contiguity = 8 : i32} : <f16>[tensor<64x64xi32>] -> <64x64xf16, #padded, #smem, mutable>
    tt.return
  }
}
