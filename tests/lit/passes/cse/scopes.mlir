// RUN: tilewright-opt %s -cse | filecheck %s

// CHECK-LABEL: @outer_op_serves_the_region
// CHECK: %[[X:.*]] = arith.muli
// CHECK-NEXT: scf.if
// CHECK-NEXT: tt.store %{{.*}}, %[[X]]
tt.func @outer_op_serves_the_region(%c: i1, %a: i32, %p: !tt.ptr<i32>) -> i32 {
  %x = arith.muli %a, %a : i32
  scf.if %c {
    %y = arith.muli %a, %a : i32
    tt.store %p, %y : !tt.ptr<i32>
  }
  tt.return %x : i32
}

// CHECK-LABEL: @inner_op_serves_nobody_else
// CHECK: scf.if
// CHECK: arith.muli
// CHECK: else
// CHECK: arith.muli
// CHECK: }
// CHECK: arith.muli
tt.func @inner_op_serves_nobody_else(%c: i1, %a: i32, %p: !tt.ptr<i32>) -> i32 {
  scf.if %c {
    %x = arith.muli %a, %a : i32
    tt.store %p, %x : !tt.ptr<i32>
  } else {
    %y = arith.muli %a, %a : i32
    tt.store %p, %y : !tt.ptr<i32>
  }
  %z = arith.muli %a, %a : i32
  tt.return %z : i32
}

// CHECK-LABEL: @dominating_block
// CHECK: %[[X:.*]] = arith.muli
// CHECK: ^bb1:
// CHECK-NEXT: tt.return %[[X]]
// CHECK: ^bb2:
// CHECK-NEXT: tt.return %[[X]]
tt.func @dominating_block(%c: i1, %a: i32) -> i32 {
  %x = arith.muli %a, %a : i32
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %y = arith.muli %a, %a : i32
  tt.return %y : i32
^bb2:
  tt.return %x : i32
}

// CHECK-LABEL: @sibling_blocks
// CHECK: ^bb1:
// CHECK-NEXT: arith.muli
// CHECK: ^bb2:
// CHECK-NEXT: arith.muli
tt.func @sibling_blocks(%c: i1, %a: i32) -> i32 {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %x = arith.muli %a, %a : i32
  tt.return %x : i32
^bb2:
  %y = arith.muli %a, %a : i32
  tt.return %y : i32
}

// CHECK-LABEL: @one_function
// CHECK: arith.constant 1 : i32
// CHECK-LABEL: @another_function
// CHECK: arith.constant 1 : i32
tt.func @one_function() -> i32 {
  %c = arith.constant 1 : i32
  tt.return %c : i32
}
tt.func @another_function() -> i32 {
  %c = arith.constant 1 : i32
  tt.return %c : i32
}
