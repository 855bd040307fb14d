// RUN: tilewright-opt %s -canonicalize | filecheck %s

// CHECK-LABEL: @taken_branch
// CHECK-SAME: (%[[X:.*]]: i32
// CHECK-NEXT: tt.return %[[X]]
tt.func @taken_branch(%x: i32) -> i32 {
  %true = arith.constant true
  %r = scf.if %true -> (i32) {
    scf.yield %x : i32
  } else {
    %one = arith.constant 1 : i32
    scf.yield %one : i32
  }
  tt.return %r : i32
}

// CHECK-LABEL: @branch_not_taken
// CHECK-NEXT: tt.return
tt.func @branch_not_taken(%p: !tt.ptr<i32>, %x: i32) {
  %false = arith.constant false
  scf.if %false {
    tt.store %p, %x : !tt.ptr<i32>
  }
  tt.return
}

// CHECK-LABEL: @same_on_both_sides
// CHECK-SAME: (%{{.*}}: i1{{.*}}, %[[X:.*]]: i32
// CHECK-NEXT: tt.return %[[X]]
tt.func @same_on_both_sides(%c: i1, %x: i32) -> i32 {
  %r = scf.if %c -> (i32) {
    scf.yield %x : i32
  } else {
    scf.yield %x : i32
  }
  tt.return %r : i32
}

// CHECK-LABEL: @choice_of_outer_values
// CHECK-SAME: (%[[C:.*]]: i1{{.*}}, %[[P:.*]]: !tt.ptr<f32>{{.*}}, %[[Q:.*]]: !tt.ptr<f32>
// CHECK-NEXT: %[[R:.*]] = arith.select %[[C]], %[[P]], %[[Q]] : !tt.ptr<f32>
// CHECK-NEXT: tt.return %[[R]]
tt.func @choice_of_outer_values(%c: i1, %p: !tt.ptr<f32>, %q: !tt.ptr<f32>) -> !tt.ptr<f32> {
  %r = scf.if %c -> (!tt.ptr<f32>) {
    scf.yield %p : !tt.ptr<f32>
  } else {
    scf.yield %q : !tt.ptr<f32>
  }
  tt.return %r : !tt.ptr<f32>
}

// CHECK-LABEL: @unused_result
// CHECK: %[[R:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK-NEXT: tt.load
// CHECK-NEXT: scf.yield %{{.*}} : f32
// CHECK: tt.return %[[R]]
tt.func @unused_result(%c: i1, %p: !tt.ptr<f32>, %x: f32) -> f32 {
  %r:2 = scf.if %c -> (f32, f32) {
    %v = tt.load %p : !tt.ptr<f32>
    %w = arith.addf %v, %v : f32
    scf.yield %v, %w : f32, f32
  } else {
    scf.yield %x, %x : f32, f32
  }
  tt.return %r#0 : f32
}

// CHECK-LABEL: @condition_known_inside
// CHECK-DAG: %[[TRUE:.*]] = arith.constant true
// CHECK-DAG: %[[FALSE:.*]] = arith.constant false
// CHECK: scf.if
// CHECK-NEXT: tt.store %{{.*}}, %[[TRUE]]
// CHECK: else
// CHECK-NEXT: tt.store %{{.*}}, %[[FALSE]]
tt.func @condition_known_inside(%c: i1, %p: !tt.ptr<i1>) {
  scf.if %c {
    tt.store %p, %c : !tt.ptr<i1>
  } else {
    tt.store %p, %c : !tt.ptr<i1>
  }
  tt.return
}

// CHECK-LABEL: @empty_else
// CHECK: scf.if
// CHECK-NOT: else
// CHECK: tt.return
tt.func @empty_else(%c: i1, %p: !tt.ptr<i32>, %x: i32) {
  scf.if %c {
    tt.store %p, %x : !tt.ptr<i32>
  } else {
  }
  tt.return
}

// CHECK-LABEL: @does_nothing
// CHECK-NEXT: tt.return
tt.func @does_nothing(%c: i1, %x: f32) {
  %r = scf.if %c -> (f32) {
    %a = arith.addf %x, %x : f32
    scf.yield %a : f32
  } else {
    scf.yield %x : f32
  }
  tt.return
}

// CHECK-LABEL: @while_never
// CHECK-SAME: (%[[X:.*]]: i32
// CHECK-NEXT: %[[S:.*]] = arith.muli %[[X]], %[[X]] : i32
// CHECK-NEXT: tt.return %[[S]]
tt.func @while_never(%x: i32) -> i32 {
  %false = arith.constant false
  %r = scf.while (%a = %x) : (i32) -> i32 {
    %s = arith.muli %a, %a : i32
    scf.condition(%false) %s : i32
  } do {
  ^bb0(%b: i32):
    scf.yield %b : i32
  }
  tt.return %r : i32
}
