// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt -mlir-print-op-generic %s | tilewright-opt | filecheck %s

// CHECK-LABEL: tt.func @for_loops
// CHECK-SAME: (%[[N:.*]]: i32, %[[X:.*]]: f32)
tt.func @for_loops(%n: i32, %x: f32) {
  // CHECK: %[[SUM:.*]]:2 = scf.for %[[I:.*]] = %[[N]] to %[[N]] step %[[N]] iter_args(%[[A:.*]] = %[[X]], %[[B:.*]] = %[[N]]) -> (f32, i32)  : i32 {
  // CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[A]], %[[A]] : f32
  // CHECK-NEXT: scf.yield %[[NEXT]], %[[B]] : f32, i32
  // CHECK-NEXT: } {tt.num_stages = 3 : i32}
  %sum:2 = scf.for %i = %n to %n step %n iter_args(%a = %x, %b = %n) -> (f32, i32) : i32 {
    %next = arith.addf %a, %a : f32
    scf.yield %next, %b : f32, i32
  } {tt.num_stages = 3 : i32}
  // CHECK: scf.for unsigned %{{.*}} = %[[SUM]]#1 to %[[N]] step %[[N]]  : i32 {
  // CHECK-NEXT: }
  scf.for unsigned %i = %sum#1 to %n step %n : i32 {
    scf.yield
  }
  tt.return
}

// CHECK-LABEL: tt.func @while_loop
tt.func @while_loop(%n: i32, %c: i1) {
  // CHECK: scf.while (%[[P:.*]] = %{{.*}}) : (i32) -> i32 {
  // CHECK-NEXT: scf.condition(%{{.*}}) %[[P]] : i32
  // CHECK-NEXT: } do {
  // CHECK-NEXT: ^bb0(%[[Q:.*]]: i32):
  // CHECK-NEXT: scf.yield %[[Q]] : i32
  // CHECK-NEXT: } attributes {a}
  %0 = scf.while (%p = %n) : (i32) -> i32 {
    scf.condition(%c) %p : i32
  } do {
  ^bb0(%q: i32):
    scf.yield %q : i32
  } attributes {a}
  tt.return
}

// CHECK-LABEL: tt.func @choices
tt.func @choices(%n: index, %c: i1, %x: f32) {
  // CHECK: scf.if %{{.*}} {
  // CHECK-NEXT: } else {
  // CHECK-NEXT: }
  scf.if %c {
  } else {
  }
  // CHECK: scf.if %{{.*}} -> (f32) {
  %0 = scf.if %c -> f32 {
    scf.yield %x : f32
  } else {
    scf.yield %x : f32
  }
  // CHECK: scf.index_switch %{{.*}} -> f32
  // CHECK-NEXT: case 2 {
  %1 = scf.index_switch %n -> f32
  case 2 {
    scf.yield %x : f32
  }
  default {
    scf.yield %0 : f32
  }
  tt.return
}
