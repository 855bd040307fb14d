// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim "--apply-tt-defaults=cores=2x8 multicast=on" --infer-tt-shards --infer-tt-schedule --pad-to-tiles --tensorize-tt --separate-buffers --form-k-loops --make-persistent --rasterize-tiles --map-cores --add-ghost-steps | filecheck %s

// Nine rows of blocks, two for each row of cores: the cores of the fifth row have a ghost step each.
// CHECK: assignments = {{\[\[}}0, 0, 2, 0, 0, 2, 1], [1, 1, 2, 0, 1, 2, 1]
// CHECK-SAME: [8, 16, 1, 8, 0, 1, 1, 1, 0], [9, 17, 1, 8, 1, 1, 1, 1, 0], [10, 0, 0, 0, 0, 0, 0]
// CHECK: %[[ROW:.*]] = arith.addi %row0
// CHECK: %[[COUNT:.*]] = arith.constant 9 : index
// CHECK: %[[LAST:.*]] = arith.constant 8 : index
// CHECK: arith.minui %[[ROW]], %[[LAST]] : index
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[ROW]], %[[COUNT]] : index
// CHECK: scf.if %[[INSIDE]] {
// CHECK-NEXT: tile.copy %arg2_tile
#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @gemm(%A: memref<288x64xbf16, #global>, %B: memref<64x64xbf16, #global>, %C: memref<288x64xbf16, #global>) {
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.kernel (%bx, %by) in (2, 9) threads(128) {
    %a = tile.alloc "a" : memref<32x32xbf16, #shared>
    %b = tile.alloc "b" : memref<32x32xbf16, #shared>
    %c = tile.alloc "c" : memref<32x32xf32, #fragment>
    %row = arith.muli %by, %c32 : index
    %column = arith.muli %bx, %c32 : index
    tile.fill %c, %zero : memref<32x32xf32, #fragment>, f32
    tile.pipeline %k = 0 to 2 num_stages(3) {
      %step = arith.muli %k, %c32 : index
      %ra = tile.region %A[%row, %step] [32, 32] : memref<288x64xbf16, #global> to !tile.region<32x32xbf16, #global>
      tile.copy %ra -> %a : !tile.region<32x32xbf16, #global> -> memref<32x32xbf16, #shared>
      %rb = tile.region %B[%step, %column] [32, 32] : memref<64x64xbf16, #global> to !tile.region<32x32xbf16, #global>
      tile.copy %rb -> %b : !tile.region<32x32xbf16, #global> -> memref<32x32xbf16, #shared>
      tile.gemm %a, %b -> %c : memref<32x32xbf16, #shared>, memref<32x32xbf16, #shared> -> memref<32x32xf32, #fragment>
    }
    %rc = tile.region %C[%row, %column] [32, 32] : memref<288x64xbf16, #global> to !tile.region<32x32xbf16, #global>
    tile.copy %c -> %rc : memref<32x32xf32, #fragment> -> !tile.region<32x32xbf16, #global>
  }
  func.return
}
