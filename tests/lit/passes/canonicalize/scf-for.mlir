// RUN: tilewright-opt %s -canonicalize | filecheck %s

// CHECK-LABEL: @zero_trips
// CHECK-SAME: (%[[X:.*]]: i32
// CHECK-NEXT: tt.return %[[X]]
tt.func @zero_trips(%x: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %zero step %one iter_args(%q = %x) -> (i32) : i32 {
    %w = arith.muli %q, %q : i32
    scf.yield %w : i32
  }
  tt.return %r : i32
}

// CHECK-LABEL: @same_bounds
// CHECK-SAME: (%[[N:.*]]: i32{{.*}}, %[[X:.*]]: i32
// CHECK-NEXT: tt.return %[[X]]
tt.func @same_bounds(%n: i32, %x: i32) -> i32 {
  %one = arith.constant 1 : i32
  %r = scf.for %i = %n to %n step %one iter_args(%q = %x) -> (i32) : i32 {
    %w = arith.muli %q, %q : i32
    scf.yield %w : i32
  }
  tt.return %r : i32
}

// CHECK-LABEL: @one_trip
// CHECK-SAME: (%[[X:.*]]: i32
// CHECK: %[[C:.*]] = arith.constant 3 : i32
// CHECK-NEXT: %[[R:.*]] = arith.addi %[[X]], %[[C]] : i32
// CHECK-NEXT: tt.return %[[R]]
tt.func @one_trip(%x: i32) -> i32 {
  %lower = arith.constant 3 : i32
  %upper = arith.constant 8 : i32
  %step = arith.constant 5 : i32
  %r = scf.for %i = %lower to %upper step %step iter_args(%q = %x) -> (i32) : i32 {
    %w = arith.addi %q, %i : i32
    scf.yield %w : i32
  }
  tt.return %r : i32
}

// CHECK-LABEL: @two_trips_stay
// CHECK: scf.for
tt.func @two_trips_stay(%x: i32) -> i32 {
  %lower = arith.constant 3 : i32
  %upper = arith.constant 9 : i32
  %step = arith.constant 5 : i32
  %r = scf.for %i = %lower to %upper step %step iter_args(%q = %x) -> (i32) : i32 {
    %w = arith.addi %q, %i : i32
    scf.yield %w : i32
  }
  tt.return %r : i32
}

// -1 is a large number without its sign.

// CHECK-LABEL: @unsigned_bounds
// CHECK: scf.for unsigned
tt.func @unsigned_bounds(%p: !tt.ptr<i32>) {
  %lower = arith.constant 0 : i32
  %upper = arith.constant -1 : i32
  %step = arith.constant 1 : i32
  scf.for unsigned %i = %lower to %upper step %step : i32 {
    tt.store %p, %i : !tt.ptr<i32>
  }
  tt.return
}

// CHECK-LABEL: @signed_bounds
// CHECK-NEXT: tt.return
tt.func @signed_bounds(%p: !tt.ptr<i32>) {
  %lower = arith.constant 0 : i32
  %upper = arith.constant -1 : i32
  %step = arith.constant 1 : i32
  scf.for %i = %lower to %upper step %step : i32 {
    tt.store %p, %i : !tt.ptr<i32>
  }
  tt.return
}

// CHECK-LABEL: @invariants_are_not_carried
// CHECK-SAME: (%[[N:.*]]: i32{{.*}}, %[[X:.*]]: f32{{.*}}, %[[Y:.*]]: f32
// CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[X]]) -> (f32)
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[ACC]], %[[Y]] : f32
// CHECK-NEXT: scf.yield %[[S]] : f32
// CHECK: tt.return %[[R]], %[[Y]]
tt.func @invariants_are_not_carried(%n: i32, %x: f32, %y: f32) -> (f32, f32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r:3 = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %y, %c = %n) -> (f32, f32, i32) : i32 {
    %s = arith.addf %a, %b : f32
    scf.yield %s, %b, %i : f32, f32, i32
  }
  tt.return %r#0, %r#1 : f32, f32
}

// CHECK-LABEL: @equals_are_carried_once
// CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
// CHECK: tt.return %[[R]], %[[R]]
tt.func @equals_are_carried_once(%n: i32, %x: f32) -> (f32, f32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r:2 = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %x) -> (f32, f32) : i32 {
    %s = arith.addf %a, %b : f32
    scf.yield %s, %s : f32, f32
  }
  tt.return %r#0, %r#1 : f32, f32
}

// CHECK-LABEL: @attributes_stay
// CHECK: scf.for
// CHECK: } {tt.num_stages = 3 : i32}
tt.func @attributes_stay(%n: i32, %x: f32, %y: f32) -> f32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r:2 = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %y) -> (f32, f32) : i32 {
    %s = arith.addf %a, %b : f32
    scf.yield %s, %b : f32, f32
  } {tt.num_stages = 3 : i32}
  tt.return %r#0 : f32
}

// CHECK-LABEL: @pure_loop_without_users_goes
// CHECK-NEXT: tt.return
tt.func @pure_loop_without_users_goes(%n: i32, %x: f32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (f32) : i32 {
    %s = arith.addf %a, %a : f32
    scf.yield %s : f32
  }
  tt.return
}
