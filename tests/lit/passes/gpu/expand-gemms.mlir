// RUN: tilewright-opt -expand-gemms %s | filecheck %s

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// Eight rows are less than an instruction does: each element is a sum of its own.
// CHECK-LABEL: func.func @eight_rows
// CHECK: tile.parallel ([[I:%.*]], [[J:%.*]]) in (8, 64) {
// CHECK: [[C:%.*]] = memref.load %c[[[I]], [[J]]]
// CHECK: [[SUM:%.*]] = scf.for [[K:%.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args([[S:%.*]] = [[C]])
// CHECK: memref.load %a[[[I]], [[K]]]
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: memref.load %b[[[J]], [[K]]]
// CHECK: arith.mulf
// CHECK: arith.addf [[S]]
// CHECK: memref.store [[SUM]], %c[[[I]], [[J]]]
// CHECK-NOT: tile.gemm
func.func @eight_rows() attributes {tile.target = #tile.target<cuda, sm_90a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<8x32xf16, #shared>
    %b = tile.alloc "b" : memref<64x32xf16, #shared>
    %c = tile.alloc "c" : memref<8x64xf32, #fragment>
    tile.gemm %a, %b -> %c {transpose_b} : memref<8x32xf16, #shared>, memref<64x32xf16, #shared> -> memref<8x64xf32, #fragment>
  }
  func.return
}

// What replaces the sums begins with zero; those of float16 are taken in float32.
// CHECK-LABEL: func.func @small_sums
// CHECK: [[ZERO:%.*]] = arith.constant 0.000000e+00 : f32
// CHECK: iter_args(%{{.*}} = [[ZERO]]) -> (f32)
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @small_sums() attributes {tile.target = #tile.target<cuda, sm_80>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x20xf16, #shared>
    %b = tile.alloc "b" : memref<20x64xf16, #shared>
    %c = tile.alloc "c" : memref<64x64xf16, #fragment>
    tile.gemm %a, %b -> %c {clear} : memref<64x20xf16, #shared>, memref<20x64xf16, #shared> -> memref<64x64xf16, #fragment>
  }
  func.return
}

// CHECK-LABEL: func.func @tensor_cores
// CHECK: tile.gemm %a, %a -> %c
func.func @tensor_cores() attributes {tile.target = #tile.target<cuda, sm_90a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x32xf16, #shared>
    %c = tile.alloc "c" : memref<64x64xf32, #fragment>
    tile.gemm %a, %a -> %c {transpose_b} : memref<64x32xf16, #shared>, memref<64x32xf16, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}
