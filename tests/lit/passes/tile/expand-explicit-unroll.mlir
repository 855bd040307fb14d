// RUN: tilewright-opt %s --expand-explicit-unroll --split-input-file | filecheck %s
// RUN: not tilewright-opt %s --expand-explicit-unroll=max-trip-count=2 --split-input-file 2>&1 | filecheck %s --check-prefix=MANY

// MANY: error[TW1037]: explicit=True: trip count 3 exceeds the limit of 2 for full unrolling

// CHECK-LABEL: func.func @turns
// CHECK-SAME: (%{{.*}}: memref<8xf32, #global>, %[[V:.*]]: f32)
func.func @turns(%out: memref<8xf32, #tile.space<global>>, %v: f32) {
  tile.kernel (%bx) in (1) threads(128) {
    %c7 = arith.constant 7 : index
    %c1 = arith.constant 1 : index
    %c-2 = arith.constant -2 : index
    // CHECK: arith.constant -2
    // CHECK: %[[A:.*]] = arith.constant 7
    // CHECK: memref.store %[[V]], %{{.*}}[%[[A]]]
    // CHECK: %[[B:.*]] = arith.constant 5
    // CHECK: memref.store %[[V]], %{{.*}}[%[[B]]]
    // CHECK: %[[C:.*]] = arith.constant 3
    // CHECK: memref.store %[[V]], %{{.*}}[%[[C]]]
    // CHECK-NOT: memref.store
    // CHECK-NOT: scf.for
    scf.for %i = %c7 to %c1 step %c-2 {
      memref.store %v, %out[%i] : memref<8xf32, #tile.space<global>>
    } {tile.unroll_explicit}
  }
  func.return
}

// -----

// A loop in a loop; the outer index is part of the inner one's work.
// CHECK-LABEL: func.func @nested
func.func @nested(%out: memref<4xf32, #tile.space<global>>, %v: f32) {
  tile.kernel (%bx) in (1) threads(128) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    // CHECK-COUNT-4: memref.store
    // CHECK-NOT: memref.store
    scf.for %i = %c0 to %c2 step %c1 {
      scf.for %j = %c0 to %c2 step %c1 {
        %o = arith.muli %i, %c2 : index
        %p = arith.addi %o, %j : index
        memref.store %v, %out[%p] : memref<4xf32, #tile.space<global>>
      } {tile.unroll_explicit}
    } {tile.unroll_explicit}
  }
  func.return
}

// -----

// Values handed from turn to turn; other loops stay.
// CHECK-LABEL: func.func @carried
func.func @carried(%x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK: %[[A:.*]] = arith.addf %[[X:.*]], %[[X]]
  // CHECK: %[[B:.*]] = arith.addf %[[A]], %[[A]]
  // CHECK: scf.for
  // CHECK: return %[[B]]
  %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %x) -> (f32) {
    %s = arith.addf %a, %a : f32
    scf.yield %s : f32
  } {tile.unroll_explicit}
  scf.for %i = %c0 to %c2 step %c1 {
    tile.print "turn", %i : index
  } {tile.unroll}
  func.return %r : f32
}
