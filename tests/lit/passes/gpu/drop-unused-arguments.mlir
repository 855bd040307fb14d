// RUN: tilewright-opt -drop-unused-arguments %s | filecheck %s

#global = #tile.space<global>

// CHECK-LABEL: func.func @f(
// CHECK:         simt.launch @f_kernel grid(%{{.*}}, %{{.*}}, %{{.*}}) args(%arg1) : memref<8xf32
// CHECK-LABEL: func.func @f_kernel(
// CHECK-SAME:    %arg0: memref<8xf32, #global> {simt.restrict})
// CHECK:         memref.store %{{.*}}, %arg0
func.func @f(%n: index, %A: memref<8xf32, #global>) {
  %c1 = arith.constant 1 : index
  simt.launch @f_kernel grid(%c1, %c1, %c1) args(%n, %A) : index, memref<8xf32, #global>
  func.return
}
func.func @f_kernel(%n: index {tile.name = "n"}, %A: memref<8xf32, #global> {simt.restrict}) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  memref.store %x, %A[%c0] : memref<8xf32, #global>
  func.return
}
