// RUN: tilewright-opt %s -canonicalize | filecheck %s

// CHECK-LABEL: @leave_loops_and_merge
// CHECK: %[[C:.*]] = arith.constant 4.000000e+00 : f32
// CHECK-NOT: arith.constant 4.000000e+00
// CHECK: scf.for
// CHECK-NEXT: arith.addf %{{.*}}, %[[C]]
// CHECK-NEXT: arith.mulf %{{.*}}, %[[C]]
// CHECK-NEXT: scf.yield
tt.func @leave_loops_and_merge(%n: i32, %x: f32) -> f32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%acc = %x) -> (f32) : i32 {
    %a = arith.constant 4.0 : f32
    %s = arith.addf %acc, %a : f32
    %b = arith.constant 4.0 : f32
    %t = arith.mulf %s, %b : f32
    scf.yield %t : f32
  }
  tt.return %r : f32
}

// Gathered constants keep their order; one that stood further down goes to the front.

// CHECK-LABEL: @order
// CHECK-NEXT: arith.constant 3 : i32
// CHECK-NEXT: arith.constant 1 : i32
// CHECK-NEXT: arith.constant 2 : i32
// CHECK-NEXT: arith.addi
tt.func @order(%x: i32, %y: i32) -> (i32, i32, i32) {
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %a = arith.addi %x, %one : i32
  %three = arith.constant 3 : i32
  %b = arith.muli %y, %two : i32
  %c = arith.muli %x, %three : i32
  tt.return %a, %b, %c : i32, i32, i32
}

// CHECK-LABEL: @types_keep_constants_apart
// CHECK-DAG: arith.constant 1 : i32
// CHECK-DAG: arith.constant 1 : i64
// CHECK-DAG: arith.constant dense<1> : tensor<4xi32>
// CHECK: tt.return
tt.func @types_keep_constants_apart() -> (i32, i64, tensor<4xi32>) {
  %a = arith.constant 1 : i32
  %b = arith.constant 1 : i64
  %c = arith.constant dense<1> : tensor<4xi32>
  tt.return %a, %b, %c : i32, i64, tensor<4xi32>
}

// CHECK-LABEL: @unused_ops_go
// CHECK-NEXT: tt.return
tt.func @unused_ops_go(%x: i32) {
  %one = arith.constant 1 : i32
  %a = arith.addi %x, %one : i32
  %b = arith.muli %a, %a : i32
  tt.return
}
