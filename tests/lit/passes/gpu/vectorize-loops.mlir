// RUN: tilewright-opt -vectorize-loops %s | filecheck %s

#global = #tile.space<global>

// CHECK-LABEL: func.func @f(
// CHECK: [[A:%.*]] = tile.alloc "buffer_lanes" : memref<8xf16
// CHECK: simt.move %arg0[%{{.*}}] -> [[A]][%{{.*}}] lanes(8)
// CHECK: [[B:%.*]] = tile.alloc "buffer_lanes" : memref<8xf32
// CHECK: scf.for
// CHECK: memref.load [[A]]
// CHECK: memref.store %{{.*}}, [[B]]
// CHECK: } {tile.unroll}
// CHECK-COUNT-2: simt.move [[B]][%{{.*}}] -> %arg1[%{{.*}}] lanes(4)
func.func @f(%A: memref<1024xf16, #global>, %B: memref<1024xf32, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %tid = gpu.thread_id x
    %c8 = arith.constant 8 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %start = arith.muli %tid, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %start, %l : index
      %x = memref.load %A[%i] : memref<1024xf16, #global>
      %y = arith.extf %x : f16 to f32
      memref.store %y, %B[%i] : memref<1024xf32, #global>
    } {tile.vectorize}
  }
  func.return
}

// Rows of 77 elements begin anywhere: a load is made wide and shifted where two units are left of the
// tensor, a store is not.
// CHECK-LABEL: func.func @odd(
// CHECK: arith.cmpi sle
// CHECK: scf.if
// CHECK: simt.move %arg0[%{{.*}}, %{{.*}}] -> %{{.*}}[%{{.*}}] lanes(8) {simt.unaligned}
// CHECK: } else {
// CHECK: memref.load %arg0
// CHECK-NOT: lanes(8)
// CHECK: memref.store %{{.*}}, %arg1[%{{.*}}, %{{.*}}]
func.func @odd(%A: memref<16x77xf16, #global>, %B: memref<16x77xf16, #global>) {
  tile.kernel (%bx) in (1) threads(16) {
    %tid = gpu.thread_id x
    %c8 = arith.constant 8 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %x = memref.load %A[%tid, %l] : memref<16x77xf16, #global>
      memref.store %x, %B[%tid, %l] : memref<16x77xf16, #global>
    } {tile.vectorize}
  }
  func.return
}

// What a pipelined loop only moves to shared memory is moved asynchronously, with zeros for rows that
// the tensor does not have.
// CHECK-LABEL: func.func @gathered(
// CHECK-NOT: simt.move
// CHECK: memref.load %arg1
// CHECK: [[ROW:%.*]] = arith.index_cast
// CHECK: [[INSIDE:%.*]] = arith.cmpi ult, [[ROW]]
// CHECK: [[VALID:%.*]] = arith.select [[INSIDE]]
// CHECK: [[SAFE:%.*]] = arith.select [[INSIDE]], [[ROW]]
// CHECK: nv.async_move %arg0[[[SAFE]], %{{.*}}] -> %{{.*}}[%{{.*}}] lanes(8) valid [[VALID]]
// CHECK-NOT: memref.store
func.func @gathered(%X: memref<40x64xf16, #global>, %I: memref<16xi32, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %S = tile.alloc "S" : memref<1024xf16, #tile.space<shared>>
    %tid = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %rows = arith.constant 40 : index
    %i = arith.divui %tid, %c8 : index
    %t = arith.remui %tid, %c8 : index
    %j = arith.muli %t, %c8 : index
    %o = arith.muli %tid, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %r = memref.load %I[%i] : memref<16xi32, #global>
      %row = arith.index_cast %r : i32 to index
      %inside = arith.cmpi ult, %row, %rows : index
      %at = arith.addi %j, %l : index
      %x = scf.if %inside -> (f16) {
        %y = memref.load %X[%row, %at] : memref<40x64xf16, #global>
        scf.yield %y : f16
      } else {
        %zero = arith.constant 0.0 : f16
        scf.yield %zero : f16
      }
      %to = arith.addi %o, %l : index
      memref.store %x, %S[%to] : memref<1024xf16, #tile.space<shared>>
    } {tile.vectorize, tile.asynchronous}
  }
  func.return
}
