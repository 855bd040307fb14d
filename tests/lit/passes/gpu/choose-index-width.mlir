// RUN: tilewright-opt -choose-index-width %s | filecheck %s
// RUN: tilewright-opt "-choose-index-width=bits=64" %s | filecheck %s --check-prefix=WIDE

#g = #tile.space<global>

// 2^31 elements need 64 bits, one less does not; what only the run knows is taken to be small.
// CHECK:      func.func @large_kernel
// CHECK-SAME:   nv.index_bits = 64
// CHECK:      func.func @small_kernel
// CHECK-NOT:    nv.index_bits
// CHECK:      func.func @open_kernel
// CHECK-NOT:    nv.index_bits
// WIDE-COUNT-3: nv.index_bits = 64
func.func @host(%A: memref<1024x2048x1024xi8, #g>, %B: memref<2147483647xi8, #g>, %C: memref<?x4096x1024xi8, #g>) {
  %c1 = arith.constant 1 : index
  nv.launch @large_kernel grid(%c1, %c1, %c1) args(%A) : memref<1024x2048x1024xi8, #g>
  nv.launch @small_kernel grid(%c1, %c1, %c1) args(%B) : memref<2147483647xi8, #g>
  nv.launch @open_kernel grid(%c1, %c1, %c1) args(%C) : memref<?x4096x1024xi8, #g>
  func.return
}
func.func @large_kernel(%A: memref<1024x2048x1024xi8, #g>) attributes {nv.kernel} {
  func.return
}
func.func @small_kernel(%B: memref<2147483647xi8, #g>) attributes {nv.kernel} {
  func.return
}
func.func @open_kernel(%C: memref<?x4096x1024xi8, #g>) attributes {nv.kernel} {
  func.return
}
