// RUN: tilewright-opt -flatten-memrefs %s | filecheck %s

#global = #tile.space<global>
#local = #tile.space<local>

// CHECK-LABEL: func.func @f(
// CHECK-DAG: [[A:%.*]] = memref.collapse_shape %arg0
// CHECK-DAG: [[B:%.*]] = memref.collapse_shape %arg1
// CHECK: [[R:%.*]] = arith.muli %arg2, %c64
// CHECK-NEXT: [[P:%.*]] = arith.addi [[R]], %arg3
// CHECK-NEXT: memref.load [[A]][[[P]]] : memref<?xf16
// CHECK: simt.move [[A]][%{{.*}}] -> %arg4[%arg2] lanes(8)
// CHECK: [[D:%.*]] = memref.dim %arg1, %c2
// CHECK: [[E:%.*]] = memref.dim %arg1, %c1
// CHECK-NEXT: arith.muli [[D]], [[E]]
// CHECK: memref.load [[B]][%{{.*}}] : memref<?xf32
func.func @f(%A: memref<?x64xf16, #global>, %B: memref<4x?x?xf32, #global>, %i: index, %j: index, %l: memref<8xf16, #local>) {
  %x = memref.load %A[%i, %j] : memref<?x64xf16, #global>
  simt.move %A[%i, %j] -> %l[%i] lanes(8) : memref<?x64xf16, #global>, memref<8xf16, #local>
  %y = memref.load %B[%i, %i, %j] : memref<4x?x?xf32, #global>
  func.return
}
