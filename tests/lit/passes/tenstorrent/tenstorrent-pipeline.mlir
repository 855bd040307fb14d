// RUN: tilewright-opt %s "--tenstorrent-pipeline=target=tenstorrent:wormhole cores=2x2" | filecheck %s

// One section per tile: add a scalar, relu, pack.
// CHECK: tensix.host_plan @relu {plan = {api = "2026", arch = "wormhole_b0"
// CHECK: tensix.kernel @compute
// CHECK: tensix.copy_tile %cb0
// CHECK: tensix.unary_scalar add
// CHECK: tensix.unary relu
// CHECK: tensix.pack
#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @relu(%X: memref<64x32xf32, #global>, %Y: memref<64x32xf32, #global>) {
  %c32 = arith.constant 32 : index
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  tile.kernel (%bx) in (2) threads(128) {
    %x = tile.alloc "x" : memref<32x32xf32, #shared>
    %row = arith.muli %bx, %c32 : index
    %rx = tile.region %X[%row, 0] [32, 32] : memref<64x32xf32, #global> to !tile.region<32x32xf32, #global>
    tile.copy %rx -> %x : !tile.region<32x32xf32, #global> -> memref<32x32xf32, #shared>
    tile.parallel (%i, %j) in (32, 32) {
      %v = memref.load %x[%i, %j] : memref<32x32xf32, #shared>
      %w = arith.addf %v, %one : f32
      memref.store %w, %x[%i, %j] : memref<32x32xf32, #shared>
    }
    tile.parallel (%i, %j) in (32, 32) {
      %v = memref.load %x[%i, %j] : memref<32x32xf32, #shared>
      %w = arith.maxnumf %v, %zero : f32
      memref.store %w, %x[%i, %j] : memref<32x32xf32, #shared>
    }
    %ry = tile.region %Y[%row, 0] [32, 32] : memref<64x32xf32, #global> to !tile.region<32x32xf32, #global>
    tile.copy %x -> %ry : memref<32x32xf32, #shared> -> !tile.region<32x32xf32, #global>
  }
  func.return
}
