// RUN: tilewright-opt -check-fragment-sizes -split-input-file -verify-diagnostics %s

#f = #tile.space<fragment>

func.func @fits(%v: f32, %i: index) {
  tile.kernel (%x) in (1) threads(128) {
    %C = tile.alloc "C" layout #tile.fragment<(i : 128, j : 255) -> thread (i) index (j)> : memref<128x255xf32, #f>
    memref.store %v, %C[%i, %i] : memref<128x255xf32, #f>
  }
  func.return
}

// -----

#f = #tile.space<fragment>

func.func @more_threads(%v: f32, %i: index) {
  tile.kernel (%x) in (1) threads(128) {
    // expected-warning @+2 {{fragment 'C' needs 256 registers per thread (128 threads), 255 available: it will be spilled to local memory}}
    // expected-note @+1 {{help: threads=256}}
    %C = tile.alloc "C" layout #tile.fragment<(i : 128, j : 256) -> thread (i) index (j)> : memref<128x256xf32, #f>
    memref.store %v, %C[%i, %i] : memref<128x256xf32, #f>
  }
  func.return
}

// -----

#f = #tile.space<fragment>

// All registers of a multiprocessor: no number of threads leaves room for anything else.

func.func @smaller_tile(%v: f32, %i: index) {
  tile.kernel (%x) in (1) threads(256) {
    // expected-warning @+2 {{'C' needs 256 registers per thread (256 threads), 255 available}}
    // expected-note @+1 {{help: use a tile of 1/2 of the size with threads=256}}
    %C = tile.alloc "C" layout #tile.fragment<(i : 256, j : 256) -> thread (i) index (j)> : memref<256x256xf32, #f>
    memref.store %v, %C[%i, %i] : memref<256x256xf32, #f>
  }
  func.return
}
