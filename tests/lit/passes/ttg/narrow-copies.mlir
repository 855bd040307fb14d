// RUN: tilewright-opt -split-input-file -verify-diagnostics -load-narrow-copies %s
// RUN: tilewright-opt -split-input-file -load-narrow-copies %s | filecheck %s

// cp.async moves four bytes at least: an odd stride leaves two, so the copy goes through registers
// and its token leaves the group.

#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
// CHECK-LABEL: tt.func @odd
module {
  tt.func @odd(%p: tensor<64x32x!tt.ptr<f16>>, %b: !ttg.memdesc<64x32xf16, #tile, #smem, mutable>) {
    // CHECK: %[[V:.*]] = tt.load %{{.*}} : tensor<64x32x!tt.ptr<f16>>
    // CHECK-NEXT: ttg.local_store %[[V]], %{{.*}} : tensor<64x32xf16> -> !ttg.memdesc<64x32xf16
    // expected-remark @+1 {{cp.async not used: 4 contiguous bytes under one mask needed, 2 proved; the copy goes through registers}}
    %t = ttg.async_copy_global_to_local %p, %b : tensor<64x32x!tt.ptr<f16>> -> <64x32xf16, #tile, #smem, mutable>
    // CHECK-NEXT: ttg.async_commit_group
    // CHECK-NOT: tokens
    %g = ttg.async_commit_group tokens %t
    tt.return
  }
}

// -----

#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
// CHECK-LABEL: tt.func @even
module {
  tt.func @even(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %b: !ttg.memdesc<1x32xf16, #tile, #smem, mutable>) {
    %r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %e = tt.expand_dims %r {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %s = tt.splat %p : !tt.ptr<f16> -> tensor<1x32x!tt.ptr<f16>>
    %a = tt.addptr %s, %e : tensor<1x32x!tt.ptr<f16>>, tensor<1x32xi32>
    // CHECK: ttg.async_copy_global_to_local %{{.*}}, %{{.*}} {contiguity = 8 : i32}
    %t = ttg.async_copy_global_to_local %a, %b : tensor<1x32x!tt.ptr<f16>> -> <1x32xf16, #tile, #smem, mutable>
    tt.return
  }
}
