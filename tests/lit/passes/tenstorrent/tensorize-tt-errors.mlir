// RUN: not tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-defaults=cores=2x2 --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --split-input-file 2>&1 | filecheck %s

// CHECK: error[TW7071]: a part of 'x' is accessed
// CHECK: error[TW7070]: several iterations of T.Parallel write the same element of 's'
// CHECK: error[TW7070]: 'tile.reduce_by' has no counterpart on the Tenstorrent target: use T.copy, T.gemm, T.reduce and element-wise T.Parallel
// CHECK: error[TW7070]: a GEMM of float32 with precision ieee has no counterpart on the Tenstorrent target, which multiplies the 10 mantissa bits of tf32: request tf32
// CHECK: error[TW7070]: 'tile.scaled_gemm' has no counterpart on the Tenstorrent target
#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @part(%X: memref<32x32xf32, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %x = tile.alloc "x" : memref<32x64xf32, #shared>
    %part = tile.region %x[0, 0] [32, 32] : memref<32x64xf32, #shared> to !tile.region<32x32xf32, #shared>
    tile.copy %X -> %part : memref<32x32xf32, #global> -> !tile.region<32x32xf32, #shared>
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @sum(%X: memref<32x32xf32, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %x = tile.alloc "x" : memref<32x32xf32, #shared>
    %s = tile.alloc "s" : memref<32xf32, #fragment>
    tile.copy %X -> %x : memref<32x32xf32, #global> -> memref<32x32xf32, #shared>
    tile.parallel (%i, %j) in (32, 32) {
      %v = memref.load %x[%i, %j] : memref<32x32xf32, #shared>
      memref.store %v, %s[%i] : memref<32xf32, #fragment>
    }
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @combiner(%X: memref<32x32xf32, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %x = tile.alloc "x" : memref<32x32xf32, #shared>
    %s = tile.alloc "s" : memref<32xf32, #fragment>
    tile.copy %X -> %x : memref<32x32xf32, #global> -> memref<32x32xf32, #shared>
    tile.reduce_by %x -> %s dim 1 : memref<32x32xf32, #shared> -> memref<32xf32, #fragment> {
    ^bb0(%a: f32, %b: f32):
      %r = arith.mulf %a, %b : f32
      tile.return %r : f32
    }
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @precision(%X: memref<32x32xf32, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %x = tile.alloc "x" : memref<32x32xf32, #shared>
    %c = tile.alloc "c" : memref<32x32xf32, #fragment>
    tile.copy %X -> %x : memref<32x32xf32, #global> -> memref<32x32xf32, #shared>
    tile.gemm %x, %x -> %c precision ieee {clear} : memref<32x32xf32, #shared>, memref<32x32xf32, #shared> -> memref<32x32xf32, #fragment>
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @scaled(%X: memref<32x32xbf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %x = tile.alloc "x" : memref<32x32xbf16, #shared>
    %c = tile.alloc "c" : memref<32x32xf32, #fragment>
    tile.copy %X -> %x : memref<32x32xbf16, #global> -> memref<32x32xbf16, #shared>
    tile.scaled_gemm %x as bf16, %x as bf16 -> %c {clear} : memref<32x32xbf16, #shared>, memref<32x32xbf16, #shared> -> memref<32x32xf32, #fragment>
  }
  func.return
}
