// RUN: tilewright-opt %s -split-input-file -verify-diagnostics

#l = #tile.space<local>
func.func @shape(%a: memref<8xf16, #l>, %c: memref<16xf32, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx942>} {
  // expected-error @+1 {{'amd.mfma' op gfx942 has no mfma 16x16x32 of f16 and f16: its shapes are 32x32x8, 16x16x16}}
  amd.mfma %a[%i], %a[%i] -> %c[%i] shape [16, 16, 32] : memref<8xf16, #l>, memref<8xf16, #l> -> memref<16xf32, #l>
  func.return
}

// -----

#l = #tile.space<local>
func.func @older(%a: memref<8xi8, #l>, %c: memref<16xi32, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx942>} {
  // expected-error @+1 {{'amd.mfma' op gfx942 has no mfma 16x16x16 of i8 and i8: its shapes are 32x32x16, 16x16x32}}
  amd.mfma %a[%i], %a[%i] -> %c[%i] shape [16, 16, 16] : memref<8xi8, #l>, memref<8xi8, #l> -> memref<16xi32, #l>
  func.return
}

// -----

#l = #tile.space<local>
func.func @types(%a: memref<8xf8E4M3FN, #l>, %c: memref<16xf32, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx942>} {
  // expected-error @+1 {{'amd.mfma' op gfx942 has no mfma 16x16x32 of f8E4M3FN and f8E4M3FN: it has no mfma of these types}}
  amd.mfma %a[%i], %a[%i] -> %c[%i] shape [16, 16, 32] : memref<8xf8E4M3FN, #l>, memref<8xf8E4M3FN, #l> -> memref<16xf32, #l>
  func.return
}

// -----

#l = #tile.space<local>
func.func @kind(%a: memref<16xf16, #l>, %c: memref<16xf32, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx90a>} {
  // expected-error @+1 {{'amd.wmma' op gfx90a has no wmma 16x16x16 of f16 and f16: it has no wmma of these types}}
  amd.wmma %a[%i], %a[%i] -> %c[%i] shape [16, 16, 16] : memref<16xf16, #l>, memref<16xf16, #l> -> memref<16xf32, #l>
  func.return
}

// -----

#l = #tile.space<local>
func.func @xf32(%a: memref<8xf32, #l>, %c: memref<16xf32, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx950>} {
  // expected-error @+1 {{'amd.mfma' op gfx950 has no mfma 16x16x8 of xf32 and xf32: it has no mfma of these types}}
  amd.mfma %a[%i], %a[%i] -> %c[%i] shape [16, 16, 8] {xf32} : memref<8xf32, #l>, memref<8xf32, #l> -> memref<16xf32, #l>
  func.return
}

// -----

#l = #tile.space<local>
func.func @no_f32(%a: memref<8xf16, #l>, %c: memref<16xf32, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx942>} {
  // expected-error @+1 {{'amd.mfma' op xf32 operands must be f32, got 'f16' and 'f16'}}
  amd.mfma %a[%i], %a[%i] -> %c[%i] shape [16, 16, 8] {xf32} : memref<8xf16, #l>, memref<8xf16, #l> -> memref<16xf32, #l>
  func.return
}

// -----

#l = #tile.space<local>
func.func @accumulator(%a: memref<8xi8, #l>, %c: memref<16xf32, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx90a>} {
  // expected-error @+1 {{'amd.mfma' op accumulators must be i32, got 'f32'}}
  amd.mfma %a[%i], %a[%i] -> %c[%i] shape [32, 32, 8] : memref<8xi8, #l>, memref<8xi8, #l> -> memref<16xf32, #l>
  func.return
}

// -----

#l = #tile.space<local>
#s = #tile.space<shared>
func.func @memory(%a: memref<8xf16, #s>, %c: memref<16xf32, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx90a>} {
  // expected-error @+1 {{'amd.mfma' op multiplies registers, not 'memref<8xf16, #tile.space<shared>>'}}
  amd.mfma %a[%i], %a[%i] -> %c[%i] shape [32, 32, 8] : memref<8xf16, #s>, memref<8xf16, #s> -> memref<16xf32, #l>
  func.return
}

// -----

#l = #tile.space<local>
func.func @extents(%a: memref<8xf16, #l>, %c: memref<16xf32, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx90a>} {
  // expected-error @+1 {{'amd.mfma' op MMA shape must have three extents: m, n, k}}
  amd.mfma %a[%i], %a[%i] -> %c[%i] shape [32, 32] : memref<8xf16, #l>, memref<8xf16, #l> -> memref<16xf32, #l>
  func.return
}

// -----

#l = #tile.space<local>
func.func @target(%a: memref<8xf16, #l>, %c: memref<16xf32, #l>, %i: index) attributes {tile.target = #tile.target<cuda, sm_90a>} {
  // expected-error @+1 {{'amd.mfma' op expects a function whose target is an AMD GPU}}
  amd.mfma %a[%i], %a[%i] -> %c[%i] shape [32, 32, 8] : memref<8xf16, #l>, memref<8xf16, #l> -> memref<16xf32, #l>
  func.return
}

// -----

#l = #tile.space<local>
func.func @unsigned(%a: memref<16xf16, #l>, %c: memref<16xf32, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx1100>} {
  // expected-error @+1 {{'amd.wmma' op only 8-bit integers can be unsigned}}
  amd.wmma %a[%i], %a[%i] -> %c[%i] shape [16, 16, 16] {unsigned_b} : memref<16xf16, #l>, memref<16xf16, #l> -> memref<16xf32, #l>
  func.return
}

// -----

#g = #tile.space<global>
#s = #tile.space<shared>
func.func @no_direct_copies(%A: memref<?xf16, #g>, %S: memref<8192xf16, #s>, %i: index) attributes {tile.target = #tile.target<hip, gfx1100>} {
  // expected-error @+1 {{'amd.load_lds' op gfx1100 has no copies from global memory to LDS}}
  amd.load_lds %A[%i] -> %S[%i] lanes(2) : memref<?xf16, #g>, memref<8192xf16, #s>
  func.return
}

// -----

#g = #tile.space<global>
#s = #tile.space<shared>
func.func @copy_bytes(%A: memref<?xf16, #g>, %S: memref<8192xf16, #s>, %i: index) attributes {tile.target = #tile.target<hip, gfx942>} {
  // expected-error @+1 {{'amd.load_lds' op access size must be 4 bytes, got 16}}
  amd.load_lds %A[%i] -> %S[%i] lanes(8) : memref<?xf16, #g>, memref<8192xf16, #s>
  func.return
}

// -----

#g = #tile.space<global>
#l = #tile.space<local>
func.func @copy_to_registers(%A: memref<?xf16, #g>, %a: memref<64xf16, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx950>} {
  // expected-error @+1 {{'amd.load_lds' op copies from global memory to LDS, not 'memref<?xf16, #tile.space<global>>' to 'memref<64xf16, #tile.space<local>>'}}
  amd.load_lds %A[%i] -> %a[%i] lanes(8) : memref<?xf16, #g>, memref<64xf16, #l>
  func.return
}

// -----

#g = #tile.space<global>
#s = #tile.space<shared>
func.func @load_to_lds(%A: memref<?xf16, #g>, %S: memref<64xf16, #s>, %i: index) attributes {tile.target = #tile.target<hip, gfx950>} {
  // expected-error @+1 {{'amd.buffer_load' op moves from global to local or var memory, not 'memref<?xf16, #tile.space<global>>' to 'memref<64xf16, #tile.space<shared>>'}}
  amd.buffer_load %A[%i] -> %S[%i] lanes(8) elements %i : memref<?xf16, #g>, memref<64xf16, #s>
  func.return
}

// -----

#g = #tile.space<global>
#l = #tile.space<local>
func.func @store_bytes(%A: memref<?xf16, #g>, %a: memref<64xf16, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx950>} {
  // expected-error @+1 {{'amd.buffer_store' op access size must be 1, 2, 4, 8, 16 bytes, got 6}}
  amd.buffer_store %a[%i] -> %A[%i] lanes(3) elements %i : memref<64xf16, #l>, memref<?xf16, #g>
  func.return
}

// -----

// expected-error @+1 {{'amd.wait' op loads in flight must be 0 to 63, got 64}}
amd.wait loads(64)

// -----

// expected-error @+1 {{'amd.sched_group' op count must be at least 1, got 0}}
amd.sched_group valu count(0)

// -----

// expected-error @+1 {{'amd.sched_barrier' op mask must be 0 to 2047, got 4096}}
amd.sched_barrier 4096

// -----

// expected-error @+1 {{'amd.setprio' op priority must be 0 to 3, got 4}}
amd.setprio 4

// -----

// expected-error @+1 {{'amd.iglp' op pattern must be 0 to 3, got 7}}
amd.iglp 7

// -----

#l = #tile.space<local>
func.func @rows(%a: memref<8xf16, #l>, %b: memref<16xf16, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx942>} {
  // expected-error @+1 {{'amd.interleave' op expects an AMD GPU with waves of 32 lanes}}
  amd.interleave %a[%i] -> %b[%i] lanes(8) : memref<8xf16, #l>, memref<16xf16, #l>
  func.return
}

// -----

#l = #tile.space<local>
func.func @words(%a: memref<8xf16, #l>, %b: memref<16xf16, #l>, %i: index) attributes {tile.target = #tile.target<hip, gfx1100>} {
  // expected-error @+1 {{'amd.interleave' op exchanges whole registers of 4 bytes, got 6 bytes}}
  amd.interleave %a[%i] -> %b[%i] lanes(3) : memref<8xf16, #l>, memref<16xf16, #l>
  func.return
}

// -----

#l = #tile.space<local>
#s = #tile.space<shared>
func.func @registers(%a: memref<8xf16, #l>, %b: memref<16xf16, #s>, %i: index) attributes {tile.target = #tile.target<hip, gfx1100>} {
  // expected-error @+1 {{'amd.interleave' op exchanges registers, not 'memref<16xf16, #tile.space<shared>>'}}
  amd.interleave %a[%i] -> %b[%i] lanes(8) : memref<8xf16, #l>, memref<16xf16, #s>
  func.return
}
