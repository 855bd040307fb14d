// RUN: tilewright-opt -expand-gemms %s | filecheck %s

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// Eight rows are less than an instruction does: K outside, so that a thread reads its rows and columns once.
// CHECK-LABEL: func.func @eight_rows
// CHECK: scf.for [[K:%.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT: tile.parallel ([[I:%.*]], [[J:%.*]]) in (8, 64) {
// CHECK: [[C:%.*]] = memref.load %c[[[I]], [[J]]]
// CHECK: memref.load %a[[[I]], [[K]]]
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: memref.load %b[[[J]], [[K]]]
// CHECK: arith.mulf
// CHECK: [[SUM:%.*]] = arith.addf [[C]]
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

// All bits of float32 are for the FMA units; the loop before replaces the sums. An operand in registers is copied
// to memory that all threads see.
// CHECK-LABEL: func.func @all_bits
// CHECK: [[S:%.*]] = tile.alloc "a_staged" : memref<64x32xf32, #shared>
// CHECK: tile.parallel
// CHECK: memref.store %{{.*}}, [[S]]
// CHECK: tile.parallel
// CHECK: memref.store %{{.*}}, %c
// CHECK: scf.for
// CHECK: memref.load [[S]]
// CHECK-NOT: tile.gemm
func.func @all_bits() attributes {tile.target = #tile.target<cuda, sm_90a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x32xf32, #fragment>
    %b = tile.alloc "b" : memref<32x64xf32, #shared>
    %c = tile.alloc "c" : memref<64x64xf32, #fragment>
    tile.gemm %a, %b -> %c precision ieee {clear} : memref<64x32xf32, #fragment>, memref<32x64xf32, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}

// CHECK-LABEL: func.func @tensor_cores
// CHECK: tile.gemm %a, %a -> %c precision ieee
func.func @tensor_cores() attributes {tile.target = #tile.target<cuda, sm_90a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x32xf16, #shared>
    %c = tile.alloc "c" : memref<64x64xf32, #fragment>
    tile.gemm %a, %a -> %c precision ieee {transpose_b} : memref<64x32xf16, #shared>, memref<64x32xf16, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}
