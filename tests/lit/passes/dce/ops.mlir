// RUN: tilewright-opt %s -dce | filecheck %s

// CHECK-LABEL: @chain
// CHECK-NEXT: tt.return
tt.func @chain(%x: i32) {
  %a = arith.addi %x, %x : i32
  %b = arith.muli %a, %a : i32
  %c = arith.subi %b, %a : i32
  tt.return
}

// CHECK-LABEL: @unused_read
// CHECK-NEXT: tt.return
tt.func @unused_read(%p: !tt.ptr<f32>) {
  %v = tt.load %p : !tt.ptr<f32>
  tt.return
}

// CHECK-LABEL: @volatile_read_stays
// CHECK: tt.load
tt.func @volatile_read_stays(%p: !tt.ptr<f32>) {
  %v = tt.load %p {isVolatile = true} : !tt.ptr<f32>
  tt.return
}

// CHECK-LABEL: @writes_stay
// CHECK: tt.store
// CHECK: tt.atomic_rmw
tt.func @writes_stay(%p: !tt.ptr<i32>, %v: i32, %m: i1) {
  tt.store %p, %v : !tt.ptr<i32>
  %old = tt.atomic_rmw add, acq_rel, gpu, %p, %v, %m : (!tt.ptr<i32>, i32, i1) -> i32
  tt.return
}

// CHECK-LABEL: @inside_regions
// CHECK: scf.for
// CHECK-NEXT: tt.store
// CHECK-NEXT: }
tt.func @inside_regions(%p: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %unused = arith.muli %i, %i : i32
    tt.store %p, %i : !tt.ptr<i32>
  }
  tt.return
}

// CHECK-LABEL: @loop_without_effects
// CHECK-NEXT: tt.return
tt.func @loop_without_effects(%n: i32, %x: f32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (f32) : i32 {
    %b = arith.mulf %a, %a : f32
    scf.yield %b : f32
  }
  tt.return
}

// CHECK-LABEL: @unused_result_of_a_loop_stays
// CHECK: scf.for {{.*}} -> (f32, f32)
tt.func @unused_result_of_a_loop_stays(%n: i32, %x: f32) -> f32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r:2 = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %x) -> (f32, f32) : i32 {
    %c = arith.mulf %a, %a : f32
    scf.yield %c, %c : f32, f32
  }
  tt.return %r#0 : f32
}
