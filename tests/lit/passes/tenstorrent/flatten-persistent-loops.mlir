// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --flatten-persistent-loops | filecheck %s

// The tiles of the loop are the blocks of the grid, the last coordinate along x.
// CHECK: tile.kernel (%[[BY:.*]], %[[BX:.*]]) in (3, 2)
// CHECK-NOT: tile.persistent
// CHECK: arith.muli %[[BX]], %{{.*}}
// CHECK: arith.muli %[[BY]], %{{.*}}
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @tiles(%A: memref<64x96xf32, #global>) {
  %c32 = arith.constant 32 : index
  tile.kernel (%worker) in (4) threads(128) {
    %x = tile.alloc "x" : memref<32x32xf32, #shared>
    tile.persistent (%bx, %by) in (2, 3) wave 4 index %worker group 8 {
      %row = arith.muli %bx, %c32 : index
      %column = arith.muli %by, %c32 : index
      %box = tile.region %A[%row, %column] [32, 32] : memref<64x96xf32, #global> to !tile.region<32x32xf32, #global>
      tile.copy %box -> %x : !tile.region<32x32xf32, #global> -> memref<32x32xf32, #shared>
      tile.copy %x -> %box : memref<32x32xf32, #shared> -> !tile.region<32x32xf32, #global>
    }
  }
  func.return
}
