// RUN: tilewright-opt -upcast-scaled-gemms -canonicalize -cse %s | filecheck %s

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// A byte is read once, and its two elements have one scale. What is bfloat16 already is taken as it is.
// CHECK-LABEL: func.func @halves(
// CHECK: [[W:%.*]] = tile.alloc "a_wide" : memref<64x64xbf16, #shared>
// CHECK: tile.parallel ([[I:%.*]], [[J:%.*]]) in (64, 32) attributes {coalesced_width = 4 : i64} {
// CHECK: [[X:%.*]] = memref.load %a[[[I]], [[J]]]
// CHECK-NOT: memref.load %a[
// CHECK: [[K:%.*]] = arith.muli [[J]], %c2
// CHECK: [[B:%.*]] = arith.divui [[K]], %c32
// CHECK: [[S:%.*]] = memref.load %sa[[[I]], [[B]]]
// CHECK-NOT: memref.load
// A scale of 0 is subnormal, one of 255 is NaN.
// CHECK: [[E:%.*]] = arith.extui [[S]] : i8 to i32
// CHECK: arith.shli [[E]], %c23_i32
// CHECK: [[E1:%.*]] = arith.addi [[E]], %c1_i32
// CHECK: [[LOW:%.*]] = arith.andi [[E1]], %c255_i32
// CHECK: arith.cmpi ule, [[LOW]], %c1_i32
// CHECK: arith.ori
// CHECK: arith.mulf
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: memref.store %{{.*}}, [[W]][[[I]], [[K]]]
// CHECK: [[K1:%.*]] = arith.addi [[K]], %c1
// CHECK: memref.store %{{.*}}, [[W]][[[I]], [[K1]]]
// CHECK: tile.gemm [[W]], %b -> %c policy full_row :
func.func @halves() {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x32xi8, #shared>
    %sa = tile.alloc "sa" : memref<64x2xi8, #shared>
    %b = tile.alloc "b" : memref<64x32xbf16, #shared>
    %c = tile.alloc "c" : memref<64x32xf32, #fragment>
    tile.scaled_gemm %a as e2m1 scale %sa : memref<64x2xi8, #shared>, %b as bf16 -> %c policy full_row : memref<64x32xi8, #shared>, memref<64x32xbf16, #shared> -> memref<64x32xf32, #fragment>
  }
  func.return
}

// float16 and scales: tf32 holds both. With fast_math no scale is NaN.
// CHECK-LABEL: func.func @floats(
// CHECK: tile.alloc "a_wide" : memref<64x64xf32, #shared>
// CHECK: arith.extf %{{.*}} : f8E5M2 to f32
// CHECK-NOT: %c255_i32
// CHECK: tile.alloc "b_wide" : memref<32x64xf32, #shared>
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: tile.gemm %{{.*}}, %{{.*}} -> %c precision tf32 {clear, transpose_b}
func.func @floats() {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x64xf8E5M2, #shared>
    %sa = tile.alloc "sa" : memref<64x2xi8, #shared>
    %b = tile.alloc "b" : memref<32x64xf16, #shared>
    %c = tile.alloc "c" : memref<64x32xf32, #fragment>
    tile.scaled_gemm %a as e5m2 scale %sa : memref<64x2xi8, #shared>, %b as fp16 -> %c {clear, fast_math, transpose_b} : memref<64x64xf8E5M2, #shared>, memref<32x64xf16, #shared> -> memref<64x32xf32, #fragment>
  }
  func.return
}
