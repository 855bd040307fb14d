// RUN: tilewright-opt %s -canonicalize | filecheck %s

// CHECK-LABEL: @extend_once
// CHECK-SAME: (%[[X:.*]]: i8
// CHECK-DAG: %[[A:.*]] = arith.extsi %[[X]] : i8 to i64
// CHECK-DAG: %[[B:.*]] = arith.extui %[[X]] : i8 to i64
// CHECK: tt.return %[[A]], %[[B]]
tt.func @extend_once(%x: i8) -> (i64, i64) {
  %a0 = arith.extsi %x : i8 to i32
  %a = arith.extsi %a0 : i32 to i64
  %b0 = arith.extui %x : i8 to i32
  %b = arith.extsi %b0 : i32 to i64
  tt.return %a, %b : i64, i64
}

// CHECK-LABEL: @sign_then_zero_extension_stays
// CHECK: arith.extsi
// CHECK: arith.extui
tt.func @sign_then_zero_extension_stays(%x: i8) -> i64 {
  %a = arith.extsi %x : i8 to i32
  %b = arith.extui %a : i32 to i64
  tt.return %b : i64
}

// CHECK-LABEL: @truncate_what_was_extended
// CHECK-SAME: (%[[X:.*]]: i16
// CHECK-DAG: %[[A:.*]] = arith.trunci %[[X]] : i16 to i8
// CHECK-DAG: %[[B:.*]] = arith.extsi %[[X]] : i16 to i32
// CHECK: tt.return %[[X]], %[[A]], %[[B]]
tt.func @truncate_what_was_extended(%x: i16) -> (i16, i8, i32) {
  %wide = arith.extsi %x : i16 to i64
  %same = arith.trunci %wide : i64 to i16
  %less = arith.trunci %wide : i64 to i8
  %more = arith.trunci %wide : i64 to i32
  tt.return %same, %less, %more : i16, i8, i32
}

// CHECK-LABEL: @not_of_a_comparison
// CHECK: %[[R:.*]] = arith.cmpi sge
// CHECK-NEXT: tt.return %[[R]]
tt.func @not_of_a_comparison(%a: i32, %b: i32) -> i1 {
  %true = arith.constant true
  %p = arith.cmpi slt, %a, %b : i32
  %r = arith.xori %p, %true : i1
  tt.return %r : i1
}

// CHECK-LABEL: @equality_before_extension
// CHECK-SAME: (%[[A:.*]]: i8{{.*}}, %[[B:.*]]: i8
// CHECK-NEXT: %[[R:.*]] = arith.cmpi eq, %[[A]], %[[B]] : i8
// CHECK-NEXT: tt.return %[[R]]
tt.func @equality_before_extension(%a: i8, %b: i8) -> i1 {
  %x = arith.extsi %a : i8 to i32
  %y = arith.extsi %b : i8 to i32
  %r = arith.cmpi eq, %x, %y : i32
  tt.return %r : i1
}

// CHECK-LABEL: @comparison_of_tensors
// CHECK-NEXT: %[[R:.*]] = arith.constant dense<true> : tensor<16xi1>
// CHECK-NEXT: tt.return %[[R]]
tt.func @comparison_of_tensors(%x: tensor<16xi32>) -> tensor<16xi1> {
  %zero = arith.constant dense<0> : tensor<16xi32>
  %r = arith.cmpi uge, %x, %zero : tensor<16xi32>
  tt.return %r : tensor<16xi1>
}

// CHECK-LABEL: @select_by_negation
// CHECK-SAME: (%[[C:.*]]: i1{{.*}}, %[[A:.*]]: f32{{.*}}, %[[B:.*]]: f32
// CHECK-NEXT: %[[R:.*]] = arith.select %[[C]], %[[B]], %[[A]] : f32
// CHECK-NEXT: tt.return %[[R]]
tt.func @select_by_negation(%c: i1, %a: f32, %b: f32) -> f32 {
  %true = arith.constant true
  %not = arith.xori %c, %true : i1
  %r = arith.select %not, %a, %b : f32
  tt.return %r : f32
}

// CHECK-LABEL: @select_twice_by_one_condition
// CHECK-SAME: (%[[C:.*]]: i1{{.*}}, %[[A:.*]]: f32{{.*}}, %[[B:.*]]: f32{{.*}}, %[[D:.*]]: f32
// CHECK-NEXT: %[[R:.*]] = arith.select %[[C]], %[[A]], %[[D]] : f32
// CHECK-NEXT: tt.return %[[R]]
tt.func @select_twice_by_one_condition(%c: i1, %a: f32, %b: f32, %d: f32) -> f32 {
  %s = arith.select %c, %a, %b : f32
  %r = arith.select %c, %s, %d : f32
  tt.return %r : f32
}
