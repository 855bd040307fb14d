// RUN: tilewright-opt -widen-operands %s | filecheck %s

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// CHECK-LABEL: func.func @old(
// CHECK: [[A:%.*]] = tile.alloc "operand_wide" : memref<64x32xf16
// CHECK-NEXT: tile.parallel
// CHECK-NEXT: memref.load %a
// CHECK-NEXT: arith.extf %{{.*}} : f8E4M3FN to f16
// CHECK: [[B:%.*]] = tile.alloc "operand_wide"
// CHECK: tile.gemm [[A]], [[B]] -> %c {transpose_b}
func.func @old() attributes {tile.target = #tile.target<cuda, sm_80>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x32xf8E4M3FN, #shared>
    %b = tile.alloc "b" : memref<64x32xf8E4M3FN, #shared>
    %c = tile.alloc "c" : memref<64x64xf32, #fragment>
    tile.gemm %a, %b -> %c {transpose_b} : memref<64x32xf8E4M3FN, #shared>, memref<64x32xf8E4M3FN, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}

// CHECK-LABEL: func.func @new
// CHECK: tile.gemm %a, %a -> %c
func.func @new() attributes {tile.target = #tile.target<cuda, sm_90a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x32xf8E4M3FN, #shared>
    %c = tile.alloc "c" : memref<64x64xf32, #fragment>
    tile.gemm %a, %a -> %c {transpose_b} : memref<64x32xf8E4M3FN, #shared>, memref<64x32xf8E4M3FN, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}
