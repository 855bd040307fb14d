// RUN: tilewright-opt %s -split-input-file -verify-diagnostics

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
func.func @format(%a: memref<64x64xf16, #shared>, %b: memref<64x32xbf16, #shared>, %c: memref<64x32xf32, #fragment>) {
  // expected-error @+1 {{'tile.scaled_gemm' op A in format e4m3 needs elements of type 'f8E4M3FN' or 'i8', got 'f16'}}
  tile.scaled_gemm %a as e4m3, %b as bf16 -> %c : memref<64x64xf16, #shared>, memref<64x32xbf16, #shared> -> memref<64x32xf32, #fragment>
  func.return
}

// -----

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
func.func @depth(%a: memref<64x64xi8, #shared>, %b: memref<64x32xbf16, #shared>, %c: memref<64x32xf32, #fragment>) {
  // expected-error @+1 {{'tile.scaled_gemm' op A has K = 128 elements, B has K = 64}}
  tile.scaled_gemm %a as e2m1, %b as bf16 -> %c : memref<64x64xi8, #shared>, memref<64x32xbf16, #shared> -> memref<64x32xf32, #fragment>
  func.return
}

// -----

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
func.func @result(%a: memref<32x64xi8, #shared>, %b: memref<64x32xbf16, #shared>, %c: memref<32x32xf32, #fragment>) {
  // expected-error @+1 {{'tile.scaled_gemm' op A and B give 64x32, but C has 32x32}}
  tile.scaled_gemm %a as e2m1, %b as bf16 -> %c {pack_m} : memref<32x64xi8, #shared>, memref<64x32xbf16, #shared> -> memref<32x32xf32, #fragment>
  func.return
}

// -----

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
func.func @scale(%a: memref<64x64xi8, #shared>, %s: memref<64x4xi8, #shared>, %b: memref<64x32xbf16, #shared>, %c: memref<64x32xf32, #fragment>) {
  // expected-error @+1 {{'tile.scaled_gemm' op the scale of A is M x K/32: expected 64x2, got 64x4}}
  tile.scaled_gemm %a as e4m3 scale %s : memref<64x4xi8, #shared>, %b as bf16 -> %c : memref<64x64xi8, #shared>, memref<64x32xbf16, #shared> -> memref<64x32xf32, #fragment>
  func.return
}

// -----

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
func.func @scale_type(%a: memref<64x64xi8, #shared>, %s: memref<64x2xf32, #shared>, %b: memref<64x32xbf16, #shared>, %c: memref<64x32xf32, #fragment>) {
  // expected-error @+1 {{'tile.scaled_gemm' op a scale is of type 'i8' or 'f8E4M3FN', got 'f32'}}
  tile.scaled_gemm %a as e4m3 scale %s : memref<64x2xf32, #shared>, %b as bf16 -> %c : memref<64x64xi8, #shared>, memref<64x32xbf16, #shared> -> memref<64x32xf32, #fragment>
  func.return
}

// -----

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
func.func @wide_scale(%a: memref<64x64xbf16, #shared>, %s: memref<64x2xf8E4M3FN, #shared>, %b: memref<64x32xbf16, #shared>, %c: memref<64x32xf32, #fragment>) {
  // expected-error @+1 {{'tile.scaled_gemm' op the scale of A in format bf16 must be bytes}}
  tile.scaled_gemm %a as bf16 scale %s : memref<64x2xf8E4M3FN, #shared>, %b as bf16 -> %c : memref<64x64xbf16, #shared>, memref<64x32xbf16, #shared> -> memref<64x32xf32, #fragment>
  func.return
}

// -----

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
func.func @pack(%a: memref<64x64xi8, #shared>, %b: memref<64x32xbf16, #shared>, %c: memref<64x32xf32, #fragment>) {
  // expected-error @+1 {{'tile.scaled_gemm' op pack_m is for e2m1, of which a byte holds two, not for e5m2}}
  tile.scaled_gemm %a as e5m2, %b as bf16 -> %c {pack_m} : memref<64x64xi8, #shared>, memref<64x32xbf16, #shared> -> memref<64x32xf32, #fragment>
  func.return
}

// -----

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
func.func @accumulator(%a: memref<64x64xi8, #shared>, %b: memref<64x32xbf16, #shared>, %c: memref<64x32xbf16, #fragment>) {
  // expected-error @+1 {{'tile.scaled_gemm' op the accumulator must be 'f32', got 'bf16'}}
  tile.scaled_gemm %a as e5m2, %b as bf16 -> %c : memref<64x64xi8, #shared>, memref<64x32xbf16, #shared> -> memref<64x32xbf16, #fragment>
  func.return
}

// -----

#shared = #tile.space<shared>
#global = #tile.space<global>
#fragment = #tile.space<fragment>
func.func @space(%a: memref<64x64xi8, #global>, %b: memref<64x32xbf16, #shared>, %c: memref<64x32xf32, #fragment>) {
  // expected-error @+1 {{'tile.scaled_gemm' op A must be in shared memory or a fragment, but it is in global memory}}
  tile.scaled_gemm %a as e5m2, %b as bf16 -> %c : memref<64x64xi8, #global>, memref<64x32xbf16, #shared> -> memref<64x32xf32, #fragment>
  func.return
}
