// RUN: tilewright-opt -lower-thread-reductions %s | filecheck %s

#global = #tile.space<global>

// CHECK-LABEL: func.func @f(
// Within a warp by exchange, across warps through shared memory.
// CHECK: [[E:%.*]] = tile.alloc "exchange"
// CHECK: tile.shuffle xor %arg0, %c2_i32
// CHECK: tile.shuffle xor %{{.*}}, %c1_i32
// CHECK: arith.addf
// CHECK-NEXT: %c16_i32
// CHECK-NEXT: [[O:%.*]] = tile.shuffle xor %arg1, %c16_i32
// CHECK-NEXT: [[M:%.*]] = arith.maxsi %arg1, [[O]]
// CHECK: memref.store [[M]], [[E]]
// CHECK-COUNT-4: memref.load [[E]]
// CHECK-NOT: simt.allreduce
func.func @f(%x: f32, %i: i32) {
  tile.kernel (%bx) in (1) threads(128) {
    %a = simt.allreduce sum %x threads(4) scale(1) : f32
    %b = simt.allreduce max %i threads(8) scale(16) : i32
  }
  func.return
}

// The partners of 96 that are in one warp exchange, then three warps meet.
// CHECK-LABEL: func.func @three_warps(
// CHECK: [[E:%.*]] = tile.alloc "exchange"
// CHECK-COUNT-5: tile.shuffle xor
// CHECK-COUNT-3: memref.load [[E]]
// CHECK-NOT: memref.load
func.func @three_warps(%x: f32) {
  tile.kernel (%bx) in (1) threads(96) {
    %a = simt.allreduce sum %x threads(96) scale(1) : f32
  }
  func.return
}

// Rows of a loop exchange together; four lanes with equal values leave one.
// CHECK-LABEL: func.func @rows(
// CHECK: [[E:%.*]] = tile.alloc "exchange" {{.*}} : memref<64xf32
// CHECK: scf.for
// CHECK:   scf.if
// CHECK:     memref.store %{{.*}}, [[E]]
// CHECK: scf.for
// CHECK-COUNT-2: memref.load [[E]]
// CHECK:   memref.store
// CHECK-NOT: scf.for
func.func @rows(%x: memref<2xf32, #tile.space<local>>, %y: memref<2xf32, #tile.space<local>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.kernel (%bx) in (1) threads(128) {
    scf.for %i = %c0 to %c2 step %c1 {
      %v = memref.load %x[%i] : memref<2xf32, #tile.space<local>>
      %a = simt.allreduce sum %v threads(4) scale(1) : f32
      %b = simt.allreduce sum %a threads(2) scale(64) : f32
      memref.store %b, %y[%i] : memref<2xf32, #tile.space<local>>
    }
  }
  func.return
}

// The second half writes what the first half of the next row reads: row by row.
// CHECK-LABEL: func.func @rows_that_depend(
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %exchange
// CHECK-COUNT-2: memref.load %exchange
// CHECK-NOT: scf.for
func.func @rows_that_depend(%x: memref<3xf32, #tile.space<local>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.kernel (%bx) in (1) threads(128) {
    scf.for %i = %c0 to %c2 step %c1 {
      %v = memref.load %x[%i] : memref<3xf32, #tile.space<local>>
      %b = simt.allreduce sum %v threads(2) scale(64) : f32
      %j = arith.addi %i, %c1 : index
      memref.store %b, %x[%j] : memref<3xf32, #tile.space<local>>
    }
  }
  func.return
}
