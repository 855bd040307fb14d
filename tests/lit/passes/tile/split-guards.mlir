// RUN: tilewright-opt %s --split-guards --split-input-file | filecheck %s

#shared = #tile.space<shared>
#global = #tile.space<global>

// CHECK-LABEL: func.func @two
// CHECK-SAME: (%[[A:.*]]: memref<?x64xf16, #global>, %[[C:.*]]: i1)
func.func @two(%A: memref<?x64xf16, #global>, %c: i1) {
  tile.kernel (%bx) in (1) threads(128) {
    %s = tile.alloc : memref<64x64xf16, #shared>
    tile.pipeline %k = 0 to 4 num_stages(2) {
      // CHECK: scf.if %[[C]] {
      // CHECK-NEXT: %[[R:.*]] = tile.region
      // CHECK-NEXT: tile.copy %[[R]] -> %[[S:.*]] :
      // CHECK-NEXT: }
      // CHECK-NEXT: scf.if %[[C]] {
      // CHECK-NEXT: %[[Q:.*]] = tile.region
      // CHECK-NEXT: tile.copy %[[S]] -> %[[Q]] :
      // CHECK-NEXT: }
      scf.if %c {
        %r = tile.region %A[%k, 0] [64, 64] : memref<?x64xf16, #global> to !tile.region<64x64xf16, #global>
        tile.copy %r -> %s : !tile.region<64x64xf16, #global> -> memref<64x64xf16, #shared>
        tile.copy %s -> %r : memref<64x64xf16, #shared> -> !tile.region<64x64xf16, #global>
      }
    }
  }
  func.return
}

// -----

// A body whose statements hand on a loaded value stays whole, and so do guards outside of pipelines.
// CHECK-LABEL: func.func @whole
func.func @whole(%A: memref<64xf16, #tile.space<global>>, %B: memref<64xf16, #tile.space<global>>, %c: i1) {
  tile.kernel (%bx) in (1) threads(128) {
    tile.pipeline %k = 0 to 4 num_stages(2) {
      // CHECK: scf.if
      // CHECK-NEXT: memref.load
      // CHECK-NEXT: memref.store
      // CHECK-NEXT: memref.store
      scf.if %c {
        %v = memref.load %A[%k] : memref<64xf16, #tile.space<global>>
        memref.store %v, %B[%k] : memref<64xf16, #tile.space<global>>
        memref.store %v, %A[%bx] : memref<64xf16, #tile.space<global>>
      }
    }
    // CHECK: scf.if
    // CHECK-NEXT: tile.sync
    // CHECK-NEXT: tile.sync
    scf.if %c {
      tile.sync
      tile.sync
    }
  }
  func.return
}

// -----

// A guard in a guard, and an else.
// CHECK-LABEL: func.func @nested
// CHECK-SAME: (%[[C:.*]]: i1, %[[D:.*]]: i1)
func.func @nested(%c: i1, %d: i1) {
  tile.kernel (%bx) in (1) threads(128) {
    tile.pipeline %k = 0 to 4 num_stages(2) {
      // CHECK: scf.if %[[C]] {
      // CHECK-NEXT: tile.print "a"
      // CHECK: scf.if %[[C]] {
      // CHECK-NEXT: scf.if %[[D]] {
      // CHECK-NEXT: tile.print "b"
      // CHECK: scf.if %[[C]] {
      // CHECK-NEXT: tile.print "d"
      // CHECK-NEXT: tile.print "e"
      // CHECK-NEXT: } else {
      scf.if %c {
        tile.print "a"
        scf.if %d {
          tile.print "b"
        }
      }
      scf.if %c {
        tile.print "d"
        tile.print "e"
      } else {
        tile.print "f"
      }
    }
  }
  func.return
}
