// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --apply-tt-defaults=cores=2x2 --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers | filecheck %s

// A loaded buffer that is overwritten twice becomes three, each with one producer.
// CHECK-DAG: %[[X:.*]] = tile.alloc "x"
// CHECK-DAG: %[[Y:.*]] = tile.alloc "x_1"
// CHECK-DAG: %[[Z:.*]] = tile.alloc "x_2"
// CHECK: tile.copy %{{.*}} -> %[[X]] :
// CHECK: tensix.elementwise tiles(1, 1) ins(%[[X]] tile : {{.*}}) outs(%[[Y]] :
// CHECK: tensix.elementwise tiles(1, 1) ins(%[[Y]] tile : {{.*}}) outs(%[[Z]] :
// CHECK: tile.copy %[[Z]] -> %
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
