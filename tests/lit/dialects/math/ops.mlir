// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt -mlir-print-op-generic %s | tilewright-opt | filecheck %s

// CHECK-LABEL: tt.func @functions
tt.func @functions(%x: tensor<64xf32>, %n: i32, %y: f32) {
  // CHECK: math.exp2 %{{.*}} fastmath<fast> : tensor<64xf32>
  %0 = math.exp2 %x fastmath<fast> : tensor<64xf32>
  // CHECK: math.fma %{{.*}}, %{{.*}}, %{{.*}} : tensor<64xf32>
  %1 = math.fma %x, %x, %0 : tensor<64xf32>
  // CHECK: math.clampf %{{.*}} to [%{{.*}}, %{{.*}}] : f32
  %2 = math.clampf %y to [%y, %y] : f32
  // CHECK: %sin, %cos = math.sincos %{{.*}} : f32
  %3:2 = math.sincos %y : f32
  // CHECK: math.isnan %{{.*}} : tensor<64xf32>
  %4 = math.isnan %x : tensor<64xf32>
  // CHECK: math.fpowi %{{.*}}, %{{.*}} : f32, i32
  %5 = math.fpowi %y, %n : f32, i32
  tt.return
}
