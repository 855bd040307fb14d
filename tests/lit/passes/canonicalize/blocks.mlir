// RUN: tilewright-opt %s -canonicalize | filecheck %s

// CHECK-LABEL: @decided_branch
// CHECK-SAME: (%[[X:.*]]: i32
// CHECK-NEXT: tt.return %[[X]]
// CHECK-NEXT: }
tt.func @decided_branch(%x: i32) -> i32 {
  %true = arith.constant true
  cf.cond_br %true, ^bb1(%x : i32), ^bb2
^bb1(%a: i32):
  tt.return %a : i32
^bb2:
  %zero = arith.constant 0 : i32
  tt.return %zero : i32
}

// CHECK-LABEL: @one_target
// CHECK-NEXT: tt.return
// CHECK-NEXT: }
tt.func @one_target(%c: i1) {
  cf.cond_br %c, ^bb1, ^bb1
^bb1:
  tt.return
}

// CHECK-LABEL: @early_return_stays
// CHECK: cf.cond_br %{{.*}}, ^bb1, ^bb2
// CHECK: ^bb1:
// CHECK-NEXT: tt.return
// CHECK: ^bb2:
// CHECK-NEXT: tt.store
tt.func @early_return_stays(%c: i1, %p: !tt.ptr<i32>, %x: i32) {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  tt.return
^bb2:
  cf.br ^bb3
^bb3:
  tt.store %p, %x : !tt.ptr<i32>
  tt.return
}

// CHECK-LABEL: @unreachable_cycle
// CHECK-NEXT: tt.return
// CHECK-NEXT: }
tt.func @unreachable_cycle(%x: i32) {
  tt.return
^bb1(%a: i32):
  %b = arith.addi %a, %x : i32
  cf.br ^bb2(%b : i32)
^bb2(%c: i32):
  cf.br ^bb1(%c : i32)
}
