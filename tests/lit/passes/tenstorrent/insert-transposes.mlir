// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --insert-transposes | filecheck %s

// The matrix is transposed before the loop; the vector, a column for i, becomes a row for j.
// CHECK: tile.transpose %{{.*}} -> %[[A:.*]] : memref<32x64xf32, #fragment> -> memref<64x32xf32, #fragment>
// CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) in (64, 32)
// CHECK: memref.load %[[A]][%[[I]], %[[J]]]
// CHECK: tile.copy %{{.*}} -> %[[COLUMN:.*]] : memref<32xf32, #fragment> -> memref<1x32xf32, #fragment>
// CHECK: tile.transpose %[[COLUMN]] -> %[[S:.*]] : memref<1x32xf32, #fragment> -> memref<32x1xf32, #fragment>
// CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) in (32, 32)
// CHECK: memref.load %[[S]][%[[I]], %{{.*}}]
#fragment = #tile.space<fragment>
func.func public @crossed() {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<32x64xf32, #fragment>
    %s = tile.alloc "s" : memref<32xf32, #fragment>
    %t = tile.alloc "t" : memref<64x32xf32, #fragment>
    %u = tile.alloc "u" : memref<32x32xf32, #fragment>
    tile.parallel (%i, %j) in (64, 32) {
      %v = memref.load %a[%j, %i] : memref<32x64xf32, #fragment>
      %w = memref.load %s[%j] : memref<32xf32, #fragment>
      %x = arith.addf %v, %w : f32
      memref.store %x, %t[%i, %j] : memref<64x32xf32, #fragment>
    }
    tile.parallel (%i, %j) in (32, 32) {
      %w = memref.load %s[%i] : memref<32xf32, #fragment>
      memref.store %w, %u[%i, %j] : memref<32x32xf32, #fragment>
    }
  }
  func.return
}
