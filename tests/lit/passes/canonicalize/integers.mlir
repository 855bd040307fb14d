// RUN: tilewright-opt %s -canonicalize | filecheck %s

// CHECK-LABEL: @wraps_around
// CHECK-NEXT: %[[C:.*]] = arith.constant -2147483648 : i32
// CHECK-NEXT: tt.return %[[C]]
tt.func @wraps_around() -> i32 {
  %a = arith.constant 2147483647 : i32
  %b = arith.constant 1 : i32
  %r = arith.addi %a, %b : i32
  tt.return %r : i32
}

// CHECK-LABEL: @division_truncates
// CHECK-DAG: arith.constant -3 : i32
// CHECK-DAG: arith.constant -1 : i32
// CHECK-DAG: arith.constant -4 : i32
// CHECK-NOT: arith.divsi
tt.func @division_truncates() -> (i32, i32, i32) {
  %a = arith.constant -7 : i32
  %b = arith.constant 2 : i32
  %q = arith.divsi %a, %b : i32
  %r = arith.remsi %a, %b : i32
  %f = arith.floordivsi %a, %b : i32
  tt.return %q, %r, %f : i32, i32, i32
}

// CHECK-LABEL: @division_by_zero_stays
// CHECK: arith.divsi
// CHECK: arith.remui
tt.func @division_by_zero_stays() -> (i32, i32) {
  %a = arith.constant 7 : i32
  %z = arith.constant 0 : i32
  %q = arith.divsi %a, %z : i32
  %r = arith.remui %a, %z : i32
  tt.return %q, %r : i32, i32
}

// CHECK-LABEL: @shift_by_too_much_stays
// CHECK: arith.shli
tt.func @shift_by_too_much_stays() -> i32 {
  %a = arith.constant 1 : i32
  %b = arith.constant 40 : i32
  %r = arith.shli %a, %b : i32
  tt.return %r : i32
}

// CHECK-LABEL: @splats_fold_once
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<3> : tensor<128x128xi32>
// CHECK-NEXT: tt.return %[[C]]
tt.func @splats_fold_once() -> tensor<128x128xi32> {
  %a = arith.constant dense<1> : tensor<128x128xi32>
  %b = arith.constant dense<2> : tensor<128x128xi32>
  %r = arith.addi %a, %b : tensor<128x128xi32>
  tt.return %r : tensor<128x128xi32>
}

// CHECK-LABEL: @lists_fold_by_element
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<[5, -12, 0, -2]> : tensor<4xi32>
// CHECK-NEXT: tt.return %[[C]]
tt.func @lists_fold_by_element() -> tensor<4xi32> {
  %a = arith.constant dense<[1, 2, 3, 2147483647]> : tensor<4xi32>
  %b = arith.constant dense<[5, -6, 0, 2]> : tensor<4xi32>
  %r = arith.muli %a, %b : tensor<4xi32>
  tt.return %r : tensor<4xi32>
}

// CHECK-LABEL: @broken_promise_stays
// CHECK: arith.addi %{{.*}}, %{{.*}} overflow<nsw> : i8
tt.func @broken_promise_stays() -> i8 {
  %a = arith.constant 100 : i8
  %b = arith.constant 28 : i8
  %r = arith.addi %a, %b overflow<nsw> : i8
  tt.return %r : i8
}

// CHECK-LABEL: @identities
// CHECK-SAME: (%[[X:.*]]: i32
// CHECK-NEXT: tt.return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
tt.func @identities(%x: i32) -> (i32, i32, i32, i32, i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ones = arith.constant -1 : i32
  %a = arith.addi %zero, %x : i32
  %b = arith.muli %x, %one : i32
  %c = arith.andi %x, %ones : i32
  %d = arith.shrsi %x, %zero : i32
  %not = arith.xori %x, %ones : i32
  %e = arith.xori %not, %ones : i32
  tt.return %a, %b, %c, %d, %e : i32, i32, i32, i32, i32
}

// CHECK-LABEL: @constants_go_right
// CHECK-SAME: (%[[X:.*]]: i32
// CHECK-NEXT: %[[C:.*]] = arith.constant 5 : i32
// CHECK-NEXT: %[[M:.*]] = arith.muli %[[X]], %[[C]] : i32
// CHECK-NEXT: %[[P:.*]] = arith.cmpi sgt, %[[X]], %[[C]] : i32
// CHECK-NEXT: tt.return %[[M]], %[[P]]
tt.func @constants_go_right(%x: i32) -> (i32, i1) {
  %c = arith.constant 5 : i32
  %m = arith.muli %c, %x : i32
  %p = arith.cmpi slt, %c, %x : i32
  tt.return %m, %p : i32, i1
}

// CHECK-LABEL: @offsets_combine
// CHECK-SAME: (%[[X:.*]]: i32
// CHECK-DAG: %[[SEVEN:.*]] = arith.constant 7 : i32
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : i32
// CHECK-DAG: %[[SIX:.*]] = arith.constant 6 : i32
// CHECK-DAG: %[[A:.*]] = arith.addi %[[X]], %[[THREE]] : i32
// CHECK-DAG: %[[B:.*]] = arith.subi %[[SEVEN]], %[[X]] : i32
// CHECK-DAG: %[[C:.*]] = arith.muli %[[X]], %[[SIX]] : i32
// CHECK: tt.return %[[A]], %[[B]], %[[C]]
tt.func @offsets_combine(%x: i32) -> (i32, i32, i32) {
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %five = arith.constant 5 : i32
  %a0 = arith.addi %x, %one : i32
  %a = arith.addi %a0, %two : i32
  %b0 = arith.subi %x, %two : i32
  %b = arith.subi %five, %b0 : i32
  %c0 = arith.muli %x, %two : i32
  %c = arith.muli %c0, %three : i32
  tt.return %a, %b, %c : i32, i32, i32
}

// CHECK-LABEL: @offsets_of_tensors_stay
// CHECK-COUNT-2: arith.addi
tt.func @offsets_of_tensors_stay(%x: tensor<8xi32>) -> tensor<8xi32> {
  %one = arith.constant dense<1> : tensor<8xi32>
  %two = arith.constant dense<2> : tensor<8xi32>
  %a = arith.addi %x, %one : tensor<8xi32>
  %b = arith.addi %a, %two : tensor<8xi32>
  tt.return %b : tensor<8xi32>
}
