// RUN: tilewright-opt %s --normalize-indices --split-input-file | filecheck %s

// (i * 32 + j) / 32 is i, the remainder is j.
// CHECK-LABEL: func.func @split
func.func @split(%A: memref<4x32xf32, #tile.space<global>>, %B: memref<128xf32, #tile.space<global>>) {
  %c32 = arith.constant 32 : index
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) in (4, 32)
    tile.parallel (%i, %j) in (4, 32) {
      // CHECK-NEXT: %[[M:.*]] = arith.muli %[[I]]
      // CHECK-NEXT: %[[F:.*]] = arith.addi %[[M]], %[[J]]
      %m = arith.muli %i, %c32 : index
      %flat = arith.addi %m, %j : index
      %q = arith.floordivsi %flat, %c32 : index
      %r = arith.remui %flat, %c32 : index
      // CHECK-NEXT: %[[V:.*]] = memref.load %{{.*}}[%[[I]], %[[J]]]
      // CHECK-NEXT: memref.store %[[V]], %{{.*}}[%[[F]]]
      %v = memref.load %A[%q, %r] : memref<4x32xf32, #tile.space<global>>
      memref.store %v, %B[%flat] : memref<128xf32, #tile.space<global>>
    }
  }
  func.return
}

// -----

// A guard that always holds goes, one that may fail stays.
// CHECK-LABEL: func.func @guards
func.func @guards(%B: memref<128xf32, #tile.space<global>>, %x: f32) {
  %c32 = arith.constant 32 : index
  %c100 = arith.constant 100 : index
  %c128 = arith.constant 128 : index
  tile.kernel (%bx) in (1) threads(128) {
    tile.parallel (%i, %j) in (4, 32) {
      %m = arith.muli %i, %c32 : index
      %flat = arith.addi %m, %j : index
      %always = arith.cmpi slt, %flat, %c128 : index
      // CHECK-NOT: scf.if
      // CHECK: memref.store
      scf.if %always {
        memref.store %x, %B[%flat] : memref<128xf32, #tile.space<global>>
      }
      // CHECK: %[[S:.*]] = arith.cmpi slt
      // CHECK-NEXT: scf.if %[[S]]
      %some = arith.cmpi slt, %flat, %c100 : index
      scf.if %some {
        memref.store %x, %B[%flat] : memref<128xf32, #tile.space<global>>
        // CHECK-NOT: scf.if
        %again = arith.cmpi slt, %flat, %c128 : index
        scf.if %again {
          memref.store %x, %B[%j] : memref<128xf32, #tile.space<global>>
        }
      }
    }
  }
  func.return
}

// -----

// Minima, and what assumptions say about arguments.
// CHECK-LABEL: func.func @assumed
// CHECK-SAME: (%[[N:.*]]: index,
func.func @assumed(%n: index, %out: memref<4xindex, #tile.space<global>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  %more = arith.addi %n, %c5 : index
  %least = arith.minsi %n, %more : index
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0
  // CHECK: memref.store %[[N]]
  memref.store %least, %out[%c0] : memref<4xindex, #tile.space<global>>
  %positive = arith.cmpi sgt, %n, %c0 : index
  tile.assume %positive
  // Not known yet, whether n is a multiple of 8.
  // CHECK: %[[R:.*]] = arith.remsi %[[N]]
  // CHECK: memref.store %[[R]]
  %before = arith.remsi %n, %c8 : index
  memref.store %before, %out[%c1] : memref<4xindex, #tile.space<global>>
  %zero = arith.cmpi eq, %before, %c0 : index
  tile.assume %zero
  %next = arith.addi %n, %c8 : index
  %after = arith.remsi %next, %c8 : index
  // CHECK: memref.store %[[C0]], %{{.*}}[%{{.*}}]
  memref.store %after, %out[%c2] : memref<4xindex, #tile.space<global>>
  func.return
}

// -----

// An index below zero is outside, as a number and as a sum that turns out to be one.
// CHECK-LABEL: func.func @negative
func.func @negative(%A: memref<8x?xf32, #tile.space<global>>, %B: memref<8xf32, #tile.space<global>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m1 = arith.constant -1 : index
  // CHECK: memref.load %{{.*}}[%[[M1:.*]], %[[M1]]]
  %v = memref.load %A[%m1, %m1] : memref<8x?xf32, #tile.space<global>>
  // CHECK: tile.region %{{.*}}[-2] [2]
  %r = tile.region %B[-2] [2] : memref<8xf32, #tile.space<global>> to !tile.region<2xf32, #tile.space<global>>
  // CHECK: tile.kernel
  tile.kernel (%bx) in (1) threads(32) {
    %s = tile.alloc : memref<2xf32, #tile.space<shared>>
    tile.copy %r -> %s : !tile.region<2xf32, #tile.space<global>> -> memref<2xf32, #tile.space<shared>>
    %before = arith.subi %bx, %c1 : index
    // CHECK-NOT: arith.subi
    // CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}]
    memref.store %v, %B[%before] : memref<8xf32, #tile.space<global>>
  }
  func.return
}

// -----

// Storing what is there does nothing, unless it changed in between.
// CHECK-LABEL: func.func @idle
func.func @idle(%A: memref<8xf32, #tile.space<global>>, %unused: index, %x: f32) {
  tile.kernel (%bx) in (4) threads(32) {
    // CHECK: tile.kernel
    // CHECK-NEXT: %[[V:.*]] = memref.load
    // CHECK-NEXT: memref.store %{{.*}}, %{{.*}}
    // CHECK-NEXT: memref.store %[[V]]
    %u = memref.load %A[%bx] : memref<8xf32, #tile.space<global>>
    memref.store %u, %A[%bx] : memref<8xf32, #tile.space<global>>
    %v = memref.load %A[%bx] : memref<8xf32, #tile.space<global>>
    memref.store %x, %A[%bx] : memref<8xf32, #tile.space<global>>
    memref.store %v, %A[%bx] : memref<8xf32, #tile.space<global>>
  }
  func.return
}

// -----

// Integers of a width may wrap: nothing is concluded from them.
// CHECK-LABEL: func.func @wraps
func.func @wraps(%x: i32, %out: memref<1xi32, #tile.space<global>>) {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2 : i32
  // CHECK: arith.muli
  // CHECK: arith.divsi
  %double = arith.muli %x, %two : i32
  %half = arith.divsi %double, %two : i32
  memref.store %half, %out[%c0] : memref<1xi32, #tile.space<global>>
  func.return
}
