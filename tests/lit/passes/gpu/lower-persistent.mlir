// RUN: tilewright-opt -lower-persistent %s | filecheck %s

#global = #tile.space<global>

// CHECK-LABEL: func.func @f(
// CHECK: scf.for [[K:%.*]] = %c0 to %c1
// CHECK: [[W:%.*]] = arith.muli [[K]], %c132
// CHECK-NEXT: [[T:%.*]] = arith.addi [[W]], %arg2
// CHECK: arith.cmpi ult, [[T]], %c64
// CHECK: scf.if
// CHECK-NEXT: memref.store %arg1, %arg0
// CHECK-NOT: tile.persistent
func.func @f(%A: memref<8x8xf32, #global>, %x: f32) {
  tile.kernel (%bx) in (132) threads(128) {
    tile.persistent (%i, %j) in (8, 8) wave 132 index %bx group 8 {
      memref.store %x, %A[%i, %j] : memref<8x8xf32, #global>
    }
  }
  func.return
}
