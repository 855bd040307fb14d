// RUN: tilewright-opt %s --unroll-fragment-loops --split-input-file | filecheck %s

// CHECK-LABEL: func.func @two_halves
func.func @two_halves(%a: memref<32x64xf32, #tile.space<global>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  %c16 = arith.constant 16 : index
  tile.kernel (%bx) in (1) threads(128) {
    %f = tile.alloc : memref<32x64xf32, #tile.space<fragment>>
    // CHECK: scf.for
    scf.for %s = %c0 to %c2 step %c1 {
      %first = arith.muli %s, %c16 : index
      tile.parallel (%i, %j) in (16, 64) {
        %row = arith.addi %first, %i : index
        %v = memref.load %f[%row, %j] : memref<32x64xf32, #tile.space<fragment>>
        memref.store %v, %a[%row, %j] : memref<32x64xf32, #tile.space<global>>
      }
    // CHECK: } {tile.unroll_explicit}
    }
    // Too many iterations, or an index of memory only.
    // CHECK-NOT: tile.unroll_explicit
    scf.for %s = %c0 to %c9 step %c1 {
      tile.parallel (%j) in (64) {
        %v = memref.load %f[%s, %j] : memref<32x64xf32, #tile.space<fragment>>
        memref.store %v, %a[%s, %j] : memref<32x64xf32, #tile.space<global>>
      }
    }
    scf.for %s = %c0 to %c2 step %c1 {
      tile.parallel (%j) in (64) {
        %v = memref.load %f[%c0, %j] : memref<32x64xf32, #tile.space<fragment>>
        memref.store %v, %a[%s, %j] : memref<32x64xf32, #tile.space<global>>
      }
    }
  }
  func.return
}

// -----

// Longer loops that go through a fragment part by part.
// CHECK-LABEL: func.func @parts
func.func @parts(%a: memref<4x64xf32, #tile.space<global>>, %t: memref<4x4xf32, #tile.space<shared>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  tile.kernel (%bx) in (1) threads(128) {
    %f = tile.alloc : memref<4x64xf32, #tile.space<fragment>>
    %sum = tile.alloc : memref<4x4xf32, #tile.space<fragment>>
    // CHECK: scf.for
    scf.for %s = %c0 to %c16 step %c1 {
      %first = arith.muli %s, %c4 : index
      tile.parallel (%i, %j) in (4, 4) {
        %column = arith.addi %first, %j : index
        %v = memref.load %f[%i, %column] : memref<4x64xf32, #tile.space<fragment>>
        %old = memref.load %sum[%i, %j] : memref<4x4xf32, #tile.space<fragment>>
        %new = arith.addf %old, %v : f32
        memref.store %new, %sum[%i, %j] : memref<4x4xf32, #tile.space<fragment>>
      }
    // CHECK: } {tile.unroll_explicit}
    }
    // Each iteration accesses half of the fragment: unrolled, it is more code than a loop over all.
    // CHECK-NOT: tile.unroll_explicit
    scf.for %s = %c0 to %c16 step %c1 {
      tile.parallel (%i, %j) in (4, 32) {
        %column = arith.addi %s, %j : index
        %v = memref.load %f[%i, %column] : memref<4x64xf32, #tile.space<fragment>>
        memref.store %v, %a[%i, %column] : memref<4x64xf32, #tile.space<global>>
      }
    }
    // More than parallel loops.
    // CHECK-NOT: tile.unroll_explicit
    scf.for %s = %c0 to %c16 step %c1 {
      %first = arith.muli %s, %c4 : index
      tile.parallel (%i, %j) in (4, 4) {
        %column = arith.addi %first, %j : index
        %v = memref.load %f[%i, %column] : memref<4x64xf32, #tile.space<fragment>>
        memref.store %v, %sum[%i, %j] : memref<4x4xf32, #tile.space<fragment>>
      }
      tile.copy %sum -> %t : memref<4x4xf32, #tile.space<fragment>> -> memref<4x4xf32, #tile.space<shared>>
    }
  }
  func.return
}

// -----

// Loops that the user unrolls, around GEMMs of sub-tiles; versions of a tile are no sub-tiles.
// CHECK-LABEL: func.func @sub_tiles
func.func @sub_tiles() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc : memref<4x64x256xf16, #tile.space<shared>>
    %b = tile.alloc : memref<64x256xf16, #tile.space<shared>>
    %c = tile.alloc : memref<64x64xf32, #tile.space<fragment>>
    // CHECK: scf.for
    scf.for %j = %c0 to %c4 step %c1 {
      %k = arith.muli %j, %c64 : index
      %x = tile.region %b[0, %k] [64, 64] : memref<64x256xf16, #tile.space<shared>> to !tile.region<64x64xf16, #tile.space<shared>>
      tile.gemm %x, %x -> %c {transpose_b} : !tile.region<64x64xf16, #tile.space<shared>>, !tile.region<64x64xf16, #tile.space<shared>> -> memref<64x64xf32, #tile.space<fragment>>
    // CHECK: } {tile.unroll, tile.unroll_explicit}
    } {tile.unroll}
    // CHECK: scf.for
    // CHECK-NOT: tile.unroll_explicit
    scf.for %v = %c0 to %c4 step %c1 {
      %x = tile.region %a[%v, 0, 0] [1, 64, 256] : memref<4x64x256xf16, #tile.space<shared>> to !tile.region<1x64x256xf16, #tile.space<shared>>
      tile.gemm %x, %x -> %c {transpose_b} : !tile.region<1x64x256xf16, #tile.space<shared>>, !tile.region<1x64x256xf16, #tile.space<shared>> -> memref<64x64xf32, #tile.space<fragment>>
    } {tile.unroll}
    scf.for %j = %c0 to %c4 step %c1 {
      %k = arith.muli %j, %c64 : index
      %x = tile.region %b[0, %k] [64, 64] : memref<64x256xf16, #tile.space<shared>> to !tile.region<64x64xf16, #tile.space<shared>>
      tile.gemm %x, %x -> %c {transpose_b} : !tile.region<64x64xf16, #tile.space<shared>>, !tile.region<64x64xf16, #tile.space<shared>> -> memref<64x64xf32, #tile.space<fragment>>
    }
  }
  func.return
}

// -----

// A copy of a part of a fragment, and one of a part of memory.
// CHECK-LABEL: func.func @copied_parts
func.func @copied_parts(%a: memref<32x64xf32, #tile.space<global>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  tile.kernel (%bx) in (1) threads(128) {
    %f = tile.alloc : memref<32x64xf32, #tile.space<fragment>>
    %s = tile.alloc : memref<32x32xf32, #tile.space<shared>>
    // CHECK: scf.for
    scf.for %k = %c0 to %c2 step %c1 {
      %first = arith.muli %k, %c32 : index
      %part = tile.region %f[0, %first] [32, 32] : memref<32x64xf32, #tile.space<fragment>> to !tile.region<32x32xf32, #tile.space<fragment>>
      tile.copy %part -> %s : !tile.region<32x32xf32, #tile.space<fragment>> -> memref<32x32xf32, #tile.space<shared>>
    // CHECK: } {tile.unroll_explicit}
    }
    // CHECK-NOT: tile.unroll_explicit
    scf.for %k = %c0 to %c2 step %c1 {
      %first = arith.muli %k, %c32 : index
      %part = tile.region %a[0, %first] [32, 32] : memref<32x64xf32, #tile.space<global>> to !tile.region<32x32xf32, #tile.space<global>>
      tile.copy %s -> %part : memref<32x32xf32, #tile.space<shared>> -> !tile.region<32x32xf32, #tile.space<global>>
    }
  }
  func.return
}
