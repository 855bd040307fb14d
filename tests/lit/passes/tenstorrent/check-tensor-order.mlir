// RUN: not tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-defaults=cores=2x2 --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --check-tensor-order --split-input-file 2>&1 | filecheck %s

// CHECK: error[TW7031]: 'arg0' is read after the same block has written it, and the reader of a core does not wait for the writer
// CHECK: note: written here
// CHECK-NOT: error[
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @in_place(%X: memref<64x32xf32, #global>) {
  %c32 = arith.constant 32 : index
  tile.kernel (%bx) in (2) threads(128) {
    %x = tile.alloc "x" : memref<32x32xf32, #shared>
    %row = arith.muli %bx, %c32 : index
    %r = tile.region %X[%row, 0] [32, 32] : memref<64x32xf32, #global> to !tile.region<32x32xf32, #global>
    tile.copy %r -> %x : !tile.region<32x32xf32, #global> -> memref<32x32xf32, #shared>
    tile.copy %x -> %r : memref<32x32xf32, #shared> -> !tile.region<32x32xf32, #global>
  }
  func.return
}

// -----

#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @read_after_write(%X: memref<64x32xf32, #global>, %Y: memref<64x32xf32, #global>) {
  %c32 = arith.constant 32 : index
  tile.kernel (%bx) in (2) threads(128) {
    %x = tile.alloc "x" : memref<32x32xf32, #shared>
    %y = tile.alloc "y" : memref<32x32xf32, #shared>
    %row = arith.muli %bx, %c32 : index
    %r = tile.region %X[%row, 0] [32, 32] : memref<64x32xf32, #global> to !tile.region<32x32xf32, #global>
    %s = tile.region %Y[%row, 0] [32, 32] : memref<64x32xf32, #global> to !tile.region<32x32xf32, #global>
    tile.copy %s -> %y : !tile.region<32x32xf32, #global> -> memref<32x32xf32, #shared>
    tile.copy %y -> %r : memref<32x32xf32, #shared> -> !tile.region<32x32xf32, #global>
    tile.copy %r -> %x : !tile.region<32x32xf32, #global> -> memref<32x32xf32, #shared>
    tile.copy %x -> %s : memref<32x32xf32, #shared> -> !tile.region<32x32xf32, #global>
  }
  func.return
}
