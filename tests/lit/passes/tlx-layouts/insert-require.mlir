// RUN: tilewright-opt -split-input-file -tlx-insert-require-layout %s | filecheck %s

// A layout for four warps where there are eight, at 64 rows: the columns are split, and the register
// operand follows.

#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
// CHECK-DAG: [[$MMA:#mma.*]] = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 2], instrShape = [16, 64, 16]}>
// CHECK-LABEL: tt.func @product
module attributes {"ttg.num-warps" = 8 : i32} {
  tt.func @product(%a: tensor<64x64xf16>, %b: !ttg.memdesc<64x128xf16, #tile, #smem, mutable>, %c: tensor<64x128xf32>) -> tensor<64x128xf32> {
    %ra = tlx.require_layout %a : tensor<64x64xf16> -> tensor<64x64xf16, #tlx.no_verify_layout<#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>>
    %rc = tlx.require_layout %c : tensor<64x128xf32> -> tensor<64x128xf32, #tlx.no_verify_layout<#mma>>
    // CHECK-DAG: %[[C:.*]] = tlx.require_layout %{{.*}} : tensor<64x128xf32> -> tensor<64x128xf32, #tlx.no_verify_layout<[[$MMA]]>>
    // CHECK-DAG: %[[A:.*]] = tlx.require_layout %{{.*}} : tensor<64x64xf16> -> tensor<64x64xf16, #tlx.no_verify_layout<#ttg.dot_op<{opIdx = 0, parent = [[$MMA]], kWidth = 2}>>>
    // CHECK: %[[D:.*]] = ttng.warp_group_dot %[[A]], %{{.*}}, %[[C]]
    // CHECK: tlx.release_layout %[[D]] : tensor<64x128xf32, #tlx.no_verify_layout<[[$MMA]]>> -> tensor<64x128xf32>
    %d = ttng.warp_group_dot %ra, %b, %rc : tensor<64x64xf16, #tlx.no_verify_layout<#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>> * !ttg.memdesc<64x128xf16, #tile, #smem, mutable> -> tensor<64x128xf32, #tlx.no_verify_layout<#mma>>
    %f = tlx.release_layout %d : tensor<64x128xf32, #tlx.no_verify_layout<#mma>> -> tensor<64x128xf32>
    tt.return %f : tensor<64x128xf32>
  }
}

// -----

// A layout for four warps in a task of eight: made anew, behind the wait as well.

#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
// CHECK: [[$EIGHT:#mma.*]] = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
// CHECK-LABEL: tt.func @wrong_warps
module attributes {"ttg.num-warps" = 8 : i32} {
  tt.func @wrong_warps(%a: !ttg.memdesc<128x64xf16, #tile, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, %c: tensor<128x64xf32>) -> tensor<128x64xf32> {
    %r = tlx.require_layout %c : tensor<128x64xf32> -> tensor<128x64xf32, #tlx.no_verify_layout<#mma>>
    %d = ttng.warp_group_dot %a, %b, %r {isAsync = true} : !ttg.memdesc<128x64xf16, #tile, #smem, mutable> * !ttg.memdesc<64x64xf16, #tile, #smem, mutable> -> tensor<128x64xf32, #tlx.no_verify_layout<#mma>>
    // CHECK: ttng.warp_group_dot_wait %{{.*}} {pendings = 0 : i32} : tensor<128x64xf32, #tlx.no_verify_layout<[[$EIGHT]]>>
    %w = ttng.warp_group_dot_wait %d {pendings = 0 : i32} : tensor<128x64xf32, #tlx.no_verify_layout<#mma>>
    // CHECK: tlx.release_layout %{{.*}} : tensor<128x64xf32, #tlx.no_verify_layout<[[$EIGHT]]>> -> tensor<128x64xf32>
    %f = tlx.release_layout %w : tensor<128x64xf32, #tlx.no_verify_layout<#mma>> -> tensor<128x64xf32>
    tt.return %f : tensor<128x64xf32>
  }
}

// -----

#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
// CHECK-LABEL: tt.func @tensor_memory
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @tensor_memory(%m: !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>) {
    %true = arith.constant true
    // CHECK: %[[L:.*]] = ttng.tmem_load %{{.*}} -> tensor<128x64xf32, #tlx.dummy_register_layout<[128, 64], f32, true>>
    // CHECK-NEXT: %[[F:.*]] = tlx.release_layout %[[L]]
    %v = ttng.tmem_load %m : !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable> -> tensor<128x64xf32>
    // CHECK-NEXT: %[[S:.*]] = tlx.require_layout %[[F]]
    // CHECK-NEXT: ttng.tmem_store %[[S]], %{{.*}} : tensor<128x64xf32, #tlx.dummy_register_layout<[128, 64], f32, true>>
    ttng.tmem_store %v, %m, %true : tensor<128x64xf32> -> !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>
    tt.return
  }
}
