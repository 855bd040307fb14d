// RUN: tilewright-opt -verify-diagnostics %s | filecheck %s --check-prefix=DEFERRED
// RUN: tilewright-opt -tlx-finalize-user-layouts %s | filecheck %s
// RUN: tilewright-opt -triton-nvidia-optimize-descriptor-encoding %s | filecheck %s --check-prefix=DESC

#rows = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#flat = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#own = #tlx.user_layout<#rows>
#later = #tlx.no_verify_layout<#own>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#one = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  // Ops are not compared with a layout that is not final, or only with what it marks.
  // DEFERRED-LABEL: @deferred
  tt.func @deferred(%x: tensor<16x64xf32, #later>) -> (tensor<1024xf32, #flat>, tensor<16x64xf32, #rows>) {
    // DEFERRED: tt.reshape
    %0 = tt.reshape %x : tensor<16x64xf32, #later> -> tensor<1024xf32, #flat>
    // DEFERRED: tt.elementwise_inline_asm
    %1 = tt.elementwise_inline_asm "mov.b32 $0, $1;" {constraints = "=r,r", packed_element = 1 : i32, pure = true} %x : tensor<16x64xf32, #later> -> tensor<16x64xf32, #rows>
    tt.return %0, %1 : tensor<1024xf32, #flat>, tensor<16x64xf32, #rows>
  }

  // CHECK-LABEL: @unwrapped
  // CHECK-SAME: (%arg0: tensor<16x64xf32, #blocked>) -> tensor<16x64xf32, #blocked>
  tt.func @unwrapped(%x: tensor<16x64xf32, #own>) -> tensor<16x64xf32, #rows> {
    // CHECK: arith.constant dense<1.000000e+00> : tensor<16x64xf32, #blocked>
    // CHECK-NOT: ttg.convert_layout
    // CHECK: tt.return
    %one = arith.constant dense<1.0> : tensor<16x64xf32, #own>
    %0 = arith.addf %x, %one : tensor<16x64xf32, #own>
    %1 = ttg.convert_layout %0 : tensor<16x64xf32, #own> -> tensor<16x64xf32, #rows>
    tt.return %1 : tensor<16x64xf32, #rows>
  }

  // A descriptor that is made in memory and read from there is one descriptor.
  // DESC-LABEL: @descriptor
  tt.func @descriptor(%p: !tt.ptr<f16>, %n: i32, %s: i64, %at: !tt.ptr<i8>, %b: !ttg.memdesc<64x32xf16, #shared, #smem, mutable>, %bar: !ttg.memdesc<1xi64, #one, #smem, mutable>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i64
    %true = arith.constant true
    // DESC: tt.make_tensor_descriptor {{.*}} <64x32xf16, #[[S:.*]]>
    %0 = tt.make_tensor_descriptor %p, [%n, %n], [%s, %c1], descPtr = %at : !tt.ptr<i8> : !tt.ptr<f16>, !tt.tensordesc<64x32xf16>
    // DESC: ttng.reinterpret_tensor_descriptor {{.*}}<64x32xf16, #[[S]]>
    %1 = ttng.reinterpret_tensor_descriptor %at : !tt.ptr<i8> to !tt.tensordesc<64x32xf16>
    ttng.async_tma_copy_global_to_local %1[%c0, %c0] %b, %bar, %true : !tt.tensordesc<64x32xf16>, !ttg.memdesc<1xi64, #one, #smem, mutable> -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>
    tt.return
  }
}
