// RUN: tilewright-opt %s --fix-arguments="values=first=4:0,64,70,71" --bind-target=target=tenstorrent:sim --tabulate-scalars | filecheck %s

// The offset is a table over the blocks along y, which the loop over groups has computed; the loop
// and its variable are gone.
// CHECK: tile.kernel (%{{.*}}, %[[BY:.*]]) in (2, 3)
// CHECK-NOT: scf.for
// CHECK: %[[ROW:.*]] = tensix.table [0, 64, 70] %[[BY]]
// CHECK: tile.region %{{.*}}[%[[ROW]], 0] [32, 32]
#global = #tile.space<global>
#shared = #tile.space<shared>
#var = #tile.space<var>
func.func public @groups(%A: memref<200x32xf32, #global>, %first: memref<4xi32, #global> {tile.name = "first"}) attributes {tile.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  tile.kernel (%bx, %by) in (2, 3) threads(128) {
    %x = tile.alloc "x" : memref<32x32xf32, #shared>
    %group = tile.alloc "group" : memref<1xi32, #var>
    memref.store %zero, %group[%c0] : memref<1xi32, #var>
    scf.for %g = %c0 to %c4 step %c1 {
      %reached = arith.cmpi sge, %by, %g : index
      scf.if %reached {
        %known = arith.index_cast %g : index to i32
        memref.store %known, %group[%c0] : memref<1xi32, #var>
      }
    }
    %found = memref.load %group[%c0] : memref<1xi32, #var>
    %at = arith.index_cast %found : i32 to index
    %start = memref.load %first[%at] : memref<4xi32, #global>
    %row = arith.index_cast %start : i32 to index
    %box = tile.region %A[%row, 0] [32, 32] : memref<200x32xf32, #global> to !tile.region<32x32xf32, #global>
    tile.copy %box -> %x : !tile.region<32x32xf32, #global> -> memref<32x32xf32, #shared>
  }
  func.return
}
