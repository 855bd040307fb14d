// RUN: tilewright-opt %s -loop-invariant-code-motion | filecheck %s

// CHECK-LABEL: @invariant_op
// CHECK: %[[X:.*]] = arith.muli
// CHECK-NEXT: scf.for
// CHECK-NEXT: tt.store %{{.*}}, %[[X]]
tt.func @invariant_op(%p: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %x = arith.muli %n, %n : i32
    tt.store %p, %x : !tt.ptr<i32>
  }
  tt.return
}

// CHECK-LABEL: @chain_out_of_two_loops
// CHECK: arith.constant 3 : i32
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.for
// CHECK-NEXT: tt.store
tt.func @chain_out_of_two_loops(%p: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    scf.for %j = %zero to %n step %one : i32 {
      %c = arith.constant 3 : i32
      %x = arith.muli %n, %c : i32
      %y = arith.addi %x, %n : i32
      tt.store %p, %y : !tt.ptr<i32>
    }
  }
  tt.return
}

// CHECK-LABEL: @out_of_the_inner_loop_only
// CHECK: scf.for
// CHECK-NEXT: arith.muli
// CHECK-NEXT: scf.for
// CHECK-NEXT: tt.store
tt.func @out_of_the_inner_loop_only(%p: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    scf.for %j = %zero to %n step %one : i32 {
      %x = arith.muli %i, %n : i32
      tt.store %p, %x : !tt.ptr<i32>
    }
  }
  tt.return
}

// CHECK-LABEL: @division_by_an_unknown_stays
// CHECK: scf.for
// CHECK-NEXT: arith.divsi
// CHECK-NEXT: arith.remsi
tt.func @division_by_an_unknown_stays(%p: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %x = arith.divsi %n, %n : i32
    %y = arith.remsi %n, %n : i32
    tt.store %p, %x : !tt.ptr<i32>
    tt.store %p, %y : !tt.ptr<i32>
  }
  tt.return
}

// CHECK-LABEL: @division_by_a_harmless_constant_moves
// CHECK: arith.divsi
// CHECK-NEXT: scf.for
tt.func @division_by_a_harmless_constant_moves(%p: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %seven = arith.constant 7 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %x = arith.divsi %n, %seven : i32
    tt.store %p, %x : !tt.ptr<i32>
  }
  tt.return
}

// CHECK-LABEL: @division_by_minus_one_stays
// CHECK: scf.for
// CHECK-NEXT: arith.divsi
tt.func @division_by_minus_one_stays(%p: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %minus_one = arith.constant -1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %x = arith.divsi %n, %minus_one : i32
    tt.store %p, %x : !tt.ptr<i32>
  }
  tt.return
}

// CHECK-LABEL: @reads_stay
// CHECK: scf.for
// CHECK-NEXT: tt.load
tt.func @reads_stay(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %x = tt.load %p : !tt.ptr<i32>
    tt.store %q, %x : !tt.ptr<i32>
  }
  tt.return
}

// CHECK-LABEL: @reduction_moves_with_its_region
// CHECK: "tt.reduce"
// CHECK: scf.for
// CHECK-NEXT: tt.store
tt.func @reduction_moves_with_its_region(%p: !tt.ptr<f32>, %t: tensor<64xf32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %s = "tt.reduce"(%t) <{axis = 0 : i32}> ({
    ^bb0(%l: f32, %r: f32):
      %a = arith.addf %l, %r : f32
      tt.reduce.return %a : f32
    }) : (tensor<64xf32>) -> f32
    tt.store %p, %s : !tt.ptr<f32>
  }
  tt.return
}

// CHECK-LABEL: @branch_moves_whole
// CHECK: scf.if
// CHECK: scf.for
// CHECK-NEXT: tt.store
tt.func @branch_moves_whole(%p: !tt.ptr<i32>, %c: i1, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %s = scf.if %c -> (i32) {
      %a = arith.muli %n, %n : i32
      scf.yield %a : i32
    } else {
      scf.yield %n : i32
    }
    tt.store %p, %s : !tt.ptr<i32>
  }
  tt.return
}

// CHECK-LABEL: @loop_that_may_not_end_stays
// CHECK: scf.for
// CHECK-NEXT: scf.while
tt.func @loop_that_may_not_end_stays(%p: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %s = scf.while (%a = %n) : (i32) -> i32 {
      %go = arith.cmpi ne, %a, %zero : i32
      scf.condition(%go) %a : i32
    } do {
    ^bb0(%b: i32):
      %c = arith.addi %b, %one : i32
      scf.yield %c : i32
    }
    tt.store %p, %s : !tt.ptr<i32>
  }
  tt.return
}
