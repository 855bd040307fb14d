// RUN: tilewright-opt -check-amd-features -verify-diagnostics %s

#barrier = #tile.space<barrier>
#tmem = #tile.space<tmem>
#gfx942 = #tile.target<hip, gfx942>

func.func @memories() attributes {tile.target = #gfx942} {
  tile.kernel (%bx) in (1) threads(128) {
    // expected-note @+2 {{help: allocate the accumulator in registers with T.alloc_fragment}}
    // expected-error @+1 {{tensor memory not supported on gfx942: 'C' is allocated there}}
    %c = tile.alloc "C" : memref<128x128xf32, #tmem>
    // expected-note @+2 {{help: use T.copy, which the compiler makes overlap in T.Pipelined loops, and T.sync_threads() to synchronise all threads of a block}}
    // expected-error @+1 {{mbarriers not supported on gfx942: 'full' is one}}
    %b = tile.alloc "full" init [1] : memref<1x!nv.mbarrier, #barrier>
  }
  func.return
}

func.func @waves() attributes {tile.target = #gfx942} {
  // expected-note @+2 {{help: use threads=128}}
  // expected-remark @+1 {{28 of 128 lanes idle: 100 threads per block are not a multiple of the 64 lanes of a wave on gfx942}}
  tile.kernel (%bx) in (1) threads(100) {
  }
  func.return
}

// Other GPUs are not concerned.
func.func @nvidia() attributes {tile.target = #tile.target<cuda, sm_90a>} {
  tile.kernel (%bx) in (1) threads(100) {
    %b = tile.alloc "full" init [1] : memref<1x!nv.mbarrier, #barrier>
  }
  func.return
}
