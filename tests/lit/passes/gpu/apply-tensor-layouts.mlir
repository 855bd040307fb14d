// RUN: tilewright-opt -apply-tensor-layouts -canonicalize -cse %s | filecheck %s

#g = #tile.space<global>
#s = #tile.space<shared>
#rows = #tile.layout<(i : 16, j : 64) -> (i floordiv 8, j, i mod 8)>

// Elements are accessed where the layout places them; bounds are tested with the logical indices.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    [[A:%[a-z0-9]+]]: memref<2x64x8xf32, #global>, {{%[a-z0-9]+}}: memref<32x64xf32, #global>)
// CHECK:         tile.parallel ([[I:%[a-z0-9]+]], [[J:%[a-z0-9]+]]) in (32, 64) {
// CHECK:           [[INSIDE:%[a-z0-9]+]] = arith.cmpi slt, [[I]], %c16 : index
// CHECK-NEXT:      {{.*}} = scf.if [[INSIDE]]
// CHECK-NEXT:        [[BLOCK:%[a-z0-9]+]] = arith.divui [[I]], %c8 : index
// CHECK-NEXT:        [[ROW:%[a-z0-9]+]] = arith.remui [[I]], %c8 : index
// CHECK-NEXT:        {{.*}} = memref.load [[A]]{{\[}}[[BLOCK]], [[J]], [[ROW]]] : memref<2x64x8xf32, #global>
func.func @rows(%A: memref<16x64xf32, #g> {tile.layout = #rows}, %B: memref<32x64xf32, #g>) {
  tile.kernel (%bx) in (1) threads(128) {
    tile.parallel (%i, %j) in (32, 64) {
      %v = memref.load %A[%i, %j] : memref<16x64xf32, #g>
      memref.store %v, %B[%i, %j] : memref<32x64xf32, #g>
    }
  }
  func.return
}
