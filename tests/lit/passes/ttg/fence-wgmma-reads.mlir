// RUN: tilewright-opt -fence-wgmma-reads %s | filecheck %s

#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
module attributes {"ttg.num-warps" = 4 : i32} {
  // One fence for both products; a buffer that only the copy engine fills needs none.
  // CHECK-LABEL: tt.func @stored
  tt.func @stored(%v: tensor<64x64xf16, #mma>, %c: tensor<64x64xf32, #mma>) {
    %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #tile, #smem, mutable>
    %b = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #tile, #smem, mutable>
    // CHECK: ttng.warp_group_dot
    %0 = ttng.warp_group_dot %b, %b, %c : !ttg.memdesc<64x64xf16, #tile, #smem, mutable> * !ttg.memdesc<64x64xf16, #tile, #smem, mutable> -> tensor<64x64xf32, #mma>
    ttg.local_store %v, %a : tensor<64x64xf16, #mma> -> !ttg.memdesc<64x64xf16, #tile, #smem, mutable>
    // CHECK: ttg.local_store
    // CHECK-NEXT: ttng.fence_async_shared {bCluster = false}
    // CHECK-NEXT: ttng.warp_group_dot
    // CHECK-NEXT: ttng.warp_group_dot
    %1 = ttng.warp_group_dot %a, %b, %c : !ttg.memdesc<64x64xf16, #tile, #smem, mutable> * !ttg.memdesc<64x64xf16, #tile, #smem, mutable> -> tensor<64x64xf32, #mma>
    %2 = ttng.warp_group_dot %a, %a, %1 : !ttg.memdesc<64x64xf16, #tile, #smem, mutable> * !ttg.memdesc<64x64xf16, #tile, #smem, mutable> -> tensor<64x64xf32, #mma>
    tt.return
  }

  // The author has fenced already.
  // CHECK-LABEL: tt.func @fenced
  tt.func @fenced(%v: tensor<64x64xf16, #mma>, %c: tensor<64x64xf32, #mma>) {
    %a = ttg.local_alloc %v : (tensor<64x64xf16, #mma>) -> !ttg.memdesc<64x64xf16, #tile, #smem, mutable>
    // CHECK: ttng.fence_async_shared
    // CHECK-NOT: ttng.fence_async_shared
    ttng.fence_async_shared {bCluster = false}
    %1 = ttng.warp_group_dot %a, %a, %c : !ttg.memdesc<64x64xf16, #tile, #smem, mutable> * !ttg.memdesc<64x64xf16, #tile, #smem, mutable> -> tensor<64x64xf32, #mma>
    tt.return
  }

  // A store that the author fences at once, and the copy engine takes from there: the products of
  // the next round need no fence of their own.
  // CHECK-LABEL: tt.func @handed_over
  tt.func @handed_over(%v: tensor<64x64xf16, #mma>, %c: tensor<64x64xf32, #mma>) {
    %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #tile, #smem, mutable>
    // CHECK-NOT: ttng.fence_async_shared
    // CHECK: ttng.warp_group_dot
    %1 = ttng.warp_group_dot %a, %a, %c : !ttg.memdesc<64x64xf16, #tile, #smem, mutable> * !ttg.memdesc<64x64xf16, #tile, #smem, mutable> -> tensor<64x64xf32, #mma>
    // CHECK: ttg.local_store
    // CHECK-NEXT: ttng.fence_async_shared
    ttg.local_store %v, %a : tensor<64x64xf16, #mma> -> !ttg.memdesc<64x64xf16, #tile, #smem, mutable>
    ttng.fence_async_shared {bCluster = false}
    tt.return
  }
}
