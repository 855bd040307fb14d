// RUN: tilewright-opt %s -cse | filecheck %s

// CHECK-LABEL: @equal_ops
// CHECK-NEXT: %[[X:.*]] = arith.addi
// CHECK-NEXT: %[[R:.*]] = arith.muli %[[X]], %[[X]]
// CHECK-NEXT: tt.return %[[R]]
tt.func @equal_ops(%a: i32, %b: i32) -> i32 {
  %x = arith.addi %a, %b : i32
  %y = arith.addi %a, %b : i32
  %r = arith.muli %x, %y : i32
  tt.return %r : i32
}

// CHECK-LABEL: @commuted_operands
// CHECK-NEXT: %[[X:.*]] = arith.addi
// CHECK-NEXT: %[[R:.*]] = arith.muli %[[X]], %[[X]]
tt.func @commuted_operands(%a: i32, %b: i32) -> i32 {
  %x = arith.addi %a, %b : i32
  %y = arith.addi %b, %a : i32
  %r = arith.muli %x, %y : i32
  tt.return %r : i32
}

// CHECK-LABEL: @exchanged_operands_of_another_op
// CHECK-COUNT-2: arith.subi
tt.func @exchanged_operands_of_another_op(%a: i32, %b: i32) -> i32 {
  %x = arith.subi %a, %b : i32
  %y = arith.subi %b, %a : i32
  %r = arith.muli %x, %y : i32
  tt.return %r : i32
}

// CHECK-LABEL: @attributes_count
// CHECK-COUNT-3: arith.cmpi
tt.func @attributes_count(%a: i32, %b: i32) -> (i1, i1, i1) {
  %x = arith.cmpi slt, %a, %b : i32
  %y = arith.cmpi ult, %a, %b : i32
  %z = arith.cmpi slt, %a, %b {note = "kept apart"} : i32
  tt.return %x, %y, %z : i1, i1, i1
}

// CHECK-LABEL: @zeros_of_either_sign
// CHECK-DAG: arith.constant 0.000000e+00 : f32
// CHECK-DAG: arith.constant -0.000000e+00 : f32
// CHECK: tt.return
tt.func @zeros_of_either_sign() -> (f32, f32) {
  %p = arith.constant 0.0 : f32
  %n = arith.constant -0.0 : f32
  tt.return %p, %n : f32, f32
}

// CHECK-LABEL: @result_types_count
// CHECK-COUNT-2: tt.splat
tt.func @result_types_count(%a: i32) -> (tensor<4xi32>, tensor<8xi32>) {
  %x = tt.splat %a : i32 -> tensor<4xi32>
  %y = tt.splat %a : i32 -> tensor<8xi32>
  tt.return %x, %y : tensor<4xi32>, tensor<8xi32>
}

// CHECK-LABEL: @reads_stay
// CHECK-COUNT-2: tt.load
tt.func @reads_stay(%p: !tt.ptr<f32>, %v: f32) -> (f32, f32) {
  %x = tt.load %p : !tt.ptr<f32>
  tt.store %p, %v : !tt.ptr<f32>
  %y = tt.load %p : !tt.ptr<f32>
  tt.return %x, %y : f32, f32
}

// CHECK-LABEL: @dead_ops_go
// CHECK-NEXT: tt.return
tt.func @dead_ops_go(%a: i32) {
  %x = arith.addi %a, %a : i32
  tt.return
}
