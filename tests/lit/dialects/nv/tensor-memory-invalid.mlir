// RUN: tilewright-opt %s -split-input-file -verify-diagnostics

#s = #tile.space<shared>
func.func @columns(%slot: memref<1xi32, #s>, %i: index) {
  // expected-error @+1 {{'nv.tcgen05.alloc' op tensor memory is allocated in 32, 64, 128, 256 or 512 columns, got 96}}
  nv.tcgen05.alloc %slot[%i] columns(96) : memref<1xi32, #s>
  func.return
}

// -----

#g = #tile.space<global>
func.func @slot(%slot: memref<1xi32, #g>, %i: index) {
  // expected-error @+1 {{'nv.tcgen05.alloc' op the address is written to 32-bit integers in shared memory, got 'memref<1xi32, #tile.space<global>>'}}
  nv.tcgen05.alloc %slot[%i] columns(32) : memref<1xi32, #g>
  func.return
}

// -----

func.func @rows(%d: i64, %t: i32) {
  // expected-error @+1 {{'nv.tcgen05.mma' op tcgen05.mma of kind f16 with CTA group 1 must have m = 64 or 128, got m = 256}}
  nv.tcgen05.mma %d, %d -> %t kind(f16) shape [256, 64, 16] types(f16, f16, f32) : i64
  func.return
}

// -----

func.func @columns_of_a_result(%d: i64, %t: i32) {
  // expected-error @+1 {{'nv.tcgen05.mma' op tcgen05.mma with m = 128 must have n = 16, 32, ... 256, got n = 24}}
  nv.tcgen05.mma %d, %d -> %t kind(f16) shape [128, 24, 16] types(f16, f16, f32) : i64
  func.return
}

// -----

func.func @pair(%d: i64, %t: i32) {
  // expected-error @+1 {{'nv.tcgen05.mma' op tcgen05.mma with m = 256 must have n = 32, 64, ... 256, got n = 16}}
  nv.tcgen05.mma %d, %d -> %t kind(f16) shape [256, 16, 16] types(f16, f16, f32) group(2) : i64
  func.return
}

// -----

func.func @depth(%d: i64, %t: i32) {
  // expected-error @+1 {{'nv.tcgen05.mma' op tcgen05.mma of kind f8f6f4 must have k = 32, got k = 16}}
  nv.tcgen05.mma %d, %d -> %t kind(f8f6f4) shape [128, 64, 16] types(f8E4M3FN, f8E4M3FN, f32) : i64
  func.return
}

// -----

func.func @types(%d: i64, %t: i32) {
  // expected-error @+1 {{'nv.tcgen05.mma' op kind f16 takes operands of one type, got 'f16' and 'bf16'}}
  nv.tcgen05.mma %d, %d -> %t kind(f16) shape [128, 64, 16] types(f16, bf16, f32) : i64
  func.return
}

// -----

func.func @kind(%d: i64, %t: i32) {
  // expected-error @+1 {{'nv.tcgen05.mma' op kind i8 does not take a of type 'f16'}}
  nv.tcgen05.mma %d, %d -> %t kind(i8) shape [128, 64, 32] types(f16, i8, i32) : i64
  func.return
}

// -----

func.func @scales(%d: i64, %t: i32) {
  // expected-error @+1 {{'nv.tcgen05.mma' op kind mxf8f6f4 takes 2 scales, got 0}}
  nv.tcgen05.mma %d, %d -> %t kind(mxf8f6f4) shape [128, 64, 32] types(f8E4M3FN, f8E4M3FN, f32) : i64
  func.return
}

// -----

func.func @transposed(%d: i64, %t: i32) {
  // expected-error @+1 {{'nv.tcgen05.mma' op a in tensor memory is contiguous along K}}
  nv.tcgen05.mma %t, %d -> %t kind(f16) shape [128, 64, 16] types(f16, f16, f32) {transposed_a} : i32
  func.return
}

// -----

#l = #tile.space<local>
func.func @repeats(%t: i32, %r: memref<64xf32, #l>, %i: index) {
  // expected-error @+1 {{'nv.tcgen05.ld' op count of 16x256b must be a power of two up to 32, got 64}}
  nv.tcgen05.ld %t -> %r[%i] shape("16x256b") count(64) : memref<64xf32, #l>
  func.return
}

// -----

#l = #tile.space<local>
func.func @halves(%t: i32, %r: memref<64xf32, #l>, %i: index) {
  // expected-error @+1 {{'nv.tcgen05.st' op unpack16 moves elements of 16 bits, got 32 bits}}
  nv.tcgen05.st %r[%i] -> %t shape("32x32b") count(64) {unpack16} : memref<64xf32, #l>
  func.return
}

// -----

func.func @copy(%d: i64, %t: i32) {
  // expected-error @+1 {{'nv.tcgen05.cp' op shape of a copy must be one of 32x128b, 128x128b, 128x256b, got 64x128b}}
  nv.tcgen05.cp %d -> %t shape("64x128b")
  func.return
}

// -----

func.func @major(%d: i64, %t: i32) {
  // expected-error @+1 {{'nv.tcgen05.mma' op kind tf32 takes operands that are contiguous along K only}}
  nv.tcgen05.mma %d, %d -> %t kind(tf32) shape [128, 64, 8] types(f32, f32, f32) {transposed_b} : i64
  func.return
}
