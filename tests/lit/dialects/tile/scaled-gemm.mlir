// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt -mlir-print-op-generic %s | tilewright-opt | filecheck %s

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// Two e2m1 share a byte, along K of A and along N of B.
// CHECK-LABEL: func.func @both(
// CHECK: tile.scaled_gemm %{{.+}} as e2m1 scale %{{.+}} : memref<64x2xi8, #shared>, %{{.+}} as e2m1 scale %{{.+}} : memref<32x2xi8, #shared> -> %{{.+}} policy full_row {fast_math, pack_n} : memref<64x32xi8, #shared>, memref<64x16xi8, #shared> -> memref<64x32xf32, #fragment>
func.func @both(%a: memref<64x32xi8, #shared>, %sa: memref<64x2xi8, #shared>, %b: memref<64x16xi8, #shared>, %sb: memref<32x2xi8, #shared>, %c: memref<64x32xf32, #fragment>) {
  tile.scaled_gemm %a as e2m1 scale %sa : memref<64x2xi8, #shared>, %b as e2m1 scale %sb : memref<32x2xi8, #shared> -> %c policy full_row {fast_math, pack_n} : memref<64x32xi8, #shared>, memref<64x16xi8, #shared> -> memref<64x32xf32, #fragment>
  func.return
}

// CHECK-LABEL: func.func @one(
// CHECK: tile.scaled_gemm %{{.+}} as bf16, %{{.+}} as e4m3 scale %{{.+}} : memref<32x2xi8, #shared> -> %{{.+}} clear_if %{{.+}} {transpose_b} : memref<64x64xbf16, #fragment>, memref<32x64xf8E4M3FN, #shared> -> memref<64x32xf32, #fragment>
func.func @one(%a: memref<64x64xbf16, #fragment>, %b: memref<32x64xf8E4M3FN, #shared>, %sb: memref<32x2xi8, #shared>, %c: memref<64x32xf32, #fragment>, %if: i1) {
  tile.scaled_gemm %a as bf16, %b as e4m3 scale %sb : memref<32x2xi8, #shared> -> %c clear_if %if {transpose_b} : memref<64x64xbf16, #fragment>, memref<32x64xf8E4M3FN, #shared> -> memref<64x32xf32, #fragment>
  func.return
}
