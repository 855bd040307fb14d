// RUN: tilewright-opt -split-precision %s | filecheck %s

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// Two parts of ten bits each; the small terms first, without NaN; then the large one.
// CHECK-LABEL: func.func @tf32x3(
// CHECK: [[A0:%.*]] = tile.alloc "a_part0" : memref<64x32xf32, #shared>
// CHECK: [[A1:%.*]] = tile.alloc "a_part1" : memref<64x32xf32, #shared>
// CHECK: tile.parallel ([[I:%.*]], [[J:%.*]]) in (64, 32) {
// CHECK-NEXT: [[X:%.*]] = memref.load %a[[[I]], [[J]]]
// CHECK: arith.constant -8192 : i32
// CHECK: arith.andi
// CHECK: [[BIG:%.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK: arith.subf [[X]], [[BIG]] : f32
// CHECK: memref.store [[BIG]], [[A0]][[[I]], [[J]]]
// CHECK: memref.store %{{.*}}, [[A1]][[[I]], [[J]]]
// CHECK: [[B0:%.*]] = tile.alloc "b_part0"
// CHECK: [[B1:%.*]] = tile.alloc "b_part1"
// CHECK: [[T:%.*]] = tile.alloc "terms" : memref<64x64xf32, #fragment>
// CHECK-NEXT: tile.gemm [[A1]], [[B0]] -> [[T]] precision tf32 {clear, transpose_b}
// CHECK-NEXT: tile.gemm [[A0]], [[B1]] -> [[T]] precision tf32 {transpose_b}
// CHECK: arith.cmpf uno
// CHECK: tile.gemm [[A0]], [[B0]] -> [[T]] precision tf32 {transpose_b}
// CHECK: arith.addf
// CHECK-NEXT: memref.store %{{.*}}, %c
func.func @tf32x3() attributes {tile.target = #tile.target<cuda, sm_90a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x32xf32, #shared>
    %b = tile.alloc "b" : memref<64x32xf32, #shared>
    %c = tile.alloc "c" : memref<64x64xf32, #fragment>
    tile.gemm %a, %b -> %c precision tf32x3 {transpose_b} : memref<64x32xf32, #shared>, memref<64x32xf32, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}

// Three parts of bfloat16, of which six terms are large enough.
// CHECK-LABEL: func.func @bf16x6(
// CHECK-COUNT-6: tile.alloc "{{[ab]}}_part{{[0-2]}}" : memref<{{.*}}xbf16, #shared>
// CHECK-COUNT-6: tile.gemm
// CHECK-NOT: tile.gemm
// CHECK-LABEL: func.func @bf16x3(
// CHECK-COUNT-4: tile.alloc "{{[ab]}}_part{{[01]}}" : memref<{{.*}}xbf16, #shared>
// CHECK-COUNT-3: tile.gemm
// CHECK-NOT: tile.gemm
func.func @bf16x6() attributes {tile.target = #tile.target<cuda, sm_80>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x32xf32, #shared>
    %b = tile.alloc "b" : memref<32x64xf32, #shared>
    %c = tile.alloc "c" : memref<64x64xf32, #fragment>
    tile.gemm %a, %b -> %c precision bf16x6 {clear} : memref<64x32xf32, #shared>, memref<32x64xf32, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}
func.func @bf16x3() attributes {tile.target = #tile.target<hip, gfx1100>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x32xf32, #shared>
    %b = tile.alloc "b" : memref<32x64xf32, #shared>
    %c = tile.alloc "c" : memref<64x64xf32, #fragment>
    tile.gemm %a, %b -> %c precision bf16x3 {clear} : memref<64x32xf32, #shared>, memref<32x64xf32, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}

// Instructions of gfx942 multiply all bits of float32; eight rows are for no instruction; tf32 is one
// instruction.
// CHECK-LABEL: func.func @whole(
// CHECK: tile.gemm %a, %b -> %c precision tf32x3
func.func @whole() attributes {tile.target = #tile.target<hip, gfx942>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x32xf32, #shared>
    %b = tile.alloc "b" : memref<32x64xf32, #shared>
    %c = tile.alloc "c" : memref<64x64xf32, #fragment>
    tile.gemm %a, %b -> %c precision tf32x3 : memref<64x32xf32, #shared>, memref<32x64xf32, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}
// CHECK-LABEL: func.func @left_alone(
// CHECK: tile.gemm %a, %b -> %c precision tf32x3
// CHECK: tile.gemm %d, %b -> %e precision tf32 :
func.func @left_alone() attributes {tile.target = #tile.target<cuda, sm_90a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<8x32xf32, #shared>
    %b = tile.alloc "b" : memref<32x64xf32, #shared>
    %c = tile.alloc "c" : memref<8x64xf32, #fragment>
    %d = tile.alloc "d" : memref<64x32xf32, #shared>
    %e = tile.alloc "e" : memref<64x64xf32, #fragment>
    tile.gemm %a, %b -> %c precision tf32x3 : memref<8x32xf32, #shared>, memref<32x64xf32, #shared> -> memref<8x64xf32, #fragment>
    tile.gemm %d, %b -> %e precision tf32 : memref<64x32xf32, #shared>, memref<32x64xf32, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}
