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

// What is a multiple of the divisor is divided by itself, and has no part in the remainder.
// CHECK-LABEL: func.func @sums(
// CHECK: [[STEP:%.*]] = arith.muli %{{.*}}, %c1024
// CHECK: [[MINE:%.*]] = arith.muli %{{.*}}, %c4
// CHECK: [[WHOLE:%.*]] = arith.divui [[STEP]], %c64
// CHECK-NEXT: [[PART:%.*]] = arith.divui [[MINE]], %c64
// CHECK-NEXT: [[ROW:%.*]] = arith.addi [[WHOLE]], [[PART]]
// CHECK: [[COLUMN:%.*]] = arith.remui [[MINE]], %c64
// CHECK: memref.store [[COLUMN]], %{{.*}}[[ROW]]
func.func @sums(%A: memref<512xindex, #global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c1024 = arith.constant 1024 : index
  tile.kernel (%bx) in (1) threads(256) {
    %tid = gpu.thread_id x
    scf.for %i = %c0 to %c8 step %c1 {
      %step = arith.muli %i, %c1024 : index
      %mine = arith.muli %tid, %c4 : index
      %sum = arith.addi %step, %mine : index
      %row = arith.floordivsi %sum, %c64 : index
      %column = arith.remsi %sum, %c64 : index
      memref.store %column, %A[%row] : memref<512xindex, #global>
    }
  }
  func.return
}

// A part that may be negative keeps the sum whole.
// CHECK-LABEL: func.func @negative(
// CHECK: [[LESS:%.*]] = arith.addi %{{.*}}, %c-8
// CHECK: [[SUM:%.*]] = arith.addi [[LESS]], %c128
// CHECK-NEXT: arith.divui [[SUM]], %c64
func.func @negative(%A: memref<512xindex, #global>) {
  %c64 = arith.constant 64 : index
  %c-8 = arith.constant -8 : index
  %c128 = arith.constant 128 : index
  tile.kernel (%bx) in (1) threads(256) {
    %tid = gpu.thread_id x
    %less = arith.addi %tid, %c-8 : index
    %sum = arith.addi %less, %c128 : index
    %row = arith.floordivsi %sum, %c64 : index
    memref.store %row, %A[%row] : memref<512xindex, #global>
  }
  func.return
}
