// RUN: tilewright-opt -split-input-file -verify-diagnostics %s

func.func @space(%a: memref<128x64xf16, #tile.space<shared>>, %b: memref<64x64xf16, #tile.space<shared>>, %c: memref<128x64xf32, #tile.space<fragment>>) {
  // expected-error @+1 {{C must be in tensor memory, but it is in fragment memory}}
  tile.tcgen05_gemm %a, %b -> %c : memref<128x64xf16, #tile.space<shared>>, memref<64x64xf16, #tile.space<shared>> -> memref<128x64xf32, #tile.space<fragment>>
  func.return
}

// -----

func.func @halves(%a: memref<128x64xf16, #tile.space<shared>>, %b: memref<64x64xf16, #tile.space<shared>>, %c: memref<128x64xf32, #tile.space<tmem>>) {
  // expected-error @+1 {{T.tcgen05_gemm N shape check failed: N_B of both blocks = 128, N_C = 64}}
  tile.tcgen05_gemm %a, %b -> %c {two_cta} : memref<128x64xf16, #tile.space<shared>>, memref<64x64xf16, #tile.space<shared>> -> memref<128x64xf32, #tile.space<tmem>>
  func.return
}

// -----

func.func @types(%a: memref<128x64xbf16, #tile.space<shared>>, %b: memref<64x64xbf16, #tile.space<shared>>, %c: memref<128x64xf16, #tile.space<tmem>>) {
  // expected-error @+1 {{an accumulator for these operands is 'f32', got 'f16'}}
  tile.tcgen05_gemm %a, %b -> %c : memref<128x64xbf16, #tile.space<shared>>, memref<64x64xbf16, #tile.space<shared>> -> memref<128x64xf16, #tile.space<tmem>>
  func.return
}

// -----

func.func @words(%packed: memref<64xi32, #tile.space<shared>>) {
  // expected-error @+1 {{scales come in rows of 128 integers, got extents 64}}
  tile.transpose_scales %packed : memref<64xi32, #tile.space<shared>>
  func.return
}
