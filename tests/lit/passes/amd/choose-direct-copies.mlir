// RUN: tilewright-opt %s --bind-target="target=hip:gfx950" --choose-direct-copies --stage-copies --plan-staging --expand-pipeline 2>&1 | filecheck %s
// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --choose-direct-copies --stage-copies 2>&1 | filecheck %s --check-prefix=OTHER

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// CHECK: remark[TW7504]: copy to 'Bs' goes through registers: it transposes the tile: matrix instructions read the other dimension
// OTHER-NOT: amd.direct

// Two versions, each a buffer of its own; the loop names both, and the copies of the next iteration come first.
// CHECK-LABEL: func.func @direct
// CHECK: %[[A0:.*]] = tile.alloc "As_0" {amd.own_array, tile.separate_versions} : memref<64x64xf16, #shared>
// CHECK: %[[A1:.*]] = tile.alloc "As_1" {amd.own_array, tile.separate_versions} : memref<64x64xf16, #shared>
// CHECK: tile.copy %{{.*}} -> %[[A0]] {amd.direct}
// CHECK: scf.for
// CHECK: tile.copy %{{.*}} -> %[[A1]] {amd.direct}
// CHECK: tile.gemm %[[A0]], %[[A0]]
// CHECK: tile.copy %{{.*}} -> %[[A0]] {amd.direct}
// CHECK: tile.gemm %[[A1]], %[[A1]]
func.func @direct(%A: memref<64x512xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %as = tile.alloc "As" : memref<64x64xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    %c64 = arith.constant 64 : index
    tile.pipeline %k = 0 to 7 num_stages(2) {
      %o = arith.muli %k, %c64 : index
      %ra = tile.region %A[0, %o] [64, 64] : memref<64x512xf16, #global> to !tile.region<64x64xf16, #global>
      tile.copy %ra -> %as : !tile.region<64x64xf16, #global> -> memref<64x64xf16, #shared>
      tile.gemm %as, %as -> %c {transpose_b} : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
    }
  }
  func.return
}

// If the trip count is a run-time value, iterations that do not exist are tested; their copies are predicated.
// CHECK-LABEL: func.func @while
// CHECK: scf.if %{{.*}} {
// CHECK: amd.direct
// CHECK: } {tile.predicated}
// CHECK: scf.for
// CHECK: amd.direct
// CHECK: } {tile.predicated}
// CHECK: tile.gemm
// CHECK: amd.direct
// CHECK: } {tile.predicated}
// CHECK: scf.if
// CHECK-NOT: tile.copy
// CHECK: tile.gemm
func.func @while(%A: memref<64x512xf16, #global>, %n: index) {
  tile.kernel (%bx) in (1) threads(128) {
    %as = tile.alloc "As" : memref<64x64xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    %c64 = arith.constant 64 : index
    tile.pipeline %k = 0 to %n num_stages(2) {
      %o = arith.muli %k, %c64 : index
      %ra = tile.region %A[0, %o] [64, 64] : memref<64x512xf16, #global> to !tile.region<64x64xf16, #global>
      tile.copy %ra -> %as : !tile.region<64x64xf16, #global> -> memref<64x64xf16, #shared>
      tile.gemm %as, %as -> %c {transpose_b} : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @across
// CHECK-NOT: amd.direct
func.func @across(%B: memref<512x64xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %as = tile.alloc "As" : memref<64x64xf16, #shared>
    %bs = tile.alloc "Bs" : memref<64x64xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    %c64 = arith.constant 64 : index
    tile.pipeline %k = 0 to 7 num_stages(2) {
      %o = arith.muli %k, %c64 : index
      %rb = tile.region %B[%o, 0] [64, 64] : memref<512x64xf16, #global> to !tile.region<64x64xf16, #global>
      tile.copy %rb -> %bs : !tile.region<64x64xf16, #global> -> memref<64x64xf16, #shared>
      tile.gemm %as, %bs -> %c : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
    }
  }
  func.return
}
