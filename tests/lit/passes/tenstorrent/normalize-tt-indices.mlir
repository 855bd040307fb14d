// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --normalize-tt-indices | filecheck %s

// The loop counts by one, and the quotient of the block index is unsigned; a number that may be
// negative is divided as before.
// CHECK-LABEL: @steps
// CHECK: arith.divui %{{.*}}, %{{.*}} : index
// CHECK: arith.remui
// CHECK: arith.floordivsi
// CHECK: scf.for %[[N:.*]] = %c0{{.*}} to %c3{{.*}} step %c1
// CHECK: %[[S:.*]] = arith.muli %[[N]], %c64
// CHECK: arith.addi %[[S]], %c32
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @steps(%X: memref<4x224x32xf32, #global>, %Y: memref<4x4x4xindex, #global>) {
  %c32 = arith.constant 32 : index
  %c224 = arith.constant 224 : index
  %c64 = arith.constant 64 : index
  %c3 = arith.constant 3 : index
  tile.kernel (%bx) in (12) threads(128) {
    %x = tile.alloc "x" : memref<1x32x32xf32, #shared>
    %q = arith.floordivsi %bx, %c3 : index
    %r = arith.remsi %bx, %c3 : index
    %less = arith.subi %bx, %c32 : index
    %p = arith.floordivsi %less, %c3 : index
    memref.store %p, %Y[%q, %r, %q] : memref<4x4x4xindex, #global>
    scf.for %t = %c32 to %c224 step %c64 {
      %s = tile.region %X[%q, %t, 0] [1, 32, 32] : memref<4x224x32xf32, #global> to !tile.region<1x32x32xf32, #global>
      tile.copy %s -> %x : !tile.region<1x32x32xf32, #global> -> memref<1x32x32xf32, #shared>
    }
  }
  func.return
}
