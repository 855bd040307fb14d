// RUN: tilewright-opt --check-tma-starts --verify-diagnostics --split-input-file %s

#global = #tile.space<global>
#shared = #tile.space<shared>
#barrier = #tile.space<barrier>

func.func @column_one(%A: memref<64x64xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %c0 = arith.constant 0 : index
    %s = tile.alloc "s" : memref<64x32xf16, #shared>
    %full = tile.alloc "full" init [1] : memref<1x!nv.mbarrier, #barrier>
    %part = tile.region %A[0, 1] [64, 32] : memref<64x64xf16, #global> to !tile.region<64x32xf16, #global>
    // expected-error @+2 {{TMA copy starts at column 1 of the tensor that is not a multiple of 8 elements (16 bytes)}}
    // expected-note @+1 {{help: start at a multiple of 8, or use T.copy, which uses TMA only where it is legal}}
    tile.async_copy %part -> %s barrier %full[%c0] : !tile.region<64x32xf16, #global> -> memref<64x32xf16, #shared>, memref<1x!nv.mbarrier, #barrier>
  }
  func.return
}

// -----

#global = #tile.space<global>
#shared = #tile.space<shared>
#barrier = #tile.space<barrier>

// Four elements of 4 bytes are 16 bytes: every block starts at one of those, and the store does not.

func.func @blocks(%A: memref<64x64xf32, #global>) {
  tile.kernel (%bx) in (4) threads(128) {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c2 = arith.constant 2 : index
    %s = tile.alloc "s" : memref<64x32xf32, #shared>
    %full = tile.alloc "full" init [1] : memref<1x!nv.mbarrier, #barrier>
    %column = arith.muli %bx, %c4 : index
    %part = tile.region %A[0, %column] [64, 32] : memref<64x64xf32, #global> to !tile.region<64x32xf32, #global>
    tile.async_copy %part -> %s barrier %full[%c0] : !tile.region<64x32xf32, #global> -> memref<64x32xf32, #shared>, memref<1x!nv.mbarrier, #barrier>
    %next = arith.addi %column, %c2 : index
    %there = tile.region %A[0, %next] [64, 32] : memref<64x64xf32, #global> to !tile.region<64x32xf32, #global>
    // expected-error @+2 {{TMA copy starts at a column of the tensor that is not a multiple of 4 elements (16 bytes)}}
    // expected-note @+1 {{help: start at a multiple of 4}}
    tile.async_copy %s -> %there : memref<64x32xf32, #shared> -> !tile.region<64x32xf32, #global>
  }
  func.return
}

// -----

#global = #tile.space<global>
#shared = #tile.space<shared>
#barrier = #tile.space<barrier>

// Nothing is known of %n; then it is assumed.

func.func @unknown(%A: memref<64x64xf32, #global>, %n: index) {
  tile.kernel (%bx) in (4) threads(128) {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %s = tile.alloc "s" : memref<64x32xf32, #shared>
    %full = tile.alloc "full" init [1] : memref<1x!nv.mbarrier, #barrier>
    %part = tile.region %A[0, %n] [64, 32] : memref<64x64xf32, #global> to !tile.region<64x32xf32, #global>
    // expected-warning @+2 {{start column of the TMA copy in the tensor is a run-time value: it must be a multiple of 4 elements (16 bytes), otherwise the GPU raises an error}}
    // expected-note @+1 {{help: state it with T.assume(column % 4 == 0)}}
    tile.async_copy %part -> %s barrier %full[%c0] : !tile.region<64x32xf32, #global> -> memref<64x32xf32, #shared>, memref<1x!nv.mbarrier, #barrier>
    %rest = arith.remsi %n, %c4 : index
    %is = arith.cmpi eq, %rest, %c0 : index
    tile.assume %is
    tile.async_copy %part -> %s barrier %full[%c0] : !tile.region<64x32xf32, #global> -> memref<64x32xf32, #shared>, memref<1x!nv.mbarrier, #barrier>
  }
  func.return
}
