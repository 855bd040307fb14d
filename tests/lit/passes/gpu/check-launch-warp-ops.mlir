// RUN: tilewright-opt -check-launch -split-input-file -verify-diagnostics %s

// The whole warp, whatever it has, and groups that it has.

func.func @fine(%x: f32, %p: i1) attributes {tile.target = #tile.target<hip, gfx942>} {
  tile.kernel (%b) in (1) threads(128) {
    %c1 = arith.constant 1 : i32
    %0 = tile.shuffle xor %x, %c1 : f32
    %1 = tile.shuffle xor %x, %c1 width 64 : f32
    %2 = tile.shuffle xor %x, %c1 width 32 : f32
    %3 = tile.vote ballot %p : i64
    %4 = tile.vote any %p : i1
    %5 = tile.vote ballot %p width 32 : i32
  }
  func.return
}

// -----

func.func @ballot(%p: i1) attributes {tile.target = #tile.target<hip, gfx90a>} {
  tile.kernel (%b) in (1) threads(128) {
    // expected-error @+2 {{ballot too narrow: 32 bits, but a wave of gfx90a has 64 lanes}}
    // expected-note @+1 {{help: use T.ballot(predicate, dtype="uint64"), or the ballot of 32 threads}}
    %0 = tile.vote ballot %p : i32
  }
  func.return
}

// -----

// Waves of 32 lanes have as many votes as bits.

func.func @waves_of_32(%p: i1) attributes {tile.target = #tile.target<hip, gfx1100>} {
  tile.kernel (%b) in (1) threads(128) {
    %0 = tile.vote ballot %p : i32
  }
  func.return
}

// -----

func.func @shuffle(%x: f32) attributes {tile.target = #tile.target<cuda, sm_90a>} {
  tile.kernel (%b) in (1) threads(128) {
    %c1 = arith.constant 1 : i32
    // expected-error @+2 {{shuffle too wide: 64 lanes, but a warp of sm_90 has 32}}
    // expected-note @+1 {{help: use width=32, or a GPU whose warps have 64 lanes}}
    %0 = tile.shuffle xor %x, %c1 width 64 : f32
  }
  func.return
}
