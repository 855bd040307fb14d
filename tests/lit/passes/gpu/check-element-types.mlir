// RUN: tilewright-opt -check-element-types -split-input-file -verify-diagnostics %s

#global = #tile.space<global>
#shared = #tile.space<shared>

// What a GPU has is left alone, and so is what is no buffer.

func.func @fine(%A: memref<64xi8, #global>, %B: memref<64xf8E4M3FN, #global>, %c: f8E4M3FNUZ) {
  tile.kernel (%x) in (1) threads(32) {
    %s = tile.alloc "s" : memref<64xi1, #shared>
  }
  func.return
}

// -----

#shared = #tile.space<shared>

func.func @of_other_makers() {
  tile.kernel (%x) in (1) threads(32) {
    // expected-error @+2 {{unsupported element type float8_e5m2fnuz of s: NVIDIA GPUs do not support this format}}
    // expected-note @+1 {{help: use float8_e5m2, which has as many exponent and mantissa bits}}
    %s = tile.alloc "s" : memref<64xf8E5M2FNUZ, #shared>
  }
  func.return
}
