// RUN: tilewright-opt -tlx-release-mixed-layouts %s | filecheck %s

// A tensor in a layout that the kernel requires is transposed to one without: it is released.
// Ops whose tensors agree stay.

#mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [16, 16, 16], isTransposed = true}>
#left = #tlx.no_verify_layout<#tlx.user_layout<#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>>>
// CHECK-LABEL: tt.func @turns
module {
  tt.func @turns(%x: tensor<64x64xf16>) -> tensor<64x64xf16> {
    // CHECK: %[[A:.*]] = tlx.require_layout
    %a = tlx.require_layout %x : tensor<64x64xf16> -> tensor<64x64xf16, #left>
    // CHECK-NEXT: %[[N:.*]] = arith.negf %[[A]] : tensor<64x64xf16, #{{.*}}>
    %n = arith.negf %a : tensor<64x64xf16, #left>
    // CHECK-NEXT: %[[R:.*]] = tlx.release_layout %[[N]] : {{.*}} -> tensor<64x64xf16>
    // CHECK-NEXT: tt.trans %[[R]] {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %t = tt.trans %n {order = array<i32: 1, 0>} : tensor<64x64xf16, #left> -> tensor<64x64xf16>
    tt.return %t : tensor<64x64xf16>
  }
}
