// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --stage-copies --plan-staging 2>&1 | filecheck %s

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// Two versions of 48 KB each do not fit into 64 KB.
// CHECK: remark[TW7500]: copy to 'odd' not staged: 33 x 17 elements do not divide evenly among 256 threads
// CHECK: remark[TW7501]: tiles in shared memory not double-buffered: 98304 B needed, 65536 B available per block on gfx942; each iteration takes a second barrier
// CHECK-LABEL: func.func @large
// CHECK: tile.pipeline %{{.*}} = 0 to 3 num_stages(4) plan #tile.pipeline_plan<stage = [0, 0, 0, 0, 1], order = [0, 3, 1, 4, 2], versions = [1, 1, 1, 1, 1]>
func.func @large(%A: memref<128x192xf16, #global>, %B: memref<256x192xf16, #global>) {
  tile.kernel (%bx) in (1) threads(256) {
    %as = tile.alloc "As" : memref<128x64xf16, #shared>
    %bs = tile.alloc "Bs" : memref<256x64xf16, #shared>
    %c = tile.alloc "C" : memref<128x256xf32, #fragment>
    %c64 = arith.constant 64 : index
    tile.pipeline %k = 0 to 3 num_stages(4) {
      %o = arith.muli %k, %c64 : index
      %ra = tile.region %A[0, %o] [128, 64] : memref<128x192xf16, #global> to !tile.region<128x64xf16, #global>
      tile.copy %ra -> %as : !tile.region<128x64xf16, #global> -> memref<128x64xf16, #shared>
      %rb = tile.region %B[0, %o] [256, 64] : memref<256x192xf16, #global> to !tile.region<256x64xf16, #global>
      tile.copy %rb -> %bs : !tile.region<256x64xf16, #global> -> memref<256x64xf16, #shared>
      tile.gemm %as, %bs -> %c {transpose_b} : memref<128x64xf16, #shared>, memref<256x64xf16, #shared> -> memref<128x256xf32, #fragment>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @odd
// CHECK-NOT: amd.staging
func.func @odd(%A: memref<33x51xf16, #global>, %B: memref<33x51xf16, #global>) {
  tile.kernel (%bx) in (1) threads(256) {
    %odd = tile.alloc "odd" : memref<33x17xf16, #shared>
    %c17 = arith.constant 17 : index
    tile.pipeline %k = 0 to 3 num_stages(2) {
      %o = arith.muli %k, %c17 : index
      %ra = tile.region %A[0, %o] [33, 17] : memref<33x51xf16, #global> to !tile.region<33x17xf16, #global>
      tile.copy %ra -> %odd : !tile.region<33x17xf16, #global> -> memref<33x17xf16, #shared>
      %rb = tile.region %B[0, %o] [33, 17] : memref<33x51xf16, #global> to !tile.region<33x17xf16, #global>
      tile.copy %odd -> %rb : memref<33x17xf16, #shared> -> !tile.region<33x17xf16, #global>
    }
  }
  func.return
}
