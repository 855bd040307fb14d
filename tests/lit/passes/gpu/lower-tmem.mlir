// RUN: tilewright-opt -lower-tmem -verify-diagnostics %s

#t = #tile.space<tmem>
#s = #tile.space<shared>

func.func @hopper() {
  tile.kernel (%bx) in (1) threads(128) {
    // expected-note @+2 {{help: compile for cuda:sm_100a, or keep the accumulator in registers: T.alloc_fragment((128, 256), 'f32')}}
    // expected-error @+1 {{tensor memory requires sm_100, the target is sm_90}}
    %acc = tile.alloc "acc" : memref<128x256xf32, #t>
  }
  func.return
}

func.func @geforce() attributes {tile.target = #tile.target<cuda, sm_120a>} {
  tile.kernel (%bx) in (1) threads(128) {
    // expected-note @+2 {{help: compile for cuda:sm_100a, or keep the accumulator in registers: T.alloc_fragment((64, 32), 'f32')}}
    // expected-error @+1 {{tensor memory requires sm_100, the target is sm_120}}
    %acc = tile.alloc "acc" : memref<64x32xf32, #t>
  }
  func.return
}

func.func @blackwell() attributes {tile.target = #tile.target<cuda, sm_100a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc : memref<96x64xf16, #s>
    %b = tile.alloc : memref<64x64xf16, #s>
    %narrow = tile.alloc : memref<64x8xf16, #s>
    %short = tile.alloc : memref<8x64xf16, #s>
    %acc = tile.alloc "acc" : memref<96x64xf32, #t>
    %small = tile.alloc : memref<64x64xf32, #t>
    // expected-note @+2 {{help: use tiles of 64 or 128 rows}}
    // expected-error @+1 {{tcgen05 has no instruction for this GEMM: M = 96, expected 64 or 128}}
    tile.tcgen05_gemm %a, %b -> %acc {clear} : memref<96x64xf16, #s>, memref<64x64xf16, #s> -> memref<96x64xf32, #t>
    // expected-note @+2 {{help: make K of the tiles a multiple of 16}}
    // expected-error @+1 {{tcgen05 has no instruction for this GEMM: K = 8 is not a multiple of 16}}
    tile.tcgen05_gemm %narrow, %short -> %small {clear} : memref<64x8xf16, #s>, memref<8x64xf16, #s> -> memref<64x64xf32, #t>
    tile.tcgen05_gemm %b, %b -> %small {clear} : memref<64x64xf16, #s>, memref<64x64xf16, #s> -> memref<64x64xf32, #t>
  }
  func.return
}

func.func @alone() attributes {tile.target = #tile.target<cuda, sm_100a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc : memref<128x64xf16, #s>
    %b = tile.alloc : memref<64x64xf16, #s>
    %c = tile.alloc : memref<128x128xf32, #t>
    // expected-note @+2 {{help: launch with T.ClusterKernel(..., cluster_dims=2)}}
    // expected-error @+1 {{use_2cta requires clusters of two blocks along x}}
    tile.tcgen05_gemm %a, %b -> %c {clear, two_cta} : memref<128x64xf16, #s>, memref<64x64xf16, #s> -> memref<128x128xf32, #t>
  }
  func.return
}
