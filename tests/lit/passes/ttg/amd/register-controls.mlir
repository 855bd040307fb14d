// RUN: tilewright-opt -split-input-file -verify-diagnostics -drop-register-controls %s
// RUN: tilewright-opt -split-input-file -drop-register-controls %s | filecheck %s

// What chooses registers and the order of instructions goes; the values stay.

#mma = #ttg.amd_mfma<{version = 4, warpsPerCTA = [2, 2], instrShape = [16, 16, 32], isTransposed = true}>
#a = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 8}>
#b = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 8}>
// CHECK-LABEL: tt.func @controls
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, "ttg.num-ctas" = 1 : i32} {
  tt.func @controls(%a: tensor<32x32xf16, #a>, %b: tensor<32x32xf16, #b>, %c: tensor<32x32xf32, #mma>) -> tensor<32x32xf32, #mma> {
    // CHECK: tt.make_range {end = 40 : i32, start = 8 : i32} : tensor<32xi32>
    %r = amdg.rematerialized_range 8 to 40 identity 0 : tensor<32xi32>
    // expected-remark @+1 {{amdg.register_resident not applied: stock Triton chooses the register class}}
    %s = amdg.register_resident %b class "agpr" groups 4 : tensor<32x32xf16, #b>
    // CHECK: %[[D:.*]] = tt.dot %arg0, %arg1, %arg2 : tensor<32x32xf16
    // expected-remark @+1 {{amdg.scheduled_mfma not applied: stock Triton chooses the order of matrix instructions}}
    %d = amdg.scheduled_mfma %a, %s, %c resident "rhs" accumulator "persistent" register_class "agpr" initialize false : tensor<32x32xf16, #a>, tensor<32x32xf16, #b>, tensor<32x32xf32, #mma> -> tensor<32x32xf32, #mma>
    // CHECK: %[[Z:.*]] = arith.constant dense<0.000000e+00> : tensor<32x32xf32
    // CHECK: %[[E:.*]] = tt.dot %arg0, %arg1, %[[Z]]
    %e = amdg.scheduled_mfma %a, %s, %d resident "none" accumulator "transient" register_class "auto" initialize true : tensor<32x32xf16, #a>, tensor<32x32xf16, #b>, tensor<32x32xf32, #mma> -> tensor<32x32xf32, #mma>
    %f, %h = amdg.mfma_commit %d, %e : tensor<32x32xf32, #mma>, tensor<32x32xf32, #mma>
    // CHECK: %[[F:.*]] = arith.addf %[[D]], %[[E]]
    %i = arith.addf %f, %h : tensor<32x32xf32, #mma>
    // CHECK: tt.return %[[F]]
    tt.return %i : tensor<32x32xf32, #mma>
  }
}
