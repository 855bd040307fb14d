// RUN: tilewright-opt %s -axis-info="attributes remarks=false" | filecheck %s

// Pointers get what is known of them; an author's own hint stays.
// CHECK-LABEL: @hints
// CHECK: tt.splat %arg0 {tt.constancy = dense<32> : tensor<1xi32>, tt.divisibility = dense<16> : tensor<1xi32>}
// CHECK: tt.addptr %{{.*}} {tt.contiguity = dense<32> : tensor<1xi32>, tt.divisibility = dense<16> : tensor<1xi32>}
// CHECK: tt.addptr %{{.*}} {tt.contiguity = dense<8> : tensor<1xi32>, tt.divisibility = dense<16> : tensor<1xi32>}
// CHECK: arith.addi %{{[0-9]+}}, %{{[0-9]+}} : tensor<32xi32>
tt.func @hints(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
  %lanes = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  %base = tt.splat %p : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %one = tt.addptr %base, %lanes : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %two = tt.addptr %base, %lanes {tt.contiguity = dense<8> : tensor<1xi32>} : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %twice = arith.addi %lanes, %lanes : tensor<32xi32>
  tt.return
}
