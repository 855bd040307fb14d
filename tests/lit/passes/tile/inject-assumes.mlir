// RUN: tilewright-opt %s --inject-assumes | filecheck %s
// RUN: tilewright-opt %s --inject-assumes --inject-assumes | filecheck %s

// CHECK-LABEL: func.func @extents
// CHECK-SAME: (%[[A:.*]]: memref<?x64xf16, #global>, %[[G:.*]]: index)
func.func @extents(%A: memref<?x64xf16, #tile.space<global>>, %g: index) {
  // CHECK: %[[M:.*]] = memref.dim %[[A]]
  // CHECK: %[[P:.*]] = arith.cmpi sgt, %[[M]]
  // CHECK: tile.assume %[[P]], "dimension 0 of buffer #0 is greater than 0"
  // CHECK-NOT: dimension 1
  // CHECK: tile.kernel (%[[X:.*]], %[[Y:.*]]) in (%[[G]], 4)
  // CHECK: %[[IN:.*]] = arith.cmpi ult, %[[X]], %[[G]]
  // CHECK: tile.assume %[[IN]], "block index along axis x is within the grid"
  // CHECK: arith.cmpi ult, %[[Y]], %c4
  // CHECK: tile.assume {{.*}} "block index along axis y is within the grid"
  // CHECK-NOT: tile.assume
  tile.kernel (%bx, %by) in (%g, 4) threads(128) {
  }
  func.return
}
