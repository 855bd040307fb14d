// RUN: tilewright-opt -tlx-resolve-placeholder-layouts %s | filecheck %s

// Tensor memory: one row a thread; of 64 rows, two threads share one; eight warps split columns.

#whole = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#bytes = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [3, 2, 1, 0]}>
#smem = #ttg.shared_memory
#half = #ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 1>
// CHECK-DAG: [[$WHOLE:#.+]] = #ttg.blocked<{sizePerThread = [1, 64], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}>
// CHECK-DAG: [[$HALF:#.+]] = #ttg.blocked<{sizePerThread = [1, 32], threadsPerWarp = [16, 2], warpsPerCTA = [4, 1], order = [0, 1]}>
// CHECK-DAG: [[$SPLIT:#.+]] = #ttg.blocked<{sizePerThread = [1, 32], threadsPerWarp = [32, 1], warpsPerCTA = [4, 2], order = [0, 1]}>
// CHECK-DAG: [[$ANY:#.+]] = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @loads(%m: !ttg.memdesc<128x64xf32, #whole, #ttng.tensor_memory, mutable>, %h: !ttg.memdesc<64x64xf32, #half, #ttng.tensor_memory, mutable>, %x: f32) {
    // CHECK: ttng.tmem_load {{.*}} -> tensor<128x64xf32, [[$WHOLE]]>
    %0 = ttng.tmem_load %m : !ttg.memdesc<128x64xf32, #whole, #ttng.tensor_memory, mutable> -> tensor<128x64xf32, #tlx.dummy_register_layout<[128, 64], f32, true>>
    // CHECK: ttng.tmem_load {{.*}} -> tensor<64x64xf32, [[$HALF]]>
    %1 = ttng.tmem_load %h : !ttg.memdesc<64x64xf32, #half, #ttng.tensor_memory, mutable> -> tensor<64x64xf32, #tlx.dummy_register_layout<[64, 64], f32, true>>
    // CHECK: tt.splat {{.*}} tensor<32x64xf32, [[$ANY]]>
    %2 = tt.splat %x : f32 -> tensor<32x64xf32, #tlx.dummy_register_layout<[32, 64], f32, false>>
    ttg.warp_specialize(%m)
    default {
      ttg.warp_yield
    }
    partition0(%p: !ttg.memdesc<128x64xf32, #whole, #ttng.tensor_memory, mutable>) num_warps(8) {
      // CHECK: ttng.tmem_load {{.*}} -> tensor<128x64xf32, [[$SPLIT]]>
      %3 = ttng.tmem_load %p : !ttg.memdesc<128x64xf32, #whole, #ttng.tensor_memory, mutable> -> tensor<128x64xf32, #tlx.dummy_register_layout<[128, 64], f32, true>>
      ttg.warp_return
    } : (!ttg.memdesc<128x64xf32, #whole, #ttng.tensor_memory, mutable>) -> ()
    tt.return
  }

  // Bytes in tensor memory: scale factors where a product or the copy engine takes them so.
  // CHECK-LABEL: tt.func @memory
  tt.func @memory(%from: !ttg.memdesc<1x4x32x16xi8, #bytes, #smem, mutable>) {
    %c0 = arith.constant 0 : i32
    // CHECK: ttng.tmem_alloc : () -> !ttg.memdesc<2x128x16xi8, #tmem_scales, #ttng.tensor_memory, mutable>
    %s = ttng.tmem_alloc : () -> !ttg.memdesc<2x128x16xi8, #tlx.dummy_tmem_layout, #ttng.tensor_memory, mutable>
    // CHECK: ttg.memdesc_index {{.*}} -> !ttg.memdesc<128x16xi8, #tmem_scales, #ttng.tensor_memory, mutable>
    %v = ttg.memdesc_index %s[%c0] : !ttg.memdesc<2x128x16xi8, #tlx.dummy_tmem_layout, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x16xi8, #tlx.dummy_tmem_layout, #ttng.tensor_memory, mutable>
    ttng.tmem_copy %from, %v : !ttg.memdesc<1x4x32x16xi8, #bytes, #smem, mutable>, !ttg.memdesc<128x16xi8, #tlx.dummy_tmem_layout, #ttng.tensor_memory, mutable>
    // CHECK: ttng.tmem_alloc : () -> !ttg.memdesc<128x64xi8, #tmem{{.*}}, #ttng.tensor_memory, mutable>
    %plain = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xi8, #tlx.dummy_tmem_layout, #ttng.tensor_memory, mutable>
    tt.return
  }
}
