// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt -mlir-print-op-generic %s | tilewright-opt | filecheck %s

#global = #tile.space<global>

// A lock: one iteration spins until it holds it, another op releases it.
// CHECK-LABEL: func.func @lock(
// CHECK: scf.while
// CHECK-NEXT: %[[OLD:.+]] = tile.atomic cas %[[L:.+]][%{{.+}}], %[[ONE:.+]] compare %[[ZERO:.+]] order acquire scope gpu : memref<4xi32, #global>, i32 -> i32
// CHECK-NEXT: arith.cmpi ne, %[[OLD]], %[[ZERO]] : i32
// CHECK: tile.atomic exch %[[L]][%{{.+}}], %[[ZERO]] order release scope sys : memref<4xi32, #global>, i32
// CHECK: tile.atomic add %[[L]][%{{.+}}], %[[ONE]] scope cta : memref<4xi32, #global>, i32
func.func @lock(%L: memref<4xi32, #global>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tile.kernel (%bx) in (4) threads(128) {
    tile.parallel (%u) in (1) {
      scf.while : () -> () {
        %old = tile.atomic cas %L[%u], %one compare %zero order acquire scope gpu : memref<4xi32, #global>, i32 -> i32
        %busy = arith.cmpi ne, %old, %zero : i32
        scf.condition(%busy)
      } do {
        scf.yield
      }
      tile.atomic exch %L[%u], %zero order release scope sys : memref<4xi32, #global>, i32
      tile.atomic add %L[%u], %one scope cta : memref<4xi32, #global>, i32
    }
  }
  func.return
}
