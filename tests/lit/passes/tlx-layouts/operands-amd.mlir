// RUN: tilewright-opt -split-input-file -tlx-insert-require-layout %s | filecheck %s

#rows = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.amd_mfma<{version = 4, warpsPerCTA = [2, 2], instrShape = [16, 16, 32], isTransposed = true}>
#dot0 = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 8}>
#dot1 = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 8}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#own = #tlx.user_layout<#plain>
#smem = #ttg.shared_memory
// CHECK-DAG: #[[A:.*]] = #ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 8, order = [1, 0]}>
// CHECK-DAG: #[[B:.*]] = #ttg.padded_shared<[512:+16] {offset =
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx950", "ttg.threads-per-warp" = 64 : i32} {
  // Threads write A, copies without registers write B.
  // CHECK-LABEL: @operands
  tt.func @operands(%p: tensor<64x128x!tt.ptr<f16>, #rows>, %c: tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma> {
    %a = ttg.local_alloc : () -> !ttg.memdesc<128x64xf16, #plain, #smem, mutable>
    %b = ttg.local_alloc : () -> !ttg.memdesc<64x128xf16, #plain, #smem, mutable>
    %t = ttg.async_copy_global_to_local %p, %b {contiguity = 8 : i32} : tensor<64x128x!tt.ptr<f16>, #rows> -> <64x128xf16, #plain, #smem, mutable>
    // CHECK: tlx.require_layout {{.*}} -> !ttg.memdesc<128x64xf16, #[[A]], #smem, mutable>
    %x = ttg.local_load %a : !ttg.memdesc<128x64xf16, #plain, #smem, mutable> -> tensor<128x64xf16, #rows>
    // CHECK: tlx.require_layout {{.*}} -> !ttg.memdesc<64x128xf16, #[[B]], #smem, mutable>
    %y = ttg.local_load %b : !ttg.memdesc<64x128xf16, #plain, #smem, mutable> -> tensor<64x128xf16, #rows>
    // CHECK-COUNT-2: tlx.require_layout {{.*}} -> tensor<
    %x0 = ttg.convert_layout %x : tensor<128x64xf16, #rows> -> tensor<128x64xf16, #dot0>
    %y1 = ttg.convert_layout %y : tensor<64x128xf16, #rows> -> tensor<64x128xf16, #dot1>
    %d = tt.dot %x0, %y1, %c : tensor<128x64xf16, #dot0> * tensor<64x128xf16, #dot1> -> tensor<128x128xf32, #mma>
    tt.return %d : tensor<128x128xf32, #mma>
  }

  // Neither a user's layout nor a buffer that is read for other purposes is required to change.
  // CHECK-LABEL: @left_alone
  tt.func @left_alone(%y: tensor<64x128xf16, #dot1>, %c: tensor<128x128xf32, #mma>) -> (tensor<128x128xf32, #mma>, tensor<128x64xf16, #rows>) {
    // CHECK-NOT: tlx.require_layout {{.*}} -> !ttg.memdesc
    // CHECK: tt.return
    %a = ttg.local_alloc : () -> !ttg.memdesc<128x64xf16, #own, #smem, mutable>
    %b = ttg.local_alloc : () -> !ttg.memdesc<128x64xf16, #plain, #smem, mutable>
    %x = ttg.local_load %a : !ttg.memdesc<128x64xf16, #own, #smem, mutable> -> tensor<128x64xf16, #rows>
    %z = ttg.local_load %b : !ttg.memdesc<128x64xf16, #plain, #smem, mutable> -> tensor<128x64xf16, #rows>
    %x0 = ttg.convert_layout %x : tensor<128x64xf16, #rows> -> tensor<128x64xf16, #dot0>
    %z0 = ttg.convert_layout %z : tensor<128x64xf16, #rows> -> tensor<128x64xf16, #dot0>
    %d = tt.dot %x0, %y, %c : tensor<128x64xf16, #dot0> * tensor<64x128xf16, #dot1> -> tensor<128x128xf32, #mma>
    %e = tt.dot %z0, %y, %d : tensor<128x64xf16, #dot0> * tensor<64x128xf16, #dot1> -> tensor<128x128xf32, #mma>
    %w = arith.addf %z, %z : tensor<128x64xf16, #rows>
    tt.return %e, %w : tensor<128x128xf32, #mma>, tensor<128x64xf16, #rows>
  }
}

// -----

#mma = #ttg.amd_wmma<{version = 3, isTranspose = true, ctaLayout = {warp = [[0, 1], [1, 0]]}, instrShape = [16, 16, 32]}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
// CHECK-DAG: #[[ROWS:.*]] = #ttg.padded_shared<[64:+4] {order = [1, 0], shape = [32, 64]}>
// CHECK-DAG: #[[OPERAND:.*]] = #ttg.padded_shared<[128:+16] {order = [1, 0], shape = [64, 32]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx1250", "ttg.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: @tdm
  tt.func @tdm(%d: !tt.tensordesc<32x64xf32>, %e: !tt.tensordesc<64x32xf16>) -> tensor<64x32xf16, #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 8}>> {
    %a = ttg.local_alloc : () -> !ttg.memdesc<32x64xf32, #plain, #smem, mutable>
    %b = ttg.local_alloc : () -> !ttg.memdesc<64x32xf16, #plain, #smem, mutable>
    // CHECK: tlx.require_layout {{.*}} -> !ttg.memdesc<32x64xf32, #[[ROWS]], #smem, mutable>
    %0 = amdg.async_tdm_copy_global_to_local %d into %a : !tt.tensordesc<32x64xf32> -> !ttg.memdesc<32x64xf32, #plain, #smem, mutable>
    // CHECK: tlx.require_layout {{.*}} -> !ttg.memdesc<64x32xf16, #[[OPERAND]], #smem, mutable>
    %1 = amdg.async_tdm_copy_global_to_local %e into %b : !tt.tensordesc<64x32xf16> -> !ttg.memdesc<64x32xf16, #plain, #smem, mutable>
    // CHECK-NOT: tlx.require_layout
    %x = ttg.local_load %b : !ttg.memdesc<64x32xf16, #plain, #smem, mutable> -> tensor<64x32xf16, #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 8}>>
    tt.return %x : tensor<64x32xf16, #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 8}>>
  }
}
