// RUN: tilewright-opt %s -split-input-file -verify-diagnostics

#global = #tile.space<global>
#shared = #tile.space<shared>
func.func @extents(%a: memref<128x64xf16, #global>, %b: memref<128x32xf16, #shared>) {
  // expected-error @+1 {{'tile.copy' op extents differ: the source has 128x64, the destination 128x32}}
  tile.copy %a -> %b : memref<128x64xf16, #global> -> memref<128x32xf16, #shared>
  func.return
}

// -----

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
func.func @gemm(%a: memref<64x32xf16, #shared>, %c: memref<64x64xf32, #fragment>) {
  // expected-error @+1 {{'tile.gemm' op T.gemm K shape check failed: K_A = 32, K_B = 64}}
  tile.gemm %a, %a -> %c : memref<64x32xf16, #shared>, memref<64x32xf16, #shared> -> memref<64x64xf32, #fragment>
  func.return
}

// -----

#shared = #tile.space<shared>
func.func @outside(%a: memref<64x32xf16, #shared>) {
  // expected-error @+1 {{'tile.region' op elements 60 to 67 along dimension 0 are out of bounds: the buffer has 64}}
  %0 = tile.region %a[60, 0] [8, 32] : memref<64x32xf16, #shared> to !tile.region<8x32xf16, #shared>
  func.return
}

// -----

func.func @order(%n: index) {
  // expected-error @+1 {{'tile.pipeline' op Two statements in the software pipeline cannot have the same order: order must be a permutation of 0 to 1, got [1, 1]}}
  tile.pipeline %k = 0 to %n stage(0, 1) order(1, 1) {
  }
  func.return
}

// -----

func.func @roles() {
  tile.kernel (%b) in (4) threads(128) {
    // expected-error @+1 {{'tile.ws' op role "consumer" has threads up to 256, but the block has 128}}
    tile.ws
    role "consumer" threads(0 to 256) {
    }
  }
  func.return
}

// -----

#barrier = #tile.space<barrier>
func.func @barriers() {
  // expected-error @+1 {{'tile.alloc' op 2 barriers but 1 arrive counts}}
  %0 = tile.alloc init [1] : memref<2x!nv.mbarrier, #barrier>
  func.return
}

// -----

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
func.func @precision(%a: memref<64x64xf16, #shared>, %c: memref<64x64xf32, #fragment>) {
  // expected-error @+1 {{'tile.gemm' op precision tf32x3 is for 'f32' operands, got 'f16'}}
  tile.gemm %a, %a -> %c precision tf32x3 : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
  func.return
}

// -----

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
func.func @ieee(%a: memref<64x64xi8, #shared>, %c: memref<64x64xi32, #fragment>) {
  // expected-error @+1 {{'tile.gemm' op precision ieee is for floats, got 'i8'}}
  tile.gemm %a, %a -> %c precision ieee : memref<64x64xi8, #shared>, memref<64x64xi8, #shared> -> memref<64x64xi32, #fragment>
  func.return
}

// -----

func.func @unknown() {
  // expected-error @+1 {{unknown operation 'tile.coppy'; did you mean 'tile.copy'?}}
  tile.coppy
}

// -----

#global = #tile.space<global>
func.func @reach(%a: memref<100xf16, #global>) {
  %0 = tile.view %a : memref<100xf16, #global> to memref<4x10xf16, strided<[30, 1]>, #global>
  // expected-error @+1 {{'tile.view' op the view reaches to byte 206, but the memory that it views has 200 bytes}}
  %1 = tile.view %a : memref<100xf16, #global> to memref<4x10xf16, strided<[31, 1]>, #global>
  func.return
}

// -----

#global = #tile.space<global>
#shared = #tile.space<shared>
func.func @fill_type(%a: memref<64x32xf16, #global>, %b: memref<64x32xf32, #shared>, %v: f32) {
  // expected-error @+1 {{'tile.copy' op failed to verify that the fill must be an element of the source}}
  "tile.copy"(%a, %b, %v) : (memref<64x32xf16, #global>, memref<64x32xf32, #shared>, f32) -> ()
  func.return
}

// -----

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
func.func @fill_of_shared(%a: memref<64x32xf16, #shared>, %b: memref<64x32xf16, #fragment>, %v: f16) {
  // expected-error @+1 {{'tile.copy' op a fill is what is read outside of a tensor in global memory; the source is in shared memory, where nothing may be}}
  tile.copy %a -> %b fill(%v) : memref<64x32xf16, #shared> -> memref<64x32xf16, #fragment>
  func.return
}
