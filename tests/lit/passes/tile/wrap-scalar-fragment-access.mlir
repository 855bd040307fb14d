// RUN: tilewright-opt %s --wrap-scalar-fragment-access --split-input-file | filecheck %s

// What the value is computed from moves along with the store.
// CHECK-LABEL: func.func @increment
func.func @increment() {
  tile.kernel (%bx) in (4) threads(128) {
    // CHECK: %[[F:.*]] = tile.alloc
    %f = tile.alloc : memref<1xf32, #tile.space<fragment>>
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    // CHECK: tile.parallel (%[[U:.*]]) in (1) {
    // CHECK: %[[V:.*]] = memref.load %[[F]][%[[U]]]
    // CHECK: %[[W:.*]] = arith.addf %[[V]],
    // CHECK: memref.store %[[W]], %[[F]][%[[U]]]
    %v = memref.load %f[%c0] : memref<1xf32, #tile.space<fragment>>
    %w = arith.addf %v, %one : f32
    memref.store %w, %f[%c0] : memref<1xf32, #tile.space<fragment>>
  }
  func.return
}

// -----

// A load does not pass a store to what it reads.
// CHECK-LABEL: func.func @swap
func.func @swap() {
  tile.kernel (%bx) in (4) threads(128) {
    // CHECK: %[[F:.*]] = tile.alloc
    // CHECK: %[[G:.*]] = tile.alloc
    %f = tile.alloc : memref<1xf32, #tile.space<fragment>>
    %g = tile.alloc : memref<1xf32, #tile.space<fragment>>
    %c0 = arith.constant 0 : index
    // CHECK: %[[A:.*]] = memref.load %[[F]]
    // CHECK: tile.parallel (%[[U:.*]]) in (1) {
    // CHECK: %[[B:.*]] = memref.load %[[G]][%[[U]]]
    // CHECK: memref.store %[[B]], %[[F]][%[[U]]]
    // CHECK: tile.parallel (%[[U:.*]]) in (1) {
    // CHECK-NOT: memref.load
    // CHECK: memref.store %[[A]], %[[G]][%[[U]]]
    %a = memref.load %f[%c0] : memref<1xf32, #tile.space<fragment>>
    %b = memref.load %g[%c0] : memref<1xf32, #tile.space<fragment>>
    memref.store %b, %f[%c0] : memref<1xf32, #tile.space<fragment>>
    memref.store %a, %g[%c0] : memref<1xf32, #tile.space<fragment>>
  }
  func.return
}

// -----

// A store of what a fragment holds to memory is wrapped too, and keeps its own index.
// CHECK-LABEL: func.func @result
func.func @result(%out: memref<8xf32, #tile.space<global>>) {
  tile.kernel (%bx) in (8) threads(128) {
    %f = tile.alloc : memref<1xf32, #tile.space<fragment>>
    %c0 = arith.constant 0 : index
    // CHECK: tile.kernel (%[[BX:.*]]) in
    // CHECK: tile.parallel (%[[U:.*]]) in (1) {
    // CHECK: %[[V:.*]] = memref.load %{{.*}}[%[[U]]]
    // CHECK: memref.store %[[V]], %{{.*}}[%[[BX]]]
    %v = memref.load %f[%c0] : memref<1xf32, #tile.space<fragment>>
    memref.store %v, %out[%bx] : memref<8xf32, #tile.space<global>>
  }
  func.return
}

// -----

// Inside a parallel loop, and in other memory, nothing happens.
// CHECK-LABEL: func.func @untouched
func.func @untouched() {
  tile.kernel (%bx) in (4) threads(128) {
    %f = tile.alloc : memref<64xf32, #tile.space<fragment>>
    %l = tile.alloc : memref<4xf32, #tile.space<local>>
    %c3 = arith.constant 3 : index
    %one = arith.constant 1.0 : f32
    // CHECK: memref.store
    // CHECK-NEXT: tile.parallel (%{{.*}}) in (64) {
    // CHECK-NEXT: memref.store
    memref.store %one, %l[%c3] : memref<4xf32, #tile.space<local>>
    tile.parallel (%i) in (64) {
      memref.store %one, %f[%i] : memref<64xf32, #tile.space<fragment>>
    }
  }
  func.return
}

// -----

// A table that all threads read at any index is in shared memory.
// CHECK-LABEL: func.func @table
func.func @table(%a: memref<64xf32, #tile.space<global>>, %k: index) {
  tile.kernel (%bx) in (4) threads(128) {
    // CHECK: tile.alloc : memref<64xf32, #shared>
    %f = tile.alloc : memref<64xf32, #tile.space<fragment>>
    tile.copy %a -> %f : memref<64xf32, #tile.space<global>> -> memref<64xf32, #tile.space<fragment>>
    // CHECK: memref.load %{{.*}}[%{{.*}}] : memref<64xf32, #shared>
    %v = memref.load %f[%k] : memref<64xf32, #tile.space<fragment>>
    memref.store %v, %a[%k] : memref<64xf32, #tile.space<global>>
  }
  func.return
}
