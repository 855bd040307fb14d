// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --stage-global-accesses | filecheck %s

// CHECK: tile.kernel
// CHECK-DAG: %[[Y:.*]] = tile.alloc "arg1_block" : memref<32xf32, #fragment>
// CHECK-DAG: %[[X:.*]] = tile.alloc "arg0_block" : memref<32xf32, #fragment>
// CHECK: tile.copy %{{.*}} -> %[[X]]
// CHECK: tile.parallel (%[[I:.*]]) in (32)
// CHECK: memref.load %[[X]][%[[I]]]
// CHECK: memref.store %{{.*}}, %[[Y]][%[[I]]]
// CHECK: tile.copy %[[Y]] -> %
#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @twice(%X: memref<64xf32, #global>, %Y: memref<64xf32, #global>) {
  %c32 = arith.constant 32 : index
  tile.kernel (%bx) in (2) threads(128) {
    %start = arith.muli %bx, %c32 : index
    tile.parallel (%i) in (32) {
      %at = arith.addi %start, %i : index
      %v = memref.load %X[%at] : memref<64xf32, #global>
      %w = arith.addf %v, %v : f32
      memref.store %w, %Y[%at] : memref<64xf32, #global>
    }
  }
  func.return
}
