// RUN: tilewright-opt %s -canonicalize | filecheck %s

// CHECK-LABEL: @splat_of_a_constant
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<2.000000e+00> : tensor<64x32xf32>
// CHECK-NEXT: tt.return %[[C]]
tt.func @splat_of_a_constant() -> tensor<64x32xf32> {
  %c = arith.constant 2.0 : f32
  %r = tt.splat %c : f32 -> tensor<64x32xf32>
  tt.return %r : tensor<64x32xf32>
}

// CHECK-LABEL: @views_of_a_constant
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<7> : tensor<64x32xi32>
// CHECK-NEXT: tt.return %[[C]]
tt.func @views_of_a_constant() -> tensor<64x32xi32> {
  %c = arith.constant dense<7> : tensor<32xi32>
  %e = tt.expand_dims %c {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %b = tt.broadcast %e : tensor<32x1xi32> -> tensor<32x64xi32>
  %t = tt.trans %b {order = array<i32: 1, 0>} : tensor<32x64xi32> -> tensor<64x32xi32>
  tt.return %t : tensor<64x32xi32>
}

// CHECK-LABEL: @views_of_a_splat
// CHECK-SAME: (%[[X:.*]]: f32
// CHECK-NEXT: %[[R:.*]] = tt.splat %[[X]] : f32 -> tensor<32x64xf32>
// CHECK-NEXT: tt.return %[[R]]
tt.func @views_of_a_splat(%x: f32) -> tensor<32x64xf32> {
  %s = tt.splat %x : f32 -> tensor<32xf32>
  %e = tt.expand_dims %s {axis = 1 : i32} : tensor<32xf32> -> tensor<32x1xf32>
  %b = tt.broadcast %e : tensor<32x1xf32> -> tensor<32x64xf32>
  tt.return %b : tensor<32x64xf32>
}

// CHECK-LABEL: @range_of_one
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<5> : tensor<1xi32>
// CHECK-NEXT: tt.return %[[C]]
tt.func @range_of_one() -> tensor<1xi32> {
  %r = tt.make_range {end = 6 : i32, start = 5 : i32} : tensor<1xi32>
  tt.return %r : tensor<1xi32>
}

// CHECK-LABEL: @range_of_many_stays
// CHECK: tt.make_range
tt.func @range_of_many_stays() -> tensor<2xi32> {
  %r = tt.make_range {end = 2 : i32, start = 0 : i32} : tensor<2xi32>
  tt.return %r : tensor<2xi32>
}

// CHECK-LABEL: @offset_zero
// CHECK-SAME: (%[[P:.*]]: !tt.ptr<f32>{{.*}}, %[[Q:.*]]: tensor<8x!tt.ptr<f32>>
// CHECK-NEXT: tt.return %[[P]], %[[Q]]
tt.func @offset_zero(%p: !tt.ptr<f32>, %q: tensor<8x!tt.ptr<f32>>) -> (!tt.ptr<f32>, tensor<8x!tt.ptr<f32>>) {
  %zero = arith.constant 0 : i32
  %zeros = arith.constant dense<0> : tensor<8xi32>
  %a = tt.addptr %p, %zero : !tt.ptr<f32>, i32
  %b = tt.addptr %q, %zeros : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  tt.return %a, %b : !tt.ptr<f32>, tensor<8x!tt.ptr<f32>>
}

// CHECK-LABEL: @transpose_back
// CHECK-SAME: (%[[X:.*]]: tensor<4x8x16xf32>
// CHECK-NEXT: tt.return %[[X]]
tt.func @transpose_back(%x: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %a = tt.trans %x {order = array<i32: 1, 2, 0>} : tensor<4x8x16xf32> -> tensor<8x16x4xf32>
  %b = tt.trans %a {order = array<i32: 2, 0, 1>} : tensor<8x16x4xf32> -> tensor<4x8x16xf32>
  tt.return %b : tensor<4x8x16xf32>
}

// CHECK-LABEL: @transpose_twice
// CHECK-NEXT: %[[R:.*]] = tt.trans %{{.*}} {order = array<i32: 2, 0, 1>} : tensor<4x8x16xf32> -> tensor<16x4x8xf32>
// CHECK-NEXT: tt.return %[[R]]
tt.func @transpose_twice(%x: tensor<4x8x16xf32>) -> tensor<16x4x8xf32> {
  %a = tt.trans %x {order = array<i32: 1, 2, 0>} : tensor<4x8x16xf32> -> tensor<8x16x4xf32>
  %b = tt.trans %a {order = array<i32: 1, 2, 0>} : tensor<8x16x4xf32> -> tensor<16x4x8xf32>
  tt.return %b : tensor<16x4x8xf32>
}

// CHECK-LABEL: @reshape_twice
// CHECK-NEXT: %[[R:.*]] = tt.reshape %{{.*}} : tensor<64xf32> -> tensor<2x32xf32>
// CHECK-NEXT: tt.return %[[R]]
tt.func @reshape_twice(%x: tensor<64xf32>) -> tensor<2x32xf32> {
  %a = tt.reshape %x : tensor<64xf32> -> tensor<8x8xf32>
  %b = tt.reshape %a : tensor<8x8xf32> -> tensor<2x32xf32>
  tt.return %b : tensor<2x32xf32>
}

// CHECK-LABEL: @reshape_of_a_list
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi32>
// CHECK-NEXT: tt.return %[[C]]
tt.func @reshape_of_a_list() -> tensor<2x2xi32> {
  %c = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %r = tt.reshape %c : tensor<4xi32> -> tensor<2x2xi32>
  tt.return %r : tensor<2x2xi32>
}

// CHECK-LABEL: @reordering_reshape_stays
// CHECK: tt.reshape
tt.func @reordering_reshape_stays() -> tensor<4xi32> {
  %c = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %r = tt.reshape %c allow_reorder : tensor<4xi32> -> tensor<4xi32>
  tt.return %r : tensor<4xi32>
}
