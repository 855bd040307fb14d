// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt -mlir-print-op-generic %s | tilewright-opt | filecheck %s

// A product of matrices with a fused ReLU, as a person would write it.

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// CHECK-DAG: #[[$GLOBAL:.+]] = #tile.space<global>
// CHECK-DAG: #[[$SHARED:.+]] = #tile.space<shared>
// CHECK-DAG: #[[$FRAGMENT:.+]] = #tile.space<fragment>

// CHECK-LABEL: func.func @gemm_relu
// CHECK-SAME: %[[A:.+]]: memref<1024x1024xf16, #[[$GLOBAL]]> {tile.dtype = "float16", tile.name = "A"}
// CHECK-SAME: attributes {tile.entry}
func.func @gemm_relu(
    %A: memref<1024x1024xf16, #global> {tile.name = "A", tile.dtype = "float16"},
    %B: memref<1024x?xf16, #global> {tile.name = "B", tile.shape = [1024, "n"]},
    %C: memref<1024x?xf16, #global>) attributes {tile.entry} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %B, %c1 : memref<1024x?xf16, #global>
  %gx = arith.ceildivui %n, %c128 : index
  // CHECK: tile.kernel (%[[BX:.+]], %[[BY:.+]]) in (%{{.+}}, 8) threads(128) raster #tile.raster<row, 10> {
  tile.kernel (%bx, %by) in (%gx, 8) threads(128) raster #tile.raster<row, 10> {
    // CHECK: %[[AS:.+]] = tile.alloc "A_shared" layout #tile.layout<(i : 128, j : 32) -> (i, j xor (i mod 4 * 8))> : memref<128x32xf16, #[[$SHARED]]>
    %As = tile.alloc "A_shared" layout #tile.layout<(row : 128, col : 32) -> (row, col xor (row mod 4 * 8))> : memref<128x32xf16, #shared>
    %Bs = tile.alloc "B_shared" : memref<32x128xf16, #shared>
    %acc = tile.alloc "C_local" : memref<128x128xf32, #fragment>
    tile.fill %acc, %zero : memref<128x128xf32, #fragment>, f32
    %y = arith.muli %by, %c128 : index
    %x = arith.muli %bx, %c128 : index
    // CHECK: tile.pipeline %[[K:.+]] = 0 to 32 num_stages(3) {
    tile.pipeline %k = 0 to 32 num_stages(3) {
      %z = arith.muli %k, %c32 : index
      // CHECK: %[[RA:.+]] = tile.region %[[A]][%{{.+}}, %{{.+}}] [128, 32] : memref<1024x1024xf16, #[[$GLOBAL]]> to !tile.region<128x32xf16, #[[$GLOBAL]]>
      %ra = tile.region %A[%y, %z] [128, 32] : memref<1024x1024xf16, #global> to !tile.region<128x32xf16, #global>
      %rb = tile.region %B[%z, %x] [32, 128] : memref<1024x?xf16, #global> to !tile.region<32x128xf16, #global>
      // CHECK: tile.copy %[[RA]] -> %[[AS]] : !tile.region<128x32xf16, #[[$GLOBAL]]> -> memref<128x32xf16, #[[$SHARED]]>
      tile.copy %ra -> %As : !tile.region<128x32xf16, #global> -> memref<128x32xf16, #shared>
      tile.copy %rb -> %Bs : !tile.region<32x128xf16, #global> -> memref<32x128xf16, #shared>
      // CHECK: tile.gemm %[[AS]], %{{.+}} -> %[[ACC:.+]] policy full_row : memref<128x32xf16, #[[$SHARED]]>, memref<32x128xf16, #[[$SHARED]]> -> memref<128x128xf32, #[[$FRAGMENT]]>
      tile.gemm %As, %Bs -> %acc policy full_row : memref<128x32xf16, #shared>, memref<32x128xf16, #shared> -> memref<128x128xf32, #fragment>
    }
    // CHECK: tile.parallel (%[[I:.+]], %[[J:.+]]) in (128, 128) {
    tile.parallel (%i, %j) in (128, 128) {
      // CHECK-NEXT: %[[V:.+]] = memref.load %[[ACC]][%[[I]], %[[J]]] : memref<128x128xf32, #[[$FRAGMENT]]>
      %v = memref.load %acc[%i, %j] : memref<128x128xf32, #fragment>
      %relu = arith.maximumf %v, %zero : f32
      memref.store %relu, %acc[%i, %j] : memref<128x128xf32, #fragment>
    }
    %rc = tile.region %C[%y, %x] [128, 128] : memref<1024x?xf16, #global> to !tile.region<128x128xf16, #global>
    // CHECK: tile.copy %[[ACC]] -> %{{.+}} : memref<128x128xf32, #[[$FRAGMENT]]> -> !tile.region<128x128xf16, #[[$GLOBAL]]>
    tile.copy %acc -> %rc : memref<128x128xf32, #fragment> -> !tile.region<128x128xf16, #global>
  }
  func.return
}
