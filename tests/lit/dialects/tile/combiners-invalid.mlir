// RUN: tilewright-opt %s -split-input-file -verify-diagnostics

#fragment = #tile.space<fragment>
func.func @counts(%x: memref<8xf32, #fragment>) {
  // expected-error @+1 {{'tile.scan_by' op has 2 sources but 1 destinations: each source needs a destination}}
  tile.scan_by %x, %x -> %x dim 0 : memref<8xf32, #fragment>, memref<8xf32, #fragment> -> memref<8xf32, #fragment> {
  ^bb0(%a: f32, %b: f32):
    tile.return %a : f32
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
func.func @twice(%x: memref<8xf32, #fragment>, %y: memref<8xf32, #fragment>) {
  // expected-error @+1 {{'tile.scan_by' op a buffer is given as destination twice}}
  tile.scan_by %x, %y -> %x, %x dim 0 : memref<8xf32, #fragment>, memref<8xf32, #fragment> -> memref<8xf32, #fragment>, memref<8xf32, #fragment> {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    tile.return %a, %b : f32, f32
  }
  func.return
}

// -----

#global = #tile.space<global>
#fragment = #tile.space<fragment>
func.func @space(%x: memref<8xf32, #global>, %y: memref<1xf32, #fragment>) {
  // expected-error @+1 {{'tile.reduce_by' op source 0 must be a fragment or in shared memory, but it is in global memory}}
  tile.reduce_by %x -> %y dim 0 : memref<8xf32, #global> -> memref<1xf32, #fragment> {
  ^bb0(%a: f32, %b: f32):
    tile.return %a : f32
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
func.func @dim(%x: memref<8xf32, #fragment>, %y: memref<1xf32, #fragment>) {
  // expected-error @+1 {{'tile.reduce_by' op dim 1 is out of bounds for a source with 1 dimensions}}
  tile.reduce_by %x -> %y dim 1 : memref<8xf32, #fragment> -> memref<1xf32, #fragment> {
  ^bb0(%a: f32, %b: f32):
    tile.return %a : f32
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
func.func @shapes(%x: memref<8xf32, #fragment>, %y: memref<4xf32, #fragment>, %z: memref<1xf32, #fragment>, %w: memref<1xf32, #fragment>) {
  // expected-error @+1 {{'tile.reduce_by' op sources must have the same shape: source 0 has 8, source 1 4}}
  tile.reduce_by %x, %y -> %z, %w dim 0 : memref<8xf32, #fragment>, memref<4xf32, #fragment> -> memref<1xf32, #fragment>, memref<1xf32, #fragment> {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    tile.return %a, %b : f32, f32
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
func.func @result(%x: memref<8x4xf32, #fragment>, %y: memref<8xf32, #fragment>) {
  // expected-error @+1 {{'tile.reduce_by' op reducing dim 0 of 8x4 gives 4 or 1x4, but the destination has 8}}
  tile.reduce_by %x -> %y dim 0 : memref<8x4xf32, #fragment> -> memref<8xf32, #fragment> {
  ^bb0(%a: f32, %b: f32):
    tile.return %a : f32
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
func.func @scanned(%x: memref<8x4xf32, #fragment>, %y: memref<32xf32, #fragment>) {
  // expected-error @+1 {{'tile.scan_by' op a scan retains the shape: the source has 8x4, the destination 32}}
  tile.scan_by %x -> %y dim 0 : memref<8x4xf32, #fragment> -> memref<32xf32, #fragment> {
  ^bb0(%a: f32, %b: f32):
    tile.return %a : f32
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
func.func @types(%x: memref<8xf16, #fragment>, %y: memref<1xf32, #fragment>) {
  // expected-error @+1 {{'tile.reduce_by' op a reduction cannot convert 'f16' to 'f32'}}
  tile.reduce_by %x -> %y dim 0 : memref<8xf16, #fragment> -> memref<1xf32, #fragment> {
  ^bb0(%a: f16, %b: f16):
    tile.return %a : f16
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
func.func @arguments(%x: memref<8xf32, #fragment>, %y: memref<1xf32, #fragment>) {
  // expected-error @+1 {{'tile.reduce_by' op the combiner must take (f32, f32): the left elements, then the right ones; it takes (f32)}}
  tile.reduce_by %x -> %y dim 0 : memref<8xf32, #fragment> -> memref<1xf32, #fragment> {
  ^bb0(%a: f32):
    tile.return %a : f32
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
func.func @returned(%x: memref<8xf32, #fragment>, %y: memref<1xf32, #fragment>) {
  // expected-error @+1 {{'tile.reduce_by' op the combiner must return (f32), but it returns (i1)}}
  tile.reduce_by %x -> %y dim 0 : memref<8xf32, #fragment> -> memref<1xf32, #fragment> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.cmpf ogt, %a, %b : f32
    tile.return %c : i1
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
func.func @effects(%x: memref<8xf32, #fragment>, %y: memref<1xf32, #fragment>) {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{'tile.reduce_by' op a combiner only computes: 'memref.load' accesses memory or has other effects}}
  tile.reduce_by %x -> %y dim 0 : memref<8xf32, #fragment> -> memref<1xf32, #fragment> {
  ^bb0(%a: f32, %b: f32):
    %c = memref.load %x[%zero] : memref<8xf32, #fragment>
    tile.return %c : f32
  }
  func.return
}
