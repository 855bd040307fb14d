// RUN: not tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-defaults=cores=2x2 --infer-tt-shards --split-input-file 2>&1 | filecheck %s

// CHECK: error[TW7020]: 'arg0': element type 'f64' has no tile format: use bfloat16, float16, float32 or int32
// CHECK: error[TW7061]: 'arg0': 48 elements from
// CHECK-SAME: have the common divisor 16; use block sizes that are multiples of 32
#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @doubles(%X: memref<32x32xf64, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %x = tile.alloc "x" : memref<32x32xf64, #shared>
    tile.copy %X -> %x : memref<32x32xf64, #global> -> memref<32x32xf64, #shared>
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @misaligned(%X: memref<96x32xf32, #global>) {
  %c16 = arith.constant 16 : index
  tile.kernel (%bx) in (3) threads(128) {
    %x = tile.alloc "x" : memref<48x32xf32, #shared>
    %row = arith.muli %bx, %c16 : index
    %r = tile.region %X[%row, 0] [48, 32] : memref<96x32xf32, #global> to !tile.region<48x32xf32, #global>
    tile.copy %x -> %r : memref<48x32xf32, #shared> -> !tile.region<48x32xf32, #global>
  }
  func.return
}
