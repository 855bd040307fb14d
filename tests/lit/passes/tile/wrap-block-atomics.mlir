// RUN: tilewright-opt -wrap-block-atomics %s | filecheck %s

#global = #tile.space<global>
#shared = #tile.space<shared>

// CHECK-LABEL: func.func @result(
// CHECK: [[CELL:%.*]] = tile.alloc "previous_broadcast" : memref<1xi32, #shared>
// CHECK-NEXT: tile.parallel ([[U:%.*]]) in (1) {
// CHECK-NEXT:   [[V:%.*]] = tile.atomic add %arg0[%arg1], %{{.*}} : {{.*}} -> i32
// CHECK-NEXT:   memref.store [[V]], [[CELL]][[[U]]]
// CHECK-NEXT: }
// CHECK: [[OLD:%.*]] = memref.load [[CELL]][%{{.*}}]
// CHECK: memref.store [[OLD]], %arg0
func.func @result(%X: memref<8xi32, #global>) {
  tile.kernel (%bx) in (4) threads(128) {
    %one = arith.constant 1 : i32
    %old = tile.atomic add %X[%bx], %one : memref<8xi32, #global>, i32 -> i32
    memref.store %old, %X[%bx] : memref<8xi32, #global>
  }
  func.return
}

// An unused result needs no broadcast, a region is updated by all threads.
// CHECK-LABEL: func.func @no_result(
// CHECK: tile.parallel (%{{.*}}) in (1) {
// CHECK-NEXT: %{{.*}} = tile.atomic max
// CHECK-NEXT: }
// CHECK-NEXT: tile.atomic add %arg0, %arg1 : memref<8xi32, #global>, memref<8xi32, #shared>
// CHECK-NOT: tile.alloc "previous
func.func @no_result(%X: memref<8xi32, #global>, %s: memref<8xi32, #shared>) {
  tile.kernel (%bx) in (4) threads(128) {
    %one = arith.constant 1 : i32
    %old = tile.atomic max %X[%bx], %one : memref<8xi32, #global>, i32 -> i32
    tile.atomic add %X, %s : memref<8xi32, #global>, memref<8xi32, #shared>
  }
  func.return
}

// CHECK-LABEL: func.func @orders(
// CHECK: tile.sync
// CHECK-NEXT: tile.parallel
// CHECK-NEXT: tile.atomic store
// CHECK-NEXT: }
// CHECK-NEXT: tile.parallel
// CHECK-NEXT: tile.atomic add {{.*}} order acquire
// CHECK-NEXT: }
// CHECK-NEXT: tile.sync
func.func @orders(%X: memref<8xi32, #global>) {
  tile.kernel (%bx) in (4) threads(128) {
    %one = arith.constant 1 : i32
    tile.atomic store %X[%bx], %one order release : memref<8xi32, #global>, i32
    tile.atomic add %X[%bx], %one order acquire : memref<8xi32, #global>, i32
  }
  func.return
}

// Iterations and named threads update by themselves.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: in (1)
func.func @others(%X: memref<8xi32, #global>) {
  tile.kernel (%bx) in (4) threads(8) {
    %one = arith.constant 1 : i32
    tile.parallel (%i) in (8) {
      tile.atomic add %X[%i], %one : memref<8xi32, #global>, i32
    }
  }
  tile.kernel (%bx) in (4) threads(8) {
    %one = arith.constant 1 : i32
    %t = gpu.thread_id x
    tile.atomic add %X[%bx], %one : memref<8xi32, #global>, i32
  }
  func.return
}
