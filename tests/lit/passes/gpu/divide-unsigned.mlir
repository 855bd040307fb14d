// RUN: tilewright-opt -divide-unsigned %s | filecheck %s

#global = #tile.space<global>

// Threads of a role know their indices; all threads of the block may be below 256.
// CHECK-LABEL: func.func @role(
// CHECK: [[BEFORE:%.*]] = arith.floordivsi
// CHECK: role "group1" threads(256 to 384)
// CHECK: [[MINE:%.*]] = arith.subi
// CHECK-NEXT: [[ROW:%.*]] = arith.divui [[MINE]], %c8
// CHECK-NEXT: [[COLUMN:%.*]] = arith.remui [[MINE]], %c8
// CHECK-NEXT: arith.divui [[ROW]], %c4
func.func @role(%A: memref<64xindex, #global>) {
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c256 = arith.constant 256 : index
  tile.kernel (%bx) in (1) threads(384) {
    %tid = gpu.thread_id x
    %other = arith.subi %tid, %c256 : index
    %before = arith.floordivsi %other, %c8 : index
    memref.store %before, %A[%c4] : memref<64xindex, #global>
    tile.ws custom
    role "group1" threads(256 to 384) {
      %mine = arith.subi %tid, %c256 : index
      %row = arith.floordivsi %mine, %c8 : index
      %column = arith.remsi %mine, %c8 : index
      %atom = arith.divsi %row, %c4 : index
      memref.store %column, %A[%atom] : memref<64xindex, #global>
    }
  }
  func.return
}

// An argument may be negative, and so may the divisor.
// CHECK-LABEL: func.func @unknown(
// CHECK: arith.floordivsi
// CHECK: arith.remsi
func.func @unknown(%A: memref<64xindex, #global>, %n: index) {
  %c8 = arith.constant 8 : index
  tile.kernel (%bx) in (16) threads(32) {
    %q = arith.floordivsi %n, %c8 : index
    %r = arith.remsi %bx, %n : index
    memref.store %q, %A[%r] : memref<64xindex, #global>
  }
  func.return
}
