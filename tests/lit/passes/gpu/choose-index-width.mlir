// RUN: tilewright-opt -choose-index-width %s | filecheck %s

#global = #tile.space<global>

// CHECK-LABEL: func.func @f(
// CHECK: func.func @f_kernel
// CHECK-SAME: simt.index_bits = 64
func.func @f(%A: memref<65536x65536xf16, #global>) {
  %c1 = arith.constant 1 : index
  simt.launch @f_kernel grid(%c1, %c1, %c1) args(%A) : memref<65536x65536xf16, #global>
  func.return
}
func.func @f_kernel(%A: memref<65536x65536xf16, #global>) attributes {simt.kernel} {
  func.return
}

// CHECK-LABEL: func.func @g(
// CHECK-NOT: simt.index_bits
func.func @g(%A: memref<?x64xf16, #global>) {
  %c1 = arith.constant 1 : index
  simt.launch @g_kernel grid(%c1, %c1, %c1) args(%A) : memref<?x64xf16, #global>
  func.return
}
func.func @g_kernel(%A: memref<?x64xf16, #global>) attributes {simt.kernel} {
  func.return
}
