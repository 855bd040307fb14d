// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt -flavour=triton-3.6 %s | filecheck %s --check-prefixes=OLD

// Layouts are printed once, as aliases numbered within their family.

// CHECK: #blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
// CHECK: #mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
// CHECK: #shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
// CHECK: #shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
// CHECK: #smem = #ttg.shared_memory

#rows = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#acc = #ttg.nvidia_mma<{versionMajor = 3, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#tile_t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: tt.func @pipeline
  tt.func @pipeline(%ptrs: tensor<64x64x!tt.ptr<f16>, #rows>, %mask: tensor<64x64xi1, #rows>, %i: i32) {
    // CHECK: %[[BUFFERS:.*]] = ttg.local_alloc : () -> !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
    %buffers = ttg.local_alloc : () -> !ttg.memdesc<2x64x64xf16, #tile, #smem, mutable>
    // CHECK: %[[ONE:.*]] = ttg.memdesc_index %[[BUFFERS]][%{{.*}}] : !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    %one = ttg.memdesc_index %buffers[%i] : !ttg.memdesc<2x64x64xf16, #tile, #smem, mutable> -> !ttg.memdesc<64x64xf16, #tile, #smem, mutable>
    // CHECK: ttg.async_copy_global_to_local %{{.*}}, %[[ONE]] mask %{{.*}} {cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_normal>, contiguity = 8 : i32} : tensor<64x64x!tt.ptr<f16>, #blocked> -> <64x64xf16, #shared, #smem, mutable>
    // OLD: ttg.async_copy_global_to_local %{{.*}}, %{{.*}} mask %{{.*}} cacheModifier = cg {contiguity = 8 : i32} : tensor<64x64x!tt.ptr<f16>, #blocked> -> <64x64xf16, #shared, #smem, mutable>
    %copy = ttg.async_copy_global_to_local %ptrs, %one mask %mask cacheModifier = cg {contiguity = 8 : i32} : tensor<64x64x!tt.ptr<f16>, #rows> -> <64x64xf16, #tile, #smem, mutable>
    // CHECK: %[[GROUP:.*]] = ttg.async_commit_group tokens %{{.*}}
    %group = ttg.async_commit_group tokens %copy
    // CHECK: %[[DONE:.*]] = ttg.async_wait %[[GROUP]] {num = 0 : i32}
    %done = ttg.async_wait %group {num = 0 : i32}
    // CHECK: %[[X:.*]] = ttg.local_load %[[ONE]] token %[[DONE]] : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
    %x = ttg.local_load %one token %done : !ttg.memdesc<64x64xf16, #tile, #smem, mutable> -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #acc, kWidth = 2}>>
    // CHECK: ttg.memdesc_trans %[[ONE]] {order = array<i32: 1, 0>} : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared1, #smem, mutable>
    %turned = ttg.memdesc_trans %one {order = array<i32: 1, 0>} : !ttg.memdesc<64x64xf16, #tile, #smem, mutable> -> !ttg.memdesc<64x64xf16, #tile_t, #smem, mutable>
    // CHECK: ttg.convert_layout %[[X]] : tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>> -> tensor<64x64xf16, #blocked>
    %y = ttg.convert_layout %x : tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #acc, kWidth = 2}>> -> tensor<64x64xf16, #rows>
    // CHECK: ttg.local_dealloc %[[BUFFERS]] : !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
    ttg.local_dealloc %buffers : !ttg.memdesc<2x64x64xf16, #tile, #smem, mutable>
    // CHECK: ttg.barrier local|global_read
    ttg.barrier local|global_read
    tt.return
  }

  // CHECK-LABEL: tt.func @specialized
  tt.func @specialized(%a: i32, %b: f32) {
    // CHECK: %[[R:.*]] = ttg.warp_specialize(%arg0, %arg1) attributes {requestedRegisters = array<i32: 24, 232>}
    // CHECK-NEXT: default {
    // CHECK-NEXT:   ttg.warp_yield %arg1 : f32
    // CHECK-NEXT: }
    // CHECK-NEXT: partition0(%arg2: i32, %arg3: f32) num_warps(1) {
    // CHECK-NEXT:   ttg.warp_return
    // CHECK-NEXT: }
    // CHECK-NEXT: partition1(%arg2: i32, %arg3: f32) num_warps(4) {
    // CHECK-NEXT:   arith.addi %arg2, %arg2 : i32
    // CHECK-NEXT:   ttg.warp_return
    // CHECK-NEXT: } : (i32, f32) -> f32
    %r = ttg.warp_specialize(%a, %b) attributes {requestedRegisters = array<i32: 24, 232>}
    default {
      ttg.warp_yield %b : f32
    }
    partition0(%x: i32, %y: f32) num_warps(1) {
      ttg.warp_return
    }
    partition1(%a: i32, %b: f32) num_warps(4) {
      %0 = arith.addi %a, %a : i32
      ttg.warp_return
    } : (i32, f32) -> f32
    tt.return
  }
}
