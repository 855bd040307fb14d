// RUN: tilewright-opt -place-shared-memory -verify-diagnostics %s

#s = #tile.space<shared>

// expected-error @+2 {{the kernel needs 262144 bytes of shared memory, a block of sm_90 has 232448}}
// expected-note @+1 {{help: 'A' with half of its elements fits, with 196608 bytes}}
func.func @too_large(%v: f16, %i: index) attributes {nv.kernel, nv.threads = 128 : i64} {
  // expected-note @+1 {{'A' takes 131072 bytes}}
  %A = tile.alloc "A" : memref<65536xf16, #s>
  // expected-note @+1 {{'B' takes 131072 bytes}}
  %B = tile.alloc "B" : memref<65536xf16, #s>
  %x = memref.load %A[%i] : memref<65536xf16, #s>
  memref.store %x, %B[%i] : memref<65536xf16, #s>
  %y = memref.load %A[%i] : memref<65536xf16, #s>
  func.return
}
