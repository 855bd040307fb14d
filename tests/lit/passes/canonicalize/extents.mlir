// RUN: tilewright-opt -canonicalize %s | filecheck %s

#global = #tile.space<global>

// CHECK-LABEL: func.func @view_sizes(
// CHECK: return %arg1, %arg2
func.func @view_sizes(%p: memref<?xf32, #global>, %m: index, %n: index) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %v = tile.view %p sizes(%m, %n) : memref<?xf32, #global> to memref<?x8x?xf32, #global>
  %0 = memref.dim %v, %c0 : memref<?x8x?xf32, #global>
  %1 = memref.dim %v, %c2 : memref<?x8x?xf32, #global>
  func.return %0, %1 : index, index
}

// A view of the same type may be smaller.
// CHECK-LABEL: func.func @smaller(
// CHECK: [[V:%.*]] = tile.view %arg0 sizes(%arg1)
// CHECK: memref.load [[V]]
func.func @smaller(%p: memref<?xf32, #global>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %v = tile.view %p sizes(%n) : memref<?xf32, #global> to memref<?xf32, #global>
  %x = memref.load %v[%c0] : memref<?xf32, #global>
  func.return %x : f32
}

// CHECK-LABEL: func.func @argument(
// CHECK: [[D:%.*]] = memref.dim %arg0
// CHECK: return [[D]]
func.func @argument(%p: memref<?xf32, #global>) -> index {
  %c0 = arith.constant 0 : index
  %0 = memref.dim %p, %c0 : memref<?xf32, #global>
  func.return %0 : index
}
