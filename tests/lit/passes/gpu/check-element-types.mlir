// RUN: tilewright-opt -check-element-types -split-input-file -verify-diagnostics %s

#global = #tile.space<global>
#shared = #tile.space<shared>

// What a GPU has is left alone, and so is what is no buffer.

func.func @fine(%A: memref<64xi8, #global>, %B: memref<64xf8E4M3FN, #global>, %c: i4) {
  tile.kernel (%x) in (1) threads(32) {
    %s = tile.alloc "s" : memref<64xi1, #shared>
  }
  func.return
}

// -----

#global = #tile.space<global>
#shared = #tile.space<shared>

// expected-error @+2 {{elements of A, s are int4: the memory of a GPU has no numbers of 4 bits}}
// expected-note @+1 {{help: two of them in a byte}}
func.func @halves_of_bytes(%A: memref<64xi4, #global> {tile.name = "A", tile.dtype = "int4"}) {
  tile.kernel (%x) in (1) threads(32) {
    %s = tile.alloc "s" : memref<64xi4, #shared>
  }
  func.return
}

// -----

#shared = #tile.space<shared>

func.func @of_other_makers() {
  tile.kernel (%x) in (1) threads(32) {
    // expected-error @+2 {{elements of s are float8_e5m2fnuz: GPUs of NVIDIA have no such format}}
    // expected-note @+1 {{help: float8_e5m2 has as many bits for exponent and fraction}}
    %s = tile.alloc "s" : memref<64xf8E5M2FNUZ, #shared>
  }
  func.return
}
