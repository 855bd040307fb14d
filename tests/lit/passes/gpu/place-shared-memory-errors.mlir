// RUN: tilewright-opt -place-shared-memory -verify-diagnostics %s

#s = #tile.space<shared>

// expected-error @+2 {{shared memory exceeded: 262144 B needed, 232448 B available per block on sm_90}}
// expected-note @+1 {{help: halve 'A' (196608 B)}}
func.func @too_large(%v: f16, %i: index) attributes {simt.kernel, simt.threads = 128 : i64} {
  // expected-note @+1 {{'A' needs 131072 B}}
  %A = tile.alloc "A" : memref<65536xf16, #s>
  // expected-note @+1 {{'B' needs 131072 B}}
  %B = tile.alloc "B" : memref<65536xf16, #s>
  %x = memref.load %A[%i] : memref<65536xf16, #s>
  memref.store %x, %B[%i] : memref<65536xf16, #s>
  %y = memref.load %A[%i] : memref<65536xf16, #s>
  func.return
}

func.func @misaligned(%v: f16) attributes {simt.kernel, simt.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %spec = tile.storage_alias_spec shared size 8448 : !tile.storage_alias_spec<shared>
  %m = tile.alloc "m" alias %spec offset 0 : memref<128xf16, #s>
  // expected-error @+2 {{misaligned alias: 'p' is at byte 256 of its shared storage, its swizzle requires a multiple of 1024 B}}
  // expected-note @+1 {{help: make it the first element of its reuse_group, which is at byte 0}}
  %p = tile.alloc "p" alias %spec offset 256 {simt.align = 1024 : i64} : memref<4096xf16, #s>
  memref.store %v, %m[%c0] : memref<128xf16, #s>
  memref.store %v, %p[%c0] : memref<4096xf16, #s>
  func.return
}
