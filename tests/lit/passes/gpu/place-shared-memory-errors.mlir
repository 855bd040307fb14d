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

func.func @misaligned(%v: f16) attributes {nv.kernel, nv.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %spec = tile.storage_alias_spec shared size 8448 : !tile.storage_alias_spec<shared>
  %m = tile.alloc "m" alias %spec offset 0 : memref<128xf16, #s>
  // expected-error @+2 {{'p' begins at byte 256 of the storage it shares, but its swizzle needs a multiple of 1024}}
  // expected-note @+1 {{help: name it first in its reuse_group: that one begins at byte 0}}
  %p = tile.alloc "p" alias %spec offset 256 {nv.align = 1024 : i64} : memref<4096xf16, #s>
  memref.store %v, %m[%c0] : memref<128xf16, #s>
  memref.store %v, %p[%c0] : memref<4096xf16, #s>
  func.return
}
